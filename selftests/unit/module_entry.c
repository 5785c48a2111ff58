// SPDX-License-Identifier: GPL-2.0
/*
 * How a flow finds its agent and begins, what of the agent's storage is believed, and
 * the sysctls and counters of the module.
 */
#include "module_test.h"

#define WAN_T	5000U		/* us, as HPCCPP_WAN_T */

TEST(begins_without_telemetry)
{
	begin(-1);
	assert_false(steered());
	assert_int_equal(counter("no_int"), 1);
	assert_int_equal(counter("no_agent"), 0);
	assert_int_equal(counter("enter"), 0);
	assert_false(seeks_agent());
	/* Reno's flow */
	submit(10);
	ack(2);
	assert_int_equal(w.tp.snd_cwnd, 12);
	assert_int_equal(w.sk->sk_pacing_status, SK_PACING_NONE);
}

TEST(begins_with_telemetry_of_the_handshake)
{
	begin(.5);
	assert_true(steered());
	assert_int_equal(counter("enter"), 1);
	assert_int_equal(counter("no_int"), 0);
	assert_int_equal(w.sk->sk_pacing_status, SK_PACING_NEEDED);
	assert_int_equal(w.sk->sk_pacing_shift, 13);
}

TEST(begins_with_the_first_record)
{
	begin(-1);
	submit(10);
	pass(RTT);
	news(.5, 0);
	ack(1);
	assert_true(steered());
	/* what the load leaves of W_init: T has no packets yet, as B was not known */
	assert_near(flow()->s.W_c, RTT * 1250 * .95 / 1.5, 150);
	assert_int_equal(w.tp.snd_cwnd, DIV_ROUND_UP(flow()->s.W, WIRE) + 1);
	/* lines 22 and 24: W_c is of now */
	assert_int_equal(flow()->last_update_seq, w.tp.snd_nxt);
	assert_int_equal(w.trace.update_wc, 0);
	/* acks before and after */
	assert_int_equal(counter("acks"), 1);
	assert_int_equal(counter("int"), 1);
	assert_int_equal(counter("updates"), 1);
	assert_int_equal(counter("guard_first"), 1);
}

/* Flows whose handshake brought no record learn of an incast by the record of their data. */
TEST(late_starters_in_an_incast_begin_with_their_share)
{
	begin(-1);
	submit(10);
	pass(RTT);
	w.port.N = hpccpp_N_encode(64);
	news(.5, 0);
	ack(1);
	assert_near(flow()->s.W, RTT * 1250 * .95 / 64, 150);
	assert_int_equal(flow()->s.W_c, flow()->s.W);
}

/* TCP knows it in ms; T of 1 ms is ten times the BDP. */
TEST(rtt_of_a_retransmitted_handshake_is_not_T)
{
	w.tp.total_retrans = 1;
	w.tp.delivered = 1;
	begin(.5);
	assert_false(steered());
	submit(10);
	pass(RTT);
	ack(1);
	assert_true(steered());
}

/* A new flow begins with what the load leaves of W_init, another one goes on from its window. */
TEST(flows_are_new_in_their_first_flight)
{
	static struct dst_entry route = { .initcwnd = 30 };
	static const struct {
		const char *shows;
		u32 sent, cwnd;		/* packets before this congestion control, and then */
		struct dst_entry *route;
		u32 packets, ssthresh, qlen;
		bool is_new;
		u32 lost;
	} rows[] = {
		{ "first flight", 0, 10, NULL, 10, TCP_INFINITE_SSTHRESH, 0, true },
		{ "its last packet", 9, 10, NULL, 10, TCP_INFINITE_SSTHRESH, 0, true },
		{ "a packet more", 10, 10, NULL, 10, TCP_INFINITE_SSTHRESH, 0 },
		{ "a loss", 0, 10, NULL, 10, 100, 0, false, 1 },
		{ "a threshold of connections before", 0, 10, NULL, 10, 100, 0, true },
		{ "a queue of the largest code", 0, 10, NULL, 10, TCP_INFINITE_SSTHRESH,
		  HPCCPP_QLEN_MAX << HPCCPP_QLEN_SHIFT },
		{ "initcwnd of ip-route(8)", 0, 30, &route, 30, TCP_INFINITE_SSTHRESH, 0, true },
		{ "a window of another congestion control", 100, 110, NULL, 8,
		  TCP_INFINITE_SSTHRESH, 0 },
	};

	for_each_row(row, rows) {
		print_message("# %s\n", row->shows);
		restart();
		w.tp.data_segs_out = row->sent;
		w.tp.delivered = row->sent;
		w.tp.snd_cwnd = row->cwnd;
		w.sk->sk_dst = row->route;
		begin(-1);
		submit(row->packets);
		w.tp.snd_ssthresh = row->ssthresh;
		w.tp.lost = row->lost;
		w.tp.snd_cwnd = 20;
		pass(RTT);
		news(.5, row->qlen);
		ack(1);
		assert_true(steered());
		assert_near(flow()->s.W_c, row->is_new ? RTT * 1250 * .95 / 1.5 : 20 * WIRE, 150);
	}
}

