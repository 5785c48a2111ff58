// SPDX-License-Identifier: GPL-2.0
/*
 * Unit and property tests of kmod/hpccpp_algo.h and kmod/hpccpp_wire.h, the
 * very headers that the module and the agents are compiled from.
 *
 * The reference is the draft's lines 1-27 transcribed once more, in double
 * precision and in seconds and bytes, sharing no line with the fixed point.
 *
 * Bounds of the fixed point, as the head comment of hpccpp_algo.h states them:
 *
 * rate term	floor(x * 2^20) loses less than 2^-20. The divisor, 32 b, is
 *		rounded down to "could" >= 32 b - 1, which makes the quotient
 *		too large by less than its could-th part: x / could.
 * queue term	likewise: 2^-20, and x / bdp.
 * U		rounded to nearest, so each update errs by 2^-21 at most. As
 *		e' = (1 - a) e + a e_u + 2^-21 with a = tau / T, errors settle
 *		under e_u + 2^-21 / a = e_u + T / (2 tau) * 2^-20.
 * W		floor(W_c * eta / U) loses less than 1 byte.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hpccpp_algo.h"
#include "hpccpp_dcqcn.h"
#include "hpccpp_roce.h"

/* cmocka hands every test a state, and few want one */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define STEP		(1.0 / HPCCPP_ONE)	/* one step of u, U, eta */

#define G1		1000000000ULL
#define TICK		(16 / 1e9)		/* one step of ts, in s */
#define US		(1 / 1e6)
#define EPSILON		(1 / 1e9)		/* for what a double rounds */
#define CODE(m, e)	((e) << 8 | (m))	/* m * 10^e bit/s */
#define RATE_100G	hpccpp_rate_encode(100 * G1)
#define RATE_10G	hpccpp_rate_encode(10 * G1)
#define ETA_95		((__u32)(HPCCPP_ONE * 95ULL / 100))

/* xorshift64*, so that every run tests the same cases */
static __u64 prng = 0x9e3779b97f4a7c15ULL;

static __u64 rnd(void)
{
	prng ^= prng >> 12;
	prng ^= prng << 25;
	prng ^= prng >> 27;
	return prng * 0x2545f4914f6cdd1dULL;
}

/* 0..n-1 */
static __u64 rnd_below(__u64 n)
{
	return (rnd() >> 1) % n;
}

/* lo..hi, each power of two as likely: small numbers are where bugs live */
static __u64 rnd_log(__u64 lo, __u64 hi)
{
	int bits = 0;
	__u64 x;

	while (bits < 63 && hi >> (bits + 1))
		bits++;
	do {
		x = rnd() >> (63 - rnd_below(bits + 1));
	} while (x < lo || x > hi);
	return x;
}

static void assert_near(double got, double want, double bound)
{
	if (fabs(got - want) > bound)
		fail_msg("%.9g is not within %.3g of %.9g", got, bound, want);
}

/* Lines 1-27 in double precision. Names are the draft's, underscored. */

struct draft_link {
	double tx_bytes;	/* bytes */
	double ts;		/* s */
	double qlen;		/* bytes */
	double B;		/* bytes/s */
};

struct draft {
	double T, eta, W_ai;
	unsigned int max_stage;

	double U, W, W_c, R;
	unsigned int inc_stage;
	long long last_update_seq;
	int links;
	struct draft_link L[8];

	/* not the draft's: what the stated error bound is computed from */
	double error;		/* of u */
	double u, tau;
};

/* What the fixed point may err by in one u: see the top */
static double u_bound(double rate, double queue, double B, double dts, double T)
{
	return 2 * STEP + rate / floor(32 * B * dts + EPSILON) +
	       queue / floor(B * T + EPSILON) + EPSILON;
}

static double draft_measure_inflight(struct draft *d,		/* 1 */
				     const struct draft_link *ack)
{
	double u = 0, tau = 0;					/* 2 */
	int i;

	d->error = 0;
	for (i = 0; i < d->links; i++) {			/* 3 */
		double dts = ack[i].ts - d->L[i].ts;
		double tx_rate = (ack[i].tx_bytes - d->L[i].tx_bytes) /
				 dts;				/* 4 */
		double queue = fmin(ack[i].qlen, d->L[i].qlen) /
			       (ack[i].B * d->T);
		double u_ = queue + tx_rate / ack[i].B;		/* 5 */

		if (u_ > u) {					/* 6 */
			u = u_;					/* 7 */
			tau = dts;
		}
		d->error = fmax(d->error, u_bound(tx_rate / ack[i].B, queue,
						  ack[i].B, dts, d->T));
	}
	d->u = u;
	d->tau = tau;
	tau = fmin(tau, d->T);					/* 8 */
	d->U = (1 - tau / d->T) * d->U + tau / d->T * u;	/* 9 */
	return d->U;						/* 10 */
}

static double draft_compute_wind(struct draft *d, double U,	/* 11 */
				 bool update_wc)
{
	double W;

	if (U >= d->eta || d->inc_stage >= d->max_stage) {	/* 12 */
		W = d->W_c / (U / d->eta) + d->W_ai;		/* 13 */
		if (update_wc) {				/* 14 */
			d->inc_stage = 0;			/* 15 */
			d->W_c = W;
		}
	} else {						/* 16 */
		W = d->W_c + d->W_ai;				/* 17 */
		if (update_wc) {				/* 18 */
			d->inc_stage++;				/* 19 */
			d->W_c = W;
		}
	}
	return W;						/* 20 */
}

static void draft_new_ack(struct draft *d, const struct draft_link *ack, /* 21 */
			  long long ack_seq, long long snd_nxt)
{
	if (ack_seq > d->last_update_seq) {			/* 22 */
		d->W = draft_compute_wind(d, draft_measure_inflight(d, ack),
					  true);		/* 23 */
		d->last_update_seq = snd_nxt;			/* 24 */
	} else {						/* 25 */
		d->W = draft_compute_wind(d, draft_measure_inflight(d, ack),
					  false);		/* 26 */
	}
	d->R = d->W / d->T;					/* 27 */
	memcpy(d->L, ack, d->links * sizeof(*ack));
}

/* A port as it is: counters that do not wrap, and what it puts on the wire. */
struct port {
	__u16 id, rate;
	__u64 ts;		/* 16 ns */
	__u64 tx_bytes;		/* 64 bytes */
	__u16 qlen;		/* 64 bytes */
	__u8 U;
};

static struct hpccpp_int stamp(const struct port *p)
{
	return (struct hpccpp_int) {
		.link = p->id,
		.rate = p->rate,
		.ts = p->ts & HPCCPP_MASK24,
		.tx_bytes = p->tx_bytes & HPCCPP_MASK24,
		.qlen = p->qlen,
		.U = p->U,
	};
}

static struct draft_link draft_stamp(const struct port *p)
{
	return (struct draft_link) {
		.tx_bytes = 64.0 * p->tx_bytes,
		.ts = TICK * p->ts,
		.qlen = 64.0 * p->qlen,
		.B = hpccpp_rate_decode(p->rate) / 8.0,
	};
}

/* The flow under test and the reference, moving together. */
struct pair {
	struct hpccpp_state s;
	struct hpccpp_params p;
	struct draft d;
	struct port port[3];
	__u64 now;
};

static void pair_init(struct pair *x, int links, __u16 rate, __u32 T)
{
	int i;

	memset(x, 0, sizeof(*x));
	x->p = (struct hpccpp_params) {
		.T = T, .eta = ETA_95, .max_stage = 5, .W_ai = 80,
		.W_min = 1, .W_max = HPCCPP_W_LIMIT,
	};
	x->d.T = T * US;
	x->d.eta = ETA_95 * STEP;
	x->d.max_stage = 5;
	x->d.W_ai = 80;
	x->d.links = links;
	x->now = 1;
	for (i = 0; i < links; i++) {
		x->port[i].id = 100 + i;
		x->port[i].rate = rate;
		x->port[i].ts = HPCCPP_MASK24 - 5 * i;	/* about to wrap */
		x->port[i].tx_bytes = HPCCPP_MASK24 - 3 * i;
		x->d.L[i] = draft_stamp(&x->port[i]);
	}
}

/* Hand both the records as they are; the reference starts from our state. */
static bool pair_ack(struct pair *x, bool update_wc)
{
	struct draft_link ack[3];
	struct hpccpp_int rec[3];
	struct draft same;
	double W;
	int i;

	x->d.U = x->s.U * STEP;
	x->d.W_c = x->s.W_c;
	x->d.inc_stage = x->s.inc_stage;
	for (i = 0; i < x->d.links; i++) {
		ack[i] = draft_stamp(&x->port[i]);
		rec[i] = stamp(&x->port[i]);
	}
	same = x->d;
	draft_new_ack(&x->d, ack, update_wc, 0);
	x->d.last_update_seq = 0;
	if (!hpccpp_new_ack(&x->s, &x->p, rec, x->d.links, x->now, update_wc))
		return false;
	/* lines 11-20 from the very U that the fixed point has */
	W = draft_compute_wind(&same, x->s.U * STEP, update_wc);
	assert_near(x->s.W, fmax(x->p.W_min, fmin(x->p.W_max, W)), 1.001);
	assert_int_equal(x->s.inc_stage, same.inc_stage);
	assert_int_equal(x->s.W_c, update_wc ? x->s.W : same.W_c);
	return true;
}

/* First records: they leave the port's U as U, and a baseline. */
static void pair_first(struct pair *x, __u32 W_c)
{
	pair_ack(x, false);
	x->s.W = W_c;
	x->s.W_c = W_c;
	x->s.inc_stage = 0;
}

static void advance(struct pair *x, int i, __u32 dts, __u32 tx, __u16 qlen)
{
	x->port[i].ts += dts;
	x->port[i].tx_bytes += tx;
	x->port[i].qlen = qlen;
	if (!i)
		x->now += (__u64)dts << HPCCPP_TS_SHIFT;
}

