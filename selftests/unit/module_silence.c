// SPDX-License-Identifier: GPL-2.0
/* Fallback to Reno, for telemetry that is silent or blind, and the way back. */
#include "module_test.h"

/* n ACKs of a packet each, with nothing new, a packet sent for each */
static void silent_acks(u32 n)
{
	while (n-- && steered()) {
		fill();
		ack(1);
	}
}

static void assert_fallback(void)
{
	assert_false(steered());
	assert_string_equal(ops()->name, "hpccpp-reno");
	assert_int_equal(counter("fallback"), 1);
	assert_int_equal(flow()->fallbacks, 1);
	assert_int_equal(w.sk->sk_pacing_shift, 10);
}

static void reno_has_the_devices_bursts(void **state)
{
	w.sk->sk_gso_max_segs = 44;
	begin_known(.5);
	flow()->s.W = 16 * 9 * WIRE;
	ops()->min_tso_segs(w.sk);
	assert_int_equal(w.sk->sk_gso_max_segs, 9);
	pass(100 * T_BASE);
	silent_acks(4);
	assert_fallback();
	assert_int_equal(w.sk->sk_gso_max_segs, 44);
	/* what another route brings stays */
	w.sk->sk_gso_max_segs = 1;
	ops()->release(w.sk);
	assert_int_equal(w.sk->sk_gso_max_segs, 1);
}

/* W of so many packets, cwnd is one more; nothing that comes later changes it */
static void set_window(u32 packets)
{
	flow()->s.W = packets * WIRE;
	flow()->s.W_c = packets * WIRE;
	ack(0);
	flow()->silent = 0;
	assert_int_equal(w.tp.snd_cwnd, packets + 1);
}

static void silence_of_time_needs_acks(void **state)
{
	begin_known(.5);
	pass(100 * T_BASE);
	silent_acks(3);
	assert_true(steered());
	silent_acks(1);
	assert_fallback();
}

/* The ACK of a FIN, which comes long after that of the last data */
static void silence_needs_what_is_in_flight(void **state)
{
	begin_known(.5);
	silent_acks(3);
	ack(w.tp.packets_out);
	pass(100 * T_BASE);
	/* which TCP does not call a start */
	w.tp.packets_out = 1;
	w.tp.snd_nxt += MSS;
	ack(1);
	assert_true(steered());
}

static void silence_of_acks_needs_time(void **state)
{
	begin_known(.5);
	pass(8 * T_BASE);
	silent_acks(100);
	assert_true(steered());
	pass(1);
	silent_acks(1);
	assert_fallback();
}

static void silence_is_in_round_trips_of_tcp(void **state)
{
	begin_known(.5);
	w.tp.srtt_us = 300 << 3;
	pass(8 * 300);
	silent_acks(100);
	assert_true(steered());
	pass(1);
	silent_acks(1);
	assert_fallback();
}

/* However short a time: 256 ACKs, for a flow of a small window */
static void many_acks_are_silence(void **state)
{
	begin_known(.5);
	set_window(63);
	silent_acks(255);
	assert_true(steered());
	silent_acks(1);
	assert_fallback();
}

/* Four windows, for one of a large window */
static void four_windows_are_silence(void **state)
{
	begin_known(.5);
	set_window(80);
	silent_acks(4 * 81 - 1);
	assert_true(steered());
	silent_acks(1);
	assert_fallback();
}

static void news_end_silence(void **state)
{
	begin_known(.5);
	set_window(63);
	silent_acks(255);
	pass(T_BASE);
	news(.5, 0);
	ack(1);
	set_window(63);
	silent_acks(255);
	assert_true(steered());
}

static void recovery_is_no_silence(void **state)
{
	begin_known(.5);
	fill();
	mark();
	pass(100 * T_BASE);
	silent_acks(1000);
	assert_true(steered());
	in_state(TCP_CA_Disorder);
	silent_acks(1);
	assert_fallback();
}

static void idling_is_no_silence(void **state)
{
	begin_known(.5);
	ack(w.tp.packets_out);
	flow()->silent = 3;
	pass(1000 * T_BASE);
	fill();
	silent_acks(1);
	assert_true(steered());
	assert_int_equal(flow()->silent, 4);
}

/* A record that is of no use is none. */
static void useless_news_are_silence(void **state)
{
	struct hpccpp_int rec = { .link = 9, .rate = 1, .ts = 5 };

	begin_known(.5);
	pass(9 * T_BASE);
	for (int i = 0; i < 4; i++) {
		fill();
		news_of(&rec, 1);
		ack(1);
	}
	assert_fallback();
	assert_int_equal(counter("guard_range"), 4);
}

/* Reno goes on from the window that there is, and from no earlier decrease. */
static void reno_begins_where_telemetry_ends(void **state)
{
	begin_known(.5);
	w.tp.snd_ssthresh = 7;
	fill();
	lose(1);
	in_state(TCP_CA_Open);
	w.tp.lost_out = 0;
	flow()->s.W = 30 * WIRE;
	pass(9 * T_BASE);
	silent_acks(4);
	assert_fallback();
	/* and one that this ACK itself delivered, by Reno's rule */
	assert_int_equal(w.tp.snd_cwnd, 31);
	assert_int_equal(w.tp.snd_ssthresh, 31);
	assert_int_equal(flow()->in_md, 0);
	assert_int_equal(flow()->prior_W, 0);
	assert_int_equal(ops()->ssthresh(w.sk), 15);
	assert_int_equal(ops()->undo_cwnd(w.sk), 77);
	assert_null(ops()->cong_control);
}

