/* SPDX-License-Identifier: GPL-2.0 */
/* Part of port_test.c: the queue that a port computes. */

/* --- The virtual queue ------------------------------------------------------- */

static const __u64 rates[] = {
	10000, 10000000, 100000000, 1000000000, 10000000000, 25000000000,
	100000000000, 400000000000, 4000000000000,
};

static const __u64 pauses[] = {
	0, 1, 1000, 100000, 999999, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, 20 * MS,
	100 * MS, 268 * MS, 1 * SECOND, 10 * SECOND, (1ULL << 36) - 1,
};

/* What B bytes/s are in ns, in 1/256 bytes */
static __u64 sent_in(__u64 B, __u64 ns)
{
	return (__int128)B * ns * 256 / 1000000000;
}

/* At B, to a byte in pauses of 16 ms and to 1/1000 in longer ones */
static void queue_drains_at_the_rate(void **state)
{
	__u64 B, gone, slack, tx, qlen, held, r, i;

	for (r = 0; r < ROOM(rates); r++) {
		for (i = 0; i < ROOM(pauses); i++) {
			struct hpccpp_port p = { .v_now = now, .v_last = 1000 << 8 };

			B = rates[r] / 8;
			gone = sent_in(B, pauses[i]);
			slack = pauses[i] < 1 << 24 ? 0 : gone / 1000;
			held = 2 * gone + (5000 << 8);
			p.v_qlen = held;
			p.v_in = held + (7000 << 8);
			virtual_queue(&p, B, now + pauses[i], 1500, 1, 0, &tx, &qlen);
			assert_in_range(tx, (7000 * 256 + gone - slack) >> 8,
					(7000 * 256 + gone + slack) >> 8);
			assert_in_range(qlen, (held - gone - slack - (1000 << 8)) >> 8,
					(held - gone + slack - (1000 << 8)) >> 8);
			/* then the packet joins */
			assert_int_equal(p.v_now, now + pauses[i]);
			assert_int_equal(p.v_last, 1500 << 8);
			assert_int_equal(p.v_in, held + (8500 << 8));
			assert_in_range(p.v_qlen, held - gone - slack + (1500 << 8),
					held - gone + slack + (1500 << 8));
		}
	}
}

static void queue_is_empty_after_a_pause(void **state)
{
	static const __u64 long_after[] = { 1ULL << 36, 100 * SECOND, 1ULL << 50 };
	__u64 tx, qlen, r, i;

	for (r = 1; r < ROOM(rates); r++) {
		for (i = 0; i < ROOM(pauses) + ROOM(long_after); i++) {
			__u64 ns = i < ROOM(pauses) ? pauses[i] :
				   long_after[i - ROOM(pauses)];
			__u64 held = sent_in(rates[r] / 8, ns) / 2;
			struct hpccpp_port p = {
				.v_now = now, .v_qlen = held, .v_in = held,
			};

			virtual_queue(&p, rates[r] / 8, now + ns, 100, 1, 0, &tx, &qlen);
			assert_int_equal(tx, held >> 8);
			assert_int_equal(qlen, 0);
			assert_int_equal(p.v_qlen, 100 << 8);
			assert_int_equal(p.v_now, now + ns);
		}
	}
}

/* CPUs read the clock before they take the lock, and come in another order. */
static void queue_keeps_its_time(void **state)
{
	struct hpccpp_port p = {
		.v_now = now, .v_qlen = 3000 << 8, .v_in = 9000 << 8,
		.v_last = 1000 << 8,
	};
	__u64 tx, qlen;

	virtual_queue(&p, 25000000, now - 5000, 700, 1, 0, &tx, &qlen);
	assert_int_equal(tx, 6000);
	assert_int_equal(qlen, 2000);
	assert_int_equal(p.v_now, now);
	/* 1250 bytes in these 50 us, no more */
	virtual_queue(&p, 25000000, now + 50000, 700, 1, 0, &tx, &qlen);
	assert_int_equal(tx, 7250);
	assert_int_equal(qlen, 3700 - 1250 - 700);
}

/* Packets whose time to leave is to come are passed by the others, and are none that wait. */
static void queue_leaves_out_what_is_held_back(void **state)
{
	struct hpccpp_port p = { .v_now = now };
	__u64 tx, qlen;

	virtual_queue(&p, 25000000, now, 1500, 1, now + 200000, &tx, &qlen);
	virtual_queue(&p, 25000000, now, 1500, 1, now + 150000, &tx, &qlen);
	assert_int_equal(qlen, 0);
	assert_int_equal(tx, 0);
	virtual_queue(&p, 25000000, now, 1000, 1, 0, &tx, &qlen);
	virtual_queue(&p, 25000000, now, 1000, 1, 0, &tx, &qlen);
	assert_int_equal(qlen, 0);		/* it is in service */
	virtual_queue(&p, 25000000, now, 1000, 1, 0, &tx, &qlen);
	assert_int_equal(qlen, 1000);
	/* 3000 bytes in 120 us: those that wait have left, the others not */
	virtual_queue(&p, 25000000, now + 120000, 700, 1, 0, &tx, &qlen);
	assert_int_equal(tx, 3000);
	assert_int_equal(qlen, 0);
	virtual_queue(&p, 25000000, now + 120000, 700, 1, 0, &tx, &qlen);
	assert_int_equal(qlen, 0);
	/* 1400 and 600 in 80 us more, and it is time for the other 2400 */
	virtual_queue(&p, 25000000, now + 200000, 700, 1, 0, &tx, &qlen);
	assert_int_equal(tx, 5000);
	assert_int_equal(qlen, 2400 - 700);
}

