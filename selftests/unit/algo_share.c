// SPDX-License-Identifier: GPL-2.0
/* D-SHARE: W goes to its share of the most loaded link, where that tells its flows. */
#include "algo_test.h"

/* 10 us at 100 Gbit/s, of which 95 % are 118,750 bytes */
static const struct hpccpp_params shared = {
	.T = 10, .eta = ETA_95, .packet = 1538, .W_min = 64, .W_max = 1000000, .share = 1,
};

/* A record of that link, with so many flows */
static struct hpccpp_int told(__u32 N)
{
	return (struct hpccpp_int) {
		.link = 7, .rate = RATE_100G, .U = 61, .N = hpccpp_N_encode(N),
	};
}

TEST(share_of_told_flows)
{
	static const struct { __u32 N, T, eta, share, W_f; } rows[] = {
		{ 2, 10, ETA_95, 1, 59375 }, { 16, 10, ETA_95, 1, 7422 },
		{ 5, 10, ETA_95, 1, 23750 },	/* in quarters of a flow */
		{ 16, 20, ETA_95, 1, 14844 }, { 16, 20, HPCCPP_ONE / 2, 1, 7813 },
		{ 2, HPCCPP_T_MAX, HPCCPP_ONE, 1, HPCCPP_W_LIMIT },
		/* of none, of one, and not now */
		{ 0, 10, ETA_95, 1, 0 }, { 1, 10, ETA_95, 1, 0 }, { 16, 10, ETA_95, 0, 0 },
	};

	for_each_row(row, rows) {
		struct hpccpp_params p = shared;
		struct hpccpp_state s = { 0 };
		struct hpccpp_int rec = told(row->N);

		p.T = row->T;
		p.eta = row->eta;
		p.share = row->share;
		assert_true(hpccpp_measure_inflight(&s, &p, &rec, 1, 1000));
		assert_near(s.W_f, row->W_f, 1);
	}
}

TEST(share_is_of_the_most_loaded_link)
{
	struct hpccpp_int rec[2] = { told(4), told(16) };
	struct hpccpp_state s = { 0 };

	rec[1].link = 8;
	rec[1].U = 62;
	assert_true(hpccpp_measure_inflight(&s, &shared, rec, 2, 1000));
	assert_int_equal(s.bottleneck, 8);
	assert_in_range(s.W_f, 7421, 7422);
	rec[0].ts = 1000;
	rec[0].tx_bytes = 3;
	rec[1].ts = 1000;
	rec[1].tx_bytes = 1;
	assert_true(hpccpp_measure_inflight(&s, &shared, rec, 2, 17000));
	assert_int_equal(s.bottleneck, 7);
	assert_in_range(s.W_f, 29687, 29688);
}

/* A bound names no link, and a record that is left out changes nothing. */
TEST(share_without_a_record)
{
	struct hpccpp_int rec = told(16), bound = { .U = 40 };
	struct hpccpp_state s = { 0 };

	assert_true(hpccpp_measure_inflight(&s, &shared, &rec, 1, 1000));
	rec.N = hpccpp_N_encode(2);
	assert_false(hpccpp_measure_inflight(&s, &shared, &rec, 1, 2000));
	assert_in_range(s.W_f, 7421, 7422);
	assert_true(hpccpp_measure_inflight(&s, &shared, &bound, 1, 3000));
	assert_int_equal(s.W_f, 0);
}

