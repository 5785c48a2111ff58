/* SPDX-License-Identifier: GPL-2.0 */
/* HPCC++: the reaction of a flow to CNPs with a trace. Part of cnp_test.c. */

/* --- Traces of Fast CNPs: HPCC++ --- */

/* A port of 100 Mbit/s with a load of so many hundredths now */
static struct port_node port_at(__u32 percent, __u32 depth)
{
	return (struct port_node) { .id = 1, .at = now, .depth = depth, .speed = SPEED_100M,
			       .tx = now / 1000 * percent / 8 };
}

/* 125000 bytes are sent in T and one and a half times as many wait, which is news */
static struct port_node congested(void)
{
	struct port_node n = port_at(100, 187500);

	assert_string_equal(traced(&n, 1), "switch");
	return n;
}

TEST(a_trace_sets_the_rate_by_lines_1_to_27)
{
	struct port_node n;
	__u64 before;

	send();
	n = congested();
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACED], 1);
	assert_int_equal(flow()->algorithm, HPCCPP_CNP_HPCC);
	assert_near(flow()->hpcc.U, 2.5 * HPCCPP_ONE, .01);
	/* .95 / 2.5 of the 250000 bytes of the line, and W_ai */
	before = rate();
	assert_near(before, (250000 * .95 / 2.5 + 250) * 100, .01);
	/* line 5: half of it sent, nothing waits; line 13 after five stages */
	now += 2 * RTT * US;
	send();
	before = rate();
	n = port_at(100, 0);
	assert_string_equal(traced(&n, 1), "switch");
	assert_near(flow()->hpcc.u, 1 * HPCCPP_ONE, .001);
	assert_near(rate(), (before / 100. * .95 + 250) * 100, .01);
}

TEST(the_fullest_port_of_a_trace_counts)
{
	struct port_node n[3];

	send();
	n[0] = port_at(100, 10000);
	n[1] = port_at(100, 187500);
	n[1].id = 2;
	n[2] = port_at(100, 20000);
	n[2].id = 3;
	assert_string_equal(traced(n, 3), "switch");
	assert_near(flow()->hpcc.U, 2.5 * HPCCPP_ONE, .01);
}

TEST(W_is_no_more_than_the_slowest_link_takes)
{
	struct port_node n;

	send();
	n = port_at(50, 0);
	assert_string_equal(traced(&n, 1), "switch");
	assert_near(rate(), 12500000 * 9 / 8., .001);
}

TEST(no_growth_of_the_reference_after_a_decrease)
{
	struct port_node n;
	__u32 W_c;
	__u64 began;

	send();
	n = congested();
	began = now;
	W_c = flow()->hpcc.W_c;
	/* W follows each trace, W_c only after a T and a half */
	for (now = began + 4 * MS; now < began + 15 * MS; now += 4 * MS) {
		n = port_at(150, 187500);
		traced(&n, 1);
		assert_int_equal(flow()->hpcc.W_c, W_c);
	}
	now = began + 15 * MS;
	n = port_at(150, 187500);
	traced(&n, 1);
	assert_int_not_equal(flow()->hpcc.W_c, W_c);
}

TEST(the_reference_may_grow_once_in_T)
{
	struct port_node n;
	__u32 W_c;

	send();
	flow()->rate = LINE / 4;
	flow()->algorithm = HPCCPP_CNP_DCQCN;
	flow()->dcqcn.R_C = LINE / 4;
	n = port_at(90, 0);
	traced(&n, 1);
	W_c = flow()->hpcc.W_c;
	now += (RTT - 100) * US;
	n = port_at(90, 0);
	traced(&n, 1);
	assert_int_equal(flow()->hpcc.W_c, W_c);
	now += 100 * US;
	n = port_at(90, 0);
	traced(&n, 1);
	assert_int_equal(flow()->hpcc.W_c, W_c + 250);
}

TEST(a_decrease_begins_with_what_is_sent)
{
	__u64 held;

	send();
	congested();
	held = rate() / 2;
	flow()->rate = held;
	flow()->algorithm = HPCCPP_CNP_DCQCN;
	flow()->dcqcn.R_C = held;
	now += 2 * RTT * US;
	congested();
	/* .95 / 2.5 of what is sent in T, and W_ai */
	assert_near(flow()->hpcc.W_c, held / 100 * .95 / 2.5 + 250, .01);
}

TEST(nothing_told_for_T_is_less_than_the_threshold)
{
	__u64 before;
	__u32 W;

	send();
	congested();
	before = rate();
	W = flow()->hpcc.W;
	now += UNTOLD - 1;
	send();
	assert_int_equal(rate(), before);
	now += 1;
	send();
	/* U goes to 52/64: line 17 */
	assert_int_equal(flow()->hpcc.U, 52 * (HPCCPP_ONE / 64));
	assert_int_equal(flow()->hpcc.W, W + 250);
	assert_int_equal(rate(), (W + 250) * 100);
	/* a packet makes up for four T at most; the time before that is lost */
	now += 10 * RTT * US;
	send();
	assert_int_equal(flow()->told, now - RTT * US);
	assert_int_equal(flow()->hpcc.W, W + 5 * 250);
}

