// SPDX-License-Identifier: GPL-2.0
/*
 * The module under telemetry: T and min(B), when a round trip ends
 * (lines 22 and 24), cwnd and pacing, and probes after idling.
 */
#include "module_test.h"

/* --- T --- */

/* Of the slowest link; 4 x 1514 bytes last 485 us at 100 Mbit/s. */
TEST(T_is_of_the_slowest_link)
{
	w.port.rate = hpccpp_rate_encode(100000000);
	begin(.1);
	pass(RTT);
	news(.1, 0);
	submit(1);
	ack(1);
	assert_int_equal(flow()->min_B, 12500000);
	assert_int_equal(flow()->T, RTT + 485);
}

/* A port that tells of 16 flows: T is 105 us, and eta of B T / 16 is 7792 bytes. */
TEST(share_is_told)
{
	begin_known(.95);
	assert_int_equal(flow()->s.W_f, 0);
	w.port.N = hpccpp_N_encode(16);
	round_trip(.95);
	assert_in_range(flow()->s.W_f, 7785, 7795);
	assert_int_equal(w.trace.W_f, flow()->s.W_f);
	/* the draft's, from the next round trip on */
	as_in_the_draft();
	round_trip(.95);
	round_trip(.95);
	assert_int_equal(flow()->s.W_f, 0);
}

TEST(T_may_be_fixed)
{
	knob("base_rtt_us", 77);
	begin(.5);
	round_trip(.5);
	assert_int_equal(flow()->T, 77);
	assert_int_equal(flow()->p.T, 77);
	/* and what no longer is follows the minimum with the next round trip */
	knob("base_rtt_us", 0);
	round_trip(.5);
	assert_int_equal(flow()->T, T_BASE);
}

TEST(T_follows_the_minimum)
{
	begin_known(.5);
	for (int i = 0; i < 9; i++)
		round_trip(.5);
	fill();
	for (int i = 0; i < 2; i++) {		/* the second time within a round trip */
		w.tp.rtt_min = 80 - 10 * i;
		pass(10);
		news(.5, 0);
		ack(1);
		assert_int_equal(flow()->T, 85 - 10 * i);
	}
}

TEST(T_is_bounded)
{
	w.tp.rtt_min = 5000000;
	begin(.5);
	assert_int_equal(flow()->T, 4000000);
}

/* A client whose SYN waited 40 us in a queue: 50000 bytes at 10 Gbit/s */
static void begin_behind(u32 qlen)
{
	news(.5, qlen);
	begin(-1);
	assert_true(steered());
}

/* The first data is acknowledged 100 us later, with a record of this queue. */
static void next_record(u32 qlen)
{
	submit(10);
	pass(100);
	news(.5, qlen);
	ack(1);
}

TEST(handshake_counts_without_its_queue)
{
	begin_behind(50000);
	/* 49984 bytes, 39 us */
	assert_int_equal(flow()->syn_queue, 39);
	assert_int_equal(flow()->syn_rtt, RTT);
	assert_int_equal(flow()->T, RTT - 39);
	next_record(50000);
	assert_int_equal(flow()->T, T_BASE - 39);
}

TEST(queue_that_no_SYN_waited_in)
{
	begin_behind(RTT * 1250 + 64);
	assert_int_equal(flow()->syn_queue, 0);
	assert_int_equal(flow()->T, RTT);
}

TEST(queue_counts_until_there_is_none)
{
	begin_behind(50000);
	next_record(0);
	assert_int_equal(flow()->syn_queue, 0);
	assert_int_equal(flow()->T, T_BASE);
}

/* A queue longer than packets can have waited in is none of the handshake's. */
TEST(queue_counts_until_it_is_too_long)
{
	begin_behind(50000);
	next_record(101 * 1250 + 64);
	assert_int_equal(flow()->syn_queue, 0);
}

/* Only while the minimum is not over the handshake's. */
TEST(queue_counts_for_the_handshakes_minimum)
{
	begin_behind(50000);
	w.tp.rtt_min = 101;
	next_record(50000);
	assert_int_equal(flow()->T, T_BASE + 1);
}

/* TCP counts no SYN-ACK: of a server nothing has left. */
TEST(queue_of_a_servers_handshake)
{
	w.tp.segs_out = 0;
	w.tp.segs_in = 2;
	begin_behind(50000);
	assert_int_equal(flow()->syn_rtt, RTT);
	assert_int_equal(flow()->T, RTT - 39);
}

