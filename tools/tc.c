// SPDX-License-Identifier: GPL-2.0
/*
 * What all agents on devices share: devices and their rates, TC filters on a clsact,
 * and what is shown of each device.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "hpccpp.h"
#include "hpccpp_cnp.h"

#define NETNS_DIR	"/run/netns"

/* A path as it is, a name of ip-netns(8), or else a process by its PID */
static int open_netns(const char *name)
{
	char path[PATH_MAX];
	int fd;

	if (strchr(name, '/'))
		return open(name, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), NETNS_DIR "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 || errno != ENOENT || name[strspn(name, "0123456789")])
		return fd;
	snprintf(path, sizeof(path), "/proc/%s/ns/net", name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int netns_enter(const char *name)
{
	int fd, ret;

	if (!name)
		return EXIT_DONE;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return usage_error("netns \"%s\" is wrong: allowed are the names that `ip netns` shows, paths, PIDs",
				   name);
	fd = open_netns(name);
	if (fd < 0)
		return errno_error(errno, "cannot open netns \"%s\"", name);
	ret = setns(fd, CLONE_NEWNET) ?
	      errno_error(errno, "cannot enter netns \"%s\"", name) :
	      EXIT_DONE;
	close(fd);
	opt.netns = name;
	return ret;
}

int find_dev(const char *dev, const char *netns, int *ifindex)
{
	int ret;

	if (netns && opt.dry_run)
		return usage_error("\"netns\" is wrong in a file: give -n");
	ret = netns_enter(netns);

	if (ret || !dev)
		return ret;
	*ifindex = if_nametoindex(dev);
	if (!*ifindex)
		return system_error("cannot find device \"%s\"", dev);
	return EXIT_DONE;
}

/* `OBJECT delete [ dev ] DEV [ netns NAME ]`: the device, with the agents locked */
int find_dev_to_clear(const char *object, int argc, char **argv, const char **dev,
		      int *ifindex)
{
	const char *netns = NULL;
	struct argument args[] = {
		{ ARG("dev", arg_text, dev), .bare = true },
		{ ARG("netns", arg_text, &netns) },
	};
	int ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && !*dev)
		ret = usage_error("\"dev\" is missing, try \"hpccpp %s help\"", object);
	if (!ret)
		ret = find_dev(*dev, netns, ifindex);
	return ret ? ret : lock_agents();
}

/* A mark of packets that no packet has by chance, and that nobody can guess */
int draw_mark(__u32 *mark)
{
	while (!*mark) {
		if (getrandom(mark, sizeof(*mark), 0) < 0)
			return errno_error(errno, "cannot get a random number");
	}
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

/* Where our filters are; libbpf wants the padding to be zero too. */
#define FILTER_AT(name, prio) \
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, name, .handle = HPCCPP_TC_HANDLE, \
			    .priority = prio)
#define HOOK(name, dev, point) \
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, name, .ifindex = dev, \
			    .attach_point = point)

/*
 * All programs on a clsact that one of our commands made have this map, whichever
 * agent came first: the last that is deleted takes the clsact with it. What it has for
 * a value is of no account, so that builds understand each other.
 */
#define CLSACT_MAP	"hpccpp_clsact"

/* Our program in the place of one filter, an fd or -1 */
static int filter_prog(int ifindex, __u32 priority, enum bpf_tc_attach_point point)
{
	HOOK(hook, ifindex, point);
	FILTER_AT(opts, priority);
	int prog;

	if (bpf_tc_query(&hook, &opts) || prog_open(opts.prog_id, "hpccpp_", &prog))
		return -1;
	return prog;
}

/* The map that says so of one filter, an fd or -1. */
static int filter_map(int ifindex, __u32 priority, enum bpf_tc_attach_point point)
{
	int prog = filter_prog(ifindex, priority, point), map = -1;

	if (prog >= 0) {
		map = prog_map(prog, CLSACT_MAP, sizeof(__u32));
		close(prog);
	}
	return map;
}

/* The map that says so of any of our filters on a device, an fd or -1. */
static int clsact_map(int ifindex)
{
	static const __u32 priorities[] = { HPCCPP_TC_PRIO, HPCCPP_CNP_PRIO };
	int map = -1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(priorities) && map < 0; i++) {
		map = filter_map(ifindex, priorities[i], BPF_TC_EGRESS);
		if (map < 0)
			map = filter_map(ifindex, priorities[i], BPF_TC_INGRESS);
	}
	return map;
}

