// SPDX-License-Identifier: GPL-2.0
/*
 * The first window of a flow whose handshake has reported a load, or other flows that begin with
 * it: D-START in hpccpp_main.c.
 */
#include "module_test.h"

/* Its part of a link beside the load that is there; a SYN-ACK tells of it without an id. */
TEST(begins_beside_what_the_handshake_found)
{
	begin(.5);
	assert_near(flow()->s.W, RTT * 1250 * .95 / 1.5, 50);
	assert_int_equal(flow()->s.W_c, flow()->s.W);
	assert_int_equal(flow()->last_update_seq, w.tp.snd_nxt);
	assert_int_equal(w.tp.snd_cwnd, DIV_ROUND_UP(flow()->s.W, WIRE));
}

TEST(begins_at_line_rate_as_in_the_draft)
{
	as_in_the_draft();
	begin(.5);
	assert_int_equal(flow()->s.W_c, RTT * 1250);
}

/* A flow that has lost packets does not begin at line rate, and with no more in an incast. */
TEST(begins_in_an_incast_with_less)
{
	w.tp.snd_ssthresh = 100;
	w.tp.lost = 1;
	w.port.N = hpccpp_N_encode(4);
	begin(.9);
	/* its own 10 packets are a load on top of that */
	assert_near(flow()->s.W, 10 * WIRE * .95 / (.9 + 10. * WIRE / (RTT * 1250)), 50);
	assert_int_equal(flow()->s.W_c, flow()->s.W);
}

/* A flow that has paused begins as if the link were full. */
#define ANEW	((u32)(RTT * 1250 * .95 / 1.95))

/* A pool of connections: 64 begin at once, and the data comes that many T later, and a packet's. */
static void begin_and_wait(double load, u32 T)
{
	w.port.N = hpccpp_N_encode(64);
	begin(load);
	pass((T + DIV_ROUND_UP(flow()->p.packet, flow()->s.W)) * flow()->T);
}

TEST(handshake_of_long_ago_says_nothing)
{
	begin_and_wait(.5, HPCCPP_STALE_T);
	pass(1);
	submit(1);
	assert_near(flow()->s.W, ANEW, 1000);
	assert_int_equal(flow()->s.W_c, flow()->s.W);
	assert_int_equal(flow()->s.W_f, 0);
	assert_int_equal(flow()->s.U, 0);
	assert_int_equal(flow()->s.inc_stage, 0);
	assert_int_equal(w.tp.snd_cwnd, DIV_ROUND_UP(ANEW, WIRE));
	assert_true(w.sk->sk_pacing_rate > 1100000000 / 2);
	/* once: what comes then is answered */
	round_trip(1);
	submit(1);
	assert_true(flow()->s.W < ANEW);
}

TEST(handshake_of_now_says_all)
{
	begin_and_wait(.5, HPCCPP_STALE_T);
	submit(1);
	assert_near(flow()->s.W, RTT * 1250 * .95 / 64, 50);
	assert_int_equal(flow()->s.W_c, flow()->s.W);
}

/* Other flows may resume with it: it has four times its W at most, and no more than ANEW. */
TEST(pause_of_a_flow_that_has_sent)
{
	u32 W;

	begin_and_wait(.5, 1);
	submit(1);
	ack(1);
	W = flow()->s.W;
	assert_true(W < ANEW / 16);
	pass(1000 * RTT);
	submit(1);
	assert_int_equal(flow()->s.W, 4 * W);
	assert_int_equal(flow()->s.W_c, 4 * W);
	ack(1);
	flow()->s.W = ANEW / 3;
	pass(1000 * RTT);
	submit(1);
	assert_near(flow()->s.W, ANEW, 1000);
}

TEST(pause_of_a_flow_with_all_of_the_link)
{
	begin(0);
	submit(1);
	ack(1);
	assert_near(flow()->s.W, RTT * 1250 * .95, 200);
	flow()->s.inc_stage = 1;
	pass(1000 * RTT);
	submit(1);
	assert_near(flow()->s.W, ANEW, 1000);
	assert_int_equal(flow()->s.inc_stage, 0);
}

/* A flow at the floor of W sends a packet in 16 T: that is its pace, and no pause. */
TEST(pace_of_the_floor_is_no_pause)
{
	u32 W, i;

	begin(0);
	hpccpp_begin_with(&flow()->s, flow()->p.W_min);
	W = flow()->s.W;
	for (i = 0; i < 3; i++) {
		submit(1);
		ack(1);
		flow()->s.W = W;
		pass(DIV_ROUND_UP(flow()->p.packet, W) * flow()->T);
	}
	submit(1);
	assert_int_equal(flow()->s.W, W);
}

/* Over a WAN a flow has no more than before. */
TEST(pause_over_a_wan)
{
	knob("base_rtt_us", 5001);
	begin(1);
	submit(1);
	ack(1);
	hpccpp_begin_with(&flow()->s, 50 * WIRE);
	pass(20 * 5001);
	submit(1);
	assert_int_equal(flow()->s.W, 50 * WIRE);
	ack(1);
	hpccpp_begin_with(&flow()->s, 5001 * 1250);
	pass(20 * 5001);
	submit(1);
	assert_near(flow()->s.W, 5001 * 1250 * .95 / 1.95, 1000);
}