/* Other packets may have been first. */
TEST(queue_counts_for_a_SYN_only)
{
	w.tp.segs_out = 2;
	begin_behind(50000);
	assert_int_equal(flow()->syn_rtt, 0);
	assert_int_equal(flow()->T, RTT);
}

TEST(longest_queue_is_of_bytes)
{
	struct hpccpp_int rec[2];

	/* 30 KB at 1 Gbit/s last 239 us, more than the RTT; 50 KB at 10 Gbit/s 39 us */
	rec[0] = stamp(&w.port, .5, 50000);
	w.second.rate = hpccpp_rate_encode(1000000000);
	rec[1] = stamp(&w.second, .5, 30000);
	news_of(rec, 2);
	begin(-1);
	assert_int_equal(flow()->syn_queue, 39);
}

/* --- min(B) --- */

/* A link that is slower is believed when it has been heard of twice, within a round trip. */
TEST(slower_link_counts_at_once)
{
	struct hpccpp_int rec[2];
	u32 commits;

	begin_known(.5);
	for (int i = 0; i < 9; i++)
		round_trip(.5);
	w.second.rate = hpccpp_rate_encode(1000000000);
	w.second.stamped = w.tp.tcp_clock_cache;
	commits = w.commits;
	fill();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(flow()->min_B, 1250000000);
		pass(10);
		rec[0] = stamp(&w.port, .5, 0);
		rec[1] = stamp(&w.second, .5, 0);
		news_of(rec, 2);
		/* nothing is acked: no round trip ends */
		ack(0);
	}
	assert_int_equal(w.commits, commits);
	assert_int_equal(flow()->min_B, 125000000);
	assert_int_equal(flow()->p.W_max, W_INIT / 10 + W_INIT / 80);
}

TEST(slower_link_is_forgotten)
{
	struct hpccpp_int rec[2];

	w.second.rate = hpccpp_rate_encode(1000000000);
	rec[0] = stamp(&w.port, .2, 0);
	rec[1] = stamp(&w.second, .2, 0);
	news_of(rec, 2);
	begin(-1);
	assert_int_equal(flow()->min_B, 125000000);
	for (int i = 0; i < 12; i++)
		round_trip(.2);
	assert_int_equal(flow()->min_B, 1250000000);
	assert_int_equal(flow()->T, T_BASE);
	assert_int_equal(flow()->p.W_max, W_MOST);
}

/* --- The parameters --- */

TEST(W_min_is_a_sixteenth_of_a_packet)
{
	begin(.5);
	assert_int_equal(flow()->p.W_min, WIRE / 16);
	knob("flows", 1000000);
	round_trip(.5);
	for (int i = 0; i < 40; i++) {
		fill();
		pass(T_BASE);
		news(1, 3 * W_INIT);
		ack(w.tp.packets_out);
	}
	assert_int_equal(flow()->s.W, WIRE / 16);
	assert_int_equal(w.tp.snd_cwnd, 2);
}

/* 1 Mbit/s, for 10 ms */
TEST(W_min_of_a_long_path)
{
	knob("base_rtt_us", 10000);
	begin(.5);
	assert_int_equal(flow()->p.W_min, 1250);
}

TEST(eta_is_a_knob)
{
	knob("eta", 80);
	begin_known(.5);
	assert_int_equal(flow()->p.eta, 80U * HPCCPP_ONE / 100);
}

TEST(W_ai_by_the_rule_of_thumb)
{
	begin_known(.5);
	assert_int_equal(flow()->p.W_ai, W_INIT * 5 / 6400);
	knob("flows", 10);
	round_trip(.5);
	assert_int_equal(flow()->p.W_ai, W_INIT * 5 / 1000);
	/* as receivers measure; and when they do not */
	knob("flows", 0);
	flow()->N = 20;
	round_trip(.5);
	assert_int_equal(flow()->p.W_ai, W_INIT * 5 / 2000);
	knob("flows", 10);
	round_trip(.5);
	assert_int_equal(flow()->p.W_ai, W_INIT * 5 / 1000);
	knob("flows", 0);
	flow()->N = 0;
	round_trip(.5);
	assert_int_equal(flow()->p.W_ai, W_INIT * 5 / 6400);
}