/* u and U against the reference, within the stated bounds */
static void assert_pair(const struct pair *x)
{
	assert_near(x->s.u * STEP, x->d.u, x->d.error);
	assert_near(x->s.U * STEP, x->d.U, x->d.error + STEP / 2);
}

/* The lines */

static void line_02_u_starts_at_0(void **state)
{
	struct pair x;

	/* an idle link that was loaded: nothing of the old u stays */
	pair_init(&x, 1, RATE_100G, 10);
	x.port[0].U = 64;
	pair_first(&x, 100000);
	assert_int_equal(x.s.U, HPCCPP_ONE);
	advance(&x, 0, 625, 0, 0);
	assert_true(pair_ack(&x, true));
	assert_int_equal(x.s.u, 0);
	assert_int_equal(x.s.U, 0);
	assert_int_equal(x.s.bottleneck, 100);
}

static void line_03_every_link(void **state)
{
	struct pair x;
	int i;

	/* each link in turn is the only loaded one */
	for (i = 0; i < 3; i++) {
		pair_init(&x, 3, RATE_100G, 10);
		pair_first(&x, 100000);
		advance(&x, 0, 625, 100, 0);
		advance(&x, 1, 625, 100, 0);
		advance(&x, 2, 625, 100, 0);
		x.port[i].tx_bytes += 1500;
		assert_true(pair_ack(&x, true));
		assert_pair(&x);
		assert_int_equal(x.s.bottleneck, 100 + i);
		assert_int_equal(x.s.records, 3);
	}
}

static void line_04_tx_rate(void **state)
{
	struct pair x;

	/* 125,000 B in 10 us are 100 Gbit/s; both counters wrap here */
	pair_init(&x, 1, RATE_100G, 10);
	pair_first(&x, 100000);
	advance(&x, 0, 625, 125000 / 64, 0);
	assert_true(pair_ack(&x, true));
	assert_near(x.s.u * STEP, 125000 / 64 * 64 / 125000.0, 2 * STEP);
	assert_pair(&x);
	advance(&x, 0, 625, 125000 / 64 / 2, 0);
	assert_true(pair_ack(&x, true));
	assert_near(x.s.u * STEP, 0.5, 64 / 125000.0);
	assert_pair(&x);
}

static void line_05_min_qlen(void **state)
{
	struct pair x;

	/* B * T is 125,000 B, 1000 units of qlen are 64,000 B */
	pair_init(&x, 1, RATE_100G, 10);
	x.port[0].qlen = 1000;
	pair_first(&x, 100000);
	advance(&x, 0, 625, 0, 3000);
	assert_true(pair_ack(&x, true));
	assert_near(x.s.u * STEP, 0.512, 2 * STEP);	/* the earlier */
	assert_pair(&x);
	advance(&x, 0, 625, 0, 500);
	assert_true(pair_ack(&x, true));
	assert_near(x.s.u * STEP, 0.256, 2 * STEP);	/* the later */
	assert_pair(&x);
	advance(&x, 0, 625, 1953, 500);
	assert_true(pair_ack(&x, true));
	assert_near(x.s.u * STEP, 1.256, 0.001);		/* both terms */
	assert_pair(&x);
}

static void line_06_max_over_links(void **state)
{
	struct pair x;

	/* the slower link, not the one with more bytes, is the fuller */
	pair_init(&x, 2, RATE_100G, 10);
	x.port[1].rate = RATE_10G;
	pair_first(&x, 100000);
	advance(&x, 0, 625, 1000, 0);
	advance(&x, 1, 625, 180, 0);
	assert_true(pair_ack(&x, true));
	assert_int_equal(x.s.bottleneck, 101);
	assert_pair(&x);
	/* equal: the first stays, as line 6 says > */
	advance(&x, 0, 625, 1000, 0);
	advance(&x, 1, 625, 100, 0);
	assert_true(pair_ack(&x, true));
	assert_int_equal(x.s.bottleneck, 100);
	assert_pair(&x);
}

static void line_07_tau_of_that_link(void **state)
{
	struct pair x;

	pair_init(&x, 3, RATE_100G, 10);
	pair_first(&x, 100000);
	advance(&x, 0, 100, 100, 0);
	advance(&x, 1, 200, 500, 0);
	advance(&x, 2, 300, 300, 0);
	assert_true(pair_ack(&x, true));
	assert_int_equal(x.s.bottleneck, 101);
	assert_int_equal(x.s.tau, 200);
	assert_near(x.d.tau, 200 * TICK, EPSILON);
	assert_pair(&x);
}

static void line_08_tau_at_most_T(void **state)
{
	struct pair x;

	pair_init(&x, 1, RATE_100G, 10);
	x.port[0].U = 128;
	pair_first(&x, 100000);
	advance(&x, 0, 3 * 625, 3000, 0);
	assert_true(pair_ack(&x, true));
	assert_int_equal(x.s.U, x.s.u);		/* nothing of the old U */
	assert_pair(&x);
	/* also where T is no multiple of 16 ns, and tau is T itself */
	assert_int_equal(hpccpp_ewma(HPCCPP_ONE, 7, 63, 1), 7);
	pair_init(&x, 1, RATE_100G, 1);
	x.port[0].U = 128;
	x.s.U = 5 * HPCCPP_ONE;
	pair_first(&x, 100000);
	assert_int_equal(x.s.U, 2 * HPCCPP_ONE);
}

static void line_09_ewma(void **state)
{
	struct pair x;
	int i;

	/* a quarter of T each: 1 - (3/4)^4 of the way after one T */
	pair_init(&x, 1, RATE_100G, 16);
	pair_first(&x, 100000);
	for (i = 0; i < 4; i++) {
		advance(&x, 0, 250, 780, 0);
		assert_true(pair_ack(&x, true));
		assert_pair(&x);
	}
	assert_near(x.s.U * STEP, 0.68 * 0.9984, 0.01);
	assert_int_equal(hpccpp_ewma(1000, 2000, 250, 16), 1250);
	assert_int_equal(hpccpp_ewma(2000, 1000, 250, 16), 1750);
	assert_int_equal(hpccpp_ewma(1000, 2000, 0, 16), 1000);
}

static void line_09_ewma_does_not_lock_away(void **state)
{
	static const __u32 T[] = { 8, 20, 100, 1000, 4000, HPCCPP_T_MAX };
	static const __u32 parts[] = { 1, 3, 10, 100, 500, 2000 };
	size_t i, j;
	int dir, n;

	/* U comes within T / (2 tau) steps of a steady u, from both sides */
	for (i = 0; i < ARRAY_SIZE(T); i++)
		for (j = 0; j < ARRAY_SIZE(parts); j++)
			for (dir = 0; dir < 2; dir++) {
				__u32 tau = T[i] * 1000ULL / parts[j] / 16;
				__u32 U = dir ? 2 * HPCCPP_ONE : 0;
				double off;

				if (!tau)
					continue;
				for (n = 0; n < 40000; n++)
					U = hpccpp_ewma(U, ETA_95, tau, T[i]);
				off = fabs((double)U - ETA_95);
				if (off > T[i] * 1000.0 / (tau * 16.0) / 2 + 1)
					fail_msg("T %u tau %u: off by %g", T[i],
						 tau, off);
				if (off > 0.0011 * ETA_95)
					fail_msg("bias %g", off / ETA_95);
			}
}

static void line_10_nothing_usable_returns_false(void **state)
{
	struct pair x;
	struct hpccpp_state before;

	pair_init(&x, 1, RATE_100G, 10);
	pair_first(&x, 100000);
	before = x.s;
	assert_false(hpccpp_new_ack(&x.s, &x.p, NULL, 0, x.now, true));
	before.records = 0;
	before.hit = 0;
	assert_memory_equal(&before, &x.s, sizeof(before));
}

/* W from a given U, W_c and stage; the flow is in s afterwards */
static __u32 wind(struct hpccpp_state *s, const struct hpccpp_params *p,
		  __u32 U, __u32 W_c, __u32 stage, bool update_wc)
{
	memset(s, 0, sizeof(*s));
	s->U = U;
	s->W_c = W_c;
	s->inc_stage = stage;
	hpccpp_compute_wind(s, p, update_wc);
	return s->W;
}

static const struct hpccpp_params params_95 = {
	.T = 10, .eta = ETA_95, .max_stage = 5, .W_ai = 80,
	.W_min = 64, .W_max = 1000000,
};

static void line_12_U_at_eta(void **state)
{
	struct hpccpp_state s;

	/* >=, not >: at eta itself the branch of line 13, which resets */
	wind(&s, &params_95, ETA_95, 10000, 3, true);
	assert_int_equal(s.inc_stage, 0);
	assert_int_equal(s.W, 10080);
	wind(&s, &params_95, ETA_95 - 1, 10000, 3, true);
	assert_int_equal(s.inc_stage, 4);
	assert_int_equal(s.W, 10080);
}

static void line_12_inc_stage_at_max_stage(void **state)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s;

	assert_int_equal(wind(&s, &p, ETA_95 / 2, 10000, 4, true), 10080);
	assert_int_equal(s.inc_stage, 5);
	assert_int_equal(wind(&s, &p, ETA_95 / 2, 10000, 5, true), 20080);
	assert_int_equal(s.inc_stage, 0);
	p.max_stage = 0;	/* always line 13 */
	assert_int_equal(wind(&s, &p, ETA_95 / 2, 10000, 0, true), 20080);
	assert_int_equal(s.inc_stage, 0);
	p.max_stage = ~0U;
	assert_int_equal(wind(&s, &p, 0, 10000, ~0U - 1, true), 10080);
	assert_int_equal(s.inc_stage, ~0U);
}