/* Lines 12-13 leave W_c, which is pulled to W_f, for a U of eta; lines 16-17 for less. */
TEST(pull_goes_a_part_of_the_way)
{
	const __u32 band = ETA_95 / 32;
	const struct { const char *shows; __u32 W_c, W_f, U, W; } rows[] = {
		{ "up 3/8", 80000, 100000, ETA_95, 87500 },
		{ "not at all", 100000, 100000, ETA_95, 100000 },
		{ "up by half of W at most", 20000, 100000, ETA_95, 30000 },
		{ "", 8000, 100000, ETA_95, 12000 },
		{ "", 1000, 100000, ETA_95, 1500 },
		{ "up to a load of 33/32 of eta, of 32/33 of W_c", 66000, 100000,
		  ETA_95 + band - 1, 77500 },
		{ "but not into a queue", 66000, 100000, ETA_95 + band, 64000 },
		{ "down 5/8, to 9/8 of W_f", 212500, 100000, ETA_95, 150000 },
		{ "", 120500, 100000, ETA_95, 115500 },
		{ "", 112500, 100000, ETA_95, 112500 },
		{ "down where the link is full", 212500, 100000, ETA_95 - band + 1, 150000 },
		{ "but not where it has room", 212500, 100000, ETA_95 - band, 212500 },
		{ "not without a share", 80000, 0, ETA_95, 80000 },
		{ "", 900000, 0, ETA_95, 900000 },
	};

	for_each_row(row, rows) {
		struct hpccpp_state s = {
			.U = row->U, .W_c = row->W_c, .W_f = row->W_f,
		};

		print_message("# %s\n", row->shows);
		hpccpp_compute_wind(&s, &shared, true);
		assert_near(s.W, row->W, row->U > ETA_95);
		assert_int_equal(s.W_n, s.W);
		assert_int_equal(s.W_c, row->W_c);
	}
}

/* Law draft does not move W towards the fair share. */
TEST(draft_has_no_fair_share)
{
	struct hpccpp_state s = { .U = ETA_95, .W_c = 80000, .W_f = 100000, .stepped = 1 };
	struct hpccpp_params p = shared;

	p.law = HPCCPP_LAW_DRAFT;
	hpccpp_compute_wind(&s, &p, true);
	assert_int_equal(s.W, 80000);
	s.W_f = 10000;
	hpccpp_compute_wind(&s, &p, true);
	assert_int_equal(s.W, 80000);
	assert_int_equal(s.backoff, 0);
}

/* W of an update at this U, from this W_c */
static __u32 next_W(struct hpccpp_state *s, __u32 W_c, __u32 U)
{
	s->W_c = W_c;
	s->U = U;
	hpccpp_end_stages(s);
	hpccpp_compute_wind(s, &shared, true);
	return s->W;
}

/* Nobody takes what the flow gives: it takes that back, and gives less each time. */
TEST(pull_down_in_vain)
{
	static const __u32 W[] = { 150000, 181250, 196875, 204688, 208594, 210547, 210547, 210547 };
	struct hpccpp_state s = { .W_f = 100000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(W); i++) {
		assert_int_equal(next_W(&s, 212500, ETA_95), W[i]);
		assert_int_equal(next_W(&s, 100000, ETA_95 / 2), 200000);
	}
	/* a room that the flow has not made says nothing */
	assert_int_equal(next_W(&s, 100000, ETA_95 / 2), 200000);
	assert_int_equal(s.backoff, HPCCPP_BACKOFF_MAX);
	/* others take it: more each time */
	assert_int_equal(next_W(&s, 212500, ETA_95), 210547);
	assert_int_equal(next_W(&s, 212500, ETA_95), 210547);
	assert_int_equal(next_W(&s, 212500, ETA_95), 208594);
	for (i = 0; i < 3; i++)
		next_W(&s, 212500, ETA_95);
	assert_int_equal(next_W(&s, 212500, ETA_95), 150000);
	assert_int_equal(next_W(&s, 212500, ETA_95), 150000);
}

/* Neither room that others leave, nor that of a flow that has idled since its last pull */
TEST(only_pulls_are_in_vain)
{
	struct hpccpp_state s = { .W_f = 100000 };

	next_W(&s, 100000, ETA_95 / 2);
	next_W(&s, 100000, ETA_95 / 2);
	assert_int_equal(s.backoff, 0);
	s.stepped = 1;
	hpccpp_first_W(&s, &shared, 125000000);
	assert_int_equal(s.backoff, 0);
}

