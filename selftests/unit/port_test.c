// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the port agent on a clock and with maps of the test's own: what it does
 * over time, and what becomes of the copies that it sends and of the packets that it takes.
 * What it does with one segment is tested as the kernel runs it, in progs_test.c.
 */
#include "bpf_shim.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "port.bpf.c"
#include "port_maps.h"
#include "frames.h"

/* cmocka hands every test a state, and few want one */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ROOM(a)		(sizeof(a) / sizeof((a)[0]))
#define MS		1000000ULL		/* ns */
#define SECOND		(1000 * MS)
#define T_NS		(the_port.cfg.base_rtt * 1000ULL)
#define DEVICE		3

static void *map_lookup(void *map, const void *key)
{
	return port_lookup(map, key);
}

static __u32 flow_hash;		/* of the packets that are put */

/* 200 Mbit/s, T 1 ms; responds, and takes responses from ADDR4 and ADDR6 */
#define ADDR4		{ 10, 9, 9, 1 }
#define ADDR6		{ 0xfd, 9, [15] = 1 }
static int reset(void **state)
{
	static const struct hpccpp_prefix from[] = {
		{ 128, { [10] = 0xff, 0xff, 10, 9, 9, 1 } }, { 128, ADDR6 },
	};

	now = 6 * SECOND;
	memset(stats, 0, sizeof(stats));
	memset(answered_bits, 0, sizeof(answered_bits));
	memset(seen_epochs, 0, sizeof(seen_epochs));
	flow_hash = 0x1234567;
	memset(&copy, 0, sizeof(copy));
	memcpy(prefixes, from, sizeof(from));
	n_prefixes = ROOM(from);
	the_sk.state = BPF_TCP_ESTABLISHED;
	the_port = (struct hpccpp_port) { .cfg = {
		.rate = 200000000, .rate_code = hpccpp_rate_encode(200000000),
		.base_rtt = 1000, .link = 0x123, .queue = HPCCPP_QUEUE_VIRTUAL,
		.queues = 1, .mark = MARK, .respond = 1,
	} };
	the_response = (struct hpccpp_port_response) {
		.interval = 1000, .mark = MARK, .port = HPCCPP_RESPONSE_PORT,
		.accepts = ROOM(from), .addr4 = ADDR4, .addr6 = ADDR6,
	};
	the_roce = (struct hpccpp_port_roce) {
		.source = ADDR6, .type1 = HPCCPP_FCNP_TYPE1,
		.type2 = HPCCPP_FCNP_TYPE2, .cnp = 1,
	};
	return 0;
}

#include "port_test_queue.h"

/* --- A port's load over time ------------------------------------------------- */

static struct __sk_buff skb;

static void put_packet(const struct frame *f)
{
	assert_true(f->len <= sizeof(packet));
	memcpy(packet, f->b, f->len);
	packet_len = f->len;
	skb = (struct __sk_buff) {
		.len = f->len, .wire_len = f->len, .ingress_ifindex = 1,
		.hash = flow_hash,
	};
	memcpy(&skb.protocol, packet + 12, 2);
}

/* A SYN's options: the MSS, and a collect behind it */
#define SYN_MSS_LEN	4
static const __u8 syn_options[SYN_MSS_LEN + HPCCPP_OPT_LEN(1)] = {
	2, SYN_MSS_LEN, 5, 0xb4, HPCCPP_OPT_KIND, HPCCPP_OPT_LEN(1), 'H', 'C',
};

/* The record of the packet that has been put, whose option is behind so many bytes of others */
static struct hpccpp_int record_behind(const struct frame *f, __u32 others)
{
	struct hpccpp_int r;
	__be32 w[3];

	memcpy(w, packet + f->tcp + TCP_LEN + others + HPCCPP_OPT_HDR, sizeof(w));
	hpccpp_int_decode(&r, bpf_ntohl(w[0]), bpf_ntohl(w[1]), bpf_ntohl(w[2]));
	return r;
}

