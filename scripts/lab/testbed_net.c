// SPDX-License-Identifier: GPL-2.0
/* The namespaces, links, addresses and routes that testbed makes. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "testbed.h"

/* rtnetlink: messages to one namespace go out together */

static struct {
	char buf[BATCH + 8192];
	size_t len;
	struct node *node;
	struct nlmsghdr *last;
	unsigned int seq;
} batch;

static const char *const request_names[] = {
	[RTM_NEWLINK] = "link",
	[RTM_NEWADDR] = "address",
	[RTM_NEWROUTE] = "route",
	[RTM_NEWNEIGH] = "neighbour",
	[RTM_NEWQDISC] = "qdisc",
};

static int extack_cb(const struct nlattr *attr, void *data)
{
	if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
		*(const char **)data = mnl_attr_get_str(attr);
	return MNL_CB_OK;
}

void flush(void)
{
	struct node *n = batch.node;
	char buf[16384];
	ssize_t len;
	int left;

	if (!batch.len)
		return;
	batch.last->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_sendto(n->nl, batch.buf, batch.len) < 0)
		error(1, errno, "%s: rtnetlink", n->name);
	batch.len = 0;
	for (;;) {
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

		len = mnl_socket_recvfrom(n->nl, buf, sizeof(buf));
		if (len < 0)
			error(1, errno, "%s: rtnetlink", n->name);
		left = len;
		for (; mnl_nlmsg_ok(nlh, left);
		     nlh = mnl_nlmsg_next(nlh, &left)) {
			struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
			const char *text = "";

			if (nlh->nlmsg_type != NLMSG_ERROR)
				continue;
			if (err->error) {
				if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
					mnl_attr_parse(nlh, sizeof(*err), extack_cb, &text);
				error(1, -err->error, "%s: %s %s", n->name,
				      request_names[err->msg.nlmsg_type], text);
			}
			if (nlh->nlmsg_seq == batch.seq)
				return;
		}
	}
}

static void *request(struct node *n, int type, int flags, size_t size)
{
	if (batch.node != n || batch.len > BATCH)
		flush();
	batch.node = n;
	batch.last = mnl_nlmsg_put_header(batch.buf + batch.len);
	batch.last->nlmsg_type = type;
	batch.last->nlmsg_flags = NLM_F_REQUEST | flags;
	batch.last->nlmsg_seq = ++batch.seq;
	return mnl_nlmsg_put_extra_header(batch.last, size);
}

static void request_end(void)
{
	batch.len += MNL_ALIGN(batch.last->nlmsg_len);
}

static void put_port(struct nlmsghdr *nlh, const struct port *p)
{
	mnl_attr_put_strz(nlh, IFLA_IFNAME, p->dev);
	mnl_attr_put(nlh, IFLA_ADDRESS, sizeof(p->mac), p->mac);
	mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
	if (!offloads || !p->node->host)
		mnl_attr_put_u32(nlh, IFLA_GSO_MAX_SEGS, 1);
	mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, 1);
	mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, 1);
}

void make_link(struct port *p)
{
	struct nlattr *info, *data, *peer;
	struct ifinfomsg *ifi;
	struct nlmsghdr *nlh;

	ifi = request(p->node, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(*ifi));
	nlh = batch.last;
	ifi->ifi_index = p->ifindex;
	put_port(nlh, p);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = p->peer->ifindex;
	put_port(nlh, p->peer);
	mnl_attr_put_u32(nlh, IFLA_NET_NS_FD, p->peer->node->ns);
	mnl_attr_nest_end(nlh, peer);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	request_end();
}

/* Of linux/pkt_sched.h since 6.17 */
#define DUALPI2_LIMIT		1	/* TCA_DUALPI2_LIMIT: packets */
#define DUALPI2_MEMORY_LIMIT	2	/* bytes, with what the kernel needs for them */
#define DUALPI2_STEP_THRESH_US	8
#define DUALPI2_ECN_MASK	14
#define DUALPI2_ANY_ECT		3	/* INET_ECN_MASK: as ECT(1), so ECT(0), which DCTCP sends */

