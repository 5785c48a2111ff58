// SPDX-License-Identifier: GPL-2.0
/*
 * What all agents on devices share: devices and their rates, and what is shown of each
 * device. hook.c attaches their programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "hpccpp.h"

#define NETNS_DIR	"/run/netns"

/*
 * A path as it is, a name of ip-netns(8), or else a process by its PID. O_NONBLOCK: a FIFO is
 * refused, and not waited for.
 */
static int open_netns(const char *name)
{
	char path[PATH_MAX];
	int fd;

	if (strchr(name, '/'))
		return open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
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

/* `OBJECT delete [ dev ] DEV [ netns NAME ]`: the device, in its namespace */
int parse_dev_to_clear(const char *object, int argc, char **argv, const char **dev)
{
	const char *netns = NULL;
	struct argument args[] = {
		{ ARG("dev", arg_text, dev), .bare = true, .place = true },
		{ ARG("netns", arg_text, &netns), .place = true },
	};
	int ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && !*dev)
		ret = usage_error("\"dev\" is missing, try \"hpccpp %s help\"", object);
	return ret ?: netns_enter(netns);
}

/* The same, with the agents locked: whoever had the lock may have renamed the device. */
int find_dev_to_clear(const char *object, int argc, char **argv, const char **dev,
		      int *ifindex)
{
	int ret = parse_dev_to_clear(object, argc, argv, dev);

	return ret ?: lock_agents() ?: find_dev(*dev, NULL, ifindex);
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

/*
 * Has add() look at one device, or with NULL at all that may have agents. After an
 * error it goes on with the next.
 */
int dev_rows(const char *dev, struct json_object *rows,
	     int (*add)(const struct qdisc *list, size_t n, int ifindex,
			const char *dev, struct json_object *rows))
{
	struct if_nameindex *devs, *d;
	struct qdisc *list = NULL;
	int ifindex = 0, ret;
	size_t n = 0;

	ret = find_dev(dev, NULL, &ifindex) ?: check_hooks() ?: qdisc_list(&list, &n);
	if (ret)
		return ret;
	devs = if_nameindex();
	if (!devs)
		ret = errno_error(errno, "cannot list devices");
	for (d = devs; d && d->if_index; d++) {
		if ((dev && (int)d->if_index != ifindex) ||
		    (uses_clsact() && !find_qdisc(list, n, d->if_index, TC_H_INGRESS)))
			continue;
		subject = d->if_name;
		ret = add(list, n, d->if_index, d->if_name, rows) ?: ret;
		subject = NULL;
	}
	if (devs)
		if_freenameindex(devs);
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