/* The agent may be gone, and another there: the flow is announced anew. */
static void silent_agent_is_left(void **state)
{
	begin_known(.5);
	assert_int_equal(w.announced, 1);
	pass(9 * T_BASE);
	silent_acks(4);
	assert_false(steered());
	assert_int_equal(w.mail->governed, 0);
	assert_int_equal(w.announced, 1);
	fill();
	ack(1);
	assert_int_equal(w.announced, 2);
	assert_int_equal(w.mail->governed, 1);
	ack(1);
	assert_int_equal(w.announced, 2);
}

static void first_record_ends_silence(void **state)
{
	begin_known(.5);
	set_window(20);
	pass(9 * T_BASE);
	silent_acks(4);
	assert_fallback();
	fill();
	ack(1);
	pass(T_BASE);
	news(.5, 0);
	ack(1);
	assert_true(steered());
	assert_int_equal(counter("enter"), 2);
	assert_int_equal(counter("blind"), 0);
	/* it is not new: it goes on from its cwnd of 22, not from W_init */
	assert_int_equal(flow()->s.W_c, 22 * WIRE);
	assert_int_equal(flow()->s.W, 22 * WIRE + flow()->p.W_ai);
	assert_int_equal(flow()->s.inc_stage, 0);
	assert_int_equal(flow()->last_update_seq, w.tp.snd_nxt);
	assert_int_equal(w.tp.snd_cwnd, 24);
	assert_int_equal(w.sk->sk_pacing_shift, 13);
}

/* Nor is it when it has sent little, and TCP has taken back what it knew of loss. */
static void returning_flow_is_not_new(void **state)
{
	begin(.5);
	flow()->s.W = 20 * WIRE;
	ack(0);
	submit(8);
	pass(9 * T_BASE);
	while (steered())
		ack(1);
	w.tp.snd_ssthresh = TCP_INFINITE_SSTHRESH;
	pass(T_BASE);
	ack(1);
	news(.5, 0);
	ack(0);
	assert_true(steered());
	assert_int_equal(flow()->s.W_c, 22 * WIRE);
}

/* --- Blindness --- */

#define BLIND	(T_BASE + T_BASE / 4 + 20)	/* us: a round trip that is explained */

/* A round trip of rtt us, over links of that load and queue */
static void long_round_trip(u32 rtt, double load, u32 qlen)
{
	fill();
	pass(rtt);
	w.rtt = rtt;
	news(load, qlen);
	ack(w.tp.packets_out / 2);
	pass(1);
	ack(w.tp.packets_out);
	fill();
}

/* What acks all leaves nothing in flight; some has to be for a delay to count */
static void rounds(u32 n, u32 rtt, double load, u32 qlen)
{
	while (n--) {
		fill();
		pass(rtt);
		w.rtt = rtt;
		news(load, qlen);
		ack(w.tp.packets_out - 4);
		fill();
	}
}

/* The first of these has the round trip time of those before. */
static void blind_after_8_round_trips(void **state)
{
	begin_known(.5);
	rounds(7, BLIND + 1, .5, 0);
	assert_int_equal(flow()->blind_rounds, 7);
	assert_true(steered());
	rounds(1, BLIND + 1, .5, 0);
	assert_fallback();
	assert_int_equal(counter("blind"), 1);
	/* the agent is no worse for it */
	assert_int_equal(w.mail->governed, 1);
}

static void delay_of_a_quarter_and_20_us_is_none(void **state)
{
	begin_known(.5);
	rounds(20, BLIND, .5, 0);
	assert_true(steered());
	assert_int_equal(flow()->blind_rounds, 0);
}

/* The least round trip time since W_c was set is what counts. */
static void least_delay_counts(void **state)
{
	begin_known(.5);
	for (int i = 0; i < 20; i++) {
		fill();
		w.rtt = BLIND;
		pass(T_BASE);
		ack(10);
		fill();
		rounds(1, BLIND + 100, .5, 0);
	}
	assert_true(steered());
	assert_int_equal(flow()->blind_rounds, 0);
}

static void a_short_round_trip_begins_anew(void **state)
{
	begin_known(.5);
	rounds(7, BLIND + 1, .5, 0);
	rounds(1, BLIND, .5, 0);
	assert_int_equal(flow()->blind_rounds, 0);
	rounds(7, BLIND + 1, .5, 0);
	assert_true(steered());
}

/* 12480 bytes last 9984 ns at 10 Gbit/s. */
static void told_queues_explain(void **state)
{
	begin_known(.5);
	rounds(20, BLIND + 9, .5, 12480);
	assert_true(steered());
	assert_int_equal(flow()->blind_rounds, 0);
	rounds(8, BLIND + 10, .5, 12480);
	assert_fallback();
}

