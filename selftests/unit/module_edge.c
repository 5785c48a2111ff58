// SPDX-License-Identifier: GPL-2.0
/*
 * The module where only hosts have port agents, whose link ids are from 0x800 on: delay that no
 * record reports counts as a queue (D-EDGE).
 */
#include "module_test.h"

#define DELAY	100U		/* us */
#define SLACK	(T_BASE / 8 + 1)	/* of delay that does not count, us */
#define LATENCY	30U		/* us */
#define EDGE_ROUNDS	128		/* of like delay are latency */

static void begin_between_hosts(void)
{
	w.port.id = 0x923;
	begin_known(.5);
	rounds(8, RTT, .5, 0);
	assert_near(flow()->s.U, HPCCPP_ONE / 2, 1000);
}

/* n ACKs with this round trip time, each with a record of half a load and no queue */
static void acks(u32 n, u32 rtt)
{
	while (n--) {
		fill();
		pass(RTT / 4);
		w.rtt = rtt;
		news(.5, 0);
		ack(1);
	}
}

/* A queue of 100 us at 10 Gbit/s is 125000 bytes: .952 of B T, beside a load of .5 */
TEST(delay_counts_as_queue)
{
	u32 W;

	begin_between_hosts();
	W = flow()->s.W;
	/* U is averaged over T, and takes the shorter of two queues */
	acks(40, T_BASE + 1 + DELAY);
	assert_near(flow()->s.U, 1452 * HPCCPP_ONE / 1000, 100);
	assert_true(flow()->s.W < W);
	/* without the delay there is no queue, as soon as 8 samples are without */
	acks(40, RTT);
	assert_near(flow()->s.U, HPCCPP_ONE / 2, 100);
}

TEST(delay_up_to_an_eighth_of_T_does_not_count)
{
	begin_between_hosts();
	acks(40, T_BASE + SLACK);
	assert_near(flow()->s.U, HPCCPP_ONE / 2, 100);
}

/* One ACK in four is on time: all that the others are late is noise. */
TEST(delay_of_some_acks_does_not_count)
{
	begin_between_hosts();
	for (int i = 0; i < 20; i++) {
		acks(3, T_BASE + 1 + DELAY);
		acks(1, RTT);
	}
	assert_near(flow()->s.U, HPCCPP_ONE / 2, 100);
}

/*
 * The link that reports has room. After the delay W grows by 1/4, 1/2, 1 and 2 W_f in a round trip
 * each, and then without this bound.
 */
TEST(growth_after_delay_is_bounded)
{
	u32 W, W_f = 0, n = 0, i;

	begin_between_hosts();
	acks(8, T_BASE + 1 + DELAY);
	w.port.N = hpccpp_N_encode(64);
	rounds(8, T_BASE + 1 + DELAY, .5, 0);
	W = flow()->edge_W;
	flow()->rtt_least = RTT;
	flow()->rtt_before = RTT;
	for (i = 0; flow()->edge_W && i < 16; i++) {
		n = flow()->edge_rounds;
		rounds(1, RTT, .05, 0);
		W_f = flow()->s.W_f;
		assert_true(flow()->s.W <= W + (W_f << n) / 4);
	}
	assert_int_equal(n, 3);
	rounds(2, RTT, .05, 0);
	assert_true(flow()->s.W > W + 4 * W_f);
}

/* A flow that has become slow has one packet in flight, and so no samples: old ones end. */
TEST(samples_are_forgotten)
{
	u32 i;

	begin_between_hosts();
	acks(40, T_BASE + 1 + DELAY);
	assert_true(flow()->rtt_least != ~0U || flow()->rtt_before != ~0U);
	for (i = 0; i < 10; i++) {
		ack(w.tp.packets_out);
		submit(1);
		pass(T_BASE + DELAY);
		w.rtt = T_BASE + 1 + DELAY;
		news(.5, 0);
		ack(1);
	}
	assert_true(flow()->rtt_least == ~0U && flow()->rtt_before == ~0U);
}