static void line_13_multiplicative(void **state)
{
	struct hpccpp_state s;

	/* 10,000 / (1.9 / .95) + 80 and 10,000 / (.475 / .95) + 80 */
	assert_in_range(wind(&s, &params_95, 2 * ETA_95, 10000, 0, true),
			5079, 5080);
	assert_in_range(wind(&s, &params_95, ETA_95 / 2, 10000, 5, true),
			20080, 20081);
}

static void line_14_15_reference_follows(void **state)
{
	struct hpccpp_state s;

	wind(&s, &params_95, 2 * ETA_95, 10000, 3, true);
	assert_int_equal(s.W_c, s.W);
	assert_int_equal(s.inc_stage, 0);
	wind(&s, &params_95, 2 * ETA_95, 10000, 3, false);
	assert_int_equal(s.W_c, 10000);
	assert_int_equal(s.inc_stage, 3);
}

static void line_16_17_additive(void **state)
{
	struct hpccpp_state s;
	int i;

	wind(&s, &params_95, 0, 10000, 0, true);
	for (i = 1; i <= 5; i++) {
		assert_int_equal(s.W, 10000 + 80 * i);
		assert_int_equal(s.inc_stage, i);
		if (i == 5)
			s.U = ETA_95 / 2;	/* the sixth is line 13 */
		hpccpp_compute_wind(&s, &params_95, true);
	}
	assert_in_range(s.W, 2 * 10400 + 80, 2 * 10400 + 81);
	assert_int_equal(s.inc_stage, 0);
}

static void line_18_19_reference_follows(void **state)
{
	struct hpccpp_state s;

	wind(&s, &params_95, 0, 10000, 3, true);
	assert_int_equal(s.W_c, 10080);
	assert_int_equal(s.inc_stage, 4);
	wind(&s, &params_95, 0, 10000, 3, false);
	assert_int_equal(s.W, 10080);
	assert_int_equal(s.W_c, 10000);
	assert_int_equal(s.inc_stage, 3);
}

/* W_c as a part of the link's bdp, 125000 bytes, joins the U of others */
static void resume_counts_its_own_load(void **state)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s = {
		.W_c = 62500, .inc_stage = 3, .bottleneck = 7,
		.L[2] = { .B = 1250000000, .seen = 1, .id = 7 },
		.L[0] = { .B = 125000000, .seen = 1, .id = 1 },
		.L[1] = { .B = 125000000, .seen = 1, .id = 2 },
	};

	p.T = 100;
	s.U = HPCCPP_ONE / 2;			/* and a half of its own */
	hpccpp_resume(&s, &p);
	assert_in_range(s.W, 62500 * 95 / 100 + p.W_ai - 1,
			62500 * 95 / 100 + p.W_ai + 1);
	assert_int_equal(s.W_c, s.W);
	assert_int_equal(s.U, HPCCPP_ONE / 2);

	s.U = 0;				/* nobody else: there is room */
	s.W_c = 62500;
	hpccpp_resume(&s, &p);
	assert_int_equal(s.W, 62500 + p.W_ai);
	assert_int_equal(s.inc_stage, 1);

	s.bottleneck = 8;			/* not a link that we know */
	s.W_c = 62500;
	s.U = p.eta * 2;
	hpccpp_resume(&s, &p);
	assert_in_range(s.W, 31250 + p.W_ai - 1, 31250 + p.W_ai + 1);

	s.bottleneck = 7;			/* the widest everything */
	s.W_c = ~0U;
	s.U = HPCCPP_U_LIMIT;
	s.L[2].B = 1;
	hpccpp_resume(&s, &p);
	assert_in_range(s.W, p.W_min, p.W_max);
	assert_int_equal(s.U, HPCCPP_U_LIMIT);
}

static void line_20_W_is_bounded(void **state)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s;

	assert_int_equal(wind(&s, &p, 0, 500000, 5, true), 1000000);
	assert_int_equal(s.W_c, 1000000);
	p.W_ai = 0;
	assert_int_equal(wind(&s, &p, HPCCPP_U_LIMIT, 1000, 0, true), 64);
	assert_int_equal(wind(&s, &p, 0, 0, 0, true), 64);	/* W_c 0 */
	/* the widest everything */
	p = (struct hpccpp_params) { .T = 1, .eta = ~0U, .W_ai = ~0U,
				     .W_min = 1, .W_max = HPCCPP_W_LIMIT };
	assert_int_equal(wind(&s, &p, 0, ~0U, 0, true), HPCCPP_W_LIMIT);
	assert_int_equal(wind(&s, &p, HPCCPP_U_LIMIT, ~0U, 0, true),
			 HPCCPP_W_LIMIT);
}

/* Small windows move both ways: no dead zone by rounding, whatever W_ai. */
static void line_20_small_W_moves(void **state)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s;
	__u32 W_c, W_ai;

	for (W_ai = 1; W_ai <= 60; W_ai++)
		for (W_c = 64; W_c < 3000; W_c++) {
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
	/* from the floor itself, with the least W_ai that hpccpp uses */
	p = params_95;
	p.W_ai = 60;
	wind(&s, &p, 4 * ETA_95, 64, 0, true);
	assert_int_equal(s.W, 76);
	wind(&s, &p, ETA_95 / 2, 64, 0, true);
	assert_int_equal(s.W, 124);
}

static void line_21_26_once_per_round_trip(void **state)
{
	struct pair x;
	__u32 W[4];
	int i;

	/*
	 * A round trip of four ACKs over a full link, the same load in each:
	 * line 23 reacts once, line 26 from the same W_c again and again.
	 */
	pair_init(&x, 1, RATE_100G, 10);
	x.port[0].U = 128;
	x.port[0].qlen = 2000;
	pair_first(&x, 200000);
	for (i = 0; i < 4; i++) {
		advance(&x, 0, 156, 487, 2000);
		assert_true(pair_ack(&x, !i));
		assert_pair(&x);
		W[i] = x.s.W;
		assert_int_equal(x.s.W_c, W[0]);
		assert_near(W[i], x.d.W, 1 + x.d.W * (x.d.error + STEP) * 1.1);
	}
	/* not 2^-4 of it: about half of W_c every time */
	assert_in_range(W[0], 90000, 101000);
	assert_in_range(W[3], W[0] * 9 / 20, W[0] * 11 / 20);
}

static void line_22_24_last_update_seq(void **state)
{
	struct draft_link ack = { 0 };
	struct draft d = { .T = 10 * US, .eta = .95, .max_stage = 5, .W_ai = 80,
			   .W_c = 10000, .last_update_seq = 1000 };

	/*
	 * The caller's part of the procedure, here the reference's own: what
	 * it hands to hpccpp_new_ack() as update_wc.
	 */
	draft_new_ack(&d, &ack, 1000, 5000);
	assert_near(d.W_c, 10000, 0);
	assert_int_equal(d.last_update_seq, 1000);
	draft_new_ack(&d, &ack, 1001, 5000);
	assert_near(d.W_c, 10080, 0);
	assert_int_equal(d.last_update_seq, 5000);
}

static void line_27_R_and_L(void **state)
{
	struct pair x;
	int i;

	pair_init(&x, 3, RATE_100G, 10);
	pair_first(&x, 100000);
	for (i = 0; i < 3; i++)
		advance(&x, i, 100 + i, 50 + i, 7 + i);
	assert_true(pair_ack(&x, true));
	for (i = 0; i < 3; i++) {
		struct hpccpp_int rec = stamp(&x.port[i]);
		const struct hpccpp_link *l = hpccpp_find_link(&x.s, 100 + i);

		assert_int_equal(l->id, rec.link);
		assert_int_equal(l->ts, rec.ts);
		assert_int_equal(l->tx_bytes, rec.tx_bytes);
		assert_int_equal(l->qlen, rec.qlen);
		assert_int_equal(l->rate, rec.rate);
		assert_int_equal(l->B, 12500000000ULL);
		assert_int_equal(l->seen, x.now);
	}
	assert_int_equal(hpccpp_rate(125000, 10), 12500000000ULL);
	assert_int_equal(hpccpp_rate(~0U, 1), 4294967295000000ULL);
	assert_int_equal(hpccpp_rate(64, HPCCPP_T_MAX), 16);
}

