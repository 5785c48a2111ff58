// SPDX-License-Identifier: GPL-2.0
/* What the module does about loss, marks, timeouts and what turns out to be none. */
#include "module_test.h"

#define HALF	(W_INIT / 2)

/* The rate that TCP paces at: of payload, with a record's option in the packet. */
static void assert_paced(void)
{
	u64 R = (u64)flow()->s.W * USEC_PER_SEC / flow()->T;

	if (reno_bound())
		R = (u64)flow()->s.W * USEC_PER_SEC / (w.tp.srtt_us >> 3) * 6 / 5;
	assert_near(w.sk->sk_pacing_rate, R * (MSS - 16) / WIRE, 10000);
}

/* A flow with W_INIT in flight, whose path has room, and was full before */
static void begin_full(void)
{
	begin_known(.5);
	flow()->link_full = 1;
	hpccpp_begin_with(&flow()->s, W_INIT);
	fill();
}

/* ... and was not */
static void begin_roomy(void)
{
	begin_full();
	flow()->link_full = 0;
}

/* ... and has lost a packet, which is repaired */
static void begin_lossy(void)
{
	begin_roomy();
	lose(1);
	recovered();
}

static void assert_halved(const char *why)
{
	assert_int_equal(flow()->s.W, HALF);
	assert_int_equal(flow()->s.W_c, HALF);
	assert_int_equal(flow()->s.W_p, HALF);
	assert_int_equal(flow()->s.W_n, HALF);
	assert_paced();
	assert_int_equal(counter(why), 1);
	assert_int_equal(counter("md_loss") + counter("md_cwr") + counter("md_rto"), 1);
	assert_int_equal(counter("explained"), 0);
	/* line 22: what was sent before says nothing of the new W */
	assert_int_equal(flow()->last_update_seq, w.tp.snd_nxt);
}

TEST(loss_halves_W)
{
	begin_full();
	lose(1);
	assert_halved("md_loss");
}

/* W does not go to its share before the decrease has had its effect. */
TEST(loss_is_not_made_good)
{
	begin_full();
	w.port.N = hpccpp_N_encode(2);
	flow()->s.stepped = 1;
	lose(1);
	assert_int_equal(flow()->s.stepped, 0);
	pass(10);
	news(.95, 0);
	ack(1);
	assert_int_equal(flow()->s.W_f, 0);
	/* what was in flight is acked, and a round trip more */
	recovered();
	round_trip(.95);
	round_trip(.95);
	assert_int_not_equal(flow()->s.W_f, 0);
}

TEST(timeout_halves_W)
{
	begin_full();
	timed_out();
	assert_halved("md_rto");
}

TEST(W_is_halved_from_W_c)
{
	begin_full();
	flow()->s.W = W_INIT * 9 / 10;
	mark();
	assert_halved("md_cwr");
}

TEST(W_that_is_less_stays)
{
	begin_full();
	flow()->s.W = HALF - 1000;
	mark();
	assert_int_equal(flow()->s.W, HALF - 1000);
	assert_int_equal(flow()->s.W_c, HALF - 1000);
}

TEST(half_is_two_packets_at_least)
{
	begin_full();
	hpccpp_begin_with(&flow()->s, 3 * WIRE);
	mark();
	assert_int_equal(flow()->s.W, 2 * WIRE);
}

TEST(one_decrease_in_a_round_trip)
{
	begin_full();
	mark();
	lose(1);
	timed_out();
	mark();
	assert_int_equal(flow()->s.W, HALF);
	assert_int_equal(counter("md_cwr"), 1);
	assert_int_equal(counter("md_loss") + counter("md_rto"), 0);
	/* the last packet of that round trip but one is no end of it */
	recovered();
	fill();
	ack(w.tp.packets_out - 1);
	mark();
	assert_int_equal(counter("md_cwr"), 1);
	ack(1);
	submit(10);
	mark();
	assert_int_equal(counter("md_cwr"), 2);
	assert_int_equal(flow()->s.W, HALF / 2);
}

