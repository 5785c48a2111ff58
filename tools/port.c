// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp port: the agent on a device's egress that writes the load of that
 * device into passing packets. It is a TC filter and stays when the command
 * ends; the filter is also how it is found again.
 */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/sockios.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "hpccpp.h"
#include "hpccpp_roce.h"
#include "port.skel.h"
#include "port_typed.skel.h"

#define PROG_NAME	"hpccpp_port"
#define BASE_RTT	1000	/* us, the default */
#define DSCP_MAX	63
#define RESPOND_MAX	398	/* percent: what U can say */
#define NODE_MAX	0xffffff

static const char usage[] =
"Usage: hpccpp port add dev DEV [ rate RATE ] [ id ID ]\n"
"                       [ queue { qdisc | virtual } ] [ base-rtt TIME ]\n"
"                       [ above PERCENT ] [ dscp N ] [ respond PERCENT ]\n"
"                       [ respond-to { sender | receiver } ] [ limit N ]\n"
"                       [ accept PREFIX ]... [ udp-port N ]\n"
"                       [ cnp PERCENT ] [ source ADDRESS ]\n"
"                       [ ecn { never | mark } ] [ capable PREFIX ]...\n"
"                       [ option-type N [ option-type N ] ]\n"
"                       [ ioam NAMESPACE ] [ node N ] [ border ]\n"
"                       [ netns NAME ]\n"
"       hpccpp port delete dev DEV [ netns NAME ]\n"
"       hpccpp port [ show ] [ dev DEV ] [ netns NAME ]\n"
"\n"
"RATE  the port's speed, 10kbit to 4tbit: bit, kbit, mbit, gbit, tbit (kibit...)\n"
"      or, of bytes, bps, kbps... Default: that of the root qdisc (netem, tbf,\n"
"      htb, or these under mq: of one queue), else the speed in ethtool\n"
"ID    link id, 0 to 4095, unique on the paths of a flow; tx queue N under mq\n"
"      has ID + N. Default: 1 to 4095 by a hash of boot id, namespace and\n"
"      device; it stays while these do. Two ports may hash to the same\n"
"queue where the queue is seen: in the root qdisc's counters, or in a FIFO of\n"
"      RATE that is computed. Default: qdisc when it shapes, else virtual\n"
"TIME  the T over which the port averages its own U, 1us to 4s, default 1ms\n"
"above leave records empty while U is less than this, 1 to 100 percent; for a\n"
"      sender that does not know its path they are written. Default: write all\n"
"dscp  write only into segments with this codepoint, 0 to 63. Default: into all\n"
"respond from this U on, 1 to 398 percent, send what is written into a segment\n"
"      that is forwarded straight back to its sender too, at most once in TIME to\n"
"      a flow, and 1 to 1000000 times a second in all (limit, default 10000).\n"
"      Default: send none\n"
"respond-to or to its receiver, for flows whose W is computed there (mode receiver).\n"
"      Default: sender\n"
"accept as a sender's or a receiver's port, take these INT responses from ports with such\n"
"      addresses, ADDRESS[/LEN], up to 64. Default: let them pass\n"
"udp-port where they are sent to, 1 to 65535, default 18512\n"
"cnp   from this U on, 1 to 398 percent, answer RoCEv2 data over IPv6 that is\n"
"      forwarded with a Fast CNP to its sender; limits as for respond. Default: none\n"
"source where they come from. Default: the first global IPv6 address of lo\n"
"ecn   mark data that is answered too, for senders that may not know Fast CNP, or\n"
"      never, the default\n"
"capable with ecn mark, senders that are known to take Fast CNPs: data from such\n"
"      addresses, ADDRESS[/LEN] of IPv6, up to 64, is not marked. Default: none\n"
"option-type IPv6 destination option of a Fast CNP without, and of one with a trace,\n"
"      128 to 159. Default: 0x9e, 0x9d\n"
"ioam  write into IOAM traces of this namespace, 0 to 65535, as node N, 0 to 16777215,\n"
"      default: net.ipv6.ioam6_id. Default: write into none\n"
"border drop Fast CNPs that enter or leave by DEV. Default: let them pass\n"
"\n"
"qlen, tx and U are those of the last packet that was stamped, age ago; tx is\n"
"modulo 1 GiB. backlog and drops are the qdisc's now. -s adds packets: stamped,\n"
"replaced (another hop's record), kept (records more loaded than the port),\n"
"passed (no space brought), quiet (below PERCENT), unsubscribed (another dscp),\n"
"bad, error; INT responses: responded, suppressed (one was sent in TIME), limited,\n"
"accepted, and those dropped: denied (no PREFIX), unknown (no such connection),\n"
"outside (data that is not in flight), damaged; Fast CNPs: cnp_sent, cnp_cut (of\n"
"these, without a trace too long for them), cnp_marked (data, ecn), border_in and\n"
"border_out (dropped); IOAM: traced, trace_full (no room), trace_bad.\n"
"\n"
"JSON: dev txq id rate rate_given queue root mq base_rtt above dscp respond\n"
"respond_to limit udp_port accept cnp source ecn capable option_types ioam node border U qlen\n"
"tx_bytes age backlog drops stats: see hpccpp(8)\n";