/* It counts its buffer in packets, which are taken to be full, and its step in us. */
static void put_dualpi2(struct nlmsghdr *nlh, const struct lablink_opt *opt)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	__u64 step = (opt->mark * 8000000ULL + opt->rate / 2) / opt->rate;

	mnl_attr_put_u32(nlh, DUALPI2_LIMIT, opt->limit / (mtu + ETH_HLEN + opt->overhead));
	mnl_attr_put_u32(nlh, DUALPI2_MEMORY_LIMIT, UINT32_MAX);
	mnl_attr_put_u8(nlh, DUALPI2_ECN_MASK, DUALPI2_ANY_ECT);
	if (opt->mark)
		mnl_attr_put_u32(nlh, DUALPI2_STEP_THRESH_US, step ?: 1);
	mnl_attr_nest_end(nlh, nest);
}

void make_qdisc(struct port *p)
{
	const char *child = p->node->host ? host_queue : queue;
	struct tcmsg *tcm;

	tcm = request(p->node, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, sizeof(*tcm));
	tcm->tcm_ifindex = p->ifindex;
	tcm->tcm_parent = TC_H_ROOT;
	tcm->tcm_handle = 1 << 16;
	mnl_attr_put_strz(batch.last, TCA_KIND, "lablink");
	mnl_attr_put(batch.last, TCA_OPTIONS, sizeof(p->opt), &p->opt);
	request_end();
	if (!strcmp(child, "fifo"))
		return;
	tcm = request(p->node, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, sizeof(*tcm));
	tcm->tcm_ifindex = p->ifindex;
	tcm->tcm_parent = TC_H_MAKE(1 << 16, 1);
	mnl_attr_put_strz(batch.last, TCA_KIND, child);
	if (!strcmp(child, "dualpi2"))
		put_dualpi2(batch.last, &p->opt);
	request_end();
}

void set_up(struct node *n, int ifindex)
{
	struct ifinfomsg *ifi;

	ifi = request(n, RTM_NEWLINK, 0, sizeof(*ifi));
	ifi->ifi_index = ifindex;
	ifi->ifi_flags = IFF_UP;
	ifi->ifi_change = IFF_UP;
	if (ifindex >= FIRST_IFINDEX) {
		ifi->ifi_flags |= IFF_NOARP;
		ifi->ifi_change |= IFF_NOARP | IFF_MULTICAST;
	}
	request_end();
}

/* Adds an attribute: the address of a host; NULL: that of the other end of any link. */
static void put_address(int attr, int family, const struct node *n)
{
	uint32_t v4 = htonl(n ? 10 << 24 | n->id << 8 | 1 : GATEWAY4);
	uint8_t v6[16] = { n ? 0xfd : 0xfe, n ? 0 : 0x80 };

	v6[14] = n ? n->id >> 8 : 0;
	v6[15] = n ? n->id : 1;
	if (family == AF_INET)
		mnl_attr_put(batch.last, attr, sizeof(v4), &v4);
	else
		mnl_attr_put(batch.last, attr, sizeof(v6), v6);
}

static void make_address(struct port *p, int family)
{
	struct ifaddrmsg *ifa;

	ifa = request(p->node, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(*ifa));
	ifa->ifa_family = family;
	ifa->ifa_prefixlen = family == AF_INET ? 32 : 128;
	ifa->ifa_flags = family == AF_INET ? 0 : IFA_F_NODAD;
	ifa->ifa_scope = RT_SCOPE_UNIVERSE;
	ifa->ifa_index = p->ifindex;
	put_address(IFA_LOCAL, family, p->node);
	put_address(IFA_ADDRESS, family, p->node);
	request_end();
}

/* Without a host: the other end as the next hop of routes. */
static void make_neighbour(struct port *p, int family, struct node *host)
{
	struct ndmsg *ndm;

	ndm = request(p->node, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*ndm));
	ndm->ndm_family = family;
	ndm->ndm_ifindex = p->ifindex;
	ndm->ndm_state = NUD_PERMANENT;
	put_address(NDA_DST, family, host);
	mnl_attr_put(batch.last, NDA_LLADDR, sizeof(p->peer->mac), p->peer->mac);
	request_end();
}

