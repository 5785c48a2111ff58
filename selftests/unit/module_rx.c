// SPDX-License-Identifier: GPL-2.0
/* Rx-HPCC, section 6.2: what the agent is told, and windows that are obeyed. */
#include "module_test.h"

#define RATE_10G	hpccpp_rate_encode(10000000000)
#define RATE_1G		hpccpp_rate_encode(1000000000)

/* The first word of a request: T, the law and eta */
static u32 request(void)
{
	return hpccpp_num_encode(T_BASE) << 12 | HPCCPP_LAW_AVERAGED << 8 | 95;
}

static void assert_told(u32 what, u32 W, u32 W_ai)
{
	assert_int_equal(w.told[1], what);
	assert_int_equal(w.told[2], what ? (u32)hpccpp_num_encode(W) << 16 |
			 hpccpp_num_encode(W_ai) : 0);
}

/* A flow that knows its path by records, and has told its agent */
static void begin_told(void)
{
	begin_known(.5);
	w.feedback->rx = 1;
	fill();
	ack(1);
	assert_int_equal(flow()->sent_params, request());
}

/* With an ACK a window comes. */
static void hear(enum hpccpp_window_kind kind, u32 serial, u32 W, u32 value)
{
	fill();
	pass(T_BASE);
	window(kind, serial, W, value);
	ack(1);
}

/* The receiver has a W of its own, which its next window tells. */
TEST(pause_changes_no_W_of_a_receiver)
{
	u32 W, calls;

	begin_told();
	while (w.tp.packets_out)
		ack(1);
	W = flow()->s.W;
	calls = w.calls;
	pass(1000 * RTT);
	submit(1);
	assert_int_equal(flow()->s.W, W);
	ack(1);
	assert_int_equal(w.calls, calls);
}

TEST(agent_is_told_what_W_depends_on)
{
	static const struct { const char *knob; u32 value; bool is_told; } rows[] = {
		{ "eta", 90, true }, { "flows", 160, true }, { "flows", 140, false },
		{ "flows", 139, true }, { "flows", 160, true },
	};
	u32 calls;

	begin_told();
	assert_told(request(), flow()->s.W, flow()->p.W_ai);
	/* nothing has changed */
	calls = w.calls;
	ack(1);
	assert_int_equal(w.calls, calls);
	/* what is different is told: of W_ai an eighth, and no more */
	for_each_row(row, rows) {
		calls += row->is_told;
		knob(row->knob, row->value);
		round_trip(.5);
		assert_int_equal(w.calls, calls);
	}
	assert_int_equal(w.told[1] & 0xff, 90);
	assert_int_equal(w.told[1] >> 8 & 15, HPCCPP_LAW_AVERAGED);
	as_in_the_draft();
	round_trip(.5);
	assert_int_equal(w.calls, ++calls);
	assert_int_equal(w.told[1] >> 8 & 15, HPCCPP_LAW_DRAFT);
	w.tp.rtt_min = 200;
	round_trip(.5);
	assert_int_equal(w.calls, calls + 1);
	assert_int_equal(HPCCPP_REQUEST_T(w.told[1]), 205);
}

TEST(agent_that_has_gone_is_not_told)
{
	u32 calls;

	begin_told();
	calls = w.calls;
	w.deaf = true;
	w.feedback->key = 0;
	fill();
	ack(1);
	ack(1);
	assert_int_equal(w.calls, calls);
	assert_int_equal(flow()->sent_params, 0);
}

TEST(agent_is_told_of_a_fallback)
{
	begin_told();
	pass(9 * T_BASE);
	while (steered())
		ack(1);
	assert_told(0, 0, 0);
	assert_int_equal(flow()->sent_params, 0);
}

