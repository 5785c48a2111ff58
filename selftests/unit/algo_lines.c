// SPDX-License-Identifier: GPL-2.0
/* The draft's lines 1-27, and the averaged law, in lockstep with the references; their bounds */
#include "algo_test.h"

/* U is that of the link with the largest u, for its tau, and for T at most. */
TEST(lines_02_09_U_of_the_most_loaded_link)
{
	static const struct {
		const char *shows;
		int links;
		bool slow;			/* the second link: 10 Gbit/s */
		__u8 U;				/* before */
		struct { __u32 dts, tx; } by[3];
		__u32 bottleneck, tau;
	} rows[] = {
		{ "an idle link leaves nothing of the old u", 1, false, 64, { { 625, 0 } }, 100,
		  625 },
		{ "the slower link, not the one with more bytes, is the fuller", 2, true, 0,
		  { { 625, 1000 }, { 625, 180 } }, 101, 625 },
		{ "of equal links the first counts, as line 6 says >", 2, true, 0,
		  { { 625, 1000 }, { 625, 100 } }, 100, 625 },
		{ "tau is that of this link", 3, false, 0,
		  { { 100, 100 }, { 200, 500 }, { 300, 300 } }, 101, 200 },
		{ "a longer tau counts as T", 1, false, 128, { { 1875, 3000 } }, 100, 1875 },
	};
	struct pair x;
	int i;

	for_each_row(row, rows) {
		print_message("# %s\n", row->shows);
		pair_init(&x, row->links, RATE_100G, 10);
		if (row->slow)
			x.port[1].rate = RATE_10G;
		x.port[0].U = row->U;
		pair_first(&x, 100000);
		for (i = 0; i < row->links; i++)
			advance(&x, i, row->by[i].dts, row->by[i].tx, 0);
		assert_true(pair_ack(&x, true));
		assert_int_equal(x.s.bottleneck, row->bottleneck);
		assert_int_equal(x.s.tau, row->tau);
		assert_int_equal(!x.s.u, !row->by[0].tx);
		if (row->tau >= 625)			/* T: nothing of the old U */
			assert_int_equal(x.s.U, x.s.u);
		if (x.s.u)				/* else: D-TAU */
			assert_pair(&x);
	}
	/* also where T is no multiple of 16 ns, and tau is T itself */
	assert_int_equal(hpccpp_ewma(HPCCPP_ONE, 7, 63, 1), 7);
	pair_init(&x, 1, RATE_100G, 1);
	x.port[0].U = 128;
	x.s.U = 5 * HPCCPP_ONE;
	pair_first(&x, 100000);
	assert_int_equal(x.s.U, 2 * HPCCPP_ONE);
}

TEST(line_10_nothing_usable_returns_false)
{
	struct pair x;
	struct hpccpp_state before;

	pair_init(&x, 1, RATE_100G, 10);
	pair_first(&x, 100000);
	before = x.s;
	assert_false(new_ack(&x.s, &x.p, NULL, 0, x.now, true));
	before.records = 0;
	before.hit = 0;
	assert_memory_equal(&before, &x.s, sizeof(before));
}

/* The load that the flow would add, W / (B T) with a B T of 125000 bytes, is added to U. */
TEST(first_W_counts_its_own_load)
{
	const __u64 B = 1250000000;
	struct hpccpp_params p = params_95;
	struct hpccpp_state s = { .W = 62500, .inc_stage = 3 };

	p.T = 100;
	s.U = HPCCPP_ONE / 2;			/* and a half of its own */
	hpccpp_first_W(&s, &p, B);
	assert_in_range(s.W, 62500 * 95 / 100 - 1, 62500 * 95 / 100 + 1);
	assert_int_equal(s.W_c, s.W);
	assert_int_equal(s.W_p, s.W);
	assert_int_equal(s.W_n, s.W);
	assert_int_equal(s.U, HPCCPP_ONE / 2);

	s.U = 0;				/* no other flow: there is room */
	s.W = 62500;
	hpccpp_first_W(&s, &p, B);
	assert_int_equal(s.W, 62500);
	assert_int_equal(s.inc_stage, 0);

	s.W = ~0U;				/* the widest everything */
	s.U = HPCCPP_U_LIMIT;
	hpccpp_first_W(&s, &p, 1);
	assert_in_range(s.W, p.W_min, p.W_max);
	assert_int_equal(s.U, HPCCPP_U_LIMIT);
}

/* U includes the data that the flow has sent: W_c stays the window that made it. */
TEST(first_W_of_a_flow_that_has_sent)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s = { .W = 62500, .W_f = 1000, .inc_stage = 3 };

	p.T = 100;
	s.U = HPCCPP_ONE * 9 / 10;
	hpccpp_first_W(&s, &p, 0);
	assert_int_equal(s.W, 62500);
	assert_int_equal(s.inc_stage, 0);
	s.U = p.eta * 2;
	hpccpp_first_W(&s, &p, 0);
	assert_in_range(s.W, 31250 - 1, 31250 + 1);
	assert_int_equal(s.W_c, 62500);
	assert_int_equal(s.W_p, 62500);
	assert_int_equal(s.W_n, 62500);
}