/* Line rate is for regions, and for WANs with a link that reports a load of others. */
TEST(begins_by_T_and_load)
{
	static const struct { u32 T; double load, W; u32 ceiling; } rows[] = {
		{ WAN_T, 0, WAN_T * 1250 * .95 },
		{ WAN_T + 1, 59. / 64, 10 * WIRE, 10 * WIRE },
		{ WAN_T + 1, 60. / 64, (WAN_T + 1) * 1250 * .95 / (1 + 60. / 64) },
	};

	for_each_row(row, rows) {
		restart();
		knob("base_rtt_us", row->T);
		begin(row->load);
		assert_int_equal(reno_bound(), row->ceiling);
		assert_near(flow()->s.W, row->W, 50);
	}
}

static void begin_over_a_wan(void)
{
	knob("base_rtt_us", WAN_T + 1);
	w.rtt = WAN_T + 1;
	begin(.1);
}

/* Over a WAN W doubles as in slow start until a link that is told of is loaded. */
TEST(wan_is_no_place_for_line_rate)
{
	u32 packets = 10;

	begin_over_a_wan();
	assert_int_equal(flow()->s.W, packets * WIRE);
	for (u32 i = 0; i < 4; i++) {
		/* cwnd is one more than W, but for the first ten segments */
		round_trip(.1);
		packets += packets + !!i;
		assert_int_equal(reno_bound(), packets * WIRE);
		assert_int_equal(flow()->s.W, packets * WIRE);
	}
	/* it may be the flow itself that loads this link */
	round_trip(1);
	assert_int_equal(reno_bound(), 0);
	assert_true(flow()->s.W < 2 * packets * WIRE);
}

/* The first flight of a long path is less than its floor, 1 Mbit/s. */
TEST(floor_after_the_ceiling)
{
	knob("base_rtt_us", 400000);
	w.rtt = 400000;
	begin(.1);
	assert_int_equal(flow()->s.W, 10 * WIRE);
	round_trip(1);
	assert_int_equal(reno_bound(), 0);
	assert_int_equal(flow()->p.W_min, 50000);
	assert_in_range(flow()->s.W, 50000, flow()->p.W_max);
	assert_in_range(flow()->s.W_c, 50000, flow()->p.W_max);
}

/* A path is taken for a WAN's by the RTT of a delayed ACK, and turns out to be none. */
TEST(no_wan_after_all)
{
	knob("base_rtt_us", WAN_T + 1);
	begin(.1);
	round_trip(.1);
	assert_int_not_equal(reno_bound(), 0);
	knob("base_rtt_us", WAN_T);
	round_trip(.1);
	assert_int_equal(reno_bound(), 0);
	/* by line 13, not in stages */
	round_trip(.1);
	assert_true(flow()->s.W > 100 * WIRE);
}

TEST(no_wan_after_all_as_in_the_draft)
{
	as_in_the_draft();
	no_wan_after_all(NULL);
}

/* A flow that is older, or has lost, goes on from its window as Reno's. */
TEST(older_flow_over_a_wan)
{
	knob("base_rtt_us", WAN_T + 1);
	w.rtt = WAN_T + 1;
	begin(-1);
	w.tp.snd_ssthresh = 20;
	w.tp.lost = 1;
	submit(TCP_INIT_CWND + 1);
	w.tp.snd_cwnd = 20;
	pass(WAN_T);
	news(.1, 0);
	ack(1);
	assert_int_equal(reno_bound() / WIRE, 20);
	for (u32 i = 0; i < 4; i++) {
		u32 before = reno_bound();

		round_trip(.1);
		assert_in_range(reno_bound(), before + WIRE / 2, before + 2 * WIRE);
	}
	round_trip(1);
	assert_int_equal(reno_bound(), 0);
	assert_true(flow()->s.W < 30 * WIRE);
}

