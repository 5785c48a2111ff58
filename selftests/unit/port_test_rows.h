/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of port_test.c: single segments through the port agent: what each row puts in, and
 * what must come out.
 */
#define QUEUES		4
#define NOTHING		-1		/* no counter has risen */
#define PROGRAMS	3		/* hpccpp_port, hpccpp_port_ext, hpccpp_port_cnp */

static struct hpccpp_port port_before;	/* state of the port when a segment comes */
static int program;			/* that it passes */

/*
 * 200 Mbit/s as link 0x123. The clock of the virtual queue is ahead, so that nothing leaves
 * it; there is no snapshot, so that U stays.
 */
static int rows_reset(void **state)
{
	port_before = (struct hpccpp_port) {
		.U = 3 << (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT),
		.v_now = ~0ULL >> 1,
		.v_qlen = 5ULL << (HPCCPP_QLEN_SHIFT + 8),
		.v_in = 12ULL << (HPCCPP_TX_SHIFT + 8),
		.cfg = {
			.rate = 200000000, .rate_code = hpccpp_rate_encode(200000000),
			.base_rtt = 100, .link = 0x123, .queue = HPCCPP_QUEUE_VIRTUAL,
			.queues = QUEUES,
		},
	};
	program = 0;
	return 0;
}

static struct __sk_buff skb;

static void put_packet(const struct frame *f)
{
	assert_true(f->len <= sizeof(packet));
	memcpy(packet, f->b, f->len);
	packet_len = f->len;
	skb = (struct __sk_buff) {
		.len = f->len, .wire_len = f->len, .ingress_ifindex = 1,
		.hash = flow_hash,
	};
	skb.protocol = protocol_of_packet();
}

static __u64 counted(void)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < HPCCPP_PS_MAX; i++)
		sum += stats[i];
	return sum;
}

/* Sends a frame through the program. Returns the counter that has risen. */
static int pass(const struct frame *in, struct frame *out)
{
	static int (* const programs[PROGRAMS])(struct __sk_buff *skb) = {
		hpccpp_port, hpccpp_port_ext, hpccpp_port_cnp,
	};
	static const int kinds[] = HPCCPP_PORT_STAT_KINDS;
	size_t k;
	int i;

	the_port = port_before;
	the_roce.cnp = 0;
	memset(stats, 0, sizeof(stats));
	put_packet(in);
	assert_int_equal(programs[program](&skb), TC_ACT_UNSPEC);
	*out = *in;
	out->len = packet_len;
	memcpy(out->b, packet, packet_len);
	/* every packet joins the queue, and is counted once */
	assert_int_equal(the_port.v_in, port_before.v_in + (in->len << 8));
	assert_int_equal(counted(), 1);
	for (i = 0; !stats[i]; i++)
		;
	for (k = 0; k < ROOM(kinds) && kinds[k] != i; k++)
		;
	assert_true(k < ROOM(kinds));
	return i;
}

/* The record that a segment leaves with */
static struct hpccpp_int record(void)
{
	return (struct hpccpp_int) {
		.link = 0x123, .rate = port_before.cfg.rate_code,
		.U = port_before.U >> (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT),
		.ts = now >> HPCCPP_TS_SHIFT & HPCCPP_MASK24,
		.tx_bytes = 7, .qlen = 5, .N = 1,
	};
}

/* Fails unless "out" is "want", with the record r at offset "at" unless that is 0 */
static void assert_frame(const char *why, struct frame want, const struct frame *out,
			 __u32 at, struct hpccpp_int r)
{
	__u32 i;

	if (at) {
		put_record(want.b + at, &r);
		put_tcp_sum(&want);
	}
	if (out->len != want.len)
		fail_msg("%s Length: %u bytes.", why, out->len);
	for (i = 0; i < want.len; i++) {
		if (out->b[i] != want.b[i])
			fail_msg("%s Byte %u of program %d.", why, i, program);
	}
}

/*
 * Sends f through each program that has what the port's configuration needs. It is counted
 * as "stat" and leaves as "want", or with the port's record at offset "at".
 */
