// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp check: what this host has and lacks to use HPCC++. What can be tried is
 * tried, in a place of its own, and not concluded from a kernel's configuration.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <linux/ethtool.h>
#include <linux/magic.h>
#include <linux/pkt_sched.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "check.h"

static const char usage[] =
"Usage: hpccpp [ OPTIONS ] check [ netns NAME ]\n"
"                                [ role { sender | receiver | switch } ]\n"
"\n"
"A line for each thing that the role needs: ok, note (it works, but read on) or\n"
"missing; what was found; and what to do. Exit status: 0, or 1 when something is\n"
"missing. A receiver needs no module and no ports, a switch no module and no host\n"
"agent. Default: sender. See hpccpp(8).\n";

#define WATCH		500000000LL	/* ns, to see whether a device is bypassed */
#define WATCH_LATE	2500000000LL	/* ... and to be sure of it */
#define ENOUGH		100		/* packets to tell that by */
#define PACKET_LEN	1000		/* bytes, of those that wait in a qdisc */

/*
 * Returns what the next line of the report advises: one line for a shell, a command with a
 * comment, or else a sentence. selftests/host/advice.sh has a row for each.
 */
const struct advice *advise(struct state *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->advice.text, sizeof(s->advice.text), fmt, ap);
	va_end(ap);
	return &s->advice;
}