TEST(undo_goes_on_with_slow_start)
{
	u32 before;

	begin_over_a_wan();
	round_trip(.1);
	before = reno_bound();
	fill();
	lose(1);
	ops()->undo_cwnd(w.sk);
	w.tp.snd_ssthresh = TCP_INFINITE_SSTHRESH;	/* as TCP undoes it */
	in_state(TCP_CA_Open);
	round_trip(.1);
	assert_in_range(reno_bound(), 2 * before, 2 * before + 2 * WIRE);
}

/* After loss it grows as in congestion avoidance. */
TEST(loss_ends_slow_start)
{
	u32 before;

	begin_over_a_wan();
	round_trip(.1);
	round_trip(.1);
	fill();
	lose(1);
	recovered();
	round_trip(.1);
	before = reno_bound();
	round_trip(.1);
	assert_in_range(reno_bound(), before + WIRE - WIRE / 10, before + WIRE + WIRE / 5);
}

TEST(flow_without_agent)
{
	w.deaf = true;
	begin(-1);
	assert_int_equal(counter("no_int"), 1);
	assert_true(seeks_agent());
	/* an ACK before a segment leaves says nothing of an agent */
	pass(TICK);
	ack(0);
	assert_int_equal(counter("no_agent"), 0);
	/* one may come later: the flow seeks it once in a tick */
	submit(10);
	assert_false(seeks_agent());
	pass(TICK);
	ack(1);
	assert_true(seeks_agent());
	assert_int_equal(counter("no_agent"), 1);
	submit(1);
	ack(1);
	assert_false(seeks_agent());
	w.deaf = false;
	pass(TICK);
	ack(1);
	submit(1);
	assert_int_equal(w.feedback->key, KEY);
	pass(TICK);
	ack(1);
	assert_false(seeks_agent());
	assert_int_equal(counter("no_agent"), 1);
	pass(RTT);
	news(.5, 0);
	ack(1);
	assert_true(steered());
}

/* As setsockopt() does after the handshake */
TEST(selected_late)
{
	w.deaf = true;
	begin(-1);
	w.deaf = false;
	submit(1);
	assert_int_equal(w.feedback->key, KEY);
	pass(RTT);
	news(.5, 0);
	ack(1);
	assert_true(steered());
	assert_int_equal(counter("no_agent"), 0);
}

/* Feedback may be of before another congestion control. */
TEST(selected_again_under_way)
{
	begin_known(.5);
	w.tp.data_segs_out = 11;
	finish();
	w.tp.icsk.icsk_ca_ops = kernel_cc;
	ops()->init(w.sk);
	assert_false(steered());
	submit(1);
	ack(1);
	assert_false(steered());
	pass(RTT);
	news(.5, 0);
	ack(0);
	assert_true(steered());
}

TEST(flow_without_memory)
{
	kernel_memory = 0;
	begin(.5);
	assert_int_equal(counter("no_memory"), 1);
	assert_false(steered());
	submit(10);
	ack(1);
	assert_int_equal(w.tp.snd_cwnd, 11);
	/* and half after a loss */
	lose(1);
	ack(1);
	assert_int_equal(w.tp.snd_cwnd, 5);
	recovered();
	ack(2);
	assert_int_equal(w.tp.snd_cwnd, 7);
}

/* An active opener's SYN-ACK is acknowledged before init. */
TEST(acks_before_init)
{
	w.tp.icsk.icsk_ca_ops = kernel_cc;
	ack(0);
	assert_int_equal(counter("acks"), 0);
	submit(1);
	mark();
	timed_out();
	assert_int_equal(ops()->undo_cwnd(w.sk), 77);
	assert_int_equal(ops()->ssthresh(w.sk), 5);
}

/* Without a round trip's time a record is of no use; it is not lost. */
TEST(record_before_the_first_rtt)
{
	w.tp.rtt_min = ~0;
	begin(.5);
	assert_false(steered());
	assert_int_equal(counter("int"), 0);
	w.tp.rtt_min = RTT;
	submit(1);
	ack(1);
	assert_true(steered());
}

