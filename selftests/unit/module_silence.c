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
	assert_int_equal(flow()->mode, HPCCPP_COEXIST);
	assert_int_equal(counter("fallback"), 1);
	assert_int_equal(flow()->fallbacks, 1);
	assert_int_equal(w.sk->sk_pacing_shift, flow()->cause == HPCCPP_C_BLIND ? 13 : 10);
}

/* The device takes 44 segments, a burst is of 9. */
static void begin_with_bursts(void)
{
	w.sk->sk_gso_max_segs = 44;
	begin_known(.5);
	flow()->s.W = 16 * 9 * WIRE;
	ack(0);
	assert_int_equal(w.sk->sk_gso_max_segs, 9);
}

TEST(reno_has_the_devices_bursts)
{
	begin_with_bursts();
	pass(100 * T_BASE);
	silent_acks(4);
	assert_fallback();
	assert_int_equal(w.sk->sk_gso_max_segs, 44);
}

/* What another route brings stays. */
TEST(who_follows_has_the_new_devices_bursts)
{
	begin_with_bursts();
	w.sk->sk_gso_max_segs = 1;
	ops()->release(w.sk);
	assert_int_equal(w.sk->sk_gso_max_segs, 1);
}

/* W of so many packets, cwnd is one more; nothing that comes later changes it */
static void set_window(u32 packets)
{
	hpccpp_begin_with(&flow()->s, packets * WIRE);
	ack(0);
	flow()->no_int = 0;
	assert_int_equal(w.tp.snd_cwnd, packets + 1);
}

TEST(silence_of_time_needs_acks)
{
	begin_known(.5);
	pass(100 * T_BASE);
	silent_acks(3);
	assert_true(steered());
	silent_acks(1);
	assert_fallback();
}

/* The ACK of a FIN, which comes long after that of the last data */
TEST(silence_needs_what_is_in_flight)
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

TEST(silence_of_acks_needs_time)
{
	begin_known(.5);
	pass(8 * T_BASE);
	silent_acks(100);
	assert_true(steered());
	pass(1);
	silent_acks(1);
	assert_fallback();
}

TEST(silence_is_in_round_trips_of_tcp)
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
TEST(many_acks_are_silence)
{
	begin_known(.5);
	set_window(63);
	silent_acks(255);
	assert_true(steered());
	silent_acks(1);
	assert_fallback();
}

TEST(four_windows_are_silence)
{
	begin_known(.5);
	set_window(80);
	silent_acks(4 * 81 - 1);
	assert_true(steered());
	silent_acks(1);
	assert_fallback();
}

TEST(news_end_silence)
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

TEST(recovery_is_no_silence)
{
	begin_known(.5);
	fill();
	mark();
	pass(100 * T_BASE);
	silent_acks(1000);
	assert_true(steered());
	in_state(TCP_CA_Disorder);
	silent_acks(3);
	assert_true(steered());
	silent_acks(1);
	assert_fallback();
}

/* Neither its ACKs nor its time count when it is over. Disorder ends no silence. */
TEST(recovery_was_no_silence)
{
	begin_known(.5);
	fill();
	lose(1);
	pass(100 * T_BASE);
	silent_acks(1000);
	in_state(TCP_CA_Disorder);
	silent_acks(100);
	pass(6 * T_BASE);
	silent_acks(1);
	assert_true(steered());
	in_state(TCP_CA_Open);
	pass(1);
	silent_acks(1);
	assert_fallback();
}

/* Telemetry has ended for good, and losses go on: ACKs outside recovery add up. */
TEST(recoveries_do_not_excuse_for_ever)
{
	u32 cycles;

	begin_known(.5);
	for (cycles = 0; cycles < 50 && steered(); cycles++) {
		fill();
		lose(1);
		pass(2 * T_BASE);
		silent_acks(4);
		recovered();
		pass(5 * T_BASE);
		silent_acks(8);
	}
	assert_fallback();
}

/* What was heard before a recovery explains no loss after it: W is half. */
TEST(telemetry_before_recovery_explains_no_loss)
{
	u32 W;

	begin_known(4);
	fill();
	lose(1);
	pass(100 * T_BASE);
	recovered();
	W = flow()->s.W;
	fill();
	lose(1);
	assert_true(flow()->s.W <= W / 2 + 1);
}