const struct field port_fields[] = {
	{ "dev", FORM_TEXT, "", "DEV", "", NULL },
	{ "txq", FORM_NUM, "txq", "TXQ", "", NULL },
	{ "id", FORM_NUM, "id", "LINK", NULL, NULL },
	{ "rate", FORM_RATE, "rate", "RATE",
	  "hpccpp_port_rate_bytes_per_second", "Bandwidth that is stamped." },
	{ "rate_given", FORM_FLAG, "given", NULL, NULL, NULL },
	{ "queue", FORM_TEXT, "queue", "QUEUE", NULL, NULL },
	{ "root", FORM_TEXT, "root", NULL, NULL, NULL },
	{ "mq", FORM_FLAG, "mq", NULL, NULL, NULL },
	{ "base_rtt", FORM_TIME, "base-rtt", NULL,
	  "hpccpp_port_base_rtt_seconds", "Time over which U is averaged." },
	{ "above", FORM_NUM, "above", NULL, NULL, NULL },
	{ "dscp", FORM_NUM, "dscp", NULL, NULL, NULL },
	{ "respond", FORM_NUM, "respond", NULL, NULL, NULL },
	{ "respond_to", FORM_TEXT, "respond-to", NULL, NULL, NULL },
	{ "limit", FORM_NUM, "limit", NULL, NULL, NULL },
	{ "accept", FORM_LIST, "accept", NULL, NULL, NULL },
	{ "udp_port", FORM_NUM, "udp-port", NULL, NULL, NULL },
	{ "cnp", FORM_NUM, "cnp", NULL, NULL, NULL },
	{ "source", FORM_TEXT, "source", NULL, NULL, NULL },
	{ "ecn", FORM_TEXT, "ecn", NULL, NULL, NULL },
	{ "capable", FORM_LIST, "capable", NULL, NULL, NULL },
	{ "option_types", FORM_LIST, "option-type", NULL, NULL, NULL },
	{ "ioam", FORM_NUM, "ioam", NULL, NULL, NULL },
	{ "node", FORM_NUM, "node", NULL, NULL, NULL },
	{ "border", FORM_FLAG, "border", NULL, NULL, NULL },
	{ "U", FORM_RATIO, "\nU", "U", "hpccpp_port_utilization_ratio",
	  "Load as of the last stamp, queue included, 1 is full." },
	{ "qlen", FORM_BYTES, "qlen", "QLEN", "hpccpp_port_queue_bytes",
	  "Queue as of the last stamp." },
	{ "tx_bytes", FORM_BYTES, "tx", NULL, NULL, NULL },
	{ "age", FORM_TIME, "age", "AGE", "hpccpp_port_stamp_age_seconds",
	  "Time since the last stamp." },
	{ "backlog", FORM_BYTES, "backlog", "BACKLOG",
	  "hpccpp_port_backlog_bytes", "Bytes that wait in the qdisc." },
	{ "drops", FORM_NUM, "drops", "DROPS",
	  "hpccpp_port_dropped_packets_total",
	  "Packets that the qdisc dropped." },
	{ "stats", FORM_COUNTS, "", NULL, "hpccpp_port_packets_total",
	  "Packets of the device by what the agent did with them." },
	{ }
};

static const char *const queues[] = { "qdisc", "virtual" };
static const char *const ends[] = { "sender", "receiver" };
static const char *const marks[] = { "never", "mark" };
static const char *const roots[] = { "flat", "head", "mq" };

/* Root qdiscs that keep a backlog, and how. Only the first three shape. */
static const struct {
	const char *kind;
	enum hpccpp_root root;
} kinds[] = {
	{ "netem", HPCCPP_ROOT_HEAD },
	{ "tbf", HPCCPP_ROOT_FLAT },
	{ "htb", HPCCPP_ROOT_FLAT },
	{ "fq", HPCCPP_ROOT_FLAT },
	{ "fq_codel", HPCCPP_ROOT_FLAT },
	{ "codel", HPCCPP_ROOT_FLAT },
	{ "pfifo", HPCCPP_ROOT_FLAT },
	{ "bfifo", HPCCPP_ROOT_FLAT },
	{ "red", HPCCPP_ROOT_FLAT },
	{ "sfq", HPCCPP_ROOT_FLAT },
	{ "prio", HPCCPP_ROOT_FLAT },
	{ "drr", HPCCPP_ROOT_FLAT },
};

#define KINDS	"netem, tbf, htb, fq, fq_codel, codel, pfifo, bfifo, red, sfq, prio, drr, or one of these under mq"

static const struct qdisc *find_qdisc(const struct qdisc *list, size_t n,
				      int ifindex, __u32 parent)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (list[i].ifindex == ifindex && list[i].parent == parent)
			return &list[i];
	}
	return NULL;
}

/* What hangs where a clsact does: NULL, a clsact or an ingress. */
static const struct qdisc *find_clsact(const struct qdisc *list, size_t n,
				       int ifindex)
{
	return find_qdisc(list, n, ifindex, TC_H_INGRESS);
}

/* What is known of a port before it is set up. */
struct plan {
	struct hpccpp_port_response response;
	struct hpccpp_port_roce roce;
	bool has_roce;		/* takes it the programs that have to do with RoCEv2? */
	struct hpccpp_prefix accept[HPCCPP_PREFIXES];
	struct hpccpp_prefix capable[HPCCPP_PREFIXES];
	const char *dev;
	int ifindex;
	bool mq;		/* qdisc is that of each of its queues */
	struct qdisc qdisc;	/* kind "noqueue" when there is none */
	unsigned int queues;
};

/*
 * The children of an mq stand for each other: they must be alike, unless
 * nothing is taken from them.
 */
static int read_children(struct plan *p, const struct qdisc *list, size_t n,
			 const struct qdisc *mq, bool want_rate, bool alike)
{
	const struct qdisc *child;
	struct qdisc q;
	int ret;

	for (;; p->queues++) {
		child = find_qdisc(list, n, p->ifindex,
				   TC_H_MAJ(mq->handle) | (p->queues + 1));
		if (!child)
			break;
		q = *child;
		if (want_rate && !strcmp(q.kind, "htb")) {
			ret = qdisc_htb_rate(p->dev, &q);
			if (ret)
				return ret;
		}
		if (!p->queues)
			p->qdisc = q;
		if (alike && (strcmp(q.kind, p->qdisc.kind) ||
			      q.rate != p->qdisc.rate))
			return system_error("the queues of %s differ: %s at %llu bit/s in queue 0, %s at %llu bit/s in queue %u",
					    p->dev, p->qdisc.kind,
					    p->qdisc.rate, q.kind, q.rate,
					    p->queues);
	}
	if (!p->queues)
		return system_error("mq on %s has no queues: is it up?",
				    p->dev);
	return EXIT_DONE;
}

static int read_root(struct plan *p, const struct qdisc *list, size_t n,
		     bool want_rate, bool want_queue)
{
	const struct qdisc *root = find_qdisc(list, n, p->ifindex, TC_H_ROOT);

	strcpy(p->qdisc.kind, "noqueue");
	if (root && !strcmp(root->kind, "mq")) {
		p->mq = true;
		return read_children(p, list, n, root, want_rate,
				     want_rate || want_queue);
	}
	p->queues = 1;
	if (root)
		p->qdisc = *root;
	if (root && want_rate && !strcmp(root->kind, "htb"))
		return qdisc_htb_rate(p->dev, &p->qdisc);
	return EXIT_DONE;
}