/* Quotes a text for a shell where that is necessary. It is valid until the next call but one. */
static const char *quoted(const char *text)
{
	static char bufs[2][1024];
	static unsigned int turn;
	char *buf = bufs[turn++ % 2], *to = buf;
	const char *end = text;

	while (isalnum((unsigned char)*end) || (*end && strchr("_./:@%+,=-", *end)))
		end++;
	if (end > text && !*end)
		return text;
	*to++ = '\'';
	for (; *text && to < buf + sizeof(bufs[0]) - 8; text++) {
		if (*text == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = *text;
	}
	strcpy(to, "'");
	return buf;
}

/* Sets how advice names the network namespace, if one was given. */
static void name_netns(struct state *s, const char *netns)
{
	char path[512];

	if (!netns)
		return;
	snprintf(s->at, sizeof(s->at), "-n %s ", quoted(netns));
	snprintf(path, sizeof(path), strchr(netns, '/') ? "%s" : "/run/netns/%s", netns);
	if (access(path, F_OK))
		snprintf(path, sizeof(path), "/proc/%s/ns/net", netns);
	snprintf(s->enter, sizeof(s->enter), "nsenter --net=%s ", quoted(path));
}

/* Adds a line; advice may be NULL, and is left out if all is well. */
void say(struct state *s, enum verdict how, const char *check,
	 const struct advice *advice, const char *fmt, ...)
{
	static const char *const words[] = { "ok", "note", "missing" };
	struct json_object *row = json_object_new_object();
	char found[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(found, sizeof(found), fmt, ap);
	va_end(ap);
	put_str(row, "check", check);
	put_str(row, "status", words[how]);
	put_str(row, "found", found);
	if (how != OK)
		put_str(row, "advice", advice->text);
	json_object_array_add(s->report, row);
	if (how == MISSING)
		s->missing = true;
}

static void check_btf(struct state *s)
{
	const char *other = getenv("HPCCPP_BTF");
	const char *path = access(KERNEL_BTF, R_OK) && other ? other :
							      KERNEL_BTF;
	const struct advice *types;

	types = advise(s, "use a kernel with CONFIG_DEBUG_INFO_BTF, as distributions' are, or name its vmlinux in HPCCPP_BTF");

	if (access(path, R_OK))
		say(s, MISSING, "kernel types", types, "no %s", path);
	else
		say(s, OK, "kernel types", NULL, "%s", path);
}

static void check_agents(struct state *s)
{
	static const struct {
		const char *check;
		int (*probe)(void);
		unsigned int needed;	/* by roles, bits */
		const char *advice, *locked;	/* in lockdown, or NULL */
	} probes[] = {
		{
			"host agent loads", host_probe,
			1 << SENDER | 1 << RECEIVER,
			"be root; the kernel needs CONFIG_BPF_SYSCALL, CONFIG_CGROUP_BPF; -v says more",
			NULL
		}, {
			"port agent loads", port_probe,
			1 << SENDER | 1 << SWITCH,
			"be root; the kernel needs CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF, CONFIG_NET_CLS_ACT, CONFIG_NET_SCH_INGRESS; -v says more",
			"hpccpp port add DEV queue virtual: lockdown \"confidentiality\" refuses programs that read a qdisc's queue"
		}, {
			"flow show loads", flow_probe, 0,
			"be root; the kernel needs CONFIG_DEBUG_INFO_BTF, CONFIG_BPF_EVENTS and an eBPF JIT; the agents work without \"flow show\"",
			"flows cannot be shown: lockdown \"confidentiality\" refuses programs that read kernel memory; the agents work without \"flow show\""
		},
	};
	size_t i;

	if (few_files()) {
		say(s, MISSING, "open files",
		    advise(s, "ulimit -n 1024\t# or LimitNOFILE=1024 in the unit"),
		    "the limit is %u, which is too low to load or read agents", few_files());
		return;
	}
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		bool locked = probes[i].locked && in_lockdown();
		const struct advice *advice = locked ? advise(s, "%s", probes[i].locked) :
						       advise(s, "%s", probes[i].advice);
		int err = probes[i].probe();

		say(s, err && probes[i].needed & 1 << s->role ? MISSING :
		    err || (locked && probes[i].needed) ? NOTE : OK,
		    probes[i].check, advice,
		    "%s%s", err ? strerror(abs(err)) : "tried",
		    err && geteuid() ? " (you are not root)" : "");
	}
}

static void check_cgroup(struct state *s)
{
	char path[256];
	struct statfs fs;

	if (find_cgroup2(path, sizeof(path)))
		say(s, OK, "cgroup2", NULL, "%s", path);
	else if (s->role != SWITCH && !statfs("/sys/fs/cgroup", &fs) && fs.f_type == SYSFS_MAGIC)
		say(s, MISSING, "cgroup2", advise(s, "mount -t cgroup2 none /sys/fs/cgroup"),
		    "not mounted");
	else if (s->role != SWITCH)	/* there are hierarchies of version 1, which stay */
		say(s, MISSING, "cgroup2",
		    advise(s, "mkdir -p /run/cgroup2 && mount -t cgroup2 none /run/cgroup2"),
		    "not mounted");
}

/* Whether modprobe would find it. */
static bool module_file(void)
{
	struct utsname name;
	char line[512];
	bool found = false;
	FILE *in;

	uname(&name);
	snprintf(line, sizeof(line), "/lib/modules/%s/modules.dep",
		 name.release);
	in = fopen(line, "r");
	while (in && !found && fgets(line, sizeof(line), in)) {
		line[strcspn(line, ":\n")] = '\0';
		found = strstr(line, "/tcp_hpccpp.ko");
	}
	if (in)
		fclose(in);
	return found;
}

static void check_module(struct state *s)
{
	char line[256];

	read_line(IPV4 "tcp_available_congestion_control", line, sizeof(line));
	if (has_word(line, "hpccpp"))
		say(s, OK, "module", NULL, "loaded");
	else if (module_file())
		say(s, MISSING, "module", advise(s, "modprobe tcp_hpccpp"),
		    "installed, not loaded");
	else
		say(s, MISSING, "module",
		    advise(s, "make && make install && modprobe tcp_hpccpp"),
		    "not installed for this kernel");
}

/* The last line, as the default is the last step: without a host agent such a flow runs Reno. */
static void check_default(struct state *s)
{
	char line[256];

	read_line(IPV4 "tcp_congestion_control", line, sizeof(line));
	say(s, !strcmp(line, "hpccpp") ? OK : NOTE, "default",
	    advise(s, "%ssysctl net.ipv4.tcp_congestion_control=hpccpp\t# after all agents are there; or choose it for a socket or a route",
		   s->enter),
	    "new connections are under %s", line);
}

static void check_hosts(struct state *s)
{
	size_t n = json_object_array_length(s->hosts) + s->unread_hosts;

	if (n || s->role != SWITCH)
		say(s, n ? OK : MISSING, "host agent", advise(s, "hpccpp host add"),
		    "on %zu cgroup%s", n, n == 1 ? "" : "s");
}

static bool offload(int fd, const char *dev, __u32 cmd)
{
	struct ethtool_value value = { .cmd = cmd };
	struct ifreq ifr = { .ifr_data = (void *)&value };

	strncpy(ifr.ifr_name, dev, IFNAMSIZ - 1);
	return !ioctl(fd, SIOCETHTOOL, &ifr) && value.data;
}

/* The qdisc that sends: the root, or the first queue's under mq. */
static const char *root_kind(const struct qdisc *list, size_t n,
			     const char *dev)
{
	int ifindex = if_nametoindex(dev);
	__u32 parent = TC_H_ROOT;
	size_t i;

	for (i = 0; i < n; i++) {
		if (list[i].ifindex != ifindex || list[i].parent != parent)
			continue;
		if (strcmp(list[i].kind, "mq"))
			return list[i].kind;
		parent = TC_H_MAJ(list[i].handle) | 1;
		i = -1;		/* from the start */
	}
	return "noqueue";
}

/* What the device of a port does to packets. */
static void check_device(struct state *s, int fd, const char *dev,
			 const struct qdisc *list, size_t n)
{
	bool tso = offload(fd, dev, ETHTOOL_GTSO);
	bool gso = offload(fd, dev, ETHTOOL_GGSO);
	bool gro = offload(fd, dev, ETHTOOL_GGRO);
	const char *kind = root_kind(list, n, dev);
	char check[IFNAMSIZ + 32];

	snprintf(check, sizeof(check), "offloads of %s", dev);
	say(s, OK, check, NULL,
	    "tso %s gso %s gro %s", tso ? "on" : "off", gso ? "on" : "off",
	    gro ? "on" : "off");
	snprintf(check, sizeof(check), "pacing on %s", dev);
	say(s, OK, check, NULL, strcmp(kind, "fq") ?
	    "by TCP itself: the qdisc is %s" : "by the qdisc %s", kind);
}

static struct json_object *row(struct json_object *rows, size_t i)
{
	return json_object_array_get_idx(rows, i);
}

/* Packets of a device that waited when its port was looked at, if they are not small */
static __u64 waited(struct state *s, const char *dev)
{
	__u64 bytes = 0;
	size_t i;

	for (i = 0; i < json_object_array_length(s->ports); i++) {
		if (!strcmp(string(row(s->ports, i), "dev"), dev))
			bytes += number(row(s->ports, i), "backlog");
	}
	return bytes / PACKET_LEN;
}

/*
 * Returns true if the device sends packets that the agent does not see. Compares both packet
 * counters since the check began; if the device sends fewer than ENOUGH, waits for more, up to
 * WATCH. Then the counters since the port was added decide: the agent has seen no packet, or,
 * with another program in front of it now, has missed an eighth. Drivers may update their
 * counters only once per second, so a suspected bypass is watched for up to WATCH_LATE.
 */
static bool bypassed(struct state *s, struct json_object *before, bool in_front, __u64 *sent,
		     __u64 *seen)
{
	int (*read)(const char *dev, struct json_object *rows) =
		is_ingress(before) ? ingress_rows : egress_rows;
	const struct timespec pause = { .tv_nsec = 10000000 };
	__u64 late = waited(s, string(before, "dev"));
	bool enough, missed, anew, again = true;
	struct json_object *rows, *now;
	long long since;

	while (again) {
		nanosleep(&pause, NULL);
		since = clock_ns(CLOCK_MONOTONIC) - s->began;
		rows = json_object_new_array();
		now = read(string(before, "dev"), rows) ? NULL : row(rows, 0);
		*sent = number(now, "sent_packets") - number(before, "sent_packets");
		*seen = number(now, "seen_packets") - number(before, "seen_packets");
		/* of another that has taken its place meanwhile */
		anew = number(now, "sent_packets") < number(before, "sent_packets") ||
		       number(now, "seen_packets") < number(before, "seen_packets");
		json_object_put(rows);
		if (!now || anew)
			return false;
		enough = *sent >= late + ENOUGH;
		missed = enough && *seen < (*sent - late) / 2;
		again = missed ? since < WATCH_LATE : !enough && *sent && since < WATCH;
	}
	if (enough)
		return missed;
	*sent += number(before, "sent_packets");
	*seen += number(before, "seen_packets");
	return *sent >= ENOUGH && (!*seen || (in_front && *seen + late < *sent - *sent / 8));
}

/* The port as words of a command: quoted, "eth0" or "eth0 ingress"; valid until the next call */
static const char *port_words(struct json_object *port)
{
	static char text[1100];

	snprintf(text, sizeof(text), "%s%s", quoted(string(port, "dev")),
		 is_ingress(port) ? " ingress" : "");
	return text;
}

/* Sets the name of a check of a port: "port eth0", "rate of eth0 ingress" */
static void name_check(char *check, size_t size, const char *what, struct json_object *port)
{
	snprintf(check, size, "%s %s%s", what, string(port, "dev"),
		 is_ingress(port) ? " ingress" : "");
}

/* Returns true if `port change` without further words would succeed. */
static bool can_change(const char *dev, bool on_ingress)
{
	const struct options was = opt;
	int ret;

	opt.dry_run = true;
	opt.quiet = true;
	ret = run_at(on_ingress ? ingress_main : port_main, "change", "dev", dev);
	opt = was;
	return !ret;
}

/* What is another than the port was told of: of a device with several queues, the first */
static void check_stale(struct state *s, struct json_object *port, struct json_object **said)
{
	const char *dev = string(port, "dev"), *stale = string(port, "stale");
	const struct advice *change;
	char check[IFNAMSIZ + 32];

	if (!*stale || (*said && is_same_port(*said, port)))
		return;
	*said = port;
	name_check(check, sizeof(check), "port", port);
	change = can_change(dev, is_ingress(port)) ?
		 advise(s, "hpccpp %sport change dev %s", s->at, port_words(port)) :
		 advise(s, "run hpccpp %sport change dev %s with the arguments that its error message names as missing or wrong",
			s->at, port_words(port));
	say(s, MISSING, check, change, "stale: %s", stale);
}

static void check_bypass(struct state *s, struct json_object *port, const struct qdisc *list,
			 size_t n)
{
	const char *dev = string(port, "dev");
	char check[IFNAMSIZ + 32], first[256];
	bool ingress = is_ingress(port);
	bool in_front = port_in_front(list, n, dev, ingress, first, sizeof(first));
	__u64 sent, seen;

	if (!bypassed(s, port, in_front, &sent, &seen))
		return;
	name_check(check, sizeof(check), "port", port);
	say(s, MISSING, check, in_front ?
	    advise(s, "hpccpp %sport change dev %s\t# puts the agent in front of %s; a program in front has to pass packets on",
		   s->at, port_words(port), first) :
	    advise(s, "packets bypass the qdiscs of %s: look for XDP, AF_XDP, a flowtable, PACKET_QDISC_BYPASS or offload to hardware",
		   dev),
	    "bypassed: the device %s %llu packets, of which the agent saw %llu",
	    ingress ? "received" : "sent", sent, seen);
}

/*
 * Returns the first of n ids in sequence, of edges or of other ports, that no port of this
 * namespace has; 0: there are none.
 */
static unsigned int free_ids(struct json_object **owner, bool edge, size_t n)
{
	unsigned int id, end = edge ? HPCCPP_LINK_MAX + 1 : HPCCPP_LINK_EDGE;
	size_t in_turn = 0;

	for (id = edge ? HPCCPP_LINK_EDGE : 1; id < end; id++) {
		in_turn = owner[id] ? 0 : in_turn + 1;
		if (in_turn == n)
			return id + 1 - n;
	}
	return 0;
}

/* Notes devices with an id that another port of this namespace has: a flow may pass both. */
static void check_ids(struct state *s)
{
	static struct json_object *owner[HPCCPP_LINK_MAX + 1];
	size_t n = json_object_array_length(s->ports), i, j, queues;
	struct json_object *port, *said = NULL;
	char check[IFNAMSIZ + 32];
	unsigned int id, anew;

	for (i = 0; i < n; i++) {
		id = number(row(s->ports, i), "id") & HPCCPP_LINK_MAX;
		owner[id] = owner[id] ?: row(s->ports, i);
	}
	for (i = 0; i < n; i++) {
		port = row(s->ports, i);
		id = number(port, "id") & HPCCPP_LINK_MAX;
		if (owner[id] == port || (said && is_same_port(port, said)))
			continue;
		said = port;
		for (queues = 0, j = 0; j < n; j++)
			queues += is_same_port(row(s->ports, j), port);
		anew = free_ids(owner, id & HPCCPP_LINK_EDGE, queues);
		for (j = 0; anew && j < queues; j++)
			owner[anew + j] = port;
		name_check(check, sizeof(check), "id of", port);
		say(s, NOTE, check,
		    advise(s, "hpccpp %sport change dev %s id %u\t# or another that no port of its paths has",
			   s->at, port_words(port), anew),
		    "%u is that of %s, too", id, string(owner[id], "dev"));
	}
}

/* A rate that was given, where the device has another */
static void check_rate(struct state *s, struct json_object *port)
{
	__u64 rate = number(port, "rate"), now = number(port, "device_rate");
	char check[IFNAMSIZ + 32], given[32], has[32];

	if (!json_object_get_boolean(json_object_object_get(port, "rate_given")) || !now ||
	    now == rate)
		return;
	name_check(check, sizeof(check), "rate of", port);
	rate_text(given, sizeof(given), rate);
	rate_text(has, sizeof(has), now);
	say(s, NOTE, check,
	    advise(s, "hpccpp %sport change dev %s rate %llubit\t# unless its link is slower than that",
		   s->at, port_words(port), now),
	    "%s, as given; the device has %s", given, has);
}

/*
 * What is left of ports of which somebody has removed a filter. A clsact without filters may
 * be of one, or somebody's who has none yet.
 */
static int check_leftovers(struct state *s)
{
	struct json_object *rows = json_object_new_array();
	int ret = port_leftovers(rows);
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *left = row(rows, i);
		bool sure = json_object_get_boolean(json_object_object_get(left, "sure"));
		const char *dev = string(left, "dev");
		char check[IFNAMSIZ + 32];

		snprintf(check, sizeof(check), "port %s", dev);
		dev = quoted(dev);
		say(s, sure ? MISSING : NOTE, check, sure ?
		    advise(s, "hpccpp %sport change dev %s\t# or, if there is to be none: hpccpp %sport del dev %s",
			   s->at, dev, s->at, dev) :
		    advise(s, "%stc qdisc del dev %s clsact\t# unless another program made it, and will add filters",
			   s->enter, dev),
		    "%s", string(left, "found"));
	}
	json_object_put(rows);
	return ret;
}