TEST(an_old_or_repeated_trace)
{
	struct port_node n;

	send();
	n = congested();
	now += RTT * US;
	assert_string_equal(traced(&n, 1), "repeated");
	n.at -= MS;
	assert_string_equal(traced(&n, 1), "repeated");
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACED], 1);
}

TEST(a_trace_while_another_cpu_has_the_flow)
{
	struct port_node n;

	send();
	flow()->busy = 1;
	n = port_at(100, 187500);
	assert_string_equal(traced(&n, 1), "repeated");
	assert_int_equal(rate(), LINE);
	flow()->busy = 0;
	assert_string_equal(traced(&n, 1), "switch");
	assert_int_equal(flow()->busy, 0);
}

TEST(traces_of_no_use_are_heeded_without)
{
	struct port_node n, wrong;
	__u64 bad = 0;

	send();
	n = port_at(50, 0);
	the_cnp.namespaces[0] = 7;
	the_cnp.namespaces[1] = 9;
	the_cnp.n_namespaces = 2;
#define BY_DCQCN(type, ns, node, nodes) do {					\
	flow()->rate = LINE;							\
	flow()->dcqcn.timer_at = 0;						\
	assert_string_equal(fast_trace(a_switch, type, 0, ns, node, nodes), "switch"); \
	assert_int_equal(flow()->algorithm, HPCCPP_CNP_DCQCN);			\
	assert_int_equal(rate(), LINE / 2);					\
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_BAD], ++bad);		\
} while (0)
	BY_DCQCN(HPCCPP_IOAM_HPCC, 8, &n, 1);
	BY_DCQCN(HPCCPP_IOAM_HPCC, 0, &n, 1);
	BY_DCQCN(0xf2000000, 7, &n, 1);
	BY_DCQCN(HPCCPP_IOAM_HPCC, 7, &n, 0);
	wrong = n;
	wrong.speed = HPCCPP_IOAM_SPEED_UNKNOWN;
	BY_DCQCN(HPCCPP_IOAM_HPCC, 7, &wrong, 1);
	wrong = n;
	wrong.depth = UNKNOWN;
	BY_DCQCN(HPCCPP_IOAM_HPCC, 7, &wrong, 1);
	wrong = n;
	wrong.tx = UNKNOWN;
	BY_DCQCN(HPCCPP_IOAM_HPCC, 7, &wrong, 1);
	flow()->dcqcn.timer_at = 0;
	assert_string_equal(fast_trace(a_switch, HPCCPP_IOAM_HPCC, 0, 9, &n, 1), "switch");
	assert_int_equal(flow()->algorithm, HPCCPP_CNP_HPCC);
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_BAD], bad);
}

TEST(algorithm_dcqcn_does_not_look_at_traces)
{
	struct port_node n;

	the_cnp.algorithm = HPCCPP_CNP_DCQCN;
	send();
	n = port_at(50, 0);
	assert_string_equal(traced(&n, 1), "switch");
	assert_int_equal(flow()->algorithm, HPCCPP_CNP_DCQCN);
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_BAD] + cnp_counts[HPCCPP_CS_TRACED], 0);
}

TEST(a_trace_without_room_for_the_congested_port)
{
	struct port_node n;
	__u64 before = LINE;
	int i;

	send();
	for (i = 0; i < 8; i++) {
		n = port_at(10, 0);
		assert_string_equal(fast_trace(a_switch, HPCCPP_IOAM_HPCC, HPCCPP_IOAM_OVERFLOW,
					       0, &n, 1), "switch");
		assert_true(rate() < before);
		before = rate();
		now += 2 * RTT * US;
		send();
	}
	assert_true(before < LINE / 8);
	assert_int_equal(flow()->algorithm, HPCCPP_CNP_DCQCN);
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_BAD], 8);
}

TEST(a_trace_that_lacks_a_port_is_not_known)
{
	struct port_node n;
	__u64 before;

	send();
	n = congested();
	before = rate();
	now += RTT * US;
	n = port_at(10, 0);
	assert_string_equal(fast_trace(a_switch, HPCCPP_IOAM_HPCC, HPCCPP_IOAM_OVERFLOW,
				       0, &n, 1), "switch");
	assert_true(rate() < before);
}

