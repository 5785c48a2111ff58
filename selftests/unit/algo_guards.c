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
	assert_true(new_ack(&c->s, &c->p, &rec, 1, c->now, true));
	assert_int_equal(c->s.guards[HPCCPP_G_FIRST], 1);
	memset(c->s.guards, 0, sizeof(c->s.guards));
}

static bool guard_ack(struct guard_case *c)
{
	struct hpccpp_int rec = stamp(&c->port);

	c->before = c->s;
	return new_ack(&c->s, &c->p, &rec, 1, c->now, true);
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

	for_each_row(row, cases) {
		guard_init(&c, RATE_100G, row->T);
		c.port.id = row->id;
		c.port.U = row->U;
		c.port.qlen = row->qlen;
		assert_true(guard_ack(&c));
		if (row->u) {
			assert_near(c.s.u * STEP, row->u, 2 * STEP);
			assert_int_equal(c.s.U, c.s.u);
		} else {
			assert_ports_U(&c, HPCCPP_G_FIRST);
		}
		assert_works_again(&c);
	}
}

/* A record that follows the baseline of guard_init(): the advance of its fields, and the result */
struct guard_row {
	const char *shows;
	__u32 gbit, T;		/* of the link, and us */
	long long ts, tx, now;	/* advances, in 16 ns, 64 bytes and ns */
	enum { USED, PORTS_U, DROPPED, REBASED } is;
	enum hpccpp_guard guard;
	double u;		/* of a record that is used; 0: not checked */
};

static void check_guard(const struct guard_row *row)
{
	struct guard_case c;
	struct port port;
	__u64 now;

	guard_init(&c, hpccpp_rate_encode(row->gbit * G1), row->T);
	port = c.port;
	now = c.now;
	c.port.ts += row->ts;
	c.port.tx_bytes += row->tx;
	c.port.U = 48;
	c.now += row->now;
	assert_int_equal(guard_ack(&c), row->is <= PORTS_U);
	if (row->is == PORTS_U) {
		assert_ports_U(&c, row->guard);
	} else if (row->is == USED) {
		assert_memory_equal(c.before.guards, c.s.guards, sizeof(c.s.guards));
		if (row->u)
			assert_near(c.s.u * STEP, row->u, 0.005);
	} else {
		assert_dropped(&c, row->guard, row->is == REBASED);
	}
	if (row->is == DROPPED) {
		c.port = port;
		c.now = now;
	}
	if (row->gbit * row->T <= 2000000)	/* else tx_bytes wraps in T */
		assert_works_again(&c);
}

TEST(guards_have_limits)
{
	static const struct guard_row rows[] = {
		{ "the same record once more", 100, 100, 0, 0, 1000, DROPPED, HPCCPP_G_NOT_NEW },
		{ "... after any time", 100, 100, 0, 0, G1, DROPPED, HPCCPP_G_NOT_NEW },
		{ "older by 16 ns", 100, HPCCPP_T_MAX, -1, 0, 0, DROPPED, HPCCPP_G_NOT_NEW },
		{ "... 100 ms later", 100, HPCCPP_T_MAX, -1, 0, 100000000, DROPPED,
		  HPCCPP_G_NOT_NEW },
		{ "older by 50 ms", 100, HPCCPP_T_MAX, -50000000 / 16, 0, 1000, DROPPED,
		  HPCCPP_G_NOT_NEW },
		/* 1 GiB at 400 Gbit/s is 21.5 ms, at 9/8 of it 19.1 ms */
		{ "tx_bytes before they may wrap", 400, 100000, 19085000 / 16,
		  19085000 * 45LL / 64, 19085000, USED, .u = 0.9 },
		{ "... and after", 400, 100000, 19087000 / 16, 19087000 * 45LL / 64, 19087000,
		  PORTS_U, HPCCPP_G_WRAP },
		{ "the port's own time counts, not the ACKs': these were compressed", 400, 100000,
		  22000000 / 16, 22000000 * 50LL / 64, 10000000, PORTS_U, HPCCPP_G_WRAP },
		{ "8 T are not over 8 T", 100, 100, 800000 / 16, 1000, 800000, USED },
		{ "and a nanosecond more are", 100, 100, 800000 / 16, 1000, 800001, PORTS_U,
		  HPCCPP_G_STALE },
		/* 100 us of 100 Gbit/s are 1,250,000 B */
		{ "9/8 of what the link takes and 128 KiB", 100, 100, 6250,
		  (1250000 / 8 * 9 + HPCCPP_BURST) / 64, 100000, USED },
		{ "64 bytes more", 100, 100, 6250, (1250000 / 8 * 9 + HPCCPP_BURST) / 64 + 1,
		  100000, REBASED, HPCCPP_G_RATE },
		{ "counters that went back look the same", 100, 100, 6250, -100000, 100000,
		  REBASED, HPCCPP_G_RATE },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("# %s\n", rows[i].shows);
		check_guard(&rows[i]);
	}
}

