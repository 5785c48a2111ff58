// SPDX-License-Identifier: GPL-2.0
/*
 * Queueing disciplines and filters of devices, read by rtnetlink: the rate that
 * a port shapes to, and what else hangs on a clsact besides our filter.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "hpccpp.h"

/* Sends a request, and has cb look at the answers, to the end. Returns 0 or -errno. */
static int ask(int bus, char *buf, __u16 flags, mnl_cb_t cb, void *data)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
	struct mnl_socket *nl;
	unsigned int seq = 1;
	ssize_t len;
	int ret;

	nl = mnl_socket_open2(bus, SOCK_CLOEXEC);
	if (!nl)
		return -errno;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = seq;
	ret = mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID);
	if (!ret)
		ret = mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0 ? -1 : 1;
	while (ret > 0) {
		len = mnl_socket_recvfrom(nl, buf, NETLINK_DUMP_SIZE);
		ret = len < 0 ? -1 :
		      mnl_cb_run(buf, len, seq, mnl_socket_get_portid(nl), cb,
				 data);
	}
	ret = ret < 0 ? -errno : 0;
	mnl_socket_close(nl);
	return ret;
}

/*
 * Dumps what the request in buf, of NETLINK_DUMP_SIZE bytes, asks for; cb returns
 * MNL_CB_OK, or MNL_CB_ERROR with errno. Returns 0 or -errno: -EINTR when something changed
 * meanwhile, and the caller makes it again.
 */
int netlink_dump(int bus, char *buf, mnl_cb_t cb, void *data)
{
	return ask(bus, buf, NLM_F_DUMP, cb, data);
}

/* One dump of struct tcmsg, as netlink_dump() */
static int dump(__u16 type, int ifindex, __u32 parent, mnl_cb_t cb, void *data)
{
	char buf[NETLINK_DUMP_SIZE];
	struct nlmsghdr *nlh;
	struct tcmsg *tcm;

	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = type;
	tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));
	tcm->tcm_family = AF_UNSPEC;
	tcm->tcm_ifindex = ifindex;
	tcm->tcm_parent = parent;
	return netlink_dump(NETLINK_ROUTE, buf, cb, data);
}

/* The payload of an attribute of this type, when it is at least this long. */
static const void *find_attr(const struct nlattr *first, size_t len,
			     __u16 type, size_t size)
{
	const struct nlattr *attr;

	mnl_attr_for_each_payload(first, len) {
		if (mnl_attr_get_type(attr) == type &&
		    mnl_attr_get_payload_len(attr) >= size)
			return mnl_attr_get_payload(attr);
	}
	return NULL;
}

static __u64 u64_attr(const struct nlattr *first, size_t len, __u16 type)
{
	const void *p = find_attr(first, len, type, sizeof(__u64));
	__u64 v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

/* bit/s of a rate of tc, whose 32 bits are full when there is one of 64. */
static __u64 tc_rate(__u32 rate, __u64 rate64)
{
	return (rate64 ? rate64 : rate) * 8;
}

/* The configured overhead of a shaper, in the range that a port can have */
static __u8 overhead_of(int bytes)
{
	return bytes < 0 ? 0 : bytes > 255 ? 255 : bytes;
}

static void read_netem(struct qdisc *q, const struct nlattr *options)
{
	const struct tc_netem_qopt *opts = mnl_attr_get_payload(options);
	size_t len = mnl_attr_get_payload_len(options);
	const struct tc_netem_rate *rate;
	const struct nlattr *first;

	if (len < sizeof(*opts))
		return;
	q->delay = opts->latency;
	first = (const void *)((const char *)opts + MNL_ALIGN(sizeof(*opts)));
	len -= MNL_ALIGN(sizeof(*opts));
	rate = find_attr(first, len, TCA_NETEM_RATE, sizeof(*rate));
	if (rate) {
		q->rate = tc_rate(rate->rate,
				  u64_attr(first, len, TCA_NETEM_RATE64));
		q->overhead = overhead_of(rate->packet_overhead);
	}
}

static void read_tbf(struct qdisc *q, const struct nlattr *options)
{
	const struct nlattr *first = mnl_attr_get_payload(options);
	size_t len = mnl_attr_get_payload_len(options);
	const struct tc_tbf_qopt *parms;

	parms = find_attr(first, len, TCA_TBF_PARMS, sizeof(*parms));
	if (parms) {
		q->rate = tc_rate(parms->rate.rate,
				  u64_attr(first, len, TCA_TBF_RATE64));
		q->overhead = overhead_of(parms->rate.overhead);
	}
}

/* Unless it is raw, cake adds its overhead to the IP packet, not to the frame. */
static void read_cake(struct qdisc *q, const struct nlattr *options)
{
	const struct nlattr *first = mnl_attr_get_payload(options);
	size_t len = mnl_attr_get_payload_len(options);
	const __s32 *overhead = find_attr(first, len, TCA_CAKE_OVERHEAD, sizeof(*overhead));

	q->rate = u64_attr(first, len, TCA_CAKE_BASE_RATE64) * 8;
	if (overhead && !find_attr(first, len, TCA_CAKE_RAW, 0))
		q->overhead = overhead_of(*overhead - ETH_HLEN);
}

/* The kind and the options in a message about a qdisc, class or filter. */
static const char *tca_kind(const struct nlmsghdr *nlh,
			    const struct nlattr **options)
{
	const struct nlattr *attr;
	const char *kind = "";

	*options = NULL;
	mnl_attr_for_each(attr, nlh, sizeof(struct tcmsg)) {
		if (mnl_attr_get_type(attr) == TCA_KIND &&
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			kind = mnl_attr_get_str(attr);
		else if (mnl_attr_get_type(attr) == TCA_OPTIONS)
			*options = attr;
	}
	return kind;
}

static void read_stats(struct qdisc *q, const struct nlmsghdr *nlh)
{
	const struct gnet_stats_queue *queue;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct tcmsg)) {
		if (mnl_attr_get_type(attr) != TCA_STATS2)
			continue;
		/* the first member of struct gnet_stats_basic */
		q->bytes = u64_attr(mnl_attr_get_payload(attr),
				    mnl_attr_get_payload_len(attr),
				    TCA_STATS_BASIC);
		queue = find_attr(mnl_attr_get_payload(attr),
				  mnl_attr_get_payload_len(attr),
				  TCA_STATS_QUEUE, sizeof(*queue));
		if (queue) {
			q->backlog = queue->backlog;
			q->drops = queue->drops;
		}
	}
}