/* From a node towards a host by n_via of its ports; no host: the default. */
static void make_route(struct node *n, int family, struct node *host, struct port **via, int n_via)
{
	bool direct = host && via[0]->peer->node == host;
	struct nlattr *nest;
	struct rtnexthop *rtnh;
	struct rtmsg *rtm;
	int i;

	rtm = request(n, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof(*rtm));
	rtm->rtm_family = family;
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_protocol = RTPROT_STATIC;
	rtm->rtm_type = RTN_UNICAST;
	rtm->rtm_scope = direct ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
	if (host) {
		rtm->rtm_dst_len = family == AF_INET ? 32 : 128;
		put_address(RTA_DST, family, host);
	}
	if (!host && family == AF_INET)
		put_address(RTA_PREFSRC, family, n);
	if (n_via == 1) {
		mnl_attr_put_u32(batch.last, RTA_OIF, via[0]->ifindex);
		if (!direct) {
			rtm->rtm_flags = RTNH_F_ONLINK;
			put_address(RTA_GATEWAY, family, NULL);
		}
		request_end();
		return;
	}
	nest = mnl_attr_nest_start(batch.last, RTA_MULTIPATH);
	for (i = 0; i < n_via; i++) {
		rtnh = mnl_nlmsg_put_extra_header(batch.last, sizeof(*rtnh));
		rtnh->rtnh_ifindex = via[i]->ifindex;
		if (!direct) {
			rtnh->rtnh_flags = RTNH_F_ONLINK;
			put_address(RTA_GATEWAY, family, NULL);
		}
		rtnh->rtnh_len = (char *)mnl_nlmsg_get_payload_tail(batch.last) - (char *)rtnh;
	}
	mnl_attr_nest_end(batch.last, nest);
	request_end();
}

void make_routes(int family)
{
	struct port **via = zalloc(n_ports * sizeof(struct port *));
	int **distance = zalloc(n_nodes * sizeof(int *));
	int i, j, k, n;

	for (i = 0; i < n_nodes; i++) {
		if (!nodes[i]->host)
			continue;
		measure(nodes[i]);
		distance[i] = zalloc(n_nodes * sizeof(int));
		for (j = 0; j < n_nodes; j++)
			distance[i][j] = nodes[j]->distance;
	}
	for (j = 0; j < n_nodes; j++) {
		struct node *at = nodes[j];

		for (k = 0; k < at->n_ports; k++) {
			struct port *p = at->ports[k];

			make_neighbour(p, family, NULL);
			if (p->peer->node->host)
				make_neighbour(p, family, p->peer->node);
		}
		if (at->host) {
			for (k = 0; k < at->n_ports; k++)
				make_address(at->ports[k], family);
			if (at->n_ports)
				make_route(at, family, NULL, at->ports, at->n_ports);
			continue;
		}
		for (i = 0; i < n_nodes; i++) {
			if (!distance[i] || distance[i][j] <= 0)
				continue;
			n = 0;
			for (k = 0; k < at->n_ports; k++) {
				struct port *p = at->ports[k];

				if (distance[i][p->peer->node->index] == distance[i][j] - 1)
					via[n++] = p;
			}
			make_route(at, family, nodes[i], via, n);
		}
	}
	flush();
	for (i = 0; i < n_nodes; i++)
		free(distance[i]);
	free(distance);
	free(via);
}

/* Namespaces */

/* Sets a sysctl of the namespace that this process is in: NAME=VALUE. */
__attribute__((format(printf, 1, 2)))
static void set_sysctl(const char *fmt, ...)
{
	char *text, *value, *path, *c;
	va_list ap;
	int fd;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		error(1, errno, "memory");
	va_end(ap);
	value = strchr(text, '=');
	*value++ = '\0';
	for (c = text; *c; c++)
		if (*c == '.')
			*c = '/';
	if (asprintf(&path, "/proc/sys/%s", text) < 0)
		error(1, errno, "memory");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		error(1, errno, "%s = %s", path, value);
	close(fd);
	free(path);
	free(text);
}