/* Data of the peer has brought telemetry since. */
TEST(telemetry_of_now)
{
	begin_and_wait(.5, 1000);
	news(.5, 0);
	submit(1);
	assert_true(flow()->s.W < RTT * 1250 / 32);
}

TEST(handshake_of_long_ago_and_a_probe)
{
	knob("probe", 10);
	begin_and_wait(.5, 12);
	submit(1);
	assert_int_equal(counter("probes"), 1);
	assert_int_equal(w.tp.snd_cwnd, 2);
	assert_near(flow()->s.W_c, ANEW, 1000);
}

TEST(handshake_of_long_ago_and_a_threshold)
{
	w.tp.snd_ssthresh = 100;
	begin_and_wait(.5, HPCCPP_STALE_T);
	pass(1);
	submit(1);
	assert_near(flow()->s.W, ANEW, 1000);
}

/* A WAN's link that was full is not known to be so. */
TEST(handshake_of_long_ago_over_a_wan)
{
	knob("base_rtt_us", 5001);
	begin_and_wait(1, 9);
	assert_int_equal(reno_bound(), 0);
	submit(1);
	assert_int_equal(reno_bound(), 10 * WIRE);
	assert_int_equal(flow()->cause, HPCCPP_C_WAN);
	assert_int_equal(flow()->s.W, 10 * WIRE);
}

/* ... nor is a ceiling that W has begun below. */
TEST(ceiling_of_long_ago_over_a_wan)
{
	struct dst_entry route = { .initcwnd = 30 };

	w.sk->sk_dst = &route;
	w.tp.snd_cwnd = 30;
	knob("base_rtt_us", 5001);
	w.port.rate = hpccpp_rate_encode(100000000);
	begin_and_wait(0, 9);
	assert_int_equal(reno_bound(), 30 * WIRE);
	assert_true(flow()->s.W < 2 * WIRE);
	submit(1);
	assert_int_equal(reno_bound(), 30 * WIRE);
	assert_near(flow()->s.W, 5001 * 12.5 * .95 / 1.95, 100);
}

/* The draft's flow has not gone by the load of its handshake. */
TEST(handshake_of_long_ago_as_in_the_draft)
{
	u32 W;

	as_in_the_draft();
	knob("base_rtt_us", 5001);
	begin_and_wait(1, 9);
	W = flow()->s.W;
	submit(1);
	assert_int_equal(flow()->s.W, W);
	assert_int_equal(flow()->s.W_c, 5001 * 1250);
	assert_int_equal(reno_bound(), 0);
}

/* TCP does not pace the first ten data segments: cwnd alone keeps W, of less than a packet. */
TEST(cwnd_alone_keeps_the_first_ten_segments)
{
	w.port.N = hpccpp_N_encode(256);
	begin(.5);
	for (u32 i = 0; i < 9; i++) {
		assert_true(flow()->s.W < WIRE);
		assert_int_equal(w.tp.snd_cwnd, 1);
		submit(1);
		news(.95, 0);
		ack(1);
	}
	submit(1);
	news(.95, 0);
	ack(1);
	assert_int_equal(w.tp.snd_cwnd, 2);
}

/* A receiver that sends data, or has room for few, may delay its ACK of a packet alone. */
TEST(cwnd_of_a_receiver_that_delays_acks_is_two)
{
	static const struct { const char *what; u32 snd_wnd, data_segs_in; u32 cwnd; } rows[] = {
		{ "all is as at the start", 65535, 3, 1 },
		{ "the receiver has sent data", 65535, 4, 2 },
		{ "... 256 segments", 65535, 3 + 256 + 1, 2 },
		{ "20 segments fit its window", 20 * MSS, 3, 1 },
		{ "a byte less", 20 * MSS - 1, 3, 2 },
	};

	for_each_row(row, rows) {
		print_message("# %s\n", row->what);
		restart();
		w.tp.data_segs_in = 3;
		w.port.N = hpccpp_N_encode(256);
		begin(.5);
		submit(1);
		news(.95, 0);
		ack(1);
		assert_int_equal(w.tp.snd_cwnd, 1);
		w.tp.snd_wnd = row->snd_wnd;
		w.tp.data_segs_in = row->data_segs_in;
		/* with its first packet, also where no telemetry arrived since the last ACK */
		pass(flow()->T);
		submit(1);
		assert_int_equal(w.tp.snd_cwnd, row->cwnd);
	}
}

/* bdp (eta - U) of more than 32 bits */
TEST(rest_of_a_long_fat_link)
{
	knob("base_rtt_us", 4000000);
	knob("probe", 10);
	knob("eta", 94);
	w.port.N = hpccpp_N_encode(2);
	begin(1);
	submit(1);
	pass(4000000);
	news(.5, 0);
	ack(1);
	flow()->last_int = w.tp.tcp_clock_cache;
	hpccpp_begin_with(&flow()->s, flow()->p.W_max);
	pass(4000000 * 20ULL);
	submit(2);
	assert_int_equal(flow()->probing, 1);
	w.port.stamped = w.tp.tcp_clock_cache;
	pass(4000000);
	news(.08, 0);
	ack(2);
	assert_int_equal(flow()->probing, 0);
	assert_true(flow()->s.W > 900000000);
}