/* An ACK a tick later, with news that are read or not */
static void assert_read(bool is_read)
{
	u64 before = counter("int");

	pass(TICK);
	news(.5, 0);
	submit(1);
	ack(1);
	assert_int_equal(counter("int"), before + is_read);
	assert_true(steered());
}

TEST(feedback_is_read_from_the_flows_agent_alone)
{
	u64 key;

	begin_known(.5);
	w.deaf = true;
	key = w.feedback->key;
	w.map.map.value_size = sizeof(struct hpccpp_feedback) - 1;	/* too short */
	assert_read(false);
	w.map.map.value_size++;
	assert_read(true);
	w.elem.sdata.smap = NULL;				/* its map is gone */
	assert_read(false);
	w.elem.sdata.smap = &w.map;
	assert_read(true);
	w.feedback->gen = -1U;					/* an agent without news */
	assert_read(false);
	assert_int_equal(flow()->gen, 0);
	assert_read(true);
	w.feedback->key = 0;					/* no flow's */
	assert_read(false);
	w.feedback->key = key;
	assert_read(true);
	w.feedback->key = key ^ 1ULL << 40;				/* another flow's */
	assert_read(false);
	w.feedback->key = key;
	assert_read(true);
	w.sk->sk_cookie = 0;					/* no program has read it */
	assert_read(false);
	w.sk->sk_cookie = COOKIE;
	assert_read(true);
	w.sk->sk_bpf_storage = NULL;
	assert_read(false);
}

TEST(feedback_is_read_once)
{
	begin_known(.5);
	submit(2);
	ack(1);
	ack(1);
	assert_int_equal(counter("int"), 2);
	assert_int_equal(flow()->no_int, 2);
	submit(1);
	pass(T_BASE);
	news(.5, 0);
	ack(1);
	assert_int_equal(counter("int"), 3);
	assert_int_equal(flow()->no_int, 0);
}

TEST(feedback_of_three_records)
{
	struct hpccpp_int rec[4];

	begin_known(.5);
	pass(T_BASE);
	rec[0] = stamp(&w.port, .5, 0);
	rec[1] = stamp(&w.second, .75, 0);
	rec[2] = rec[1];
	rec[2].link = 0x789;
	rec[2].U = 60;
	rec[3] = rec[2];
	rec[3].link = 0x78a;
	rec[3].U = 63;
	memcpy(w.feedback->rec, rec, 3 * sizeof(rec[0]));
	w.feedback->n = 3;
	w.feedback->gen++;
	submit(1);
	ack(1);
	assert_int_equal(w.trace.records, 3);
	assert_int_equal(w.trace.bottleneck, 0x789);
	assert_int_equal(flow()->s.U, 60 * HPCCPP_ONE / 64);
	/* once for each update */
	assert_int_equal(counter("guard_first"), 2);
	/* more than there can be are not read */
	w.feedback->n = 255;
	w.feedback->gen++;
	ack(0);
	assert_int_equal(w.trace.records, 3);
}

/* With nothing in flight; else with the next ACK */
TEST(telemetry_with_the_first_packet)
{
	begin_known(.5);
	ack(w.tp.packets_out);
	pass(T_BASE);
	news(1.9, 0);
	submit(1);
	assert_int_equal(counter("int"), 3);
	assert_true(flow()->s.W < W_INIT * 3 / 4);
	assert_int_equal(w.tp.snd_cwnd, DIV_ROUND_UP(flow()->s.W, WIRE) + 1);
	news(1.9, 0);
	submit(1);
	assert_int_equal(counter("int"), 3);
	ack(0);
	assert_int_equal(counter("int"), 4);
}

/* Another program of the cgroup gives the socket another congestion control. */
static struct tcp_congestion_ops other_cc = { .name = "other" };

static void steal(void)
{
	ops()->release(w.sk);
	w.tp.icsk.icsk_ca_ops = &other_cc;
	w.tp.snd_cwnd = 33;
}