TEST(W_ai_is_12_thousandths_of_a_packet)
{
	knob("flows", 1000);
	begin_known(.5);
	assert_int_equal(flow()->p.W_ai, WIRE * 12 / 1000);
	/* nothing is left of 100 % */
	knob("eta", 100);
	knob("flows", 1);
	round_trip(.5);
	assert_int_equal(flow()->p.W_ai, WIRE * 12 / 1000);
}

/* --- Lines 22 and 24 --- */

/* A pipe that is full: each ACK is of one packet, and lets one out. */
static void pipe_of_40(void)
{
	begin_known(.5);
	ack(w.tp.packets_out);
	hpccpp_begin_with(&flow()->s, 39 * WIRE);
	flow()->last_update_seq = w.tp.snd_una - 1;
	ack(0);
	fill();
	assert_int_equal(w.tp.packets_out, 40);
}

static void one_ack(double load)
{
	pass(T_BASE);
	news(load, 0);
	ack(1);
	submit(1);
}

TEST(round_trips_end_once)
{
	u32 commits;

	pipe_of_40();
	one_ack(.95);
	commits = w.commits;
	assert_int_equal(w.trace.update_wc, 1);
	assert_int_equal(flow()->last_update_seq, w.commit_nxt);
	/* 39 were in flight behind that ACK; what is after them ends the round trip */
	for (int i = 0; i < 39; i++) {
		one_ack(.95);
		assert_int_equal(w.commits, commits);
		assert_int_equal(flow()->last_update_seq, w.commit_nxt);
	}
	one_ack(.95);
	assert_int_equal(w.commits, commits + 1);
}

/*
 * Lines 22 and 24, bounds of W and of cwnd hold for whatever comes: kernel_trace() looks
 * at each update.
 */
TEST(whatever_comes)
{
	u32 seed = 1, updates = 0;

	begin_known(.5);
	for (int i = 0; i < 20000; i++) {
		seed = seed * 1103515245 + 12345;
		pass(seed >> 16 & 63);
		switch (seed >> 22 & 31) {
		case 0:
			mark();
			break;
		case 1:
			in_state(TCP_CA_Open);
			break;
		case 2:
			timed_out();
			break;
		case 3:
			ops()->undo_cwnd(w.sk);
			break;
		default:
			news((seed >> 24) / 100., seed >> 15 & 0x3fff);
		}
		ack(seed >> 28 < w.tp.packets_out ? seed >> 28 : w.tp.packets_out);
		fill();
		if (!flow()->updates)
			continue;
		updates = flow()->updates;
		assert_in_range(w.tp.snd_cwnd, 2, DIV_ROUND_UP(W_MOST, WIRE) + 1);
		assert_in_range(flow()->s.W, WIRE / 16, W_MOST);
	}
	assert_true(updates > 10000);
	assert_true(w.commits > 1000);
}

/* T is another, of which the record says nothing new: W stays in its bounds, and R is W / T. */
TEST(record_of_no_use_keeps_W_in_bounds)
{
	w.tp.rtt_min = 1000;
	w.tp.srtt_us = 1000 << 3;
	begin(.5);
	fill();
	pass(1000);
	w.tp.rtt_min = RTT;
	w.feedback->gen++;
	ack(1);
	assert_int_equal(w.trace.used, 0);
	assert_in_range(flow()->T, RTT, 2 * RTT);
	assert_in_range(flow()->s.W, flow()->p.W_min, flow()->p.W_max);
	assert_in_range(w.tp.snd_cwnd, 2, DIV_ROUND_UP(flow()->p.W_max, WIRE) + 1);
}

/* --- cwnd and pacing --- */

TEST(cwnd_is_W_in_packets_and_one)
{
	begin_known(.5);
	flow()->s.W = 10 * WIRE;
	ack(0);
	assert_int_equal(w.tp.snd_cwnd, 11);
	flow()->s.W = 10 * WIRE + 1;
	ack(0);
	assert_int_equal(w.tp.snd_cwnd, 12);
	flow()->s.W = 10;
	ack(0);
	assert_int_equal(w.tp.snd_cwnd, 2);
	w.tp.snd_cwnd_clamp = 5;
	flow()->s.W = 10 * WIRE;
	ack(0);
	assert_int_equal(w.tp.snd_cwnd, 5);
}

