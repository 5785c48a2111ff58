// SPDX-License-Identifier: GPL-2.0
/* Properties that hold for all inputs, on random ones; and a closed loop of flows. */
#include "algo_test.h"

static void random_params(struct hpccpp_params *p)
{
	p->T = rnd_log(1, HPCCPP_T_MAX);
	p->eta = HPCCPP_ONE / 100 + rnd_below(HPCCPP_ONE * 99ULL / 100 + 1);
	p->law = rnd_below(HPCCPP_LAWS);
	p->packet = rnd_log(1, 65535);
	p->W_ai = rnd_log(0, HPCCPP_W_LIMIT);
	p->W_min = rnd_log(1, HPCCPP_W_LIMIT);
	p->W_max = p->W_min + rnd_below(HPCCPP_W_LIMIT + 1ULL - p->W_min);
	p->share = rnd_below(2);
}

TEST(prop_W_does_not_grow_with_U)
{
	struct hpccpp_params p;
	int n;

	for (n = 0; n < 1000000; n++) {
		struct hpccpp_state a = {
			.U = rnd_log(0, HPCCPP_U_LIMIT), .W_c = rnd_log(0, HPCCPP_W_LIMIT),
			.W_f = n & 1 ? rnd_log(0, HPCCPP_W_LIMIT) : 0, .inc_stage = rnd_below(8),
			.backoff = rnd_below(HPCCPP_BACKOFF_MAX + 1),
		};
		struct hpccpp_state b = a;

		random_params(&p);
		b.U = a.U + rnd_below(HPCCPP_U_LIMIT + 1ULL - a.U);
		if (!(n % 4)) {			/* around eta */
			a.U = p.eta - 1;
			b.U = a.U + rnd_below(3);
		}
		hpccpp_compute_wind(&a, &p, true);
		hpccpp_compute_wind(&b, &p, true);
		assert_true(a.W >= b.W);
		assert_true(b.W >= p.W_min && a.W <= p.W_max);
	}
}

TEST(prop_W_is_exact_to_a_byte)
{
	struct hpccpp_params p;
	struct hpccpp_state s;
	int n;

	for (n = 0; n < 1000000; n++) {
		__u32 W_c = rnd_log(0, HPCCPP_W_LIMIT);
		__u32 U = rnd_log(1, HPCCPP_U_LIMIT);
		__u32 stage = rnd_below(8);
		struct averaged a = { 0 };
		struct draft d = { 0 };
		double W;

		random_params(&p);
		if (!(n % 4))			/* around eta */
			U = p.eta - 1 + rnd_below(3);
		d.eta = p.eta * STEP;
		d.W_ai = p.W_ai;
		d.W_c = W_c;
		d.inc_stage = stage;
		W = draft_compute_wind(&d, U * STEP, n & 1);
		W = fmax(p.W_min, fmin(p.W_max, W));
		a = (struct averaged) {
			.eta = d.eta, .W_ai = p.W_ai, .W_min = p.W_min, .W_max = p.W_max,
			.W_c = W_c, .rounds = stage,
		};
		averaged_compute_wind(&a, U * STEP, n & 1);
		if (p.law == HPCCPP_LAW_AVERAGED)
			W = a.W;
		assert_near(wind(&s, &p, U, W_c, stage, n & 1), W, 1.001);
		if (p.law == HPCCPP_LAW_AVERAGED) {
			assert_int_equal(s.inc_stage, a.rounds);
			assert_int_equal(s.W_c, W_c);
			assert_int_equal(s.W_n, n & 1 ? s.W : 0);
		} else {
			assert_int_equal(s.inc_stage, d.inc_stage);
			assert_int_equal(s.W_c, n & 1 ? s.W : W_c);
		}
	}
}

/* hpccpp_link_u() over its whole range, against 128 bits and the true value */
TEST(prop_u_never_overflows)
{
	static const int n_cases = 1000000;
	int n, measured = 0;

	for (n = 0; n < n_cases; n++) {
		unsigned __int128 want, could, bdp, most;
		struct hpccpp_link old = { 0 }, cur = { 0 };
		__u32 T = rnd_log(1, HPCCPP_T_MAX);
		__u32 dts = rnd_log(1, HPCCPP_MASK24);
		__u32 drain = rnd() & 1 ? T : rnd_log(T, 2 * HPCCPP_T_MAX);
		__u64 B = rnd_log(HPCCPP_RATE_MIN / 8, HPCCPP_RATE_MAX / 8);
		__u32 dtx = rnd_log(0, HPCCPP_MASK24);
		double rate, queue;
		long u;

		could = (unsigned __int128)B * dts * 16 * 32 / G1;
		bdp = (unsigned __int128)B * drain / 1000000;
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
		u = hpccpp_link_u(&old, &cur, T, drain);
		if (dts * 16ULL > T * (drain > T ? 64000ULL : 8000ULL) ||
		    most >= 1 << 30 || dtx * 64ULL > most) {
			assert_true(u < 0);
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
			queue = cur.qlen * 64.0 / (B * (drain * US));
			assert_near(u * STEP, rate + queue,
				    2 * STEP + rate / (double)could +
				    queue / (double)bdp + EPSILON);
		}
	}
	assert_true(measured > n_cases / 8);
}

