// SPDX-License-Identifier: GPL-2.0
/*
 * Make the network of the lab: hosts and switches are network namespaces, links
 * are veth pairs with a qdisc at either end.
 *
 *	testbed [up] TOPOLOGY [KEY VALUE]... [LINK [KEY VALUE]...]...
 *	testbed down
 *	testbed ports [all]
 *	testbed paths
 *
 * up makes it; down removes it. ports prints "NETNS DEV RATE" for each port of a
 * switch, with "all" for those of hosts also; paths "SRC DST RTT_NS RATE MTU" for
 * each pair of hosts: the round trip of a full packet and its ACK
 * through empty queues, and the slowest link. All three are for the network that
 * the last "up" made (/run/testbed has its description), or for the description
 * that follows on the command line.
 *
 * TOPOLOGY		hosts h and r, the rest are switches
 * star N		h1..hN and r1 around s1: N to 1
 * dumbbell N		h1..hN at s1, r1..rN at s2, one link s1-s2
 * parking N		N links s1-..-s(N+1); h0 at s1, r0 at the last switch pass
 *			all of them; hI at sI and rI at s(I+1) pass link I
 * leafspine L S N	leaves l1..lL with N hosts each (h1..hN at l1, and so on),
 *			spines s1..sS, each leaf linked to each spine
 * clos P T A C N	P pods of T ToR (t1..) with N hosts each, and A aggregation
 *			switches (a1..), each linked to all ToR of its pod and to C
 *			cores (c1..) of its own: A * C cores. The HPCC paper's is
 *			clos 5 4 4 4 16 rate 100g core_rate 400g delay_ns 1000
 * graph		nothing but the links that follow
 *
 * LINK is "link A B" or "port A B" (only A's end of it); the keys behind it are
 * for it alone. A link that is not there is made, and so are its ends.
 *
 * KEY
 * rate, delay_ns	of all links; bit/s with k, m, g, t (decimal); default 100g
 *			and 1000
 * buffer, mark		of the ports of switches: bytes that may wait, and above
 *			which CE is set (0: never); default 32m and 0
 * trace		of the ports of switches: events for /proc/lablink_trace
 * prio			of all: 1: what has TC_PRIO_CONTROL passes what waits; default 0
 * core_rate, core_delay_ns, core_buffer, core_mark, core_trace
 *			the same for links between two switches only
 * host_rate, host_buffer, host_mark, host_trace
 *			the same for the ports of hosts; default buffer 64m
 * mtu			of all; default 1500
 * qdisc		lablink (default), tbf (knows no delay and no mark) or none
 * ipv6			yes (default, where the kernel has it) or no
 * ecn, rto_min_us	net.ipv4.tcp_ecn, net.ipv4.tcp_rto_min_us of the hosts
 * sysctl		NAME=VALUE, in every namespace
 *
 * Ports are eth0.. on hosts and p1.. on switches, in the order of the links.
 * The k-th host is 10.(k / 256).(k % 256).1 and fd00::k; links have no addresses,
 * routes are /32 or /128 by shortest path, with all next hops of equal length.
 * Which of these a connection takes depends on addresses and ports alone (hash
 * policy 3 and a seed of each switch's own): bind the source port to fix it.
 * Nothing speaks on its own: MACs and neighbours are given, no ARP, no multicast,
 * no link-local address. TSO, GSO and GRO are off and gso_max_segs is 1, or a
 * queue would see bursts that a wire never carries.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lablink.h"

#define NETNS_DIR	"/run/netns"
#define STATE		"/run/testbed"
#define FIRST_IFINDEX	100		/* above what a new namespace may have */
#define BATCH		32768
#define ETH_HEADER	14
#define ACK_FRAME	66		/* Ethernet, IPv4, TCP with timestamps */
#define GATEWAY4	0xa9fe0001	/* 169.254.0.1: the other end of any link */
#define HASH_FIELDS	"55"		/* addresses, protocol, ports */

struct port {
	struct node *node;
	struct port *peer;
	char dev[IFNAMSIZ];
	int ifindex;
	uint8_t mac[6];
	struct lablink_opt opt;
};