/* Speed of a link in bit/s; 0 when the driver does not know. */
__u64 ethtool_rate(const char *dev)
{
	/* Three bit masks of at most 127 words each follow it. */
	union {
		struct ethtool_link_settings req;
		__u32 space[sizeof(struct ethtool_link_settings) / 4 + 3 * 127];
	} e = { .req.cmd = ETHTOOL_GLINKSETTINGS };
	struct ifreq ifr = { .ifr_data = (void *)&e };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	__u64 rate = 0;

	if (fd < 0)
		return 0;
	strncpy(ifr.ifr_name, dev, IFNAMSIZ - 1);
	/* Asked with no words, it answers minus the number that it wants. */
	if (!ioctl(fd, SIOCETHTOOL, &ifr) && e.req.link_mode_masks_nwords < 0) {
		e.req.link_mode_masks_nwords = -e.req.link_mode_masks_nwords;
		e.req.cmd = ETHTOOL_GLINKSETTINGS;
		if (!ioctl(fd, SIOCETHTOOL, &ifr) &&
		    e.req.speed != (__u32)SPEED_UNKNOWN)
			rate = e.req.speed * 1000000ULL;
	}
	close(fd);
	return rate;
}

static __u32 hash(__u32 h, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)				/* FNV-1a */
		h = (h ^ *p++) * 16777619;
	return h;
}

/* 1..max, the same each time for one device as long as the host is up. */
static __u16 default_id(const struct plan *p, unsigned int max)
{
	__u32 h = 2166136261U;
	char boot[64];
	struct stat st;
	ssize_t len;
	int fd;

	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, boot, sizeof(boot));
		if (len > 0)
			h = hash(h, boot, len);
		close(fd);
	}
	if (!stat("/proc/self/ns/net", &st))
		h = hash(h, &st.st_ino, sizeof(st.st_ino));
	h = hash(h, &p->ifindex, sizeof(p->ifindex));
	h = hash(h, p->dev, strlen(p->dev));
	return 1 + h % max;
}

/*
 * Completes cfg, in which 0 stands for what was not given. A virtual queue is
 * the port's, as its queues share one wire; qdiscs are seen one by one.
 */
static int choose(struct plan *p, struct hpccpp_port_cfg *cfg,
		  const char *queue)
{
	const char *kind = p->qdisc.kind;
	unsigned int which;
	size_t i = 0;
	int ret;

	while (i < ARRAY_SIZE(kinds) && strcmp(kinds[i].kind, kind))
		i++;
	which = p->qdisc.rate || !strcmp(kind, "htb") ? HPCCPP_QUEUE_QDISC :
							HPCCPP_QUEUE_VIRTUAL;
	if (queue) {
		ret = parse_word("queue", queue, queues, ARRAY_SIZE(queues),
				 &which);
		if (ret)
			return ret;
	}
	cfg->queue = which;
	cfg->queues = 1;
	cfg->root = HPCCPP_ROOT_FLAT;
	if (which == HPCCPP_QUEUE_QDISC) {
		if (i == ARRAY_SIZE(kinds))
			return system_error("queue \"qdisc\" is wrong: the qdisc of %s is %s, allowed are "
					    KINDS, p->dev, kind);
		cfg->root = kinds[i].root;
		cfg->mq = p->mq;
		cfg->queues = p->queues;
	}

	if (!cfg->rate)
		cfg->rate = p->qdisc.rate * (p->queues / cfg->queues);
	if (!cfg->rate && !cfg->mq)
		cfg->rate = ethtool_rate(p->dev);
	if (!cfg->rate)
		return system_error("no rate known for %s: give one%s with rate RATE",
				    p->dev, cfg->mq ? ", of one queue," : "");
	if (cfg->rate < HPCCPP_RATE_MIN || cfg->rate > HPCCPP_RATE_MAX)
		return system_error("the rate of %s is %llu bit/s: allowed are 10kbit to 4tbit, give one with rate RATE",
				    p->dev, cfg->rate);
	cfg->rate_code = hpccpp_rate_encode(cfg->rate);
	if (which == HPCCPP_QUEUE_QDISC && p->qdisc.delay)
		fprintf(stderr, "Warning: netem on %s has a delay: packets on the wire count as waiting. Put it on another device.\n",
			p->dev);
	return EXIT_DONE;
}

