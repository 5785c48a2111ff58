// SPDX-License-Identifier: GPL-2.0
/*
 * The device of a port: whether a port can be on it, and whether it is still what it was
 * when the port was added.
 */
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "hpccpp.h"
#include "port.h"

#ifndef ARPHRD_IP6GRE
#define ARPHRD_IP6GRE	823		/* of linux/if_arp.h */
#endif
#define CLOCK_STEP	1000000		/* ns by which IOAM's clock may be off */

/* Queues that the device sends by, as `ethtool -l` shows; 0 when the driver does not know. */
static __u32 ethtool_channels(const char *dev)
{
	struct ethtool_channels c = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq ifr = { .ifr_data = (void *)&c };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return 0;
	strncpy(ifr.ifr_name, dev, IFNAMSIZ - 1);
	err = ioctl(fd, SIOCETHTOOL, &ifr);
	close(fd);
	return err ? 0 : c.tx_count + c.combined_count;
}

/* False for devices that pass packets on to other devices, or to nobody */
static bool has_link(const struct device *d)
{
	static const char *const without[] = {
		"bond", "team", "bridge", "openvswitch", "vxlan", "geneve", "gretap",
		"ip6gretap", "erspan", "ip6erspan", "macvlan", "macvtap", "ipvlan", "ipvtap",
		"vlan", "macsec", "hsr", "batadv", "amt", "vrf", "ifb", "dummy",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(without); i++) {
		if (!strcmp(d->kind, without[i]))
			return false;
	}
	return true;
}

/* Returns true for devices that encapsulate packets in packets with other addresses. */
bool is_tunnel(const struct device *d)
{
	static const char *const ethernet[] = {
		"vxlan", "geneve", "gretap", "ip6gretap", "erspan", "ip6erspan", "amt",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ethernet); i++) {
		if (!strcmp(d->kind, ethernet[i]))
			return true;
	}
	return d->type == ARPHRD_NONE || d->type == ARPHRD_TUNNEL || d->type == ARPHRD_TUNNEL6 ||
	       d->type == ARPHRD_SIT || d->type == ARPHRD_IPGRE || d->type == ARPHRD_IP6GRE;
}

/*
 * Returns true if the device needs a port agent: it has an Ethernet header and a link of its own,
 * and is up; with "down" it may be down. A veth, netkit or tun device needs one only if a qdisc
 * shapes it. Sets *has_rate to whether `port add` can read the rate itself.
 */
bool port_wanted(const char *dev, bool down, const struct qdisc *list, size_t n, bool *has_rate)
{
	int ifindex = if_nametoindex(dev);
	const struct qdisc *root = find_qdisc(list, n, ifindex, TC_H_ROOT);
	struct device d;
	bool shaped;

	if (root && !strcmp(root->kind, "mq"))
		root = find_qdisc(list, n, ifindex, TC_H_MAJ(root->handle) | 1);
	if (device_read(ifindex, &d) || !(d.up || down) || d.type != ARPHRD_ETHER || !has_link(&d))
		return false;
	shaped = root && (qdisc_rate(root) || !strcmp(root->kind, "htb"));
	*has_rate = shaped ? qdisc_rate(root) : ethtool_rate(dev);
	return shaped || (strcmp(d.kind, "veth") && strcmp(d.kind, "netkit") &&
			  strcmp(d.kind, "tun"));
}

static void name_lower(const struct device *d, char *text, size_t size)
{
	char name[IF_NAMESIZE];

	if (!strcmp(d->kind, "bond") || !strcmp(d->kind, "team"))
		snprintf(text, size, "its members");
	else if (!strcmp(d->kind, "bridge"))
		snprintf(text, size, "its ports");
	else if (d->lower && !d->far && if_indextoname(d->lower, name))
		snprintf(text, size, "%s", name);
	else
		snprintf(text, size, "the device that its packets leave by");
}

/* The agent looks for IP behind an Ethernet header. */
int port_check_device(const struct port_plan *p, struct device *d)
{
	int err = device_read(p->ifindex, d);

	if (err)
		return errno_error(err, "cannot read the device %s", p->dev);
	if (is_tunnel(d) && d->type != ARPHRD_ETHER)
		return system_error("%s is a tunnel, of kind %s, whose packets have no Ethernet header, which a port needs: in a tunnel no port sees TCP",
				    p->dev, d->kind);
	if (d->type != ARPHRD_ETHER && d->type != ARPHRD_LOOPBACK)
		return system_error("packets of %s have no Ethernet header, which a port needs%s%s: stamp the device that they leave by",
				    p->dev, *d->kind ? ", as it is of kind " : "", d->kind);
	return EXIT_DONE;
}

