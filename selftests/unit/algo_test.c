// SPDX-License-Identifier: GPL-2.0
/*
 * Unit and property tests of kmod/hpccpp_algo.h and tools/bpf/hpccpp_wire.h, the
 * very headers that the module and the agents are compiled from.
 *
 * The reference is the draft's lines 1-27 transcribed once more, in double
 * precision and in seconds and bytes, sharing no line with the fixed point.
 * So is the averaged law, which takes the place of lines 11-20.
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
 * W_c		averaged: rounded to nearest within T, down after a longer gap.
 * gap		longer than T: rounded down to 1 us, which moves the mean of W_p
 *		and W by less than their difference / T, and makes the queue term
 *		of a slow flow too large by less than its part in tau, in us.
 */
#include "algo_test.h"

/* xorshift64*, so that every run tests the same cases */
static __u64 prng = 0x9e3779b97f4a7c15ULL;

__u64 rnd(void)
{
	prng ^= prng >> 12;
	prng ^= prng << 25;
	prng ^= prng >> 27;
	return prng * 0x2545f4914f6cdd1dULL;
}

/* 0..n-1 */
__u64 rnd_below(__u64 n)
{
	return (rnd() >> 1) % n;
}

/* lo..hi, each power of two as likely: small numbers are where bugs live */
__u64 rnd_log(__u64 lo, __u64 hi)
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

void assert_near(double got, double want, double bound)
{
	if (fabs(got - want) > bound)
		fail_msg("%.9g is not within %.3g of %.9g", got, bound, want);
}

/* What the fixed point may err by in one u: see the top */
static double u_bound(double rate, double queue, double B, double dts, double drain)
{
	return 2 * STEP + rate / floor(32 * B * dts + EPSILON) +
	       queue / floor(B * drain + EPSILON) + EPSILON;
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
		/* not the draft's: a flow of less than two packets in T */
		bool slow = d->W < 2 * d->packet && dts > d->T;
		double drain = slow ? dts : d->T;
		double queue = fmin(ack[i].qlen, d->L[i].qlen) /
			       (ack[i].B * drain);
		double u_ = queue + tx_rate / ack[i].B;		/* 5 */

		if (u_ > u) {					/* 6 */
			u = u_;					/* 7 */
			tau = dts;
		}
		d->error = fmax(d->error, u_bound(tx_rate / ack[i].B, queue,
						  ack[i].B, dts, drain));
		if (slow)
			d->error += queue * 1.01 * US / dts;
	}
	d->u = u;
	d->tau = tau;
	tau = fmin(tau, d->T);					/* 8 */
	d->U = (1 - tau / d->T) * d->U + tau / d->T * u;	/* 9 */
	return d->U;						/* 10 */
}

double draft_compute_wind(struct draft *d, double U,		/* 11 */
			  bool round_ends)
{
	double W;

	if (U >= d->eta || d->inc_stage >= 5) {		/* 12 */
		W = d->W_c / (U / d->eta) + d->W_ai;		/* 13 */
		if (round_ends) {				/* 14 */
			d->inc_stage = 0;			/* 15 */
			d->W_c = W;
		}
	} else {						/* 16 */
		W = d->W_c + d->W_ai;				/* 17 */
		if (round_ends) {				/* 18 */
			d->inc_stage++;				/* 19 */
			d->W_c = W;
		}
	}
	return W;						/* 20 */
}

/* W_c becomes the mean window of the packets that U describes */
static void averaged_measure(struct averaged *a, double tau)
{
	double part = fmin(tau, a->T) / a->T;

	if (tau > a->T && a->W >= 2 * a->packet)
		a->W_c = (a->W_p * a->T + a->W * (tau - a->T)) / tau;
	else
		a->W_c += part * (a->W_p - a->W_c);
}

void averaged_compute_wind(struct averaged *a, double U, bool round_ends)
{
	double before = a->W;

	a->W = a->W_c;
	if (U >= a->eta || a->rounds >= 2)
		a->W *= a->eta / U;
	a->W = fmax(a->W_min, fmin(a->W_max, a->W + a->W_ai));
	if (!round_ends)
		return;
	if (a->rounds < 2)
		a->rounds++;
	a->W_p = (a->W_n + before) / 2;
	a->W_n = a->W;
}

/* round_ends is what lines 22, 24 and 25 come to, which are the caller's. */
static void draft_new_ack(struct draft *d, const struct draft_link *ack, /* 21 */
			  bool round_ends)
{
	d->W = draft_compute_wind(d, draft_measure_inflight(d, ack),
				  round_ends);			/* 23, 26 */
	d->R = d->W / d->T;					/* 27 */
	memcpy(d->L, ack, d->links * sizeof(*ack));
}