static void assert_passes(const char *why, const struct frame *f, int stat,
			  const struct frame *want, __u32 at)
{
	struct hpccpp_int r = record();
	struct frame out;
	int counted;

	if (f->len > f->tcp + 13 && f->b[f->tcp + 13] & SYN)
		r.N = 0;		/* no flows begin with it */
	program = port_before.cfg.above || port_before.cfg.subscribed;
	for (; program < PROGRAMS; program++) {
		counted = pass(f, &out);
		if (counted != stat)
			fail_msg("%s Program %d counts %d.", why, program, counted);
		assert_frame(why, *want, &out, at, r);
	}
	program = 0;
}

/* --- Where the option is ----------------------------------------------------- */

#define ZERO12	"\0\0\0\0\0\0\0\0\0\0\0\0"
#define LOOKS	"\xfd\x10HC"
#define COLLECT	"\xfd\x10HC" ZERO12
#define BURST	"\xfd\x10HB" ZERO12
#define TWO	"\xfd\x1cHC" ZERO12 ZERO12
#define THREE	"\xfd\x28HC" ZERO12 ZERO12 ZERO12
#define TWENTY	"\xfd\x14HC" ZERO12 "\0\0\0\0"
#define MSS	"\2\4\5\xb4"
#define SACKS	"\4\2"
#define TIMES	"\x8\xa\1\2\3\4\5\6\7\x8"
#define EDGES	"\1\2\3\4\5\6\7\x8"
#define SCALE	"\1\3\3\7"
#define DIGEST	"\x13\x12" EDGES EDGES		/* of MD5 */
#define NOPS	"\1\1"
#define OPTS(s)	{ sizeof(s) - 1, s }