static void loaded_links_explain(void **state)
{
	begin_known(.5);
	rounds(20, 1000, 1.0, 0);
	assert_true(steered());
	assert_int_equal(flow()->blind_rounds, 0);
}

/* A packet alone waits for the receiver's delayed ACK: 4 do not. */
static void few_in_flight_wait_for_the_receiver(void **state)
{
	begin_known(.5);
	for (int i = 0; i < 20; i++) {
		fill();
		pass(1000);
		w.rtt = 1000;
		news(.5, 0);
		ack(w.tp.packets_out - 3);
	}
	assert_true(steered());
}

/* The minimum may be more than T: then it is what a round trip is compared with. */
static void delay_is_of_the_minimum(void **state)
{
	knob("base_rtt_us", 50);
	begin(.5);
	round_trip(.5);
	assert_int_equal(flow()->T, 50);
	rounds(20, RTT + RTT / 4 + 20, .5, 0);
	assert_true(steered());
	rounds(8, RTT + RTT / 4 + 21, .5, 0);
	assert_fallback();
}

static void blind_flow(void)
{
	begin_known(.5);
	rounds(8, BLIND + 1, .5, 0);
	assert_false(steered());
	assert_int_equal(flow()->blind, 1);
}

/* A blind flow is Reno's as long as the links that are told of have room. */
static void blind_flow_stays_with_reno(void **state)
{
	blind_flow();
	for (int i = 0; i < 100; i++)
		long_round_trip(200, .5, 0);
	assert_false(steered());
	assert_int_equal(counter("enter"), 1);
}

static void blind_flow_returns_after_a_loaded_round_trip(void **state)
{
	blind_flow();
	/* what was in flight at the fallback says nothing */
	long_round_trip(200, 1.0, 0);
	assert_false(steered());
	long_round_trip(200, 1.0, 0);
	assert_true(steered());
	assert_int_equal(counter("enter"), 2);
	assert_int_equal(counter("fallback"), 1);
}

/* One record with room in a round trip: it was not loaded. */
static void blind_flow_needs_a_whole_round_trip(void **state)
{
	blind_flow();
	for (int i = 0; i < 400; i++) {
		fill();
		assert_true(w.tp.packets_out > 40);
		pass(2 * T_BASE);
		news(i % 20 ? 1.1 : .1, 0);
		ack(2);
	}
	assert_false(steered());
}

/* A bound is of no link, and so not of one that is loaded. */
static void bound_is_no_loaded_link(void **state)
{
	struct hpccpp_int bound = { .U = 64 };

	blind_flow();
	for (int i = 0; i < 20; i++) {
		fill();
		pass(200);
		news_of(&bound, 1);
		ack(w.tp.packets_out);
	}
	assert_int_equal(flow()->s.U, flow()->p.eta);
	assert_false(steered());
}

/* Loss that Reno had does not count against the telemetry that is back. */
static void returning_flow_has_lost_nothing(void **state)
{
	blind_flow();
	w.tp.lost += 1000;
	for (int i = 0; i < 4 && !steered(); i++)
		long_round_trip(200, 1.0, 0);
	assert_true(steered());
	assert_int_equal(flow()->lost, w.tp.lost);
	assert_int_equal(flow()->blind_rounds, 0);
}

static const struct CMUnitTest tests[] = {
	MODULE_TEST(reno_has_the_devices_bursts),
	MODULE_TEST(silence_of_time_needs_acks),
	MODULE_TEST(silence_needs_what_is_in_flight),
	MODULE_TEST(silence_of_acks_needs_time),
	MODULE_TEST(silence_is_in_round_trips_of_tcp),
	MODULE_TEST(many_acks_are_silence),
	MODULE_TEST(four_windows_are_silence),
	MODULE_TEST(news_end_silence),
	MODULE_TEST(recovery_is_no_silence),
	MODULE_TEST(idling_is_no_silence),
	MODULE_TEST(useless_news_are_silence),
	MODULE_TEST(reno_begins_where_telemetry_ends),
	MODULE_TEST(silent_agent_is_left),
	MODULE_TEST(first_record_ends_silence),
	MODULE_TEST(returning_flow_is_not_new),
	MODULE_TEST(blind_after_8_round_trips),
	MODULE_TEST(delay_of_a_quarter_and_20_us_is_none),
	MODULE_TEST(least_delay_counts),
	MODULE_TEST(a_short_round_trip_begins_anew),
	MODULE_TEST(told_queues_explain),
	MODULE_TEST(loaded_links_explain),
	MODULE_TEST(few_in_flight_wait_for_the_receiver),
	MODULE_TEST(delay_is_of_the_minimum),
	MODULE_TEST(blind_flow_stays_with_reno),
	MODULE_TEST(blind_flow_returns_after_a_loaded_round_trip),
	MODULE_TEST(blind_flow_needs_a_whole_round_trip),
	MODULE_TEST(bound_is_no_loaded_link),
	MODULE_TEST(returning_flow_has_lost_nothing),
};

const struct tests silence_tests = { tests, ARRAY_SIZE(tests) };
