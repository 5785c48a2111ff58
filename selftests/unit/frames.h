/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames that bring TCP segments, for unit tests of the port agent. After
 * cmocka.h, hpccpp_wire.h and what names protocols.
 */
#define TCP_LEN		20

struct frame {
	__u8 b[4096];
	__u32 len;
	__u32 l3, tcp;		/* where they begin */
};

static __u64 prng = 0x9e3779b97f4a7c15ULL;

static __u32 rnd(void)
{
	prng ^= prng >> 12;
	prng ^= prng << 25;
	prng ^= prng >> 27;
	return (prng * 0x2545f4914f6cdd1dULL) >> 32;
}

static void put16(__u8 *p, __u16 x)
{
	p[0] = x >> 8;
	p[1] = x;
}

static void put32(__u8 *p, __u32 x)
{
	put16(p, x >> 16);
	put16(p + 2, x);
}

static __u64 add16(const __u8 *p, __u32 n)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < n; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	return sum;
}

/* The sum over TCP and its pseudo-header: 0xffff when the checksum is right */
static __u16 tcp_sum(const struct frame *f)
{
	bool v6 = f->b[f->l3] >> 4 == 6;
	__u64 sum = add16(f->b + f->l3 + (v6 ? 8 : 12), v6 ? 32 : 8);

	sum += IPPROTO_TCP + f->len - f->tcp;
	sum += add16(f->b + f->tcp, f->len - f->tcp);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void put_tcp_sum(struct frame *f)
{
	put16(f->b + f->tcp + 16, 0);
	put16(f->b + f->tcp + 16, ~tcp_sum(f));
}

static const struct shape { int tags; bool v6; int ihl; } shapes[] = {
	{ 0, false, 5 }, { 0, true, 0 }, { 1, false, 5 }, { 1, true, 0 },
	{ 2, false, 5 }, { 2, true, 0 }, { 0, false, 6 }, { 0, false, 15 },
	{ 2, false, 15 },
};

/* A TCP segment with these options (a multiple of 4) and so much random data */
static void segment(struct frame *f, const struct shape *s, __u8 flags,
		    const __u8 *opts, int opts_len, int data)
{
	int i, l4_len = TCP_LEN + opts_len + data;
	__u16 proto = s->v6 ? 0x86dd : 0x0800;
	__u8 *p;

	for (i = 0; i < (int)sizeof(f->b); i++)
		f->b[i] = rnd();
	f->b[0] &= ~1;
	p = f->b + 12;
	for (i = 0; i < s->tags; i++, p += 4)
		put16(p, i + 1 < s->tags ? 0x88a8 : 0x8100);
	put16(p, proto);
	p += 2;
	f->l3 = p - f->b;
	if (s->v6) {
		put32(p, 0x60000000);
		put16(p + 4, l4_len);
		p[6] = IPPROTO_TCP;
		p += 40;
	} else {
		p[0] = 0x40 | s->ihl;
		put16(p + 2, s->ihl * 4 + l4_len);
		put16(p + 6, 0x4000);
		p[9] = IPPROTO_TCP;
		p += s->ihl * 4;
	}
	f->tcp = p - f->b;
	f->len = f->tcp + l4_len;
	p[12] = (TCP_LEN + opts_len) << 2;
	p[13] = flags;
	memcpy(p + TCP_LEN, opts, opts_len);
	put_tcp_sum(f);
}

static void put_header(__u8 *p, __u8 len, __u16 exid)
{
	p[0] = HPCCPP_OPT_KIND;
	p[1] = len;
	put16(p + 2, exid);
}

static void put_record(__u8 *p, const struct hpccpp_int *r)
{
	put32(p, hpccpp_int_w0(r));
	put32(p + 4, hpccpp_int_w1(r));
	put32(p + 8, hpccpp_int_w2(r));
}

static void assert_same(const struct frame *a, const struct frame *b)
{
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->b, b->b, a->len);
}

/* A collect of n empty records and nothing else, in IPv4 or IPv6 */
static void collect(struct frame *f, bool v6, int n, int data)
{
	__u8 opts[40] = {};

	put_header(opts, HPCCPP_OPT_LEN(n), HPCCPP_EXID_COLLECT);
	segment(f, &shapes[v6], 0x10, opts, HPCCPP_OPT_LEN(n), data);
}
