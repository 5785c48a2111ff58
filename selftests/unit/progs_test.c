// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the port agent as the kernel runs it: the program that the
 * command loads, packet by packet through BPF_PROG_TEST_RUN. What comes out is
 * compared in all bytes with what hpccpp_wire.rst says, the TCP checksum with
 * one that is computed from nothing.
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

#include "hpccpp_agent.h"
#include "frames.h"
#include "port.skel.h"

/* cmocka hands every test a state, and few want one */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ETH_LEN		14
#define UNSPEC		((__u32)-1)	/* TC: go on with the next filter */
#define QUEUES		4
#define NOTHING		-1		/* counted */

/* --- The program ----------------------------------------------------------- */

static struct port_bpf *agent;
static struct hpccpp_port port;	/* as the next packet is to find it */
static bool extras;		/* by which program it goes */

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

/*
 * 200 Mbit/s as link 0x123, with this load: its clock is ahead, so that nothing
 * leaves the virtual queue, and it has no snapshot before, so that U stays.
 */
static int reset(void **state)
{
	extras = false;
	port = (struct hpccpp_port) {
		.U = 3 << (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT),
		.v_now = ~0ULL >> 1,
		.v_qlen = 5ULL << (HPCCPP_QLEN_SHIFT + 8),
		.v_in = 12ULL << (HPCCPP_TX_SHIFT + 8),
		.cfg = {
			.rate = 200000000,
			.rate_code = hpccpp_rate_encode(200000000),
			.base_rtt = 100,
			.link = 0x123,
			.queue = HPCCPP_QUEUE_VIRTUAL,
			.queues = QUEUES,
		},
	};
	return 0;
}

/* What a packet is to bring home of that, but for ts */
static struct hpccpp_int record(void)
{
	return (struct hpccpp_int) {
		.link = 0x123, .rate = port.cfg.rate_code, .U = 3,
		.tx_bytes = 7, .qlen = 5, .N = 1,
	};
}

/* All counters at once: a system call for each would take most of the time. */
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

static __u64 t0, t1;		/* before and after the last packet, 16 ns */

static __u64 ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec * 1000000000ULL + t.tv_nsec) >> HPCCPP_TS_SHIFT;
}

/* Sends a frame through the port; returns what it counted, besides segments. */
static int pass(const struct frame *in, struct frame *out,
		struct __sk_buff *ctx)
{
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
	int i, what = NOTHING, prog = bpf_program__fd(extras ?
						      agent->progs.hpccpp_port_ext :
						      agent->progs.hpccpp_port);
	__u64 before[HPCCPP_PS_MAX], after[HPCCPP_PS_MAX];
	__u32 q;

	for (q = 0; q < QUEUES; q++)
		assert_int_equal(bpf_map_update_elem(bpf_map__fd(agent->maps.port),
						     &q, &port, 0), 0);
	count_all(before);
	*out = *in;
	t0 = ticks();
	assert_int_equal(bpf_prog_test_run_opts(prog, &opts), 0);
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
			 ctx && ctx->gso_size ? ctx->gso_segs - 1 : 0);
	for (i = 0; i < HPCCPP_PS_SEGMENTS; i++) {
		if (after[i] == before[i])
			continue;
		assert_int_equal(after[i], before[i] + 1);
		assert_int_equal(what, NOTHING);
		what = i;
	}
	return what;
}

/* --- Layouts --------------------------------------------------------------- */

/* What stands before the option, as kernels write it, and after it */
struct layout {
	__u8 flags;
	int len;
	char b[40];
};