TEST(idling_is_no_silence)
{
	begin_known(.5);
	ack(w.tp.packets_out);
	flow()->no_int = 3;
	pass(1000 * T_BASE);
	fill();
	silent_acks(1);
	assert_true(steered());
	assert_int_equal(flow()->no_int, 4);
}

TEST(useless_news_are_silence)
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
TEST(reno_begins_where_telemetry_ends)
{
	begin_known(.5);
	flow()->link_full = 1;
	fill();
	lose(1);
	recovered();
	flow()->s.W = 30 * WIRE;
	pass(9 * T_BASE);
	silent_acks(4);
	assert_fallback();
	assert_int_equal(w.tp.snd_cwnd, 30);
	assert_int_equal(w.tp.snd_ssthresh, 30);
	assert_int_equal(flow()->md_seq, 0);
	assert_int_equal(flow()->prior_W, 0);
	assert_int_equal(ops()->ssthresh(w.sk), 15);
	/* the decrease of before cannot be undone */
	assert_int_equal(ops()->undo_cwnd(w.sk), 32);
}

/* The agent may be gone, and another there: the flow seeks it, once. */
TEST(flow_without_news_seeks_an_agent)
{
	begin_known(.5);
	pass(9 * T_BASE);
	silent_acks(4);
	assert_false(steered());
	assert_true(seeks_agent());
	ack(w.tp.packets_out);
	fill();
	pass(TICK);
	ack(1);
	assert_false(seeks_agent());
	assert_int_equal(counter("no_agent"), 0);
}

TEST(first_record_ends_silence)
{
	begin_known(.5);
	set_window(20);
	pass(9 * T_BASE);
	silent_acks(4);
	assert_fallback();
	fill();
	pass(TICK);
	ack(1);
	submit(0);	/* an ACK, with which the agent binds the flow */
	pass(T_BASE);
	news(.9, 0);
	ack(1);
	assert_true(steered());
	assert_int_equal(counter("enter"), 2);
	assert_int_equal(counter("blind"), 0);
	/* it is not new: it goes on from its cwnd of 20, not from W_init */
	assert_int_equal(flow()->s.W_c, 20 * WIRE);
	assert_int_equal(flow()->s.W, 20 * WIRE);
	assert_int_equal(flow()->s.inc_stage, 0);
	assert_int_equal(flow()->last_update_seq, w.tp.snd_nxt);
	assert_int_equal(w.tp.snd_cwnd, 21);
	assert_int_equal(w.sk->sk_pacing_shift, 13);
}

/* Nor is it when it has sent little, and TCP has taken back what it knew of loss. */
TEST(returning_flow_is_not_new)
{
	begin(.5);
	flow()->s.W = 20 * WIRE;
	ack(0);
	submit(8);
	pass(9 * T_BASE);
	while (steered())
		ack(1);
	w.tp.snd_ssthresh = TCP_INFINITE_SSTHRESH;
	pass(TICK);
	ack(1);
	submit(0);
	news(.5, 0);
	ack(0);
	assert_true(steered());
	assert_int_equal(flow()->s.W_c, 21 * WIRE);
}

/* A flow that has cwnd in fallback, and whose agent binds it again */
static void return_with(u32 cwnd)
{
	pass(9 * T_BASE);
	while (steered()) {
		fill();
		ack(1);
	}
	w.tp.snd_cwnd = cwnd;
	pass(TICK);
	ack(1);
	w.tp.snd_cwnd = cwnd;
	submit(0);
	fill();
	pass(T_BASE);
}

/* U of the flow's return shows its old window for another round trip. */
TEST(returning_flow_answers_a_queue_once)
{
	u32 W;

	begin_known(.5);
	return_with(60);
	news(2, 0);
	ack(1);
	assert_true(steered());
	W = flow()->s.W;
	assert_near(W, 60. * WIRE * flow()->p.eta / flow()->s.U, 1000);
	assert_true(W < 60 * WIRE * 3 / 4);
	assert_int_equal(flow()->s.W_c, 60 * WIRE);
	pass(T_BASE / 10);
	news(2, 0);
	ack(1);
	assert_near(flow()->s.W, W, 20);
}

/* --- What telemetry does not explain --- */

#define SLOW	(T_BASE + T_BASE * 3 / 16)	/* us: a round trip that T explains */

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

