/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of progs_test.c: a SYN whose record stays, as it is of a larger load, and is told of
 * the flows that begin at the port.
 */

/* So many flows have begun, for the next packet: one of them counts for half a second. */
static void begun(__u32 flows)
{
	struct timespec t;

	port.cfg.base_rtt = HPCCPP_T_MAX;
	clock_gettime(CLOCK_MONOTONIC, &t);
	port.flows.begun = t.tv_sec * 1000000000ULL + t.tv_nsec +
			   flows * (port.cfg.base_rtt * 1000ULL / HPCCPP_CROWD_T);
}

/* 32 at our 200 Mbit/s, or 31 when the packet comes, which has the same code */
static void crowd_in_a_record_that_stays(void **state)
{
	static const struct { __u64 rate; __u32 N, told; } cases[] = {
		{ 200000000, 0, 32 }, { 100000000, 8, 16 }, { 800000000, 0, 128 },
		{ 4000000000, 64, 640 }, { 100000000, 20, 20 }, { 10000000, 0, 0 },
	};
	struct frame f, out, want;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hpccpp_int r = {
			.link = 0x456, .rate = hpccpp_rate_encode(cases[i].rate), .ts = 0xabcdef,
			.U = 200, .tx_bytes = 0x654321, .qlen = 127,
			.N = hpccpp_N_encode(cases[i].N),
		};

		for (k = 0; k < 100; k++) {
			__u8 opts[40] = MSS;

			put_header(opts + 4, HPCCPP_OPT_LEN(1), HPCCPP_EXID_COLLECT);
			put_record(opts + 4 + HPCCPP_OPT_HDR, &r);
			segment(&f, &shapes[k % ARRAY_SIZE(shapes)], 0x02, opts,
				4 + HPCCPP_OPT_LEN(1), 0);
			want = f;
			r.N = hpccpp_N_encode(cases[i].told);
			put_record(want.b + f.tcp + TCP_LEN + 4 + HPCCPP_OPT_HDR, &r);
			put_tcp_sum(&want);
			r.N = hpccpp_N_encode(cases[i].N);
			begun(32);
			assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_KEPT);
			assert_same(&want, &out);
		}
	}
}