/* Where responses come from: the first addresses of the device */
static int own_addresses(struct plan *p)
{
	struct hpccpp_port_response *r = &p->response;
	struct ifaddrs *all, *a;

	if (getifaddrs(&all))
		return errno_error(errno, "cannot list addresses");
	for (a = all; a; a = a->ifa_next) {
		const struct sockaddr_in6 *in6 = (void *)a->ifa_addr;
		const struct sockaddr_in *in = (void *)a->ifa_addr;

		if (!in || strcmp(a->ifa_name, p->dev))
			continue;
		if (in->sin_family == AF_INET && !r->addr4[0])
			memcpy(r->addr4, &in->sin_addr, sizeof(r->addr4));
		if (in->sin_family == AF_INET6 && !r->addr6[0] &&
		    !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			memcpy(r->addr6, &in6->sin6_addr, sizeof(r->addr6));
	}
	freeifaddrs(all);
	if (!r->addr4[0] && !r->addr6[0])
		return system_error("%s has no address to send INT responses from",
				    p->dev);
	return EXIT_DONE;
}

/* Can a Fast CNP come from there? */
static bool is_source(const struct in6_addr *a)
{
	return !IN6_IS_ADDR_LINKLOCAL(a) && !IN6_IS_ADDR_LOOPBACK(a) &&
	       !IN6_IS_ADDR_MULTICAST(a) && !IN6_IS_ADDR_UNSPECIFIED(a) &&
	       !IN6_IS_ADDR_V4MAPPED(a);
}

/* The switch's loopback address, unless one is given */
static int cnp_source(struct hpccpp_port_roce *r, const char *source)
{
	struct ifaddrs *all, *a;
	bool found = false;

	if (source) {
		if (inet_pton(AF_INET6, source, r->source) != 1 ||
		    !is_source((struct in6_addr *)r->source))
			return usage_error("source \"%s\" is wrong: allowed are IPv6 addresses that others can reach",
					   source);
		return EXIT_DONE;
	}
	if (getifaddrs(&all))
		return errno_error(errno, "cannot list addresses");
	for (a = all; a && !found; a = a->ifa_next) {
		const struct sockaddr_in6 *in6 = (void *)a->ifa_addr;

		if (!in6 || in6->sin6_family != AF_INET6 || strcmp(a->ifa_name, "lo") ||
		    !is_source(&in6->sin6_addr))
			continue;
		memcpy(r->source, &in6->sin6_addr, sizeof(r->source));
		found = true;
	}
	freeifaddrs(all);
	return found ? EXIT_DONE :
		       system_error("lo has no global IPv6 address to send Fast CNPs from: give one with source ADDRESS");
}

/* What the kernel's own IOAM node has for its id; all ones where there is none */
static __u32 kernel_node(void)
{
	FILE *f = fopen("/proc/sys/net/ipv6/ioam6_id", "re");
	unsigned int id = NODE_MAX;

	if (f) {
		if (fscanf(f, "%u", &id) != 1 || id > NODE_MAX)
			id = NODE_MAX;
		fclose(f);
	}
	return id;
}

static long long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* What the command line says of RoCEv2. Percent and node are 0 and -1 for none. */
static int plan_roce(struct plan *p, struct hpccpp_port_cfg *cfg, unsigned int percent,
		     const char *source, long node)
{
	struct hpccpp_port_roce *r = &p->roce;

	p->has_roce = percent || r->ioam || r->border;
	r->cnp_percent = percent;
	r->cnp = ((percent << HPCCPP_U_SHIFT) + 99) / 100;
	if (r->cnp || r->border)
		cfg->ingress = true;
	if (r->ioam) {
		r->node = node < 0 ? kernel_node() : node;
		r->clock = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	}
	return r->cnp ? cnp_source(r, source) : EXIT_DONE;
}

/* The mark is a number that no packet has by chance, or knows. */
static int plan_responses(struct plan *p, struct hpccpp_port_cfg *cfg,
			  unsigned int limit)
{
	struct hpccpp_port_response *r = &p->response;

	if (cfg->respond || r->accepts)
		cfg->ingress = true;
	if (!cfg->respond && !p->roce.cnp)
		return EXIT_DONE;
	r->limit = limit;
	r->interval = 1000000000 / limit;
	while (!r->mark) {
		if (getrandom(&r->mark, sizeof(r->mark), 0) < 0)
			return errno_error(errno, "cannot get a random number");
	}
	cfg->mark = r->mark;
	return cfg->respond ? own_addresses(p) : EXIT_DONE;
}

static int write_responses(const struct port_bpf *skel, const struct plan *p)
{
	__u32 zero = 0;
	int err;

	err = bpf_map__update_elem(skel->maps.port_response, &zero, sizeof(zero),
				   &p->response, sizeof(p->response), BPF_ANY);
	if (!err)
		err = write_prefixes(skel->maps.port_accept, p->accept,
				     p->response.accepts);
	if (!err)
		err = write_prefixes(skel->maps.port_capable, p->capable,
				     p->roce.capables);
	if (p->has_roce && !err)
		err = bpf_map__update_elem(skel->maps.port_roce, &zero, sizeof(zero),
					   &p->roce, sizeof(p->roce), BPF_ANY);
	return err;
}

static int write_cfg(int map, const struct hpccpp_port_cfg *cfg)
{
	struct hpccpp_port port = { .cfg = *cfg };
	__u32 i;

	for (i = 0; i < cfg->queues; i++) {
		port.cfg.link = cfg->link + i;
		if (bpf_map_update_elem(map, &i, &port, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* A clsact of ours goes with its last filter, which may be somebody's. */
static int remove_clsact(const char *dev, int ifindex)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
			    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	struct filters f;
	int err, ret;

	ret = clsact_filters(ifindex, &f);
	if (ret || f.count)
		return ret;
	err = bpf_tc_hook_destroy(&hook);
	return err ? errno_error(err, "cannot remove the clsact on %s", dev) :
		     EXIT_DONE;
}

/* Where our filters are; libbpf wants the padding to be zero too. */
#define FILTER_AT(name, prio) \
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, name, .handle = HPCCPP_TC_HANDLE, \
			    .priority = prio)
#define HOOK(name, dev, point) \
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, name, .ifindex = dev, \
			    .attach_point = point)

static int detach_filter(int ifindex, __u32 priority,
			 enum bpf_tc_attach_point point)
{
	HOOK(hook, ifindex, point);
	FILTER_AT(opts, priority);

	return bpf_tc_detach(&hook, &opts);
}

/*
 * Programs to both hooks of a device, or to egress alone when in is -1. Before that
 * write() is told whether the clsact is ours, for who detaches. Returns -EEXIST
 * when another's filter has the place, with nothing said.
 *
 * From making a clsact to attaching no signal is to end us: nobody would
 * remember that the clsact was ours.
 */
int attach_filters(const char *dev, int ifindex, __u32 priority, int in, int out,
		   int (*write)(void *arg, bool own_clsact), void *arg)
{
	HOOK(egress, ifindex, BPF_TC_EGRESS);
	HOOK(ingress, ifindex, BPF_TC_INGRESS);
	FILTER_AT(opts, priority);
	FILTER_AT(in_opts, priority);
	sigset_t all, old;
	bool own;
	int err;

	opts.prog_fd = out;
	in_opts.prog_fd = in;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	err = bpf_tc_hook_create(&egress);
	own = !err;
	if (err == -EEXIST)
		err = 0;
	if (!err) {
		err = write(arg, own);
		if (!err && in >= 0)
			err = bpf_tc_attach(&ingress, &in_opts);
		if (!err) {
			err = bpf_tc_attach(&egress, &opts);
			if (err && in >= 0)
				detach_filter(ifindex, priority, BPF_TC_INGRESS);
		}
		if (err && own)
			remove_clsact(dev, ifindex);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (!err || err == -EEXIST)
		return err;
	return errno_error(err, "cannot attach to %s", dev);
}

/* Both or none, of what: the command finds it by its egress filter. */
int detach_filters(const char *what, const char *dev, int ifindex,
		   __u32 priority, bool in, bool own_clsact)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	err = detach_filter(ifindex, priority, BPF_TC_EGRESS);
	if (!err && in)
		err = detach_filter(ifindex, priority, BPF_TC_INGRESS);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (err && err != -ENOENT)
		return errno_error(err, "cannot remove the %s on %s", what, dev);
	return own_clsact ? remove_clsact(dev, ifindex) : EXIT_DONE;
}

/* Takes it more than the smallest program? */
static bool has_extras(const struct hpccpp_port_cfg *cfg)
{
	return cfg->above || cfg->subscribed || cfg->respond;
}

static struct bpf_program *egress_prog(const struct port_bpf *skel, const struct plan *p,
				       const struct hpccpp_port_cfg *cfg)
{
	if (p->has_roce)
		return skel->progs.hpccpp_port_cnp;
	return has_extras(cfg) ? skel->progs.hpccpp_port_ext : skel->progs.hpccpp_port;
}

static struct bpf_program *ingress_prog(const struct port_bpf *skel, const struct plan *p)
{
	return p->has_roce ? skel->progs.hpccpp_port_cin : skel->progs.hpccpp_port_in;
}

struct to_write {
	struct port_bpf *skel;
	struct hpccpp_port_cfg *cfg;
};

static int write_port(void *arg, bool own_clsact)
{
	struct to_write *w = arg;

	w->cfg->own_clsact = own_clsact;
	return write_cfg(bpf_map__fd(w->skel->maps.port), w->cfg);
}

static int attach(struct port_bpf *skel, const struct plan *p,
		  struct hpccpp_port_cfg *cfg)
{
	struct to_write w = { skel, cfg };
	int ret;

	ret = attach_filters(p->dev, p->ifindex, HPCCPP_TC_PRIO,
			     cfg->ingress ? bpf_program__fd(ingress_prog(skel, p)) : -1,
			     bpf_program__fd(egress_prog(skel, p, cfg)),
			     write_port, &w);
	if (ret == -EEXIST)
		return system_error("a port exists already on %s", p->dev);
	return ret;
}

static int bind_maps(const struct port_bpf *skel, const struct plan *p,
		     const struct hpccpp_port_cfg *cfg)
{
	int prog = bpf_program__fd(egress_prog(skel, p, cfg));

	if (!cfg->ingress)
		return 0;
	if (bpf_prog_bind_map(prog, bpf_map__fd(skel->maps.port_response), NULL) ||
	    bpf_prog_bind_map(prog, bpf_map__fd(skel->maps.port_accept), NULL))
		return -errno;
	return 0;
}

/* port_bpf__open_opts(), of either object: they have the same maps and programs. */
static struct port_bpf *open_skeleton(bool typed)
{
	/* types of a kernel that does not have its own with it */
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, opts,
			    .btf_custom_path = getenv("HPCCPP_BTF"));
	struct port_bpf *skel = calloc(1, sizeof(*skel));
	int err;

	if (!skel)
		return NULL;
	err = port_bpf__create_skeleton(skel);
	if (!err && typed)
		skel->skeleton->data =
			port_typed_bpf__elf_bytes(&skel->skeleton->data_sz);
	if (!err)
		err = bpf_object__open_skeleton(skel->skeleton, &opts);
	if (err) {
		port_bpf__destroy(skel);
		errno = -err;
		return NULL;
	}
	return skel;
}

/* The programs that this port needs, in the kernel; NULL and errno when it refuses. */
static struct port_bpf *load_skeleton(const struct plan *p,
				      const struct hpccpp_port_cfg *cfg, bool typed)
{
	struct port_bpf *skel = open_skeleton(typed);
	struct bpf_program *prog;
	int err;

	if (!skel)
		return NULL;
	skel->rodata->reads_qdisc = cfg->queue == HPCCPP_QUEUE_QDISC;
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, prog == egress_prog(skel, p, cfg) ||
					  (cfg->ingress && prog == ingress_prog(skel, p)));
	bpf_map__set_autocreate(skel->maps.port_roce, p->has_roce);
	bpf_map__set_autocreate(skel->maps.port_space, p->has_roce);
	bpf_map__set_autocreate(skel->maps.port_capable, p->has_roce);
	err = bpf_map__set_max_entries(skel->maps.port, cfg->queues);
	if (!err && !cfg->mark)
		err = bpf_map__set_max_entries(skel->maps.port_answered, 1);
	if (!err)
		err = port_bpf__load(skel);
	if (err) {
		port_bpf__destroy(skel);
		errno = -err;
		return NULL;
	}
	return skel;
}

