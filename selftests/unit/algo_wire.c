// SPDX-License-Identifier: GPL-2.0
/* The codes and records of hpccpp_wire.h, and the ICRC of RoCEv2. */
#include "algo_test.h"

TEST(wire_rate_of_every_code)
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

TEST(wire_rate_of_ports_is_exact)
{
	__u64 bps, pow;

	for (pow = 1; pow <= 1000000000000ULL; pow *= 10)
		for (bps = pow; bps <= 255 * pow; bps += pow)
			assert_int_equal(recoded(bps), bps);
}

/* The tie rule compares codes: they must order as the rates do. */
TEST(wire_rate_has_a_small_error_and_order)
{
	double worst = 0;
	int n;

	for (n = 0; n < 1000000; n++) {
		__u64 a = n < 100000 ? n + 1ULL : rnd_log(1, 255000000000000000ULL);
		__u64 b = a + (n & 1 ? 1 : rnd_log(1, a));

		worst = fmax(worst, fabs((double)recoded(a) - a) / a);
		assert_true(hpccpp_rate_encode(a) <= hpccpp_rate_encode(b));
	}
	assert_true(worst <= 0.5 / 26);
	assert_true(worst > 0.018);	/* so is the statement a tight one */
}

/* Exact up to 2047, rounded down by less than 1/1024 from there */
TEST(wire_num_error)
{
	for (int i = 0; i < 100000; i++) {
		__u32 num = rnd_log(0, ~0U);
		__u64 got = hpccpp_num_decode(hpccpp_num_encode(num));

		if (got > num || (num < 2048 && got != num) ||
		    (__u64)(num - got) * 1024 > num)
			fail_msg("%u is told as %llu", num, (unsigned long long)got);
	}
}

TEST(wire_qlen_of_every_code)
{
	__u32 code, before = 0;

	for (code = 0; code <= 0x3ff; code++) {
		__u32 qlen = hpccpp_qlen_decode(code);

		assert_int_equal(hpccpp_qlen_encode(qlen), code);
		assert_true(!code || qlen > before);
		/* all between two codes are rounded down */
		if (code)
			assert_int_equal(hpccpp_qlen_encode(qlen - 1), code - 1);
		if (qlen > 128)
			assert_true((qlen - 1 - before) * 64 < qlen);
		else
			assert_int_equal(qlen, code);
		before = qlen;
	}
	assert_int_equal(before, HPCCPP_QLEN_MAX);
	assert_int_equal(hpccpp_qlen_encode(HPCCPP_QLEN_MAX + 1), 0x3ff);
	assert_int_equal(hpccpp_qlen_encode(~0U), 0x3ff);
}

TEST(wire_N_of_every_code)
{
	__u32 code;

	assert_int_equal(hpccpp_N_decode(0), 0);
	assert_int_equal(hpccpp_N_decode(1), 4);
	assert_int_equal(hpccpp_N_decode(HPCCPP_N_MAX), 4 * 49152);
	/* from 4 on they are of whole flows; 1.25 and 1.75 are not told */
	for (code = 1; code <= HPCCPP_N_MAX; code++)
		if (!(hpccpp_N_decode(code) % 4))
			assert_int_equal(hpccpp_N_encode(hpccpp_N_decode(code) / 4), code);
	assert_int_equal(hpccpp_N_encode(0), 0);
	assert_int_equal(hpccpp_N_encode(0x10000), HPCCPP_N_MAX);
	assert_int_equal(hpccpp_N_encode(~0U), HPCCPP_N_MAX);
	for (__u32 flows = 1; flows <= 53000; flows++) {
		double told = hpccpp_N_decode(hpccpp_N_encode(flows)) / 4.0;

		assert_true(fabs(told - flows) <= (flows <= 8 ? 0 : flows / 8.0));
	}
}

TEST(wire_record_round_trip)
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

TEST(wire_record_layout)
{
	struct hpccpp_int r = { .link = 0xabc, .rate = 0x1a2, .U = 0x9d,
				.ts = 0x123456, .tx_bytes = 0x789abc,
				.qlen = (64 + 0x15) << 11, .N = 0x2d };

	assert_int_equal(hpccpp_int_w0(&r), 0xabc1a29d);
	assert_int_equal(hpccpp_int_w1(&r), 0x123456c5);
	assert_int_equal(hpccpp_int_w2(&r), 0x789abc6d);
	/* the word for a SYN's record has no link id, N in 5 bits and qlen in 7 */
	r.N = 0;
	assert_int_equal(hpccpp_found(&r), 0x0621a29d);
	r.qlen = HPCCPP_QLEN_MAX;
	assert_int_equal(hpccpp_found(&r), 0x07f1a29d);
	r.N = hpccpp_N_encode(24);
	assert_int_equal(hpccpp_found(&r), 0x57f1a29d);
	r.N = HPCCPP_N_MAX;
	assert_int_equal(hpccpp_found(&r), 0xfff1a29d);
	assert_int_equal(HPCCPP_OPT_LEN(1), 16);
	assert_int_equal(HPCCPP_OPT_LEN(2), 28);
	assert_int_equal(HPCCPP_OPT_LEN(HPCCPP_REC_MAX), 40);
}

