// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp cnp: the agent on the device of a RoCEv2 host. It takes Fast CNPs and slows down
 * the flows that they name, and sends CNPs about flows that arrive. Its two programs
 * stay on the device when the command ends, which finds an agent by the one on egress.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/pkt_sched.h>

#include "hpccpp.h"
#include "hpccpp_cnp.h"
#include "cnp.skel.h"

#define ETA		95	/* percent, the draft's */
#define FLOWS		64
#define FLOWS_MAX	1000000
#define THRESHOLD	80	/* percent */
#define PACKET		1500	/* bytes */

static const char usage[] =
"Usage: hpccpp cnp add [ dev ] DEV accept PREFIX [ accept PREFIX ]...\n"
"                      [ rate RATE ] [ base-rtt TIME ]\n"
"                      [ algorithm { auto | dcqcn } ] [ threshold PERCENT ]\n"
"                      [ flows N ] [ trace HOPS to PREFIX [ to PREFIX ]... ]\n"
"                      [ ioam-namespace N ]...\n"
"                      [ answer { cnp | fast-cnp } ] [ limit N ]\n"
"                      [ detour PREFIX ]...\n"
"                      [ option-type N [ option-type N ] ] [ netns NAME ]\n"
"       hpccpp cnp { replace | change } ...\n"
"       hpccpp cnp delete [ dev ] DEV [ netns NAME ]\n"
"       hpccpp cnp [ show [ [ dev ] DEV ] [ netns NAME ] ]\n"
"\n"
"add        where there is no agent yet; replace: as add, or in place of the one\n"
"           that is there, whose flows go on; change: what is given, and the rest\n"
"           as it was\n"
"DEV        the first word that is no keyword; behind \"dev\" it may be any. Its\n"
"           root qdisc, or each below it in which packets wait, has to be fq\n"
"accept     take Fast CNPs from such IPv6 addresses, ADDRESS[/LEN], up to 64, and\n"
"           drop others\n"
"RATE       of the line, at which flows start, 10kbit to 4tbit. Default: that of\n"
"           ethtool\n"
"TIME       base RTT of the network, 1us to 4s. Default: 50us\n"
"algorithm  auto (default): HPCC++ for a Fast CNP with a trace, DCQCN for others;\n"
"           or DCQCN for all\n"
"threshold  load from which ports send Fast CNPs, 1 to 100 %. Default: 80\n"
"flows      N of HPCC++: flows expected on a link, 1 to 1000000. Default: 64\n"
"trace      add IOAM traces with room for so many ports, 1 to 8, to data that\n"
"           leaves, and take them off what comes: give it at both ends\n"
"to         ... to data for these peers, ADDRESS[/LEN] of IPv6, up to 64\n"
"ioam-namespace of traces that are heeded, 0 to 65535, up to 4; the first is that\n"
"           of trace. Default: all are heeded, and trace has 0\n"
"answer     answer data that comes with a congestion mark: with CNPs as NICs send\n"
"           them, or with Fast CNPs of a receiver. Default: neither\n"
"limit      ... at most N a second, 1 to 1000000. Default: 10000\n"
"detour     a flow that a Fast CNP from such an address slows down gets another\n"
"           UDP source port, at most once in 8 base-rtt: ADDRESS[/LEN], up to 64\n"
"option-type of a Fast CNP without trace, then of one with a trace, 128 to 159.\n"
"           Default: 0x9e 0x9d\n"
"\n"
"show: a line for each device, below it one for each flow. -s adds counters,\n"
"those that are not 0. See hpccpp-cnp(8).\n";

