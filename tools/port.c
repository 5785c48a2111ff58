// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp port: the agent on a device's egress that writes the load of that
 * device into passing packets, or on its ingress, the load of the link that they came by. Its
 * programs stay on the device when the command ends, and by them it is found again.
 */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <arpa/inet.h>
#include <linux/pkt_sched.h>
#include <sys/stat.h>

#include "hpccpp.h"
#include "hpccpp_roce.h"
#include "port.h"

#define DSCP_MAX	63
#define ETHERNET_OVERHEAD 24	/* bytes: preamble 8, FCS 4, gap 12 */
#define RESPOND_MAX	398	/* percent: what U can say */
#define NODE_MAX	0xffffff

static const char usage[] =
"Usage: hpccpp port add [ dev ] DEV [ edge | ingress ]\n"
"                       [ rate RATE ] [ overhead BYTES ] [ id ID ]\n"
"                       [ queue { qdisc | virtual } ] [ base-rtt TIME ]\n"
"                       [ above PERCENT ] [ dscp N ] [ respond PERCENT ]\n"
"                       [ respond-to { sender | receiver } ] [ limit N ]\n"
"                       [ accept PREFIX ]... [ udp-port N ]\n"
"                       [ cnp PERCENT ] [ source ADDRESS ]\n"
"                       [ ecn { never | mark } ] [ capable PREFIX ]...\n"
"                       [ option-type N [ option-type N ] ]\n"
"                       [ ioam NAMESPACE ] [ node N ] [ border ]\n"
"                       [ netns NAME ]\n"
"       hpccpp port { replace | change } ...\n"
"       hpccpp port delete [ dev ] DEV [ ingress ] [ netns NAME ]\n"
"       hpccpp port [ show [ [ dev ] DEV ] [ netns NAME ] ]\n"
"\n"
"add        where there is no port yet; replace: as add, or in place of the one\n"
"           that is there, whose state goes on; change: what is given, and the\n"
"           rest as it was\n"
"DEV        the first word that is no keyword; behind \"dev\" it may be any. \"all\":\n"
"           those with a link of their own, or a port; \"swp*\": those so named\n"
"edge       DEV is a host's, and switches have no agents: senders take delay that\n"
"           no record explains as a queue\n"
"ingress    write the load of the link that packets came by; DEV is a host's, and\n"
"           may have a port on egress, too\n"
"RATE       speed of the port, 10kbit to 4tbit, with bit, kbit, mbit, gbit, tbit\n"
"           (kibit...; bytes: bps, kbps...). Default: that of the root qdisc\n"
"           (netem, tbf, htb; under mq: of one queue), else that of ethtool\n"
"BYTES      on the link with each frame, not in it, 0 to 255. Default: 24 where\n"
"           ethtool says the rate, else 0. With any, a frame counts as 60 or more\n"
"ID         link id, 1 to 2047, of edges 2048 to 4095; with N queues N - 1 less:\n"
"           queues under mq have ID, ID + 1... It must be unique on each path.\n"
"           Default: by a hash of boot, namespace and device, which two ports may\n"
"           share\n"
"queue      how the queue is known: by counters of the root qdisc, or computed\n"
"           from RATE. Default: qdisc when that shapes, else virtual\n"
"TIME       over which the port averages its load U: the base RTT of the fabric,\n"
"           1us to 4s. Default: 1ms\n"
"above      leave records empty while U is less, 1 to 100 %. Default: write all\n"
"dscp       write only into segments with this codepoint, 0 to 63\n"
"\n"
"INT responses, sent back at once for segments that the port forwards:\n"
"respond    ... from this U on, 1 to 398 %. Default: none\n"
"respond-to ... to the sender of the segment (default), or to its receiver\n"
"limit      ... at most N a second, 1 to 1000000. Default: 10000\n"
"udp-port   ... to this port, 1 to 65535. Default: 18512\n"
"accept     take those that come from such addresses, ADDRESS[/LEN], up to 64\n"
"\n"
"Fast CNP and IOAM, for RoCEv2 over IPv6:\n"
"cnp        answer data from this U on, 1 to 398 %. Default: none\n"
"source     ... from this address. Default: the first global one of lo\n"
"ecn        ... and mark what is answered, or never (default)\n"
"capable    ... but not of these senders, ADDRESS[/LEN], up to 64\n"
"option-type of a Fast CNP without trace, then of one with a trace, 128 to 159.\n"
"           Default: 0x9e 0x9d\n"
"ioam       write into traces of this namespace, 0 to 65535\n"
"node       ... as this node, 0 to 16777215. Default: net.ipv6.ioam6_id\n"
"border     drop Fast CNPs and IOAM that come or are to leave by DEV\n"
"\n"
"show: U (1 is full, queue included) and qlen are those of the last packet that\n"
"was stamped, age ago, or 0 if that was long ago; backlog and drops are those of\n"
"the qdisc now; stale says what of the device is another than at add. -s adds\n"
"counters, those that are not 0. See hpccpp-port(8).\n";