struct node {
	char name[IFNAMSIZ];
	int index;			/* in nodes[] */
	unsigned int id;		/* of hosts from 1 */
	bool host;
	struct port **ports;
	int n_ports;
	int distance;			/* from the host last asked for */
	int ns;				/* /run/netns/NAME */
	int ctl;			/* for ioctl() */
	struct mnl_socket *nl;
};

/* An array that grows. */
static struct node **nodes;
static int n_nodes, n_hosts, n_switches;
static struct port **ports;
static int n_ports;
static char **sysctls;
static int n_sysctls;

static const struct lablink_opt unset = {
	.rate = UINT64_MAX,
	.delay = UINT64_MAX,
	.limit = UINT32_MAX,
	.mark = UINT32_MAX,
	.trace = UINT32_MAX,
	.prio = UINT32_MAX,
};

static struct lablink_opt opt_all, opt_host, opt_core;
static uint32_t mtu = 1500;
static const char *qdisc = "lablink";
static bool ipv6 = true;
static long ecn = -1, rto_min_us = -1;

/* -------------------------------------------------------------------- */
/* The description */

static void *grow(void *list, int n, size_t size)
{
	if (n & (n - 1))
		return list;
	list = reallocarray(list, n ? 2 * n : 1, size);
	if (!list)
		error(1, errno, "memory");
	return list;
}

static void *zalloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		error(1, errno, "memory");
	return p;
}

static uint64_t parse(const char *key, const char *text, uint64_t max)
{
	static const char units[] = "kmgt";
	const char *unit;
	double value;
	char *end;

	value = strtod(text, &end);
	if (end == text || value < 0)
		error(2, 0, "%s \"%s\" is not a number", key, text);
	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (unit) {
		for (; unit >= units; unit--)
			value *= 1000;
		end++;
	}
	if (*end)
		error(2, 0, "%s \"%s\": units are k, m, g and t", key, text);
	if (value > max)
		error(2, 0, "%s \"%s\" is more than %llu", key, text,
		      (unsigned long long)max);
	return value;
}

static struct node *find_node(const char *name)
{
	int i;

	for (i = 0; i < n_nodes; i++)
		if (!strcmp(nodes[i]->name, name))
			return nodes[i];
	return NULL;
}

__attribute__((format(printf, 1, 2)))
static struct node *node(const char *fmt, ...)
{
	char name[IFNAMSIZ];
	struct node *n;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	n = find_node(name);
	if (n)
		return n;
	n = zalloc(sizeof(*n));
	strcpy(n->name, name);
	n->host = *name == 'h' || *name == 'r';
	n->id = n->host ? ++n_hosts : ++n_switches;
	n->index = n_nodes;
	nodes = grow(nodes, n_nodes, sizeof(*nodes));
	nodes[n_nodes++] = n;
	return n;
}

static struct port *add_port(struct node *n)
{
	struct port *p = zalloc(sizeof(*p));

	p->node = n;
	p->ifindex = FIRST_IFINDEX + n->n_ports;
	snprintf(p->dev, sizeof(p->dev), n->host ? "eth%d" : "p%d",
		 n->host ? n->n_ports : n->n_ports + 1);
	p->mac[0] = 2;
	p->mac[1] = n->host ? 0 : 1;
	p->mac[2] = n->id >> 8;
	p->mac[3] = n->id;
	p->mac[4] = n->n_ports >> 8;
	p->mac[5] = n->n_ports;
	n->ports = grow(n->ports, n->n_ports, sizeof(*n->ports));
	n->ports[n->n_ports++] = p;
	ports = grow(ports, n_ports, sizeof(*ports));
	ports[n_ports++] = p;
	return p;
}

/* What is set in from goes over what is in opt. */
static void overlay(struct lablink_opt *opt, const struct lablink_opt *from)
{
	if (from->rate != unset.rate)
		opt->rate = from->rate;
	if (from->delay != unset.delay)
		opt->delay = from->delay;
	if (from->limit != unset.limit)
		opt->limit = from->limit;
	if (from->mark != unset.mark)
		opt->mark = from->mark;
	if (from->trace != unset.trace)
		opt->trace = from->trace;
	if (from->prio != unset.prio)
		opt->prio = from->prio;
}