/*
 * Lists the devices that data leaves by, as words of a shell: those with a known rate, or the
 * others. Returns their number.
 */
static size_t list_devs(const struct qdisc *list, size_t n, bool with_rate, char *text,
			size_t size)
{
	struct if_nameindex *all = if_nameindex(), *dev;
	size_t found = 0, len = 0;
	bool has_rate;

	for (dev = all; dev && dev->if_index && len < size; dev++) {
		if (!port_wanted(dev->if_name, false, list, n, &has_rate) || has_rate != with_rate)
			continue;
		len += snprintf(text + len, size - len, "%s%s", found++ ? " " : "",
				quoted(dev->if_name));
	}
	if (all)
		if_freenameindex(all);
	return len < size ? found : 0;
}

/*
 * A container has no device that needs a port: its packets leave the host by another one. A
 * receiver needs none.
 */
static void check_port_agents(struct state *s, const struct qdisc *list, size_t qdiscs)
{
	size_t n = json_object_array_length(s->ports), devs;
	enum verdict how = s->role == RECEIVER || s->told ? NOTE : MISSING;
	const struct advice *add;
	char names[512], others[512] = "", found[128];

	snprintf(found, sizeof(found), "on %zu queue%s", n, n == 1 ? "" : "s");
	if (!n && !s->unread_ports && s->told)
		snprintf(found, sizeof(found), "on 0 queues; port agents elsewhere write telemetry for %zu of %zu flows",
			 s->told, s->flows);
	devs = list_devs(list, qdiscs, true, names, sizeof(names));
	if (devs == 1)
		add = advise(s, "hpccpp %sport add dev %s base-rtt 1ms\t# or the round trip time of the fabric without queues",
			     s->at, names);
	else if (devs)
		add = advise(s, "for dev in %s; do hpccpp %sport add dev $dev base-rtt 1ms; done\t# those that data leaves by, and the round trip time of the fabric without queues",
			     names, s->at);
	else if (list_devs(list, qdiscs, false, others, sizeof(others)))
		add = advise(s, "run hpccpp port add with \"rate\" for %s: neither a qdisc nor ethtool reports the rate of the link",
			     others);
	else
		add = advise(s, "no port agent is needed here if a device in another network namespace sends the packets and has an agent; otherwise: hpccpp port add DEV rate RATE");
	if (!devs && !*others)
		how = s->told ? OK : NOTE;
	say(s, n || s->unread_ports ? OK : how, "port agents", add, "%s", found);
}