/* The rate of the link whose load U is, among those that the flow remembers */
TEST(bottleneck_has_a_rate)
{
	struct hpccpp_state s = {
		.bottleneck = 7,
		.L[2] = { .B = 1250000000, .seen = 1, .id = 7 },
		.L[0] = { .B = 125000000, .seen = 1, .id = 1 },
		.L[1] = { .B = 125000000, .seen = 1, .id = 2 },
	};

	assert_int_equal(hpccpp_bottleneck_B(&s), 1250000000);
	s.bottleneck = 8;
	assert_int_equal(hpccpp_bottleneck_B(&s), 0);
}

TEST(line_20_W_is_bounded)
{
	struct hpccpp_params p;
	struct hpccpp_state s;
	int law;

	for (law = 0; law < HPCCPP_LAWS; law++) {
		p = params_95;
		p.law = law;
		assert_int_equal(wind(&s, &p, 0, 500000, 5, true), 1000000);
		assert_int_equal(law == HPCCPP_LAW_DRAFT ? s.W_c : s.W_n, 1000000);
		p.W_ai = 0;
		assert_int_equal(wind(&s, &p, HPCCPP_U_LIMIT, 1000, 0, true), 64);
		assert_int_equal(wind(&s, &p, 0, 0, 0, true), 64);	/* W_c 0 */
		/* the widest everything */
		p = (struct hpccpp_params) { .T = 1, .eta = ~0U, .W_ai = ~0U, .law = law,
					     .W_min = 1, .W_max = HPCCPP_W_LIMIT };
		assert_int_equal(wind(&s, &p, 0, ~0U, 0, true), HPCCPP_W_LIMIT);
		assert_int_equal(wind(&s, &p, HPCCPP_U_LIMIT, ~0U, 0, true),
				 HPCCPP_W_LIMIT);
	}
}

/* Small windows move both ways: no dead zone by rounding, whatever W_ai. */
TEST(line_20_small_W_moves)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s;
	__u32 W_c, W_ai;

	for (W_ai = 1; W_ai <= 60; W_ai++)
		for (W_c = 64; W_c < 3000; W_c++) {
			p.law = W_c & 1;
			p.W_ai = W_ai;
			p.W_min = 1;
			/* with room: grows at once, and by the sixth ACK */
			wind(&s, &p, ETA_95 - 1, W_c, 0, true);
			assert_true(s.W > W_c);
			wind(&s, &p, ETA_95 - 1, W_c, 5, true);
			assert_true(s.W > W_c);
			/* where the draft's W is less than W_c, ours is */
			if (W_c <= W_ai)
				continue;
			wind(&s, &p, (__u64)ETA_95 * W_c / (W_c - W_ai) + 1,
			     W_c, 0, true);
			assert_true(s.W < W_c);
		}
}

TEST(line_27_R_is_W_in_T)
{
	assert_int_equal(hpccpp_rate(125000, 10), 12500000000ULL);
	assert_int_equal(hpccpp_rate(~0U, 1), 4294967295000000ULL);
	assert_int_equal(hpccpp_rate(64, HPCCPP_T_MAX), 16);
}

/* Both run freely for thousands of ACKs: errors must not add up. */
TEST(lines_01_27_in_lockstep)
{
	/* W_max of less than two packets: slow flows. Each tau is at most this part of T. */
	static const struct { int law; __u32 T, W_max; double tau; } rows[] = {
		{ HPCCPP_LAW_DRAFT, 8, HPCCPP_W_LIMIT, .48 },
		{ HPCCPP_LAW_DRAFT, 20, HPCCPP_W_LIMIT, .48 },
		{ HPCCPP_LAW_DRAFT, 100, HPCCPP_W_LIMIT, .48 },
		{ HPCCPP_LAW_DRAFT, 1000, HPCCPP_W_LIMIT, .48 },
		{ HPCCPP_LAW_DRAFT, 20, 2000, 5 },
		{ HPCCPP_LAW_AVERAGED, 8, HPCCPP_W_LIMIT, .48 },
		{ HPCCPP_LAW_AVERAGED, 20, HPCCPP_W_LIMIT, .48 },
		{ HPCCPP_LAW_AVERAGED, 100, HPCCPP_W_LIMIT, 2.5 },
		{ HPCCPP_LAW_AVERAGED, 1000, HPCCPP_W_LIMIT, .48 },
		{ HPCCPP_LAW_AVERAGED, 20, 2000, 5 },
	};
	int n, i;

	for_each_row(row, rows) {
		double bound = 0, U = 0;
		__u32 min_tau = ~0U;
		struct pair x;

		pair_init(&x, 3, RATE_100G, row->T);
		x.p.law = row->law;
		x.p.W_max = row->W_max;
		pair_first(&x, 100000);
		for (n = 0; n < 20000; n++) {
			__u32 dts = 1 + rnd_below(row->T * 62.5 * row->tau);

			for (i = 0; i < 3; i++)
				advance(&x, i, dts, dts * 200 / 64 *
					rnd_below(101) / 100, rnd_below(500));
			assert_true(pair_ack(&x, !(n % 16)));
			assert_pair(&x);
			/* U once more, from its own past and the exact u */
			if (dts * TICK > x.d.T)
				U = x.d.u;
			else
				U += dts * TICK / x.d.T * (x.d.u - U);
			if (dts < min_tau)
				min_tau = dts;
			bound = fmax(bound, x.d.error);
			assert_near(x.s.U * STEP, U, bound + EPSILON + STEP *
				    x.d.T / (2 * min_tau * TICK));
		}
	}
}