/* The record is written at offset "at" of the options; those of a row without are padded. */
static const struct option_row {
	const char *why;
	__u8 flags;
	int stat, at;
	struct { int len; char b[41]; } opts;
} option_rows[] = {
	/* layouts of Linux */
	{ "A request alone.", ACK, HPCCPP_PS_STAMPED, 4, OPTS(COLLECT) },
	{ "A request after timestamps.",
	  ACK, HPCCPP_PS_STAMPED, 16, OPTS(NOPS TIMES COLLECT) },
	{ "A request after one SACK block, in a segment with PSH.",
	  ACK | PSH, HPCCPP_PS_STAMPED, 16, OPTS(NOPS "\5\xa" EDGES COLLECT) },
	{ "A request after two SACK blocks.",
	  ACK, HPCCPP_PS_STAMPED, 24, OPTS(NOPS "\5\x12" EDGES EDGES COLLECT) },
	{ "A request after timestamps and a SACK block, in a FIN: the last place there is.",
	  0x11, HPCCPP_PS_STAMPED, 28, OPTS(NOPS TIMES NOPS "\5\xa" EDGES COLLECT) },
	{ "A request after an MD5 digest.",
	  ACK, HPCCPP_PS_STAMPED, 24, OPTS(NOPS DIGEST COLLECT) },
	{ "A SYN's request after MSS.", SYN, HPCCPP_PS_STAMPED, 8, OPTS(MSS COLLECT) },
	{ "A SYN's request after window scaling.",
	  SYN, HPCCPP_PS_STAMPED, 12, OPTS(MSS SCALE COLLECT) },
	{ "A SYN's request after SACK permitted.",
	  SYN, HPCCPP_PS_STAMPED, 12, OPTS(MSS NOPS SACKS COLLECT) },
	{ "A SYN's request after timestamps.",
	  SYN, HPCCPP_PS_STAMPED, 20, OPTS(MSS NOPS TIMES COLLECT) },
	{ "A SYN's request after timestamps with SACK permitted and window scaling.",
	  SYN, HPCCPP_PS_STAMPED, 24, OPTS(MSS SACKS TIMES SCALE COLLECT) },
	{ "A SYN-ACK's request with the echo of the SYN after the record.",
	  SYN | ACK, HPCCPP_PS_STAMPED, 8, OPTS(MSS TWENTY) },
	/* what follows, and how many records there are */
	{ "NOPs after the request.", ACK, HPCCPP_PS_STAMPED, 4, OPTS(COLLECT NOPS NOPS) },
	{ "A malformed option after the request.",
	  ACK, HPCCPP_PS_STAMPED, 4, OPTS(COLLECT NOPS "\xfd\x28") },
	{ "Two empty records.", ACK, HPCCPP_PS_STAMPED, 16, OPTS(NOPS TIMES TWO) },
	{ "Three empty records.", ACK, HPCCPP_PS_STAMPED, 4, OPTS(THREE) },
	/* a GSO packet's request that is valid in its last segment */
	{ "PSH marks the last segment of the GSO packet.",
	  ACK | PSH, HPCCPP_PS_STAMPED, 4, OPTS(BURST) },
	{ "Segments without PSH precede it.", ACK, HPCCPP_PS_PASSED, 0, OPTS(BURST) },
	/* bytes of another option that look like a request */
	{ "Timestamps, then a SACK block.",
	  ACK, HPCCPP_PS_PASSED, 0, OPTS(NOPS "\x8\xa" LOOKS LOOKS NOPS "\5\xa" LOOKS) },
	{ "Three SACK blocks, which no layout with a request has.",
	  ACK, HPCCPP_PS_PASSED, 0, OPTS(NOPS "\5\x1a" LOOKS LOOKS LOOKS LOOKS LOOKS) },
	{ "An MD5 digest.",
	  ACK, HPCCPP_PS_PASSED, 0, OPTS(NOPS "\x13\x12" LOOKS LOOKS LOOKS LOOKS) },
	{ "An unknown option.", ACK, HPCCPP_PS_PASSED, 0, OPTS("\x1e\x14\0\0" LOOKS) },
	{ "Timestamps without NOPs before them.",
	  ACK, HPCCPP_PS_PASSED, 0, OPTS("\x8\xa\1\2" LOOKS LOOKS NOPS) },
	/* options that Linux or another TCP writes before the request */
	{ "After timestamps and AccECN with three counters.",
	  ACK, HPCCPP_PS_STAMPED, 28, OPTS(NOPS TIMES "\xae\xb" LOOKS LOOKS "\1\1" COLLECT) },
	{ "After AccECN with one counter, and a SACK block.", ACK, HPCCPP_PS_STAMPED, 22,
	  OPTS("\xac\5\1\2\3\1" NOPS "\5\xa" EDGES COLLECT NOPS) },
	{ "After AccECN in a SYN-ACK without timestamps.", SYN | ACK, HPCCPP_PS_STAMPED, 24,
	  OPTS(MSS SCALE "\xac\xb" LOOKS LOOKS "\1\1" COLLECT) },
	{ "After MPTCP.", ACK, HPCCPP_PS_STAMPED, 16, OPTS("\x1e\xc\0\0" LOOKS LOOKS COLLECT) },
	{ "After two NOPs.", ACK, HPCCPP_PS_STAMPED, 6, OPTS(NOPS COLLECT NOPS) },
	{ "After another experimental option.",
	  ACK, HPCCPP_PS_STAMPED, 8, OPTS("\xfe\4\0\0" COLLECT) },
	{ "After another option of the same kind.",
	  ACK, HPCCPP_PS_STAMPED, 8, OPTS("\xfd\4HD" COLLECT) },
	{ "In a SYN without MSS.", SYN, HPCCPP_PS_STAMPED, 4, OPTS(COLLECT) },
	/* a request that cannot be read */
	{ "After the end of the options.", ACK, HPCCPP_PS_PASSED, 0, OPTS("\0\0\0\0" LOOKS) },
	{ "After an option without a length.", ACK, HPCCPP_PS_PASSED, 0, OPTS("\x1e\0" LOOKS) },
	{ "After an option with a length of 1.", ACK, HPCCPP_PS_PASSED, 0, OPTS("\x1e\1" LOOKS) },
	{ "After an option that ends beyond the header.",
	  ACK, HPCCPP_PS_PASSED, 0, OPTS("\x1e\xff" LOOKS) },
	{ "Options that are too short for a record.", ACK, HPCCPP_PS_PASSED, -1, OPTS(LOOKS) },
	/* requests that cannot be written */
	{ "At an odd offset, after one NOP.", ACK, HPCCPP_PS_BAD, 0, OPTS("\1" LOOKS) },
	{ "At the last word, where no record fits.",
	  ACK, HPCCPP_PS_BAD, 0, OPTS(NOPS TIMES NOPS "\5\x12" EDGES EDGES LOOKS) },
	{ "20 bytes are the length of a SYN's request only.",
	  ACK, HPCCPP_PS_BAD, 0, OPTS(TWENTY) },
	{ "The options end before the request does.",
	  ACK, HPCCPP_PS_BAD, -1, OPTS(NOPS TIMES "\xfd\x1cHC" ZERO12) },
};