/* A decrease ends with the ACK of its data even when nothing is lost for gigabytes. */
TEST(end_of_a_decrease_is_not_missed_by_a_wrap)
{
	begin_full();
	mark();
	ack(w.tp.packets_out);
	w.tp.snd_una += 0x80000000;
	w.tp.snd_nxt = w.tp.snd_una;
	submit(1);
	mark();
	assert_int_equal(counter("md_cwr"), 2);
}

/* The telemetry of now says that U is n/8 of eta */
static void hear_U(u32 n)
{
	flow()->s.U = ETA * n / 8;
	flow()->p.eta = ETA;
	flow()->last_int = w.tp.tcp_clock_cache;
}

TEST(loss_that_telemetry_explains)
{
	begin_roomy();
	hear_U(16);
	lose(1);
	assert_int_equal(counter("explained"), 1);
	mark();
	timed_out();
	assert_int_equal(counter("explained"), 3);
	assert_int_equal(counter("md_loss") + counter("md_cwr") + counter("md_rto"), 0);
	assert_int_equal(flow()->s.W, W_INIT);
	assert_int_equal(reno_bound(), 0);
	/* nothing was taken: nothing comes back */
	ops()->undo_cwnd(w.sk);
	assert_int_equal(counter("undo"), 0);
}

TEST(loss_that_telemetry_does_not_explain)
{
	begin_full();
	hear_U(15);
	lose(1);
	assert_halved("md_loss");
}

TEST(eta_may_have_changed_before_a_loss)
{
	begin_full();
	hear_U(15);
	knob("eta", 80);
	lose(1);
	assert_int_equal(counter("explained"), 1);
}

/* Nor does what was heard longer than a round trip ago. */
TEST(loss_that_telemetry_explained_long_ago)
{
	begin_full();
	hear_U(16);
	pass(T_BASE);
	mark();
	assert_int_equal(counter("explained"), 1);
	pass(1);
	mark();
	assert_int_equal(counter("md_cwr"), 1);
	assert_int_equal(flow()->s.W, HALF);
}

/* The round trip is TCP's, when that is longer than T */
TEST(explained_for_a_round_trip_of_now)
{
	begin_full();
	hear_U(16);
	w.tp.srtt_us = 1000 << 3;
	pass(1000);
	mark();
	assert_int_equal(counter("explained"), 1);
}

TEST(undo_gives_back_W)
{
	u32 cwnd;

	begin_full();
	lose(1);
	w.tp.snd_cwnd = 10;
	cwnd = ops()->undo_cwnd(w.sk);
	assert_false(conserving());
	assert_int_equal(flow()->s.W, W_INIT);
	assert_int_equal(flow()->s.W_c, W_INIT);
	assert_int_equal(flow()->s.W_p, W_INIT);
	assert_int_equal(flow()->s.W_n, W_INIT);
	assert_int_equal(cwnd, DIV_ROUND_UP(W_INIT, WIRE) + 1);
	assert_paced();
	assert_int_equal(counter("undo"), 1);
	/* once: and the next loss is one of its own */
	ops()->undo_cwnd(w.sk);
	assert_int_equal(counter("undo"), 1);
	lose(1);
	assert_int_equal(counter("md_loss"), 2);
}

TEST(undo_does_not_shrink_what_grew)
{
	begin_full();
	lose(1);
	flow()->s.W = W_INIT + 5000;
	w.tp.snd_cwnd = 500;
	assert_int_equal(ops()->undo_cwnd(w.sk), 500);
	assert_int_equal(flow()->s.W, W_INIT + 5000);
}

TEST(undo_keeps_to_W_max)
{
	begin_full();
	flow()->s.W = W_MOST;
	lose(1);
	flow()->min_B /= 2;
	flow()->T = RTT;
	ops()->undo_cwnd(w.sk);
	assert_int_equal(flow()->s.W, flow()->p.W_max);
	assert_true(flow()->p.W_max < W_INIT);
}

/* A mark is not undone, nor a loss before it. */
TEST(undo_is_of_the_last_decrease)
{
	begin_full();
	lose(1);
	ack(w.tp.packets_out);
	mark();
	assert_int_equal(flow()->s.W, HALF / 2);
	ops()->undo_cwnd(w.sk);
	assert_int_equal(flow()->s.W, HALF / 2);
	assert_int_equal(counter("undo"), 0);
}

