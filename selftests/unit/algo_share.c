// SPDX-License-Identifier: GPL-2.0
/* Difference 8: W goes to its share of the most loaded link, where that tells its flows. */
#include "algo_test.h"

/* 10 us at 100 Gbit/s, of which 95 % are 118,750 bytes */
static const struct hpccpp_params shared = {
	.T = 10, .eta = ETA_95, .max_stage = 5, .W_min = 64, .W_max = 1000000, .share = 1,
};

/* A record of that link, with so many flows */
static struct hpccpp_int told(__u32 N)
{
	return (struct hpccpp_int) {
		.link = 7, .rate = RATE_100G, .U = 61, .N = hpccpp_N_encode(N),
	};
}

/* W_f after one record with so many flows */
static __u32 share_of(const struct hpccpp_params *p, __u32 N)
{
	struct hpccpp_state s = { 0 };
	struct hpccpp_int rec = told(N);

	assert_true(hpccpp_measure_inflight(&s, p, &rec, 1, 1000));
	return s.W_f;
}

TEST(share_of_told_flows)
{
	struct hpccpp_params p = shared;

	assert_in_range(share_of(&p, 2), 59374, 59375);
	assert_in_range(share_of(&p, 16), 7421, 7422);
	assert_in_range(share_of(&p, 5), 23749, 23750);	/* in quarters of a flow */
	p.T = 20;
	assert_in_range(share_of(&p, 16), 14843, 14844);
	p.eta = HPCCPP_ONE / 2;
	assert_in_range(share_of(&p, 16), 7812, 7813);
	/* the widest everything */
	p.T = HPCCPP_T_MAX;
	p.eta = 2 * HPCCPP_ONE;
	assert_int_equal(share_of(&p, 2), HPCCPP_W_LIMIT);
}