#define MSS	"\2\4\5\xb4"
#define SACKS	"\4\2"
#define TIMES	"\x8\xa\1\2\3\4\5\6\7\x8"
#define EDGES	"\1\2\3\4\5\6\7\x8"
#define SCALE	"\1\3\3\7"
#define DIGEST	"\x13\x12" EDGES EDGES		/* MD5's */
#define NOPS	"\1\1"
static const struct layout layouts[] = {
	{ 0x10, 0, "" },
	{ 0x10, 12, NOPS TIMES },
	{ 0x18, 12, NOPS "\5\xa" EDGES },
	{ 0x10, 20, NOPS "\5\x12" EDGES EDGES },
	{ 0x11, 24, NOPS TIMES NOPS "\5\xa" EDGES },
	{ 0x10, 20, NOPS DIGEST },
	{ 0x02, 4, MSS },
	{ 0x02, 8, MSS SCALE },
	{ 0x02, 8, MSS NOPS SACKS },
	{ 0x02, 12, MSS NOPS SACKS SCALE },
	{ 0x02, 16, MSS NOPS TIMES },
	{ 0x02, 20, MSS SACKS TIMES SCALE },
	{ 0xc2, 20, MSS NOPS TIMES SCALE },
	{ 0x12, 20, MSS SACKS TIMES SCALE },
};

static const struct layout tails[] = {
	{ 0, 0, "" },
	{ 0, 4, NOPS NOPS },
	{ 0, 4, "\0\xff\xff\xff" },
	{ 0, 4, "\xfe\4HC" },
	{ 0, 4, "\xfd\4HC" },
	{ 0, 4, NOPS "\xfd\x28" },
};

/* Our record, at "at" of the frame, and a right checksum are all that is new. */
static void assert_wrote(const struct frame *in, const struct frame *out,
			 __u32 at, struct hpccpp_int r)
{
	struct frame want = *in;

	memcpy(&r.ts, out->b + at + 4, sizeof(r.ts));
	r.ts = ntohl(r.ts) >> 8;
	assert_in_range((r.ts - t0) & HPCCPP_MASK24, 0, t1 - t0);
	put_record(want.b + at, &r);
	put_tcp_sum(&want);
	assert_same(&want, out);
}

/* --- Tests ----------------------------------------------------------------- */

/* The option with n records between them; false where there is no room for it */
static bool writes_in(const struct shape *s, const struct layout *l,
		      const struct layout *tail, int n)
{
	int len = l->len + HPCCPP_OPT_LEN(n) + tail->len;
	struct hpccpp_int want = record();
	struct frame f, out;
	__u8 opts[40] = {};

	if (len > (int)sizeof(opts))
		return false;
	memcpy(opts, l->b, l->len);
	put_header(opts + l->len, HPCCPP_OPT_LEN(n), HPCCPP_EXID_COLLECT);
	memcpy(opts + len - tail->len, tail->b, tail->len);
	segment(&f, s, l->flags, opts, len, rnd() % 7);
	assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_STAMPED);
	if (l->flags & 0x02)
		want.N = 0;		/* of a crowd that begins: there is none */
	assert_wrote(&f, &out, f.tcp + TCP_LEN + l->len + HPCCPP_OPT_HDR, want);
	return true;
}

static void writes_in_every_layout(void **state)
{
	size_t shape, layout, tail;
	int n, runs = 0;

	for (shape = 0; shape < ARRAY_SIZE(shapes); shape++)
		for (layout = 0; layout < ARRAY_SIZE(layouts); layout++)
			for (tail = 0; tail < ARRAY_SIZE(tails); tail++)
				for (n = 1; n <= HPCCPP_REC_MAX; n++)
					runs += writes_in(&shapes[shape],
							  &layouts[layout],
							  &tails[tail], n);
	assert_int_equal(runs, ARRAY_SIZE(shapes) * 107);
}

/* Bytes of the last packet, as the virtual queue holds it */
static __u32 queued(void)
{
	struct hpccpp_port after;
	__u32 queue = 0;

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(agent->maps.port),
					     &queue, &after), 0);
	assert_int_equal(after.v_in - port.v_in, after.v_qlen - port.v_qlen);
	return (after.v_in - port.v_in) >> 8;
}

static void assert_left(const struct frame *f, int stat)
{
	struct frame out;

	assert_int_equal(pass(f, &out, NULL), stat);
	assert_same(f, &out);
}