const struct field cnp_flow_fields[] = {
	{ "dst", FORM_TEXT, "", NULL, NULL, NULL },
	{ "dqpn", FORM_NUM, "dqpn", NULL, NULL, NULL },
	{ "sport", FORM_NUM, "sport", NULL, NULL, NULL },
	{ "lqpn", FORM_NUM, "lqpn", NULL, NULL, NULL },
	{ "rdma", FORM_TEXT, "rdma", NULL, NULL, NULL },
	{ "pid", FORM_NUM, "pid", NULL, NULL, NULL },
	{ "comm", FORM_TEXT, "comm", NULL, NULL, NULL },
	{ "rate", FORM_RATE, "rate", NULL, NULL, NULL },
	{ "algorithm", FORM_TEXT, "", NULL, NULL, NULL },
	{ "U", FORM_RATIO, "U", NULL, NULL, NULL },
	{ "alpha", FORM_RATIO, "alpha", NULL, NULL, NULL },
	{ "cause", FORM_TEXT, "cause", NULL, NULL, NULL },
	{ "switch", FORM_TEXT, "switch", NULL, NULL, NULL },
	{ "cnp_age", FORM_AGE, "age", NULL, NULL, NULL },
	{ "cnps", FORM_NUM, "cnps", NULL, NULL, NULL },
	{ "detours", FORM_NUM, "detours", NULL, NULL, NULL },
	{ "packets", FORM_NUM, "packets", NULL, NULL, NULL },
	{ "bytes", FORM_NUM, "bytes", NULL, NULL, NULL },
	{ }
};

const struct field cnp_fields[] = {
	{ "dev", FORM_TEXT, "", "DEV", "", NULL },
	{ "version", FORM_VERSION, "version", NULL, NULL, NULL },
	{ "error", FORM_TEXT, "error", NULL, NULL, NULL },
	{ "rate", FORM_RATE, "rate", "RATE",
	  "hpccpp_cnp_line_rate_bytes_per_second", "Rate of flows that are not held back." },
	{ "rate_given", FORM_FLAG, "given", NULL, NULL, NULL },
	{ "base_rtt", FORM_TIME, "base-rtt", NULL, NULL, NULL },
	{ "algorithm", FORM_TEXT, "algorithm", "ALGORITHM", NULL, NULL },
	{ "threshold", FORM_NUM, "threshold", NULL, NULL, NULL },
	{ "flows", FORM_NUM, "flows", NULL, NULL, NULL },
	{ "accept", FORM_LIST, "accept", NULL, NULL, NULL },
	{ "trace", FORM_NUM, "trace", NULL, NULL, NULL },
	{ "to", FORM_LIST, "to", NULL, NULL, NULL },
	{ "answer", FORM_TEXT, "answer", NULL, NULL, NULL },
	{ "limit", FORM_NUM, "limit", NULL, NULL, NULL },
	{ "detour", FORM_LIST, "detour", NULL, NULL, NULL },
	{ "ioam_namespace", FORM_LIST, "ioam-namespace", NULL, NULL, NULL },
	{ "option_type", FORM_LIST, "option-type", NULL, NULL, NULL },
	{ "queue_pairs", FORM_CNP_FLOWS, "", NULL, NULL, NULL },
	{ "known", FORM_NUM, NULL, "FLOWS", NULL, NULL },
	{ "held", FORM_NUM, NULL, "HELD", NULL, NULL },
	{ "cnp_rate", FORM_NUM, NULL, "CNPS/S", NULL, NULL },
	{ "stats", FORM_COUNTS, "", NULL, "hpccpp_cnp_packets_total",
	  "Packets of RoCEv2 by what the agent did with them." },
	{ .word = "no agent for Fast CNPs" }
};

static const char *const algorithms[] = { "auto", "dcqcn" };
static const char *const answers[] = { "cnp", "fast-cnp" };	/* from 1 on */
static const char *const causes[] = { "none", "switch", "receiver", "ordinary" };

/* An agent that is to be set up */
struct plan {
	struct hpccpp_cnp_cfg cfg;
	struct hpccpp_prefix accept[HPCCPP_PREFIXES];
	struct hpccpp_prefix detour[HPCCPP_PREFIXES];
	struct hpccpp_prefix trace_to[HPCCPP_PREFIXES];
	const char *dev;
	int ifindex;
	bool replace;		/* an agent that is there gives way to it, */
	int old;		/* ... with this program on egress, an fd; -1: none */
};

/*
 * True if no qdisc in the list is below this one, so that packets wait in it. The handle 0
 * is none. A default mq has it, and the qdiscs of its queues: packets wait in these only.
 */
static bool is_leaf(const struct qdisc *list, size_t n, const struct qdisc *q)
{
	size_t i;

	if (!strcmp(q->kind, "mq") || !strcmp(q->kind, "mqprio"))
		return false;
	for (i = 0; i < n; i++) {
		if (q->handle && list[i].ifindex == q->ifindex &&
		    list[i].parent != TC_H_ROOT && list[i].parent != TC_H_INGRESS &&
		    TC_H_MAJ(list[i].parent) == TC_H_MAJ(q->handle))
			return false;
	}
	return true;
}