/* Both run freely for thousands of ACKs: errors must not add up. */
static void lines_01_27_in_lockstep(void **state)
{
	static const __u32 T[] = { 8, 20, 100, 1000 };
	size_t t;
	int n, i;

	for (t = 0; t < ARRAY_SIZE(T); t++) {
		double bound = 0, U = 0;
		__u32 min_tau = ~0U;
		struct pair x;

		pair_init(&x, 3, RATE_100G, T[t]);
		pair_first(&x, 100000);
		for (n = 0; n < 20000; n++) {
			__u32 dts = 1 + rnd_below(T[t] * 30);

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

/* The guards */

struct guard_case {
	struct hpccpp_state s, before;
	struct hpccpp_params p;
	struct port port;
	__u64 now;
};

/* A flow with a baseline, in the middle of its life */
static void guard_init(struct guard_case *c, __u16 rate, __u32 T)
{
	struct hpccpp_int rec;

	memset(c, 0, sizeof(*c));
	c->p = params_95;
	c->p.T = T;
	c->port = (struct port) { .id = 7, .rate = rate, .ts = 1000000,
				  .tx_bytes = 5000000, .qlen = 10, .U = 32 };
	c->now = 1000000000;
	c->s.W_c = 100000;
	rec = stamp(&c->port);
	assert_true(hpccpp_new_ack(&c->s, &c->p, &rec, 1, c->now, true));
	assert_int_equal(c->s.guards[HPCCPP_G_FIRST], 1);
	memset(c->s.guards, 0, sizeof(c->s.guards));
}

static bool guard_ack(struct guard_case *c)
{
	struct hpccpp_int rec = stamp(&c->port);

	c->before = c->s;
	return hpccpp_new_ack(&c->s, &c->p, &rec, 1, c->now, true);
}

/* Guard g counted once, alone; U, W and all else as before but for L[0] */
static void assert_dropped(struct guard_case *c, enum hpccpp_guard g,
			   bool rebased)
{
	c->before.guards[g]++;
	c->before.hit = 1U << g;
	if (rebased) {
		assert_int_equal(c->s.L[0].ts, c->port.ts & HPCCPP_MASK24);
		assert_int_equal(c->s.L[0].seen, c->now);
		assert_int_equal(c->s.L[0].rate, c->port.rate);
		assert_int_equal(c->s.L[0].B,
				 hpccpp_rate_decode(c->port.rate) / 8);
		c->before.L[0] = c->s.L[0];
	}
	assert_memory_equal(&c->before, &c->s, sizeof(c->s));
}

/* Guard g counted once, alone; the port's own U was taken for a whole T */
static void assert_ports_U(struct guard_case *c, enum hpccpp_guard g)
{
	__u32 guards[HPCCPP_G_MAX];

	memcpy(guards, c->before.guards, sizeof(guards));
	guards[g]++;
	assert_memory_equal(guards, c->s.guards, sizeof(guards));
	assert_int_equal(c->s.hit, 1U << g);
	assert_int_equal(c->s.u, (__u32)c->port.U << 14);
	assert_int_equal(c->s.U, (__u32)c->port.U << 14);
	assert_true((__u64)c->s.tau * 16 >= (__u64)c->p.T * 1000);
}

/* The next good record is a difference again, and counts nothing */
static void assert_works_again(struct guard_case *c)
{
	__u32 T16 = c->p.T * 1000ULL / 16;
	__u64 bytes = hpccpp_rate_decode(c->port.rate) / 8 * T16 * 16 / G1;

	c->port.ts += T16;
	c->port.tx_bytes += bytes / 64 / 2;
	c->now += T16 * 16ULL;
	c->port.qlen = 0;
	assert_true(guard_ack(c));
	assert_memory_equal(c->before.guards, c->s.guards,
			    sizeof(c->s.guards));
	assert_int_equal(c->s.hit, 0);
	assert_near(c->s.u * STEP, 0.5, 0.05);
}

static void guard_first(void **state)
{
	struct guard_case c;

	guard_init(&c, RATE_100G, 100);
	c.port.id = 8;
	c.port.U = 64;
	assert_true(guard_ack(&c));
	assert_ports_U(&c, HPCCPP_G_FIRST);
	assert_works_again(&c);
	/* link id 0 is a link like any other, not an unused entry */
	guard_init(&c, RATE_100G, 100);
	c.port.id = 0;
	assert_true(guard_ack(&c));
	assert_ports_U(&c, HPCCPP_G_FIRST);
	assert_works_again(&c);
	/*
	 * where the port's U ends, at 255 / 64, a queue says more when it is
	 * more: 12.5e9 bytes/s are 1250000 bytes in 100 us, of which 62500 (4
	 * MB) of 64 bytes are 3.2; they are 250000 in 20 us
	 */
	guard_init(&c, RATE_100G, 100);
	c.port.id = 8;
	c.port.U = 255;
	c.port.qlen = 62500;
	assert_true(guard_ack(&c));
	assert_ports_U(&c, HPCCPP_G_FIRST);
	guard_init(&c, RATE_100G, 20);
	c.port.id = 8;
	c.port.U = 255;
	c.port.qlen = 65535;
	assert_true(guard_ack(&c));
	assert_near(c.s.u * STEP, 65535 * 64 / 250000.0, 2 * STEP);
	assert_int_equal(c.s.U, c.s.u);
	/* and where it does not it is right: an average, not a moment */
	guard_init(&c, RATE_100G, 20);
	c.port.id = 8;
	c.port.U = 254;
	c.port.qlen = 65535;
	assert_true(guard_ack(&c));
	assert_ports_U(&c, HPCCPP_G_FIRST);
	/* and never more than the largest u */
	guard_init(&c, RATE_100G, 1);
	c.port.id = 8;
	c.port.U = 255;
	c.port.qlen = 65535;
	assert_true(guard_ack(&c));
	assert_int_equal(c.s.u, HPCCPP_U_LIMIT);
	assert_works_again(&c);
}

static void guard_not_new(void **state)
{
	struct guard_case c;

	/* the same record once more, soon and after any time */
	guard_init(&c, RATE_100G, 100);
	c.now += 1000;
	assert_false(guard_ack(&c));
	assert_dropped(&c, HPCCPP_G_NOT_NEW, false);
	c.now += G1;
	assert_false(guard_ack(&c));
	assert_dropped(&c, HPCCPP_G_NOT_NEW, false);
	/* reordered: older by 16 ns, by 50 ms, at once and 100 ms later */
	guard_init(&c, RATE_100G, HPCCPP_T_MAX);
	c.port.ts -= 1;
	assert_false(guard_ack(&c));
	assert_dropped(&c, HPCCPP_G_NOT_NEW, false);
	c.now += 100000000;
	assert_false(guard_ack(&c));
	assert_dropped(&c, HPCCPP_G_NOT_NEW, false);
	c.port.ts += 1 - 50000000 / 16;
	c.now -= 100000000 - 1000;
	assert_false(guard_ack(&c));
	assert_dropped(&c, HPCCPP_G_NOT_NEW, false);

	guard_init(&c, RATE_100G, 100);
	c.port.ts -= 5;
	c.now += 1000;
	assert_false(guard_ack(&c));
	c.port.ts += 5;
	assert_works_again(&c);
}

/* An advance of over half a wrap is an advance when our clock agrees */
static void guard_not_new_is_not_half_a_wrap(void **state)
{
	struct guard_case c;
	__u32 dts;

	for (dts = 1000; dts < HPCCPP_MASK24 - 1000; dts += 99991) {
		guard_init(&c, RATE_10G, 200000);
		c.port.ts += dts;
		c.port.tx_bytes += dts / 8;	/* 8 of 16 * 1.25 / 64 */
		c.now += (__u64)dts * 16 + 50000;
		assert_true(guard_ack(&c));
		assert_memory_equal(c.before.guards, c.s.guards,
				    sizeof(c.s.guards));
		assert_near(c.s.u * STEP, 0.4, 0.005);
	}
}

static void guard_wrap_of_ts(void **state)
{
	struct guard_case c;
	__u64 ms;

	/* T so large that nothing is stale; a wrap is 268.4 ms */
	for (ms = 300; ms < 1500; ms++) {
		guard_init(&c, RATE_10G, HPCCPP_T_MAX);
		c.port.ts += ms * 62500;
		c.port.U = 48;
		c.now += ms * 1000000 + 50000;
		assert_true(guard_ack(&c));
		assert_ports_U(&c, HPCCPP_G_WRAP);
	}
	guard_init(&c, RATE_10G, 100000);
	c.port.ts += 300 * 62500;
	c.now += 300000000;
	assert_true(guard_ack(&c));
	assert_ports_U(&c, HPCCPP_G_WRAP);
	assert_works_again(&c);
}

static void guard_wrap_of_tx_bytes(void **state)
{
	struct guard_case c;
	__u64 ns;

	/* 1 GiB at 400 Gbit/s is 21.5 ms, at 9/8 of it 19.1 ms */
	guard_init(&c, hpccpp_rate_encode(400 * G1), 100000);
	for (ns = 18000000; ns < 50000000; ns += 1000000) {
		guard_init(&c, hpccpp_rate_encode(400 * G1), 100000);
		c.port.ts += ns / 16;
		c.port.tx_bytes += ns * 50 * 9 / 10 / 64;
		c.port.U = 58;
		c.now += ns;
		assert_true(guard_ack(&c));
		if (ns < 19086000)
			assert_near(c.s.u * STEP, 0.9, 0.001);
		else
			assert_ports_U(&c, HPCCPP_G_WRAP);
	}
	/* the port's own time counts, not the ACKs': these were compressed */
	guard_init(&c, hpccpp_rate_encode(400 * G1), 100000);
	c.port.ts += 22000000 / 16;
	c.port.tx_bytes += 22000000 * 50ULL / 64;
	c.now += 10000000;
	assert_true(guard_ack(&c));
	assert_ports_U(&c, HPCCPP_G_WRAP);
}

static void guard_stale(void **state)
{
	struct guard_case c;

	guard_init(&c, RATE_100G, 100);
	c.port.ts += 800000 / 16;
	c.port.tx_bytes += 1000;
	c.now += 800000;
	assert_true(guard_ack(&c));	/* 8 T are not over 8 T */
	assert_memory_equal(c.before.guards, c.s.guards, sizeof(c.s.guards));
	c.port.ts += 800016 / 16;
	c.port.U = 50;
	c.now += 800001;
	assert_true(guard_ack(&c));
	assert_ports_U(&c, HPCCPP_G_STALE);
	assert_works_again(&c);
}

static void guard_rate(void **state)
{
	struct guard_case c;

	/* 100 us of 100 Gbit/s are 1,250,000 B; 9/8 and 128 KiB are allowed */
	guard_init(&c, RATE_100G, 100);
	c.port.ts += 6250;
	c.port.tx_bytes += (1250000 / 8 * 9 + HPCCPP_BURST) / 64;
	c.now += 100000;
	assert_true(guard_ack(&c));
	assert_memory_equal(c.before.guards, c.s.guards, sizeof(c.s.guards));
	c.port.ts += 6250;
	c.port.tx_bytes += (1250000 / 8 * 9 + HPCCPP_BURST) / 64 + 1;
	c.now += 100000;
	assert_false(guard_ack(&c));
	assert_dropped(&c, HPCCPP_G_RATE, true);
	assert_works_again(&c);
	/* counters that went back look the same */
	c.port.tx_bytes -= 100000;
	c.port.ts += 6250;
	c.now += 100000;
	assert_false(guard_ack(&c));
	assert_dropped(&c, HPCCPP_G_RATE, true);
	assert_works_again(&c);
}

static void guard_changed(void **state)
{
	struct guard_case c;

	guard_init(&c, RATE_100G, 100);
	c.port.rate = RATE_10G;
	c.port.ts += 625;
	c.now += 10000;
	assert_false(guard_ack(&c));
	assert_dropped(&c, HPCCPP_G_CHANGED, true);
	assert_works_again(&c);
}

static void guard_range(void **state)
{
	static const struct { __u16 code; bool good; } rates[] = {
		{ CODE(0, 0), false }, { CODE(255, 0), false },
		{ CODE(99, 2), false }, { CODE(100, 2), true },
		{ CODE(40, 11), true }, { CODE(41, 11), false },
		{ CODE(255, 15), false }, { CODE(0, 15), false },
	};
	struct guard_case c;
	size_t i;
	int id;

	for (i = 0; i < ARRAY_SIZE(rates); i++)
		for (id = 7; id < 9; id++) {	/* a known link and a new one */
			guard_init(&c, RATE_100G, 100);
			c.port.ts += 625;
			c.now += 10000;
			c.port.id = id;
			c.port.rate = rates[i].code;
			if (!c.port.rate)	/* with a U it is a bound */
				c.port.U = 0;
			if (rates[i].good) {
				assert_int_equal(guard_ack(&c), id == 8);
				continue;
			}
			assert_false(guard_ack(&c));
			assert_dropped(&c, HPCCPP_G_RANGE, false);
			c.port.id = 7;
			c.port.rate = RATE_100G;
			assert_works_again(&c);
		}
}

/* One bad record among good ones is left out, the others are used. */
/* Ports that wrote nothing say what they are below: U is that, up to eta. */
static void bound_of_quiet_ports(void **state)
{
	static const struct { __u8 bound; __u32 U; } bounds[] = {
		{ 1, HPCCPP_ONE / 64 }, { 52, HPCCPP_ONE / 64 * 52 },
		{ 60, HPCCPP_ONE / 64 * 60 }, { 61, ETA_95 }, { 255, ETA_95 },
	};
	struct hpccpp_int rec = {};
	struct hpccpp_state s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		memset(&s, 0, sizeof(s));
		s.W_c = 10000;
		s.inc_stage = params_95.max_stage;
		s.bottleneck = 9;
		rec.U = bounds[i].bound;
		assert_true(hpccpp_new_ack(&s, &params_95, &rec, 1, 1, true));
		assert_int_equal(s.U, bounds[i].U);
		assert_int_equal(s.W, 10000ULL * ETA_95 / s.U + params_95.W_ai);
		assert_int_equal(s.hit, 0);
		assert_int_equal(s.bottleneck, 9);
		assert_int_equal(s.L[0].seen, 0);
	}
	/* among records of ports, and without a bound, it is out of range */
	rec.U = 0;
	assert_false(hpccpp_new_ack(&s, &params_95, &rec, 1, 1, true));
	assert_int_equal(s.guards[HPCCPP_G_RANGE], 1);
}

static void guard_leaves_other_records(void **state)
{
	struct hpccpp_int rec[3];
	struct pair x;
	int bad, i;

	for (bad = 0; bad < 3; bad++) {
		pair_init(&x, 3, RATE_100G, 10);
		pair_first(&x, 100000);
		for (i = 0; i < 3; i++) {
			advance(&x, i, 625, 1000 + 100 * i, 0);
			rec[i] = stamp(&x.port[i]);
		}
		rec[bad].rate = 0;
		assert_true(hpccpp_new_ack(&x.s, &x.p, rec, 3, x.now, true));
		assert_int_equal(x.s.guards[HPCCPP_G_RANGE], 1);
		assert_int_equal(x.s.bottleneck, bad == 2 ? 101 : 102);
	}
}

static void names_of_guards(void **state)
{
	static const char * const names[] = HPCCPP_GUARD_NAMES;

	assert_int_equal(ARRAY_SIZE(names), HPCCPP_G_MAX);
	assert_string_equal(names[HPCCPP_G_FIRST], "first");
	assert_string_equal(names[HPCCPP_G_RANGE], "range");
}

/* The link cache */

static void cache_of_8_holds_8_links(void **state)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s = { 0 };
	struct port port = { .rate = RATE_100G, .U = 10 };
	__u64 now = 1;
	int n, i;

	for (n = 0; n < 100; n++, now += 1000, port.ts += 63)
		for (i = 0; i < 8; i++) {
			struct hpccpp_int rec;

			port.id = 1000 + i;
			rec = stamp(&port);
			assert_true(hpccpp_new_ack(&s, &p, &rec, 1, now, true));
		}
	assert_int_equal(s.guards[HPCCPP_G_FIRST], 8);
}

static void cache_of_8_with_12_links(void **state)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s = { 0 };
	struct port port = { .rate = RATE_100G, .U = 10 };
	__u32 first;
	__u64 now = 1;
	int n, i, j;

	/* in turn, none is remembered; each still gives the port's U */
	for (n = 0; n < 100; n++)
		for (i = 0; i < 12; i++, now += 1000, port.ts += 63) {
			struct hpccpp_int rec;

			port.id = 1000 + i;
			rec = stamp(&port);
			assert_true(hpccpp_new_ack(&s, &p, &rec, 1, now, true));
			assert_int_equal(s.U, 10 << 14);
			for (j = 0; j < 8 && n; j++)
				assert_in_range(s.L[j].id, 1000, 1011);
		}
	assert_int_equal(s.guards[HPCCPP_G_FIRST], 1200);
	/* two that are used all the time stay, ten others pass by */
	memset(&s, 0, sizeof(s));
	for (n = 0; n < 1000; n++, now += 1000, port.ts += 63) {
		struct hpccpp_int rec[3];

		for (i = 0; i < 3; i++) {
			port.id = i < 2 ? i : 2 + n % 10;
			rec[i] = stamp(&port);
		}
		first = s.guards[HPCCPP_G_FIRST];
		assert_true(hpccpp_new_ack(&s, &p, rec, 3, now, true));
		if (n)
			assert_int_equal(s.guards[HPCCPP_G_FIRST], first + 1);
	}
}