#include "progs_test_left.h"

/* Cut anywhere: written into where the header is there, else left alone */
static void truncated_frames(void **state)
{
	struct frame f, g, out;
	int v6, n;

	for (v6 = 0; v6 < 2; v6++) {
		for (n = 1; n <= HPCCPP_REC_MAX; n++) {
			collect(&f, v6, n, 10);
			/* what is shorter the kernel does not test with */
			for (g = f, g.len = f.tcp; g.len <= f.len; g.len++) {
				if (g.len < f.tcp + TCP_LEN + HPCCPP_OPT_LEN(n)) {
					assert_left(&g, HPCCPP_PS_PASSED);
					continue;
				}
				put_tcp_sum(&g);
				assert_int_equal(pass(&g, &out, NULL),
						 HPCCPP_PS_STAMPED);
				assert_wrote(&g, &out, f.tcp + TCP_LEN +
					     HPCCPP_OPT_HDR, record());
			}
		}
	}
}

static void every_ihl(void **state)
{
	struct frame f, out;
	int ihl;

	for (ihl = 0; ihl < 16; ihl++) {
		segment(&f, &(struct shape){ 0, false, 15 }, 0x10, (const __u8 *)
			"\xfd\x10HC\0\0\0\0\0\0\0\0\0\0\0", 16, 4);
		/* the bytes between are such that no other place will do */
		memset(f.b + f.l3 + 20, 0, 40);
		f.b[f.l3] = 0x40 | ihl;
		if (ihl == 15) {
			assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_STAMPED);
			assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR,
				     record());
		} else {
			assert_left(&f, ihl < 5 ? HPCCPP_PS_NOT_TCP :
					     HPCCPP_PS_PASSED);
		}
	}
}

static void every_data_offset(void **state)
{
	struct frame f, out;
	int v6, doff;

	for (v6 = 0; v6 < 2; v6++) {
		for (doff = 0; doff < 16; doff++) {
			collect(&f, v6, 2, 40);
			f.b[f.tcp + 12] = doff << 4;
			put_tcp_sum(&f);
			if (doff < 9) {		/* no room for one record */
				assert_left(&f, HPCCPP_PS_PASSED);
			} else if (doff < 12) {	/* less than its length */
				assert_left(&f, HPCCPP_PS_BAD);
			} else {
				assert_int_equal(pass(&f, &out, NULL),
						 HPCCPP_PS_STAMPED);
				assert_wrote(&f, &out, f.tcp + TCP_LEN +
					     HPCCPP_OPT_HDR, record());
			}
		}
	}
}

static void option_length(bool v6, int room, int len)
{
	struct frame f, out;

	collect(&f, v6, room, 10);
	f.b[f.tcp + TCP_LEN + 1] = len;
	put_tcp_sum(&f);
	if ((len != 16 && len != 28 && len != 40) ||
	    len > HPCCPP_OPT_LEN(room)) {
		assert_left(&f, HPCCPP_PS_BAD);
		return;
	}
	assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_STAMPED);
	assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR, record());
}

static void every_option_length(void **state)
{
	int v6, room, len;

	for (v6 = 0; v6 < 2; v6++)
		for (room = 1; room <= HPCCPP_REC_MAX; room++)
			for (len = 0; len < 256; len++)
				option_length(v6, room, len);
}

static void leaves_other_options(void **state)
{
	static const __u16 exids[] = {
		HPCCPP_EXID_ECHO, HPCCPP_EXID_WINDOW, 0, 0xffff, 0x4348, 0x4841,
		0x4844, 0x0043, 0x4800, 0xf989,
	};
	struct frame f;
	size_t i;
	int kind;

	for (i = 0; i < ARRAY_SIZE(exids); i++) {
		collect(&f, i & 1, 2, 10);
		put16(f.b + f.tcp + TCP_LEN + 2, exids[i]);
		put_tcp_sum(&f);
		assert_left(&f, HPCCPP_PS_PASSED);
	}
	for (kind = 0; kind < 256; kind++) {
		if (kind == HPCCPP_OPT_KIND)
			continue;
		collect(&f, kind & 1, 2, 10);
		f.b[f.tcp + TCP_LEN] = kind;
		put_tcp_sum(&f);
		assert_left(&f, HPCCPP_PS_PASSED);
	}
}