/* A packet of so many bytes passes: the record that it brings home */
static struct hpccpp_int stamped(__u32 wire_len)
{
	struct hpccpp_int r;
	struct frame f;

	collect(&f, false, 1, 20);
	put_packet(&f);
	skb.wire_len = wire_len;
	assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
	r = record_behind(&f, 0);
	assert_int_equal(r.link, 0x123);
	assert_int_equal(r.rate, the_port.cfg.rate_code);
	assert_int_equal(r.ts, now >> HPCCPP_TS_SHIFT & HPCCPP_MASK24);
	return r;
}

/* What the link carries with each frame counts, and the least length of a frame does. */
static void overhead_of_frames(void **state)
{
	static const struct { __u32 len, segs, overhead, takes; } cases[] = {
		{ 3000, 0, 24, 3024 }, { 3000, 1, 24, 3024 }, { 3000, 4, 24, 3096 },
		{ 3000, 4, 0, 3000 }, { 59, 0, 24, 84 }, { 60, 0, 24, 84 }, { 61, 0, 24, 85 },
		{ 59, 0, 0, 59 }, { 200, 4, 1, 244 }, { 240, 4, 1, 244 }, { 241, 4, 255, 1261 },
	};
	size_t i;

	for (i = 0; i < ROOM(cases); i++) {
		struct __sk_buff packet_of = {
			.wire_len = cases[i].len, .gso_segs = cases[i].segs,
		};

		the_port.cfg.overhead = cases[i].overhead;
		assert_int_equal(link_bytes(&packet_of, segments(&packet_of), &the_port.cfg),
				 cases[i].takes);
	}
	/* a guest's, whose segments nobody has counted */
	assert_int_equal(segments(&(struct __sk_buff){ .len = 3001, .gso_size = 1000 }), 4);
	assert_int_equal(segments(&(struct __sk_buff){ .len = 3000, .gso_size = 1000 }), 3);
	the_port.cfg.overhead = 24;
	stamped(1250);
	assert_int_equal(the_port.v_in, 1274 << 8);
	assert_int_equal(stamped(1250).qlen, 0);
	assert_int_equal(stamped(1250).qlen, 1274 >> HPCCPP_QLEN_SHIFT);
}

/* So many packets of 1250 bytes, a part of the link's rate in percent */
static struct hpccpp_int load_link(int n, int percent)
{
	struct hpccpp_int r = {};

	while (n--) {
		now += 1250 * 8 * SECOND / the_port.cfg.rate * 100 / percent;
		r = stamped(1250);
	}
	return r;
}

static void load_is_averaged_over_T(void **state)
{
	struct hpccpp_int r;

	/* 20 packets of 50 us are T: (1 - 1/20)^20 of the old load is left */
	assert_in_range(load_link(200, 100).U, 63, 64);
	assert_in_range(load_link(200, 50).U, 31, 32);
	assert_in_range(load_link(10, 100).U, 42, 46);
	assert_in_range(load_link(200, 25).U, 15, 16);
	/*
	 * What the link does not take waits, B T in each T, and counts: U is 1.09 and 2.03
	 * then. Of 80 packets, with the one before, half are gone, and one is on the wire.
	 */
	assert_in_range(load_link(40, 200).U, 66, 71);
	r = load_link(40, 200);
	assert_in_range(r.U, 124, 132);
	assert_int_equal(r.qlen, (80 * 625 - 1250) / 128 * 2);
	assert_int_equal(load_link(200, 50).qlen, 0);
}

/* A load of long ago is none, however long ago: ts alone would wrap in 268 ms. */
static void load_is_none_after_a_pause(void **state)
{
	static const __u64 idle[] = {
		9 * MS, 50 * MS, 130 * MS, 140 * MS, 268 * MS, 270 * MS, 300 * MS,
		537 * MS, 1 * SECOND, 3 * SECOND, 60 * SECOND, 1000 * SECOND,
	};
	size_t i;

	for (i = 0; i < ROOM(idle); i++) {
		assert_in_range(load_link(200, 100).U, 63, 64);
		now += idle[i];
		assert_int_equal(stamped(1250).U, 0);
		assert_in_range(load_link(20, 100).U, 38, 64);
	}
	/* less than 8 T ago it is a measurement: one packet in 2 T is 1/40 */
	assert_in_range(load_link(200, 100).U, 63, 64);
	now += 2 * MS;
	assert_in_range(stamped(1250).U, 1, 2);
}