static int load(const struct plan *p, struct hpccpp_port_cfg *cfg)
{
	struct port_bpf *skel = NULL;
	int ret;

	/* whether the kernel knows the types of pointers it says itself */
	if (cfg->queue == HPCCPP_QUEUE_QDISC && !getenv("HPCCPP_BTF"))
		skel = load_skeleton(p, cfg, true);
	if (!skel)
		skel = load_skeleton(p, cfg, false);
	if (!skel)
		return load_error(errno, "port");
	/* `port show` finds maps by the program on egress */
	ret = bind_maps(skel, p, cfg);
	if (!ret)
		ret = write_responses(skel, p);
	ret = ret ? load_error(ret, "port") : attach(skel, p, cfg);
	port_bpf__destroy(skel);
	return ret;
}

/* Our program on a device, an fd or -1, and all filters there. */
static int find_port(const struct qdisc *list, size_t n, int ifindex,
		     struct filters *f, int *prog)
{
	const struct qdisc *clsact = find_clsact(list, n, ifindex);
	int ret;

	*prog = -1;
	memset(f, 0, sizeof(*f));
	if (!clsact || strcmp(clsact->kind, "clsact"))
		return EXIT_DONE;
	ret = clsact_filters(ifindex, f);
	if (ret || !f->prog)
		return ret;
	return prog_open(f->prog, PROG_NAME, prog);
}

/* Whether a port can be attached: the place is free. */
static int check_place(const struct plan *p, const struct qdisc *list, size_t n,
		       bool ingress)
{
	const struct qdisc *clsact = find_clsact(list, n, p->ifindex);
	struct filters f;
	int prog, ret;

	if (clsact && strcmp(clsact->kind, "clsact"))
		return system_error("%s has a qdisc %s, which excludes the clsact that a port needs",
				    p->dev, clsact->kind);
	ret = find_port(list, n, p->ifindex, &f, &prog);
	if (ret)
		return ret;
	if (prog >= 0) {
		close(prog);
		return system_error("a port exists already on %s", p->dev);
	}
	if (f.taken || (ingress && f.taken_in))
		return system_error("%s has another's %s filter at preference %u, where a port's goes",
				    p->dev, f.taken ? "egress" : "ingress",
				    HPCCPP_TC_PRIO);
	return EXIT_DONE;
}