/* TCP paces payload, also under fq, by departure times; R is of the wire. */
TEST(pacing_is_of_payload)
{
	w.sk->sk_pacing_status = SK_PACING_FQ;
	begin_known(.5);
	assert_int_equal(w.sk->sk_pacing_status, SK_PACING_FQ);
	round_trip(.5);
	assert_int_equal(w.sk->sk_pacing_rate,
			 flow()->s.W * 1000000ULL / T_BASE * (MSS - 16) / WIRE);
	w.sk->sk_max_pacing_rate = 5000;
	round_trip(.5);
	assert_int_equal(w.sk->sk_pacing_rate, 5000);
}

/* Between what goes out in 122 us and the kernel's own millisecond */
TEST(what_waits_in_the_device_is_a_part_of_T)
{
	begin_known(.5);
	assert_int_equal(w.sk->sk_pacing_shift, 13);
	w.tp.rtt_min = 10000;
	round_trip(.5);
	/* 1 s is some 100 T: 6 bits, and 4 */
	assert_int_equal(w.sk->sk_pacing_shift, 10);
	w.tp.rtt_min = 3000;
	round_trip(.5);
	assert_int_equal(w.sk->sk_pacing_shift, 12);
}

/* Segments of a packet, as TCP limits them after an ACK */
static u16 burst(void)
{
	ack(0);
	flow()->no_int = 0;
	return w.sk->sk_gso_max_segs;
}

/* A flow whose bursts have 9 segments */
static void begin_with_bursts(void)
{
	begin_known(.5);
	flow()->s.W = 16 * 9 * WIRE;
	assert_int_equal(burst(), 9);
}

TEST(a_burst_is_at_most_a_16th_of_W)
{
	begin_with_bursts();
	flow()->s.W += 16 * WIRE - 1;
	assert_int_equal(burst(), 9);
	flow()->s.W++;
	assert_int_equal(burst(), 10);
	/* a packet has one segment at least */
	flow()->s.W = WIRE;
	assert_int_equal(burst(), 1);
}

TEST(a_burst_is_no_more_than_the_device_takes)
{
	w.sk->sk_gso_max_segs = 4;
	begin_known(.5);
	flow()->s.W = 16 * 9 * WIRE;
	assert_int_equal(burst(), 4);
	/* another route: sk_setup_caps() */
	w.sk->sk_gso_max_segs = 6;
	assert_int_equal(burst(), 6);
	w.sk->sk_gso_max_segs = 65535;
	assert_int_equal(burst(), 9);
	flow()->s.W = 16 * 20 * WIRE;
	assert_int_equal(burst(), 20);
	w.sk->sk_gso_max_segs = 8;
	assert_int_equal(burst(), 8);
}

/* Routes come and go, of devices that take what we have set already. */
TEST(another_routes_limit_may_be_ours)
{
	struct dst_entry routes[2];

	w.sk->sk_dst = &routes[0];
	begin_with_bursts();
	w.sk->sk_dst = &routes[1];		/* its device takes 9 */
	assert_int_equal(burst(), 9);
	flow()->s.W = 16 * 20 * WIRE;
	assert_int_equal(burst(), 9);
	w.sk->sk_dst = NULL;			/* and it is gone: nothing is known of the next */
	flow()->s.W = 16 * 5 * WIRE;
	assert_int_equal(burst(), 5);
	w.sk->sk_dst = &routes[1];
	flow()->s.W = 16 * 20 * WIRE;
	assert_int_equal(burst(), 9);
	ops()->release(w.sk);
	assert_int_equal(w.sk->sk_gso_max_segs, 9);
}

TEST(bursts_are_the_devices_again)
{
	begin_with_bursts();
	ops()->release(w.sk);
	assert_int_equal(w.sk->sk_gso_max_segs, 65535);
}

/* --- Probes --- */

/* Nothing is in flight for so many T since telemetry was used */
static void idle(u32 T)
{
	ack(w.tp.packets_out);
	flow()->last_int = w.tp.tcp_clock_cache;
	pass(T * T_BASE);
}

TEST(idle_flow_probes)
{
	knob("probe", 10);
	begin_known(.5);
	/* ten, and one that pacing may have held a packet for */
	idle(11);
	submit(1);
	assert_int_equal(counter("probes"), 0);
	idle(11);
	pass(1);
	submit(2);
	assert_int_equal(counter("probes"), 1);
	assert_int_equal(w.tp.snd_cwnd, 2);
	assert_int_equal(flow()->probing, 1);
	/* not twice */
	w.tp.packets_out = 0;
	submit(1);
	assert_int_equal(counter("probes"), 1);
}