/* A flow whose W is as large as T allows, over links with room */
static void begin_at_most(void)
{
	begin_known(.5);
	rounds(7, T_BASE, .5, 0);
	assert_int_equal(flow()->s.W, flow()->p.W_max);
}

/* Four slow round trips and three with half the window, of which the last counts */
static void look(u32 slow, u32 first, u32 second, u32 third)
{
	rounds(4, slow, .5, 0);
	assert_int_equal(flow()->qtest_round, 1);
	rounds(1, first, .5, 0);
	rounds(1, second, .5, 0);
	rounds(1, third, .5, 0);
}

/* T is what a round trip takes, and W is what the load with half of it leaves. */
TEST(what_stays_is_latency)
{
	begin_at_most();
	look(200, 210, 190, 200);
	assert_int_equal(flow()->qtest_round, 0);
	assert_int_equal(flow()->T, 200);
	assert_int_equal(flow()->latency, 200 - T_BASE);
	assert_int_equal(flow()->s.W, W_MOST / 2);
	rounds(1, 200, .5, 0);
	assert_in_range(flow()->s.W, W_MOST / 2 * .95 / .5, W_MOST / 2 * .95 / .5 + WIRE);
	rounds(20, 200, .5, 0);
	assert_int_equal(flow()->T, 200);
	assert_int_equal(flow()->s.W, 200 * 1250 * 9 / 8);
	assert_true(steered());
	assert_int_equal(counter("fallback"), 0);
}

TEST(what_stays_is_latency_as_in_the_draft)
{
	as_in_the_draft();
	what_stays_is_latency(NULL);
}

/* Linux delays ACKs by up to 40 ms while the application does not read. */
TEST(receiver_that_pauses_is_no_latency)
{
	u32 end;

	w.tp.snd_wnd = 100000000;
	begin_at_most();
	end = w.tp.snd_una + w.tp.snd_wnd;
	for (int i = 0; i < 50; i++) {
		w.tp.snd_wnd = end - (w.tp.snd_una + w.tp.packets_out * MSS) * 2 / 3;
		rounds(1, 40000, .5, 0);
	}
	assert_int_equal(flow()->qtest_round, 0);
	assert_int_equal(flow()->T, T_BASE);
	assert_true(steered());
	/* it reads slowly */
	rounds(2, T_BASE, .5, 0);
	look(200, 210, 190, 200);
	assert_int_equal(flow()->T, 200);
}

/* Its window shrinks for many round trips as well, but TCP does not delay ACKs (SO_RCVLOWAT). */
TEST(receiver_that_reads_in_batches_has_latency)
{
	u32 end;

	w.tp.snd_wnd = 100000000;
	begin_at_most();
	end = w.tp.snd_una + w.tp.snd_wnd;
	for (int i = 0; i < 50; i++) {
		w.tp.snd_wnd = end - w.tp.snd_una;
		fill();
		pass(200);
		w.rtt = 200;
		for (int j = 0; j < 4; j++)
			ack(1);
		rounds(1, 200, .5, 0);
	}
	assert_int_equal(flow()->T, 200);
}

/* The flow delivers this many bytes/s on the wire. */
static void delivers(u64 rate)
{
	w.tp.rate_interval_us = T_BASE;
	w.tp.rate_delivered = rate * T_BASE / USEC_PER_SEC / WIRE;
}

/* Packets alternate among links of 10 Gbit/s. */
TEST(parallel_links_raise_W_max_until_one_is_loaded)
{
	begin_at_most();
	delivers(1406000000);
	rounds(100, T_BASE, .7, 0);
	/* eight of them, and an eighth */
	assert_near(flow()->p.W_max, W_MOST / 9 * 65, 1000);
	assert_true(steered());
	rounds(3, T_BASE, .96, 0);
	assert_near(flow()->p.W_max, W_MOST / 9 * 65, 1000);
	/* W is what one link may take: it may be one link that is left */
	rounds(10, T_BASE, 2, 0);
	assert_int_equal(flow()->p.W_max, W_MOST);
}

TEST(W_max_stays_while_one_link_may_have_delivered_all)
{
	begin_at_most();
	delivers(1249000000);
	rounds(10, T_BASE, .5, 0);
	assert_int_equal(flow()->p.W_max, W_MOST);
	/* a loaded link: U of three quarters of eta and more */
	delivers(1406000000);
	rounds(10, T_BASE, .75, 0);
	assert_int_equal(flow()->p.W_max, W_MOST);
}

