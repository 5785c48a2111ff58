// SPDX-License-Identifier: GPL-2.0
/*
 * The ports that a connection goes by. Where a switch has several of equal length, its kernel
 * takes one by a hash of addresses and ports, and tells it (RTM_GETROUTE).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed.h"

#define MAX_HOPS	32	/* of a way: more is a loop */

struct flow {
	struct node *src, *dst;
	uint16_t src_port, dst_port;
};

static void put_address(struct nlmsghdr *nlh, int attr, const struct node *host)
{
	uint8_t a[16];
	size_t len = address(a, AF_INET, host);

	mnl_attr_put(nlh, attr, len, a);
}

static int route_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;

	if (nlh->nlmsg_type != RTM_NEWROUTE)
		return MNL_CB_STOP;
	mnl_attr_for_each(attr, nlh, sizeof(struct rtmsg))
		if (mnl_attr_get_type(attr) == RTA_OIF)
			*(int *)data = mnl_attr_get_u32(attr);
	return MNL_CB_STOP;
}

/* The port by which n sends packets that came in by "in", or without that its own packets. */
static struct port *port_out(struct node *n, const struct port *in, const struct flow *f)
{
	char buf[MNL_SOCKET_BUFFER_SIZE];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rtm;
	ssize_t len = -1;
	int i, oif = 0;

	if (!n->nl)
		enter_netns(n);
	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = AF_INET;
	rtm->rtm_src_len = 32;
	rtm->rtm_dst_len = 32;
	put_address(nlh, RTA_SRC, f->src);
	put_address(nlh, RTA_DST, f->dst);
	mnl_attr_put_u8(nlh, RTA_IP_PROTO, IPPROTO_TCP);
	mnl_attr_put_u16(nlh, RTA_SPORT, htons(f->src_port));
	mnl_attr_put_u16(nlh, RTA_DPORT, htons(f->dst_port));
	if (in)
		mnl_attr_put_u32(nlh, RTA_IIF, in->ifindex);
	if (mnl_socket_sendto(n->nl, nlh, nlh->nlmsg_len) > 0)
		len = mnl_socket_recvfrom(n->nl, buf, sizeof(buf));
	if (len < 0 || mnl_cb_run(buf, len, 0, 0, route_cb, &oif) < 0)
		error(1, errno, "%s: no way to %s", n->name, f->dst->name);
	for (i = 0; i < n->n_ports; i++)
		if (n->ports[i]->ifindex == oif)
			return n->ports[i];
	error(1, 0, "%s: the way to %s is by no port (%d)", n->name, f->dst->name, oif);
	return NULL;
}

static void print_way(const char *id, const struct flow *f)
{
	struct node *n = f->src;
	struct port *p = NULL;
	int hops = 0;

	fputs(id, stdout);
	while (n != f->dst) {
		if (hops++ == MAX_HOPS)
			error(1, 0, "the way from %s to %s has no end", f->src->name, f->dst->name);
		p = port_out(n, p, f);
		printf(" %s/%s %llu", n->name, p->dev, p->opt.rate);
		p = p->peer;
		n = p->node;
	}
	putchar('\n');
}

void print_ways(void)
{
	char *line = NULL, id[16], src[IFNAMSIZ], dst[IFNAMSIZ];
	size_t size = 0;
	struct flow f;

	while (getline(&line, &size, stdin) > 0) {
		if (*line == '#')
			continue;
		if (sscanf(line, "%15s %15s %15s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %hu %hu",
			   id, src, dst, &f.src_port, &f.dst_port) != 5)
			error(2, 0, "not a line of tgen's: %s", line);
		f.src = find_node(src);
		f.dst = find_node(dst);
		if (!f.src || !f.dst)
			error(2, 0, "no host %s", f.src ? dst : src);
		print_way(id, &f);
	}
	free(line);
}