/* Where the bounds of W leave nothing of a pull, there was none. */
TEST(bounded_is_not_pulled)
{
	struct hpccpp_params p = shared;
	struct hpccpp_state s = { .U = ETA_95, .W_c = 90000, .W_f = 85000 };

	p.W_max = 80000;
	hpccpp_compute_wind(&s, &p, true);
	assert_int_equal(s.W, 80000);
	assert_int_equal(s.stepped, 0);
	s = (struct hpccpp_state) { .U = ETA_95, .W_c = 90000, .W_f = 10000 };
	p.W_max = 1000000;
	p.W_min = 90000;
	hpccpp_compute_wind(&s, &p, true);
	assert_int_equal(s.W, 90000);
	assert_int_equal(s.stepped, 0);
}

/* Another link is the most loaded now: its U says nothing of the pull. */
TEST(pull_of_another_link)
{
	struct hpccpp_state s = { .bottleneck = 8, .stepped = 1 };
	struct hpccpp_int rec = told(16);

	assert_true(hpccpp_measure_inflight(&s, &shared, &rec, 1, 1000));
	assert_int_equal(s.bottleneck, 7);
	assert_int_equal(s.stepped, 0);
	s.stepped = 1;
	rec.ts = 1000;
	assert_true(hpccpp_measure_inflight(&s, &shared, &rec, 1, 17000));
	assert_int_equal(s.stepped, 1);
}

/* Of W bytes, on a link with a load and a number of flows that begin */
TEST(first_W_is_a_part_of_the_link)
{
	static const struct { __u32 W, U, N, W_min, least, most; } rows[] = {
		{ 125000, 0, 0, 64, 118749, 118750 },		/* eta */
		{ 125000, 32, 0, 64, 79166, 79167 },		/* 1 + 1/2 */
		{ 125000, 64, 0, 64, 59374, 59375 },
		{ 125000, 255, 0, 64, 23800, 23850 },		/* 1 + 255/64 */
		/* the share of a flow, unless the load leaves less */
		{ 125000, 0, 4, 64, 29687, 29688 }, { 125000, 32, 64, 64, 1855, 1856 },
		{ 125000, 255, 8, 64, 14843, 14844 }, { 125000, 255, 4, 64, 23800, 23850 },
		{ 125000, 61, 64, 5000, 5000, 5000 },
		/* with less than W_init it has no more in an incast than alone */
		{ 15140, 0, 0, 64, 15140, 15140 }, { 15140, 0, 4, 64, 15140, 15140 },
	};

	for_each_row(row, rows) {
		struct hpccpp_params p = shared;
		struct hpccpp_state s = { .inc_stage = 2 };
		struct hpccpp_int rec = told(row->N);

		hpccpp_begin_with(&s, row->W);
		rec.U = row->U;
		p.W_ai = 80;
		p.W_min = row->W_min;
		assert_true(hpccpp_measure_inflight(&s, &p, &rec, 1, 1000));
		hpccpp_first_W(&s, &p, hpccpp_bottleneck_B(&s));
		assert_in_range(s.W, row->least, row->most);
		assert_int_equal(s.U, rec.U << (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT));
		assert_int_equal(s.W_c, s.W);
		assert_int_equal(s.W_p, s.W);
		assert_int_equal(s.W_n, s.W);
		assert_int_equal(s.inc_stage, 0);
		assert_int_equal(s.stepped, 0);
		/* the share is not forgotten */
		assert_near(s.W_f, row->N ? 118750. / row->N : 0, 1);
	}
}

/* Pulls do not add up from ACK to ACK: each begins at W_c. */
TEST(pull_once_in_a_round_trip)
{
	struct hpccpp_state s = { .U = ETA_95, .W_c = 80000, .W_f = 100000 };
	int i;

	for (i = 0; i < 10; i++)
		hpccpp_compute_wind(&s, &shared, false);
	assert_int_equal(s.W, 87500);
	assert_int_equal(s.W_c, 80000);
}