/* A timeout follows a loss in its round trip. If it was spurious, the loss stays one. */
TEST(undo_of_a_timeout_keeps_the_loss_before_it)
{
	begin_full();
	lose(1);
	timed_out();
	ops()->undo_cwnd(w.sk);
	assert_int_equal(flow()->s.W, HALF);
	assert_int_equal(counter("undo"), 0);
	lose(1);
	assert_int_equal(counter("md_loss"), 1);
}

/* TCP asks again with a timeout in the round trip of the loss. */
TEST(ssthresh_is_half_once_in_a_round_trip)
{
	begin_full();
	w.tp.snd_ssthresh = ops()->ssthresh(w.sk);
	assert_int_equal(w.tp.snd_ssthresh, HALF / WIRE);
	lose(1);
	assert_int_equal(ops()->ssthresh(w.sk), HALF / WIRE);
}

/* In its first round trip recovery sends a packet for one that has arrived. */
TEST(packets_are_conserved)
{
	u32 flight;

	begin_full();
	flow()->s.W = W_MOST;
	fill();
	flight = w.tp.packets_out;
	flow()->s.U = 2 * ETA;		/* W stays, see above */
	flow()->last_int = w.tp.tcp_clock_cache;
	lose(20);
	assert_int_equal(counter("explained"), 1);
	for (u32 i = 1; i < flight - 20; i++) {
		ack(1);
		assert_int_equal(w.tp.snd_cwnd, tcp_packets_in_flight(&w.tp) + 1);
		submit(1);
	}
	assert_true(conserving());
	ack(1);
	assert_false(conserving());
	/* then what was lost comes back with the ACKs' own clock */
	submit(1);
	flight = w.tp.snd_cwnd;
	ack(3);
	assert_int_equal(w.tp.snd_cwnd, flight + 3);
}

TEST(conservation_ends_with_recovery)
{
	begin_full();
	lose(20);
	assert_true(conserving());
	in_state(TCP_CA_Open);
	assert_false(conserving());
	w.tp.lost_out = 0;
	ack(1);
	assert_int_equal(w.tp.snd_cwnd, DIV_ROUND_UP(HALF, WIRE) + 1);
	ack(w.tp.packets_out);
	fill();
	lose(1);
	in_state(TCP_CA_Loss);
	assert_false(conserving());
}

/* An ACK that delivered nothing lets nothing out that was not out. */
TEST(cwnd_grows_by_what_was_delivered)
{
	begin_full();
	mark();
	w.tp.snd_cwnd = 5;
	ack(2);
	assert_int_equal(w.tp.snd_cwnd, 7);
	ack(0);
	assert_int_equal(w.tp.snd_cwnd, 7);
	in_state(TCP_CA_Disorder);
	ack(1);
	assert_int_equal(w.tp.snd_cwnd, DIV_ROUND_UP(HALF, WIRE) + 1);
}

/* A packet more in a round trip, but for what division leaves. */
static void assert_ceiling(u32 ceiling)
{
	assert_in_range(reno_bound(), ceiling - WIRE / 10, ceiling + WIRE / 10);
	assert_int_equal(flow()->s.W, reno_bound());
}

/* Until links that are told of are full W is Reno's. */
TEST(W_grows_as_renos_after_loss)
{
	begin_lossy();
	round_trip(.5);		/* of what was sent before */
	for (u32 i = 1; i < 20; i++) {
		u32 before = reno_bound();

		round_trip(.5);
		assert_ceiling(before + WIRE);
	}
	assert_true(steered());
	assert_paced();
}

TEST(reno_ends_with_a_full_link)
{
	begin_roomy();
	mark();
	in_state(TCP_CA_Open);
	round_trip(.5);
	assert_int_not_equal(reno_bound(), 0);
	round_trip(.96);
	assert_int_equal(reno_bound(), 0);
	for (u32 i = 0; i < 8; i++)
		round_trip(.2);
	assert_int_equal(flow()->s.W, W_MOST);
}