/* An advance of ts over half a wrap counts if our clock agrees; a wrap is 268.4 ms. */
TEST(guards_find_wraps)
{
	struct guard_row row = { "", 10, 200000, .u = 0.4 };

	for (row.ts = 1000; row.ts < HPCCPP_MASK24 - 1000; row.ts += 99991) {
		row.tx = row.ts / 8;		/* 8 of 16 * 1.25 / 64 */
		row.now = row.ts * 16 + 50000;
		check_guard(&row);
	}
	/* T so large that nothing is stale */
	row = (struct guard_row){ "", 10, HPCCPP_T_MAX, .is = PORTS_U, .guard = HPCCPP_G_WRAP };
	for (row.ts = 300 * 62500; row.ts < 1500 * 62500; row.ts += 62500) {
		row.now = row.ts * 16 + 50000;
		check_guard(&row);
	}
}

/*
 * Where SACK blocks leave no room, an echo waits, and may be older by more than half a wrap
 * when it comes: the record that follows is new all the same.
 */
TEST(guard_echo_that_waited)
{
	struct guard_case c;

	guard_init(&c, hpccpp_rate_encode(50000000), 3000);
	c.port.ts += 1000000 / 16;
	c.now += 212000000;
	assert_true(guard_ack(&c));
	assert_ports_U(&c, HPCCPP_G_WRAP);
	c.port.ts += 215000000 / 16;
	c.port.tx_bytes += 100;
	c.now += 4000000;
	assert_true(guard_ack(&c));
	assert_ports_U(&c, HPCCPP_G_FIRST);
	assert_works_again(&c);
}

/* B of a link stays known after a pause of more than a wrap, as does that of links behind it. */
TEST(guard_wrap_keeps_links)
{
	struct hpccpp_int rec;
	struct guard_case c;

	guard_init(&c, RATE_100G, 100);
	c.port.id = 8;
	c.port.rate = hpccpp_rate_encode(10000000000ULL);
	assert_true(guard_ack(&c));
	assert_works_again(&c);
	c.now += 300000000;
	c.port.id = 7;
	c.port.rate = RATE_100G;
	c.port.ts += 300000000 / 16;
	assert_true(guard_ack(&c));
	assert_ports_U(&c, HPCCPP_G_WRAP);

	rec = stamp(&c.port);
	rec.ts++;
	assert_int_equal(hpccpp_known_B(&c.s, &rec), 12500000000ULL);
	rec.link = 8;
	rec.rate = hpccpp_rate_encode(10000000000ULL);
	assert_int_equal(hpccpp_known_B(&c.s, &rec), 1250000000);
	assert_int_equal(hpccpp_min_B(&c.s, 1, NULL, 0, HPCCPP_T_MAX, c.now), 1250000000);

	/* a flow with half of the BDP resumes: its probe found the load of the others alone */
	assert_int_equal(c.s.bottleneck, 7);
	c.s.W = 625000;
	c.s.U = HPCCPP_ONE;
	hpccpp_first_W(&c.s, &c.p, hpccpp_bottleneck_B(&c.s));
	assert_near(c.s.W, 625000 * 0.95 / 1.5, 2);
}