/* Half of what T did not explain, and a microsecond, three times: it is a queue. */
TEST(what_goes_is_a_queue)
{
	begin_at_most();
	look(205, 205, 205, 154);
	assert_true(steered());
	assert_int_equal(flow()->latency, 0);
	rounds(1, 154, .5, 0);
	assert_true(steered());
	assert_int_equal(flow()->s.W, W_MOST / 2);
	rounds(1, 154, .5, 0);
	assert_fallback();
	assert_int_equal(counter("blind"), 1);
	assert_int_equal(flow()->latency, 0);
	/* the agent is no worse for it */
	assert_int_equal(w.feedback->key, KEY);
}

TEST(half_of_it_may_be_chance)
{
	begin_at_most();
	look(205, 205, 205, 155);
	assert_int_equal(flow()->qtest_round, 0);
	assert_int_equal(flow()->T, 155);
}

TEST(a_queue_is_found_three_times)
{
	begin_at_most();
	look(205, 205, T_BASE, T_BASE);
	rounds(1, T_BASE, .5, 0);
	rounds(1, 155, .5, 0);
	assert_true(steered());
	assert_int_equal(flow()->qtest_round, 0);
	assert_int_equal(flow()->T, 155);
}

/* What was in flight comes first, and then the queue drains. */
TEST(the_third_round_trip_is_looked_at)
{
	begin_at_most();
	look(205, T_BASE, T_BASE, 205);
	assert_int_equal(flow()->T, 205);
}

/* The shortest of the slow round trips is what the look is compared with. */
TEST(a_queue_was_there_all_the_time)
{
	begin_at_most();
	rounds(2, 205, .5, 0);
	rounds(1, 155, .5, 0);
	rounds(2, 205, .5, 0);
	rounds(2, 150, .5, 0);
	assert_int_equal(flow()->qtest_round, 0);
	assert_int_equal(flow()->T, 150);
}

/* In the first of them the queue may have grown. */
TEST(a_queue_that_grows)
{
	begin_at_most();
	rounds(1, 155, .5, 0);
	rounds(3, 255, .5, 0);
	rounds(5, 150, .5, 0);
	assert_fallback();
}

/* T that has become longer than they were explains them. */
TEST(a_longer_path_ends_a_look)
{
	begin_at_most();
	rounds(6, 205, .5, 0);
	w.tp.rtt_min = 205;
	rounds(3, 205, .5, 0);
	assert_true(steered());
	assert_int_equal(flow()->qtest_round, 0);
	assert_int_equal(flow()->latency, 0);
}

/* A round trip without packets that could tell leaves it. */
TEST(few_packets_end_a_look)
{
	begin_at_most();
	rounds(4, 205, .5, 0);
	w.limited = true;
	rounds(1, 205, .5, 0);
	assert_int_equal(flow()->qtest_round, 0);
	rounds(20, 205, .5, 0);
	assert_int_equal(flow()->dev_rounds, 0);
}

/* Links that fill meanwhile, and loss, say enough. */
TEST(load_ends_a_look)
{
	begin_at_most();
	rounds(5, 205, .5, 0);
	rounds(1, 205, 1.1, 0);
	assert_int_equal(flow()->qtest_round, 0);
	assert_true(flow()->s.W < W_MOST / 2);
	assert_int_equal(flow()->p.W_max, W_MOST);
	assert_int_equal(flow()->T, T_BASE);
}

TEST(loss_ends_a_look)
{
	begin_at_most();
	rounds(5, 205, .5, 0);
	lose(1);
	assert_int_equal(flow()->qtest_round, 0);
	assert_int_equal(flow()->s.W, W_MOST / 4);
}

/* 12480 bytes last 9984 ns at 10 Gbit/s: that is no latency. */
TEST(told_queue_is_no_latency)
{
	begin_at_most();
	rounds(6, 205, .5, 0);
	rounds(1, 205, .5, 12480);
	assert_int_equal(flow()->T, 196);
}