static void default_opt(struct port *p)
{
	p->opt.rate = 100000000000;
	p->opt.delay = 1000;
	p->opt.limit = 32000000;
	overlay(&p->opt, &opt_all);
	if (p->node->host) {
		p->opt.limit = 64000000;
		p->opt.mark = 0;
		p->opt.trace = 0;
		overlay(&p->opt, &opt_host);
	} else if (!p->peer->node->host) {
		overlay(&p->opt, &opt_core);
	}
}

static struct port *link_nodes(struct node *a, struct node *b)
{
	struct port *p, *q;

	if (a == b)
		error(2, 0, "a link from %s to itself", a->name);
	p = add_port(a);
	q = add_port(b);
	p->peer = q;
	q->peer = p;
	return p;
}

static void build(const char *topology, const unsigned int *n)
{
	unsigned int i, j, k;

	if (!strcmp(topology, "star")) {
		for (i = 1; i <= n[0]; i++)
			link_nodes(node("h%u", i), node("s1"));
		link_nodes(node("r1"), node("s1"));
	} else if (!strcmp(topology, "dumbbell")) {
		for (i = 1; i <= n[0]; i++)
			link_nodes(node("h%u", i), node("s1"));
		link_nodes(node("s1"), node("s2"));
		for (i = 1; i <= n[0]; i++)
			link_nodes(node("r%u", i), node("s2"));
	} else if (!strcmp(topology, "parking")) {
		for (i = 1; i <= n[0]; i++)
			link_nodes(node("s%u", i), node("s%u", i + 1));
		link_nodes(node("h0"), node("s1"));
		link_nodes(node("r0"), node("s%u", n[0] + 1));
		for (i = 1; i <= n[0]; i++) {
			link_nodes(node("h%u", i), node("s%u", i));
			link_nodes(node("r%u", i), node("s%u", i + 1));
		}
	} else if (!strcmp(topology, "leafspine")) {
		for (i = 0; i < n[0]; i++) {
			for (j = 1; j <= n[2]; j++)
				link_nodes(node("h%u", i * n[2] + j),
					   node("l%u", i + 1));
			for (j = 1; j <= n[1]; j++)
				link_nodes(node("l%u", i + 1), node("s%u", j));
		}
	} else if (!strcmp(topology, "clos")) {
		for (i = 0; i < n[0] * n[1]; i++)
			for (j = 1; j <= n[4]; j++)
				link_nodes(node("h%u", i * n[4] + j),
					   node("t%u", i + 1));
		for (i = 0; i < n[0]; i++)
			for (j = 1; j <= n[1]; j++)
				for (k = 1; k <= n[2]; k++)
					link_nodes(node("t%u", i * n[1] + j),
						   node("a%u", i * n[2] + k));
		for (i = 0; i < n[0]; i++)
			for (j = 0; j < n[2]; j++)
				for (k = 1; k <= n[3]; k++)
					link_nodes(node("a%u", i * n[2] + j + 1),
						   node("c%u", j * n[3] + k));
	}
}

static const struct {
	const char *name;
	int args;
} topologies[] = {
	{ "star", 1 }, { "dumbbell", 1 }, { "parking", 1 }, { "leafspine", 3 },
	{ "clos", 5 }, { "graph", 0 },
};

static bool link_key(struct lablink_opt *opt, const char *key,
		     const char *value)
{
	if (!strcmp(key, "rate"))
		opt->rate = parse(key, value, 10000000000000);
	else if (!strcmp(key, "delay_ns"))
		opt->delay = parse(key, value, 10000000000);
	else if (!strcmp(key, "buffer"))
		opt->limit = parse(key, value, UINT32_MAX - 1);
	else if (!strcmp(key, "mark"))
		opt->mark = parse(key, value, UINT32_MAX - 1);
	else if (!strcmp(key, "trace"))
		opt->trace = parse(key, value, UINT32_MAX - 1);
	else if (!strcmp(key, "prio"))
		opt->prio = parse(key, value, 1);
	else
		return false;
	if (!opt->rate)
		error(2, 0, "a rate of 0");
	return true;
}