struct qdiscs {
	struct qdisc *q;
	size_t n;
};

static int qdisc_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *options;
	struct qdiscs *all = data;
	struct qdisc *q;

	q = realloc(all->q, (all->n + 1) * sizeof(*q));
	if (!q)
		return MNL_CB_ERROR;
	all->q = q;
	q += all->n++;
	memset(q, 0, sizeof(*q));
	q->ifindex = tcm->tcm_ifindex;
	q->handle = tcm->tcm_handle;
	q->parent = tcm->tcm_parent;
	strncpy(q->kind, tca_kind(nlh, &options), sizeof(q->kind) - 1);
	read_stats(q, nlh);
	if (options && !strcmp(q->kind, "netem"))
		read_netem(q, options);
	else if (options && !strcmp(q->kind, "tbf"))
		read_tbf(q, options);
	else if (options && !strcmp(q->kind, "cake"))
		read_cake(q, options);
	return MNL_CB_OK;
}

/* All of the namespace: kernels do not filter this dump. */
int qdisc_list(struct qdisc **list, size_t *n)
{
	struct qdiscs all = {};
	int err;

	do {
		all.n = 0;
		err = dump(RTM_GETQDISC, 0, 0, qdisc_cb, &all);
	} while (err == -EINTR);
	if (err) {
		free(all.q);
		return errno_error(err, "cannot read the qdiscs");
	}
	*list = all.q;
	*n = all.n;
	return EXIT_DONE;
}

const struct qdisc *find_qdisc(const struct qdisc *list, size_t n, int ifindex,
			       __u32 parent)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (list[i].ifindex == ifindex && list[i].parent == parent)
			return &list[i];
	}
	return NULL;
}

struct htb {
	__u32 handle;
	unsigned int roots;
	__u64 rate;
	__u8 overhead;
};

static int htb_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *options, *first;
	const struct tc_htb_opt *parms;
	struct htb *htb = data;
	__u64 ceil;
	size_t len;

	tca_kind(nlh, &options);
	if (TC_H_MAJ(tcm->tcm_handle) != htb->handle || !options ||
	    tcm->tcm_parent != TC_H_ROOT)
		return MNL_CB_OK;
	first = mnl_attr_get_payload(options);
	len = mnl_attr_get_payload_len(options);
	parms = find_attr(first, len, TCA_HTB_PARMS, sizeof(*parms));
	if (!parms)
		return MNL_CB_OK;
	htb->roots++;
	htb->overhead = overhead_of(parms->rate.overhead);
	htb->rate = tc_rate(parms->rate.rate,
			    u64_attr(first, len, TCA_HTB_RATE64));
	ceil = tc_rate(parms->ceil.rate, u64_attr(first, len, TCA_HTB_CEIL64));
	if (ceil < htb->rate)
		htb->rate = ceil;
	return MNL_CB_OK;
}

/*
 * htb shapes to what its root class may send. That is its rate: a class goes
 * up to its ceil with what it borrows from a parent, and it has none.
 */
static int read_htb(const struct qdisc *q, struct htb *htb)
{
	int err;

	do {
		*htb = (struct htb){ .handle = q->handle };
		err = dump(RTM_GETTCLASS, q->ifindex, 0, htb_cb, htb);
	} while (err == -EINTR);
	return err;
}