/* A ceiling says why W is less than T allows: no reason to look. */
TEST(a_ceiling_is_no_latency)
{
	begin_lossy();
	for (u32 i = 0; i < 20; i++) {
		rounds(1, 1000, .5, 0);
		assert_int_equal(flow()->s.W, flow()->p.W_max);
		assert_int_equal(flow()->dev_rounds, 0);
	}
	assert_int_equal(flow()->T, T_BASE);
}

/* A link that is told of was full since the last decrease: that asks for no ceiling. */
TEST(loss_of_a_full_link_sets_no_ceiling)
{
	begin_roomy();
	round_trip(.96);
	for (u32 i = 1; i <= 2; i++) {
		assert_int_equal(reno_bound(), 0);
		round_trip(.5);
		lose(1);
		assert_int_equal(counter("md_loss"), i);
		recovered();
	}
	assert_int_equal(reno_bound(), flow()->s.W);
}

/* Loss that no link explains: the round trip after it goes by the load. */
TEST(W_comes_back_by_the_load)
{
	begin_full();
	lose(1);
	assert_int_equal(reno_bound(), 0);
	recovered();
	round_trip(.5);
	round_trip(.5);
	assert_true(flow()->s.W > HALF * 3 / 2);
}

TEST(undo_renews_no_ceiling)
{
	begin_lossy();
	round_trip(.5);
	round_trip(.5);
	lose(1);
	for (u32 i = 0; i < 4; i++) {
		pass(T_BASE);
		news(1.2, 0);
		ack(1);
	}
	assert_int_equal(reno_bound(), 0);
	ops()->undo_cwnd(w.sk);
	assert_int_equal(reno_bound(), 0);
}

/* What the application does not use does not grow, nor in the round trip of the loss. */
TEST(ceiling_of_a_limited_flow_stays)
{
	u32 ceiling;

	begin_roomy();
	lose(1);
	ack(4);
	assert_int_equal(reno_bound(), HALF);
	recovered();
	ack(w.tp.packets_out);
	ceiling = reno_bound();
	assert_true(ceiling > HALF);
	w.limited = true;
	round_trip(.5);
	round_trip(.5);
	assert_int_equal(reno_bound(), ceiling);
}

/* --- Without telemetry: what Linux' Reno does ------------------------------------ */

static void begin_reno(u32 cwnd)
{
	w.tp.snd_cwnd = cwnd;
	begin(-1);
	w.tp.srtt_us = RTT << 3;
}

/* A round trip: each packet acked lets others out. */
static void reno_round_trip(void)
{
	u32 n;

	fill();
	pass(RTT);
	for (n = w.tp.packets_out; n; n--)
		ack(1);
}

/* Of a full flight a packet is lost, and repaired. */
static void reno_loses_a_packet(void)
{
	fill();
	lose(1);
	w.tp.packets_out = 0;
	w.tp.snd_una = w.tp.snd_nxt;
	recovered();
	ack(0);
}

TEST(reno_grows_as_linux)
{
	begin_reno(10);
	reno_round_trip();
	assert_int_equal(w.tp.snd_cwnd, 20);
	reno_loses_a_packet();
	assert_int_equal(w.tp.snd_cwnd, 10);
	for (u32 i = 1; i <= 10; i++) {
		reno_round_trip();
		assert_in_range(w.tp.snd_cwnd, 9 + i, 11 + i);
	}
	assert_int_equal(counter("md_loss"), 1);
}

/* A SYN was lost, and then the first data: cwnd is 1. */
TEST(reno_grows_from_one_packet)
{
	begin_reno(1);
	fill();
	timed_out();
	w.tp.snd_cwnd = 1;
	ack(1);
	in_state(TCP_CA_Open);
	for (u32 i = 0; i < 20; i++)
		reno_round_trip();
	assert_in_range(w.tp.snd_cwnd, 15, 30);
}