/* A longer queue that the record reports stays. */
TEST(reported_queue_counts_if_it_is_longer)
{
	begin_between_hosts();
	for (int i = 0; i < 40; i++) {
		fill();
		pass(RTT / 4);
		w.rtt = T_BASE + SLACK + 10;
		news(.5, 125000);
		ack(1);
	}
	assert_near(flow()->s.U, 1452 * HPCCPP_ONE / 1000, 50);
}

/* Agents on switches report queues: their first record ends the rule for the flow. */
TEST(record_of_a_switch_ends_it)
{
	begin_between_hosts();
	w.port.id = 0x123;
	acks(1, RTT);
	w.port.id = 0x923;
	acks(40, T_BASE + 1 + DELAY);
	assert_near(flow()->s.U, HPCCPP_ONE / 2, 50);
}

/* The record of a SYN comes without its link id: it is no switch's. */
TEST(record_of_a_syn_is_of_no_switch)
{
	w.port.id = 0;
	begin(.5);
	w.port.id = 0x923;
	rounds(9, RTT, .5, 0);
	acks(40, T_BASE + 1 + DELAY);
	assert_near(flow()->s.U, 1452 * HPCCPP_ONE / 1000, 100);
}

/* A loss does not end it. */
TEST(delay_counts_in_coexist_after_loss)
{
	begin_between_hosts();
	flow()->link_full = 0;
	lose(1);
	recovered();
	assert_int_equal(flow()->mode, HPCCPP_COEXIST);
	acks(60, T_BASE + 1 + DELAY);
	assert_true(flow()->s.U > HPCCPP_ONE);
}

/* Over a WAN Reno's flows make queues, and Reno takes its share of these. */
TEST(delay_does_not_count_over_a_wan)
{
	begin_between_hosts();
	flow()->mode = HPCCPP_COEXIST;
	flow()->cause = HPCCPP_C_WAN;
	w.tp.rtt_min = 6000;
	acks(20, 20000);
	assert_near(flow()->s.U, HPCCPP_ONE / 2, 20);
}

/* A packet alone waits for a delayed ACK. */
TEST(delay_of_single_packets_does_not_count)
{
	begin_between_hosts();
	for (int i = 0; i < 20; i++) {
		ack(w.tp.packets_out);
		submit(1);
		pass(40000);
		w.rtt = 40000;
		news(.5, 0);
		ack(1);
	}
	assert_near(flow()->s.U, HPCCPP_ONE / 2, 100);
}

TEST(delay_does_not_count_if_T_is_configured)
{
	begin_between_hosts();
	knob("base_rtt_us", RTT);
	acks(40, T_BASE + 1 + DELAY);
	assert_near(flow()->s.U, HPCCPP_ONE / 2, 50);
}

/* A flow whose window grows from edge_W */
static void begin_bounded(void)
{
	begin_between_hosts();
	acks(8, T_BASE + 1 + DELAY);
	rounds(4, T_BASE + 1 + DELAY, .5, 0);
	assert_true(flow()->edge_W);
}

static void assert_forgotten(void)
{
	assert_int_equal(flow()->edge_W, 0);
	assert_int_equal(flow()->edge_rounds, 0);
	assert_int_equal(flow()->rtt_least, ~0U);
	assert_int_equal(flow()->rtt_before, ~0U);
}

TEST(pause_forgets_delay)
{
	begin_bounded();
	ack(w.tp.packets_out);
	pass(1000 * RTT);
	submit(1);
	assert_forgotten();
}

/* The window of a probe does not count as that of a round trip: the bound would not end. */
TEST(probe_forgets_delay)
{
	begin_bounded();
	knob("probe", 10);
	ack(w.tp.packets_out);
	pass(1000 * RTT);
	submit(1);
	assert_int_equal(counter("probes"), 1);
	assert_forgotten();
}

TEST(silence_forgets_delay)
{
	begin_bounded();
	for (int i = 0; i < 200 && steered(); i++) {
		fill();
		pass(RTT);
		ack(w.tp.packets_out - 1);
	}
	assert_false(steered());
	assert_forgotten();
}