/* Only fq keeps to departure times, so each queue of the device has to be one. */
static int check_qdiscs(const struct plan *p)
{
	const char *other = NULL;
	struct qdisc *list;
	bool fq = false;
	size_t n, i;
	int ret;

	ret = qdisc_list(&list, &n);
	if (ret)
		return ret;
	for (i = 0; i < n; i++) {
		if (list[i].ifindex != p->ifindex)
			continue;
		if (list[i].parent == TC_H_INGRESS) {
			if (!uses_clsact() || !strcmp(list[i].kind, "clsact"))
				continue;
			ret = system_error("%s has a qdisc %s, which excludes the clsact that the agent needs",
					   p->dev, list[i].kind);
			break;
		}
		if (!strcmp(list[i].kind, "fq"))
			fq = true;
		else if (is_leaf(list, n, &list[i]))
			other = list[i].kind;
	}
	if (!ret && (other || !fq))
		ret = system_error("the qdisc of %s is %s: rates take fq, \"tc qdisc replace dev %s root fq\"",
				   p->dev, other ?: "noqueue", p->dev);
	free(list);
	return ret;
}

/* On which hooks of a device a program of ours is: one may be left of an agent. */
static int find_both(int ifindex, bool *in, bool *out)
{
	int prog, ret;

	*in = false;
	*out = false;
	ret = find_program(DEV_CNP, ifindex, BPF_TC_EGRESS, &prog);
	if (prog >= 0) {
		*out = true;
		close(prog);
	}
	if (ret)
		return ret;
	ret = find_program(DEV_CNP, ifindex, BPF_TC_INGRESS, &prog);
	if (prog >= 0) {
		*in = true;
		close(prog);
	}
	return ret;
}

static int attach(struct cnp_bpf *skel, const struct plan *p)
{
	return attach_programs(DEV_CNP, p->dev, p->ifindex, p->replace,
			       bpf_program__fd(skel->progs.hpccpp_cnp_in),
			       bpf_program__fd(skel->progs.hpccpp_cnp_out));
}

/*
 * What goes on where an agent is replaced. Rates are of a line, of T and of what sets them:
 * with others than before, flows begin anew. Copies that are on their way to become
 * answers are known by their mark.
 */
static void keep_state(struct cnp_bpf *skel, struct plan *p)
{
	struct bpf_map *const maps[] = {
		skel->maps.cnp_stats, skel->maps.cnp_qps, skel->maps.cnp_heard,
		skel->maps.cnp_senders, skel->maps.cnp_asked, skel->maps.cnp_answers,
		skel->maps.cnp_wire, skel->maps.cnp_walks,
	};
	int map = prog_map(p->old, "cnp", sizeof(struct hpccpp_cnp_cfg));
	struct hpccpp_cnp_cfg was;
	__u32 zero = 0;
	size_t i;

	if (map < 0)
		return;
	for (i = 0; i < ARRAY_SIZE(maps); i++)
		prog_keep_map(p->old, maps[i]);
	if (!bpf_map_lookup_elem(map, &zero, &was)) {
		if (was.dcqcn.line == p->cfg.dcqcn.line && was.hpcc.T == p->cfg.hpcc.T &&
		    was.algorithm == p->cfg.algorithm)
			prog_keep_map(p->old, skel->maps.cnp_flows);
		if (was.mark && p->cfg.mark)
			p->cfg.mark = was.mark;
	}
	close(map);
}