/* After a timeout, slow start begins at cwnd and ends at ssthresh. */
TEST(reno_begins_again_after_a_timeout)
{
	begin_reno(10);
	for (u32 i = 0; i < 4; i++)
		reno_round_trip();
	assert_int_equal(w.tp.snd_cwnd, 160);
	submit(3);
	timed_out();
	w.tp.snd_cwnd = 1;
	assert_int_equal(w.tp.snd_ssthresh, 80);
	/* a second one before all of it is acknowledged */
	ack(1);
	timed_out();
	w.tp.snd_cwnd = 1;
	assert_int_equal(w.tp.snd_ssthresh, 2);
	ack(2);
	in_state(TCP_CA_Open);
	assert_in_range(w.tp.snd_cwnd, 1, 3);
	reno_round_trip();
	assert_in_range(w.tp.snd_cwnd, 2, 4);
}

TEST(reno_has_the_clamp_of_the_route)
{
	w.tp.snd_cwnd_clamp = 20;
	begin_reno(10);
	for (u32 i = 0; i < 40; i++)
		reno_round_trip();
	assert_int_equal(w.tp.snd_cwnd, 20);
	reno_loses_a_packet();
	assert_int_equal(w.tp.snd_cwnd, 10);
}

/* Of 80 packets: 40 after two RTOs, as tcp_cwnd_restart() has it, 10 at least. */
TEST(reno_after_a_pause)
{
	static const struct { u32 rtos, cwnd; } rows[] = {
		{ 1, 80 }, { 2, 40 }, { 3, 20 }, { 9, 10 },
	};

	for_each_row(row, rows) {
		restart();
		begin_reno(10);
		for (u32 i = 0; i < 3; i++)
			reno_round_trip();
		assert_int_equal(w.tp.snd_cwnd, 80);
		w.tp.snd_ssthresh = 50;
		tcp_jiffies32 += row->rtos * w.tp.icsk.icsk_rto;
		submit(1);
		assert_int_equal(w.tp.snd_cwnd, row->cwnd);
	}
}

/* The first retransmission does not wait until half of the window has arrived. */
TEST(first_retransmission_leaves_at_once)
{
	begin_full();
	lose(1);
	ack(1);
	assert_true(w.tp.snd_cwnd > tcp_packets_in_flight(&w.tp));
	w.tp.retrans_out = 1;
	ack(1);
	assert_false(w.tp.snd_cwnd > tcp_packets_in_flight(&w.tp));
}

/* T of before says nothing of the path without telemetry. */
TEST(reno_is_paced_by_the_rtt_of_now)
{
	begin_known(.5);
	flow()->T = 20000;
	w.tp.srtt_us = RTT << 3;
	pass(1000000);
	for (u32 i = 0; i < 4; i++) {
		fill();
		ack(1);
	}
	assert_false(steered());
	assert_true(w.sk->sk_pacing_rate >= (u64)w.tp.snd_cwnd * MSS * USEC_PER_SEC / RTT);
}

/* cwnd of recovery is no threshold for the congestion control that follows. */
TEST(release_in_recovery_leaves_ssthresh)
{
	begin_full();
	lose(1);
	w.tp.snd_cwnd = 3;
	ops()->release(w.sk);
	assert_int_equal(w.tp.snd_ssthresh, HALF / WIRE);
}

/* W of less than two packets is not raised by a bound that is not less. */
TEST(ceiling_does_not_raise_W)
{
	begin_roomy();
	hpccpp_begin_with(&flow()->s, WIRE / 2);
	lose(1);
	assert_int_equal(reno_bound(), 2 * WIRE);
	assert_int_equal(flow()->s.W, WIRE / 2);
	ack(2);
	assert_int_equal(flow()->s.W, WIRE / 2);
}

/* W is below the ceiling from the loss on, also where telemetry has room for more. */
TEST(ceiling_holds_at_once)
{
	begin_roomy();
	flow()->s.inc_stage = 5;
	flow()->updates = 100;	/* a path that is known */
	lose(1);
	pass(T_BASE / 4);
	news(.5, 0);
	ack(1);
	assert_int_equal(flow()->s.W, HALF);
}

/* As much as T allows is no ceiling any more, and the flow may look why that is too little. */
TEST(ceiling_ends_with_T)
{
	begin_lossy();
	for (u32 i = 0; i < 70; i++)
		round_trip(.5);
	assert_int_equal(reno_bound(), 0);
	assert_int_equal(flow()->s.W, W_MOST);
}