/* The window that an undo gives back is not taken away by the bound of before. */
TEST(undo_moves_the_bound)
{
	u32 W;

	begin_bounded();
	W = flow()->s.W;
	flow()->link_full = 1;
	lose(1);
	assert_int_equal(flow()->edge_W, flow()->s.W);
	ops()->undo_cwnd(w.sk);
	assert_int_equal(flow()->s.W, W);
	assert_int_equal(flow()->edge_W, W);
}

/* Latency of the path, and no queue: W has no part in it. */
TEST(delay_that_stays_becomes_latency)
{
	u32 W;

	begin_between_hosts();
	acks(8, T_BASE + LATENCY);
	rounds(EDGE_ROUNDS - 10, T_BASE + LATENCY, .5, 0);
	assert_int_equal(flow()->latency, 0);
	W = flow()->s.W;
	rounds(20, T_BASE + LATENCY, .5, 0);
	assert_int_equal(flow()->latency, LATENCY - 1);
	assert_int_equal(flow()->T, T_BASE + LATENCY - 1);
	assert_int_equal(flow()->mode, HPCCPP_STEER);
	rounds(4, T_BASE + LATENCY, .5, 0);
	assert_near(flow()->s.U, HPCCPP_ONE / 2, 1000);
	assert_true(flow()->s.W > W);
	/* and it ends */
	rounds(20, RTT, .5, 0);
	assert_int_equal(flow()->T, T_BASE);
}

/* Delay of a queue changes by more than a sixteenth of the RTT. */
TEST(delay_that_changes_stays_a_queue)
{
	begin_between_hosts();
	acks(8, T_BASE + LATENCY);
	for (int i = 0; i < 40; i++) {
		rounds(8, T_BASE + LATENCY, .5, 0);
		rounds(8, T_BASE + LATENCY * 3 / 2, .5, 0);
	}
	assert_int_equal(flow()->latency, 0);
	assert_int_equal(flow()->T, T_BASE);
}

/* A flow with latency, eight round trips before it knows */
static void begin_late(void)
{
	begin_between_hosts();
	acks(8, T_BASE + LATENCY);
	while (flow()->edge_delays < EDGE_ROUNDS - 8)
		rounds(1, T_BASE + LATENCY, .5, 0);
}

TEST(delay_that_ends_is_no_latency)
{
	begin_late();
	rounds(12, RTT, .5, 0);
	assert_int_equal(flow()->edge_delays, 0);
	acks(8, T_BASE + LATENCY);
	rounds(EDGE_ROUNDS / 4 * 3, T_BASE + LATENCY, .5, 0);
	assert_int_equal(flow()->latency, 0);
}

/* Queues that ports report explain it. */
TEST(delay_of_reported_queues_is_no_latency)
{
	begin_late();
	rounds(20, T_BASE + LATENCY, .5, 1250 * LATENCY);
	assert_int_equal(flow()->latency, 0);
}

/* A loss is a sign of a queue. */
TEST(loss_begins_the_count_again)
{
	begin_late();
	flow()->link_full = 1;
	lose(1);
	assert_int_equal(flow()->edge_delays, 0);
}

/* also if data of the peer brings an echo */
TEST(pause_begins_the_count_again)
{
	begin_late();
	ack(w.tp.packets_out);
	pass(1000 * RTT);
	news(.5, 0);
	submit(1);
	assert_int_equal(flow()->edge_delays, 0);
}

/* Round trips without samples leave the count as it is: a slow flow has one packet in flight. */
TEST(slow_flows_learn_latency)
{
	begin_late();
	ack(w.tp.packets_out);
	flow()->rtt_least = ~0U;
	flow()->rtt_before = ~0U;
	flow()->edge_delays = EDGE_ROUNDS - 1;
	for (int i = 0; i < 20; i++) {
		ack(w.tp.packets_out);
		submit(1);
		pass(T_BASE + LATENCY);
		news(.5, 0);
		ack(1);
	}
	assert_int_equal(flow()->edge_delays, EDGE_ROUNDS - 1);
	acks(4, T_BASE + LATENCY);
	rounds(2, T_BASE + LATENCY, .5, 0);
	assert_int_equal(flow()->latency, LATENCY - 1);
}