/* TCP's minimum is of 300 s, and then it is that of the longer path. */
TEST(minimum_with_latency_in_it)
{
	begin_at_most();
	look(200, 200, 200, 200);
	assert_int_equal(flow()->latency, 95);
	w.tp.rtt_min = RTT + 90;
	rounds(2, 200, .5, 0);
	assert_int_equal(flow()->latency, 5);
	assert_int_equal(flow()->T, 200);
}

/* T is less again, by what has gone in all of four round trips. */
TEST(latency_goes)
{
	begin_at_most();
	look(200, 200, 200, 200);
	rounds(10, 165, .5, 0);
	assert_int_equal(flow()->latency, 200 - T_BASE);
	rounds(2, 130, .5, 0);
	rounds(1, 160, .5, 0);
	assert_int_equal(flow()->latency, 200 - T_BASE);
	rounds(1, 130, .5, 0);
	assert_int_equal(flow()->latency, 160 - T_BASE);
	/* slow ones between are of another kind */
	rounds(2, 120, .5, 0);
	rounds(2, 300, .5, 0);
	assert_int_equal(flow()->dev_rounds, 2);
	rounds(1, 160, .5, 0);
	rounds(3, 120, .5, 0);
	rounds(1, 160, .5, 0);
	rounds(3, 120, .5, 0);
	assert_int_equal(flow()->latency, 160 - T_BASE);
	rounds(9, 60, .5, 0);
	assert_int_equal(flow()->latency, 0);
	assert_int_equal(flow()->T, T_BASE);
}

/* A queue only makes round trips longer: shorter ones count beside it. */
TEST(latency_goes_at_a_full_link)
{
	begin_at_most();
	look(200, 200, 200, 200);
	rounds(5, 130, 1.0, 0);
	assert_int_equal(flow()->T, 130);
}

TEST(mean_delay_counts)
{
	begin_at_most();
	for (int i = 0; i < 20; i++) {
		fill();
		w.rtt = SLOW - 10;
		pass(T_BASE);
		ack(10);
		fill();
		rounds(1, SLOW + 10, .5, 0);
		assert_int_equal(flow()->dev_rounds, 0);
	}
	assert_int_equal(flow()->T, T_BASE);
}

TEST(a_short_round_trip_begins_anew)
{
	begin_at_most();
	rounds(3, SLOW + 1, .5, 0);
	rounds(1, SLOW, .5, 0);
	assert_int_equal(flow()->dev_rounds, 0);
	rounds(3, SLOW + 1, .5, 0);
	assert_int_equal(flow()->qtest_round, 0);
}

/* 12480 bytes last 9984 ns at 10 Gbit/s. */
TEST(told_queues_explain)
{
	begin_at_most();
	rounds(20, SLOW + 9, .5, 12480);
	assert_int_equal(flow()->dev_rounds, 0);
	rounds(4, SLOW + 10, .5, 12480);
	assert_int_equal(flow()->qtest_round, 1);
}

TEST(loaded_links_explain)
{
	begin_at_most();
	for (int i = 0; i < 20; i++) {
		/* a bottleneck of others, that has W as large as it was */
		hpccpp_begin_with(&flow()->s, 2 * W_MOST);
		rounds(1, 1000, 1.0, 0);
		assert_int_equal(flow()->s.W, W_MOST);
		assert_int_equal(flow()->dev_rounds, 0);
	}
	assert_int_equal(flow()->T, T_BASE);
}

/* Not T, but the algorithm has set W: by a seventh less than T allows */
TEST(a_smaller_window_explains)
{
	begin_known(.5);
	for (int i = 0; i < 20; i++) {
		hpccpp_begin_with(&flow()->s, W_MOST / 7 * 6);
		flow()->s.inc_stage = 0;
		rounds(1, 1000, .5, 0);
		assert_int_equal(flow()->dev_rounds, 0);
	}
}

TEST(W_was_as_large_for_the_round_trip)
{
	begin_at_most();
	hpccpp_begin_with(&flow()->s, W_MOST / 2);
	flow()->s.inc_stage = 0;
	rounds(1, 1000, .5, 0);
	hpccpp_begin_with(&flow()->s, W_MOST);
	rounds(1, 1000, .5, 0);
	assert_int_equal(flow()->s.W, W_MOST);
	assert_int_equal(flow()->dev_rounds, 0);
	rounds(1, 1000, .5, 0);
	assert_int_equal(flow()->dev_rounds, 1);
}