int find_dev(const char *dev, const char *netns, int *ifindex)
{
	int ret = netns_enter(netns);

	if (ret || !dev)
		return ret;
	*ifindex = if_nametoindex(dev);
	if (!*ifindex)
		return system_error("cannot find device \"%s\"", dev);
	return EXIT_DONE;
}

/*
 * One at a time changes ports of a namespace: else one could take away the
 * clsact that another found there. Held until the process ends.
 */
int lock_netns(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX))
		return errno_error(errno, "cannot lock the namespace's ports");
	return EXIT_DONE;
}

static int port_add(int argc, char **argv)
{
	const char *rate = NULL, *id = NULL, *queue = NULL, *rtt = NULL;
	const char *above = NULL, *dscp = NULL, *netns = NULL;
	const char *respond = NULL, *to = NULL, *limit = NULL, *udp = NULL;
	const char *cnp = NULL, *source = NULL, *ecn = NULL, *ioam = NULL;
	const char *accept[HPCCPP_PREFIXES], *type[2], *node = NULL;
	const char *capable[HPCCPP_PREFIXES];
	struct hpccpp_port_cfg cfg = { .base_rtt = BASE_RTT };
	struct plan p = { .roce = { .type1 = HPCCPP_FCNP_TYPE1,
				    .type2 = HPCCPP_FCNP_TYPE2 } };
	struct argument args[] = {
		{ .name = "dev", .value = &p.dev, .max = 1 },
		{ .name = "rate", .value = &rate, .max = 1 },
		{ .name = "id", .value = &id, .max = 1 },
		{ .name = "queue", .value = &queue, .max = 1 },
		{ .name = "base-rtt", .value = &rtt, .max = 1 },
		{ .name = "above", .value = &above, .max = 1 },
		{ .name = "dscp", .value = &dscp, .max = 1 },
		{ .name = "respond", .value = &respond, .max = 1 },
		{ .name = "respond-to", .value = &to, .max = 1 },
		{ .name = "limit", .value = &limit, .max = 1 },
		{ .name = "accept", .value = accept, .max = HPCCPP_PREFIXES },
		{ .name = "udp-port", .value = &udp, .max = 1 },
		{ .name = "cnp", .value = &cnp, .max = 1 },
		{ .name = "source", .value = &source, .max = 1 },
		{ .name = "ecn", .value = &ecn, .max = 1 },
		{ .name = "capable", .value = capable, .max = HPCCPP_PREFIXES },
		{ .name = "option-type", .value = type, .max = ARRAY_SIZE(type) },
		{ .name = "ioam", .value = &ioam, .max = 1 },
		{ .name = "node", .value = &node, .max = 1 },
		{ .name = "border" },
		{ .name = "netns", .value = &netns, .max = 1 },
	};
	unsigned int congested = 0, mark = 0, end = HPCCPP_TO_SENDER, space = 0, number = NODE_MAX;
	unsigned int types[] = { HPCCPP_FCNP_TYPE1, HPCCPP_FCNP_TYPE2 };
	unsigned int link = 0, which, percent = 0, codepoint = 0, i;
	unsigned int most = HPCCPP_LIMIT, from = 0, udp_port = HPCCPP_RESPONSE_PORT;
	struct qdisc *list;
	size_t n;
	int ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && !p.dev)
		ret = usage_error("\"dev\" is missing, try \"hpccpp port help\"");
	if (!ret && rate)
		ret = parse_rate("rate", rate, &cfg.rate);
	if (!ret && id)
		ret = parse_uint("id", id, 0, HPCCPP_LINK_MAX, &link);
	if (!ret && queue)
		ret = parse_word("queue", queue, queues, ARRAY_SIZE(queues),
				 &which);
	if (!ret && rtt)
		ret = parse_time("base-rtt", rtt, &cfg.base_rtt);
	if (!ret && above)
		ret = parse_uint("above", above, 1, 100, &percent);
	if (!ret && dscp)
		ret = parse_uint("dscp", dscp, 0, DSCP_MAX, &codepoint);
	if (!ret && respond)
		ret = parse_uint("respond", respond, 1, RESPOND_MAX, &from);
	if (!ret && to)
		ret = parse_word("respond-to", to, ends, ARRAY_SIZE(ends), &end);
	if (!ret && limit)
		ret = parse_uint("limit", limit, 1, HPCCPP_LIMIT_MAX, &most);
	for (i = 0; i < args[10].n && !ret; i++)
		ret = parse_prefix(accept[i], &p.accept[i]);
	if (!ret && udp)
		ret = parse_uint("udp-port", udp, 1, 65535, &udp_port);
	if (!ret && cnp)
		ret = parse_uint("cnp", cnp, 1, RESPOND_MAX, &congested);
	if (!ret && ecn)
		ret = parse_word("ecn", ecn, marks, ARRAY_SIZE(marks), &mark);
	if (!ret)
		ret = parse_prefixes6("capable", capable, args[15].n, p.capable);
	for (i = 0; i < args[16].n && !ret; i++)
		ret = parse_uint("option-type", type[i], 0x80, 0x9f, &types[i]);
	if (!ret && types[0] == types[1])
		ret = usage_error("option-type \"%s\" is wrong: the other is the same",
				  type[0]);
	if (!ret && ioam)
		ret = parse_uint("ioam", ioam, 0, 65535, &space);
	if (!ret && node)
		ret = parse_uint("node", node, 0, NODE_MAX, &number);
	if (!ret && (source || ecn) && !cnp)
		ret = usage_error("\"%s\" is wrong without \"cnp\"",
				  source ? "source" : "ecn");
	if (!ret && args[15].n && !mark)
		ret = usage_error("\"capable\" is wrong without \"ecn mark\"");
	if (!ret && args[16].n && !cnp && !args[19].n)
		ret = usage_error("\"option-type\" is wrong without \"cnp\" or \"border\"");
	if (!ret && node && !ioam)
		ret = usage_error("\"node\" is wrong without \"ioam\"");
	if (!ret && to && !respond)
		ret = usage_error("\"respond-to\" is wrong without \"respond\"");
	if (!ret && limit && !respond && !cnp)
		ret = usage_error("\"limit\" is wrong without \"respond\" or \"cnp\"");
	if (!ret && udp && !respond && !args[10].n)
		ret = usage_error("\"udp-port\" is wrong without \"respond\" or \"accept\"");
	if (!ret)
		ret = find_dev(p.dev, netns, &p.ifindex);
	if (!ret)
		ret = lock_netns();
	if (ret)
		return ret;
	cfg.rate_given = !!rate;
	cfg.above_percent = percent;
	cfg.above = ((percent << HPCCPP_U_SHIFT) + 99) / 100;
	cfg.subscribed = !!dscp;
	cfg.dscp = codepoint;
	cfg.respond_percent = from;
	cfg.respond = ((from << HPCCPP_U_SHIFT) + 99) / 100;
	p.response.port = udp_port;
	p.response.to = end;
	p.response.accepts = args[10].n;
	p.roce.ecn = mark;
	p.roce.capables = args[15].n;
	p.roce.type1 = types[0];
	p.roce.type2 = types[1];
	p.roce.ioam = !!ioam;
	p.roce.ns = htons(space);
	p.roce.border = args[19].n;
	ret = plan_roce(&p, &cfg, congested, source, node ? (long)number : -1);
	if (!ret)
		ret = plan_responses(&p, &cfg, most);
	if (ret)
		return ret;

	ret = qdisc_list(&list, &n);
	if (ret)
		return ret;
	ret = check_place(&p, list, n, cfg.ingress);
	if (!ret)
		ret = read_root(&p, list, n, !rate,
				!queue || which == HPCCPP_QUEUE_QDISC);
	if (!ret)
		ret = choose(&p, &cfg, queue);
	free(list);
	if (ret)
		return ret;

	if (link + cfg.queues - 1 > HPCCPP_LINK_MAX)
		return usage_error("id \"%s\" is wrong: with %u queues allowed are 0 to %u",
				   id, cfg.queues,
				   HPCCPP_LINK_MAX - cfg.queues + 1);
	cfg.link = id ? link :
		   default_id(&p, HPCCPP_LINK_MAX - cfg.queues + 1);
	p.roce.speed = hpccpp_ioam_speed_code(cfg.rate);
	return load(&p, &cfg);
}