/* A record that is left out takes no entry from a link that is in use. */
static void cache_is_not_spoilt_by_garbage(void **state)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s = { 0 }, before;
	struct port port = { .rate = RATE_100G };
	struct hpccpp_int rec;
	int i;

	for (i = 0; i < 8; i++) {
		port.id = i;
		rec = stamp(&port);
		assert_true(hpccpp_new_ack(&s, &p, &rec, 1, 1 + i, true));
	}
	port.id = 99;
	port.rate = 0;
	rec = stamp(&port);
	before = s;
	assert_false(hpccpp_new_ack(&s, &p, &rec, 1, 10, true));
	assert_memory_equal(before.L, s.L, sizeof(s.L));
}

static void min_B_of_fresh_links(void **state)
{
	struct hpccpp_params p = params_95;	/* T 10 us: stale after 80 */
	struct hpccpp_state s = { 0 };
	struct port slow = { .id = 2, .rate = RATE_10G };
	struct port port = { .id = 1, .rate = RATE_100G };
	const __u32 T_max = HPCCPP_T_MAX;
	const __u64 B = 12500000000ULL;
	struct hpccpp_int rec;
	__u64 now;

	assert_int_equal(hpccpp_min_B(&s, 0, NULL, 0, p.T, 1), 0);
	for (now = 40001; now <= 50001; now += 10000) {
		slow.ts += 600;
		rec = stamp(&slow);
		hpccpp_new_ack(&s, &p, &rec, 1, now, true);
	}
	assert_int_equal(hpccpp_min_B(&s, 0, NULL, 0, p.T, 50001), 1250000000);
	for (now = 120001; now <= 130001; now += 10000) {
		port.ts += 600;
		rec = stamp(&port);
		hpccpp_new_ack(&s, &p, &rec, 1, now, true);
	}
	assert_int_equal(hpccpp_min_B(&s, 0, NULL, 0, p.T, 130001), 1250000000);
	assert_int_equal(hpccpp_min_B(&s, 0, NULL, 0, p.T, 130002), B);
	assert_int_equal(hpccpp_min_B(&s, 0, NULL, 0, p.T, 210002), 0);
	assert_int_equal(hpccpp_min_B(&s, 0, NULL, 0, T_max, 210002), 1250000000);
	/* what is in hand is fresh */
	rec = stamp(&slow);
	assert_int_equal(hpccpp_min_B(&s, B, &rec, 1, p.T, 210002), 1250000000);
	assert_int_equal(hpccpp_min_B(&s, 0, &rec, 1, p.T, 210002), 1250000000);
}

/* Those of a first ACK are all there is; what is out of range never counts. */
static void min_B_of_records(void **state)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s = { 0 };
	struct hpccpp_int rec[3] = {
		{ .link = 1, .rate = hpccpp_rate_encode(25000000000ULL) },
		{ .link = 2, .rate = hpccpp_rate_encode(8) },
		{ .link = 3, .rate = hpccpp_rate_encode(8000000000000ULL) },
	};

	assert_int_equal(hpccpp_min_B(&s, 0, rec, 3, p.T, 1), 3125000000ULL);
	assert_int_equal(hpccpp_min_B(&s, 0, rec + 1, 2, p.T, 1), 0);
	/* a path that is known goes by what is heard of again */
	assert_int_equal(hpccpp_min_B(&s, 5000, rec, 3, p.T, 1), 5000);
	hpccpp_new_ack(&s, &p, rec, 3, 1, true);
	/* the same again is no other one */
	assert_int_equal(hpccpp_min_B(&s, 5000, rec, 1, p.T, 1), 5000);
	rec[0].ts++;
	assert_int_equal(hpccpp_min_B(&s, 12500000000ULL, rec, 1, p.T, 1),
			 3125000000ULL);
	assert_int_equal(hpccpp_min_B(&s, 5000, rec, 1, p.T, 1), 3125000000ULL);
	/* no link, as of a bound: not even that */
	rec[1].rate = 0;
	assert_int_equal(hpccpp_min_B(&s, 5000, rec, 2, p.T, 1), 3125000000ULL);
}

