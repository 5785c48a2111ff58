// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the port agent with a clock and maps of the test's own: single segments, the
 * port's load and number of flows over time, and INT responses and Fast CNPs.
 */
#include "bpf_shim.h"

#include "test.h"
#include "port.bpf.c"
#include "port_maps.h"
#include "frames.h"
#include "responses.h"

#define ROOM(a)		(sizeof(a) / sizeof((a)[0]))
#define MS		1000000ULL		/* ns */
#define SECOND		(1000 * MS)
#define T_NS		(the_port.cfg.base_rtt * 1000ULL)

static void *map_lookup(void *map, const void *key)
{
	return port_lookup(map, key);
}

static __u32 flow_hash;		/* of the next packet */

static int rows_reset(void **state);

/* 200 Mbit/s, T 1 ms; sends responses from ADDR4 and ADDR6, and accepts them from these */
static int set_up(void **state)
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
	return rows_reset(state);
}

#include "port_test_rows.h"
#include "port_test_headers.h"
#include "port_test_queue.h"

/* --- A port's load over time ------------------------------------------------- */

/* A SYN's options: the MSS, and a request */
#define SYN_MSS_LEN	4
static const __u8 syn_options[SYN_MSS_LEN + HPCCPP_OPT_LEN(1)] = {
	2, SYN_MSS_LEN, 5, 0xb4, HPCCPP_OPT_KIND, HPCCPP_OPT_LEN(1), 'H', 'C',
};

/* Returns the record of the last packet, whose option follows "others" bytes of options. */
static struct hpccpp_int record_after(const struct frame *f, __u32 others)
{
	struct hpccpp_int r;
	__be32 w[3];

	memcpy(w, packet + f->tcp + TCP_LEN + others + HPCCPP_OPT_HDR, sizeof(w));
	hpccpp_int_decode(&r, bpf_ntohl(w[0]), bpf_ntohl(w[1]), bpf_ntohl(w[2]));
	return r;
}

/* Sends a packet of this length; returns the record that it leaves with. */
static struct hpccpp_int written(__u32 wire_len)
{
	struct hpccpp_int r;
	struct frame f;

	collect(&f, false, 1, 20);
	put_packet(&f);
	skb.wire_len = wire_len;
	assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
	r = record_after(&f, 0);
	assert_int_equal(r.link, 0x123);
	assert_int_equal(r.rate, the_port.cfg.rate_code);
	assert_int_equal(r.ts, now >> HPCCPP_TS_SHIFT & HPCCPP_MASK24);
	return r;
}

/* Where no CPU or socket has a queue: that of the receiving device, else the flow's hash */
TEST(queue_of_the_packet)
{
	static const struct { bool mq; __u32 mapping, hash, queue, then; } rows[] = {
		{ true, 1, 3, 0, 1 }, { true, 4, 0, 3, 4 }, { true, 5, 3, 0, 1 },
		{ true, 0, 3, 3, 4 }, { true, 0, 6, 2, 3 }, { false, 3, 3, 0, 3 },
	};
	struct frame f;
	size_t i;

	the_port.cfg.queues = 4;
	the_port.cfg.link = HPCCPP_LINK_MAX;
	for (i = 0; i < ROOM(rows); i++) {
		the_port.cfg.mq = rows[i].mq;
		flow_hash = rows[i].hash;
		collect(&f, i & 1, 1, 20);
		put_packet(&f);
		skb.queue_mapping = rows[i].mapping;
		assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
		/* the link id names the queue */
		assert_int_equal(record_after(&f, 0).link,
				 (HPCCPP_LINK_MAX + rows[i].queue) & HPCCPP_LINK_MAX);
		assert_int_equal(skb.queue_mapping, rows[i].then);
	}
}