/* N of a SYN, in the word of a SYN-ACK, decodes to within a quarter. */
TEST(wire_found_flows)
{
	struct hpccpp_int r = { .rate = 0x1a2, .U = 0x9d }, back;
	__u32 N;

	for (N = 0; N <= 20000; N++) {
		r.N = hpccpp_N_encode(N);
		hpccpp_found_decode(&back, hpccpp_found(&r));
		assert_near(hpccpp_N_decode(back.N), 4. * N, 4. * N / 4);
		/* and nothing else of the word is another's */
		assert_int_equal(hpccpp_int_w0(&back), hpccpp_int_w0(&r));
		assert_int_equal(back.qlen, 0);
	}
}

/* The queue of a SYN's record, in the word of a SYN-ACK, decodes to within 1/16 and 448 bytes. */
TEST(wire_found_queue)
{
	struct hpccpp_int r = { .rate = 0x1a2, .N = 9 }, back;

	for (r.qlen = 0; r.qlen < HPCCPP_QLEN_MAX; r.qlen += 1 + r.qlen / 200) {
		hpccpp_found_decode(&back, hpccpp_found(&r));
		assert_near(back.qlen, r.qlen, 7 + r.qlen / 16.);
		assert_int_equal(back.N, 9);
	}
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

TEST(icrc_changes_as_a_crc_of_all)
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

/* Of a CNP, by the bits: eight bytes of ones in front, and ones for what may change */
TEST(icrc_of_a_cnp)
{
	struct hpccpp_cnp cnp;
	__u8 src[16], dst[16], over[8 + 40 + sizeof(cnp)];
	size_t i;
	int n;

	for (n = 0; n < 1000; n++) {
		for (i = 0; i < 16; i++) {
			src[i] = rnd();
			dst[i] = rnd();
		}
		for (i = 0; i < sizeof(cnp); i++)
			((__u8 *)&cnp)[i] = rnd();
		memset(over, 0xff, sizeof(over));
		/* version, payload length, next header; not class, label, hop limit */
		over[8] = 0x6f;
		over[12] = 0;
		over[13] = 8 + 12 + 16 + 4;
		over[14] = 17;
		memcpy(over + 16, src, 16);
		memcpy(over + 32, dst, 16);
		memcpy(over + 48, &cnp, sizeof(cnp));
		memset(over + 48 + 6, 0xff, 2);
		over[48 + 8 + 4] = 0xff;
		assert_int_equal(hpccpp_cnp_icrc(src, dst, &cnp),
				 HPCCPP_LE32(crc32(over, sizeof(over) - 4)));
	}
}

/* --- RoCEv2 and IOAM --- */

TEST(roce_opcodes_of_data)
{
	/* RC, UC, RD, UD, XRC; SEND and WRITE, READ responses, SEND with Invalidate */
	static const char services[] = "dddd-d--";
	static const char operations[] = "dddddddddddd-dddd-----dd--------";
	int i;

	for (i = 0; i < 256; i++)
		assert_int_equal(hpccpp_roce_data(i), services[i / 32] == 'd' &&
				 operations[i % 32] == 'd');
}

TEST(ioam_lengths)
{
	int i;

	for (i = 0; i < 22; i++) {
		assert_int_equal(hpccpp_ioam_words(i), i == 8 || i == 9 || i == 10 ? 2 : 1);
		assert_int_equal(hpccpp_ioam_nodelen(HPCCPP_IOAM_BIT(i)), hpccpp_ioam_words(i));
	}
	assert_int_equal(hpccpp_ioam_nodelen(HPCCPP_IOAM_HPCC), HPCCPP_IOAM_HPCC_WORDS);
	/* neither the opaque snapshot's bit nor those that are reserved */
	assert_int_equal(hpccpp_ioam_nodelen(~0U), 25);
	assert_int_equal(hpccpp_ioam_nodelen(0x3ff), 0);
}

TEST(ioam_speeds)
{
	static const __u64 of[] = { 10, 16, 20, 25, 40, 50, 80 };
	__u64 bps, decade = 1000;
	__u32 code;

	for (code = 0; code < HPCCPP_IOAM_SPEED_UNKNOWN; code++) {
		bps = of[code % 7] * decade;
		assert_int_equal(hpccpp_ioam_speed(code), bps);
		assert_int_equal(hpccpp_ioam_speed_code(bps), code);
		/* between two: the lower */
		assert_int_equal(hpccpp_ioam_speed_code(bps + 1), code);
		assert_int_equal(hpccpp_ioam_speed_code(bps - 1),
				 code ? code - 1 : HPCCPP_IOAM_SPEED_UNKNOWN);
		decade *= code % 7 == 6 ? 10 : 1;
	}
	for (; code < 70; code++)
		assert_int_equal(hpccpp_ioam_speed(code), 0);
}