static void global_key(const char *key, const char *value)
{
	if (!strcmp(key, "mtu")) {
		mtu = parse(key, value, 65535);
	} else if (!strcmp(key, "qdisc")) {
		if (strcmp(value, "lablink") && strcmp(value, "tbf") &&
		    strcmp(value, "none"))
			error(2, 0, "qdisc \"%s\": lablink, tbf or none",
			      value);
		qdisc = value;
	} else if (!strcmp(key, "ipv6")) {
		ipv6 = strcmp(value, "no");
	} else if (!strcmp(key, "ecn")) {
		ecn = parse(key, value, 5);
	} else if (!strcmp(key, "rto_min_us")) {
		rto_min_us = parse(key, value, 1000000);
	} else if (!strcmp(key, "sysctl")) {
		if (!strchr(value, '='))
			error(2, 0, "sysctl \"%s\" is not NAME=VALUE", value);
		sysctls = grow(sysctls, n_sysctls, sizeof(*sysctls));
		sysctls[n_sysctls++] = strdup(value);
	} else if (!strncmp(key, "core_", 5)) {
		if (!link_key(&opt_core, key + 5, value))
			error(2, 0, "key \"%s\" is unknown", key);
	} else if (!strncmp(key, "host_", 5)) {
		if (!link_key(&opt_host, key + 5, value))
			error(2, 0, "key \"%s\" is unknown", key);
	} else if (!link_key(&opt_all, key, value)) {
		error(2, 0, "key \"%s\" is unknown", key);
	}
}

static struct port *find_port(const struct node *a, const struct node *b)
{
	int i;

	for (i = 0; i < a->n_ports; i++)
		if (a->ports[i]->peer->node == b)
			return a->ports[i];
	return NULL;
}

static void describe(int argc, char **argv)
{
	struct port *one = NULL, *both = NULL;
	unsigned int n[5] = { 0 }, t;
	const char *topology;
	int i, j;

	if (!argc)
		error(2, 0, "which topology?");
	topology = argv[0];
	for (t = 0; t < MNL_ARRAY_SIZE(topologies); t++)
		if (!strcmp(topology, topologies[t].name))
			break;
	if (t == MNL_ARRAY_SIZE(topologies))
		error(2, 0, "topology \"%s\" is unknown", topology);
	if (argc <= topologies[t].args)
		error(2, 0, "%s: %d numbers follow", topology,
		      topologies[t].args);
	for (i = 1; i <= topologies[t].args; i++) {
		n[i - 1] = parse(topology, argv[i], 10000);
		if (!n[i - 1])
			error(2, 0, "%s: none of something", topology);
	}

	opt_all = unset;
	opt_host = unset;
	opt_core = unset;
	for (; i + 1 < argc && strcmp(argv[i], "link") &&
	     strcmp(argv[i], "port"); i += 2)
		global_key(argv[i], argv[i + 1]);
	build(topology, n);
	for (j = 0; j < n_ports; j++)
		default_opt(ports[j]);

	while (i + 1 < argc) {
		struct node *a, *b;

		if (one && link_key(&one->opt, argv[i], argv[i + 1])) {
			if (both)
				link_key(&both->opt, argv[i], argv[i + 1]);
			i += 2;
			continue;
		}
		if (i + 2 >= argc || (strcmp(argv[i], "link") &&
				      strcmp(argv[i], "port")))
			error(2, 0, "\"%s\" is not a key of a link", argv[i]);
		a = node("%s", argv[i + 1]);
		b = node("%s", argv[i + 2]);
		one = find_port(a, b);
		if (!one) {
			one = link_nodes(a, b);
			default_opt(one);
			default_opt(one->peer);
		}
		both = strcmp(argv[i], "link") ? NULL : one->peer;
		i += 3;
	}
	if (i < argc)
		error(2, 0, "\"%s\" has no value", argv[i]);
}