/* Each frame has an overhead and a minimum length; without an overhead it has neither. */
TEST(overhead_of_frames)
{
	static const struct { __u32 len, segs, overhead, bytes; } rows[] = {
		{ 3000, 0, 24, 3024 }, { 3000, 1, 24, 3024 }, { 3000, 4, 24, 3096 },
		{ 3000, 4, 0, 3000 }, { 59, 0, 24, 84 }, { 60, 0, 24, 84 }, { 61, 0, 24, 85 },
		{ 59, 0, 0, 59 }, { 200, 4, 1, 244 }, { 240, 4, 1, 244 }, { 241, 4, 255, 1261 },
	};
	struct frame f;
	size_t i;

	for (i = 0; i < ROOM(rows); i++) {
		struct __sk_buff b = { .wire_len = rows[i].len, .gso_segs = rows[i].segs };

		the_port.cfg.overhead = rows[i].overhead;
		assert_int_equal(link_bytes(b.wire_len, segments(&b), &the_port.cfg),
				 rows[i].bytes);
	}
	/* a guest's GSO packet, which has a size of its segments and no number */
	assert_int_equal(segments(&(struct __sk_buff){ .len = 3001, .gso_size = 1000 }), 4);
	assert_int_equal(segments(&(struct __sk_buff){ .len = 3000, .gso_size = 1000 }), 3);
	collect(&f, false, 1, 20);
	put_packet(&f);
	skb.gso_size = 700;
	skb.gso_segs = 4;
	assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
	assert_int_equal(stats[HPCCPP_PS_SEGMENTS], 3);
	set_up(state);
	the_port.cfg.overhead = 24;
	written(1250);
	assert_int_equal(the_port.v_in, 1274 << 8);
	assert_int_equal(written(1250).qlen, 0);
	assert_int_equal(written(1250).qlen, 1274 >> HPCCPP_QLEN_SHIFT);
	skb.gso_segs = 4;
	skb.gso_size = 300;
	hpccpp_port(&skb);
	assert_int_equal(stats[HPCCPP_PS_SEGMENTS], 3);
}

/* Sends n packets of 1250 bytes at this percentage of the link's rate */
static struct hpccpp_int load_link(int n, int percent)
{
	struct hpccpp_int r = {};

	while (n--) {
		now += 1250 * 8 * SECOND / the_port.cfg.rate * 100 / percent;
		r = written(1250);
	}
	return r;
}

TEST(load_is_averaged_over_T)
{
	struct hpccpp_int r;

	/* 20 packets of 50 us are T: (1 - 1/20)^20 of the old load is left */
	assert_in_range(load_link(200, 100).U, 63, 64);
	assert_in_range(load_link(200, 50).U, 31, 32);
	assert_in_range(load_link(10, 100).U, 42, 46);
	assert_in_range(load_link(200, 25).U, 15, 16);
	/*
	 * At twice the rate the queue grows by B T in each T and counts: U is 1.09 and 2.03.
	 * Half of the 80 packets have left, and one is in transmission.
	 */
	assert_in_range(load_link(40, 200).U, 66, 71);
	r = load_link(40, 200);
	assert_in_range(r.U, 124, 132);
	assert_int_equal(r.qlen, (80 * 625 - 1250) / 128 * 2);
	assert_int_equal(load_link(200, 50).qlen, 0);
}

/* After 8 T without a packet the load is 0, also where ts, which wraps in 268 ms, looks new. */
TEST(load_is_zero_after_a_pause)
{
	static const __u64 idle[] = {
		9 * MS, 50 * MS, 130 * MS, 140 * MS, 268 * MS, 270 * MS, 300 * MS,
		537 * MS, 1 * SECOND, 3 * SECOND, 60 * SECOND, 1000 * SECOND,
	};
	size_t i;

	for (i = 0; i < ROOM(idle); i++) {
		assert_in_range(load_link(200, 100).U, 63, 64);
		now += idle[i];
		assert_int_equal(written(1250).U, 0);
		assert_in_range(load_link(20, 100).U, 38, 64);
	}
	/* a shorter pause is measured: one packet in 2 T is 1/40 */
	assert_in_range(load_link(200, 100).U, 63, 64);
	now += 2 * MS;
	assert_in_range(written(1250).U, 1, 2);
}

/* A CPU whose clock is behind changes neither the load nor the last snapshot. */
TEST(load_ignores_older_clocks)
{
	struct hpccpp_link last;

	load_link(200, 50);
	last = the_port.last;
	now -= 100000;
	assert_in_range(written(1250).U, 31, 32);
	assert_memory_equal(&last, &the_port.last, sizeof(last));
}

/* --- The number of flows ------------------------------------------------------ */

#define EPOCH_NS	(HPCCPP_COUNT_T * T_NS)