static int load(struct plan *p)
{
	/* for a kernel that does not bring its own types (BTF) */
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, opts,
			    .btf_custom_path = getenv("HPCCPP_BTF"));
	struct cnp_bpf *skel = cnp_bpf__open_opts(&opts);
	__u32 zero = 0;
	int ret, prog;

	if (!skel)
		return load_error(errno, "cnp");
	/* only answers use these two maps */
	ret = p->cfg.answer ? 0 : bpf_map__set_max_entries(skel->maps.cnp_heard, 1);
	if (!ret && !p->cfg.answer)
		ret = bpf_map__set_max_entries(skel->maps.cnp_senders, 1);
	if (!ret && p->old >= 0)
		keep_state(skel, p);
	if (!ret)
		ret = cnp_bpf__load(skel);
	/* `cnp show` finds only the maps of the program on egress */
	prog = bpf_program__fd(skel->progs.hpccpp_cnp_out);
	if (!ret)
		ret = bind_words(prog);
	if (!ret)
		ret = bpf_prog_bind_map(prog, bpf_map__fd(skel->maps.cnp_accept), NULL);
	if (!ret)
		ret = bpf_prog_bind_map(prog, bpf_map__fd(skel->maps.cnp_detour), NULL);
	if (!ret)
		ret = bpf_prog_bind_map(prog, bpf_map__fd(skel->maps.cnp_trace_to), NULL);
	if (!ret)
		ret = bpf_map__update_elem(skel->maps.cnp, &zero, sizeof(zero), &p->cfg,
					   sizeof(p->cfg), BPF_ANY);
	if (!ret)
		ret = write_prefixes(skel->maps.cnp_accept, p->accept, p->cfg.accepts);
	if (!ret)
		ret = write_prefixes(skel->maps.cnp_detour, p->detour, p->cfg.detours);
	if (!ret)
		ret = write_prefixes(skel->maps.cnp_trace_to, p->trace_to, p->cfg.trace_to);
	ret = ret ? load_error(ret, "cnp") : attach(skel, p);
	cnp_bpf__destroy(skel);
	return ret;
}

/* A window of at least so many bytes, and no more than the algorithm takes */
static __u32 clamp_W(__u64 W, __u32 least)
{
	if (W > HPCCPP_W_LIMIT)
		W = HPCCPP_W_LIMIT;
	return W < least ? least : W;
}

/* Sets the parameters of the algorithms. T is in us, the line rate in bit/s. */
static void set_parameters(struct hpccpp_cnp_cfg *cfg, __u64 bps, __u32 T,
			   unsigned int flows)
{
	struct hpccpp_params *p = &cfg->hpcc;
	__u64 W;

	hpccpp_dcqcn_defaults(&cfg->dcqcn, bps / 8, T);
	W = hpccpp_bdp(bps / 8, T);
	p->T = T;
	p->eta = (__u64)ETA * HPCCPP_ONE / 100;
	p->law = HPCCPP_LAW_DRAFT;
	p->W_max = clamp_W(W, 0);
	p->W_ai = (__u64)p->W_max * (100 - ETA) / 100 / flows;
	if (p->W_ai < PACKET * 12 / 1000)
		p->W_ai = PACKET * 12 / 1000;
	p->W_min = clamp_W(hpccpp_bdp(cfg->dcqcn.least, T), PACKET / 16);
	p->W_max = clamp_W(p->W_max, p->W_min);
}

/* The words of `cnp add` and `cnp replace`, and the numbers that are given with them */
enum word {
	DEV, ACCEPT, IOAM_NAMESPACE, OPTION_TYPE, RATE, BASE_RTT, ALGORITHM, THRESH,
	EXPECTED, TRACE, ANSWER, LIMIT, DETOUR, TO, NETNS, WORDS
};

struct numbers {
	unsigned int namespace[HPCCPP_CNP_NAMESPACES], type[2];
	unsigned int T, algorithm, threshold, flows, hops, answer, limit;
	__u64 rate;
};

static int check_words(const struct argument *args, const struct numbers *v)
{
	if (!args[DEV].n)
		return usage_error("\"dev\" is missing, try \"hpccpp cnp help\"");
	if (!args[ACCEPT].n)
		return usage_error("\"accept\" is missing: say whose Fast CNPs are taken");
	/* IOAM must stay in its domain, and a peer that takes no trace off drops the packet */
	if (args[TRACE].n && !args[TO].n)
		return usage_error("\"to\" is missing: say whose data gets a trace");
	if (args[TO].n && !args[TRACE].n)
		return usage_error("\"to\" is wrong without \"trace\"");
	if (args[LIMIT].n && !args[ANSWER].n)
		return usage_error("\"limit\" is wrong without \"answer\"");
	return check_option_types(v->type);
}