TEST(window_is_obeyed)
{
	begin_told();
	hear(HPCCPP_WINDOW_N, 1, 50000, 0);
	assert_int_equal(flow()->s.W, hpccpp_num_decode(hpccpp_num_encode(50000)));
	assert_int_equal(flow()->s.W_c, flow()->s.W);
	assert_int_equal(counter("windows"), 1);
	assert_int_equal(counter("int"), 3);
	assert_int_equal(counter("updates"), 3);
	assert_int_equal(w.tp.snd_cwnd, DIV_ROUND_UP(flow()->s.W, WIRE) + 1);
	assert_int_equal(w.sk->sk_pacing_rate,
			 (u64)flow()->s.W * 1000000 / T_BASE * (MSS - 16) / WIRE);
	/* and it may rise */
	hear(HPCCPP_WINDOW_N, 1, 100000, 0);
	assert_int_equal(flow()->s.W, hpccpp_num_decode(hpccpp_num_encode(100000)));
	/* within bounds */
	hear(HPCCPP_WINDOW_N, 1, 10000000, 0);
	assert_int_equal(flow()->s.W, W_MOST);
	hear(HPCCPP_WINDOW_N, 1, 1, 0);
	assert_int_equal(flow()->s.W, WIRE / 16);
}

/* One of no request is of no W of ours: it cannot raise it. */
TEST(window_without_request_cannot_raise_W)
{
	begin_known(.5);
	flow()->s.W = 60000;
	hear(HPCCPP_WINDOW_N, 1, 100000, 0);
	assert_int_equal(flow()->s.W, 60000);
	restart();
	begin_told();
	flow()->s.W = 60000;
	hear(HPCCPP_WINDOW_N, 0, 100000, 0);
	assert_int_equal(flow()->s.W, 60000);
	hear(HPCCPP_WINDOW_N, 0, 30000, 0);
	assert_near(flow()->s.W, 30000, 1000);
}

/* The receiver has not heard of a decrease: its window cannot raise W until it has. */
TEST(window_after_a_decrease_cannot_raise_W)
{
	u32 W, calls;

	begin_told();
	calls = w.calls;
	fill();
	mark();
	W = flow()->s.W;
	assert_true(W < W_INIT * 6 / 10);
	pass(T_BASE);
	window(HPCCPP_WINDOW_N, 1, 100000, 0);
	submit(1);
	assert_int_equal(flow()->s.W, W);
	/* it is told with the next ACK */
	ack(1);
	assert_int_equal(w.calls, calls + 1);
	assert_told(request(), W, flow()->p.W_ai);
	in_state(TCP_CA_Open);
	/* it is Reno's at most, until links are full, and the receiver's where that is less */
	hear(HPCCPP_WINDOW_N, 2, 100000, 0);
	assert_int_equal(flow()->s.W, W);
	ack(w.tp.packets_out);
	submit(1);
	hear(HPCCPP_WINDOW_U, 2, 30000, 200);
	ack(1);
	assert_in_range(reno_bound(), W + 1, W + 3 * WIRE);
	assert_near(flow()->s.W, 30000, 1000);
	ack(w.tp.packets_out);
	submit(1);
	hear(HPCCPP_WINDOW_U, 2, 100000, 250);
	ack(1);
	hear(HPCCPP_WINDOW_N, 2, 100000, 0);
	assert_near(flow()->s.W, 100000, 1000);
}

TEST(decrease_of_a_flow_without_windows)
{
	begin_known(.5);
	fill();
	mark();
	ack(1);
	assert_int_equal(flow()->sent_params, 0);
	assert_int_equal(w.calls, 0);
}

TEST(flow_enters_with_its_cwnd)
{
	begin(-1);
	w.feedback->rx = 1;
	submit(10);
	pass(RTT);
	/* B is not known yet */
	window(HPCCPP_WINDOW_N, 0, 100000, 0);
	ack(1);
	assert_false(steered());
	window(HPCCPP_WINDOW_B, 1, 100000, RATE_10G);
	ack(1);
	assert_true(steered());
	/* Reno had let it grow by one */
	assert_int_equal(flow()->s.W, 11 * WIRE);
	assert_int_equal(flow()->last_update_seq, w.tp.snd_nxt);
	assert_int_equal(HPCCPP_REQUEST_T(flow()->sent_params), T_BASE);
	assert_int_equal(flow()->s.records, 1);
}