struct hpccpp_int stamp(const struct port *p)
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

void pair_init(struct pair *x, int links, __u16 rate, __u32 T)
{
	int i;

	memset(x, 0, sizeof(*x));
	x->p = (struct hpccpp_params) {
		.T = T, .eta = ETA_95, .law = HPCCPP_LAW_DRAFT, .packet = 1538, .W_ai = 80,
		.W_min = 1, .W_max = HPCCPP_W_LIMIT,
	};
	x->d.T = T * US;
	x->d.eta = ETA_95 * STEP;
	x->d.packet = 1538;
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

/* The averaged law from the state before and the very u and U that the fixed point has */
static void pair_averaged(struct pair *x, const struct hpccpp_state *before, bool round_ends)
{
	struct averaged a = {
		.T = x->p.T * US, .eta = x->p.eta * STEP, .packet = x->p.packet,
		.W_ai = x->p.W_ai, .W_min = x->p.W_min, .W_max = x->p.W_max,
		.W = before->W, .W_c = before->W_c, .W_p = before->W_p, .W_n = before->W_n,
		.rounds = before->inc_stage,
	};

	averaged_measure(&a, x->s.tau * TICK);
	assert_near(x->s.W_c, a.W_c, 1.001 + fabs(a.W_p - a.W) / x->p.T);
	a.W_c = x->s.W_c;
	averaged_compute_wind(&a, x->s.U * STEP, round_ends);
	assert_near(x->s.W, a.W, 1.001);
	assert_near(x->s.W_p, a.W_p, 0.5);
	assert_int_equal(x->s.W_n, round_ends ? x->s.W : before->W_n);
	assert_int_equal(x->s.inc_stage, a.rounds);
}

/* Hand both the records as they are; the reference starts from our state. */
bool pair_ack(struct pair *x, bool round_ends)
{
	const struct hpccpp_state before = x->s;
	struct draft_link ack[3];
	struct hpccpp_int rec[3];
	struct draft same;
	double W;
	int i;

	x->d.U = x->s.U * STEP;
	x->d.W = x->s.W;
	x->d.W_c = x->s.W_c;
	x->d.inc_stage = x->s.inc_stage;
	for (i = 0; i < x->d.links; i++) {
		ack[i] = draft_stamp(&x->port[i]);
		rec[i] = stamp(&x->port[i]);
	}
	same = x->d;
	draft_new_ack(&x->d, ack, round_ends);
	if (!new_ack(&x->s, &x->p, rec, x->d.links, x->now, round_ends))
		return false;
	if (x->p.law == HPCCPP_LAW_AVERAGED) {
		pair_averaged(x, &before, round_ends);
		return true;
	}
	/* lines 11-20 from the very U that the fixed point has */
	W = draft_compute_wind(&same, x->s.U * STEP, round_ends);
	assert_near(x->s.W, fmax(x->p.W_min, fmin(x->p.W_max, W)), 1.001);
	assert_int_equal(x->s.inc_stage, same.inc_stage);
	assert_int_equal(x->s.W_c, round_ends ? x->s.W : same.W_c);
	return true;
}

/* First records: they leave the port's U as U, and a baseline. */
void pair_first(struct pair *x, __u32 W_c)
{
	pair_ack(x, false);
	hpccpp_begin_with(&x->s, W_c);
	x->s.inc_stage = 0;
}

void advance(struct pair *x, int i, __u32 dts, __u32 tx, __u16 qlen)
{
	x->port[i].ts += dts;
	x->port[i].tx_bytes += tx;
	x->port[i].qlen = qlen;
	if (!i)
		x->now += (__u64)dts << HPCCPP_TS_SHIFT;
}

/* u and U against the reference, within the stated bounds */
void assert_pair(const struct pair *x)
{
	assert_near(x->s.u * STEP, x->d.u, x->d.error);
	assert_near(x->s.U * STEP, x->d.U, x->d.error + STEP / 2);
}

/* W from a given U, W_c and stage; the flow is in s afterwards */
__u32 wind(struct hpccpp_state *s, const struct hpccpp_params *p,
	   __u32 U, __u32 W_c, __u32 stage, bool round_ends)
{
	memset(s, 0, sizeof(*s));
	s->U = U;
	s->W_c = W_c;
	s->inc_stage = stage;
	hpccpp_compute_wind(s, p, round_ends);
	return s->W;
}

const struct hpccpp_params params_95 = {
	.T = 10, .eta = ETA_95, .law = HPCCPP_LAW_DRAFT, .packet = 1538, .W_ai = 80,
	.W_min = 64, .W_max = 1000000,
};

TEST_MAIN("algo", NULL, NULL)