/* In each epoch those of the flows send whose turn it is, once in "every" epochs */
static void send_flows(__u32 flows, __u32 epochs, __u32 every)
{
	__u32 n;

	while (epochs--) {
		now += EPOCH_NS;
		for (n = 0; n < flows; n++) {
			flow_hash = 5 * n + 3 * HPCCPP_SEEN;
			if (!((n + now / EPOCH_NS) % every))
				written(100);
		}
	}
}

/* N after each step; 0: it is not checked */
static const struct flow_row {
	const char *why;
	struct { __u32 pause, flows, epochs, every, N; } step[8];
	__u64 first;			/* epoch, unless 0 */
} flow_rows[] = {
	{ "A flow counts from its second epoch on.", { { 0, 8, 1, 1, 1 }, { 0, 8, 1, 1, 8 } } },
	{ "One flow.", { { 0, 1, 3, 1, 1 } } },
	{ "1024 flows.", { { 0, 1024, 3, 1, 1024 } } },
	{ "3072 flows.", { { 0, 3072, 3, 1, 3072 } } },
	{ "When flows end, N falls by an eighth in each epoch, rounded up.",
	  { { 0, 64, 3, 1, 64 }, { 0, 1, 2, 1, 56 }, { 0, 1, 1, 1, 49 }, { 0, 1, 1, 1, 42 },
	    { 0, 1, 1, 1, 36 }, { 0, 1, 30, 1, 1 } } },
	{ "In ten epochs without any packet N falls to a quarter.",
	  { { 0, 64, 3, 1, 64 }, { 9, 1, 1, 1, 16 } } },
	{ "After 64 epochs without a packet flows are new.",
	  { { 0, 64, 20, 1, 64 }, { 63, 1, 1, 1, 1 }, { 0, 64, 1, 1, 1 } } },
	{ "All flows pause together, and none counts for the pause.",
	  { { 0, 64, 3, 1, 64 }, { 20, 64, 1, 1, 64 }, { 0, 64, 1, 1, 64 } } },
	{ "All flows but one pause.",
	  { { 0, 64, 3, 1, 64 }, { 0, 1, 8, 1 }, { 0, 64, 1, 1, 64 }, { 0, 64, 1, 1, 64 } } },
	{ "Flows return from a pause in two epochs.",
	  { { 0, 64, 3, 1, 64 }, { 0, 1, 30, 1 }, { 0, 32, 1, 1 }, { 0, 64, 1, 1, 64 } } },
	{ "Numbers of epochs wrap at 2^32.",
	  { { 0, 8, 3, 1, 8 }, { 0, 8, 1, 1, 8 }, { 0, 8, 1, 1, 8 }, { 0, 8, 1, 1, 8 } },
	  .first = (1ULL << 32) - 4 },
	{ "A flow that was seen 2^31 epochs ago counts again.",
	  { { 0, 8, 3, 1, 8 }, { 1U << 31, 8, 3, 1, 8 } } },
	{ "8 flows of which each requests in one of 8 epochs.",
	  { { 0, 8, 20, 8, 8 }, { 0, 8, 1, 8, 8 }, { 0, 8, 1, 8, 8 }, { 0, 8, 1, 8, 8 },
	    { 0, 8, 1, 8, 8 }, { 0, 8, 1, 8, 8 }, { 0, 8, 40, 8, 8 } } },
	{ "128 flows of which each requests in one of 8 epochs.",
	  { { 0, 128, 20, 8, 128 }, { 0, 128, 1, 8, 128 }, { 0, 128, 1, 8, 128 },
	    { 0, 128, 1, 8, 128 }, { 0, 128, 1, 8, 128 }, { 0, 128, 40, 8, 128 } } },
	{ "One flow that requests less and less often is one flow.",
	  { { 0, 1, 3, 1, 1 }, { 1, 1, 1, 1, 1 }, { 5, 1, 1, 1, 1 }, { 7, 1, 1, 1, 1 },
	    { 9, 1, 1, 1, 1 }, { 50, 1, 1, 1, 1 }, { 70, 1, 1, 1, 1 } } },
};

TEST(flows_are_counted)
{
	const struct flow_row *r;
	size_t i, k;

	for (i = 0; i < ROOM(flow_rows); i++) {
		r = &flow_rows[i];
		set_up(state);
		if (r->first)
			now = r->first * EPOCH_NS;
		for (k = 0; k < ROOM(r->step) && r->step[k].flows; k++) {
			now += r->step[k].pause * EPOCH_NS;
			send_flows(r->step[k].flows, r->step[k].epochs, r->step[k].every);
			if (r->step[k].N && the_port.flows.N != r->step[k].N)
				fail_msg("%s Step %zu: N is %u.", r->why, k, the_port.flows.N);
		}
	}
}

