// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp flow: the connections of a namespace that asked for the congestion control
 * hpccpp, with the state of the algorithm, or why they are not under telemetry. The
 * iterator flow.bpf.c reads them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "hpccpp_flow.h"
#include "hpccpp.h"
#include "flow.skel.h"

static const char usage[] =
"Usage: hpccpp flow [ show [ netns NAME ] ]\n"
"\n"
"U       load of the bottleneck, 1 is full      T  base round trip time\n"
"W, W_c  window and reference window, bytes     R  pacing rate\n"
"law     rule by which W follows from U: net.hpccpp.law\n"
"links   links that the flow has heard of       B  rate of the slowest of them\n"
"acks    ACKs that the algorithm saw; updates: those that moved the window\n"
"\n"
"A flow without telemetry has the fallback of its host agent, or is hpccpp-reno\n"
"with Reno's window. It has a reason, and no U, W, T, R and B.\n"
"-s adds the records that were left out, by reason. See hpccpp(8).\n";

const struct field flow_fields[] = {
	{ "state", FORM_TEXT, "", NULL, NULL, NULL },
	{ "src", FORM_ADDRESS, "", "SOURCE", "", NULL },
	{ "sport", FORM_NUM, NULL, NULL, "", NULL },
	{ "dst", FORM_ADDRESS, "", "DESTINATION", "", NULL },
	{ "dport", FORM_NUM, NULL, NULL, "", NULL },
	{ "mode", FORM_TEXT, "", "MODE", "", NULL },
	{ "reason", FORM_TEXT, "reason", "REASON", NULL, NULL },
	{ "error", FORM_TEXT, "error", NULL, NULL, NULL },
	{ "ino", FORM_NUM, NULL, NULL, "", NULL },
	{ "U", FORM_RATIO, "\nU", "U", "hpccpp_flow_utilization_ratio",
	  "Load of the bottleneck link, queue included, 1 is full." },
	{ "W", FORM_NUM, "W", NULL, "hpccpp_flow_window_bytes",
	  "Window in bytes on the wire." },
	{ "W_c", FORM_NUM, "W_c", NULL, "hpccpp_flow_reference_window_bytes",
	  "Reference window in bytes on the wire." },
	{ "W_f", FORM_NUM, "W_f", NULL, "hpccpp_flow_share_bytes",
	  "Window of one flow's share of the bottleneck, 0 where it is not told." },
	{ "T", FORM_TIME, "T", "T", "hpccpp_flow_base_rtt_seconds",
	  "Base round trip time in use." },
	{ "R", FORM_RATE, "R", "R", "hpccpp_flow_rate_bytes_per_second",
	  "Pacing rate on the wire." },
	{ "B", FORM_RATE, "B", NULL,
	  "hpccpp_flow_bandwidth_bytes_per_second",
	  "Bandwidth of the slowest link that the flow has heard of." },
	{ "inc_stage", FORM_NUM, NULL, NULL, NULL, NULL },
	{ "law", FORM_TEXT, "law", NULL, "", NULL },
	{ "cwnd", FORM_NUM, "\ncwnd", NULL, "hpccpp_flow_cwnd_packets",
	  "Congestion window of TCP." },
	{ "srtt", FORM_TIME, "srtt", "SRTT", "hpccpp_flow_srtt_seconds",
	  "Smoothed round trip time of TCP." },
	{ "bottleneck", FORM_NUM, "bottleneck", "LINK", NULL, NULL },
	{ "records", FORM_NUM, "records", NULL, NULL, NULL },
	{ "links", FORM_NUM, "links", NULL, "hpccpp_flow_links",
	  "Links that the flow has heard of." },
	{ "acks", FORM_NUM, "acks", NULL, "hpccpp_flow_acks_total",
	  "ACKs that the algorithm saw." },
	{ "updates", FORM_NUM, "updates", NULL,
	  "hpccpp_flow_updates_total",
	  "Updates of the window by telemetry." },
	{ "fallbacks", FORM_NUM, "fallbacks", NULL,
	  "hpccpp_flow_fallbacks_total", "Times that it fell back to Reno." },
	{ "guards", FORM_COUNTS, "", NULL, "hpccpp_flow_guards_total",
	  "Records that were left out or not compared, by reason." },
	{ .word = "no flow under hpccpp" }
};

const struct field flow_totals[] = {
	{ "mode", FORM_TEXT, NULL, NULL, "", NULL },
	{ "flows", FORM_NUM, NULL, NULL, "hpccpp_flows", "Flows by mode." },
	{ }
};

static const char *const states[] = {
	"UNKNOWN", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2",
	"TIME-WAIT", "UNCONN", "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING",
};

static const char *const modes[] = {
	[HPCCPP_SHOWN_OFF] = "off",
	[HPCCPP_SHOWN_INT] = "hpccpp",
	[HPCCPP_SHOWN_RENO] = "hpccpp-reno",
};

static const char *const laws[] = HPCCPP_LAW_NAMES;
static const char *const guards[] = HPCCPP_GUARD_NAMES;
static const char *const reasons[] = HPCCPP_REASON_NAMES;

/* "?" of a number that a newer module may have. */
static const char *name_of(const char *const *names, size_t n, size_t i)
{
	return i < n ? names[i] : "?";
}