/* Of a burst only the segment with PSH is written into. */
static void writes_into_the_end_of_a_burst(void **state)
{
	struct frame f, out;
	int v6, n;

	for (v6 = 0; v6 < 2; v6++) {
		for (n = 1; n <= HPCCPP_REC_MAX; n++) {
			collect(&f, v6, n, 100);
			put16(f.b + f.tcp + TCP_LEN + 2, HPCCPP_EXID_BURST);
			put_tcp_sum(&f);
			assert_left(&f, HPCCPP_PS_PASSED);
			f.b[f.tcp + 13] |= 0x08;
			put_tcp_sum(&f);
			assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_STAMPED);
			assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR, record());
		}
	}
}

/* Bytes of others that look like the option: only its own place counts. */
static void leaves_look_alikes(void **state)
{
#define LOOKS	"\xfd\x10HC"
	static const struct layout alike[] = {
		/* time stamps, edges of SACK blocks, a key, an unknown option */
		{ 0x10, 24, NOPS "\x8\xa" LOOKS LOOKS NOPS "\5\xa" LOOKS },
		{ 0x10, 24, NOPS "\5\x1a" LOOKS LOOKS LOOKS LOOKS LOOKS },
		{ 0x10, 20, NOPS "\x13\x12" LOOKS LOOKS LOOKS LOOKS },
		{ 0x10, 8, "\x1e\x14\0\0" LOOKS },
		{ 0x10, 16, "\x8\xa\1\2" LOOKS LOOKS NOPS },
		/* not where it would stand: behind NOPs, or an option more */
		{ 0x10, 5, "\1" LOOKS },
		{ 0x10, 6, NOPS LOOKS },
		{ 0x10, 8, NOPS NOPS LOOKS },
		{ 0x10, 8, "\xfe\4\0\0" LOOKS },
		/* behind the end of the options, and a SYN without MSS */
		{ 0x10, 8, "\0\0\0\0" LOOKS },
		{ 0x02, 4, LOOKS },
		{ 0x02, 8, SCALE LOOKS },
		/* a SYN's layout in an ACK */
		{ 0x10, 8, MSS LOOKS },
	};
	struct frame f;
	size_t i;
	int v6;

	for (v6 = 0; v6 < 2; v6++) {
		for (i = 0; i < ARRAY_SIZE(alike); i++) {
			__u8 opts[40] = {};

			memcpy(opts, alike[i].b, alike[i].len);
			segment(&f, &shapes[v6], alike[i].flags, opts,
				sizeof(opts), 20);
			assert_left(&f, HPCCPP_PS_PASSED);
		}
	}
}

/* Which of n records gives way to ours: "Writing a record" of the format */
static int victim(const struct hpccpp_int *r, int n, const struct hpccpp_int *own)
{
	int i, v = 0;

	for (i = 0; i < n; i++)
		if (!r[i].rate)
			return i;				/* 1 */
	for (i = 1; i < n; i++)
		if (r[i].U < r[v].U ||
		    (r[i].U == r[v].U && r[i].rate > r[v].rate))
			v = i;
	if (own->U > r[v].U)
		return v;					/* 2 */
	if (own->U == r[v].U && own->rate < r[v].rate)
		return v;					/* 3 */
	return -1;						/* 4 */
}