static int check_ports(struct state *s)
{
	size_t n = json_object_array_length(s->ports), i, qdiscs;
	struct json_object *said = NULL;
	struct qdisc *list;
	int fd, ret;

	ret = qdisc_list(&list, &qdiscs);
	if (ret)
		return ret;
	check_port_agents(s, list, qdiscs);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (i = 0; i < n; i++) {
		struct json_object *port = row(s->ports, i);

		check_stale(s, port, &said);
		if (number(port, "txq"))
			continue;
		if (!is_ingress(port))
			check_device(s, fd, string(port, "dev"), list, qdiscs);
		check_rate(s, port);
		check_bypass(s, port, list, qdiscs);
	}
	check_ids(s);
	close(fd);
	free(list);
	return check_leftovers(s);
}

/*
 * Names agents that cannot be read, and removes their rows: no other check can use them. Returns
 * their number.
 */
static size_t check_readable(struct state *s, const char *what, const char *key,
			     struct json_object *rows)
{
	size_t i = json_object_array_length(rows), unread = 0;
	char check[HPCCPP_CGROUP_LEN + 32];
	const struct advice *todo;

	while (i--) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!string(row, "error"))
			continue;
		snprintf(check, sizeof(check), "%s agent on %s", what, string(row, key));
		if (few_files()) {
			json_object_array_del_idx(rows, i, 1);
			unread++;
			continue;
		}
		todo = advise(s, "the agent keeps running: show it with the command of its version, or run hpccpp with \"replace\" and the arguments it was added with");
		say(s, NOTE, check, todo, "of version %s, which this one, " HPCCPP_VERSION ", cannot read",
		    string(row, "version"));
		json_object_array_del_idx(rows, i, 1);
		unread++;
	}
	return unread;
}