/* Whose clock is behind brings no measurement, and takes none away. */
static void load_takes_no_step_back(void **state)
{
	struct hpccpp_link last;

	load_link(200, 50);
	last = the_port.last;
	now -= 100000;
	assert_in_range(stamped(1250).U, 31, 32);
	assert_memory_equal(&last, &the_port.last, sizeof(last));
}

/* --- How many flows a port has ------------------------------------------------ */

#define EPOCH_NS	(HPCCPP_COUNT_T * T_NS)

/* Packets of so many flows in each of so many epochs, one of each in "every" of them */
static void crowd(__u32 flows, __u32 epochs, __u32 every)
{
	__u32 n;

	while (epochs--) {
		now += EPOCH_NS;
		for (n = 0; n < flows; n++) {
			flow_hash = 5 * n + 3 * HPCCPP_SEEN;
			if (!((n + now / EPOCH_NS) % every))
				stamped(100);
		}
	}
}

static __u32 flows_told(void)
{
	return hpccpp_N_decode(stamped(100).N) / 4;
}

static void flows_are_counted(void **state)
{
	static const __u32 flows[] = { 1, 2, 3, 8, 16, 64, 256, 1024, 3072 };
	size_t i;

	for (i = 0; i < ROOM(flows); i++) {
		reset(state);
		crowd(flows[i], 3, 1);
		assert_int_equal(the_port.flows.N, flows[i]);
		assert_int_equal(flows_told(), flows[i]);
	}
}

/* A flow of one packet, or of many that come at one time, is none. */
static void flow_counts_from_its_second_epoch(void **state)
{
	crowd(8, 1, 1);
	now -= EPOCH_NS - 1;
	crowd(8, 1, 1);			/* in the same epoch */
	assert_int_equal(flows_told(), 1);
	now -= 1;
	crowd(8, 1, 1);
	assert_int_equal(flows_told(), 8);
}

static void flow_counts_once_in_an_epoch(void **state)
{
	int n;

	crowd(2, 3, 1);
	for (n = 0; n < 20; n++)
		assert_int_equal(flows_told(), 2);
}

/* What does not ask is no packet of a flow here: ACKs, and flows of others. */
static void flow_counts_that_asks(void **state)
{
	struct frame f;
	__u32 n;

	for (n = 0; n < 40; n++) {
		if (!(n % 10))
			crowd(2, 1, 1);
		flow_hash = 1000 + n % 10;
		collect(&f, false, 1, 20);
		f.b[f.tcp + TCP_LEN] = 77;
		put_packet(&f);
		assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
	}
	assert_int_equal(the_port.flows.N, 2);
}

static void flows_of_one_hash_are_one(void **state)
{
	for (int n = 0; n < 6; n++) {
		now += EPOCH_NS;
		flow_hash = 7;
		stamped(100);
		flow_hash = 7 + HPCCPP_SEEN;
		stamped(100);
	}
	assert_int_equal(flows_told(), 1);
}

/* An eighth goes in each epoch: 64 to 29 in six. */
static void crowd_is_forgotten(void **state)
{
	__u32 left = 64;

	crowd(64, 3, 1);
	for (int n = 0; n < 40; n++) {
		crowd(1, 1, 1);
		assert_int_equal(the_port.flows.N, left);
		left -= (left + 7) / 8;
		if (!left)
			left = 1;
	}
	assert_int_equal(left, 1);
}