static void set_sysctls(const struct node *n)
{
	int i;

	set_sysctl("net.ipv4.ip_forward=%d", !n->host);
	set_sysctl("net.ipv4.conf.all.rp_filter=0");
	set_sysctl("net.ipv4.conf.default.rp_filter=0");
	set_sysctl("net.ipv4.conf.all.send_redirects=0");
	set_sysctl("net.ipv4.conf.default.send_redirects=0");
	set_sysctl("net.ipv4.fib_multipath_hash_policy=3");
	set_sysctl("net.ipv4.fib_multipath_hash_fields=" HASH_FIELDS);
	set_sysctl("net.ipv4.fib_multipath_hash_seed=%u", n->id + (n->host ? 0x10000 : 0));
	if (ipv6) {
		set_sysctl("net.ipv6.conf.default.addr_gen_mode=1");
		set_sysctl("net.ipv6.conf.default.accept_ra=0");
		set_sysctl("net.ipv6.conf.default.accept_dad=0");
		set_sysctl("net.ipv6.conf.all.forwarding=%d", !n->host);
		/*
		 * "all" has a switch forward. Its ports are no routers: they
		 * would join a group, and MLD repeat that at a random time.
		 */
		set_sysctl("net.ipv6.conf.default.forwarding=0");
		set_sysctl("net.ipv6.fib_multipath_hash_policy=3");
		set_sysctl("net.ipv6.fib_multipath_hash_fields=" HASH_FIELDS);
	} else {
		set_sysctl("net.ipv6.conf.default.disable_ipv6=1");
	}
	if (n->host) {
		set_sysctl("net.ipv4.tcp_rmem=4096 33554432 67108864");
		set_sysctl("net.ipv4.tcp_wmem=4096 4194304 67108864");
		set_sysctl("net.ipv4.tcp_no_metrics_save=1");
		set_sysctl("net.ipv4.tcp_syncookies=0");
		set_sysctl("net.ipv4.tcp_max_syn_backlog=65535");
		set_sysctl("net.core.somaxconn=65535");
		if (ecn >= 0)
			set_sysctl("net.ipv4.tcp_ecn=%ld", ecn);
		if (rto_min_us >= 0)
			set_sysctl("net.ipv4.tcp_rto_min_us=%ld", rto_min_us);
	}
	for (i = 0; i < n_keys; i += 2)
		if (!strcmp(keys[i], "sysctl"))
			set_sysctl("%s", keys[i + 1]);
}

/* Into the namespace, which is there, with sockets to ask it by. */
static void enter_netns(struct node *n)
{
	char path[64];
	int one = 1;

	snprintf(path, sizeof(path), NETNS_DIR "/%s", n->name);
	n->ns = open(path, O_RDONLY | O_CLOEXEC);
	if (n->ns < 0 || setns(n->ns, CLONE_NEWNET))
		error(1, errno, "namespace %s", n->name);
	n->ctl = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	n->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (n->ctl < 0 || !n->nl || mnl_socket_bind(n->nl, 0, MNL_SOCKET_AUTOPID))
		error(1, errno, "namespace %s", n->name);
	mnl_socket_setsockopt(n->nl, NETLINK_CAP_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(n->nl, NETLINK_EXT_ACK, &one, sizeof(one));
}

void make_netns(struct node *n)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), NETNS_DIR "/%s", n->name);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		error(1, errno, "%s", path);
	close(fd);
	if (unshare(CLONE_NEWNET) || mount("/proc/self/ns/net", path, "none", MS_BIND, NULL))
		error(1, errno, "namespace %s", n->name);
	enter_netns(n);
	set_sysctls(n);
}