TEST(B_counts_when_it_is_told_twice)
{
	begin_told();
	hear(HPCCPP_WINDOW_B, 1, 50000, RATE_1G);
	assert_int_equal(flow()->min_B, 1250000000);
	hear(HPCCPP_WINDOW_B, 1, 50000, RATE_10G);
	hear(HPCCPP_WINDOW_B, 1, 50000, RATE_1G);
	assert_int_equal(flow()->min_B, 1250000000);
	hear(HPCCPP_WINDOW_B, 1, 50000, RATE_1G);
	assert_int_equal(flow()->min_B, 125000000);
	assert_int_equal(flow()->T, RTT + 49);
	/* nor one that no link has */
	hear(HPCCPP_WINDOW_B, 1, 50000, 1);
	hear(HPCCPP_WINDOW_B, 1, 50000, 1);
	assert_int_equal(flow()->min_B, 125000000);
}

TEST(U_and_flows_are_told)
{
	knob("flows", 0);
	begin_told();
	hear(HPCCPP_WINDOW_N, 1, 50000, 10);
	assert_int_equal(flow()->N, 10);
	assert_int_equal(flow()->p.W_ai, W_INIT * 5 / 1000);
	hear(HPCCPP_WINDOW_U, 1, 50000, 128);
	assert_int_equal(flow()->s.U, HPCCPP_ONE / 2);
	assert_int_equal(flow()->N, 10);
}

/* No round trip was as short as T and the queue of now: the SYN's queue was not there. */
TEST(U_tells_that_no_SYN_waited)
{
	begin_told();
	flow()->syn_rtt = 1000;
	flow()->syn_queue = 900;
	w.tp.rtt_min = 1000;
	flow()->T = 105;
	/* 105 * 3 / 2 and U * 105 are less than 1000, but it may be more than can be said */
	hear(HPCCPP_WINDOW_U, 1, 50000, 0xfff);
	assert_int_equal(flow()->syn_queue, 900);
	w.tp.rtt_min = 105 + 52 + 52;
	flow()->syn_queue = 104;
	hear(HPCCPP_WINDOW_U, 1, 50000, 128);
	assert_int_equal(flow()->syn_queue, 104);
	w.tp.rtt_min++;
	flow()->T = 105;
	hear(HPCCPP_WINDOW_U, 1, 50000, 128);
	assert_int_equal(flow()->syn_queue, 0);
}

/* Lines 22 and 24 in the round trips of windows, and that stages begin anew */
TEST(windows_commit_once_in_a_round_trip)
{
	u32 commits;

	begin_told();
	ack(w.tp.packets_out);
	fill();
	flow()->s.inc_stage = 3;
	hear(HPCCPP_WINDOW_U, 1, 60000, 128);
	assert_int_equal(flow()->s.inc_stage, 0);
	commits = w.commits;
	for (u32 left = w.tp.packets_out; left; left--) {
		assert_int_equal(w.commits, commits);
		hear(HPCCPP_WINDOW_U, 1, 60000, 128);
	}
	hear(HPCCPP_WINDOW_U, 1, 60000, 128);
	assert_int_equal(w.commits, commits + 1);
}

static void round_trips_of(u32 rtt, u32 U, u32 n)
{
	while (n--) {
		fill();
		pass(rtt);
		w.rtt = rtt;
		window(HPCCPP_WINDOW_U, 1, W_MOST, U);
		ack(w.tp.packets_out - 4);
		fill();
	}
}

/* A queue at a link that U says is not loaded is none that lasts: all of it counts. */
TEST(windows_may_be_blind)
{
	begin_told();
	round_trips_of(105 + 19, 128, 20);
	assert_int_equal(flow()->dev_rounds, 0);
	round_trips_of(105 + 20, 128, 4);
	assert_int_equal(flow()->qtest_round, 1);
	assert_true(flow()->s.W <= W_MOST / 2);
	round_trips_of(105 + 20, 128, 1);
	round_trips_of(T_BASE, 128, 3);
	assert_true(steered());
	round_trips_of(T_BASE, 128, 1);
	assert_false(steered());
	assert_int_equal(counter("blind"), 1);
}

TEST(windows_of_loaded_links_are_not_blind)
{
	begin_told();
	round_trips_of(1000, 250, 20);
	assert_true(steered());
}