/* Distance of every node from a host; other hosts pass nothing on. */
static void measure(struct node *from)
{
	struct node *queue[n_nodes];
	int i, head, tail = 0;

	for (i = 0; i < n_nodes; i++)
		nodes[i]->distance = -1;
	from->distance = 0;
	queue[tail++] = from;
	for (head = 0; head < tail; head++) {
		struct node *n = queue[head];

		if (n->host && n != from)
			continue;
		for (i = 0; i < n->n_ports; i++) {
			struct node *to = n->ports[i]->peer->node;

			if (to->distance >= 0)
				continue;
			to->distance = n->distance + 1;
			queue[tail++] = to;
		}
	}
}

/* -------------------------------------------------------------------- */
/* rtnetlink: messages to one namespace go out together */

static struct {
	char buf[BATCH + 8192];
	size_t len;
	struct node *node;
	struct nlmsghdr *last;
	unsigned int seq;
} batch;

static const char *request_name(int type)
{
	switch (type) {
	case RTM_NEWLINK:
		return "link";
	case RTM_NEWADDR:
		return "address";
	case RTM_NEWROUTE:
		return "route";
	case RTM_NEWNEIGH:
		return "neighbour";
	case RTM_NEWQDISC:
		return "qdisc";
	}
	return "request";
}

static int extack_cb(const struct nlattr *attr, void *data)
{
	if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
		*(const char **)data = mnl_attr_get_str(attr);
	return MNL_CB_OK;
}

static void flush(void)
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
					mnl_attr_parse(nlh, sizeof(*err),
						       extack_cb, &text);
				error(1, -err->error, "%s: %s %s", n->name,
				      request_name(err->msg.nlmsg_type), text);
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
	mnl_attr_put_u32(nlh, IFLA_GSO_MAX_SEGS, 1);
	mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, 1);
	mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, 1);
}

static void make_link(struct port *p)
{
	struct nlattr *info, *data, *peer;
	struct ifinfomsg *ifi;
	struct nlmsghdr *nlh;

	ifi = request(p->node, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
		      sizeof(*ifi));
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

static void make_qdisc(struct port *p)
{
	struct nlmsghdr *nlh;
	struct nlattr *nest;
	struct tcmsg *tcm;

	if (!strcmp(qdisc, "none"))
		return;
	tcm = request(p->node, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL,
		      sizeof(*tcm));
	nlh = batch.last;
	tcm->tcm_ifindex = p->ifindex;
	tcm->tcm_parent = TC_H_ROOT;
	tcm->tcm_handle = 1 << 16;
	mnl_attr_put_strz(nlh, TCA_KIND, qdisc);
	if (!strcmp(qdisc, "tbf")) {
		struct tc_tbf_qopt qopt = {
			.rate.rate = p->opt.rate / 8 < UINT32_MAX ?
				     p->opt.rate / 8 : UINT32_MAX,
			.rate.linklayer = TC_LINKLAYER_ETHERNET,
			.limit = p->opt.limit,
		};

		nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);
		mnl_attr_put(nlh, TCA_TBF_PARMS, sizeof(qopt), &qopt);
		mnl_attr_put_u64(nlh, TCA_TBF_RATE64, p->opt.rate / 8);
		mnl_attr_put_u32(nlh, TCA_TBF_BURST, mtu + 100);
		mnl_attr_nest_end(nlh, nest);
	} else {
		mnl_attr_put(nlh, TCA_OPTIONS, sizeof(p->opt), &p->opt);
	}
	request_end();
}

static void set_up(struct node *n, int ifindex)
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

/* Address of a host, or without one that of the other end of any link. */
static size_t address(void *to, int family, const struct node *n)
{
	uint8_t *a = to;

	if (family == AF_INET) {
		uint32_t v4 = htonl(n ? 10 << 24 | n->id << 8 | 1 : GATEWAY4);

		memcpy(a, &v4, 4);
		return 4;
	}
	memset(a, 0, 16);
	a[0] = n ? 0xfd : 0xfe;
	a[1] = n ? 0 : 0x80;
	a[14] = n ? n->id >> 8 : 0;
	a[15] = n ? n->id : 1;
	return 16;
}

static void put_address(int attr, int family, const struct node *n)
{
	uint8_t a[16];
	size_t len = address(a, family, n);

	mnl_attr_put(batch.last, attr, len, a);
}

