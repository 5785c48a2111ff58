// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp flow: the connections of a namespace under the congestion control
 * hpccpp, with the state of the algorithm, read by the iterator flow.bpf.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../kmod/hpccpp_flow.h"
#include "hpccpp.h"
#include "flow.skel.h"

static const char usage[] =
"Usage: hpccpp flow [ show ] [ netns NAME ]\n"
"\n"
"U      load of the bottleneck, 1 is full     T     base round trip time\n"
"W, W_c window and reference window, bytes    R     pacing rate\n"
"links  links that the flow has heard of      B     slowest of the path\n"
"acks, updates  ACKs, and those with telemetry that moved the window\n"
"guards records that were left out, by reason\n"
"A flow without telemetry is under hpccpp-reno, the fallback.\n"
"\n"
"JSON: src sport dst dport state ino mode cwnd srtt U W W_c inc_stage T R B\n"
"bottleneck records links acks updates fallbacks guards; W, W_c in bytes\n";

static const char *const states[] = {
	"UNKNOWN", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2",
	"TIME-WAIT", "UNCONN", "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING",
};

static const char *const modes[] = {
	[HPCCPP_OFF] = "off",
	[HPCCPP_INT] = "hpccpp",
	[HPCCPP_RENO] = "hpccpp-reno",
};

static const char *const guards[] = HPCCPP_GUARD_NAMES;

/* "?" of a number that a newer module may have. */
static const char *name_of(const char *const *names, size_t n, size_t i)
{
	return i < n ? names[i] : "?";
}

static struct json_object *flow_row(const struct hpccpp_flow_rec *r,
				    const char *src, const char *dst)
{
	struct json_object *row = json_object_new_object();
	__u64 counts[HPCCPP_G_MAX];
	size_t i;

	put_str(row, "src", src);
	put_num(row, "sport", r->sport);
	put_str(row, "dst", dst);
	put_num(row, "dport", r->dport);
	put_str(row, "state", name_of(states, ARRAY_SIZE(states), r->state));
	put_num(row, "ino", r->ino);
	put_str(row, "mode", name_of(modes, ARRAY_SIZE(modes), r->mode));
	put_num(row, "cwnd", r->cwnd);
	put_num(row, "srtt", r->srtt_us);
	put_fixed(row, "U", r->U);
	put_num(row, "W", r->W);
	put_num(row, "W_c", r->W_c);
	put_num(row, "inc_stage", r->inc_stage);
	put_num(row, "T", r->T);
	put_num(row, "R", r->R * 8);
	put_num(row, "B", r->min_B * 8);
	put_num(row, "bottleneck", r->bottleneck);
	put_num(row, "records", r->records);
	put_num(row, "links", r->links);
	put_num(row, "acks", r->acks);
	put_num(row, "updates", r->updates);
	put_num(row, "fallbacks", r->fallbacks);
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = r->guards[i];
	put_counts(row, "guards", guards, counts, ARRAY_SIZE(counts));
	return row;
}

static void flow_print(const struct hpccpp_flow_rec *r, const char *src,
		       const char *dst)
{
	const char *fmt = r->family == AF_INET ? "%s:%u " : "[%s]:%u ";
	char rate[RATE_LEN];
	const char *head = "    guards";
	size_t i;

	printf("%s ", name_of(states, ARRAY_SIZE(states), r->state));
	printf(fmt, src, r->sport);
	printf(fmt, dst, r->dport);
	puts(name_of(modes, ARRAY_SIZE(modes), r->mode));
	printf("    U %.3f W %u W_c %u T %uus R %s", (double)r->U / HPCCPP_ONE,
	       r->W, r->W_c, r->T, rate_text(rate, r->R * 8));
	printf(" B %s\n    cwnd %u srtt %uus",
	       rate_text(rate, r->min_B * 8), r->cwnd, r->srtt_us);
	printf(" bottleneck %u records %u links %u acks %u updates %u fallbacks %u\n",
	       r->bottleneck, r->records, r->links, r->acks, r->updates,
	       r->fallbacks);
	for (i = 0; i < ARRAY_SIZE(guards); i++) {
		if (!r->guards[i])
			continue;
		printf("%s %s %u", head, guards[i], r->guards[i]);
		head = "";
	}
	if (!*head)
		putchar('\n');
}

static int show_flow(const struct hpccpp_flow_rec *r, struct json_object *rows)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];

	if (r->size && r->size != sizeof(struct hpccpp_flow))
		return system_error("the module and this command differ: its flows have %u bytes, ours %zu",
				    r->size, sizeof(struct hpccpp_flow));
	inet_ntop(r->family, r->saddr, src, sizeof(src));
	inet_ntop(r->family, r->daddr, dst, sizeof(dst));
	if (rows)
		json_object_array_add(rows, flow_row(r, src, dst));
	else
		flow_print(r, src, dst);
	return EXIT_DONE;
}

static int show_flows(int fd, struct json_object *rows)
{
	struct hpccpp_flow_rec rec;
	FILE *in = fdopen(fd, "r");
	int ret = EXIT_DONE;

	if (!in) {
		close(fd);
		return errno_error(errno, "cannot read the flows");
	}
	while (!ret && fread(&rec, sizeof(rec), 1, in) == 1)
		ret = show_flow(&rec, rows);
	if (!ret && ferror(in))
		ret = errno_error(errno, "cannot read the flows");
	fclose(in);
	return ret;
}

static int flow_show(int argc, char **argv)
{
	const char *netns = NULL;
	struct argument args[] = {
		{ .name = "netns", .value = &netns, .max = 1 },
	};
	struct json_object *rows = NULL;
	struct flow_bpf *skel;
	int fd, ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret)
		ret = netns_enter(netns);
	if (ret)
		return ret;
	skel = flow_bpf__open_and_load();
	if (!skel)
		return load_error(errno, "flow");
	if (opt.json)
		rows = json_object_new_array();
	ret = flow_bpf__attach(skel);
	if (ret) {
		ret = errno_error(ret, "cannot start reading the flows");
	} else {
		fd = bpf_iter_create(bpf_link__fd(skel->links.flow_show));
		ret = fd < 0 ? errno_error(fd, "cannot start reading the flows") :
			       show_flows(fd, rows);
	}
	flow_bpf__destroy(skel);
	return print_rows(rows, ret);
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
