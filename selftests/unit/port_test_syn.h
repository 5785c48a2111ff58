/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of port_test.c: the flows that begin at the same time, of which a port tells a SYN.
 */

/* What the next SYN is told: flows that begin with it */
static __u32 told_to_syn(bool v6)
{
	struct hpccpp_int r;
	struct frame f;

	flow_hash++;
	segment(&f, &shapes[v6], TCPHDR_SYN, syn_options, sizeof(syn_options), 0);
	put_packet(&f);
	assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
	r = record_behind(&f, SYN_MSS_LEN);
	assert_int_equal(r.link, 0x123);
	return hpccpp_N_decode(r.N) / 4;
}

/* Those before it, IPv4 or IPv6, from four on, and to 64 */
static void crowd_is_told_to_a_syn(void **state)
{
	__u32 n, told;

	for (n = 0; n < 80; n++) {
		told = told_to_syn(n & 1);
		assert_in_range(told, n < 4 ? 0 : n < 64 ? n - n / 8 : 56,
				n < 4 ? 0 : n < 64 ? n + n / 8 : 72);
	}
	/* to nobody else */
	assert_int_equal(flows_told(), 1);
}

/* Eight go in each T: of 64 nobody is left after 8 T, and fewer than four are none. */
static void crowd_that_has_begun_is_none(void **state)
{
	__u32 n;

	for (n = 0; n < 1000; n++)
		told_to_syn(false);
	now += 4 * T_NS;
	assert_in_range(told_to_syn(false), 28, 36);
	now += 4 * T_NS;
	assert_int_equal(told_to_syn(false), 0);
	/* nor are those that come as they go */
	for (n = 0; n < 100; n++) {
		now += T_NS / 8;
		assert_int_equal(told_to_syn(false), 0);
	}
}

/* A SYN comes with this record, the 17th of those that begin. */
static void put_syn_with(struct frame *f, const struct hpccpp_int *r)
{
	__u32 n;

	reset(NULL);
	for (n = 0; n < 16; n++)
		told_to_syn(false);
	the_port.U = HPCCPP_ONE;
	memset(stats, 0, sizeof(stats));
	segment(f, &shapes[0], TCPHDR_SYN, syn_options, sizeof(syn_options), 0);
	put_record(f->b + f->tcp + TCP_LEN + SYN_MSS_LEN + HPCCPP_OPT_HDR, r);
	put_tcp_sum(f);
	put_packet(f);
}

/* The record that it leaves with */
static struct hpccpp_int syn_passes_with(const struct hpccpp_int *r)
{
	struct frame f;

	put_syn_with(&f, r);
	assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
	memcpy(f.b, packet, f.len);
	assert_int_equal(tcp_sum(&f), 0xffff);
	return record_behind(&f, SYN_MSS_LEN);
}

#define OTHER_LINK	0x777

static struct hpccpp_int record_of_another(__u16 rate, __u8 U, __u32 N)
{
	return (struct hpccpp_int) {
		.link = OTHER_LINK, .rate = rate, .ts = 0x123456, .tx_bytes = 0x345678,
		.qlen = 127, .U = U, .N = hpccpp_N_encode(N),
	};
}

/*
 * A record that stays, as it is of a larger U, is told of a crowd that is larger: as many as
 * have the same share of its link as the crowd has of ours, of 200 Mbit/s.
 */