static void crowd_of_long_ago_is_none(void **state)
{
	/* half in five epochs: a quarter in ten */
	crowd(64, 3, 1);
	now += 10 * EPOCH_NS;
	crowd(1, 1, 1);
	assert_int_equal(the_port.flows.N, 16);
	crowd(64, 20, 1);
	now += 64 * EPOCH_NS;
	crowd(1, 1, 1);
	assert_int_equal(the_port.flows.N, 1);
	/* nor does it count as the one that it was */
	crowd(64, 1, 1);
	assert_int_equal(the_port.flows.N, 1);
}

/* All pause together, or all but one: they are as many as before. */
static void crowd_returns_from_a_pause(void **state)
{
	crowd(64, 3, 1);
	now += 20 * EPOCH_NS;
	crowd(64, 1, 1);
	assert_int_equal(the_port.flows.N, 64);
	crowd(64, 1, 1);
	assert_int_equal(the_port.flows.N, 64);
	crowd(1, 8, 1);
	crowd(64, 1, 1);
	assert_int_equal(the_port.flows.N, 64);
	crowd(64, 1, 1);
	assert_int_equal(the_port.flows.N, 64);
	/* half of them in the next epoch: a long pause is none of their epochs */
	crowd(1, 30, 1);
	crowd(32, 1, 1);
	crowd(64, 1, 1);
	assert_int_equal(the_port.flows.N, 64);
}

/* Epochs are numbered modulo 2^32. */
static void flows_are_counted_over_a_wrap(void **state)
{
	now = ((1ULL << 32) - 3) * EPOCH_NS;
	crowd(8, 3, 1);
	for (int n = 0; n < 6; n++) {
		crowd(8, 1, 1);
		assert_int_equal(the_port.flows.N, 8);
	}
	/* and where half of them have passed since a slot was used */
	now += (1ULL << 31) * EPOCH_NS;
	crowd(8, 3, 1);
	assert_int_equal(the_port.flows.N, 8);
}

/* Its packet in a queue whose epoch is ahead came first. */
static void flow_counts_once_in_two_queues(void **state)
{
	crowd(2, 3, 1);
	seen_epochs[5] = the_port.flows.epoch + 2;
	crowd(2, 1, 1);
	assert_int_equal(seen_epochs[5], the_port.flows.epoch + 1);
	crowd(2, 1, 1);
	assert_int_equal(the_port.flows.now, 1);
	crowd(2, 1, 1);
	assert_int_equal(the_port.flows.now, 2);
}

/* One that asks rarely is no crowd. */
static void flow_that_asks_rarely(void **state)
{
	__u32 n;

	crowd(1, 3, 1);
	for (n = 0; n < 100; n++) {
		now += n * EPOCH_NS;
		crowd(1, 1, 1);
		assert_int_equal(the_port.flows.N, 1);
	}
}

/* A flow that asks in each eighth epoch counts eight times then. */
static void flows_that_ask_rarely(void **state)
{
	static const __u32 flows[] = { 8, 16, 24, 64, 128 };
	size_t i;
	__u32 n;

	for (i = 0; i < ROOM(flows); i++) {
		reset(state);
		crowd(flows[i], 20, 8);
		for (n = 0; n < 50; n++) {
			crowd(flows[i], 1, 8);
			assert_int_equal(the_port.flows.N, flows[i]);
		}
	}
}

/* --- Whom a port answers, and how often -------------------------------------- */

static void only_of(__u32 flow, __u32 period)
{
	memset(answered_bits, 0, sizeof(answered_bits));
	answered(flow, period);
}

static void each_flow_once_in_a_period(void **state)
{
	__u32 flow, period, shared = 0, n;

	/* longer than the filter has entries: it has to forget */
	for (period = 1; period <= 20000; period++) {
		assert_false(answered(0xdecade, period));
		assert_true(answered(0xdecade, period));
	}
	/* 32 flows set 64 bits of 4096: one in thousands finds both set */
	for (; period <= 21000; period++) {
		for (flow = 0; flow < 32; flow++)
			shared += answered(flow * 0x01000193, period);
	}
	assert_in_range(shared, 0, 32);
	/* and two that share theirs in one period do not in the next ones */
	assert_false(answered(0xdecade, ++period));
	for (flow = 1; !answered(flow, period) && flow < 1000000; flow++)
		only_of(0xdecade, period);
	assert_true(flow < 1000000);
	shared = 0;
	for (n = 0; n < 100; n++) {
		assert_false(answered(0xdecade, ++period));
		shared += answered(flow, period);
	}
	assert_in_range(shared, 0, 2);
}