/* Others are held back all the time: the queue is told when their time has come. */
static void held_back_only_for_their_time(void **state)
{
	struct hpccpp_port p = { .v_now = now };
	__u64 tx, qlen, i;

	/* 1500 bytes each 10 us, of which 250 go, and each is held back for 20 us */
	for (i = 0; i < 100; i++)
		virtual_queue(&p, 25000000, now + i * 10000, 1500, 1, now + i * 10000 + 20000,
			      &tx, &qlen);
	assert_in_range(qlen, 99 * 1250 - 6 * 1500, 99 * 1250);
	/* after a pause there is nothing of them */
	virtual_queue(&p, 25000000, now + SECOND, 1500, 1, 0, &tx, &qlen);
	virtual_queue(&p, 25000000, now + SECOND, 1500, 1, 0, &tx, &qlen);
	virtual_queue(&p, 25000000, now + SECOND, 1500, 1, 0, &tx, &qlen);
	assert_int_equal(qlen, 1500);
}

static void held_back_until_the_last_leaves(void **state)
{
	struct hpccpp_port p = { .v_now = now };
	__u64 tx, qlen;

	virtual_queue(&p, 2500000, now, 1500, 1, now + 120000, &tx, &qlen);
	virtual_queue(&p, 2500000, now, 1500, 1, now + 200000, &tx, &qlen);
	virtual_queue(&p, 2500000, now, 1500, 1, now + 150000, &tx, &qlen);
	virtual_queue(&p, 2500000, now + 160000, 100, 1, 0, &tx, &qlen);
	assert_int_equal(tx, 400);
	assert_int_equal(qlen, 0);
	virtual_queue(&p, 2500000, now + 200000, 100, 1, 0, &tx, &qlen);
	assert_int_equal(qlen, 4600 - 500 - 100);
}

static void departure_time_is_to_come(void **state)
{
	struct __sk_buff skb = {};

	assert_int_equal(leaves_at(&skb, now), 0);
	skb.tstamp = now;
	assert_int_equal(leaves_at(&skb, now), 0);
	skb.tstamp = now - 1;
	assert_int_equal(leaves_at(&skb, now), 0);
	skb.tstamp = now + 1;
	assert_int_equal(leaves_at(&skb, now), skb.tstamp);
	skb.tstamp = now + 10 * SECOND - 1;
	assert_int_equal(leaves_at(&skb, now), skb.tstamp);
	/* of a clock that counts from 1970, or is ahead by leap seconds */
	skb.tstamp = now + 37 * SECOND;
	assert_int_equal(leaves_at(&skb, now), 0);
	skb.tstamp = 1790000000 * SECOND;
	assert_int_equal(leaves_at(&skb, now), 0);
}

/* Packets and pauses at random: what is sent is what came or what B allows. */
static void queue_loses_nothing(void **state)
{
	__u64 B, tx, qlen, in, last, begin, n, r;
	struct hpccpp_port p;
	__u32 len;

	for (r = 1; r < ROOM(rates); r++) {
		B = rates[r] / 8;
		in = 0;
		last = 0;
		begin = now;
		p = (struct hpccpp_port) { .v_now = now };
		for (n = 0; n < 20000; n++) {
			len = 64 + rnd() % 65000;
			/* 3/4 of what B takes; each 1000th a longer one */
			now += sent_in(B, 0) + len * 1500000000ULL / B * (rnd() % 1000) / 1000;
			if (n % 1000 == 999)
				now += pauses[rnd() % ROOM(pauses)];
			virtual_queue(&p, B, now, len, 1, 0, &tx, &qlen);
			assert_in_range(tx, last, in);
			assert_in_range(tx + qlen, tx, in);
			assert_true(tx <= (sent_in(B, now - begin) >> 8) * 1001 / 1000 + 1);
			last = tx;
			in += len;
		}
		assert_int_equal(p.v_in, in << 8);
	}
}

/* What comes behind a GSO packet finds all of it but the segment that is on the wire. */
static void gso_packet_is_its_segments(void **state)
{
	struct hpccpp_port p, each;
	__u64 tx, qlen, r, ns, slack, left;
	__u32 segs, i;

	for (r = 1; r < ROOM(rates); r++) {
		for (segs = 2; segs < 45; segs++) {
			p = (struct hpccpp_port) { .v_now = now };
			each = p;
			virtual_queue(&p, rates[r] / 8, now, segs * 1500, segs, 0, &tx, &qlen);
			assert_int_equal(qlen, 0);
			for (i = 0; i < segs; i++)
				virtual_queue(&each, rates[r] / 8, now, 1500, 1, 0, &tx, &qlen);
			assert_memory_equal(&p, &each, sizeof(p));
			/* half of it is gone, to what goes in a ns, or to 1/1000 */
			slack = rates[r] / 8 / SECOND + segs + 2;
			ns = segs * 750 * SECOND / (rates[r] / 8);
			virtual_queue(&p, rates[r] / 8, now + ns, 100, 1, 0, &tx, &qlen);
			left = segs * 750 - 1500;
			assert_in_range(qlen + slack, left, left + 2 * slack);
		}
	}
}
