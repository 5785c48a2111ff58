// SPDX-License-Identifier: GPL-2.0
/* Tests of the averaged law: step response, W_p, gaps longer than T, slow flows, settling */
#include "algo_test.h"

#define ACKS	20	/* per round trip of 100 us */

/* 10 Gbit/s and 100 us: 125,000 bytes */
static const struct hpccpp_params averaged = {
	.T = 100, .eta = ETA_95, .packet = 1538, .W_min = 97, .W_max = 1000000,
};

/* Makes s a flow that has settled with this W. */
static void settled(struct hpccpp_state *s, __u32 W)
{
	memset(s, 0, sizeof(*s));
	s->U = ETA_95;
	hpccpp_begin_with(s, W);
	hpccpp_end_stages(s);
}

/* Processes an ACK whose record reports u, in 1/2^20, over tau us. */
static void update(struct hpccpp_state *s, const struct hpccpp_params *p, double u, __u32 tau,
		   bool round_ends)
{
	s->u = u;
	s->tau = tau * 1000 >> HPCCPP_TS_SHIFT;
	s->U = hpccpp_ewma(s->U, s->u, s->tau, p->T);
	s->W_c = hpccpp_average_W(s, p);
	hpccpp_compute_wind(s, p, round_ends);
}

/*
 * U changes at once. W has the right value with that ACK and with each later one. The first of
 * these ACKs are for packets that were sent with the old W, the others for packets of the new W.
 */
TEST(step_of_U_changes_W_once)
{
	static const double steps[] = { 0.1, 0.25, 0.5, 0.9, 1.1, 2, 4, 10 };
	struct hpccpp_state s;
	int round, i;

	for_each_row(step, steps) {
		settled(&s, 50000);
		s.U = ETA_95 * *step;
		update(&s, &averaged, s.U, 100 / ACKS, true);
		for (round = 0; round < 5; round++)
			for (i = 1; i <= ACKS; i++) {
				assert_near(s.W, 50000 / *step, 50000 / *step / 1000);
				update(&s, &averaged, ETA_95 * (round ? 1 : *step), 100 / ACKS,
				       i == ACKS);
			}
	}
}

/*
 * The flow's part of the link changes, at any time of a round trip. W reaches the new part within
 * four round trips, and does not overshoot.
 */
TEST(step_of_the_load_is_followed)
{
	static const double parts[] = { 0.5, 0.9, 1.1, 2 };
	double sent[ACKS], part, right, W;
	struct hpccpp_state s;
	int at, n;

	for_each_row(to, parts)
		for (at = 0; at < ACKS; at++) {
			settled(&s, 50000);
			for (n = 0; n < 10 * ACKS; n++) {
				part = n < at ? 1 : *to;
				right = 50000 * part;
				W = n < ACKS ? 50000 : sent[n % ACKS];
				update(&s, &averaged, ETA_95 * W / right, 100 / ACKS,
				       n % ACKS == 0);
				sent[n % ACKS] = s.W;
				assert_in_range(s.W, fmin(50000, right) * 0.99,
						fmax(50000, right) * 1.01);
				if (n >= at + 4 * ACKS)
					assert_near(s.W, right, right / 20);
			}
		}
}

/* With one ACK in a round trip, whose packet was paced by the W of two ACKs ago */
TEST(step_of_U_of_a_slow_flow)
{
	struct hpccpp_state s;
	__u32 paced[2] = { 1000, 1000 };
	int n;

	settled(&s, 1000);
	for (n = 0; n < 10; n++) {
		update(&s, &averaged, 2.0 * ETA_95 * paced[n & 1] / 1000, 150, true);
		paced[n & 1] = s.W;
		assert_near(s.W, 500, 2);
	}
}

/* W_p is the mean of W at the start of a round trip and W before its last ACK. */
TEST(W_p_is_the_mean_of_a_round_trip)
{
	struct hpccpp_state s;

	settled(&s, 40000);
	s.W_p = 1;
	s.W = 30000;
	hpccpp_compute_wind(&s, &averaged, false);
	assert_int_equal(s.W_p, 1);
	assert_int_equal(s.W_n, 40000);
	s.W = 30000;
	s.W_c = 80000;
	hpccpp_compute_wind(&s, &averaged, true);
	assert_int_equal(s.W, 80000);
	assert_int_equal(s.W_p, 35000);
	assert_int_equal(s.W_n, 80000);
	assert_int_equal(s.W_c, 80000);
}

/* W_c moves to W_p as U moves to u. If a gap exceeds T, W counts for the excess. */
TEST(W_c_is_averaged_as_U_is)
{
	static const struct { __u32 tau, W, W_c; } rows[] = {
		{ 10, 4000, 9200 }, { 50, 4000, 6000 }, { 100, 4000, 2000 },
		{ 200, 4000, 3000 }, { 400, 4000, 3500 }, { 400, 3076, 2807 },
		/* less than two packets */
		{ 50, 3075, 6000 }, { 200, 3075, 2000 }, { 100000, 97, 2000 },
	};

	for_each_row(row, rows) {
		struct hpccpp_state s = {
			.W = row->W, .W_c = 10000, .W_p = 2000,
			.tau = row->tau * 1000 >> HPCCPP_TS_SHIFT,
		};

		assert_near(hpccpp_average_W(&s, &averaged), row->W_c, 5);
	}
}