TEST(finds_the_option)
{
	const struct option_row *r;
	struct frame f;
	__u8 opts[40];
	size_t i;
	int s;

	for (i = 0; i < ROOM(option_rows); i++) {
		r = &option_rows[i];
		memset(opts, 0, sizeof(opts));
		memcpy(opts, r->opts.b, r->opts.len);
		for (s = 0; s < SHAPES; s++) {
			segment(&f, &shapes[s], r->flags, opts, r->at ? r->opts.len : 40,
				rnd() % 7);
			assert_passes(r->why, &f, r->stat, &f,
				      r->at > 0 ? f.tcp + TCP_LEN + r->at : 0);
		}
	}
}

/* --- Which record is written ------------------------------------------------- */

#define MBIT	1000000ULL
#define SLOW	(10 * MBIT)
#define OURS	(200 * MBIT)
#define FAST	(100000 * MBIT)
#define WANTED	1			/* link of an unconditional request, without rate */

/* The port's load is U, 3/64 unless the row gives another. */
static const struct record_row {
	const char *why;
	int stat, victim;
	int n;
	struct { __u64 rate; __u8 U; __u16 link; } rec[HPCCPP_REC_MAX];
	__u8 above, U;
	__u32 bound;		/* that an empty record leaves with */
} record_rows[] = {
	{ "An empty record is written first, however low the load of the others.",
	  HPCCPP_PS_STAMPED, 1, 3, { { OURS, 2 }, {}, { OURS, 1 } } },
	{ "The first of two empty records is written.",
	  HPCCPP_PS_STAMPED, 1, 3, { { OURS, 9 }, {}, {} } },
	{ "The last record is empty.", HPCCPP_PS_STAMPED, 2, 3, { { OURS, 2 }, { OURS, 2 } } },
	{ "Only the bytes of the rate make a record empty.",
	  HPCCPP_PS_STAMPED, 0, 2, { { 0, 200, 5 }, { OURS, 2 } } },
	{ "The record with the lowest load is replaced.",
	  HPCCPP_PS_REPLACED, 1, 3, { { OURS, 2 }, { OURS, 1 }, { OURS, 2 } } },
	{ "The last record has the lowest load.",
	  HPCCPP_PS_REPLACED, 2, 3, { { OURS, 2 }, { OURS, 4 }, { OURS, 1 } } },
	{ "The first of two equal records is replaced.",
	  HPCCPP_PS_REPLACED, 0, 2, { { OURS, 2 }, { OURS, 2 } } },
	{ "At equal loads the record of the faster link is replaced.",
	  HPCCPP_PS_REPLACED, 1, 3, { { SLOW, 2 }, { FAST, 2 }, { OURS, 2 } } },
	{ "The load counts before the rate.",
	  HPCCPP_PS_REPLACED, 1, 2, { { FAST, 2 }, { SLOW, 1 } } },
	{ "A record of the same load and a faster link is replaced.",
	  HPCCPP_PS_REPLACED, 0, 1, { { FAST, 3 } } },
	{ "Records of a higher load stay.",
	  HPCCPP_PS_KEPT, 0, 3, { { OURS, 4 }, { FAST, 255 }, { SLOW, 4 } } },
	{ "A record of the same load and rate stays.", HPCCPP_PS_KEPT, 0, 1, { { OURS, 3 } } },
	{ "A record of the same load and a slower link stays.",
	  HPCCPP_PS_KEPT, 0, 2, { { SLOW, 3 }, { SLOW, 4 } } },
	/* a port with a threshold of 52/64 */
	{ "Below the threshold the record stays empty, and its bound rises.",
	  HPCCPP_PS_QUIET, 0, 1, {}, .above = 52, .bound = 52 },
	{ "The bound rises by one.",
	  HPCCPP_PS_QUIET, 0, 2, { { .U = 51 } }, .above = 52, .bound = 52 },
	{ "The bound is the threshold already.",
	  HPCCPP_PS_QUIET, 0, 3, { { .U = 52 } }, .above = 52, .bound = 52 },
	{ "The higher bound of a previous port stays.",
	  HPCCPP_PS_QUIET, 0, 1, { { .U = 255 } }, .above = 52, .bound = 255 },
	{ "One below the threshold.",
	  HPCCPP_PS_QUIET, 0, 1, {}, .above = 52, .U = 51, .bound = 52 },
	{ "At the threshold the record is written.",
	  HPCCPP_PS_STAMPED, 0, 1, {}, .above = 52, .U = 52 },
	{ "An unconditional request is written below the threshold.",
	  HPCCPP_PS_STAMPED, 0, 1, { { .link = WANTED } }, .above = 52 },
	{ "An unconditional request with a bound.",
	  HPCCPP_PS_STAMPED, 0, 3, { { .link = WANTED, .U = 53 } }, .above = 52 },
	{ "Below the threshold a record of a lower load is replaced.",
	  HPCCPP_PS_REPLACED, 0, 1, { { OURS, 2 } }, .above = 52 },
	{ "Below the threshold a record of the same load stays.",
	  HPCCPP_PS_KEPT, 0, 1, { { OURS, 3 } }, .above = 52 },
};