static void make_address(struct port *p, int family)
{
	struct ifaddrmsg *ifa;

	ifa = request(p->node, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL,
		      sizeof(*ifa));
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

	ndm = request(p->node, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE,
		      sizeof(*ndm));
	ndm->ndm_family = family;
	ndm->ndm_ifindex = p->ifindex;
	ndm->ndm_state = NUD_PERMANENT;
	put_address(NDA_DST, family, host);
	mnl_attr_put(batch.last, NDA_LLADDR, sizeof(p->peer->mac),
		     p->peer->mac);
	request_end();
}

/* From a node towards a host by n_via of its ports; no host: the default. */
static void make_route(struct node *n, int family, struct node *host,
		       struct port **via, int n_via)
{
	bool direct = host && via[0]->peer->node == host;
	struct nlattr *nest = NULL;
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
		rtnh->rtnh_len = (char *)mnl_nlmsg_get_payload_tail(batch.last) -
				 (char *)rtnh;
	}
	mnl_attr_nest_end(batch.last, nest);
	request_end();
}

static void make_routes(int family)
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
				make_route(at, family, NULL, at->ports,
					   at->n_ports);
			continue;
		}
		for (i = 0; i < n_nodes; i++) {
			if (!distance[i] || distance[i][j] <= 0)
				continue;
			n = 0;
			for (k = 0; k < at->n_ports; k++) {
				struct port *p = at->ports[k];

				if (distance[i][p->peer->node->index] ==
				    distance[i][j] - 1)
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

/* -------------------------------------------------------------------- */
/* Namespaces */

static void set_sysctl(const char *name, const char *value, bool must)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && !must)
		return;
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		error(1, errno, "%s = %s", path, value);
	close(fd);
}

static void set_sysctl_number(const char *name, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	set_sysctl(name, text, false);
}

static void set_sysctls(const struct node *n)
{
	int i;

	set_sysctl("net/ipv4/ip_forward", n->host ? "0" : "1", true);
	set_sysctl("net/ipv4/conf/all/rp_filter", "0", true);
	set_sysctl("net/ipv4/conf/default/rp_filter", "0", true);
	set_sysctl("net/ipv4/conf/all/send_redirects", "0", true);
	set_sysctl("net/ipv4/conf/default/send_redirects", "0", true);
	set_sysctl("net/ipv4/fib_multipath_hash_policy", "3", false);
	set_sysctl("net/ipv4/fib_multipath_hash_fields", HASH_FIELDS, false);
	set_sysctl_number("net/ipv4/fib_multipath_hash_seed",
			  n->id + (n->host ? 0x10000 : 0));
	if (ipv6) {
		set_sysctl("net/ipv6/conf/default/addr_gen_mode", "1", true);
		set_sysctl("net/ipv6/conf/default/accept_ra", "0", true);
		set_sysctl("net/ipv6/conf/default/accept_dad", "0", true);
		set_sysctl("net/ipv6/conf/all/forwarding",
			   n->host ? "0" : "1", true);
		set_sysctl("net/ipv6/fib_multipath_hash_policy", "3", false);
		set_sysctl("net/ipv6/fib_multipath_hash_fields", HASH_FIELDS,
			   false);
	} else {
		set_sysctl("net/ipv6/conf/default/disable_ipv6", "1", false);
	}
	if (n->host) {
		set_sysctl("net/ipv4/tcp_rmem", "4096 33554432 67108864", true);
		set_sysctl("net/ipv4/tcp_wmem", "4096 4194304 67108864", true);
		set_sysctl("net/ipv4/tcp_no_metrics_save", "1", true);
		set_sysctl("net/ipv4/tcp_syncookies", "0", false);
		set_sysctl("net/ipv4/tcp_max_syn_backlog", "65535", false);
		set_sysctl("net/core/somaxconn", "65535", true);
		if (ecn >= 0)
			set_sysctl_number("net/ipv4/tcp_ecn", ecn);
		if (rto_min_us >= 0)
			set_sysctl_number("net/ipv4/tcp_rto_min_us",
					  rto_min_us);
	}
	for (i = 0; i < n_sysctls; i++) {
		char *name = strdup(sysctls[i]), *value, *c;

		if (!name)
			error(1, errno, "memory");
		value = strchr(name, '=');
		*value++ = '\0';
		for (c = name; *c; c++)
			if (*c == '.')
				*c = '/';
		set_sysctl(name, value, true);
		free(name);
	}
}

