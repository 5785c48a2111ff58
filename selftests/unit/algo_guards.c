// SPDX-License-Identifier: GPL-2.0
/* What hpccpp_algo.h makes of records that are first, old, wrong or of too many links. */
#include "algo_test.h"

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
		assert_true(hpccpp_same_rate(c->s.L[0].rate, c->port.rate));
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

/* U of the port is an average up to 255 / 64, where it ends; a queue may say more there. */
TEST(guard_first)
{
	static const struct {
		__u32 T;
		__u8 id, U;
		__u16 qlen;
		double u;	/* 0: the port's U */
	} cases[] = {
		{ 100, 8, 64, 10, 0 },
		/* link id 0 is a link like any other, not an unused entry */
		{ 100, 0, 32, 10, 0 },
		{ 20, 8, 254, 65535, 0 },
		/* 4 MB are 3.2 times what 100 us take at 12.5e9 bytes/s, and 16 times for 20 us */
		{ 100, 8, 255, 62500, 0 },
		{ 20, 8, 255, 65535, 65535 * 64 / 250000.0 },
		{ 1, 8, 255, 65535, HPCCPP_U_LIMIT * STEP },
	};
	struct guard_case c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		guard_init(&c, RATE_100G, cases[i].T);
		c.port.id = cases[i].id;
		c.port.U = cases[i].U;
		c.port.qlen = cases[i].qlen;
		assert_true(guard_ack(&c));
		if (cases[i].u) {
			assert_near(c.s.u * STEP, cases[i].u, 2 * STEP);
			assert_int_equal(c.s.U, c.s.u);
		} else {
			assert_ports_U(&c, HPCCPP_G_FIRST);
		}
		assert_works_again(&c);
	}
}

TEST(guard_not_new)
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
TEST(guard_not_new_is_not_half_a_wrap)
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

TEST(guard_wrap_of_ts)
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

TEST(guard_wrap_of_tx_bytes)
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

TEST(guard_stale)
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

TEST(guard_rate)
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

TEST(guard_changed)
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

TEST(guard_range)
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

/* Ports that wrote nothing say what they are below: U is that, up to eta. */
TEST(bound_of_quiet_ports)
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

/* One bad record among good ones is left out, the others are used. */
TEST(guard_leaves_other_records)
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

TEST(names_of_guards)
{
	static const char * const names[] = HPCCPP_GUARD_NAMES;

	assert_int_equal(ARRAY_SIZE(names), HPCCPP_G_MAX);
	assert_string_equal(names[HPCCPP_G_FIRST], "first");
	assert_string_equal(names[HPCCPP_G_RANGE], "range");
}

/* The link cache */

TEST(cache_of_8_holds_8_links)
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

TEST(cache_of_8_with_12_links)
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
TEST(cache_is_not_spoilt_by_garbage)
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

TEST(min_B_of_fresh_links)
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
TEST(min_B_of_records)
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
TEST(min_B_of_a_lie)
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
TEST(known_by_id_and_rate)
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