static int detach(const char *dev, int ifindex, int prog)
{
	int map = prog_map(prog, "port", sizeof(struct hpccpp_port));
	struct hpccpp_port port = {};
	__u32 zero = 0;

	/* An agent of another version goes too, but its clsact stays. */
	if (map >= 0) {
		bpf_map_lookup_elem(map, &zero, &port);
		close(map);
	}
	return detach_filters("port", dev, ifindex, HPCCPP_TC_PRIO,
			      port.cfg.ingress, port.cfg.own_clsact);
}

static int port_delete(int argc, char **argv)
{
	const char *dev = NULL, *netns = NULL;
	struct argument args[] = {
		{ .name = "dev", .value = &dev, .max = 1 },
		{ .name = "netns", .value = &netns, .max = 1 },
	};
	struct qdisc *list;
	struct filters f;
	int ifindex, prog, ret;
	size_t n;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && !dev)
		ret = usage_error("\"dev\" is missing, try \"hpccpp port help\"");
	if (!ret)
		ret = find_dev(dev, netns, &ifindex);
	if (!ret)
		ret = lock_netns();
	if (!ret)
		ret = qdisc_list(&list, &n);
	if (ret)
		return ret;
	ret = find_port(list, n, ifindex, &f, &prog);
	free(list);
	if (ret)
		return ret;
	if (prog < 0)
		return system_error("there is no port on %s", dev);
	ret = detach(dev, ifindex, prog);
	close(prog);
	return ret;
}

/* us since the last stamp */
static long long stamp_age(const struct hpccpp_port *port)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((long long)now.tv_sec * 1000000000 + now.tv_nsec -
		(long long)port->last.seen) / 1000;
}

static int put_responses(struct json_object *row, int prog,
			 const struct hpccpp_port_cfg *cfg)
{
	int map = prog_map(prog, "port_response",
			   sizeof(struct hpccpp_port_response));
	struct hpccpp_port_response r = {};
	__u32 zero = 0;
	int err;

	err = map < 0 || bpf_map_lookup_elem_flags(map, &zero, &r, BPF_F_LOCK);
	if (map >= 0)
		close(map);
	if (err)
		return prog_map_error("port_response");
	if (cfg->respond) {
		put_num(row, "respond", cfg->respond_percent);
		put_str(row, "respond_to", ends[r.to % ARRAY_SIZE(ends)]);
	}
	if (r.limit)
		put_num(row, "limit", r.limit);
	err = r.accepts ? put_prefixes(row, "accept", prog, "port_accept") :
			  EXIT_DONE;
	if (cfg->respond || r.accepts)
		put_num(row, "udp_port", r.port);
	return err;
}

/* Nothing of a port whose program has nothing to do with RoCEv2 */
static int put_roce(struct json_object *row, int prog)
{
	int map = prog_map(prog, "port_roce", sizeof(struct hpccpp_port_roce));
	char source[INET6_ADDRSTRLEN], type[8];
	struct hpccpp_port_roce r = {};
	struct json_object *types;
	__u32 zero = 0;
	int err;

	if (map < 0)
		return EXIT_DONE;
	err = bpf_map_lookup_elem(map, &zero, &r);
	close(map);
	if (err)
		return prog_map_error("port_roce");
	if (r.cnp) {
		put_num(row, "cnp", r.cnp_percent);
		put_str(row, "source", inet_ntop(AF_INET6, r.source, source,
						 sizeof(source)));
		put_str(row, "ecn", marks[r.ecn % ARRAY_SIZE(marks)]);
	}
	if (r.capables)
		err = put_prefixes(row, "capable", prog, "port_capable");
	if (r.cnp || r.border) {
		types = json_object_new_array();
		snprintf(type, sizeof(type), "0x%02x", r.type1);
		json_object_array_add(types, json_object_new_string(type));
		snprintf(type, sizeof(type), "0x%02x", r.type2);
		json_object_array_add(types, json_object_new_string(type));
		json_object_object_add(row, "option_types", types);
	}
	if (r.ioam) {
		put_num(row, "ioam", ntohs(r.ns));
		put_num(row, "node", r.node);
	}
	if (r.border)
		put_bool(row, "border", true);
	return err;
}