/* Sets the configuration, without the rates. */
static int plan_words(struct hpccpp_cnp_cfg *cfg, const struct argument *args,
		      const struct numbers *v)
{
	unsigned int i;

	cfg->accepts = args[ACCEPT].n;
	cfg->detours = args[DETOUR].n;
	cfg->trace_to = args[TO].n;
	cfg->n_namespaces = args[IOAM_NAMESPACE].n;
	for (i = 0; i < cfg->n_namespaces; i++)
		cfg->namespaces[i] = v->namespace[i];
	cfg->trace = htons(cfg->namespaces[0]);
	cfg->answer = args[ANSWER].n ? v->answer + 1 : 0;
	cfg->algorithm = v->algorithm;
	cfg->type1 = v->type[0];
	cfg->type2 = v->type[1];
	cfg->threshold_percent = v->threshold;
	cfg->threshold = load_of_percent(v->threshold);
	cfg->expected = v->flows;
	cfg->hops = v->hops;
	cfg->limit = v->limit;
	return cfg->answer ? draw_mark(&cfg->mark) : EXIT_DONE;
}

/* The rates, by that of the line, which is the device's unless it was given */
static int plan_rate(struct plan *p, struct numbers *v)
{
	if (!v->rate)
		v->rate = ethtool_rate(p->dev);
	if (!hpccpp_rate_ok(v->rate))
		return system_error("no rate known for %s: give one with rate RATE", p->dev);
	set_parameters(&p->cfg, v->rate, v->T, v->flows);
	return EXIT_DONE;
}

static int check_place(struct plan *p)
{
	bool in, out;
	int ret;

	ret = check_qdiscs(p);
	if (!ret)
		ret = find_both(p->ifindex, &in, &out);
	if (!ret && !p->replace && (in || out))
		ret = system_error("an agent exists already on %s", p->dev);
	if (!ret && p->replace)
		ret = find_program(DEV_CNP, p->ifindex, BPF_TC_EGRESS, &p->old);
	return ret;
}

/* What the agent was told stands for what is not given. */
static int read_back(const struct plan *p, struct argument *args, struct words *w)
{
	int prog, ret;

	ret = find_program(DEV_CNP, p->ifindex, BPF_TC_EGRESS, &prog);
	if (!ret && prog < 0)
		ret = system_error("there is no agent on %s", p->dev);
	if (!ret)
		ret = parse_kept(prog, args, WORDS, w);
	if (prog >= 0)
		close(prog);
	return ret;
}

static int carry_out(enum put how, struct plan *p, struct argument *args, struct numbers *v,
		     const char *netns)
{
	struct words kept;
	int ret = EXIT_DONE;

	if (how != PUT_CHANGE || !p->dev)
		ret = check_words(args, v);
	if (!ret)
		ret = find_dev(p->dev, netns, &p->ifindex);
	if (!ret)
		ret = lock_agents();
	if (!ret && how == PUT_CHANGE)
		ret = read_back(p, args, &kept) ?: check_words(args, v);
	if (!ret)
		ret = check_place(p);
	if (!ret)
		ret = plan_words(&p->cfg, args, v);
	p->cfg.rate_given = args[RATE].n;
	if (!ret)
		ret = plan_rate(p, v);
	if (!ret && !opt.dry_run)
		ret = load(p);
	if (p->old >= 0)
		close(p->old);
	return ret;
}

static int put_cnp(enum put how, int argc, char **argv)
{
	struct numbers v = {
		.type = { HPCCPP_FCNP_TYPE1, HPCCPP_FCNP_TYPE2 }, .T = HPCCPP_DCQCN_T,
		.algorithm = HPCCPP_CNP_AUTO, .threshold = THRESHOLD, .flows = FLOWS,
		.limit = HPCCPP_LIMIT,
	};
	const char *netns = NULL;
	struct plan p = { .replace = how != PUT_ADD, .old = -1 };
	struct argument args[WORDS] = {
		[DEV] = { ARG("dev", arg_text, &p.dev), .bare = true, .place = true },
		[ACCEPT] = { ARG("accept", arg_prefix6, p.accept), .max = HPCCPP_PREFIXES },
		[IOAM_NAMESPACE] = { ARG("ioam-namespace", arg_uint, v.namespace),
				     .high = 65535, .max = HPCCPP_CNP_NAMESPACES },
		[OPTION_TYPE] = { ARG("option-type", arg_uint, v.type), .low = 0x80,
				  .high = 0x9f, .max = ARRAY_SIZE(v.type) },
		[RATE] = { ARG("rate", arg_rate, &v.rate) },
		[BASE_RTT] = { ARG("base-rtt", arg_time, &v.T) },
		[ALGORITHM] = { ARG("algorithm", arg_word, &v.algorithm),
				.words = algorithms, .high = ARRAY_SIZE(algorithms) },
		[THRESH] = { ARG("threshold", arg_uint, &v.threshold), .low = 1,
			     .high = 100 },
		[EXPECTED] = { ARG("flows", arg_uint, &v.flows), .low = 1,
			       .high = FLOWS_MAX },
		[TRACE] = { ARG("trace", arg_uint, &v.hops), .low = 1,
			    .high = HPCCPP_HBH_HOPS },
		[ANSWER] = { ARG("answer", arg_word, &v.answer), .words = answers,
			     .high = ARRAY_SIZE(answers) },
		[LIMIT] = { ARG("limit", arg_uint, &v.limit), .low = 1,
			    .high = HPCCPP_LIMIT_MAX },
		[DETOUR] = { ARG("detour", arg_prefix6, p.detour), .max = HPCCPP_PREFIXES },
		[TO] = { ARG("to", arg_prefix6, p.trace_to), .max = HPCCPP_PREFIXES },
		[NETNS] = { ARG("netns", arg_text, &netns), .place = true },
	};
	int ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	return ret ? ret : carry_out(how, &p, args, &v, netns);
}