/* Programs that are to be on a clsact that is made for them, or is there */
static int bind_clsact(int ifindex, bool made, int in, int out)
{
	int map = made ? bpf_map_create(BPF_MAP_TYPE_ARRAY, CLSACT_MAP, sizeof(__u32),
					sizeof(__u32), 1, NULL) :
			 clsact_map(ifindex);
	int err = made && map < 0 ? -errno : 0;

	if (map < 0)
		return err;
	if (bpf_prog_bind_map(out, map, NULL) ||
	    (in >= 0 && bpf_prog_bind_map(in, map, NULL)))
		err = -errno;
	close(map);
	return err;
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

static int detach_filter(int ifindex, __u32 priority,
			 enum bpf_tc_attach_point point)
{
	HOOK(hook, ifindex, point);
	FILTER_AT(opts, priority);

	return bpf_tc_detach(&hook, &opts);
}

/* A program in the place of a filter: of the one that is there, or in a free one */
static int put_filter(int ifindex, __u32 priority, enum bpf_tc_attach_point point,
		      int prog, bool there)
{
	HOOK(hook, ifindex, point);
	FILTER_AT(opts, priority);

	opts.prog_fd = prog;
	opts.flags = there ? BPF_TC_F_REPLACE : 0;
	return bpf_tc_attach(&hook, &opts);
}

/*
 * Ingress first, for the copies that egress sends there, and what was there until egress
 * sends no more of them. A hook whose old program is -1 has none of ours.
 */
static int put_filters(int ifindex, __u32 priority, int in, int out, int old_in, int old_out)
{
	int err = 0;

	if (in >= 0)
		err = put_filter(ifindex, priority, BPF_TC_INGRESS, in, old_in >= 0);
	if (err)
		return err;
	err = put_filter(ifindex, priority, BPF_TC_EGRESS, out, old_out >= 0);
	if (!err && in < 0 && old_in >= 0)
		detach_filter(ifindex, priority, BPF_TC_INGRESS);
	if (err && in >= 0 && old_in >= 0)
		put_filter(ifindex, priority, BPF_TC_INGRESS, old_in, true);
	else if (err && in >= 0)
		detach_filter(ifindex, priority, BPF_TC_INGRESS);
	return err;
}

/*
 * Programs to both hooks of a device, or to egress alone when in is -1. With replace they
 * take the place of ours that are there, with no packet between that passes neither. Returns
 * -EEXIST when another's filter has the place, with nothing said.
 *
 * From making a clsact to attaching no signal is to end us: nobody would
 * remember that the clsact was ours.
 */
int attach_filters(const char *dev, int ifindex, __u32 priority, bool replace, int in, int out)
{
	int old_in = replace ? filter_prog(ifindex, priority, BPF_TC_INGRESS) : -1;
	int old_out = replace ? filter_prog(ifindex, priority, BPF_TC_EGRESS) : -1;
	sigset_t all, old;
	bool own;
	int err;

	HOOK(egress, ifindex, BPF_TC_EGRESS);

	err = prog_set_version(out, "");
	if (err)
		return errno_error(err, "cannot attach to %s", dev);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	err = bpf_tc_hook_create(&egress);
	own = !err;
	if (err == -EEXIST)
		err = 0;
	if (!err) {
		err = bind_clsact(ifindex, own, in, out);
		if (!err)
			err = put_filters(ifindex, priority, in, out, old_in, old_out);
		if (err && own)
			remove_clsact(dev, ifindex);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (old_in >= 0)
		close(old_in);
	if (old_out >= 0)
		close(old_out);
	if (!err || err == -EEXIST)
		return err;
	return errno_error(err, "cannot attach to %s", dev);
}

/*
 * Removes the filters of an agent, "what" in errors, from these hooks, and the clsact if
 * it is ours. No signal comes between: without a filter nothing tells whose it is.
 */
int detach_filters(const char *what, const char *dev, int ifindex,
		   __u32 priority, bool in, bool out)
{
	int map = clsact_map(ifindex), err = 0, ret = EXIT_DONE;
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	if (out)
		err = detach_filter(ifindex, priority, BPF_TC_EGRESS);
	if (in && (!err || err == -ENOENT))
		err = detach_filter(ifindex, priority, BPF_TC_INGRESS);
	if (map >= 0)
		close(map);
	if (err && err != -ENOENT)
		ret = errno_error(err, "cannot remove the %s on %s", what, dev);
	else if (map >= 0)
		ret = remove_clsact(dev, ifindex);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ret;
}

/*
 * Has add() look at one device, or with NULL at all that may have filters. After an
 * error it goes on with the next.
 */
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
	for (i = 0; i < n; i++) {
		if (list[i].parent != TC_H_INGRESS ||
		    (dev && list[i].ifindex != ifindex) ||
		    !if_indextoname(list[i].ifindex, name))
			continue;
		subject = name;
		ret = add(list, n, list[i].ifindex, name, rows) ?: ret;
		subject = NULL;
	}
	free(list);
	return ret;
}

/* `OBJECT show [ [ dev ] DEV ] [ netns NAME ]` */
int show_devs(const struct field *fields,
	      int (*read)(const char *dev, struct json_object *rows),
	      int argc, char **argv)
{
	const char *dev = NULL, *netns = NULL;
	struct argument args[] = {
		{ ARG("dev", arg_text, &dev), .bare = true },
		{ ARG("netns", arg_text, &netns) },
	};
	struct json_object *rows;
	int ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret)
		ret = netns_enter(netns);
	if (ret)
		return ret;
	rows = json_object_new_array();
	return show_rows(fields, rows, read(dev, rows));
}