TEST(socket_is_taken_from_us_in_an_ack)
{
	const struct tcp_congestion_ops *own = kernel_cc;
	struct rate_sample rs = { .rtt_us = RTT, .acked_sacked = 1 };

	begin_known(.5);
	w.feedback->rx = 1;
	w.thief = steal;
#ifdef HPCCPP_HAVE_CONG_CONTROL_ACK
	ops()->cong_control(w.sk, 0, 0, &rs);
#else
	ops()->cong_control(w.sk, &rs);
#endif
	assert_ptr_equal(ops(), &other_cc);
	assert_int_equal(w.tp.snd_cwnd, 33);
	w.tp.icsk.icsk_ca_ops = own;
}

/* What another's init wrote into ca_priv is no flow of ours. */
TEST(foreign_private_area)
{
	struct hpccpp_sock saved;
	u64 acks;

	begin_known(.5);
	acks = counter("acks");
	saved = *ca();
	memset(w.tp.icsk.icsk_ca_priv, 0x41, sizeof(w.tp.icsk.icsk_ca_priv));
	submit(1);
	ack(1);
	assert_int_equal(counter("acks"), acks);
	memcpy(w.tp.icsk.icsk_ca_priv, &saved, sizeof(saved));
}

TEST(release_leaves_nothing)
{
	u64 acks;

	begin_known(.5);
	acks = counter("acks");
	assert_int_equal(w.sk->sk_pacing_shift, 13);
	w.tp.snd_cwnd = 37;
	ops()->release(w.sk);
	/* another congestion control does not begin with slow start */
	assert_int_equal(w.tp.snd_ssthresh, 37);
	assert_null(flow());
	assert_int_equal(ca()->check, 0);
	assert_int_equal(w.sk->sk_pacing_shift, 10);
	/* again, and ACKs that come after it */
	ops()->release(w.sk);
	ack(1);
	assert_int_equal(counter("acks"), acks);
}

TEST(release_of_reno_leaves_its_ssthresh)
{
	begin(-1);
	w.tp.snd_cwnd = 37;
	ops()->release(w.sk);
	assert_int_equal(w.tp.snd_ssthresh, TCP_INFINITE_SSTHRESH);
}

/* A record without a rate does not set the cwnd of a flow that Reno controls. */
TEST(record_without_rate_changes_no_cwnd)
{
	begin(-1);
	w.port.rate = 0;
	submit(1);
	pass(RTT);
	news(.5, 0);
	ack(1);
	news(.5, 0);
	submit(1);
	assert_int_equal(w.tp.snd_cwnd, 11);
}

/* The test "manual" compares this table with that of tcp_hpccpp(7). */
static const struct {
	const char *name;
	s64 value, least, most;
} knobs[] = {
	{ "eta", 0, 0, 100 },
	{ "flows", 64, 0, 1000000 },
	{ "base_rtt_us", 0, 0, 4000000 },
	{ "probe", 0, 0, 1000 },
};

TEST(knobs_have_defaults_and_ranges)
{
	/* world_begin() has set eta */
	kernel_module_exit();
	assert_int_equal(kernel_module_init(), 0);
	/* and law, below */
	assert_int_equal(kernel_knobs->n, ARRAY_SIZE(knobs) + 1);
	for_each_row(row, knobs) {
		const struct ctl_table *table = kernel_knobs->ctl_table_arg;

		while (strcmp(table->procname, row->name))
			table++;
		assert_int_equal(*(u32 *)table->data, row->value);
		assert_int_equal(strtoll(read_knob(row->name), NULL, 10), row->value);
		assert_int_equal(try_knob(row->name, row->least), 0);
		assert_int_equal(try_knob(row->name, row->most), 0);
		assert_int_equal(try_knob(row->name, row->least - 1), -EINVAL);
		assert_int_equal(try_knob(row->name, row->most + 1), -EINVAL);
		assert_int_equal(table->mode, 0644);
	}
}

TEST(law_is_a_name)
{
	static const char * const unknown[] = {
		"", "0", "1", "Draft", "drafts", "averaged ", "averaged, of a name too long for it",
	};

	assert_string_equal(read_knob("law"), "averaged");
	as_in_the_draft();
	assert_string_equal(read_knob("law"), "draft");
	for_each_row(name, unknown) {
		assert_int_equal(write_knob("law", *name), -EINVAL);
		assert_string_equal(read_knob("law"), "draft");
	}
	assert_int_equal(write_knob("law", "averaged"), 0);
	assert_string_equal(read_knob("law"), "averaged");
	/* the other knobs are where they were */
	assert_string_equal(read_knob("eta"), "95");
	assert_string_equal(read_knob("probe"), "0");
}