int qdisc_htb_rate(const char *dev, struct qdisc *q)
{
	struct htb htb;
	int err = read_htb(q, &htb);

	if (err)
		return errno_error(err, "cannot read the classes of %s", dev);
	if (htb.roots != 1)
		return system_error("htb on %s has %u root classes: for its rate to be known it must be one",
				    dev, htb.roots);
	q->rate = htb.rate;
	q->overhead = htb.overhead;
	return EXIT_DONE;
}

/* What a qdisc shapes to now, bit/s; 0: nothing, or it is not known */
__u64 qdisc_rate(const struct qdisc *q)
{
	struct htb htb;

	if (strcmp(q->kind, "htb"))
		return q->rate;
	return !read_htb(q, &htb) && htb.roots == 1 ? htb.rate : 0;
}

static void read_kind(struct device *d, const struct nlattr *info)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, info) {
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND &&
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			strncpy(d->kind, mnl_attr_get_str(attr), sizeof(d->kind) - 1);
	}
}

static int device_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct rtnl_link_stats64 stats;
	const struct nlattr *attr;
	struct device *d = data;

	d->type = ifi->ifi_type;
	d->up = ifi->ifi_flags & IFF_UP;
	mnl_attr_for_each(attr, nlh, sizeof(*ifi)) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_LINK:
			d->lower = mnl_attr_get_u32(attr);
			break;
		case IFLA_LINK_NETNSID:
			d->far = true;
			break;
		case IFLA_LINKINFO:
			read_kind(d, attr);
			break;
		case IFLA_STATS64:
			/* it may be longer, and is not aligned */
			memcpy(&stats, mnl_attr_get_payload(attr), sizeof(stats.rx_packets) +
			       sizeof(stats.tx_packets));
			d->sent = stats.tx_packets;
			d->received = stats.rx_packets;
			break;
		}
	}
	return MNL_CB_OK;
}

/* Returns 0 or -errno. */
int device_read(int ifindex, struct device *d)
{
	char buf[NETLINK_DUMP_SIZE];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	memset(d, 0, sizeof(*d));
	nlh->nlmsg_type = RTM_GETLINK;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = ifindex;
	return ask(NETLINK_ROUTE, buf, NLM_F_ACK, device_cb, d);
}

static int route_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct rtmsg)) {
		if (mnl_attr_get_type(attr) == RTA_OIF)
			*(int *)data = mnl_attr_get_u32(attr);
	}
	return MNL_CB_OK;
}

/* Returns the index of the device that packets to an address leave by; 0: there is none. */
int route_dev(const char *addr)
{
	char buf[NETLINK_DUMP_SIZE];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	unsigned char dst[16];
	struct rtmsg *rtm;
	int ifindex = 0;

	if (!strncmp(addr, "::ffff:", 7) && strchr(addr, '.'))
		addr += 7;
	nlh->nlmsg_type = RTM_GETROUTE;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = strchr(addr, ':') ? AF_INET6 : AF_INET;
	rtm->rtm_dst_len = rtm->rtm_family == AF_INET ? 32 : 128;
	if (inet_pton(rtm->rtm_family, addr, dst) != 1)
		return 0;
	mnl_attr_put(nlh, RTA_DST, rtm->rtm_dst_len / 8, dst);
	ask(NETLINK_ROUTE, buf, NLM_F_ACK, route_cb, &ifindex);
	return ifindex;
}

/* Two of the same preference must be of one kind: another's is in the way. */
static int filter_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *options;
	struct filters *f = data;
	bool bpf, egress, place;
	const char *kind;

	f->count++;
	egress = TC_H_MIN(tcm->tcm_parent) == TC_H_MIN_EGRESS;
	kind = tca_kind(nlh, &options);
	bpf = !strcmp(kind, "bpf");
	place = TC_H_MAJ(tcm->tcm_info) >> 16 == HPCCPP_TC_PRIO &&
		(!bpf || tcm->tcm_handle == HPCCPP_TC_HANDLE);
	/* the kernel lists them as packets meet them, behind a head with handle 0 */
	if (egress && tcm->tcm_handle && !f->first) {
		f->first = TC_H_MAJ(tcm->tcm_info) >> 16;
		f->ours_first = bpf && place;
		snprintf(f->first_kind, sizeof(f->first_kind), "%s", kind);
	}
	if (place)
		*(egress ? &f->taken : &f->taken_in) = true;
	return MNL_CB_OK;
}

/* Needs a clsact there. */
int clsact_filters(int ifindex, struct filters *f)
{
	int err;

	do {
		memset(f, 0, sizeof(*f));
		err = dump(RTM_GETTFILTER, ifindex,
			   TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), filter_cb,
			   f);
		if (!err)
			err = dump(RTM_GETTFILTER, ifindex,
				   TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS),
				   filter_cb, f);
	} while (err == -EINTR);
	if (err)
		return errno_error(err, "cannot read the filters of a clsact");
	return EXIT_DONE;
}