TEST(T_that_is_given_is_not_learned)
{
	begin_at_most();
	knob("base_rtt_us", T_BASE);
	for (int i = 0; i < 20; i++) {
		rounds(1, 1000, .5, 0);
		assert_int_equal(flow()->s.W, W_MOST);
		assert_int_equal(flow()->dev_rounds, 0);
	}
	assert_int_equal(flow()->T, T_BASE);
}

/* A packet alone waits for the receiver's delayed ACK: 4 do not. */
TEST(few_in_flight_wait_for_the_receiver)
{
	begin_at_most();
	ack(w.tp.packets_out);
	w.rtt = 1000;
	for (int i = 0; i < 20; i++) {
		submit(3);
		pass(1000);
		news(.5, 0);
		ack(3);
	}
	assert_int_equal(flow()->rtt_n, 0);
	assert_int_equal(flow()->T, T_BASE);
	submit(4);
	ack(1);
	assert_int_equal(flow()->rtt_n, 1);
	submit(1);
	ack(1);
	assert_int_equal(flow()->rtt_n, 2);
}

static void blind_flow(void)
{
	begin_at_most();
	look(205, 205, T_BASE, T_BASE);
	rounds(2, T_BASE, .5, 0);
	assert_fallback();
}

TEST(blind_flow_returns_after_a_loaded_round_trip)
{
	blind_flow();
	/* what was in flight at the fallback says nothing */
	long_round_trip(200, 1.0, 0);
	assert_false(steered());
	long_round_trip(200, 1.0, 0);
	assert_true(steered());
	assert_int_equal(counter("fallback"), 1);
}

/* More than 2 GiB without telemetry: that round trip is long over. */
TEST(blind_flow_after_long_silence)
{
	blind_flow();
	pass(9 * T_BASE);
	for (int i = 0; i < 5; i++) {
		fill();
		w.tp.snd_una += 1U << 29;
		w.tp.snd_nxt += 1U << 29;
		ack(1);
	}
	w.commits = 0;
	long_round_trip(200, 1.0, 0);
	long_round_trip(200, 1.0, 0);
	long_round_trip(200, 1.0, 0);
	assert_true(steered());
}

/* One record with room in a round trip: it was not loaded. */
TEST(blind_flow_needs_a_whole_round_trip)
{
	blind_flow();
	for (int i = 0; i < 400; i++) {
		fill();
		assert_true(w.tp.packets_out > 40);
		pass(2 * T_BASE);
		news(i % 20 ? .96 : .1, 0);
		ack(2);
	}
	assert_false(steered());
}

/* A bound is of no link, and so not of one that is loaded. */
TEST(bound_is_no_loaded_link)
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

/* TCP_CONGESTION while SYN_SENT: BPF_SOCK_OPS_TCP_CONNECT_CB, or after connect() with O_NONBLOCK */
TEST(hpccpp_selected_in_syn_sent)
{
	w.tp.mss_cache = 536;
	w.tp.tcp_header_len = 0;
	begin(-1);
	w.tp.mss_cache = MSS;
	w.tp.tcp_header_len = 32;
	w.tp.snd_cwnd = 10;			/* tcp_init_transfer() */
	submit(10);
	pass(RTT);
	ack(2);
	assert_int_equal(w.tp.snd_cwnd, 12);
}

TEST(hpccpp_selected_in_syn_sent_keeps_initcwnd)
{
	static struct dst_entry route = { .initcwnd = 30 };

	begin(-1);
	w.sk->sk_dst = &route;
	w.tp.snd_cwnd = 30;			/* tcp_init_transfer() */
	submit(1);
	assert_int_equal(w.tp.snd_cwnd, 30);
}

TEST(hpccpp_selected_in_syn_sent_after_a_lost_syn)
{
	begin(-1);
	w.tp.snd_cwnd = 1;			/* tcp_init_transfer(), SYN sent three times */
	submit(1);
	assert_int_equal(w.tp.snd_cwnd, 1);
}

TEST(slow_start_ends_at_ssthresh)
{
	w.tp.snd_cwnd = 10;
	begin(-1);
	w.tp.snd_ssthresh = 12;
	fill();
	pass(RTT);
	ack(10);				/* one stretch ACK (GRO) */
	assert_int_equal(w.tp.snd_cwnd, 12);
}
