/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of progs_test.c: segments of IPv6 BIG TCP, which have a header before TCP's.
 */

/* Puts a header of IPv6 BIG TCP before the TCP header. */
static void make_jumbo(struct frame *f)
{
	const __u8 jumbo[8] = { IPPROTO_TCP, 0, 194, 4, 0, 1, 0x86, 0xa0 };

	memmove(f->b + f->tcp + sizeof(jumbo), f->b + f->tcp, f->len - f->tcp);
	memcpy(f->b + f->tcp, jumbo, sizeof(jumbo));
	f->len += sizeof(jumbo);
	f->b[f->l3 + 4] = 0;
	f->b[f->l3 + 5] = 0;
	f->b[f->l3 + 6] = IPPROTO_HOPOPTS;
}

static void big_tcp(void **state)
{
	struct frame f, jumbo, out;
	int n;

	for (n = 1; n <= HPCCPP_REC_MAX; n++) {
		collect(&f, true, n, 100);
		jumbo = f;
		make_jumbo(&jumbo);
		assert_int_equal(pass(&jumbo, &out, NULL), HPCCPP_PS_STAMPED);
		assert_memory_equal(out.b + f.tcp, jumbo.b + f.tcp, 8);
		memmove(out.b + f.tcp, out.b + f.tcp + 8, f.len - f.tcp);
		memcpy(out.b + f.l3 + 4, f.b + f.l3 + 4, 3);
		out.len = f.len;
		assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR, record());
	}
}

/* Other headers before TCP's: another option, more than the one, another header behind. */
static void what_looks_like_big_tcp(void **state)
{
	static const struct { int at; __u8 is; } other[] = {
		{ 0, IPPROTO_UDP }, { 1, 1 }, { 2, 5 }, { 3, 2 }, { -1, 1 },
	};
	struct frame f, out;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(other); i++) {
		collect(&f, true, 1, 100);
		make_jumbo(&f);
		/* a length in the IPv6 header: it is not the large packet's */
		f.b[other[i].at < 0 ? f.l3 + 5 : f.tcp + other[i].at] = other[i].is;
		assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_EXTENSION);
		assert_same(&f, &out);
	}
}