static void as_many_as_the_limit(void **state)
{
	struct hpccpp_port_response *c = &the_response;
	int i, n;

	c->interval = 10 * MS;
	for (i = 0; i < 3; i++) {
		/* 100 ms of its rate at once, and the one that is due */
		for (n = 0; !over_limit(&c->lock, &c->next, c->interval); n++)
			;
		assert_int_equal(n, 11);
		/* then one in 10 ms */
		for (n = 0; n < 50; n++) {
			now += 10 * MS - 1;
			assert_true(over_limit(&c->lock, &c->next, c->interval));
			now += 1;
			assert_false(over_limit(&c->lock, &c->next, c->interval));
			assert_true(over_limit(&c->lock, &c->next, c->interval));
		}
		/* no pause saves up more */
		now += 1000 * SECOND;
	}
}

static __u64 counted(void)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < HPCCPP_PS_MAX; i++)
		sum += stats[i];
	return sum;
}

static void answer_counts_why_not(void **state)
{
	int i;

	now -= now % T_NS;
	assert_true(may_answer(&the_response, &the_port, 5));
	assert_int_equal(counted(), 0);
	assert_false(may_answer(&the_response, &the_port, 5));
	assert_int_equal(stats[HPCCPP_PS_SUPPRESSED], 1);
	now += T_NS - 1;
	assert_false(may_answer(&the_response, &the_port, 5));
	assert_int_equal(stats[HPCCPP_PS_SUPPRESSED], 2);
	now += 1;
	assert_true(may_answer(&the_response, &the_port, 5));
	the_response.next = now + SECOND;
	assert_false(may_answer(&the_response, &the_port, 6));
	assert_int_equal(stats[HPCCPP_PS_LIMITED], 1);
	assert_int_equal(counted(), 3);
	/* of 30 flows at once as many as the limit allows */
	the_response.next = 0;
	the_response.interval = 10 * MS;
	for (i = 0; i < 30; i++)
		may_answer(&the_response, &the_port, 100 + i);
	assert_int_equal(stats[HPCCPP_PS_LIMITED], 1 + 30 - 11);
}

/* A load of U, or where nothing has been measured the queue's and the link's own */
static void congested_from_the_threshold(void **state)
{
	const __u64 bdp = 25000;
	struct load l = {};

	assert_false(congested(&the_port, 63, &l, 64));
	assert_true(congested(&the_port, 64, &l, 64));
	assert_true(congested(&the_port, 65, &l, 64));
	assert_false(congested(&the_port, 0, &l, 1));
	l.qlen = 1;		/* the link is full then, and more */
	assert_true(congested(&the_port, 0, &l, 64));
	assert_false(congested(&the_port, 0, &l, 65));
	assert_false(congested(&the_port, 1, &l, 64));
	l.qlen = bdp - 1;
	assert_false(congested(&the_port, 0, &l, 128));
	l.qlen = bdp;
	assert_true(congested(&the_port, 0, &l, 128));
}

#include "port_test_syn.h"
#include "port_test_answers.h"
#include "port_test_roce.h"

/* --- What packets have in common --------------------------------------------- */

static void sums_are_folded(void **state)
{
	static const __u64 sums[] = {
		0, 1, 0xffff, 0x10000, 0x1ffff, 0xffffffff, 0x100000000, 0x1ffffffff,
		0xffff0000ffff, 0xffffffff00010000, 0xffffffff0000, 0xfffffffffffe, 0xffffffffffff,
	};
	__u64 sum;
	int i;

	for (i = 0; i < 100000; i++) {
		sum = i < (int)ROOM(sums) ? sums[i] : (__u64)rnd() << (rnd() % 17) | rnd();
		assert_int_equal(fold16(sum), folded(sum));
	}
}