TEST(undo_gives_back_the_ceiling)
{
	u32 ceiling;

	begin_lossy();
	round_trip(.5);
	round_trip(.5);
	ceiling = reno_bound();
	assert_true(ceiling > HALF);
	lose(1);
	ops()->undo_cwnd(w.sk);
	assert_int_equal(reno_bound(), ceiling);
	assert_int_equal(flow()->s.W, ceiling);
}

static void roomy(void)
{
	begin_known(.5);
	hpccpp_begin_with(&flow()->s, W_INIT);
	fill();
	flow()->link_full = 0;
}

/* ECE in two round trips; the ACK of the second jumps over md_seq. */
TEST(ssthresh_follows_each_decrease)
{
	u32 before, grown[2];

	roomy();
	mark();
	assert_int_equal(flow()->cause, HPCCPP_C_LOSS);
	assert_int_equal(w.tp.snd_ssthresh, W_INIT / 2 / WIRE);
	submit(1);
	w.tp.snd_una = w.tp.snd_nxt;		/* tcp_ack(), before cong_control */
	w.tp.packets_out = 0;
	in_state(TCP_CA_Open);
	mark();
	news(.5, 0);
	ack(0);
	in_state(TCP_CA_Open);
	for (u32 i = 0; i < 2; i++) {
		before = reno_bound();
		fill();
		pass(T_BASE);
		news(.5, 0);
		ack(w.tp.packets_out);
			grown[i] = reno_bound() - before;
	}
	assert_true(grown[0] <= WIRE + WIRE / 10);
}

/* U of six T ago explains nothing, though the flow began to send just now. */
TEST(old_telemetry_explains_no_loss)
{
	roomy();
	ack(w.tp.packets_out);
	flow()->s.U = 2 * ETA;
	flow()->p.eta = ETA;
	flow()->last_int = w.tp.tcp_clock_cache;
	pass(6 * T_BASE);
	submit(10);
	pass(T_BASE);
	lose(1);
	assert_int_equal(counter("explained"), 0);
}

TEST(old_telemetry_explains_no_loss_draft)
{
	as_in_the_draft();
	roomy();
	ack(w.tp.packets_out);
	flow()->s.U = 2 * ETA;
	flow()->p.eta = ETA;
	flow()->last_int = w.tp.tcp_clock_cache;
	pass(60000000);
	submit(10);
	pass(T_BASE);
	lose(1);
	assert_int_equal(counter("explained"), 0);
}

TEST(link_full_in_the_round_trip)
{
	roomy();
	pass(T_BASE);
	news(.5, 0);
	ack(1);
	assert_int_equal(w.trace.update_wc, 1);
	pass(T_BASE / 4);
	news(2.5, 0);
	ack(1);
	assert_int_equal(w.trace.update_wc, 0);
	assert_true(flow()->s.U >= ETA && flow()->s.U < 2 * ETA);
	lose(1);
	assert_int_equal(flow()->mode, HPCCPP_STEER);
}

/* Full in the first record of the handshake, which no round trip ends */
TEST(link_full_at_the_start)
{
	begin(1);
	assert_true(flow()->s.U >= ETA);
	fill();
	pass(RTT);
	lose(1);
	assert_int_equal(flow()->mode, HPCCPP_STEER);
}

/* The last decrease was Reno's: no link was full since. */
TEST(link_full_before_a_fallback)
{
	roomy();
	flow()->link_full = 1;
	pass(100 * T_BASE);
	for (u32 i = 0; i < 4; i++) {
		fill();
		ack(1);
	}
	assert_false(steered());
	lose(1);
	recovered();
	ack(w.tp.packets_out);
	fill();
	pass(T_BASE);
	news(.5, 0);
	ack(1);
	assert_true(steered());
	round_trip(.5);
	lose(1);
	assert_int_equal(flow()->mode, HPCCPP_COEXIST);
}

/* A spurious loss at no full link ends the COEXIST that it has begun. */
TEST(undo_ends_coexist)
{
	roomy();
	lose(1);
	assert_int_equal(flow()->mode, HPCCPP_COEXIST);
	ops()->undo_cwnd(w.sk);
	assert_int_equal(flow()->mode, HPCCPP_STEER);
}
