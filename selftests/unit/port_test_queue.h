/* SPDX-License-Identifier: GPL-2.0 */
/* Part of port_test.c: the queue that a port computes. */

static const __u64 rates[] = {
	10000, 10000000, 100000000, 1000000000, 10000000000, 25000000000,
	100000000000, 400000000000, 4000000000000,
};

static const __u64 pauses[] = {
	0, 1, 1000, 100000, 999999, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, 20 * MS,
	100 * MS, 268 * MS, 1 * SECOND, 10 * SECOND, (1ULL << 36) - 1, 1ULL << 36,
	100 * SECOND, 1ULL << 50,
};

/* Returns what B bytes/s are in ns, in 1/256 bytes */
static __u64 sent_in(__u64 B, __u64 ns)
{
	return (__int128)B * ns * 256 / 1000000000;
}

/*
 * A full queue drains at B: exact to a byte in pauses of up to 16 ms, to 1/1000 in longer
 * ones. A queue that needs half of the pause is empty after it.
 */
TEST(queue_drains_at_the_rate)
{
	__u64 B, ns, gone, slack, tx, qlen, held, r, i;

	for (i = 0; i < ROOM(rates) * ROOM(pauses); i++) {
		r = i / ROOM(pauses);
		ns = pauses[i % ROOM(pauses)];
		B = rates[r] / 8;
		gone = sent_in(B, ns);
		slack = ns < 1 << 24 ? 4 : gone / 1000;
		held = 2 * gone + (5000 << 8);
		if (ns < 1ULL << 36) {
			struct hpccpp_port p = {
				.v_now = now, .v_last = 1000 << 8,
				.v_qlen = held, .v_in = held + (7000 << 8),
			};

			virtual_queue(&p, drain_rate(B), now + ns, 1500, 1500, 0, &tx, &qlen);
			assert_in_range(tx, (7000 * 256 + gone - slack) >> 8,
					(7000 * 256 + gone + slack) >> 8);
			assert_in_range(qlen, (held - gone - slack - (1000 << 8)) >> 8,
					(held - gone + slack - (1000 << 8)) >> 8);
			/* then the packet joins */
			assert_int_equal(p.v_now, now + ns);
			assert_int_equal(p.v_last, 1500 << 8);
			assert_int_equal(p.v_in, held + (8500 << 8));
			assert_in_range(p.v_qlen, held - gone - slack + (1500 << 8),
					held - gone + slack + (1500 << 8));
		}
		if (r) {
			struct hpccpp_port p = {
				.v_now = now, .v_qlen = gone / 2, .v_in = gone / 2,
			};

			virtual_queue(&p, drain_rate(B), now + ns, 100, 100, 0, &tx, &qlen);
			assert_int_equal(tx, gone / 2 >> 8);
			assert_int_equal(qlen, 0);
			assert_int_equal(p.v_qlen, 100 << 8);
			assert_int_equal(p.v_now, now + ns);
		}
	}
}

/*
 * Packets in order: when they come, their length, when their pacing lets them leave (0: now),
 * and how many bytes they find sent and waiting. Times are in us.
 */
static const struct queue_row {
	const char *why;
	__u64 B;
	struct { __s64 at; __u32 len, leaves; __u64 tx, qlen; } packet[8];
} queue_rows[] = {
	{ "A packet of a CPU whose clock is behind does not set the queue back.", 25000000,
	  { { 0, 1000, 0, 0, 0 }, { 0, 700, 0, 0, 0 }, { -5, 700, 0, 0, 1000 },
	    { 50, 700, 0, 1250, 450 } } },
	{ "Packets that their pacing holds back are overtaken, and do not wait for the link.",
	  25000000,
	  { { 0, 1500, 200, 0, 0 }, { 0, 1500, 150, 0, 0 }, { 0, 1000, 0, 0, 0 },
	    { 0, 1000, 0, 0, 0 }, { 0, 1000, 0, 0, 1000 }, { 120, 700, 0, 3000, 0 },
	    { 120, 700, 0, 3000, 0 }, { 200, 700, 0, 5000, 1700 } } },
	{ "Packets are held back until the last of them leaves.", 2500000,
	  { { 0, 1500, 120, 0, 0 }, { 0, 1500, 200, 0, 0 }, { 0, 1500, 150, 0, 0 },
	    { 160, 100, 0, 400, 0 }, { 200, 100, 0, 500, 4000 } } },
	{ "Packets are held back until the last of the following ones leaves.", 2500000,
	  { { 0, 1500, 20, 0, 0 }, { 10, 1500, 120, 25, 0 }, { 10, 1500, 60, 25, 0 },
	    { 20, 100, 0, 50, 0 }, { 80, 100, 0, 200, 1300 }, { 120, 100, 0, 300, 4300 } } },
	{ "After a pause none is held back.", 25000000,
	  { { 0, 1500, 200, 0, 0 }, { 10, 1500, 300, 250, 0 }, { 1000000, 1500, 0, 3000, 0 },
	    { 1000000, 1500, 0, 3000, 0 }, { 1000000, 1500, 0, 3000, 1500 } } },
};

