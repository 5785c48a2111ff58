/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of port_test.c: what a port tells a SYN, the flows that begin at the same time.
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

/* A record that stays, as it is of a larger U, is told of a crowd that is larger. */
static void crowd_is_told_with_the_record_of_another(void **state)
{
	static const struct { __u8 U, N; __u32 link, told; } cases[] = {
		{ 200, 0, 0x777, 17 }, { 200, 25, 0x777, 25 }, { 0, 25, 0x123, 25 },
		{ 0, 1, 0x123, 17 },
	};
	struct hpccpp_int r;
	struct frame f;
	__be32 w[3];
	size_t i;
	__u32 n;

	for (i = 0; i < ROOM(cases); i++) {
		struct hpccpp_int other = {
			.link = 0x777, .rate = the_port.cfg.rate_code + 1, .ts = 0x123456,
			.tx_bytes = 0x345678, .qlen = 3, .U = cases[i].U, .N = cases[i].N,
		};

		reset(state);
		for (n = 0; n < 16; n++)
			told_to_syn(false);
		the_port.U = HPCCPP_ONE;
		memset(stats, 0, sizeof(stats));
		segment(&f, &shapes[0], TCPHDR_SYN, syn_options, sizeof(syn_options), 0);
		w[0] = bpf_htonl(hpccpp_int_w0(&other));
		w[1] = bpf_htonl(hpccpp_int_w1(&other));
		w[2] = bpf_htonl(hpccpp_int_w2(&other));
		memcpy(f.b + f.tcp + TCP_LEN + SYN_MSS_LEN + HPCCPP_OPT_HDR, w, sizeof(w));
		put_packet(&f);
		assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
		r = record_behind(&f, SYN_MSS_LEN);
		assert_int_equal(r.link, cases[i].link);
		assert_int_equal(r.N, cases[i].told);
		assert_int_equal(stats[HPCCPP_PS_KEPT], r.link == 0x777);
		assert_int_equal(stats[HPCCPP_PS_REPLACED], r.link == 0x123);
		if (r.link == 0x123)
			continue;
		/* and of nothing else */
		assert_int_equal(hpccpp_int_w0(&r), hpccpp_int_w0(&other));
		assert_int_equal(hpccpp_int_w1(&r), hpccpp_int_w1(&other));
		assert_int_equal(r.tx_bytes, other.tx_bytes);
	}
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