static void gives_way_as_specified(void **state)
{
	static const __u64 rates[] = { 0, 10000000, 200000000, 100000000000 };
	int i, k, n, v, kept = 0, replaced = 0;
	struct hpccpp_int r[HPCCPP_REC_MAX];
	struct frame f, out;

	for (k = 0; k < 4000; k++) {
		n = 1 + rnd() % HPCCPP_REC_MAX;
		collect(&f, k & 1, n, rnd() % 20);
		for (i = 0; i < n; i++) {
			hpccpp_int_decode(&r[i], rnd(), rnd(), rnd());
			r[i].U = 2 + rnd() % 3;
			r[i].rate = hpccpp_rate_encode(rates[rnd() % 8 ?
							     1 + rnd() % 3 : 0]);
			put_record(f.b + f.tcp + TCP_LEN + HPCCPP_OPT_HDR +
				   i * HPCCPP_REC_LEN, &r[i]);
		}
		put_tcp_sum(&f);
		v = victim(r, n, &(struct hpccpp_int) {
			   .U = 3, .rate = port.cfg.rate_code });
		if (v < 0) {
			assert_left(&f, HPCCPP_PS_KEPT);
			kept++;
			continue;
		}
		assert_int_equal(pass(&f, &out, NULL),
				 r[v].rate ? HPCCPP_PS_REPLACED :
					     HPCCPP_PS_STAMPED);
		assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR +
			     v * HPCCPP_REC_LEN, record());
		replaced += !!r[v].rate;
	}
	assert_true(kept > 400 && replaced > 400);
}

/* Each of the 65536 sums that a segment can have is mended. */
static void mends_every_checksum(void **state)
{
	struct frame f, out;
	__u32 at, x;

	for (x = 0; x < 65536; x++) {
		collect(&f, x & 1, 1, 10);
		at = f.tcp + TCP_LEN + HPCCPP_OPT_LEN(1);
		put16(f.b + at, 0);
		put_tcp_sum(&f);
		put16(f.b + at, (f.b[f.tcp + 16] << 8 | f.b[f.tcp + 17]) + x);
		put_tcp_sum(&f);
		assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_STAMPED);
		assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR,
			     record());
	}
}

/* A segment that was damaged on the way must not arrive as a good one. */
static void damage_stays_visible(void **state)
{
	struct frame f, out;
	int k;

	for (k = 0; k < 1000; k++) {
		collect(&f, k & 1, 1 + k % HPCCPP_REC_MAX, 20);
		f.b[f.len - 1 - rnd() % 20] ^= 1 << rnd() % 8;
		assert_int_not_equal(tcp_sum(&f), 0xffff);
		assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_STAMPED);
		assert_int_equal(tcp_sum(&out) % 0xffff, tcp_sum(&f) % 0xffff);
	}
}

/*
 * A packet of many segments gets one record, and is what the queue then has, with one of
 * them on the wire.
 */
static void gso_packets(void **state)
{
	struct __sk_buff ctx = {
		.mark = 7, .priority = 3, .gso_size = 700, .gso_segs = 4,
		.wire_len = 3000,
	};
	struct frame f, out;
	int v6;

	for (v6 = 0; v6 < 2; v6++) {
		collect(&f, v6, 2, 2500);
		assert_int_equal(pass(&f, &out, &ctx), HPCCPP_PS_STAMPED);
		assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR,
			     record());
		assert_int_equal(queued(), 3000);
	}
}

#include "progs_test_jumbo.h"
#include "progs_test_syn.h"

static void fields_saturate_and_wrap(void **state)
{
	struct hpccpp_int want = record();
	struct frame f, out;

	port.U = HPCCPP_U_LIMIT;
	port.v_qlen = 1ULL << 46;
	port.v_in = port.v_qlen +
		    ((HPCCPP_MASK24 + 9ULL) << (HPCCPP_TX_SHIFT + 8));
	want.U = HPCCPP_U_MAX;
	want.qlen = HPCCPP_QLEN_MAX;
	want.tx_bytes = 8;
	collect(&f, false, 1, 0);
	assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_STAMPED);
	assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR, want);
}