/* Further packets of an epoch, and packets without a request, are no more flows. */
TEST(flow_counts_once)
{
	struct frame f;
	__u32 n;

	send_flows(8, 1, 1);
	now -= EPOCH_NS - 1;
	send_flows(8, 1, 1);		/* in the same epoch */
	assert_int_equal(the_port.flows.N, 1);
	now -= 1;
	send_flows(8, 1, 1);
	assert_int_equal(hpccpp_N_decode(written(100).N), 8 * 4);
	send_flows(2, 30, 1);
	for (n = 0; n < 40; n++) {
		if (!(n % 10)) {
			send_flows(2, 1, 1);
			assert_int_equal(hpccpp_N_decode(written(100).N), 2 * 4);
		}
		assert_int_equal(the_port.flows.N, 2);
		flow_hash = 1000 + n % 10;
		collect(&f, false, 1, 20);
		f.b[f.tcp + TCP_LEN] = 77;
		put_packet(&f);
		assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
	}
}

TEST(flows_of_one_hash_are_one)
{
	for (int n = 0; n < 6; n++) {
		send_flows(1, 1, 1);
		flow_hash += HPCCPP_SEEN;
		assert_int_equal(hpccpp_N_decode(written(100).N), 1 * 4);
	}
}

/* A flow whose packet in another queue of the device came first, in the next epoch */
TEST(flow_counts_once_in_two_queues)
{
	send_flows(2, 3, 1);
	seen_epochs[5] = the_port.flows.epoch + 2;
	send_flows(2, 1, 1);
	assert_int_equal(seen_epochs[5], the_port.flows.epoch + 1);
	send_flows(2, 1, 1);
	assert_int_equal(the_port.flows.now, 1);
	send_flows(2, 1, 1);
	assert_int_equal(the_port.flows.now, 2);
	/* 64 epochs ahead at most */
	seen_epochs[5] = the_port.flows.epoch + 1 + HPCCPP_COUNT_OLD;
	send_flows(2, 1, 1);
	assert_int_equal(seen_epochs[5], the_port.flows.epoch + HPCCPP_COUNT_OLD);
}

#include "port_test_edge.h"
#include "port_test_syn.h"
#include "port_test_answers.h"
#include "port_test_roce.h"

/* --- Sums and names ----------------------------------------------------------- */

TEST(sums_are_folded)
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

/* The command prints counters with the names of their constants in lower case. */
#define NAME(stat)	{ HPCCPP_PS_##stat, #stat }
TEST(counters_have_their_names)
{
	static const char * const names[] = HPCCPP_PORT_STAT_NAMES;
	static const struct { int stat; const char *name; } is[] = {
		NAME(STAMPED), NAME(REPLACED), NAME(KEPT), NAME(PASSED), NAME(QUIET),
		NAME(UNSUBSCRIBED), NAME(BAD), NAME(ERROR), NAME(RESPONDED), NAME(SUPPRESSED),
		NAME(LIMITED), NAME(ACCEPTED), NAME(DENIED), NAME(UNKNOWN), NAME(OUTSIDE),
		NAME(DAMAGED), NAME(CNP_SENT), NAME(CNP_CUT), NAME(CNP_MARKED), NAME(TRACED),
		NAME(TRACE_FULL), NAME(TRACE_BAD), NAME(BORDER_IN), NAME(BORDER_OUT),
		NAME(GUESSED), NAME(NOT_TCP), NAME(TUNNEL), NAME(EXTENSION), NAME(TAGS),
		NAME(OTHER), NAME(STALE), NAME(SEGMENTS),
	};
	size_t i, c;

	assert_int_equal(ROOM(names), HPCCPP_PS_MAX);
	assert_int_equal(ROOM(is), HPCCPP_PS_MAX);
	for (i = 0; i < ROOM(is); i++) {
		for (c = 0; is[i].name[c]; c++)
			assert_int_equal(names[is[i].stat][c], is[i].name[c] == '_' ? '_' :
					 is[i].name[c] - 'A' + 'a');
		assert_int_equal(names[is[i].stat][c], '\0');
	}
}

TEST_MAIN("port", set_up, NULL)