TEST(prop_ewma_rounds_to_nearest)
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

TEST(prop_garbage_stays_in_bounds)
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
		if (new_ack(&s, &p, rec, count, now, n & 1)) {
			used++;
			assert_in_range(s.W, p.W_min, p.W_max);
			assert_true(s.W_c <= HPCCPP_W_LIMIT && s.W_p <= HPCCPP_W_LIMIT);
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

static void model_init(struct model *m, int law, int flows, __u64 bps, __u32 T, __u32 W_ai)
{
	__u32 W_init = hpccpp_bdp(bps / 8, T);
	int i;

	memset(m, 0, sizeof(*m));
	m->flows = flows;
	m->B = bps / 8;
	m->p = (struct hpccpp_params) {
		.T = T, .eta = ETA_95, .packet = 1538, .law = law, .W_ai = W_ai,
		.W_min = 64, .W_max = W_init, .share = law == HPCCPP_LAW_AVERAGED,
	};
	for (i = 0; i < flows; i++)
		hpccpp_begin_with(&m->s[i], W_init);	/* line rate, all at once */
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
			if (new_ack(&m->s[i], &m->p, rec, 1, now,
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
		.N = hpccpp_N_encode(m->flows),
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
TEST(model_incast_settles)
{
	static const struct { int flows; __u64 gbit; __u32 T; } cases[] = {
		{ 1, 10, 20 }, { 1, 100, 8 }, { 2, 100, 8 }, { 4, 10, 50 },
		{ 16, 100, 20 }, { 16, 400, 8 }, { 16, 25, 100 },
	};
	struct model m;
	size_t n, c;
	int i;

	for (n = 0; n < ARRAY_SIZE(cases) * HPCCPP_LAWS; n++) {
		int law = n / ARRAY_SIZE(cases);

		c = n % ARRAY_SIZE(cases);
		double bdp = cases[c].gbit * 125.0 * cases[c].T;
		double U, tx, queue = 0;

		model_init(&m, law, cases[c].flows, cases[c].gbit * G1, cases[c].T, 60);
		model_run(&m, 40);
		if (m.q > 0.05 * bdp)
			fail_msg("law %d, case %zu: queue %g of %g", law, c, m.q, bdp);
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

/* When one of two flows leaves, the other uses the link four round trips later, without a queue. */
TEST(model_other_flow_takes_the_link_after_a_leave)
{
	static const struct { __u64 gbit; __u32 T; } cases[] = {
		{ 100, 8 }, { 25, 20 }, { 10, 50 },
	};
	struct model m;

	for_each_row(row, cases) {
		double bdp = row->gbit * 125.0 * row->T;
		double load;
		int i;

		model_init(&m, HPCCPP_LAW_AVERAGED, 2, row->gbit * G1, row->T, 60);
		model_run(&m, 100);
		m.flows = 1;
		model_run(&m, 4);
		for (i = 0; i < 20; i++) {
			load = m.tx;
			model_run(&m, 1);
			load = (m.tx - load) / bdp;
			if (load < 0.85 || load > 1 || m.q > 0.02 * bdp)
				fail_msg("%d: load %g, queue %g", i, load, m.q);
		}
	}
}

/* D-SHARE: one flow has half the link, 15 the rest of it unevenly. */
TEST(model_shares_are_had_soon)
{
	static const struct { __u64 gbit; __u32 T; } cases[] = {
		{ 100, 8 }, { 25, 20 }, { 10, 50 },
	};
	struct model m;
	size_t c;
	int i;

	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		__u32 bdp = cases[c].gbit * 125 * cases[c].T;

		model_init(&m, HPCCPP_LAW_AVERAGED, 16, cases[c].gbit * G1, cases[c].T, 60);
		hpccpp_begin_with(&m.s[0], bdp / 2);
		for (i = 1; i < 16; i++)
			hpccpp_begin_with(&m.s[i], bdp / 2 * i / 120);
		model_run(&m, 20);
		for (i = 0; i < 16; i++)
			if (m.s[i].W * 16.0 > 1.25 * bdp || m.s[i].W * 16.0 < bdp / 1.25)
				fail_msg("case %zu, flow %d: %u of %u", c, i, m.s[i].W, bdp / 16);
		model_run(&m, 100);
		assert_true(model_jain(&m) > 0.99);
		assert_near(m.s[0].U * STEP, 0.95, 0.03);
		assert_true(m.q < 0.02 * bdp);
	}
}
