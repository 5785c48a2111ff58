/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Builds frames with TCP segments for port_test.c, progs_test.c and fuzz.c. Include it after
 * hpccpp_wire.h and a header that defines IPPROTO_TCP.
 */
/* not each test uses all functions; rows of tables leave out zeros */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define TCP_LEN		20
#define ACK		0x10
#define PSH		0x08
#define SYN		0x02

struct frame {
	__u8 b[4096];
	__u32 len;
	bool v6;
	__u32 l3, tcp;		/* offsets of the IP and TCP headers */
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

static __u16 folded(__u64 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static __u64 add16(const __u8 *p, __u32 n)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < n; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	return sum;
}

/* Returns the sum over pseudo-header, header and data: 0xffff if the checksum is right */
static __u16 l4_sum(const __u8 *ip, bool v6, const __u8 *l4, __u32 len, __u8 proto)
{
	return folded(add16(ip + (v6 ? 8 : 12), v6 ? 32 : 8) + proto + len + add16(l4, len));
}

static __u16 tcp_sum(const struct frame *f)
{
	return l4_sum(f->b + f->l3, f->v6, f->b + f->tcp, f->len - f->tcp, IPPROTO_TCP);
}

static void put_tcp_sum(struct frame *f)
{
	put16(f->b + f->tcp + 16, 0);
	put16(f->b + f->tcp + 16, ~tcp_sum(f));
}

/* VLAN tags, family, length of the IPv4 header in words, header of IPv6 BIG TCP */
static const struct shape { int tags; bool v6; int ihl; bool jumbo; } shapes[] = {
	{ 0, false, 5 }, { 0, true }, { 1, false, 5 }, { 1, true }, { 2, false, 5 },
	{ 2, true }, { 0, false, 6 }, { 0, false, 15 }, { 2, false, 15 },
	{ 0, true, .jumbo = true },
};

#define SHAPES		((int)(sizeof(shapes) / sizeof(shapes[0])))
#define JUMBO		(SHAPES - 1)

/* Builds a TCP segment with these options (a multiple of 4 bytes) and random data */
static void segment(struct frame *f, const struct shape *s, __u8 flags,
		    const void *opts, int opts_len, int data)
{
	int i, l4_len = TCP_LEN + opts_len + data;
	__u8 *p = f->b + 12;

	f->v6 = s->v6;
	f->l3 = 14 + 4 * s->tags;
	f->tcp = f->l3 + (s->v6 ? 40 + 8 * s->jumbo : s->ihl * 4);
	f->len = f->tcp + l4_len;
	for (i = 0; i < (int)f->len; i++)
		f->b[i] = rnd();
	f->b[0] &= ~1;
	for (i = 0; i < s->tags; i++, p += 4)
		put16(p, i + 1 < s->tags ? 0x88a8 : 0x8100);
	put16(p, s->v6 ? 0x86dd : 0x0800);
	p += 2;
	if (s->v6) {
		put32(p, 0x60000000);
		put16(p + 4, s->jumbo ? 0 : l4_len);
		p[6] = s->jumbo ? 0 : IPPROTO_TCP;
		if (s->jumbo)
			memcpy(p + 40, (__u8 [8]) { IPPROTO_TCP, 0, 194, 4, 0, 1, 0x86 }, 8);
	} else {
		p[0] = 0x40 | s->ihl;
		put16(p + 2, s->ihl * 4 + l4_len);
		put16(p + 6, 0x4000);
		p[9] = IPPROTO_TCP;
	}
	f->b[f->tcp + 12] = (TCP_LEN + opts_len) << 2;
	f->b[f->tcp + 13] = flags;
	memcpy(f->b + f->tcp + TCP_LEN, opts, opts_len);
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

/* Builds a segment whose only option is a collect with n empty records, in IPv4 or IPv6 */
static void collect(struct frame *f, bool v6, int n, int data)
{
	__u8 opts[40] = {};

	put_header(opts, HPCCPP_OPT_LEN(n), HPCCPP_EXID_COLLECT);
	segment(f, &shapes[v6], ACK, opts, HPCCPP_OPT_LEN(n), data);
}