/* Each law has its own W_c: the draft's changes once per round trip. */
TEST(each_law_has_its_own_W_c)
{
	struct port port = { .id = 7, .rate = RATE_10G, .U = 61 };
	struct hpccpp_params p = averaged;
	struct hpccpp_state s;
	struct hpccpp_int rec = stamp(&port);

	settled(&s, 10000);
	s.W_p = 2000;
	assert_true(new_ack(&s, &p, &rec, 1, 1, false));
	assert_int_equal(s.W_c, 2000);
	settled(&s, 10000);
	s.W_p = 2000;
	p.law = HPCCPP_LAW_DRAFT;
	assert_true(new_ack(&s, &p, &rec, 1, 1, false));
	assert_int_equal(s.W_c, 10000);
}

/* A flow whose law changes to draft goes on from W_c, and does not return to a W of before. */
TEST(laws_may_change)
{
	struct hpccpp_params p = averaged;
	struct hpccpp_state s;
	int i;

	settled(&s, 100000);
	p.law = HPCCPP_LAW_DRAFT;
	s.W_c = 1000;
	hpccpp_compute_wind(&s, &p, true);
	assert_near(s.W, 1000, 1);
	for (i = 0; i < 3 * ACKS; i++) {
		assert_near(s.W, 1000, 5);
		update(&s, &averaged, ETA_95, 100 / ACKS, i % ACKS == 0);
	}
}

/* For a flow with less than two packets in T, the queue is divided by B tau if tau exceeds T. */
TEST(queue_of_a_slow_flow_counts_over_tau)
{
	/* 12,800 bytes of queue, no packets: T has 125,000 bytes */
	static const struct { __u32 W, tau; double u; } rows[] = {
		{ 3076, 100, .1024 }, { 3076, 800, .1024 },
		{ 3075, 50, .1024 }, { 3075, 100, .1024 }, { 3075, 200, .0512 },
		{ 3075, 800, .0128 }, { 97, 6400, .0016 },
	};
	struct hpccpp_params p = averaged;
	int law;

	for_each_row(row, rows)
		for (law = 0; law < HPCCPP_LAWS; law++) {
			struct port port = { .id = 7, .rate = RATE_10G, .qlen = 200 };
			struct hpccpp_int rec = stamp(&port);
			struct hpccpp_state s;

			p.law = law;
			settled(&s, row->W);
			new_ack(&s, &p, &rec, 1, 1, false);
			hpccpp_begin_with(&s, row->W);
			port.ts += row->tau * 1000 >> HPCCPP_TS_SHIFT;
			rec = stamp(&port);
			assert_true(new_ack(&s, &p, &rec, 1, 1 + row->tau * 1000, false));
			assert_near(s.u * STEP, row->u, row->u / 100);
		}
}

/* The earlier record may be up to 64 T old in a slow flow, and up to 8 T in others. */
TEST(records_of_a_slow_flow_count_for_64_T)
{
	static const struct { __u32 W, T; bool used; } rows[] = {
		{ 3075, 8, true }, { 3075, 64, true }, { 3075, 65, false },
		{ 3076, 8, true }, { 3076, 9, false },
	};

	for_each_row(row, rows) {
		struct port port = { .id = 7, .rate = RATE_10G };
		struct hpccpp_int rec = stamp(&port);
		struct hpccpp_state s;

		settled(&s, row->W);
		new_ack(&s, &averaged, &rec, 1, 1, false);
		hpccpp_begin_with(&s, row->W);
		port.ts += row->T * averaged.T * 1000 >> HPCCPP_TS_SHIFT;
		rec = stamp(&port);
		new_ack(&s, &averaged, &rec, 1, 1 + row->T * averaged.T * 1000, false);
		assert_int_equal(!(s.hit & 1 << HPCCPP_G_STALE), row->used);
	}
}

/* After a start U still describes the time before: W grows by W_ai. Queues reduce W at once. */
TEST(start_settles_for_two_round_trips)
{
	struct hpccpp_params p = averaged;
	struct hpccpp_state s;
	int i;

	p.W_ai = 10;
	settled(&s, 20000);
	s.inc_stage = 0;
	s.U = ETA_95 / 2;
	for (i = 0; i < 2; i++) {
		hpccpp_compute_wind(&s, &p, false);
		assert_int_equal(s.W, 20010);
		hpccpp_compute_wind(&s, &p, true);
		assert_int_equal(s.W, 20010);
	}
	hpccpp_compute_wind(&s, &p, false);
	assert_near(s.W, 40010, 1);
	s.inc_stage = 0;
	s.U = ETA_95 * 2;
	hpccpp_compute_wind(&s, &p, false);
	assert_near(s.W, 10010, 1);
	/* a flow that has reacted to a queue still settles */
	hpccpp_compute_wind(&s, &p, true);
	assert_int_equal(s.inc_stage, 1);
}

/* hpccpp_end_stages() allows a multiplicative increase under either law. */
TEST(stages_end_for_both_laws)
{
	struct hpccpp_params p = averaged;
	struct hpccpp_state s;

	for (p.law = 0; p.law < HPCCPP_LAWS; p.law++) {
		settled(&s, 10000);
		s.inc_stage = 0;
		s.U = ETA_95 / 2;
		hpccpp_compute_wind(&s, &p, false);
		assert_int_equal(s.W, 10000);
		hpccpp_end_stages(&s);
		hpccpp_compute_wind(&s, &p, false);
		assert_near(s.W, 20000, 1);
	}
}