static void crowd_is_told_with_the_record_of_another(void **state)
{
	static const struct { __u64 rate; __u32 N, told; } cases[] = {
		{ 200000000, 0, 16 }, { 200000000, 20, 20 }, { 200000000, 64, 64 },
		{ 100000000, 0, 8 }, { 100000000, 6, 8 }, { 100000000, 10, 10 },
		{ 100000000, 64, 64 }, { 50000000, 0, 4 }, { 50000000, 3, 4 },
		{ 70000000, 0, 6 }, { 65000000, 0, 5 }, { 44000000, 0, 4 },
		{ 2000000000, 0, 160 }, { 2000000000, 100, 160 }, { 4000000000000, 0, 65535 },
		/* a part of a crowd that is none */
		{ 40000000, 0, 0 }, { 40000000, 2, 2 }, { 10000, 0, 0 }, { 10000, 5, 5 },
		/* out of range */
		{ 5000000000000, 0, 0 }, { 9000, 0, 0 }, { 255000000000000000, 0, 0 },
	};
	size_t i;

	for (i = 0; i < ROOM(cases); i++) {
		__u16 rate = hpccpp_rate_encode(cases[i].rate);
		struct hpccpp_int other = record_of_another(rate, 200, cases[i].N);
		struct hpccpp_int r = syn_passes_with(&other);

		assert_int_equal(r.N, hpccpp_N_encode(cases[i].told));
		assert_int_equal(stats[HPCCPP_PS_KEPT], 1);
		assert_int_equal(stats[HPCCPP_PS_REPLACED], 0);
		/* and of nothing else */
		assert_int_equal(hpccpp_int_w0(&r), hpccpp_int_w0(&other));
		assert_int_equal(hpccpp_int_w1(&r), hpccpp_int_w1(&other));
		assert_int_equal(r.tx_bytes, other.tx_bytes);
		assert_int_equal(r.qlen, other.qlen);
	}
}

/* A record that gives way leaves its crowd in ours, as many as have the same share. */
static void crowd_of_a_record_that_gives_way(void **state)
{
	static const struct { __u64 rate; __u32 N, told; } cases[] = {
		{ 200000000, 0, 16 }, { 200000000, 14, 16 }, { 200000000, 64, 64 },
		{ 400000000, 64, 32 }, { 400000000, 28, 16 }, { 4000000000, 64, 16 },
		{ 20000000, 64, 640 }, { 20000000, 2, 20 }, { 10000, 64, 65535 },
		{ 10000, 49152, 65535 }, { 4000000000000, 49152, 16 },
		{ 5000000000000, 49152, 16 }, { 9000, 64, 16 }, { 255000000000000000, 49152, 16 },
		/* an empty record is of no link */
		{ 0, 64, 16 },
	};
	size_t i;

	for (i = 0; i < ROOM(cases); i++) {
		__u16 rate = hpccpp_rate_encode(cases[i].rate);
		struct hpccpp_int other = record_of_another(rate, 0, cases[i].N);
		struct hpccpp_int r = syn_passes_with(&other);

		assert_int_equal(r.link, the_port.cfg.link);
		assert_int_equal(r.rate, the_port.cfg.rate_code);
		assert_int_equal(r.N, hpccpp_N_encode(cases[i].told));
		assert_int_equal(stats[rate ? HPCCPP_PS_REPLACED : HPCCPP_PS_STAMPED], 1);
	}
}

/* A record that cannot be written is an error, and does not count as kept. */
static void crowd_that_cannot_be_told(void **state)
{
	struct hpccpp_int other = record_of_another(the_port.cfg.rate_code, 200, 0);
	struct frame f;

	put_syn_with(&f, &other);
	no_stores = true;
	assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
	no_stores = false;
	assert_int_equal(stats[HPCCPP_PS_KEPT], 0);
	assert_int_equal(stats[HPCCPP_PS_ERROR], 1);
}

/* SYNs with another codepoint than INT's are not answered, and are no flows. */
static void crowd_is_of_subscribers(void **state)
{
	struct frame f;
	__u32 n;

	the_port.cfg.subscribed = 1;
	the_port.cfg.dscp = 10;
	for (n = 0; n < 16; n++) {
		segment(&f, &shapes[0], TCPHDR_SYN, syn_options, sizeof(syn_options), 0);
		put_packet(&f);
		assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_UNSPEC);
	}
	the_port.cfg.subscribed = 0;
	assert_int_equal(told_to_syn(false), 0);
}