TEST(chooses_the_record)
{
	const struct record_row *r;
	struct frame f, want;
	struct hpccpp_int rec;
	size_t i;
	__u8 *p;
	int v6, n;

	for (i = 0; i < ROOM(record_rows); i++) {
		r = &record_rows[i];
		for (v6 = 0; v6 < 2; v6++) {
			set_up(state);
			port_before.cfg.above = r->above;
			if (r->U)
				port_before.U = r->U << (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT);
			collect(&f, v6, r->n, 10);
			p = f.b + f.tcp + TCP_LEN + HPCCPP_OPT_HDR;
			for (n = 0; n < r->n; n++) {
				hpccpp_int_decode(&rec, 0, rnd(), rnd());
				rec.link = r->rec[n].link ?: r->rec[n].rate ? 0x456 : 0;
				rec.rate = hpccpp_rate_encode(r->rec[n].rate);
				rec.U = r->rec[n].U;
				put_record(p + n * HPCCPP_REC_LEN, &rec);
			}
			put_tcp_sum(&f);
			want = f;
			if (r->bound)
				put32(want.b + (p - f.b), r->bound);
			put_tcp_sum(&want);
			assert_passes(r->why, &f, r->stat, &want,
				      r->stat == HPCCPP_PS_KEPT || r->bound ? 0 :
				      p - f.b + r->victim * HPCCPP_REC_LEN);
		}
	}
}

/* The checksum is updated to what it would be, and a wrong one stays as wrong as it was. */
TEST(checksums)
{
	struct frame f, out;
	__u32 at, x;

	for (x = 0; x < 65536; x++) {
		collect(&f, x & 1, 1, 10);
		at = f.tcp + TCP_LEN + HPCCPP_OPT_LEN(1);
		put16(f.b + at, 0);
		put_tcp_sum(&f);
		put16(f.b + at, (f.b[f.tcp + 16] << 8 | f.b[f.tcp + 17]) + x);
		put_tcp_sum(&f);
		assert_int_equal(pass(&f, &out), HPCCPP_PS_STAMPED);
		assert_frame("A right checksum.", f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR,
			     record());
	}
	for (x = 0; x < 500; x++) {
		collect(&f, x & 1, 1 + x % HPCCPP_REC_MAX, 20);
		f.b[f.len - 1 - rnd() % 20] ^= 1 << rnd() % 8;
		assert_int_not_equal(tcp_sum(&f), 0xffff);
		assert_int_equal(pass(&f, &out), HPCCPP_PS_STAMPED);
		assert_int_equal(tcp_sum(&out) % 0xffff, tcp_sum(&f) % 0xffff);
	}
}