/* With several queues the flow's hash chooses one, and the link says which. */
static void queue_of_the_flow(void **state)
{
	struct hpccpp_int want = record();
	__u32 at, q, seen = 0;
	struct frame f, out;
	int k;

	port.cfg.mq = 1;
	port.cfg.link = HPCCPP_LINK_MAX;
	for (k = 0; k < 64; k++) {
		collect(&f, k & 1, 1, 0);
		at = f.tcp + TCP_LEN + HPCCPP_OPT_HDR;
		assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_STAMPED);
		want.link = out.b[at] << 4 | out.b[at + 1] >> 4;
		q = (want.link - HPCCPP_LINK_MAX) & HPCCPP_LINK_MAX;
		assert_in_range(q, 0, QUEUES - 1);
		seen |= 1 << q;
		assert_wrote(&f, &out, at, want);
	}
	assert_int_equal(seen, (1 << QUEUES) - 1);
}

/* The larger program, told nothing more, does the same. */
static void extras_that_are_off(void **state)
{
	extras = true;
	writes_in_every_layout(state);
	gives_way_as_specified(state);
}

/* What an empty option's first word is to become below the threshold of 52 */
static void leaves_empty_below_the_threshold(void **state)
{
	static const struct { __u32 w0; int stat; __u32 then; } words[] = {
		{ 0, HPCCPP_PS_QUIET, 52 },
		{ 51, HPCCPP_PS_QUIET, 52 },
		{ 52, HPCCPP_PS_QUIET, 52 },
		{ 53, HPCCPP_PS_QUIET, 53 },	/* of a port before */
		{ HPCCPP_WANTED, HPCCPP_PS_STAMPED, 0 },
		{ HPCCPP_WANTED | 53, HPCCPP_PS_STAMPED, 0 },
		/* not empty: our 3/64 against another's of the same speed */
		{ 0x456 << 20 | 2, HPCCPP_PS_REPLACED, 0 },
		{ 0x456 << 20 | 3, HPCCPP_PS_KEPT, 0x456 << 20 | 3 },
	};
	struct frame f, out, want;
	__u32 at, v6, n, i, U;

	extras = true;
	port.cfg.above = 52;
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		for (n = 1; n <= HPCCPP_REC_MAX; n++) {
			for (v6 = 0; v6 < 2; v6++) {
				__u32 rate = words[i].w0 >> 20 == 0x456 ?
					     port.cfg.rate_code << 8 : 0;

				collect(&f, v6, n, 10);
				at = f.tcp + TCP_LEN + HPCCPP_OPT_HDR;
				put32(f.b + at, words[i].w0 | rate);
				put_tcp_sum(&f);
				if (rate && n > 1)	/* the next is free */
					continue;
				assert_int_equal(pass(&f, &out, NULL),
						 words[i].stat);
				if (!words[i].then) {
					assert_wrote(&f, &out, at, record());
					continue;
				}
				want = f;
				put32(want.b + at, words[i].then | rate);
				put_tcp_sum(&want);
				assert_same(&want, &out);
			}
		}
	}
	/* at the threshold and above */
	for (U = 51; U < 54; U++) {
		struct hpccpp_int r = record();

		port.U = U << (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT);
		r.U = U;
		collect(&f, false, 1, 10);
		assert_int_equal(pass(&f, &out, NULL), U < 52 ?
				 HPCCPP_PS_QUIET : HPCCPP_PS_STAMPED);
		if (U >= 52)
			assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR,
				     r);
	}
}