/* The command shows counters by these names, in this order. */
static void counters_have_their_names(void **state)
{
	static const char * const names[] = HPCCPP_PORT_STAT_NAMES;
	static const struct { int stat; const char *name; } is[] = {
		{ HPCCPP_PS_STAMPED, "stamped" }, { HPCCPP_PS_REPLACED, "replaced" },
		{ HPCCPP_PS_KEPT, "kept" }, { HPCCPP_PS_PASSED, "passed" },
		{ HPCCPP_PS_QUIET, "quiet" }, { HPCCPP_PS_UNSUBSCRIBED, "unsubscribed" },
		{ HPCCPP_PS_BAD, "bad" }, { HPCCPP_PS_ERROR, "error" },
		{ HPCCPP_PS_RESPONDED, "responded" }, { HPCCPP_PS_SUPPRESSED, "suppressed" },
		{ HPCCPP_PS_LIMITED, "limited" }, { HPCCPP_PS_ACCEPTED, "accepted" },
		{ HPCCPP_PS_DENIED, "denied" }, { HPCCPP_PS_UNKNOWN, "unknown" },
		{ HPCCPP_PS_OUTSIDE, "outside" }, { HPCCPP_PS_DAMAGED, "damaged" },
		{ HPCCPP_PS_CNP_SENT, "cnp_sent" }, { HPCCPP_PS_CNP_CUT, "cnp_cut" },
		{ HPCCPP_PS_CNP_MARKED, "cnp_marked" }, { HPCCPP_PS_TRACED, "traced" },
		{ HPCCPP_PS_TRACE_FULL, "trace_full" }, { HPCCPP_PS_TRACE_BAD, "trace_bad" },
		{ HPCCPP_PS_BORDER_IN, "border_in" }, { HPCCPP_PS_BORDER_OUT, "border_out" },
		{ HPCCPP_PS_GUESSED, "guessed" }, { HPCCPP_PS_NOT_TCP, "not_tcp" },
		{ HPCCPP_PS_TUNNEL, "tunnel" }, { HPCCPP_PS_EXTENSION, "extension" },
		{ HPCCPP_PS_TAGS, "tags" }, { HPCCPP_PS_OTHER, "other" },
		{ HPCCPP_PS_STALE, "stale" }, { HPCCPP_PS_SEGMENTS, "segments" },
	};
	size_t i;

	assert_int_equal(ROOM(names), HPCCPP_PS_MAX);
	assert_int_equal(ROOM(is), HPCCPP_PS_MAX);
	for (i = 0; i < ROOM(is); i++)
		assert_string_equal(names[is[i].stat], is[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(queue_drains_at_the_rate, reset),
		cmocka_unit_test_setup(queue_is_empty_after_a_pause, reset),
		cmocka_unit_test_setup(queue_keeps_its_time, reset),
		cmocka_unit_test_setup(queue_leaves_out_what_is_held_back, reset),
		cmocka_unit_test_setup(held_back_only_for_their_time, reset),
		cmocka_unit_test_setup(held_back_until_the_last_leaves, reset),
		cmocka_unit_test_setup(departure_time_is_to_come, reset),
		cmocka_unit_test_setup(queue_loses_nothing, reset),
		cmocka_unit_test_setup(gso_packet_is_its_segments, reset),
		cmocka_unit_test_setup(overhead_of_frames, reset),
		cmocka_unit_test_setup(load_is_averaged_over_T, reset),
		cmocka_unit_test_setup(load_is_none_after_a_pause, reset),
		cmocka_unit_test_setup(load_takes_no_step_back, reset),
		cmocka_unit_test_setup(flows_are_counted, reset),
		cmocka_unit_test_setup(flow_counts_from_its_second_epoch, reset),
		cmocka_unit_test_setup(flow_counts_once_in_an_epoch, reset),
		cmocka_unit_test_setup(flow_counts_that_asks, reset),
		cmocka_unit_test_setup(flows_of_one_hash_are_one, reset),
		cmocka_unit_test_setup(crowd_is_forgotten, reset),
		cmocka_unit_test_setup(crowd_of_long_ago_is_none, reset),
		cmocka_unit_test_setup(crowd_is_told_to_a_syn, reset),
		cmocka_unit_test_setup(crowd_that_has_begun_is_none, reset),
		cmocka_unit_test_setup(crowd_is_told_with_the_record_of_another, reset),
		cmocka_unit_test_setup(crowd_of_a_record_that_gives_way, reset),
		cmocka_unit_test_setup(crowd_that_cannot_be_told, reset),
		cmocka_unit_test_setup(crowd_is_of_subscribers, reset),
		cmocka_unit_test_setup(crowd_returns_from_a_pause, reset),
		cmocka_unit_test_setup(flows_are_counted_over_a_wrap, reset),
		cmocka_unit_test_setup(flow_counts_once_in_two_queues, reset),
		cmocka_unit_test_setup(flow_that_asks_rarely, reset),
		cmocka_unit_test_setup(flows_that_ask_rarely, reset),
		cmocka_unit_test_setup(each_flow_once_in_a_period, reset),
		cmocka_unit_test_setup(as_many_as_the_limit, reset),
		cmocka_unit_test_setup(answer_counts_why_not, reset),
		cmocka_unit_test_setup(congested_from_the_threshold, reset),
		cmocka_unit_test_setup(answers_data_that_it_forwards, reset),
		cmocka_unit_test_setup(answers_nobody_of_its_own, reset),
		cmocka_unit_test_setup(copies_do_not_leave, reset),
		cmocka_unit_test_setup(responses_are_as_specified, reset),
		cmocka_unit_test_setup(responses_have_a_sum, reset),
		cmocka_unit_test_setup(responses_that_cannot_leave, reset),
		cmocka_unit_test_setup(takes_what_is_in_flight, reset),
		cmocka_unit_test_setup(receiver_takes_what_may_come, reset),
		cmocka_unit_test_setup(takes_none_of_no_connection, reset),
		cmocka_unit_test_setup(takes_none_that_is_damaged, reset),
		cmocka_unit_test_setup(takes_from_whom_is_listed, reset),
		cmocka_unit_test_setup(leaves_what_is_no_response, reset),
		cmocka_unit_test_setup(cnps_without_a_trace, reset),
		cmocka_unit_test_setup(cnps_with_a_trace, reset),
		cmocka_unit_test_setup(cnps_of_a_port_that_is_no_node, reset),
		cmocka_unit_test_setup(cnps_have_a_sum, reset),
		cmocka_unit_test_setup(cnps_about_data_only, reset),
		cmocka_unit_test_setup(cnps_to_one_host_only, reset),
		cmocka_unit_test_setup(cnps_of_finished_sums, reset),
		cmocka_unit_test_setup(walks_to_the_data, reset),
		cmocka_unit_test_setup(walks_past_options_of_the_domain, reset),
		cmocka_unit_test_setup(walks_to_our_trace, reset),
		cmocka_unit_test_setup(nodes_have_all_that_hpcc_takes, trace_reset),
		cmocka_unit_test_setup(nodes_have_what_is_known, trace_reset),
		cmocka_unit_test_setup(nodes_of_unknown_interfaces, trace_reset),
		cmocka_unit_test_setup(nodes_that_find_no_room, trace_reset),
		cmocka_unit_test_setup(marks_who_takes_no_cnps, reset),
		cmocka_unit_test_setup(cnps_about_tagged_data, reset),
		cmocka_unit_test_setup(cnps_about_routed_data, reset),
		cmocka_unit_test_setup(border_stops_what_is_the_domains, reset),
		cmocka_unit_test_setup(sums_are_folded, reset),
		cmocka_unit_test_setup(counters_have_their_names, reset),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