/* One record that lies, of a link of its own or of the path's, is not believed. */
static void min_B_of_a_lie(void **state)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s = { 0 };
	struct port port = { .id = 1, .rate = RATE_100G };
	const __u64 B = 12500000000ULL;
	__u64 now = 1, min_B = B;
	struct hpccpp_int rec;
	int i, lie;

	for (lie = 1; lie <= 2; lie++) {
		for (i = 0; i < 10; i++, now += 1000) {
			port.ts += 62;
			rec = stamp(&port);
			if (i == 5) {
				rec.link = lie;
				rec.rate = hpccpp_rate_encode(HPCCPP_RATE_MIN);
			}
			min_B = hpccpp_min_B(&s, min_B, &rec, 1, p.T, now);
			hpccpp_new_ack(&s, &p, &rec, 1, now, true);
			assert_int_equal(min_B, B);
		}
	}
	/* a second one is */
	rec.link = 2;
	rec.rate = hpccpp_rate_encode(HPCCPP_RATE_MIN);
	assert_int_equal(hpccpp_min_B(&s, B, &rec, 1, p.T, now),
			 HPCCPP_RATE_MIN / 8);
}

/* A link is known by its id and rate, once a record of it was used. */
static void known_by_id_and_rate(void **state)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s = { 0 };
	struct port port = { .id = 1, .rate = RATE_100G };
	struct hpccpp_int rec = stamp(&port);

	assert_int_equal(hpccpp_known_B(&s, &rec), 0);
	hpccpp_new_ack(&s, &p, &rec, 1, 1, true);
	assert_int_equal(hpccpp_known_B(&s, &rec), 0);	/* in two packets */
	rec.ts += 62;
	assert_int_equal(hpccpp_known_B(&s, &rec), 12500000000ULL);
	hpccpp_new_ack(&s, &p, &rec, 1, 1001, true);
	assert_int_equal(hpccpp_known_B(&s, &rec), 12500000000ULL);
	rec.link = 2;
	assert_int_equal(hpccpp_known_B(&s, &rec), 0);
	rec.link = 1;
	rec.rate = hpccpp_rate_encode(10000000000ULL);
	assert_int_equal(hpccpp_known_B(&s, &rec), 0);
}

/* Properties, on random cases */

static void random_params(struct hpccpp_params *p)
{
	p->T = rnd_log(1, HPCCPP_T_MAX);
	p->eta = HPCCPP_ONE / 10 + rnd_below(HPCCPP_ONE * 19ULL / 10 + 1);
	p->max_stage = rnd_below(8);
	p->W_ai = rnd_log(0, HPCCPP_W_LIMIT);
	p->W_min = rnd_log(1, HPCCPP_W_LIMIT);
	p->W_max = p->W_min + rnd_below(HPCCPP_W_LIMIT + 1ULL - p->W_min);
}

static void prop_W_does_not_grow_with_U(void **state)
{
	struct hpccpp_params p;
	struct hpccpp_state s;
	int n;

	for (n = 0; n < 1000000; n++) {
		__u32 W_c = rnd_log(0, HPCCPP_W_LIMIT);
		__u32 U1 = rnd_log(0, HPCCPP_U_LIMIT);
		__u32 U2 = U1 + rnd_below(HPCCPP_U_LIMIT + 1ULL - U1);
		__u32 stage = rnd_below(8);
		__u32 W1, W2;

		random_params(&p);
		if (!(n % 4)) {			/* around eta */
			U1 = p.eta - 1;
			U2 = U1 + rnd_below(3);
		}
		W1 = wind(&s, &p, U1, W_c, stage, true);
		W2 = wind(&s, &p, U2, W_c, stage, true);
		assert_true(W1 >= W2);
		assert_true(W2 >= p.W_min && W1 <= p.W_max);
	}
}

static void prop_W_is_exact_to_a_byte(void **state)
{
	struct hpccpp_params p;
	struct hpccpp_state s;
	int n;

	for (n = 0; n < 1000000; n++) {
		__u32 W_c = rnd_log(0, HPCCPP_W_LIMIT);
		__u32 U = rnd_log(1, HPCCPP_U_LIMIT);
		__u32 stage = rnd_below(8);
		struct draft d = { 0 };
		double W;

		random_params(&p);
		d.eta = p.eta * STEP;
		d.W_ai = p.W_ai;
		d.max_stage = p.max_stage;
		d.W_c = W_c;
		d.inc_stage = stage;
		W = draft_compute_wind(&d, U * STEP, n & 1);
		W = fmax(p.W_min, fmin(p.W_max, W));
		assert_near(wind(&s, &p, U, W_c, stage, n & 1), W, 1.001);
		assert_int_equal(s.inc_stage, d.inc_stage);
	}
}

/* hpccpp_link_u() over its whole range, against 128 bits and the true value */
static void prop_u_never_overflows(void **state)
{
	static const int n_cases = 1000000;
	int n, measured = 0;

	for (n = 0; n < n_cases; n++) {
		unsigned __int128 want, could, bdp, most;
		struct hpccpp_link old = { 0 }, cur = { 0 };
		__u32 T = rnd_log(1, HPCCPP_T_MAX);
		__u32 dts = rnd_log(1, HPCCPP_MASK24);
		__u64 B = rnd_log(HPCCPP_RATE_MIN / 8, HPCCPP_RATE_MAX / 8);
		__u32 dtx = rnd_log(0, HPCCPP_MASK24);
		double rate, queue;
		long u;

		could = (unsigned __int128)B * dts * 16 * 32 / G1;
		bdp = (unsigned __int128)B * T / 1000000;
		most = (could + could / 8) / 32 + HPCCPP_BURST;
		if (n & 1 && (__u64)(most / 64) < dtx)	/* plausible more often */
			dtx = most / 64;
		old.B = B;
		old.rate = 1;
		cur.B = B;
		cur.rate = 1;
		old.ts = rnd() & HPCCPP_MASK24;
		old.tx_bytes = rnd() & HPCCPP_MASK24;
		old.qlen = rnd_log(0, HPCCPP_QLEN_MAX);
		old.seen = 1 + rnd_below(1ULL << 60);
		cur.ts = (old.ts + dts) & HPCCPP_MASK24;
		cur.tx_bytes = (old.tx_bytes + dtx) & HPCCPP_MASK24;
		cur.qlen = rnd_log(0, HPCCPP_QLEN_MAX);
		cur.seen = old.seen + dts * 16ULL;
		u = hpccpp_link_u(&old, &cur, T);
		if (dts * 16ULL > T * 8000ULL) {
			assert_int_equal(u, -HPCCPP_G_STALE);
			continue;
		}
		if (most >= 1 << 30) {
			assert_int_equal(u, -HPCCPP_G_WRAP);
			continue;
		}
		if (dtx * 64ULL > most) {
			assert_int_equal(u, -HPCCPP_G_RATE);
			continue;
		}
		measured++;
		if (cur.qlen > old.qlen)
			cur.qlen = old.qlen;
		want = ((unsigned __int128)cur.qlen << 26) / (bdp ? bdp : 1);
		want += ((unsigned __int128)dtx << 31) / (could ? could : 1);
		if (want > HPCCPP_U_LIMIT)
			want = HPCCPP_U_LIMIT;
		assert_true(u == (long)want);
		if (could && bdp && want < HPCCPP_U_LIMIT) {
			rate = dtx * 64.0 / (B * (dts * TICK));
			queue = cur.qlen * 64.0 / (B * (T * US));
			assert_near(u * STEP, rate + queue,
				    2 * STEP + rate / (double)could +
				    queue / (double)bdp + EPSILON);
		}
	}
	assert_true(measured > n_cases / 8);
}

static void prop_ewma_rounds_to_nearest(void **state)
{
	int n;

	for (n = 0; n < 1000000; n++) {
		long double a;
		__u32 U = rnd_log(0, HPCCPP_U_LIMIT);
		__u32 u = rnd_log(0, HPCCPP_U_LIMIT);
		__u32 T = rnd_log(1, HPCCPP_T_MAX);
		__u32 tau = rnd_log(0, T * 125ULL);	/* up to 2 T */
		__u32 got = hpccpp_ewma(U, u, tau, T);

		a = fminl(1, tau * 16.0L / (T * 1000.0L));
		assert_true(fabsl(got - ((1 - a) * U + a * u)) <= 0.5001L);
		assert_true(got <= (U > u ? U : u));
		assert_true(got >= (U < u ? U : u));
	}
}

/* Counters that wrap anywhere give what counters from 0 give. */
static void prop_wraps_do_not_show(void **state)
{
	int n, i, k;

	for (n = 0; n < 50000; n++) {
		struct hpccpp_state a = { 0 }, b = { 0 };
		struct port pa[3] = { 0 }, pb[3];
		struct hpccpp_params p;
		__u64 now = 1;

		random_params(&p);
		for (i = 0; i < 3; i++) {
			pa[i].id = i;
			pa[i].rate = RATE_100G;
			pb[i] = pa[i];
			/* wraps some time in the next few records */
			pb[i].ts = HPCCPP_MASK24 - rnd_log(0, 200000);
			pb[i].tx_bytes = HPCCPP_MASK24 - rnd_log(0, 200000);
		}
		for (k = 0; k < 8; k++) {
			struct hpccpp_int ra[3], rb[3];
			__u32 dts = rnd_log(1, 100000);

			now += 16ULL * dts;
			for (i = 0; i < 3; i++) {
				__u32 tx = rnd_below(dts * 25ULL / 8 + 1);

				pa[i].ts += dts;
				pb[i].ts += dts;
				pa[i].tx_bytes += tx;
				pb[i].tx_bytes += tx;
				pa[i].U = rnd();
				pb[i].U = pa[i].U;
				pa[i].qlen = rnd_log(0, HPCCPP_QLEN_MAX);
				pb[i].qlen = pa[i].qlen;
				ra[i] = stamp(&pa[i]);
				rb[i] = stamp(&pb[i]);
			}
			hpccpp_new_ack(&a, &p, ra, 3, now, k & 1);
			hpccpp_new_ack(&b, &p, rb, 3, now, k & 1);
			assert_int_equal(a.U, b.U);
			assert_int_equal(a.W, b.W);
		}
		assert_memory_equal(a.guards, b.guards, sizeof(a.guards));
	}
}