/* Segments whose codepoint is another are passed, whatever ECN says. */
static void writes_for_the_codepoint(void **state)
{
	struct __sk_buff ctx = { .wire_len = 1234 };
	struct frame f, out;
	int v6, ds, ecn;

	extras = true;
	port.cfg.subscribed = 1;
	port.cfg.dscp = 46;
	for (v6 = 0; v6 < 2; v6++) {
		for (ds = 0; ds < 64; ds++) {
			ecn = ds & 3;
			collect(&f, v6, 2, 10);
			if (v6)
				put32(f.b + f.l3, 0x60000000 | ds << 22 |
				      ecn << 20 | 0xabcde);
			else
				f.b[f.l3 + 1] = ds << 2 | ecn;
			if (ds != 46) {
				assert_left(&f, HPCCPP_PS_UNSUBSCRIBED);
				continue;
			}
			assert_int_equal(pass(&f, &out, NULL),
					 HPCCPP_PS_STAMPED);
			assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR,
				     record());
		}
	}
	/* it is in the virtual queue all the same */
	collect(&f, false, 1, 10);
	f.b[f.l3 + 1] = 0;
	assert_int_equal(pass(&f, &out, &ctx), HPCCPP_PS_UNSUBSCRIBED);
	assert_int_equal(queued(), 1234);
}

/* The qdisc of the device that the kernel tests with, lo, holds nothing. */
static void reads_the_qdisc(void **state)
{
	struct port_bpf *other = agent;
	struct hpccpp_int want = record();
	struct frame f, out;

	agent = load(true, true);
	port.cfg.queue = HPCCPP_QUEUE_QDISC;
	strcpy(port.cfg.kind, "noqueue");
	want.qlen = 0;
	want.tx_bytes = 0;
	collect(&f, false, 1, 0);
	assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_STAMPED);
	assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR, want);
	/* it is another qdisc, or in another place, than the port was told of */
	strcpy(port.cfg.kind, "netem");
	assert_left(&f, HPCCPP_PS_STALE);
	strcpy(port.cfg.kind, "noqueue");
	port.cfg.mq = true;
	port.cfg.queues = 1;
	assert_left(&f, HPCCPP_PS_STALE);
	port.cfg.queues = QUEUES;
	assert_left(&f, HPCCPP_PS_STALE);
	port_bpf__destroy(agent);
	agent = other;
}

/*
 * How many instructions the verifier walks is different by kernel, by three times or more: a
 * quarter of the million that all of them allow.
 */
static void far_from_the_limit(void **state)
{
	struct bpf_program *prog;
	int way;

	for (way = 0; way < 4; way++) {
		struct port_bpf *other = load(way & 1, way & 2);

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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(writes_in_every_layout, reset),
		cmocka_unit_test_setup(leaves_what_is_not_tcp, reset),
		cmocka_unit_test_setup(leaves_what_is_not_ip, reset),
		cmocka_unit_test_setup(leaves_fragments, reset),
		cmocka_unit_test_setup(leaves_ipv6_extensions, reset),
		cmocka_unit_test_setup(truncated_frames, reset),
		cmocka_unit_test_setup(every_ihl, reset),
		cmocka_unit_test_setup(every_data_offset, reset),
		cmocka_unit_test_setup(every_option_length, reset),
		cmocka_unit_test_setup(leaves_other_options, reset),
		cmocka_unit_test_setup(writes_into_the_end_of_a_burst, reset),
		cmocka_unit_test_setup(leaves_look_alikes, reset),
		cmocka_unit_test_setup(gives_way_as_specified, reset),
		cmocka_unit_test_setup(mends_every_checksum, reset),
		cmocka_unit_test_setup(damage_stays_visible, reset),
		cmocka_unit_test_setup(gso_packets, reset),
		cmocka_unit_test_setup(big_tcp, reset),
		cmocka_unit_test_setup(what_looks_like_big_tcp, reset),
		cmocka_unit_test_setup(crowd_in_a_record_that_stays, reset),
		cmocka_unit_test_setup(fields_saturate_and_wrap, reset),
		cmocka_unit_test_setup(queue_of_the_flow, reset),
		cmocka_unit_test_setup(extras_that_are_off, reset),
		cmocka_unit_test_setup(leaves_empty_below_the_threshold, reset),
		cmocka_unit_test_setup(writes_for_the_codepoint, reset),
		cmocka_unit_test_setup(reads_the_qdisc, reset),
		cmocka_unit_test(far_from_the_limit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