void set_offloads(struct port *p)
{
	static const uint32_t cmds[] = {
		ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO,
	};
	struct ethtool_value value = { 0 };
	struct ifreq ifr = { 0 };
	size_t i;

	strcpy(ifr.ifr_name, p->dev);
	ifr.ifr_data = (void *)&value;
	for (i = 0; i < MNL_ARRAY_SIZE(cmds); i++) {
		value.cmd = cmds[i];
		value.data = offloads && p->node->host && cmds[i] != ETHTOOL_SGRO;
		if (ioctl(p->node->ctl, SIOCETHTOOL, &ifr) && errno != EOPNOTSUPP)
			error(1, errno, "%s: offloads of %s", p->node->name, p->dev);
	}
}

/* The value of one attribute of a reply, a number */
struct answer {
	size_t header;			/* bytes before the attributes */
	int type;
	int value;
};

static int answer_cb(const struct nlmsghdr *nlh, void *data)
{
	struct answer *a = data;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, a->header)
		if (mnl_attr_get_type(attr) == a->type)
			memcpy(&a->value, mnl_attr_get_payload(attr),
			       mnl_attr_get_payload_len(attr));
	return MNL_CB_STOP;
}

/* Sends only the request that was begun last. Returns that number; -1: an error, in errno. */
static int ask(size_t header, int type)
{
	struct answer a = { .header = header, .type = type };
	struct mnl_socket *nl = batch.node->nl;
	char buf[MNL_SOCKET_BUFFER_SIZE];
	ssize_t len;

	if (mnl_socket_sendto(nl, batch.last, batch.last->nlmsg_len) < 0)
		return -1;
	len = mnl_socket_recvfrom(nl, buf, sizeof(buf));
	if (len < 0 || mnl_cb_run(buf, len, 0, 0, answer_cb, &a) < 0)
		return -1;
	return a.value;
}

/*
 * The qdisc is in use once the kernel has noticed the carrier, which it does for
 * many links at a time, and then not again for a second.
 */
void await_up(const struct port *p)
{
	struct ifinfomsg *ifi;
	int tries;

	for (tries = 0; tries < 10000; tries++) {
		ifi = request(p->node, RTM_GETLINK, 0, sizeof(*ifi));
		ifi->ifi_index = p->ifindex;
		if (ask(sizeof(*ifi), IFLA_OPERSTATE) == IF_OPER_UP)
			return;
		usleep(1000);
	}
	error(1, 0, "%s: %s does not come up", p->node->name, p->dev);
}

/*
 * Returns the port by which n sends packets of a flow that came in by the port "in"; NULL: its
 * own packets. Of several shortest paths the kernel of n selects one by a hash of addresses and
 * ports, and RTM_GETROUTE returns it.
 */
struct port *port_out(struct node *n, const struct port *in, const struct flow *f)
{
	struct rtmsg *rtm;
	int i, oif;

	if (!n->nl)
		enter_netns(n);
	rtm = request(n, RTM_GETROUTE, 0, sizeof(*rtm));
	rtm->rtm_family = AF_INET;
	rtm->rtm_src_len = 32;
	rtm->rtm_dst_len = 32;
	put_address(RTA_SRC, AF_INET, f->src);
	put_address(RTA_DST, AF_INET, f->dst);
	mnl_attr_put_u8(batch.last, RTA_IP_PROTO, IPPROTO_TCP);
	mnl_attr_put_u16(batch.last, RTA_SPORT, htons(f->src_port));
	mnl_attr_put_u16(batch.last, RTA_DPORT, htons(f->dst_port));
	if (in)
		mnl_attr_put_u32(batch.last, RTA_IIF, in->ifindex);
	oif = ask(sizeof(*rtm), RTA_OIF);
	if (oif < 0)
		error(1, errno, "%s: no way to %s", n->name, f->dst->name);
	for (i = 0; i < n->n_ports; i++)
		if (n->ports[i]->ifindex == oif)
			return n->ports[i];
	error(1, 0, "%s: the way to %s is by no port (%d)", n->name, f->dst->name, oif);
	return NULL;
}