/* The checks that read the namespace's objects. */
static int check_objects(struct state *s)
{
	int ret = host_rows(NULL, s->hosts), flows = EXIT_DONE, err;

	s->unread_ports = check_readable(s, "port", "dev", s->ports);
	s->unread_hosts = check_readable(s, "host", "cgroup", s->hosts);
	check_hosts(s);
	/* why it cannot be read has been said above */
	if (!flow_probe())
		flows = flow_rows(count_flow, s);
	err = check_ports(s);
	if (!err && !flows)
		check_flows(s);
	return err ?: flows ?: ret;
}

static void print_report(struct json_object *report)
{
	size_t i;

	if (opt.output == OUTPUT_JSON) {
		print_json(report);
		return;
	}
	for (i = 0; i < json_object_array_length(report); i++) {
		struct json_object *row = json_object_array_get_idx(report, i);
		const char *advice = string(row, "advice");

		printf("%-8s %s: %s\n", string(row, "status"),
		       string(row, "check"), string(row, "found"));
		if (advice)
			printf("         %s\n", advice);
	}
}

/*
 * Returns false if the command is not permitted to list eBPF programs: for users other than root,
 * and for root of a container or of a user namespace.
 */
static bool may_read_agents(void)
{
	__u32 id;

	return !bpf_prog_get_next_id(0, &id) || errno != EPERM;
}