static int cnp_add(int argc, char **argv)
{
	return put_cnp(PUT_ADD, argc, argv);
}

static int cnp_replace(int argc, char **argv)
{
	return put_cnp(PUT_REPLACE, argc, argv);
}

static int cnp_change(int argc, char **argv)
{
	return put_cnp(PUT_CHANGE, argc, argv);
}

static int cnp_delete(int argc, char **argv)
{
	const char *dev = NULL;
	int ifindex, ret;
	bool in, out;

	ret = find_dev_to_clear("cnp", argc, argv, &dev, &ifindex);
	if (!ret)
		ret = find_both(ifindex, &in, &out);
	if (ret)
		return ret;
	if (!in && !out)
		return system_error("there is no agent on %s", dev);
	return detach_programs(DEV_CNP, dev, ifindex);
}

static void put_address(struct json_object *row, const char *key,
			const __be32 *addr)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, addr, text, sizeof(text));
	put_str(row, key, text);
}

static struct json_object *flow_row(const struct hpccpp_cnp_key *key,
				    const struct hpccpp_cnp_flow *f,
				    const struct hpccpp_cnp_cfg *cfg,
				    const struct queue_pairs *qps)
{
	struct json_object *row = json_object_new_object();
	const struct queue_pair *qp = NULL;
	bool held = f->rate < cfg->dcqcn.line;

	put_address(row, "dst", key->daddr);
	put_num(row, "dqpn", key->qpn);
	put_address(row, "src", f->saddr);
	put_num(row, "sport", f->port ?: f->sport);
	if (f->lqpn) {
		put_num(row, "lqpn", f->lqpn);
		qp = find_queue_pair(qps, f->lqpn, key->qpn);
	}
	if (qp)
		put_str(row, "rdma", qp->rdma);
	if (qp && qp->pid)
		put_num(row, "pid", qp->pid);
	if (qp && *qp->comm)
		put_str(row, "comm", qp->comm);
	put_num(row, "rate", f->rate * 8);
	put_str(row, "algorithm", !held ? "none" :
		f->algorithm == HPCCPP_CNP_HPCC ? "hpccpp" : "dcqcn");
	if (f->algorithm == HPCCPP_CNP_HPCC)
		put_fixed(row, "U", f->hpcc.U);
	else if (f->cnps)
		put_fixed(row, "alpha", f->dcqcn.alpha);
	put_str(row, "cause", causes[f->cause % ARRAY_SIZE(causes)]);
	if (f->from[0])
		put_address(row, "switch", f->from);
	if (f->cnp_at)
		put_num(row, "cnp_age", (clock_ns(CLOCK_MONOTONIC) - (long long)f->cnp_at) / 1000);
	put_num(row, "cnps", f->cnps);
	if (cfg->detours)
		put_num(row, "detours", f->detours);
	put_num(row, "packets", f->packets);
	put_num(row, "bytes", f->bytes);
	return row;
}