/* Records in any order give the same, unless two links are equally full. */
static void prop_order_does_not_matter(void **state)
{
	int n, i, k, ties = 0;

	for (n = 0; n < 50000; n++) {
		struct hpccpp_state a = { 0 }, b = { 0 };
		struct port port[3] = { 0 };
		struct hpccpp_params p;
		__u64 now = 1;

		random_params(&p);
		p.T = rnd_log(8, 4000);
		for (k = 0; k < 8; k++) {
			static const int order[6][3] = {
				{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
				{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
			const int *o = order[rnd_below(6)];
			struct hpccpp_int ra[3], rb[3];
			__u32 dts = rnd_log(1, 20000);

			now += 16ULL * dts;
			for (i = 0; i < 3; i++) {
				port[i].id = i;
				port[i].rate = RATE_100G;
				port[i].ts += 1 + rnd_below(2 * dts);
				port[i].tx_bytes += rnd_below(dts * 4ULL);
				port[i].U = rnd();
				port[i].qlen = rnd_log(0, 2000);
				ra[i] = stamp(&port[i]);
			}
			for (i = 0; i < 3; i++)
				rb[i] = ra[o[i]];
			hpccpp_new_ack(&a, &p, ra, 3, now, true);
			hpccpp_new_ack(&b, &p, rb, 3, now, true);
			assert_int_equal(a.u, b.u);
			if (a.bottleneck != b.bottleneck) {
				ties++;		/* tau may differ: stop */
				break;
			}
			assert_int_equal(a.U, b.U);
			assert_int_equal(a.W, b.W);
		}
	}
	assert_true(ties < 50000 / 4);
}

static void prop_garbage_stays_in_bounds(void **state)
{
	struct hpccpp_params p = { 0 };
	struct hpccpp_state s = { 0 };
	__u64 now = 1;
	__u64 used = 0;
	int n, i;

	for (n = 0; n < 1000000; n++) {
		struct hpccpp_int rec[3];
		__u32 guards[HPCCPP_G_MAX];
		int count = rnd_below(4);
		__u32 more = 0;

		if (!(n % 64))
			random_params(&p);
		if (!(n % 4096))
			memset(&s, 0, sizeof(s));
		for (i = 0; i < count; i++) {
			__u64 r = rnd();

			hpccpp_int_decode(&rec[i], r, r >> 32, rnd());
			rec[i].link %= 12;
			if (r >> 63)		/* decent rates, now and then */
				rec[i].rate = RATE_100G;
			if (r >> 62 & 1)
				rec[i].ts = now / 16 & HPCCPP_MASK24;
		}
		now += rnd_log(0, 300000000);
		if (!(n % 1000))
			now = 1 + rnd();	/* even a clock gone mad */
		now += !now;
		memcpy(guards, s.guards, sizeof(guards));
		if (hpccpp_new_ack(&s, &p, rec, count, now, n & 1)) {
			used++;
			assert_in_range(s.W, p.W_min, p.W_max);
			assert_true(s.u <= HPCCPP_U_LIMIT);
		}
		assert_true(s.U <= HPCCPP_U_LIMIT);
		for (i = 0; i < HPCCPP_G_MAX; i++)
			more += s.guards[i] - guards[i];
		assert_true(more <= (__u32)count);
		assert_true(hpccpp_min_B(&s, 0, NULL, 0, p.T, now) <= HPCCPP_RATE_MAX / 8);
		assert_true(hpccpp_rate(s.W, p.T) <=
			    (__u64)HPCCPP_W_LIMIT * 1000000);
	}
	assert_true(used > 100000);
}

/* The wire */

static void wire_rate_of_every_code(void **state)
{
	int code;

	for (code = 0; code <= 0xfff; code++) {
		__u64 bps = hpccpp_rate_decode(code);
		__u16 back = hpccpp_rate_encode(bps);

		assert_true(back <= 0xfff);
		assert_int_equal(hpccpp_rate_decode(back), bps);
		assert_int_equal(!back, !bps);
	}
	assert_int_equal(hpccpp_rate_decode(CODE(25, 3)), 25000);
	assert_int_equal(hpccpp_rate_decode(0xfff), 255000000000000000ULL);
	assert_int_equal(hpccpp_rate_encode(0), 0);
	assert_int_equal(hpccpp_rate_encode(~0ULL), 0xfff);
	assert_int_equal(hpccpp_rate_encode(255000000000000001ULL), 0xfff);
}

static __u64 recoded(__u64 bps)
{
	return hpccpp_rate_decode(hpccpp_rate_encode(bps));
}

static void wire_rate_of_ports_is_exact(void **state)
{
	static const __u32 mbit[] = {
		1, 2, 5, 10, 20, 25, 50, 100, 150, 155, 200, 250, 500, 1000,
		2500, 5000, 10000, 20000, 25000, 40000, 50000, 56000, 80000,
		100000, 200000, 240000, 400000, 800000, 1600000, 3200000,
	};
	__u64 bps, pow;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mbit); i++) {
		bps = mbit[i] * 1000000ULL;
		assert_int_equal(recoded(bps), bps);
	}
	for (pow = 1; pow <= 1000000000000ULL; pow *= 10)
		for (bps = pow; bps <= 255 * pow; bps += pow)
			assert_int_equal(recoded(bps), bps);
}

static void wire_rate_error(void **state)
{
	double worst = 0;
	__u64 bps;
	int n;

	for (n = 0; n < 1000000; n++) {
		bps = rnd_log(1, 255000000000000000ULL);
		if (n < 100000)
			bps = n + 1;
		worst = fmax(worst, fabs((double)recoded(bps) - bps) / bps);
	}
	assert_true(worst <= 0.5 / 26);
	assert_true(worst > 0.018);	/* so is the statement a tight one */
}

/* The tie rule compares codes: they must order as the rates do. */
static void wire_rate_codes_are_ordered(void **state)
{
	int n;

	for (n = 0; n < 1000000; n++) {
		__u64 a = rnd_log(1, 255000000000000000ULL);
		__u64 b = n & 1 ? a + 1 : rnd_log(1, a);

		if (a < b)
			assert_true(hpccpp_rate_encode(a) <=
				    hpccpp_rate_encode(b));
		else
			assert_true(hpccpp_rate_encode(a) >=
				    hpccpp_rate_encode(b));
	}
}

static void wire_record_round_trip(void **state)
{
	int n;

	for (n = 0; n < 1000000; n++) {
		__u32 w0 = rnd(), w1 = rnd(), w2 = rnd();
		struct hpccpp_int r;

		hpccpp_int_decode(&r, w0, w1, w2);
		assert_true(r.link <= HPCCPP_LINK_MAX && r.rate <= 0xfff);
		assert_true(r.ts <= HPCCPP_MASK24);
		assert_true(r.tx_bytes <= HPCCPP_MASK24);
		assert_int_equal(hpccpp_int_w0(&r), w0);
		assert_int_equal(hpccpp_int_w1(&r), w1);
		assert_int_equal(hpccpp_int_w2(&r), w2);
	}
}

static void wire_record_layout(void **state)
{
	struct hpccpp_int r = { .link = 0xabc, .rate = 0x1a2, .U = 0x9d,
				.ts = 0x123456, .tx_bytes = 0x789abc,
				.qlen = 0xdef0 };

	assert_int_equal(hpccpp_int_w0(&r), 0xabc1a29d);
	assert_int_equal(hpccpp_int_w1(&r), 0x123456de);
	assert_int_equal(hpccpp_int_w2(&r), 0x789abcf0);
	assert_int_equal(HPCCPP_OPT_LEN(1), 16);
	assert_int_equal(HPCCPP_OPT_LEN(2), 28);
	assert_int_equal(HPCCPP_OPT_LEN(HPCCPP_REC_MAX), 40);
}

/*
 * A closed loop: one link, n flows that obey W, each step an ACK for each of
 * them with the record of one T ago. A fluid, so without packets' noise.
 */
#define MODEL_FLOWS	16
#define MODEL_STEPS	32	/* in T */

struct model {
	int flows;
	__u64 B;		/* bytes/s */
	double q, tx;		/* bytes */
	__u64 step;
	struct hpccpp_params p;
	struct hpccpp_state s[MODEL_FLOWS];
	__u64 next[MODEL_FLOWS];	/* step that ends the round trip */
	struct hpccpp_int past[MODEL_STEPS];
};

static void model_set_W(struct model *m, int i, __u32 W)
{
	m->s[i].W = W;
	m->s[i].W_c = W;
}

static void model_init(struct model *m, int flows, __u64 bps, __u32 T,
		       __u32 W_ai)
{
	__u32 W_init = hpccpp_bdp(bps / 8, T);
	int i;

	memset(m, 0, sizeof(*m));
	m->flows = flows;
	m->B = bps / 8;
	m->p = (struct hpccpp_params) {
		.T = T, .eta = ETA_95, .max_stage = 5, .W_ai = W_ai,
		.W_min = 64, .W_max = W_init,
	};
	for (i = 0; i < flows; i++)
		model_set_W(m, i, W_init);	/* line rate, all at once */
}

static void model_step(struct model *m)
{
	double dt = m->p.T * US / MODEL_STEPS;
	struct hpccpp_int *rec = &m->past[m->step % MODEL_STEPS];
	double rtt = m->p.T * US + m->q / m->B;
	double in = m->q, out = m->B * dt;
	__u64 now = 1 + (__u64)(m->step * dt * 1e9);
	int i;

	for (i = 0; i < m->flows; i++) {
		if (m->step >= MODEL_STEPS)
			if (hpccpp_new_ack(&m->s[i], &m->p, rec, 1, now,
					   m->step >= m->next[i]) &&
			    m->step >= m->next[i])
				m->next[i] = m->step + rtt / dt;
		in += m->s[i].W / rtt * dt;
	}
	out = fmin(in, out);
	m->q = in - out;
	m->tx += out;
	*rec = (struct hpccpp_int) {
		.link = 1,
		.rate = hpccpp_rate_encode(m->B * 8),
		.ts = (now >> HPCCPP_TS_SHIFT) & HPCCPP_MASK24,
		.tx_bytes = (__u64)(m->tx / 64) & HPCCPP_MASK24,
		.qlen = fmin(m->q / 64, HPCCPP_QLEN_MAX),
		.U = fmin(255, 64 * (m->q / (m->B * m->p.T * US) +
				     out / (m->B * dt))),
	};
	m->step++;
}

static void model_run(struct model *m, int round_trips)
{
	int i;

	for (i = 0; i < round_trips * MODEL_STEPS; i++)
		model_step(m);
}

static double model_jain(const struct model *m)
{
	double sum = 0, squares = 0;
	int i;

	for (i = 0; i < m->flows; i++) {
		sum += m->s[i].W;
		squares += (double)m->s[i].W * m->s[i].W;
	}
	return sum * sum / (m->flows * squares);
}

/* Section 5: near eta, next to no queue, within a few round trips */
static void model_incast_settles(void **state)
{
	static const struct { int flows; __u64 gbit; __u32 T; } cases[] = {
		{ 1, 10, 20 }, { 1, 100, 8 }, { 2, 100, 8 }, { 4, 10, 50 },
		{ 16, 100, 20 }, { 16, 400, 8 }, { 16, 25, 100 },
	};
	struct model m;
	size_t c;
	int i;

	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		double bdp = cases[c].gbit * 125.0 * cases[c].T;
		double U, tx, queue = 0;

		model_init(&m, cases[c].flows, cases[c].gbit * G1, cases[c].T,
			   60);
		model_run(&m, 40);
		if (m.q > 0.05 * bdp)
			fail_msg("case %zu: queue %g of %g", c, m.q, bdp);
		model_run(&m, 400);
		tx = m.tx;
		for (i = 0; i < 100 * MODEL_STEPS; i++) {
			model_step(&m);
			queue = fmax(queue, m.q);
		}
		/* the equilibrium of lines 12-17: N W_ai above eta, in W */
		U = 0.95 + cases[c].flows * 60 / bdp;
		assert_near(m.s[0].U * STEP, U, 0.03);
		assert_near((m.tx - tx) / (100 * bdp), U, 0.03);
		assert_true(queue <= 64 + 0.01 * bdp);
	}
}