TEST(what_is_known_by_traces_is_not_told_twice)
{
	__u64 before;

	leave(SEND, QP, ECN_ASK | 7, 44);
	arrive(ACK, OURS, 7);
	congested();
	before = rate();
	/* nor do CNPs of that switch, or about packets that it marked, raise it */
	assert_string_equal(fast(a_switch), "repeated");
	assert_string_equal(fast(peer), "repeated");
	now += RTT * US - 1;
	assert_string_equal(ordinary(OURS, NO_SUM), "repeated");
	assert_int_equal(rate(), before);
	now += RTT * US - 1;
	send();
	assert_int_equal(rate(), before);
	now += 1;
	assert_string_equal(fast(a_switch), "repeated");
	send();
	assert_int_equal(rate(), before);
	now += UNTOLD;
	send();
	assert_true(rate() > before);
}

TEST(the_receiver_tells_of_a_port_without_traces)
{
	__u64 before;

	leave(SEND, QP, ECN_ASK | 7, 44);
	arrive(ACK, OURS, 7);
	congested();
	before = rate();
	now += 2 * RTT * US;
	assert_string_equal(ordinary(OURS, NO_SUM), "repeated");
	now += 1;
	assert_string_equal(ordinary(OURS, NO_SUM), "ordinary");
	assert_int_equal(rate(), before / 2);
	assert_int_equal(flow()->algorithm, HPCCPP_CNP_DCQCN);
}

/* One switch writes traces and has room. Another one writes none and is the bottleneck. */
TEST(an_old_switch_beside_one_with_traces)
{
	struct port_node n;
	__u64 before;
	int i;

	send();
	n = congested();
	before = rate();
	for (i = 0; i < 8; i++) {
		now += RTT * US * 12 / 10;
		send();
		n.at = now;
		n.tx += 127500;		/* 85 of 100 */
		n.depth = 0;
		assert_string_equal(traced(&n, 1), "switch");
		assert_string_equal(fast(another), "switch");
		assert_true(rate() < before);
		before = rate();
	}
	assert_int_equal(flow()->algorithm, HPCCPP_CNP_DCQCN);
	assert_true(flow()->hpcc_rate > before);
	/* when it falls silent, the flow grows to the rate that the traces allow */
	for (i = 0; i < 400; i++) {
		now += RTT * US;
		send();
		n.at = now;
		n.tx += 125000 * 96 / 100;
		assert_string_equal(traced(&n, 1), "switch");
	}
	assert_int_equal(flow()->algorithm, HPCCPP_CNP_HPCC);
	assert_int_equal(rate(), flow()->hpcc_rate);
}

TEST(old_traces_of_another_switch_do_not_excuse_it)
{
	send();
	congested();
	now += 8 * RTT * US;
	flow()->seen = now;
	assert_string_equal(fast(a_switch), "repeated");
	now += 1;
	assert_string_equal(fast(a_switch), "switch");
}

/* The load of the port is a half, T is 10 us, and CNPs come between whole us. */
TEST(us_of_a_trace_do_not_spoil_a_short_T)
{
	struct port_node n = { .id = 1, .speed = 42 };	/* 10 Gbit/s */
	__u64 at = now + 1, measured = 0;
	__u32 old = 0;

	the_cnp.hpcc.T = 10;
	the_cnp.hpcc.W_max = 12500;
	hpccpp_dcqcn_defaults(&the_cnp.dcqcn, 1250000000, 10);
	send();
	for (; now < 1000000 * MS + 5 * MS; now += 10 * US + 330) {
		send();
		n.at = now - 500;
		/* 5 Gbit/s, in steps of 64 bytes */
		n.tx = (now - at) * 5 / 8;
		traced(&n, 1);
		if (flow()->hpcc.L[0].ts == old)
			continue;
		old = flow()->hpcc.L[0].ts;
		if (!measured++)
			continue;
		assert_near(flow()->hpcc.u, .5 * HPCCPP_ONE, .025);
	}
	assert_true(measured > 50);
}

/* A full port of 10 Gbit/s without a queue sends a CNP in a little more than each T. */
TEST(a_full_port_slows_flows_of_each_T)
{
	static const __u32 rtts[] = { 1, 5, 7, 10, 20, 50, 100 };
	struct port_node n = { .id = 1, .speed = 42 };
	__u64 begin, end;
	size_t i;

	for (i = 0; i < ROOM(rtts); i++) {
		set_up(state);
		the_cnp.hpcc.T = rtts[i];
		the_cnp.hpcc.W_max = 1250 * rtts[i];
		the_cnp.hpcc.W_ai = 12 * rtts[i];
		hpccpp_dcqcn_defaults(&the_cnp.dcqcn, 1250000000, rtts[i]);
		begin = now;
		end = now + 2000ULL * rtts[i] * US;
		for (send(); now < end; now += rtts[i] * US + 330) {
			send();
			n.at = now - 500;
			n.tx = (now - begin) * 10 / 8;
			traced(&n, 1);
		}
		/* W * eta + W_ai = W at a fifth of the line */
		assert_true(rate() < 1250000000 / 2);
	}
}