/* Returns true for qdiscs that shape to a rate that the command does not read. */
static bool hides_rate(const char *kind)
{
	return !strcmp(kind, "hfsc") || !strcmp(kind, "taprio") || !strcmp(kind, "cbs");
}

/*
 * Notes what is compared later. Warns of a device that may send at less than its link's rate, and
 * of one that has no link of its own.
 */
void port_note_device(struct port_plan *p, const struct device *d)
{
	char lower[64];

	p->cfg.sent = p->cfg.on_ingress ? d->received : d->sent;
	p->cfg.channels = ethtool_channels(p->dev);
	strcpy(p->cfg.kind, p->qdisc.kind);
	if (!p->cfg.rate_given && hides_rate(p->qdisc.kind))
		fprintf(stderr, "Warning: the qdisc %s of %s may shape to less than the rate of the link: give its rate with rate RATE.\n",
			p->qdisc.kind, p->dev);
	if (p->cfg.queue == HPCCPP_QUEUE_QDISC || has_link(d))
		return;
	if (is_tunnel(d)) {
		fprintf(stderr, "Warning: %s is a tunnel of kind %s. Ports on the links below it see no TCP. A port here is correct only if \"rate\" is the rate of the slowest link of the path and no other host sends over that link.\n",
			p->dev, d->kind);
		return;
	}
	name_lower(d, lower, sizeof(lower));
	fprintf(stderr, "Warning: %s has no link of its own, as it is of kind %s: stamp %s instead.\n",
		p->dev, d->kind, lower);
}

/* Reads the device now; list has all qdiscs. */
void port_read_now(struct port_now *now, const struct qdisc *list, size_t n, int ifindex,
		   const char *dev)
{
	struct device d;

	*now = (struct port_now) { .dev = dev, .list = list, .n = n, .ifindex = ifindex };
	if (!device_read(ifindex, &d)) {
		now->sent = d.sent;
		now->received = d.received;
	}
	now->speed = ethtool_rate(dev);
	now->channels = ethtool_channels(dev);
	now->root = find_qdisc(list, n, ifindex, TC_H_ROOT);
	if (!now->root || strcmp(now->root->kind, "mq"))
		return;
	while (find_qdisc(list, n, ifindex, TC_H_MAJ(now->root->handle) | (now->queues + 1)))
		now->queues++;
}

/* The qdisc that a tx queue has: mq's child, or the root */
const struct qdisc *port_qdisc(const struct port_now *now, __u32 queue)
{
	return now->queues ? find_qdisc(now->list, now->n, now->ifindex,
					TC_H_MAJ(now->root->handle) | (queue + 1)) :
			     now->root;
}

static const char *kind_of(const struct qdisc *q)
{
	return q ? q->kind : "noqueue";
}

/* The queue that is read is no more where it was */
static bool queue_moved(const struct port_now *now, const struct hpccpp_port_cfg *cfg,
			const struct qdisc *q, char *text, size_t size)
{
	if (cfg->queue != HPCCPP_QUEUE_QDISC)
		return false;
	if (cfg->mq != !!now->queues)
		snprintf(text, size, "the qdisc is %s, it was %s", kind_of(now->root),
			 cfg->mq ? "mq" : cfg->kind);
	else if (cfg->mq && now->queues != cfg->queues)
		snprintf(text, size, "mq has %u queues, it had %u", now->queues, cfg->queues);
	else if (strcmp(kind_of(q), cfg->kind))
		snprintf(text, size, "the qdisc is %s, it was %s", kind_of(q), cfg->kind);
	else if (cfg->mq && now->channels != cfg->channels)
		snprintf(text, size, "the device sends by %u queues, it had %u",
			 now->channels, cfg->channels);
	else
		return false;
	return true;
}

/*
 * The rate that `port add` would take without one that is given, and where from; 0 when it is
 * not known. from may be NULL.
 */
__u64 port_rate_now(const struct port_now *now, const struct hpccpp_port_cfg *cfg,
		    __u32 queue, const char **from)
{
	const struct qdisc *q = cfg->on_ingress ? NULL : port_qdisc(now, queue);
	__u64 rate = q ? qdisc_rate(q) : 0;

	if (from)
		*from = rate ? kind_of(q) : "ethtool";
	if (rate)
		return cfg->mq || !now->queues ? rate : rate * now->queues;
	return cfg->mq ? 0 : now->speed;
}