TEST(queue_has_what_waits)
{
	struct hpccpp_port p;
	__u64 tx, qlen;
	size_t i, k;

	for (i = 0; i < ROOM(queue_rows); i++) {
		const struct queue_row *r = &queue_rows[i];

		p = (struct hpccpp_port) { .v_now = now };
		for (k = 0; k < ROOM(r->packet) && r->packet[k].len; k++) {
			virtual_queue(&p, drain_rate(r->B), now + r->packet[k].at * 1000,
				      r->packet[k].len, r->packet[k].len,
				      r->packet[k].leaves ? now + r->packet[k].leaves * 1000 : 0,
				      &tx, &qlen);
			if (tx != r->packet[k].tx || qlen != r->packet[k].qlen)
				fail_msg("%s Packet %zu: %llu sent, %llu wait.", r->why, k, tx,
					 qlen);
		}
	}
	/* a flow whose packets are all held back for 20 us, at six times the rate */
	p = (struct hpccpp_port) { .v_now = now };
	for (i = 0; i < 100; i++)
		virtual_queue(&p, drain_rate(25000000), now + i * 10000, 1500, 1500,
			      now + i * 10000 + 20000, &tx, &qlen);
	assert_in_range(qlen, 99 * 1250 - 6 * 1500, 99 * 1250);
}

TEST(departure_time_is_to_come)
{
	const struct { __u64 tstamp; bool counts; } rows[] = {
		{ 0 }, { now - 1 }, { now }, { now + 1, true },
		{ now + 10 * SECOND - 1, true }, { now + 10 * SECOND },
		/* clocks that are ahead by leap seconds, or count from 1970 */
		{ now + 37 * SECOND }, { 1790000000 * SECOND },
	};
	size_t i;

	for (i = 0; i < ROOM(rows); i++) {
		struct __sk_buff b = { .tstamp = rows[i].tstamp };

		assert_int_equal(leaves_at(&b, now), rows[i].counts ? rows[i].tstamp : 0);
	}
}

/* A qdisc's bytes have the overhead, its backlog has no packet that netem transmits. */
TEST(qdisc_is_read)
{
	static const struct { __u32 root, overhead, packets, backlog, tx, qlen; } rows[] = {
		{ HPCCPP_ROOT_FLAT, 0, 4, 6000, 90000, 6000 },
		{ HPCCPP_ROOT_FLAT, 24, 4, 6000, 91440, 6096 },
		{ HPCCPP_ROOT_HEAD, 0, 4, 6000, 90000, 4500 },
		{ HPCCPP_ROOT_HEAD, 24, 4, 6000, 91440, 4572 },
		{ HPCCPP_ROOT_HEAD, 24, 0, 0, 91440, 0 },
	};
	static struct Qdisc q;
	static struct net_device dev = { .qdisc = &q };
	static struct sk_buff kernel_skb = { .dev = &dev };
	__u64 tx, qlen;
	size_t i;

	*(__u64 *)&q.bstats.bytes = 90000;
	*(__u64 *)&q.bstats.packets = 60;
	for (i = 0; i < ROOM(rows); i++) {
		the_port.cfg.root = rows[i].root;
		the_port.cfg.overhead = rows[i].overhead;
		q.qstats.backlog = rows[i].backlog;
		q.q.qlen = rows[i].packets;
		assert_true(read_qdisc((void *)&kernel_skb, &the_port.cfg, 0, &tx, &qlen));
		assert_int_equal(tx, rows[i].tx);
		assert_int_equal(qlen, rows[i].qlen);
	}
}

/* A replaced port has its new configuration, and its queue's state. */
TEST(replaced_port_keeps_its_state)
{
	the_port.v_in = 5;
	skb.mark = 1;
	assert_int_equal(hpccpp_port_set(&skb), TC_ACT_UNSPEC);
	assert_int_equal(the_port.cfg.queues, 1);
	skb.mark = 0;
	assert_int_equal(hpccpp_port_set(&skb), TC_ACT_UNSPEC);
	assert_memory_equal(&the_port.cfg, (void *)&cfg_to_set, sizeof(cfg_to_set));
	assert_int_equal(the_port.v_in, 5);
}

/* The packets after a GSO packet find its segments queued, except the one in transmission. */
TEST(gso_packet_is_its_segments)
{
	struct hpccpp_port p, each;
	__u64 tx, qlen, r, ns, slack, left, drain;
	__u32 segs, i;

	for (r = 1; r < ROOM(rates); r++) {
		drain = drain_rate(rates[r] / 8);
		for (segs = 2; segs < 45; segs++) {
			p = (struct hpccpp_port) { .v_now = now };
			each = p;
			virtual_queue(&p, drain, now, segs * 1500, 1500, 0, &tx, &qlen);
			assert_int_equal(qlen, 0);
			for (i = 0; i < segs; i++)
				virtual_queue(&each, drain, now, 1500, 1500, 0, &tx, &qlen);
			assert_memory_equal(&p, &each, sizeof(p));
			/* half of it has left, to the bytes of a ns, or to 1/1000 */
			slack = rates[r] / 8 / SECOND + segs + 2;
			ns = segs * 750 * SECOND / (rates[r] / 8);
			virtual_queue(&p, drain, now + ns, 100, 100, 0, &tx, &qlen);
			left = segs * 750 - 1500;
			assert_in_range(qlen + slack, left, left + 2 * slack);
		}
	}
}