/* The first packet of a probe has its size before TCP tells that it leaves. */
TEST(probe_begins_with_one_segment)
{
	begin_with_bursts();
	ack(w.tp.packets_out);
	assert_int_equal(w.sk->sk_gso_max_segs, 9);
	knob("probe", 10);
	submit(2);
	assert_int_equal(burst(), 9);
	ack(1);
	assert_int_equal(w.sk->sk_gso_max_segs, 9);
	ack(1);
	assert_int_equal(w.sk->sk_gso_max_segs, 1);
	/* one that has not idled goes on in bursts */
	submit(1);
	assert_int_equal(w.sk->sk_gso_max_segs, 9);
}

TEST(probe_is_off)
{
	begin_known(.5);
	idle(100000);
	submit(1);
	assert_int_equal(counter("probes"), 0);
}

/* All that is out is lost: what is sent again is the first in flight. */
TEST(flow_with_packets_out_does_not_probe)
{
	knob("probe", 10);
	begin_known(.5);
	ack(w.tp.packets_out - 1);
	flow()->last_int = w.tp.tcp_clock_cache;
	pass(100 * T_BASE);
	w.tp.lost_out = w.tp.packets_out;
	submit(1);
	assert_int_equal(counter("probes"), 0);
}

/* An idle flow of W_INIT whose probe comes back over a link of that load */
static void probe(double load)
{
	knob("probe", 10);
	begin_known(.5);
	for (int i = 0; i < 9; i++)
		round_trip(.95);
	hpccpp_begin_with(&flow()->s, W_INIT);
	idle(20);
	submit(2);
	/* the port is not idle: U of a record is of the last T */
	w.port.stamped = w.tp.tcp_clock_cache;
	pass(T_BASE);
	news(load, 0);
}

/* With the load of others and its own the link would have .95 and 1. */
TEST(probe_that_finds_a_full_link)
{
	probe(.95);
	ack(2);
	assert_int_equal(flow()->probing, 0);
	assert_int_equal(w.trace.update_wc, 0);
	assert_near(flow()->s.W_c, W_INIT * .95 / 1.95, 50);
	assert_int_equal(flow()->s.W, flow()->s.W_c);
	assert_int_equal(flow()->last_update_seq, w.tp.snd_nxt);
	assert_int_equal(w.tp.snd_cwnd, DIV_ROUND_UP(flow()->s.W, WIRE) + 1);
}

/* Law draft, too */
TEST(probe_that_finds_a_full_link_as_in_the_draft)
{
	as_in_the_draft();
	probe(.95);
	ack(2);
	assert_near(flow()->s.W, W_INIT * .95 / 1.95, 50);
	assert_int_equal(flow()->s.W_c, flow()->s.W);
}

/* W is the fair share at most, or the rest of the link if that is more. */
TEST(probe_of_a_link_with_many_flows)
{
	w.port.N = hpccpp_N_encode(16);
	probe(.95);
	ack(2);
	assert_near(flow()->s.W, W_INIT * .95 / 16, 20);
}

TEST(probe_of_an_idle_link_with_many_flows)
{
	w.port.N = hpccpp_N_encode(16);
	probe(.5);
	ack(2);
	assert_near(flow()->s.W, W_INIT * (.95 - .5), 20);
}

/* What was in the probe was all there is: it adds no load. */
TEST(probe_of_all_there_is)
{
	probe(.95);
	w.tp.send_head = NULL;
	ack(2);
	assert_int_equal(flow()->probing, 0);
	assert_true(flow()->s.W_c > W_INIT * .9);
}

TEST(probe_without_an_answer)
{
	probe(.95);
	w.feedback->gen--;
	ack(0);
	assert_int_equal(flow()->probing, 1);
	assert_int_equal(w.tp.snd_cwnd, 2);
	ack(2);
	assert_int_equal(flow()->probing, 0);
	assert_true(w.tp.snd_cwnd > 80);
}

/* While it probes W_c stays as it is; an ordinary flow would have set it. */
TEST(bound_ends_a_probe)
{
	struct hpccpp_int bound = { .U = 32 };

	probe(.5);
	news_of(&bound, 1);
	ack(2);
	assert_int_equal(flow()->probing, 0);
	assert_int_equal(flow()->s.W_c, W_INIT);
}