TEST(each_law_has_its_eta)
{
	knob("eta", 0);
	begin_known(.5);
	assert_int_equal(flow()->p.eta, 99 * HPCCPP_ONE / 100);
	as_in_the_draft();
	round_trip(.5);
	assert_int_equal(flow()->p.eta, 95 * HPCCPP_ONE / 100);
	knob("eta", 90);
	round_trip(.5);
	assert_int_equal(flow()->p.eta, 90 * HPCCPP_ONE / 100);
}

/* A change counts from the next round trip on. */
TEST(law_of_a_flow)
{
	begin_known(.5);
	assert_int_equal(flow()->p.law, HPCCPP_LAW_AVERAGED);
	assert_int_equal(flow()->p.share, 1);
	as_in_the_draft();
	round_trip(.5);
	assert_int_equal(flow()->p.law, HPCCPP_LAW_DRAFT);
	assert_int_equal(flow()->p.share, 0);
}

/* Counters are of all CPUs. What each counts is asserted where that happens. */
TEST(counters_are_summed)
{
	begin_known(.5);
	kernel_cpu = 1;
	submit(1);
	ack(1);
	assert_int_equal(counter("acks"), 2);
}

TEST(every_counter_has_a_name)
{
	static const char * const names[] = {
		"guard_first", "guard_not_new", "guard_wrap", "guard_stale", "guard_rate",
		"guard_changed", "guard_range", "acks", "int", "updates", "windows",
		"no_agent", "no_memory", "enter", "fallback", "blind", "no_int",
		"md_loss", "md_rto", "md_cwr", "explained", "undo", "probes",
	};
	struct seq_file seq = { .net = &init_net };
	const char *line = seq.text;
	char want[32];

	kernel_proc_show(&seq, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(want, sizeof(want), "%s 0\n", names[i]);
		assert_memory_equal(line, want, strlen(want));
		line += strlen(want);
	}
	assert_string_equal(line, "");
}

/* Each guard that holds counts, under its own name: the first, the second and the last */
TEST(guards_are_counted)
{
	struct hpccpp_int rec;

	begin_known(.5);
	assert_int_equal(counter("guard_first"), 1);
	submit(1);
	rec = w.feedback->rec[0];
	news_of(&rec, 1);
	ack(0);
	assert_int_equal(counter("guard_not_new"), 1);
	rec.rate = 1;
	rec.ts += 100;
	news_of(&rec, 1);
	ack(0);
	assert_int_equal(counter("guard_range"), 1);
	assert_int_equal(w.trace.used, 0);
}

TEST(registration_fails_whole)
{
	int n;

	kernel_module_exit();
	assert_int_equal(kernel_allocated, 0);
	kernel_cc_error = -EEXIST;
	assert_int_equal(kernel_module_init(), -EEXIST);
	assert_null(kernel_knobs);
	assert_int_equal(kernel_allocated, 0);
	kernel_cc_error = 0;
	kernel_no_proc = true;
	assert_int_equal(kernel_module_init(), -ENOMEM);
	assert_null(kernel_knobs);
	assert_int_equal(kernel_allocated, 0);
	kernel_no_proc = false;
	/* memory for the first n of what it takes */
	for (n = 0; n < 3; n++) {
		kernel_memory = n;
		assert_int_equal(kernel_module_init(), -ENOMEM);
		assert_null(kernel_knobs);
		assert_int_equal(kernel_allocated, 0);
	}
	kernel_memory = -1;
	assert_int_equal(kernel_module_init(), 0);
	assert_string_equal(kernel_cc->name, "hpccpp");
	assert_int_equal(kernel_cc->flags, TCP_CONG_NON_RESTRICTED);
}

/* Linux: tcp_disconnect() restores snd_ssthresh, then calls release() */
TEST(disconnect_leaves_ssthresh)
{
	begin_known(.5);
	w.tp.snd_ssthresh = TCP_INFINITE_SSTHRESH;
	w.tp.snd_cwnd = TCP_INIT_CWND;
	w.sk->sk_state = TCP_CLOSE;
	ops()->release(w.sk);
	assert_int_equal(w.tp.snd_ssthresh, TCP_INFINITE_SSTHRESH);
}