TEST(share_of_none_and_one)
{
	struct hpccpp_params p = shared;

	assert_int_equal(share_of(&p, 0), 0);
	assert_int_equal(share_of(&p, 1), 0);
	p.share = 0;
	assert_int_equal(share_of(&p, 16), 0);
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

/* W of an update with this U, which lines 12-13 leave at W_c for a U of eta */
static __u32 pulled(__u32 W_c, __u32 W_f, __u32 U)
{
	struct hpccpp_state s = { .U = U, .W_c = W_c, .W_f = W_f };

	hpccpp_compute_wind(&s, &shared, true);
	assert_int_equal(s.W_c, s.W);
	return s.W;
}

TEST(pull_up_a_quarter_of_the_way)
{
	assert_int_equal(pulled(80000, 100000, ETA_95), 85000);
	assert_int_equal(pulled(100000, 100000, ETA_95), 100000);
	/* no more than half of W */
	assert_int_equal(pulled(20000, 100000, ETA_95), 30000);
	assert_int_equal(pulled(8000, 100000, ETA_95), 12000);
	assert_int_equal(pulled(1000, 100000, ETA_95), 1500);
}

TEST(pull_up_not_into_a_queue)
{
	__u32 loaded = ETA_95 + ETA_95 / 32;

	/* lines 12-13 leave 32/33 of W_c */
	assert_in_range(pulled(66000, 100000, loaded - 1), 72999, 73001);
	assert_in_range(pulled(66000, 100000, loaded), 63999, 64001);
}

TEST(pull_down_half_of_the_way)
{
	/* to 9/8 of W_f */
	assert_int_equal(pulled(212500, 100000, ETA_95), 162500);
	assert_int_equal(pulled(120500, 100000, ETA_95), 116500);
	assert_int_equal(pulled(112500, 100000, ETA_95), 112500);
}

/* W of an update at this U, from this W_c */
static __u32 next_W(struct hpccpp_state *s, __u32 W_c, __u32 U)
{
	s->W_c = W_c;
	s->U = U;
	hpccpp_compute_wind(s, &shared, true);
	return s->W;
}

/* Nobody takes what the flow gives: it takes that back, and gives less each time. */
TEST(pull_down_in_vain)
{
	static const __u32 W[] = { 162500, 187500, 200000, 206250, 209375, 210938, 210938, 210938 };
	struct hpccpp_state s = { .W_f = 100000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(W); i++) {
		assert_int_equal(next_W(&s, 212500, ETA_95), W[i]);
		/* line 13 in the next round trip, not 17 */
		assert_int_equal(s.inc_stage, shared.max_stage);
		assert_int_equal(next_W(&s, 100000, ETA_95 / 2), 200000);
		assert_int_equal(s.inc_stage, 0);
	}
	/* a room that the flow has not made says nothing */
	assert_int_equal(next_W(&s, 100000, ETA_95 / 2), 100000);
	assert_int_equal(s.vain, HPCCPP_PULL_VAIN);
	/* others take it: more each time */
	assert_int_equal(next_W(&s, 212500, ETA_95), 210938);
	assert_int_equal(next_W(&s, 212500, ETA_95), 210938);
	assert_int_equal(next_W(&s, 212500, ETA_95), 209375);
	for (i = 0; i < 3; i++)
		next_W(&s, 212500, ETA_95);
	assert_int_equal(next_W(&s, 212500, ETA_95), 162500);
	assert_int_equal(next_W(&s, 212500, ETA_95), 162500);
}

/* Room that others leave says nothing. */
TEST(room_without_a_pull)
{
	struct hpccpp_state s = { .W_f = 100000 };

	next_W(&s, 100000, ETA_95 / 2);
	next_W(&s, 100000, ETA_95 / 2);
	assert_int_equal(s.vain, 0);
}

/* A flow that resumes has idled since its last pull. */
TEST(resumed_is_not_pulled)
{
	struct hpccpp_state s = { .W_f = 100000, .W_c = 100000, .pulled = 1 };

	hpccpp_resume(&s, &shared);
	assert_int_equal(s.vain, 0);
}

/* Where the bounds of W leave nothing of a pull, there was none. */
TEST(bounded_is_not_pulled)
{
	struct hpccpp_params p = shared;
	struct hpccpp_state s = { .U = ETA_95, .W_c = 90000, .W_f = 85000 };

	p.W_max = 80000;
	hpccpp_compute_wind(&s, &p, true);
	assert_int_equal(s.W, 80000);
	assert_int_equal(s.pulled, 0);
	s = (struct hpccpp_state) { .U = ETA_95, .W_c = 90000, .W_f = 10000 };
	p.W_max = 1000000;
	p.W_min = 90000;
	hpccpp_compute_wind(&s, &p, true);
	assert_int_equal(s.W, 90000);
	assert_int_equal(s.pulled, 0);
	assert_int_equal(s.inc_stage, 0);
}

/* Another link is the most loaded now: its U says nothing of the pull. */
TEST(pull_of_another_link)
{
	struct hpccpp_state s = { .bottleneck = 8, .pulled = 1 };
	struct hpccpp_int rec = told(16);

	assert_true(hpccpp_measure_inflight(&s, &shared, &rec, 1, 1000));
	assert_int_equal(s.bottleneck, 7);
	assert_int_equal(s.pulled, 0);
	s.pulled = 1;
	rec.ts = 1000;
	assert_true(hpccpp_measure_inflight(&s, &shared, &rec, 1, 17000));
	assert_int_equal(s.pulled, 1);
}

TEST(pull_down_only_where_the_link_is_full)
{
	__u32 room = ETA_95 - ETA_95 / 32;

	/* lines 16-17: W_c stays, W_ai is 0 here */
	assert_int_equal(pulled(212500, 100000, room), 212500);
	assert_int_equal(pulled(212500, 100000, room + 1), 162500);
}

/* Of 125,000 bytes, on a link of that load and with so many that begin */
static __u32 first_W(__u32 U, __u32 N)
{
	struct hpccpp_params p = shared;
	struct hpccpp_state s = { .W = 125000, .W_c = 125000, .inc_stage = 2 };
	struct hpccpp_int rec = told(N);

	rec.U = U;
	p.W_ai = 80;
	assert_true(hpccpp_new_ack(&s, &p, &rec, 1, 1000, false));
	hpccpp_first_W(&s, &p);
	assert_int_equal(s.U, U << (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT));
	assert_int_equal(s.W_c, s.W);
	/* who has been cut waits for two round trips of max_stage */
	assert_int_equal(s.inc_stage, s.W == s.W_f ? 3 : 0);
	assert_int_equal(s.pulled, 0);
	return s.W;
}

TEST(first_W_is_a_part_of_the_link)
{
	assert_in_range(first_W(0, 0), 118829, 118830);		/* eta, and W_ai */
	assert_in_range(first_W(32, 0), 79246, 79247);		/* 1 + 1/2 */
	assert_in_range(first_W(64, 0), 59454, 59455);
	assert_in_range(first_W(255, 0), 23900, 23980);		/* 1 + 255/64 */
}

/* The share of one of them, unless the load leaves less */
TEST(first_W_in_a_crowd)
{
	assert_in_range(first_W(0, 4), 29687, 29688);
	assert_in_range(first_W(32, 64), 1855, 1856);
	assert_in_range(first_W(255, 8), 14843, 14844);
	assert_in_range(first_W(255, 4), 23900, 23980);
}

/* A flow that comes with less than W_init has no more in a crowd than alone. */
TEST(first_W_of_few_packets)
{
	static const __u32 crowds[] = { 2, 4, 8, 16, 64 };
	struct hpccpp_params p = shared;
	__u32 alone = 0;
	size_t i;

	for (i = 0; i <= ARRAY_SIZE(crowds); i++) {
		struct hpccpp_state s = { .W = 15140, .W_c = 15140 };
		struct hpccpp_int rec = told(i ? crowds[i - 1] : 1);

		p.T = 1000;
		p.W_ai = 9765;
		p.W_max = 14000000;
		rec.U = 0;
		assert_true(hpccpp_new_ack(&s, &p, &rec, 1, 1000, false));
		hpccpp_first_W(&s, &p);
		if (!i)
			alone = s.W;
		assert_int_equal(s.W, alone);
		/* nor is the share forgotten */
		if (i)
			assert_in_range(s.W_f, 11874980 / crowds[i - 1], 11875000 / crowds[i - 1]);
	}
}

TEST(late_stage_is_two_round_trips_early)
{
	struct hpccpp_params p = { .max_stage = 5 };

	assert_int_equal(hpccpp_late_stage(&p), 3);
	p.max_stage = 3;
	assert_int_equal(hpccpp_late_stage(&p), 1);
	for (p.max_stage = 0; p.max_stage < 3; p.max_stage++)
		assert_int_equal(hpccpp_late_stage(&p), 0);
}

TEST(first_W_is_bounded)
{
	struct hpccpp_params p = shared;
	struct hpccpp_state s = { .W = 125000, .W_c = 125000 };
	struct hpccpp_int rec = told(64);

	p.W_min = 5000;
	assert_true(hpccpp_new_ack(&s, &p, &rec, 1, 1000, false));
	hpccpp_first_W(&s, &p);
	assert_int_equal(s.W, 5000);
}

TEST(pull_of_none)
{
	assert_int_equal(pulled(80000, 0, ETA_95), 80000);
	assert_int_equal(pulled(900000, 0, ETA_95), 900000);
}

/* Between two W_c each ACK's W is of the same W_c: one pull in a round trip. */
TEST(pull_once_in_a_round_trip)
{
	struct hpccpp_state s = { .U = ETA_95, .W_c = 80000, .W_f = 100000 };
	int i;

	for (i = 0; i < 10; i++)
		hpccpp_compute_wind(&s, &shared, false);
	assert_int_equal(s.W, 85000);
	assert_int_equal(s.W_c, 80000);
}

TEST(pull_stays_in_bounds)
{
	int n;

	for (n = 0; n < 1000000; n++) {
		struct hpccpp_state a = {
			.U = rnd_log(0, HPCCPP_U_LIMIT), .W_c = rnd_log(0, HPCCPP_W_LIMIT),
			.W_f = rnd_log(0, HPCCPP_W_LIMIT), .inc_stage = rnd_below(8),
			.vain = rnd_below(HPCCPP_PULL_VAIN + 1),
		};
		struct hpccpp_state b = a;

		b.U = a.U + rnd_below(HPCCPP_U_LIMIT + 1ULL - a.U);
		hpccpp_compute_wind(&a, &shared, true);
		hpccpp_compute_wind(&b, &shared, true);
		assert_in_range(a.W, shared.W_min, shared.W_max);
		/* never more with a larger load */
		assert_true(a.W >= b.W);
	}
}