static void make_netns(struct node *n)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), NETNS_DIR "/%s", n->name);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		error(1, errno, "%s", path);
	close(fd);
	if (unshare(CLONE_NEWNET) ||
	    mount("/proc/self/ns/net", path, "none", MS_BIND, NULL))
		error(1, errno, "namespace %s", n->name);
	n->ns = open(path, O_RDONLY | O_CLOEXEC);
	n->ctl = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	n->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (n->ns < 0 || n->ctl < 0 || !n->nl ||
	    mnl_socket_bind(n->nl, 0, MNL_SOCKET_AUTOPID))
		error(1, errno, "namespace %s", n->name);
	fd = 1;
	mnl_socket_setsockopt(n->nl, NETLINK_CAP_ACK, &fd, sizeof(fd));
	mnl_socket_setsockopt(n->nl, NETLINK_EXT_ACK, &fd, sizeof(fd));
	set_sysctls(n);
}

static void set_offloads(struct port *p)
{
	static const uint32_t offloads[] = {
		ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO,
	};
	struct ethtool_value value = { 0 };
	struct ifreq ifr = { 0 };
	size_t i;

	strcpy(ifr.ifr_name, p->dev);
	ifr.ifr_data = (void *)&value;
	for (i = 0; i < MNL_ARRAY_SIZE(offloads); i++) {
		value.cmd = offloads[i];
		if (ioctl(p->node->ctl, SIOCETHTOOL, &ifr) &&
		    errno != EOPNOTSUPP)
			error(1, errno, "%s: offloads of %s", p->node->name,
			      p->dev);
	}
}

static int operstate_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct ifinfomsg))
		if (mnl_attr_get_type(attr) == IFLA_OPERSTATE)
			*(uint8_t *)data = mnl_attr_get_u8(attr);
	return MNL_CB_STOP;
}

static uint8_t operstate(const struct port *p)
{
	char buf[MNL_SOCKET_BUFFER_SIZE];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;
	uint8_t state = 0;
	ssize_t len;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = p->ifindex;
	if (mnl_socket_sendto(p->node->nl, nlh, nlh->nlmsg_len) < 0)
		return 0;
	len = mnl_socket_recvfrom(p->node->nl, buf, sizeof(buf));
	if (len > 0)
		mnl_cb_run(buf, len, 0, 0, operstate_cb, &state);
	return state;
}

/*
 * The qdisc is in use once the kernel has noticed the carrier, which it does for
 * many links at a time, and then not again for a second.
 */
static void await_up(const struct port *p)
{
	int tries;

	for (tries = 0; tries < 10000; tries++) {
		if (operstate(p) == IF_OPER_UP)
			return;
		usleep(1000);
	}
	error(1, 0, "%s: %s does not come up", p->node->name, p->dev);
}

static void save(int argc, char **argv)
{
	FILE *f = fopen(STATE, "we");
	int i;

	for (i = 0; f && i < argc; i++)
		fprintf(f, "%s\n", argv[i]);
	if (!f || fclose(f))
		error(1, errno, "%s", STATE);
}