static struct json_object *port_row(const char *dev, __u32 queue,
				    const struct hpccpp_port *port,
				    const struct qdisc *qdisc)
{
	const struct hpccpp_port_cfg *cfg = &port->cfg;
	struct json_object *row = json_object_new_object();

	put_str(row, "dev", dev);
	put_num(row, "txq", queue);
	put_num(row, "id", cfg->link);
	put_num(row, "rate", cfg->rate);
	put_bool(row, "rate_given", cfg->rate_given);
	put_str(row, "queue", queues[cfg->queue % ARRAY_SIZE(queues)]);
	put_str(row, "root", roots[cfg->root % ARRAY_SIZE(roots)]);
	put_bool(row, "mq", cfg->mq);
	put_num(row, "base_rtt", cfg->base_rtt);
	if (cfg->above)
		put_num(row, "above", cfg->above_percent);
	if (cfg->subscribed)
		put_num(row, "dscp", cfg->dscp);
	put_fixed(row, "U", port->U);
	put_num(row, "qlen", (__u64)port->last.qlen << HPCCPP_QLEN_SHIFT);
	put_num(row, "tx_bytes",
		(__u64)port->last.tx_bytes << HPCCPP_TX_SHIFT);
	if (port->last.seen)
		put_num(row, "age", stamp_age(port));
	if (qdisc) {
		put_num(row, "backlog", qdisc->backlog);
		put_num(row, "drops", qdisc->drops);
	}
	return row;
}

/* The qdisc whose queue is that of this tx queue: the root's, or mq's child. */
static const struct qdisc *queue_qdisc(const struct qdisc *list, size_t n,
				       int ifindex, bool mq, __u32 queue)
{
	const struct qdisc *root = find_qdisc(list, n, ifindex, TC_H_ROOT);

	if (!root || !mq)
		return root;
	return find_qdisc(list, n, ifindex,
			  TC_H_MAJ(root->handle) | (queue + 1));
}

static int add_rows(const struct qdisc *list, size_t n, int ifindex,
		    const char *dev, int prog, struct json_object *rows)
{
	static const char *const names[] = HPCCPP_PORT_STAT_NAMES;
	int map = prog_map(prog, "port", sizeof(struct hpccpp_port));
	__u64 stats[HPCCPP_PS_MAX];
	struct json_object *row;
	struct hpccpp_port port;
	__u32 i = 0;
	int ret;

	ret = map < 0 ? prog_map_error("port") :
			prog_stats(prog, "port_stats", stats, HPCCPP_PS_MAX);
	while (!ret) {
		if (bpf_map_lookup_elem_flags(map, &i, &port, BPF_F_LOCK)) {
			ret = prog_map_error("port");
			break;
		}
		row = port_row(dev, i, &port,
			       queue_qdisc(list, n, ifindex, port.cfg.mq, i));
		if (!i && port.cfg.ingress)
			ret = put_responses(row, prog, &port.cfg);
		if (!i && !ret)
			ret = put_roce(row, prog);
		if (!i)
			put_counts(row, "stats", names, stats, HPCCPP_PS_MAX);
		json_object_array_add(rows, row);
		if (++i >= port.cfg.queues)
			break;
	}
	if (map >= 0)
		close(map);
	return ret;
}

static int add_port(const struct qdisc *list, size_t n, int ifindex,
		    const char *dev, struct json_object *rows)
{
	struct filters f;
	int prog, ret;

	ret = find_port(list, n, ifindex, &f, &prog);
	if (prog < 0)
		return ret;
	ret = add_rows(list, n, ifindex, dev, prog, rows);
	close(prog);
	return ret;
}

/* What add() finds on one device, or with NULL on all that may have filters */
int dev_rows(const char *dev, struct json_object *rows,
	     int (*add)(const struct qdisc *list, size_t n, int ifindex,
			const char *dev, struct json_object *rows))
{
	struct qdisc *list = NULL;
	char name[IF_NAMESIZE];
	int ifindex = 0;
	size_t n = 0, i;
	int ret;

	ret = find_dev(dev, NULL, &ifindex);
	if (!ret)
		ret = qdisc_list(&list, &n);
	if (ret)
		return ret;
	for (i = 0; i < n && !ret; i++) {
		if (list[i].parent == TC_H_INGRESS &&
		    (!dev || list[i].ifindex == ifindex) &&
		    if_indextoname(list[i].ifindex, name))
			ret = add(list, n, list[i].ifindex, name, rows);
	}
	free(list);
	return ret;
}

int port_rows(const char *dev, struct json_object *rows)
{
	return dev_rows(dev, rows, add_port);
}

/*
 * In a process and a namespace of its own, on loopback: nothing here is touched
 * and nothing is left.
 */
int port_probe(void)
{
	struct hpccpp_port_cfg cfg = { .rate = HPCCPP_RATE_MIN, .queues = 1,
				       .base_rtt = BASE_RTT };
	struct plan p = { .dev = "lo", .ifindex = 1 };
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		if (unshare(CLONE_NEWNET) || null < 0)
			_exit(errno);
		if (!opt.verbose)
			dup2(null, STDERR_FILENO);
		_exit(load(&p, &cfg) ? EINVAL : 0);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

/* `OBJECT show [ dev DEV ] [ netns NETNS ]` */
int show_devs(const struct field *fields,
	      int (*read)(const char *dev, struct json_object *rows),
	      int argc, char **argv)
{
	const char *dev = NULL, *netns = NULL;
	struct argument args[] = {
		{ .name = "dev", .value = &dev, .max = 1 },
		{ .name = "netns", .value = &netns, .max = 1 },
	};
	struct json_object *rows;
	int ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret)
		ret = netns_enter(netns);
	if (ret)
		return ret;
	rows = json_object_new_array();
	ret = read(dev, rows);
	if (!ret)
		print_rows(fields, rows);
	json_object_put(rows);
	return ret;
}

static int port_show(int argc, char **argv)
{
	return show_devs(port_fields, port_rows, argc, argv);
}

int port_main(int argc, char **argv)
{
	static const struct command cmds[] = {
		{ "add", port_add },
		{ "delete", port_delete },
		{ "show", port_show },
		{ "list", port_show },
		{ "help", NULL },
	};

	return run_command(cmds, ARRAY_SIZE(cmds), "port", usage, argc, argv);
}
