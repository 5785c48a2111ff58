// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the port agent in the kernel: the program that the command loads, packet by
 * packet through BPF_PROG_TEST_RUN. They cover what port_test.c cannot show: the verifier,
 * checksums and GSO packets of a real skb, and the qdisc of a device.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "agent_test.h"
#include "hpccpp_agent.h"
#include "frames.h"
#include "port_rows.h"
#include "port.skel.h"

#define UNSPEC		((__u32)-1)	/* TC_ACT_UNSPEC */

static struct port_bpf *agent;

static struct port_bpf *load(bool reads_qdisc, bool several_queues)
{
	struct port_bpf *skel = port_bpf__open();

	assert_non_null(skel);
	skel->rodata->reads_qdisc = reads_qdisc;
	skel->rodata->several_queues = several_queues;
	assert_int_equal(bpf_map__set_max_entries(skel->maps.port, QUEUES), 0);
	assert_int_equal(port_bpf__load(skel), 0);
	return skel;
}

static int set_up(void **state)
{
	return rows_reset(state);
}

static int start(void **state)
{
	agent = load(false, true);
	return 0;
}

static int end(void **state)
{
	port_bpf__destroy(agent);
	return 0;
}

/* Reads all counters at once: a system call for each would take most of the time. */
static void count_all(__u64 *sums)
{
	int cpus = libbpf_num_possible_cpus(), cpu, i;
	__u32 keys[HPCCPP_PS_MAX], n = HPCCPP_PS_MAX, last;
	__u64 v[HPCCPP_PS_MAX * cpus];

	assert_int_equal(bpf_map_lookup_batch(bpf_map__fd(agent->maps.port_stats),
					      NULL, &last, keys, v, &n, NULL), 0);
	assert_int_equal(n, HPCCPP_PS_MAX);
	for (i = 0; i < HPCCPP_PS_MAX; i++) {
		sums[keys[i]] = 0;
		for (cpu = 0; cpu < cpus; cpu++)
			sums[keys[i]] += v[i * cpus + cpu];
	}
}

static __u64 ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec * 1000000000ULL + t.tv_nsec) >> HPCCPP_TS_SHIFT;
}

/* Runs the program on a frame with this context, unless that is NULL; as pass() */
static int pass_with(const struct frame *in, struct frame *out, struct __sk_buff *ctx)
{
	const struct bpf_program *programs[PROGRAMS] = {
		agent->progs.hpccpp_port, agent->progs.hpccpp_port_ext,
		agent->progs.hpccpp_port_cnp,
	};
	struct __sk_buff ctx_out;
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts),
		.data_in = in->b,
		.data_size_in = in->len,
		.data_out = out->b,
		.data_size_out = sizeof(out->b),
		.ctx_in = ctx,
		.ctx_size_in = ctx ? sizeof(*ctx) : 0,
		.ctx_out = ctx ? &ctx_out : NULL,
		.ctx_size_out = ctx ? sizeof(ctx_out) : 0,
	};
	__u64 before[HPCCPP_PS_MAX], after[HPCCPP_PS_MAX];
	int i, counted = NOTHING;
	__u32 q;

	for (q = 0; q < QUEUES; q++)
		assert_int_equal(bpf_map_update_elem(bpf_map__fd(agent->maps.port), &q,
						     &port_before, 0), 0);
	count_all(before);
	*out = *in;
	t0 = ticks();
	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(programs[program]), &opts), 0);
	t1 = ticks();
	assert_int_equal(opts.retval, UNSPEC);
	out->len = opts.data_size_out;
	if (ctx) {
		assert_int_equal(ctx_out.gso_size, ctx->gso_size);
		assert_int_equal(ctx_out.gso_segs, ctx->gso_segs);
		assert_int_equal(ctx_out.mark, ctx->mark);
		assert_int_equal(ctx_out.priority, ctx->priority);
	}
	count_all(after);
	assert_int_equal(after[HPCCPP_PS_SEGMENTS] - before[HPCCPP_PS_SEGMENTS],
			 ctx ? ctx->gso_segs - 1 : 0);
	for (i = 0; i < HPCCPP_PS_SEGMENTS; i++) {
		if (after[i] == before[i])
			continue;
		assert_int_equal(after[i], before[i] + 1);
		assert_int_equal(counted, NOTHING);
		counted = i;
	}
	return counted;
}

static int pass(const struct frame *in, struct frame *out)
{
	return pass_with(in, out, NULL);
}

TEST(checksums)
{
	updates_the_checksum(false);
}

/* A GSO packet gets one record. All of its bytes join the queue. */
TEST(gso_packets)
{
	struct __sk_buff ctx = {
		.mark = 7, .priority = 3, .gso_size = 700, .gso_segs = 4, .wire_len = 3000,
	};
	struct hpccpp_port after;
	struct frame f, out;
	__u32 queue = 0;
	int v6;

	for (v6 = 0; v6 < 2; v6++) {
		collect(&f, v6, 2, 2500);
		assert_int_equal(pass_with(&f, &out, &ctx), HPCCPP_PS_STAMPED);
		assert_frame("A GSO packet.", f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR, record());
		assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(agent->maps.port), &queue,
						     &after), 0);
		assert_int_equal((after.v_in - port_before.v_in) >> 8, 3000);
	}
}

/* The kernel runs the programs on lo, whose qdisc holds nothing. */
TEST(reads_the_qdisc)
{
	static const struct { const char *why, *kind; bool mq; __u32 queues; } rows[] = {
		{ "A qdisc of another kind.", "netem", false, QUEUES },
		{ "A qdisc that is the root, and not mq's.", "noqueue", true, 1 },
		{ "A queue that the device does not have.", "noqueue", true, QUEUES },
	};
	struct port_bpf *other = agent;
	struct hpccpp_int want = record();
	struct frame f, out;
	size_t i;

	agent = load(true, true);
	port_before.cfg.queue = HPCCPP_QUEUE_QDISC;
	strcpy(port_before.cfg.kind, "noqueue");
	want.qlen = 0;
	want.tx_bytes = 0;
	collect(&f, false, 1, 0);
	assert_int_equal(pass(&f, &out), HPCCPP_PS_STAMPED);
	assert_frame("The same qdisc.", f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR, want);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(port_before.cfg.kind, rows[i].kind);
		port_before.cfg.mq = rows[i].mq;
		port_before.cfg.queues = rows[i].queues;
		assert_passes(rows[i].why, &f, HPCCPP_PS_STALE, &f, 0);
	}
	port_bpf__destroy(agent);
	agent = other;
}

/*
 * The number of instructions that the verifier walks differs between kernels by a factor of
 * three or more. All of them allow a million: the limit here is a quarter of that.
 */
TEST(far_from_the_limit)
{
	struct bpf_program *prog;
	int variant;

	for (variant = 0; variant < 4; variant++) {
		struct port_bpf *other = load(variant & 1, variant & 2);

		bpf_object__for_each_program(prog, other->obj) {
			struct bpf_prog_info info = {};
			__u32 len = sizeof(info);
			int fd = bpf_program__fd(prog);

			assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
			assert_in_range(info.verified_insns, 1, 250000);
		}
		port_bpf__destroy(other);
	}
}

int main(void)
{
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return _cmocka_run_group_tests("progs", tests, n_tests, start, end);
}