static void model_two_flows_share_fairly(void **state)
{
	struct model m;

	model_init(&m, 2, 100 * G1, 8, 500);
	model_set_W(&m, 0, 90000);
	model_set_W(&m, 1, 5000);
	assert_true(model_jain(&m) < 0.6);
	model_run(&m, 2000);
	if (model_jain(&m) < 0.99)
		fail_msg("Jain %g: %u %u", model_jain(&m), m.s[0].W, m.s[1].W);
	assert_near(m.s[0].U * STEP, 0.95, 0.03);
	assert_true(m.q < 1000);
}

static void model_room_is_taken(void **state)
{
	struct model m;
	double tx;

	/* from a hundredth of the link up: lines 12-13 after five stages */
	model_init(&m, 1, 100 * G1, 8, 60);
	model_set_W(&m, 0, 1000);
	model_run(&m, 20);
	tx = m.tx;
	model_run(&m, 10);
	assert_true((m.tx - tx) / (10 * 100000.0) > 0.9);
}

/* --- DCQCN --- */

static void dcqcn_one_reaction_in_a_timer_of_the_longest_T(void **state)
{
	struct hpccpp_dcqcn_params p;
	struct hpccpp_dcqcn s;
	__u64 timer = HPCCPP_T_MAX * 1000ULL / 50 * 55;

	(void)state;
	hpccpp_dcqcn_defaults(&p, 25000000, HPCCPP_T_MAX);
	hpccpp_dcqcn_start(&s, p.line);
	assert_true(hpccpp_dcqcn_cnp(&s, &p, p.line, 1));
	assert_int_equal(s.R_C, p.line / 2);
	assert_false(hpccpp_dcqcn_cnp(&s, &p, p.line, timer));
	assert_int_equal(s.R_C, p.line / 2);
	assert_true(hpccpp_dcqcn_cnp(&s, &p, p.line, 1 + timer));
}

/* --- ICRC --- */

static __u32 crc32(const __u8 *p, __u32 n)
{
	__u32 crc = ~0U, i;

	for (i = 0; i < 8 * n; i++) {
		crc ^= p[i / 8] >> i % 8 & 1;
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static void icrc_change(__u32 before, __u32 len)
{
	static __u8 data[1 << 17];
	__u32 i, crc;
	__u16 bits;

	for (i = 0; i < before + len; i++)
		data[i] = rnd();
	crc = crc32(data, before + len);
	bits = rnd();
	for (i = 0; i < sizeof(bits); i++)
		data[before + i] ^= ((__u8 *)&bits)[i];
	crc ^= crc32(data, before + len);
	assert_int_equal(hpccpp_icrc_change(bits, len), HPCCPP_LE32(crc));
}

static void icrc_changes_as_a_crc_of_all(void **state)
{
	__u32 len;

	assert_int_equal(crc32((const __u8 *)"123456789", 9), 0xcbf43926);
	for (len = 2; len < 300; len++)
		icrc_change(rnd_below(100), len);
	for (len = 512; len < 65536; len *= 2) {
		icrc_change(0, len - 1);
		icrc_change(48, len);
		icrc_change(1, len + rnd_below(len));
	}
	icrc_change(48, 65535);
	assert_int_equal(hpccpp_icrc_change(0, 1024), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_02_u_starts_at_0),
		cmocka_unit_test(line_03_every_link),
		cmocka_unit_test(line_04_tx_rate),
		cmocka_unit_test(line_05_min_qlen),
		cmocka_unit_test(line_06_max_over_links),
		cmocka_unit_test(line_07_tau_of_that_link),
		cmocka_unit_test(line_08_tau_at_most_T),
		cmocka_unit_test(line_09_ewma),
		cmocka_unit_test(line_09_ewma_does_not_lock_away),
		cmocka_unit_test(line_10_nothing_usable_returns_false),
		cmocka_unit_test(line_12_U_at_eta),
		cmocka_unit_test(line_12_inc_stage_at_max_stage),
		cmocka_unit_test(line_13_multiplicative),
		cmocka_unit_test(line_14_15_reference_follows),
		cmocka_unit_test(line_16_17_additive),
		cmocka_unit_test(line_18_19_reference_follows),
		cmocka_unit_test(line_20_W_is_bounded),
		cmocka_unit_test(resume_counts_its_own_load),
		cmocka_unit_test(line_20_small_W_moves),
		cmocka_unit_test(line_21_26_once_per_round_trip),
		cmocka_unit_test(line_22_24_last_update_seq),
		cmocka_unit_test(line_27_R_and_L),
		cmocka_unit_test(lines_01_27_in_lockstep),
		cmocka_unit_test(guard_first),
		cmocka_unit_test(guard_not_new),
		cmocka_unit_test(guard_not_new_is_not_half_a_wrap),
		cmocka_unit_test(guard_wrap_of_ts),
		cmocka_unit_test(guard_wrap_of_tx_bytes),
		cmocka_unit_test(guard_stale),
		cmocka_unit_test(guard_rate),
		cmocka_unit_test(guard_changed),
		cmocka_unit_test(guard_range),
		cmocka_unit_test(guard_leaves_other_records),
		cmocka_unit_test(bound_of_quiet_ports),
		cmocka_unit_test(names_of_guards),
		cmocka_unit_test(cache_of_8_holds_8_links),
		cmocka_unit_test(cache_of_8_with_12_links),
		cmocka_unit_test(cache_is_not_spoilt_by_garbage),
		cmocka_unit_test(min_B_of_fresh_links),
		cmocka_unit_test(min_B_of_records),
		cmocka_unit_test(min_B_of_a_lie),
		cmocka_unit_test(known_by_id_and_rate),
		cmocka_unit_test(prop_W_does_not_grow_with_U),
		cmocka_unit_test(prop_W_is_exact_to_a_byte),
		cmocka_unit_test(prop_u_never_overflows),
		cmocka_unit_test(prop_ewma_rounds_to_nearest),
		cmocka_unit_test(prop_wraps_do_not_show),
		cmocka_unit_test(prop_order_does_not_matter),
		cmocka_unit_test(prop_garbage_stays_in_bounds),
		cmocka_unit_test(wire_rate_of_every_code),
		cmocka_unit_test(wire_rate_of_ports_is_exact),
		cmocka_unit_test(wire_rate_error),
		cmocka_unit_test(wire_rate_codes_are_ordered),
		cmocka_unit_test(wire_record_round_trip),
		cmocka_unit_test(wire_record_layout),
		cmocka_unit_test(model_incast_settles),
		cmocka_unit_test(model_two_flows_share_fairly),
		cmocka_unit_test(model_room_is_taken),
		cmocka_unit_test(dcqcn_one_reaction_in_a_timer_of_the_longest_T),
		cmocka_unit_test(icrc_changes_as_a_crc_of_all),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