/* The fields that TCP knows, and the reason */
static struct json_object *flow_row(const struct hpccpp_flow_rec *r)
{
	struct json_object *row = json_object_new_object();
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];

	inet_ntop(r->family, r->saddr, src, sizeof(src));
	inet_ntop(r->family, r->daddr, dst, sizeof(dst));
	put_str(row, "src", src);
	put_num(row, "sport", r->sport);
	put_str(row, "dst", dst);
	put_num(row, "dport", r->dport);
	put_str(row, "state", name_of(states, ARRAY_SIZE(states), r->state));
	put_num(row, "ino", r->ino);
	put_str(row, "mode", *r->fallback ? r->fallback :
		name_of(modes, ARRAY_SIZE(modes), r->mode));
	if (r->reason)
		put_str(row, "reason", name_of(reasons, ARRAY_SIZE(reasons), r->reason));
	put_num(row, "cwnd", r->cwnd);
	put_num(row, "srtt", r->srtt_us);
	return row;
}

/* The fields of the module's state of a flow */
static void put_state(struct json_object *row, const struct hpccpp_flow_rec *r)
{
	__u64 counts[HPCCPP_G_MAX];
	size_t i;

	/* without telemetry they are none, or of when there was some */
	if (r->mode == HPCCPP_SHOWN_INT) {
		put_fixed(row, "U", r->U);
		put_num(row, "W", r->W);
		put_num(row, "W_c", r->W_c);
		put_num(row, "W_f", r->W_f);
		put_num(row, "inc_stage", r->inc_stage);
		put_str(row, "law", name_of(laws, ARRAY_SIZE(laws), r->law));
		put_num(row, "T", r->T);
		put_num(row, "R", r->R * 8);
		put_num(row, "B", r->min_B * 8);
		put_num(row, "bottleneck", r->bottleneck);
		put_num(row, "records", r->records);
	}
	put_num(row, "links", r->links);
	put_num(row, "acks", r->acks);
	put_num(row, "updates", r->updates);
	put_num(row, "fallbacks", r->fallbacks);
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = r->guards[i];
	put_counts(row, "guards", guards, counts, ARRAY_SIZE(counts));
}

/* A flow of a module of another build is a row with the fields that TCP knows. */
static int read_flows(int fd, void (*take)(void *to, struct json_object *row), void *to)
{
	struct hpccpp_flow_rec rec;
	struct json_object *row;
	FILE *in = fdopen(fd, "r");
	int ret = EXIT_DONE;

	if (!in) {
		close(fd);
		return errno_error(errno, "cannot read the flows");
	}
	while (fread(&rec, sizeof(rec), 1, in) == 1) {
		row = flow_row(&rec);
		if (rec.layout == HPCCPP_FLOW_LAYOUT)
			put_state(row, &rec);
		else if (rec.layout)
			put_str(row, "error", "the module and this command differ");
		take(to, row);
		if (rec.layout && rec.layout != HPCCPP_FLOW_LAYOUT && !ret)
			ret = system_error("the module and this command differ: its flows have layout %#x, ours %#x",
					   rec.layout,
					   (unsigned int)HPCCPP_FLOW_LAYOUT);
	}
	if (ferror(in))
		ret = errno_error(errno, "cannot read the flows");
	fclose(in);
	return ret;
}

/* The kernel knows what an iterator is by its own types: no other file has them. */
static int flow_load_error(int err)
{
	if (abs(err) != EPERM && access(KERNEL_BTF, R_OK))
		return system_error("cannot load the flow agent: no %s, which a kernel with CONFIG_DEBUG_INFO_BTF has",
				    KERNEL_BTF);
	return load_error(err, "flow");
}

/* The iterator stays loaded until the command ends: monitor asks often. */
int flow_rows(void (*take)(void *to, struct json_object *row), void *to)
{
	static struct flow_bpf *skel;
	int err, fd;

	if (!skel) {
		skel = flow_bpf__open_and_load();
		if (!skel)
			return flow_load_error(errno);
		err = flow_bpf__attach(skel);
		if (err) {
			flow_bpf__destroy(skel);
			skel = NULL;
			return errno_error(err, "cannot start reading the flows");
		}
	}
	fd = bpf_iter_create(bpf_link__fd(skel->links.flow_show));
	if (fd < 0)
		return errno_error(fd, "cannot start reading the flows");
	return read_flows(fd, take, to);
}

int flow_probe(void)
{
	struct flow_bpf *skel = flow_bpf__open_and_load();
	int err = skel ? flow_bpf__attach(skel) : -errno;

	flow_bpf__destroy(skel);
	return err;
}

static int flow_show(int argc, char **argv)
{
	const char *netns = NULL;
	struct argument args[] = {
		{ ARG("netns", arg_text, &netns) },
	};
	struct printer p = { .fields = flow_fields, .totals = flow_totals };
	int ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret)
		ret = netns_enter(netns);
	if (ret)
		return ret;
	ret = flow_rows(print_row, &p);
	return end_rows(&p, ret);
}

int flow_main(int argc, char **argv)
{
	static const struct command cmds[] = {
		{ "show", flow_show },
		{ "list", flow_show },
		{ "help", NULL },
	};

	return run_command(cmds, ARRAY_SIZE(cmds), "flow", usage, argc, argv);
}