static int put_flows(struct json_object *row, int prog, int ifindex,
		     const struct hpccpp_cnp_cfg *cfg)
{
	int map = prog_map(prog, "cnp_flows", sizeof(struct hpccpp_cnp_flow));
	struct json_object *flows = json_object_new_array();
	struct hpccpp_cnp_key key, *prev = NULL;
	struct hpccpp_cnp_flow f;
	struct queue_pairs qps = {};
	bool asked = false;

	json_object_object_add(row, "queue_pairs", flows);
	if (map < 0)
		return prog_map_error("cnp_flows");
	while (!bpf_map_get_next_key(map, prev, &key)) {
		if (!bpf_map_lookup_elem_flags(map, &key, &f, BPF_F_LOCK)) {
			/* only with a QP: without RDMA the kernel would search for its modules */
			if (f.lqpn && !asked)
				read_queue_pairs(ifindex, &qps);
			asked |= f.lqpn;
			json_object_array_add(flows, flow_row(&key, &f, cfg, &qps));
		}
		prev = &key;
	}
	free(qps.qp);
	close(map);
	return EXIT_DONE;
}

static int add_row(const char *dev, int ifindex, int prog,
		   struct json_object *rows)
{
	static const char *const names[] = HPCCPP_CNP_STAT_NAMES;
	__u64 stats[HPCCPP_CS_MAX];
	struct json_object *row;
	struct hpccpp_cnp_cfg cfg;
	__u16 types[2];
	int ret;

	ret = prog_entry(prog, "cnp", &cfg, sizeof(cfg));
	if (!ret)
		ret = prog_stats(prog, "cnp_stats", stats, HPCCPP_CS_MAX);
	if (ret)
		return ret;
	types[0] = cfg.type1;
	types[1] = cfg.type2;
	row = json_object_new_object();
	put_str(row, "dev", dev);
	put_num(row, "rate", cfg.dcqcn.line * 8);
	put_bool(row, "rate_given", cfg.rate_given);
	put_num(row, "base_rtt", cfg.hpcc.T);
	put_str(row, "algorithm",
		algorithms[cfg.algorithm % ARRAY_SIZE(algorithms)]);
	put_num(row, "threshold", cfg.threshold_percent);
	put_num(row, "flows", cfg.expected);
	ret = put_prefixes(row, "accept", prog, "cnp_accept");
	if (cfg.hops)
		put_num(row, "trace", cfg.hops);
	if (cfg.hops && !ret)
		ret = put_prefixes(row, "to", prog, "cnp_trace_to");
	if (cfg.answer) {
		put_str(row, "answer",
			answers[(cfg.answer - 1) % ARRAY_SIZE(answers)]);
		put_num(row, "limit", cfg.limit);
	}
	if (cfg.detours && !ret)
		ret = put_prefixes(row, "detour", prog, "cnp_detour");
	if (cfg.n_namespaces)
		put_list(row, "ioam_namespace", cfg.namespaces,
			 cfg.n_namespaces);
	put_list(row, "option_type", types, ARRAY_SIZE(types));
	if (!ret)
		ret = put_flows(row, prog, ifindex, &cfg);
	put_words(row, prog);
	put_counts(row, "stats", names, stats, HPCCPP_CS_MAX);
	json_object_array_add(rows, row);
	return ret;
}

static int add_cnp(const struct qdisc *list, size_t n, int ifindex,
		   const char *dev, struct json_object *rows)
{
	size_t first = json_object_array_length(rows);
	int prog, ret;

	(void)list;
	(void)n;
	ret = find_program(DEV_CNP, ifindex, BPF_TC_EGRESS, &prog);
	if (prog < 0)
		return ret;
	ret = add_row(dev, ifindex, prog, rows);
	ret = prog_finish_rows(prog, "dev", dev, ret, first, rows);
	close(prog);
	return ret;
}

int cnp_rows(const char *dev, struct json_object *rows)
{
	return dev_rows(dev, rows, add_cnp);
}

static int cnp_show(int argc, char **argv)
{
	return show_devs(cnp_fields, cnp_rows, argc, argv);
}

int cnp_main(int argc, char **argv)
{
	static const struct command cmds[] = {
		{ "add", cnp_add },
		{ "replace", cnp_replace },
		{ "change", cnp_change },
		{ "delete", cnp_delete },
		{ "show", cnp_show },
		{ "list", cnp_show },
		{ "help", NULL },
	};

	return run_command(cmds, ARRAY_SIZE(cmds), "cnp", usage, argc, argv);
}