const char *const port_queues[] = { "qdisc", "virtual" };
const char *const port_ends[] = { "sender", "receiver" };
const char *const port_marks[] = { "never", "mark" };

/* Root qdiscs that keep a backlog, and how. The rate of the first four is read. */
static const struct {
	const char *kind;
	enum hpccpp_root root;
} kinds[] = {
	{ "netem", HPCCPP_ROOT_HEAD },
	{ "tbf", HPCCPP_ROOT_FLAT },
	{ "htb", HPCCPP_ROOT_FLAT },
	{ "cake", HPCCPP_ROOT_FLAT },
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

#define KINDS	"netem, tbf, htb, cake, fq, fq_codel, codel, pfifo, bfifo, red, sfq, prio, drr, or one of these under mq"

/*
 * The children of an mq stand for each other: they must be alike, unless
 * nothing is taken from them.
 */
static int read_children(struct port_plan *p, const struct qdisc *list, size_t n,
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

static int read_root(struct port_plan *p, const struct qdisc *list, size_t n,
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

/* first..last, the same each time for one hook of a device as long as the host is up. */
static __u16 default_id(const struct port_plan *p, unsigned int first, unsigned int last)
{
	__u32 h = HASH_BASIS;
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
	h = hash(h, &p->cfg.on_ingress, sizeof(p->cfg.on_ingress));
	return first + h % (last + 1 - first);
}

/* A qdisc that shapes is seen, else a queue of the rate is computed. */
static enum hpccpp_queue default_queue(const struct port_plan *p)
{
	return p->qdisc.rate || !strcmp(p->qdisc.kind, "htb") ? HPCCPP_QUEUE_QDISC :
								HPCCPP_QUEUE_VIRTUAL;
}

/*
 * The source of what waits. A virtual queue is the port's, as its queues share one
 * wire; qdiscs are seen one by one.
 */
static int choose_queue(struct port_plan *p, enum hpccpp_queue which)
{
	struct hpccpp_port_cfg *cfg = &p->cfg;
	size_t i = 0;

	cfg->queue = which;
	cfg->queues = 1;
	cfg->root = HPCCPP_ROOT_FLAT;
	if (which == HPCCPP_QUEUE_VIRTUAL)
		return EXIT_DONE;
	while (i < ARRAY_SIZE(kinds) && strcmp(kinds[i].kind, p->qdisc.kind))
		i++;
	if (i == ARRAY_SIZE(kinds))
		return system_error("queue \"qdisc\" is wrong: the qdisc of %s is %s, allowed are "
				    KINDS, p->dev, p->qdisc.kind);
	cfg->root = kinds[i].root;
	cfg->mq = p->mq;
	cfg->queues = p->queues;
	return EXIT_DONE;
}

/* The rate, of one queue, and its overhead, unless given: the qdisc's, or the link's by ethtool */
static int choose_rate(struct port_plan *p, bool overhead_given)
{
	struct hpccpp_port_cfg *cfg = &p->cfg;

	if (!cfg->rate) {
		cfg->rate = p->qdisc.rate * (p->queues / cfg->queues);
		if (!overhead_given)
			cfg->overhead = p->qdisc.overhead;
	}
	if (!cfg->rate && !cfg->mq) {
		cfg->rate = ethtool_rate(p->dev);
		if (!overhead_given)
			cfg->overhead = ETHERNET_OVERHEAD;
	}
	if (!cfg->rate)
		return system_error("no rate known for %s: give one%s with rate RATE",
				    p->dev, cfg->mq ? ", of one queue," : "");
	if (cfg->rate < HPCCPP_RATE_MIN || cfg->rate > HPCCPP_RATE_MAX)
		return system_error("the rate of %s is %llu bit/s: allowed are 10kbit to 4tbit, give one with rate RATE",
				    p->dev, cfg->rate);
	cfg->rate_code = hpccpp_rate_encode(cfg->rate);
	p->roce.speed = hpccpp_ioam_speed_code(cfg->rate);
	return EXIT_DONE;
}

/* Where responses come from: the first addresses of the device */
static int own_addresses(struct port_plan *p)
{
	struct hpccpp_port_response *r = &p->response;
	struct ifaddrs *all, *a;

	if (getifaddrs(&all))
		return errno_error(errno, "cannot list addresses");
	for (a = all; a; a = a->ifa_next) {
		const struct sockaddr_in6 *in6 = (void *)a->ifa_addr;
		const struct sockaddr_in *in = (void *)a->ifa_addr;

		if (!in || !is_of(a, p->dev))
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

/* True if a Fast CNP may have this source address. */
static bool is_source(const struct in6_addr *a)
{
	return !IN6_IS_ADDR_LINKLOCAL(a) && !IN6_IS_ADDR_LOOPBACK(a) &&
	       !IN6_IS_ADDR_MULTICAST(a) && !IN6_IS_ADDR_UNSPECIFIED(a) &&
	       !IN6_IS_ADDR_V4MAPPED(a);
}

static int arg_source(const struct argument *arg, const char *text)
{
	if (inet_pton(AF_INET6, text, arg->to) != 1 || !is_source(arg->to))
		return usage_error("%s \"%s\" is wrong: allowed are IPv6 addresses that others can reach",
				   arg->name, text);
	return EXIT_DONE;
}

/* Where Fast CNPs come from if nothing is said: the switch's loopback address */
static int find_source(struct hpccpp_port_roce *r)
{
	struct ifaddrs *all, *a;
	bool found = false;

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

/* The id of the kernel's own IOAM node; all ones where there is none. */
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

/* The words of `port add` and `port replace`, and numbers that they come with */
enum word {
	DEV, RATE, OVERHEAD, ID, QUEUE, BASE_RTT, ABOVE, DSCP, RESPOND, RESPOND_TO, LIMIT,
	ACCEPT, UDP_PORT, CNP, SOURCE, ECN, CAPABLE, OPTION_TYPE, IOAM, NODE, BORDER,
	NETNS, EDGE, INGRESS, WORDS
};

struct numbers {
	unsigned int overhead, id, queue, above, dscp, respond, respond_to, limit, udp_port;
	unsigned int cnp, ecn, type[2], ioam, node;
};

/* Refuses words that are of no use without one of two others. */
static int check_words(const struct argument *args, const struct numbers *v)
{
	static const struct {
		enum word word, of[2];
	} needs[] = {
		{ SOURCE, { CNP, CNP } },
		{ ECN, { CNP, CNP } },
		{ OPTION_TYPE, { CNP, BORDER } },
		{ NODE, { IOAM, IOAM } },
		{ RESPOND_TO, { RESPOND, RESPOND } },
		{ LIMIT, { RESPOND, CNP } },
		{ UDP_PORT, { RESPOND, ACCEPT } },
	};
	size_t i;

	static const enum word egress[] = { QUEUE, RESPOND, ACCEPT, CNP, IOAM, BORDER };

	if (!args[DEV].n)
		return usage_error("\"dev\" is missing, try \"hpccpp port help\"");
	for (i = 0; i < ARRAY_SIZE(egress); i++) {
		if (args[INGRESS].n && args[egress[i]].n)
			return usage_error("\"%s\" is wrong with \"ingress\"",
					   args[egress[i]].name);
	}
	for (i = 0; i < ARRAY_SIZE(needs); i++) {
		const enum word *of = needs[i].of;

		if (!args[needs[i].word].n || args[of[0]].n || args[of[1]].n)
			continue;
		return of[0] == of[1] ?
		       usage_error("\"%s\" is wrong without \"%s\"",
				   args[needs[i].word].name, args[of[0]].name) :
		       usage_error("\"%s\" is wrong without \"%s\" or \"%s\"",
				   args[needs[i].word].name, args[of[0]].name,
				   args[of[1]].name);
	}
	if (args[CAPABLE].n && !v->ecn)
		return usage_error("\"capable\" is wrong without \"ecn mark\"");
	return check_option_types(v->type);
}

static int plan_roce(struct port_plan *p, const struct argument *args,
		     const struct numbers *v)
{
	struct hpccpp_port_roce *r = &p->roce;

	r->cnp_percent = v->cnp;
	r->cnp = load_of_percent(v->cnp);
	r->type1 = v->type[0];
	r->type2 = v->type[1];
	r->ecn = v->ecn;
	r->capables = args[CAPABLE].n;
	r->border = args[BORDER].n;
	r->ioam = args[IOAM].n;
	r->ns = htons(v->ioam);
	r->source_given = args[SOURCE].n;
	p->has_roce = r->cnp || r->ioam || r->border;
	if (r->cnp || r->border)
		p->cfg.ingress = true;
	if (r->ioam) {
		r->node = args[NODE].n ? v->node : kernel_node();
		r->clock = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	}
	return r->cnp && !args[SOURCE].n ? find_source(r) : EXIT_DONE;
}

static int plan_responses(struct port_plan *p, const struct argument *args,
			  const struct numbers *v)
{
	struct hpccpp_port_response *r = &p->response;
	struct hpccpp_port_cfg *cfg = &p->cfg;
	int ret;

	cfg->respond_percent = v->respond;
	cfg->respond = load_of_percent(v->respond);
	r->port = v->udp_port;
	r->to = v->respond_to;
	r->accepts = args[ACCEPT].n;
	if (cfg->respond || r->accepts)
		cfg->ingress = true;
	if (!cfg->respond && !p->roce.cnp)
		return EXIT_DONE;
	r->limit = v->limit;
	r->interval = 1000000000 / v->limit;
	ret = draw_mark(&r->mark);
	if (ret)
		return ret;
	cfg->mark = r->mark;
	return cfg->respond ? own_addresses(p) : EXIT_DONE;
}

/* The part of the plan that does not depend on the device's qdiscs. */
static int plan_words(struct port_plan *p, const struct argument *args,
		      const struct numbers *v)
{
	struct hpccpp_port_cfg *cfg = &p->cfg;
	int ret;

	cfg->rate_given = args[RATE].n;
	cfg->overhead = v->overhead;
	cfg->above_percent = v->above;
	cfg->above = load_of_percent(v->above);
	cfg->subscribed = args[DSCP].n;
	cfg->dscp = v->dscp;
	ret = plan_roce(p, args, v);
	return ret ? ret : plan_responses(p, args, v);
}

/* Our program on a hook of a device, an fd or -1 */
int find_port(int ifindex, bool on_ingress, int *prog)
{
	return on_ingress ? find_program(DEV_EDGE, ifindex, BPF_TC_INGRESS, prog) :
			    find_program(DEV_PORT, ifindex, BPF_TC_EGRESS, prog);
}

/* Whether ingress has a program of ours: of the port on egress, or left of one */
int find_ingress(int ifindex, bool *found)
{
	int prog, ret;

	ret = find_program(DEV_PORT, ifindex, BPF_TC_INGRESS, &prog);
	*found = prog >= 0;
	if (*found)
		close(prog);
	return ret;
}

/* Whether filters of others leave a port its place on a clsact */
static int check_filters(const struct port_plan *p, const struct qdisc *list, size_t n, bool in)
{
	const struct qdisc *clsact = find_qdisc(list, n, p->ifindex, TC_H_INGRESS);
	bool out = p->cfg.on_ingress || p->old >= 0;
	struct filters f;
	int ret;

	if (!clsact || !uses_clsact())
		return EXIT_DONE;
	if (strcmp(clsact->kind, "clsact"))
		return system_error("%s has a qdisc %s, which excludes the clsact that a port needs: replace it by a clsact, which takes the same filters",
				    p->dev, clsact->kind);
	ret = clsact_filters(p->ifindex, &f);
	if (!ret && ((f.taken && !out) || (p->cfg.ingress && f.taken_in && !in)))
		ret = system_error("%s has another's %s filter at preference %u, where a port's goes",
				   p->dev, f.taken && !out ? "egress" : "ingress",
				   HPCCPP_TC_PRIO);
	return ret;
}

/* Whether a port can be attached: the place is free, or has a port that gives way. */
static int check_place(struct port_plan *p, const struct qdisc *list, size_t n)
{
	bool in = false;
	int ret;

	ret = find_port(p->ifindex, p->cfg.on_ingress, &p->old);
	if (!ret && !p->cfg.on_ingress)
		ret = find_ingress(p->ifindex, &in);
	if (ret)
		return ret;
	if (!p->replace && (p->old >= 0 || in))
		return system_error("a port exists already on %s%s",
				    p->cfg.on_ingress ? "ingress of " : "", p->dev);
	return check_filters(p, list, n, in);
}

/* Queue q has link id cfg.link + q: all must fit, and 0 is none's. Edges have ids of their own. */
static int plan_ids(struct port_plan *p, const struct argument *args, unsigned int id)
{
	bool given = args[ID].n, edge = args[EDGE].n || args[INGRESS].n;
	struct hpccpp_port_cfg *cfg = &p->cfg;
	struct hpccpp_port was;
	unsigned int first = edge ? HPCCPP_LINK_EDGE : 1;
	unsigned int end = edge ? HPCCPP_LINK_MAX + 1 : HPCCPP_LINK_EDGE;
	unsigned int last = end - cfg->queues;

	if (cfg->queues > end - first)
		return system_error("%s has %u queues, too many for ids: allowed are up to %u",
				    p->dev, cfg->queues, end - first);
	if (given && (id < first || id > last))
		return usage_error("id \"%u\" is wrong: with %u queue%s and %s \"edge\" or \"ingress\" allowed are %u to %u",
				   id, cfg->queues, cfg->queues > 1 ? "s" : "",
				   edge ? "with" : "without", first, last);
	/* the port that is there keeps its id, whatever its device is called now */
	if (given)
		cfg->link = id;
	else if (port_read_old(p, &was) && was.cfg.queues == cfg->queues &&
		 was.cfg.link >= first && was.cfg.link <= last)
		cfg->link = was.cfg.link;
	else
		cfg->link = default_id(p, first, last);
	return EXIT_DONE;
}

/*
 * The part that does: where the queue is read and the rate, unless they were given,
 * and the link ids.
 */
static int plan_device(struct port_plan *p, const struct argument *args,
		       const struct numbers *v)
{
	struct hpccpp_port_cfg *cfg = &p->cfg;
	bool wants_qdisc = !args[QUEUE].n || v->queue == HPCCPP_QUEUE_QDISC;
	struct qdisc *list;
	struct device d;
	size_t n;
	int ret;

	ret = port_check_device(p, &d);
	if (!ret)
		ret = qdisc_list(&list, &n);
	if (ret)
		return ret;
	ret = check_place(p, list, n);
	if (!ret)
		ret = read_root(p, cfg->on_ingress ? NULL : list, cfg->on_ingress ? 0 : n,
				!args[RATE].n, wants_qdisc);
	free(list);
	if (!ret)
		ret = choose_queue(p, args[QUEUE].n ? v->queue : default_queue(p));
	if (!ret)
		ret = choose_rate(p, args[OVERHEAD].n);
	if (ret)
		return ret;
	port_note_device(p, &d);
	if (cfg->queue == HPCCPP_QUEUE_QDISC && p->qdisc.delay)
		fprintf(stderr, "Warning: netem on %s has a delay: packets on the wire count as waiting. Put it on another device.\n",
			p->dev);
	return plan_ids(p, args, v->id);
}

/*
 * What the port was told stands for what is not given. Where another program has removed the
 * agent on egress, its program on ingress has the words.
 */
static int read_back(const struct port_plan *p, struct argument *args, struct words *w)
{
	int prog, ret;

	ret = find_port(p->ifindex, p->cfg.on_ingress, &prog);
	if (!ret && prog < 0 && !p->cfg.on_ingress)
		ret = find_program(DEV_PORT, p->ifindex, BPF_TC_INGRESS, &prog);
	if (!ret && prog < 0)
		ret = system_error("there is no port on %s%s",
				   p->cfg.on_ingress ? "ingress of " : "", p->dev);
	if (!ret)
		ret = parse_kept(prog, args, WORDS, w);
	if (prog >= 0)
		close(prog);
	return ret;
}

static int put_one(enum put how, struct port_plan *p, struct argument *args, struct numbers *v)
{
	struct words kept;
	int ret = lock_agents() ?: find_dev(p->dev, NULL, &p->ifindex);

	if (!ret && if_indextoname(p->ifindex, p->name))
		p->dev = p->name;
	if (!ret && how == PUT_CHANGE)
		ret = read_back(p, args, &kept) ?: check_words(args, v);
	if (!ret)
		ret = plan_words(p, args, v);
	if (!ret)
		ret = plan_device(p, args, v);
	if (!ret && !opt.dry_run)
		ret = port_load(p);
	if (p->old >= 0)
		close(p->old);
	return ret;
}

static int carry_out(enum put how, struct port_plan *p, struct argument *args,
		     struct numbers *v, const char *netns)
{
	static const char *const commands[] = { "add", "replace", "change" };
	int ret = EXIT_DONE;

	if (how != PUT_CHANGE || !p->dev)
		ret = check_words(args, v);
	if (!ret)
		ret = find_dev(NULL, netns, NULL);
	if (ret || !names_devs(p->dev))
		return ret ?: put_one(how, p, args, v);
	if (args[ID].n)
		return usage_error("id \"%u\" is wrong with dev \"%s\": allowed is the name of one device",
				   v->id, p->dev);
	/* in a file each has a line, which is checked for itself */
	return opt.dry_run ? EXIT_DONE :
			     port_each(commands[how], how != PUT_CHANGE, p->cfg.on_ingress, p->dev);
}

static int put_port(enum put how, int argc, char **argv)
{
	struct numbers v = {
		.limit = HPCCPP_LIMIT, .udp_port = HPCCPP_RESPONSE_PORT,
		.type = { HPCCPP_FCNP_TYPE1, HPCCPP_FCNP_TYPE2 },
	};
	struct port_plan p = { .cfg = { .base_rtt = PORT_BASE_RTT }, .replace = how != PUT_ADD,
			       .old = -1 };
	const char *netns = NULL;
	struct argument args[WORDS] = {
		[DEV] = { ARG("dev", arg_text, &p.dev), .bare = true, .place = true },
		[RATE] = { ARG("rate", arg_rate, &p.cfg.rate) },
		[OVERHEAD] = { ARG("overhead", arg_uint, &v.overhead), .high = 255 },
		[ID] = { ARG("id", arg_uint, &v.id), .low = 1, .high = HPCCPP_LINK_MAX },
		[QUEUE] = { ARG("queue", arg_word, &v.queue), .words = port_queues,
			    .high = ARRAY_SIZE(port_queues) },
		[BASE_RTT] = { ARG("base-rtt", arg_time, &p.cfg.base_rtt) },
		[ABOVE] = { ARG("above", arg_uint, &v.above), .low = 1, .high = 100 },
		[DSCP] = { ARG("dscp", arg_uint, &v.dscp), .high = DSCP_MAX },
		[RESPOND] = { ARG("respond", arg_uint, &v.respond), .low = 1,
			      .high = RESPOND_MAX },
		[RESPOND_TO] = { ARG("respond-to", arg_word, &v.respond_to),
				 .words = port_ends, .high = ARRAY_SIZE(port_ends) },
		[LIMIT] = { ARG("limit", arg_uint, &v.limit), .low = 1,
			    .high = HPCCPP_LIMIT_MAX },
		[ACCEPT] = { ARG("accept", arg_prefix, p.accept), .max = HPCCPP_PREFIXES },
		[UDP_PORT] = { ARG("udp-port", arg_uint, &v.udp_port), .low = 1,
			       .high = 65535 },
		[CNP] = { ARG("cnp", arg_uint, &v.cnp), .low = 1, .high = RESPOND_MAX },
		[SOURCE] = { ARG("source", arg_source, p.roce.source) },
		[ECN] = { ARG("ecn", arg_word, &v.ecn), .words = port_marks,
			  .high = ARRAY_SIZE(port_marks) },
		[CAPABLE] = { ARG("capable", arg_prefix6, p.capable), .max = HPCCPP_PREFIXES },
		[OPTION_TYPE] = { ARG("option-type", arg_uint, v.type), .low = 0x80,
				  .high = 0x9f, .max = ARRAY_SIZE(v.type) },
		[IOAM] = { ARG("ioam", arg_uint, &v.ioam), .high = 65535 },
		[NODE] = { ARG("node", arg_uint, &v.node), .high = NODE_MAX },
		[BORDER] = { .name = "border" },
		[NETNS] = { ARG("netns", arg_text, &netns), .place = true },
		[EDGE] = { .name = "edge" },
		[INGRESS] = { .name = "ingress" },
	};
	int ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	p.cfg.on_ingress = args[INGRESS].n;
	return ret ? ret : carry_out(how, &p, args, &v, netns);
}

static int port_add(int argc, char **argv)
{
	return put_port(PUT_ADD, argc, argv);
}

static int port_replace(int argc, char **argv)
{
	return put_port(PUT_REPLACE, argc, argv);
}

static int port_change(int argc, char **argv)
{
	return put_port(PUT_CHANGE, argc, argv);
}

/*
 * Removes our programs from either hook, whatever their maps are like: an agent of
 * another build, or the half that such a command left of one.
 */
static int port_delete(int argc, char **argv)
{
	const char *dev = NULL, *netns = NULL;
	struct argument args[] = {
		{ ARG("dev", arg_text, &dev), .bare = true, .place = true },
		{ ARG("netns", arg_text, &netns), .place = true },
		{ .name = "ingress" },
	};
	int ifindex, prog, ret;
	bool in = false;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && !dev)
		ret = usage_error("\"dev\" is missing, try \"hpccpp port help\"");
	if (!ret)
		ret = netns_enter(netns);
	if (!ret && names_devs(dev))
		return port_each("delete", false, args[2].n, dev);
	if (!ret)
		ret = lock_agents() ?: find_dev(dev, NULL, &ifindex) ?:
		      find_port(ifindex, args[2].n, &prog);
	if (ret)
		return ret;
	if (!args[2].n)
		ret = find_ingress(ifindex, &in);
	if (prog >= 0)
		close(prog);
	if (!ret && prog < 0 && !in)
		ret = system_error("there is no port on %s%s", args[2].n ? "ingress of " : "", dev);
	return ret ? ret : detach_programs(args[2].n ? DEV_EDGE : DEV_PORT, dev, ifindex);
}

static int port_show(int argc, char **argv)
{
	return show_devs(port_fields, port_rows_like, argc, argv);
}

int port_main(int argc, char **argv)
{
	static const struct command cmds[] = {
		{ "add", port_add },
		{ "replace", port_replace },
		{ "change", port_change },
		{ "delete", port_delete },
		{ "show", port_show },
		{ "list", port_show },
		{ "help", NULL },
	};

	return run_command(cmds, ARRAY_SIZE(cmds), "port", usage, argc, argv);
}

/* As port_main(), of the port on ingress */
int ingress_main(int argc, char **argv)
{
	char **more = calloc(argc + 2, sizeof(*more));
	int ret;

	if (!more)
		return system_error("no memory for %d words", argc + 1);
	memcpy(more, argv, argc * sizeof(*more));
	more[argc] = (char *)"ingress";
	ret = port_main(argc + 1, more);
	free(more);
	return ret;
}