int check_main(int argc, char **argv)
{
	bool readable = may_read_agents();
	static const char *const roles[] = { "sender", "receiver", "switch" };
	const char *netns = NULL;
	struct state s = {};
	struct argument args[] = {
		{ ARG("netns", arg_text, &netns) },
		{ ARG("role", arg_word, &s.role),
		  .words = roles, .high = ARRAY_SIZE(roles) },
	};
	int ret;

	ret = wants_help(argc, argv, usage);
	if (!ret)
		ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && opt.output == OUTPUT_PROM)
		ret = usage_error("output \"prom\" is wrong: check has text and json");
	if (!ret)
		ret = netns_enter(netns);
	if (ret)
		return ret;
	name_netns(&s, opt.netns);
	s.report = json_object_new_array();
	s.ports = json_object_new_array();
	s.hosts = json_object_new_array();
	begin_flows(&s);
	/* first, as what passes meanwhile is compared */
	if (readable)
		ret = port_rows(NULL, s.ports);
	check_btf(&s);
	check_cgroup(&s);
	check_agents(&s);
	if (s.role == SENDER)
		check_module(&s);
	if (readable)
		ret = check_objects(&s) ?: ret;
	else
		say(&s, MISSING, "agents and flows",
		    geteuid() ? advise(&s, "be root") :
		    advise(&s, "run it on the host: a container cannot read eBPF programs"),
		    "not known");
	if (s.role == SENDER)
		check_default(&s);
	print_report(s.report);
	json_object_put(s.report);
	json_object_put(s.ports);
	json_object_put(s.hosts);
	end_flows(&s);
	return ret ? ret : s.missing ? EXIT_MISSING : EXIT_DONE;
}