/* Of a known link and of a new one; another rate of a known link is another link's. */
TEST(guards_know_rates)
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
		for (id = 7; id < 9; id++) {
			guard_init(&c, RATE_100G, 100);
			c.port.ts += 625;
			c.now += 10000;
			c.port.id = id;
			c.port.rate = rates[i].code;
			if (!c.port.rate)	/* with a U it is a bound */
				c.port.U = 0;
			assert_int_equal(guard_ack(&c), rates[i].good && id == 8);
			if (rates[i].good && id == 7) {
				assert_dropped(&c, HPCCPP_G_CHANGED, true);
			} else if (!rates[i].good) {
				assert_dropped(&c, HPCCPP_G_RANGE, false);
				c.port.id = 7;
				c.port.rate = RATE_100G;
			}
			if (rates[i].code != CODE(100, 2))	/* too slow to be half loaded */
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

	for_each_row(row, bounds) {
		memset(&s, 0, sizeof(s));
		s.W_c = 10000;
		hpccpp_end_stages(&s);
		s.bottleneck = 9;
		rec.U = row->bound;
		assert_true(new_ack(&s, &params_95, &rec, 1, 1, true));
		assert_int_equal(s.U, row->U);
		assert_int_equal(s.W, 10000ULL * ETA_95 / s.U + params_95.W_ai);
		assert_int_equal(s.hit, 0);
		assert_int_equal(s.bottleneck, 9);
		assert_int_equal(s.L[0].seen, 0);
	}
	/* among records of ports, and without a bound, it is out of range */
	rec.U = 0;
	assert_false(new_ack(&s, &params_95, &rec, 1, 1, true));
	assert_int_equal(s.guards[HPCCPP_G_RANGE], 1);
}

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
		assert_true(new_ack(&x.s, &x.p, rec, 3, x.now, true));
		assert_int_equal(x.s.guards[HPCCPP_G_RANGE], 1);
		assert_int_equal(x.s.bottleneck, bad == 2 ? 101 : 102);
	}
}

TEST(cache_holds_8_links)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s;
	struct port port = { .rate = RATE_100G, .U = 10 };
	__u32 first;
	__u64 now = 1;
	int links, n, i, j;

	/* of 12 in turn none is remembered; each still gives the port's U */
	for (links = 8; links <= 12; links += 4) {
		memset(&s, 0, sizeof(s));
		for (n = 0; n < 100 * links; n++, now += 1000, port.ts += 63) {
			struct hpccpp_int rec;

			port.id = 1000 + n % links;
			rec = stamp(&port);
			assert_true(new_ack(&s, &p, &rec, 1, now, true));
			if (links == 12)
				assert_int_equal(s.U, 10 << 14);
			for (j = 0; j < 8 && n >= links; j++)
				assert_in_range(s.L[j].id, 1000, 1011);
		}
		assert_int_equal(s.guards[HPCCPP_G_FIRST], links == 8 ? 8 : 1200);
	}
	/* two that are used all the time stay, ten others pass by */
	memset(&s, 0, sizeof(s));
	for (n = 0; n < 1000; n++, now += 1000, port.ts += 63) {
		struct hpccpp_int rec[3];

		for (i = 0; i < 3; i++) {
			port.id = i < 2 ? i : 2 + n % 10;
			rec[i] = stamp(&port);
		}
		first = s.guards[HPCCPP_G_FIRST];
		assert_true(new_ack(&s, &p, rec, 3, now, true));
		if (n)
			assert_int_equal(s.guards[HPCCPP_G_FIRST], first + 1);
	}
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
		new_ack(&s, &p, &rec, 1, now, true);
	}
	assert_int_equal(hpccpp_min_B(&s, 0, NULL, 0, p.T, 50001), 1250000000);
	for (now = 120001; now <= 130001; now += 10000) {
		port.ts += 600;
		rec = stamp(&port);
		new_ack(&s, &p, &rec, 1, now, true);
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
	new_ack(&s, &p, rec, 3, 1, true);
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

/* A link is known by its id and rate, once a record of it was used. */
TEST(known_by_id_and_rate)
{
	struct hpccpp_params p = params_95;
	struct hpccpp_state s = { 0 };
	struct port port = { .id = 1, .rate = RATE_100G };
	struct hpccpp_int rec = stamp(&port);

	assert_int_equal(hpccpp_known_B(&s, &rec), 0);
	new_ack(&s, &p, &rec, 1, 1, true);
	assert_int_equal(hpccpp_known_B(&s, &rec), 0);	/* in two packets */
	rec.ts += 62;
	assert_int_equal(hpccpp_known_B(&s, &rec), 12500000000ULL);
	new_ack(&s, &p, &rec, 1, 1001, true);
	assert_int_equal(hpccpp_known_B(&s, &rec), 12500000000ULL);
	rec.link = 2;
	assert_int_equal(hpccpp_known_B(&s, &rec), 0);
	rec.link = 1;
	rec.rate = hpccpp_rate_encode(10000000000ULL);
	assert_int_equal(hpccpp_known_B(&s, &rec), 0);
}