static bool rate_changed(const struct port_now *now, const struct hpccpp_port_cfg *cfg,
			 __u32 queue, char *text, size_t size)
{
	char is[32], stamped[32];
	const char *from;
	__u64 rate;

	if (cfg->rate_given)
		return false;
	rate = port_rate_now(now, cfg, queue, &from);
	if (!rate || rate == cfg->rate)
		return false;
	rate_text(is, sizeof(is), rate);
	rate_text(stamped, sizeof(stamped), cfg->rate);
	snprintf(text, size, "%s is %s, stamped %s", from, is, stamped);
	return true;
}

/* What differs from what was read at add, of a queue; an empty text if nothing does */
void port_stale(const struct port_now *now, const struct hpccpp_port_cfg *cfg, __u32 queue,
		char *text, size_t size)
{
	*text = '\0';
	if (queue_moved(now, cfg, port_qdisc(now, queue), text, size) ||
	    rate_changed(now, cfg, queue, text, size) || cfg->on_ingress)
		return;
	if (cfg->ingress && !now->ingress)
		snprintf(text, size, "the program on ingress is gone");
	else if (!cfg->ingress && now->ingress)
		snprintf(text, size, "a program on ingress is left of another port");
}

/* Whether an address is of a device. IPv4's name is its label, which may have more behind ':'. */
bool is_of(const struct ifaddrs *a, const char *dev)
{
	size_t len = strcspn(a->ifa_name, ":");

	return !strncmp(a->ifa_name, dev, len) && !dev[len];
}

/* Whether a device has the address */
static bool has_address(const char *dev, int family, const void *address)
{
	struct ifaddrs *all, *a;
	bool found = false;

	if (getifaddrs(&all))
		return true;
	for (a = all; a && !found; a = a->ifa_next) {
		const struct sockaddr_in6 *in6 = (void *)a->ifa_addr;
		const struct sockaddr_in *in = (void *)a->ifa_addr;

		if (!in || in->sin_family != family || !is_of(a, dev))
			continue;
		found = family == AF_INET ? !memcmp(&in->sin_addr, address, 4) :
					    !memcmp(&in6->sin6_addr, address, 16);
	}
	freeifaddrs(all);
	return found;
}

/* Addresses that INT responses come from, which are those of the device */
void port_stale_response(const char *dev, const struct hpccpp_port_response *r, char *text,
			 size_t size)
{
	char name[INET6_ADDRSTRLEN] = "";

	if (*text)
		return;
	if (r->addr4[0] && !has_address(dev, AF_INET, r->addr4))
		inet_ntop(AF_INET, r->addr4, name, sizeof(name));
	else if (r->addr6[0] && !has_address(dev, AF_INET6, r->addr6))
		inet_ntop(AF_INET6, r->addr6, name, sizeof(name));
	if (*name)
		snprintf(text, size, "responses come from %s, which %s has no more", name, dev);
}

/* The address that Fast CNPs come from, unless it was given, and the clock of IOAM */
void port_stale_roce(const struct hpccpp_port_roce *r, char *text, size_t size)
{
	long long clock = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	char name[INET6_ADDRSTRLEN];

	if (*text)
		return;
	if (r->cnp && !r->source_given && !has_address("lo", AF_INET6, r->source)) {
		inet_ntop(AF_INET6, r->source, name, sizeof(name));
		snprintf(text, size, "Fast CNPs come from %s, which lo has no more", name);
	} else if (r->ioam && llabs(clock - (long long)r->clock) > CLOCK_STEP) {
		snprintf(text, size, "the clock was set, traces have the time before");
	}
}

/*
 * Names the programs that packets meet before a port's agent; returns false if there are none.
 * list has all qdiscs.
 */
bool port_in_front(const struct qdisc *list, size_t n, const char *dev, bool on_ingress,
		   char *text, size_t size)
{
	int ifindex = if_nametoindex(dev);
	struct filters f = {};

	if (find_before(ifindex, on_ingress, text, size))
		return true;
	if (on_ingress)
		return false;
	if (uses_clsact() && find_qdisc(list, n, ifindex, TC_H_INGRESS))
		clsact_filters(ifindex, &f);
	if (!f.first || f.ours_first)
		return false;
	snprintf(text, size, "the %s filter of preference %u", f.first_kind, f.first);
	return true;
}