static void up(int argc, char **argv)
{
	struct rlimit limit;
	int i, j;

	if (!access(STATE, F_OK))
		error(1, 0, "%s is there: testbed down first", STATE);
	if (ipv6 && access("/proc/sys/net/ipv6", F_OK))
		ipv6 = false;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (mkdir(NETNS_DIR, 0755) && errno != EEXIST)
		error(1, errno, "%s", NETNS_DIR);
	for (i = 0; i < n_nodes; i++)
		if (nodes[i]->host && nodes[i]->id > 0xffff)
			error(2, 0, "too many hosts");
	save(argc, argv);

	for (i = 0; i < n_nodes; i++)
		make_netns(nodes[i]);
	for (i = 0; i < n_ports; i += 2)
		make_link(ports[i]);
	flush();
	for (i = 0; i < n_ports; i++)
		set_offloads(ports[i]);
	for (i = 0; i < n_nodes; i++) {
		set_up(nodes[i], 1);
		for (j = 0; j < nodes[i]->n_ports; j++) {
			make_qdisc(nodes[i]->ports[j]);
			set_up(nodes[i], nodes[i]->ports[j]->ifindex);
		}
	}
	flush();
	make_routes(AF_INET);
	if (ipv6)
		make_routes(AF_INET6);
	for (i = 0; i < n_ports; i++)
		await_up(ports[i]);
}

static void down(void)
{
	char path[64];
	int i;

	for (i = 0; i < n_nodes; i++) {
		snprintf(path, sizeof(path), NETNS_DIR "/%s", nodes[i]->name);
		umount2(path, MNT_DETACH);
		if (unlink(path) && errno != ENOENT)
			error(0, errno, "%s", path);
	}
	unlink(STATE);
}

/* -------------------------------------------------------------------- */

static void print_ports(bool all)
{
	int i, j;

	for (i = 0; i < n_nodes; i++)
		for (j = 0; j < nodes[i]->n_ports; j++)
			if (all || !nodes[i]->host)
				printf("%s %s %llu\n", nodes[i]->name,
				       nodes[i]->ports[j]->dev,
				       nodes[i]->ports[j]->opt.rate);
}

/* ns that a frame takes through a port and the link behind it, * 2^10 */
static uint64_t hop_time(const struct port *p, uint64_t bytes)
{
	return (bytes * 8000000000 << 10) / p->opt.rate + (p->opt.delay << 10);
}

static void print_paths(void)
{
	int i, j, k;

	for (i = 0; i < n_nodes; i++) {
		if (!nodes[i]->host)
			continue;
		measure(nodes[i]);
		for (j = 0; j < n_nodes; j++) {
			uint64_t rtt = 0, rate = UINT64_MAX;
			struct node *n = nodes[j];

			if (!n->host || n->distance <= 0)
				continue;
			while (n != nodes[i]) {
				struct port *p = NULL;

				for (k = 0; k < n->n_ports; k++) {
					p = n->ports[k];
					if (p->peer->node->distance ==
					    n->distance - 1)
						break;
				}
				rtt += hop_time(p, ACK_FRAME) +
				       hop_time(p->peer, mtu + ETH_HEADER);
				if (p->peer->opt.rate < rate)
					rate = p->peer->opt.rate;
				n = p->peer->node;
			}
			printf("%s %s %llu %llu %u\n", nodes[i]->name,
			       nodes[j]->name, (unsigned long long)rtt >> 10,
			       (unsigned long long)rate, mtu);
		}
	}
}

/* The words of the last "up". */
static int load(char ***argv)
{
	FILE *f = fopen(STATE, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int n = 0;

	*argv = NULL;
	if (!f)
		error(1, errno, "%s", STATE);
	while ((len = getline(&line, &room, f)) > 0) {
		line[len - 1] = '\0';
		*argv = grow(*argv, n, sizeof(**argv));
		(*argv)[n++] = strdup(line);
	}
	free(line);
	fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	const char *command = "up";
	bool all = false;

	argc--;
	argv++;
	if (argc && (!strcmp(argv[0], "up") || !strcmp(argv[0], "down") ||
		     !strcmp(argv[0], "ports") || !strcmp(argv[0], "paths"))) {
		command = argv[0];
		argc--;
		argv++;
	}
	if (argc && !strcmp(command, "ports") && !strcmp(argv[0], "all")) {
		all = true;
		argc--;
		argv++;
	}
	if (!argc && strcmp(command, "up"))
		argc = load(&argv);
	describe(argc, argv);

	if (!strcmp(command, "up"))
		up(argc, argv);
	else if (!strcmp(command, "down"))
		down();
	else if (!strcmp(command, "ports"))
		print_ports(all);
	else
		print_paths();
	if (fflush(stdout))
		error(1, errno, "stdout");
	return 0;
}
