/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of port_test.c: one byte of a segment that requests telemetry takes each value. Most
 * values make of it a packet that the agent leaves alone and counts as what it is.
 */

enum base { ETH, IP, PROTO, TCP };

struct patch {
	enum base base;
	__u8 at, value;
};

struct values {
	__u16 from, to;			/* "to" is not one of them */
	int stat;
};

#define V4	1
#define V6	2
#define BIG	4			/* IPv6 BIG TCP */
#define OPT	TCP_LEN			/* of the first byte of the option */

static const struct sweep {
	const char *why;
	int frames;			/* V4, V6, BIG */
	struct patch byte;		/* that takes each value */
	struct values counted[14];	/* of several the last one with the value counts */
	struct patch also[2];		/* other bytes */
	bool subscribed;		/* to codepoint 46 */
} sweeps[] = {
	{ "Protocols above IP.", V4 | V6, { PROTO, 0 },
	  { { 0, 256, HPCCPP_PS_NOT_TCP }, { 6, 7, HPCCPP_PS_STAMPED },
	    { 4, 5, HPCCPP_PS_TUNNEL }, { 41, 42, HPCCPP_PS_TUNNEL },
	    { 47, 48, HPCCPP_PS_TUNNEL }, { 50, 51, HPCCPP_PS_TUNNEL },
	    { 115, 116, HPCCPP_PS_TUNNEL }, { 137, 138, HPCCPP_PS_TUNNEL },
	    { 0, 1, HPCCPP_PS_EXTENSION }, { 43, 45, HPCCPP_PS_EXTENSION },
	    { 51, 52, HPCCPP_PS_EXTENSION }, { 60, 61, HPCCPP_PS_EXTENSION } } },
	{ "UDP ports: VXLAN of IANA.", V4 | V6, { TCP, 3 },
	  { { 0, 256, HPCCPP_PS_NOT_TCP }, { 0xb5, 0xb6, HPCCPP_PS_TUNNEL } },
	  { { PROTO, 0, 17 }, { TCP, 2, 0x12 } } },
	{ "UDP ports: VXLAN of Linux.", V4 | V6, { TCP, 3 },
	  { { 0, 256, HPCCPP_PS_NOT_TCP }, { 0x18, 0x19, HPCCPP_PS_TUNNEL } },
	  { { PROTO, 0, 17 }, { TCP, 2, 0x21 } } },
	{ "UDP ports: Geneve.", V4 | V6, { TCP, 3 },
	  { { 0, 256, HPCCPP_PS_NOT_TCP }, { 0xc1, 0xc2, HPCCPP_PS_TUNNEL } },
	  { { PROTO, 0, 17 }, { TCP, 2, 0x17 } } },
	{ "Ethernet types, first byte.", V4, { ETH, 12 },
	  { { 0, 256, HPCCPP_PS_OTHER }, { 8, 9, HPCCPP_PS_STAMPED } } },
	{ "Ethernet types, second byte.", V6, { ETH, 13 },
	  { { 0, 256, HPCCPP_PS_OTHER }, { 0xdd, 0xde, HPCCPP_PS_STAMPED } } },
	{ "The length of the IPv4 header puts TCP at another place.", V4, { IP, 0 },
	  { { 0x40, 0x45, HPCCPP_PS_NOT_TCP }, { 0x45, 0x46, HPCCPP_PS_STAMPED },
	    { 0x46, 0x50, HPCCPP_PS_PASSED } } },
	{ "Fragments: TCP's header is in the first one.", V4, { IP, 6 },
	  { { 0, 256, HPCCPP_PS_NOT_TCP }, { 0, 1, HPCCPP_PS_STAMPED },
	    { 0x20, 0x21, HPCCPP_PS_STAMPED }, { 0x40, 0x41, HPCCPP_PS_STAMPED },
	    { 0x60, 0x61, HPCCPP_PS_STAMPED }, { 0x80, 0x81, HPCCPP_PS_STAMPED },
	    { 0xa0, 0xa1, HPCCPP_PS_STAMPED }, { 0xc0, 0xc1, HPCCPP_PS_STAMPED },
	    { 0xe0, 0xe1, HPCCPP_PS_STAMPED } } },
	{ "Fragments with a small offset.", V4, { IP, 7 },
	  { { 0, 256, HPCCPP_PS_NOT_TCP }, { 0, 1, HPCCPP_PS_STAMPED } } },
	{ "Another header than TCP after the jumbo option.", BIG, { IP, 40 },
	  { { 0, 256, HPCCPP_PS_EXTENSION }, { 6, 7, HPCCPP_PS_STAMPED } } },
	{ "A longer header with the jumbo option.", BIG, { IP, 41 },
	  { { 0, 256, HPCCPP_PS_EXTENSION }, { 0, 1, HPCCPP_PS_STAMPED } } },
	{ "Another option than the jumbo option.", BIG, { IP, 42 },
	  { { 0, 256, HPCCPP_PS_EXTENSION }, { 194, 195, HPCCPP_PS_STAMPED } } },
	{ "Another length of the jumbo option.", BIG, { IP, 43 },
	  { { 0, 256, HPCCPP_PS_EXTENSION }, { 4, 5, HPCCPP_PS_STAMPED } } },
	{ "A jumbo option, and a length in the IPv6 header.", BIG, { IP, 5 },
	  { { 0, 256, HPCCPP_PS_EXTENSION }, { 0, 1, HPCCPP_PS_STAMPED } } },
	{ "The data offset: no room for a record, for the option, for both.", V4 | V6,
	  { TCP, 12 },
	  { { 0, 0x90, HPCCPP_PS_PASSED }, { 0x90, 0xc0, HPCCPP_PS_BAD },
	    { 0xc0, 256, HPCCPP_PS_STAMPED } } },
	{ "The kind of the option.", V4 | V6, { TCP, OPT },
	  { { 0, 256, HPCCPP_PS_PASSED },
	    { HPCCPP_OPT_KIND, HPCCPP_OPT_KIND + 1, HPCCPP_PS_STAMPED } } },
	{ "The length of the option: one record, two, or malformed.", V4 | V6, { TCP, OPT + 1 },
	  { { 0, 256, HPCCPP_PS_BAD }, { 16, 17, HPCCPP_PS_STAMPED },
	    { 28, 29, HPCCPP_PS_STAMPED } } },
	{ "ExIDs, first byte.", V4 | V6, { TCP, OPT + 2 },
	  { { 0, 256, HPCCPP_PS_PASSED }, { 'H', 'H' + 1, HPCCPP_PS_STAMPED } } },
	{ "ExIDs, second byte: 0x4842 needs PSH.", V4 | V6, { TCP, OPT + 3 },
	  { { 0, 256, HPCCPP_PS_PASSED }, { 'C', 'C' + 1, HPCCPP_PS_STAMPED } } },
	{ "IPv4's codepoint, whatever ECN is.", V4, { IP, 1 },
	  { { 0, 256, HPCCPP_PS_UNSUBSCRIBED }, { 184, 188, HPCCPP_PS_STAMPED } },
	  .subscribed = true },
	{ "IPv6's codepoint, low bits.", V6, { IP, 1 },
	  { { 0, 256, HPCCPP_PS_UNSUBSCRIBED }, { 0x80, 0xc0, HPCCPP_PS_STAMPED } },
	  { { IP, 0, 0x6b } }, .subscribed = true },
	{ "IPv6's codepoint, high bits.", V6, { IP, 0 },
	  { { 0x60, 0x70, HPCCPP_PS_UNSUBSCRIBED }, { 0x6b, 0x6c, HPCCPP_PS_STAMPED } },
	  { { IP, 1, 0x80 } }, .subscribed = true },
};

static void put_patch(struct frame *f, const struct patch *p, __u8 value)
{
	const __u32 base[] = { 0, f->l3, f->l3 + (f->v6 ? 6 : 9), f->tcp };

	f->b[base[p->base] + p->at] = value;
}

static void sweep_byte(const struct sweep *s, const struct shape *shape)
{
	static const __u8 opts[28] = LOOKS;
	int value, stat, i;
	struct frame f;

	for (value = 0; value < 256; value++) {
		stat = NOTHING;
		for (i = 0; s->counted[i].to; i++) {
			if (value >= s->counted[i].from && value < s->counted[i].to)
				stat = s->counted[i].stat;
		}
		/* versions and codepoints in one byte */
		if (stat == NOTHING)
			continue;
		segment(&f, shape, ACK, opts, sizeof(opts), 40);
		f.b[f.tcp + TCP_LEN + 1] = sizeof(opts);
		for (i = 0; i < 2; i++) {
			if (s->also[i].value)
				put_patch(&f, &s->also[i], s->also[i].value);
		}
		put_patch(&f, &s->byte, value);
		put_tcp_sum(&f);
		assert_passes(s->why, &f, stat, &f, stat == HPCCPP_PS_STAMPED ?
			      f.tcp + TCP_LEN + HPCCPP_OPT_HDR : 0);
	}
}

TEST(leaves_other_packets)
{
	struct frame f;
	size_t i;

	for (i = 0; i < ROOM(sweeps); i++) {
		port_before.cfg.subscribed = sweeps[i].subscribed;
		port_before.cfg.dscp = 46;
		if (sweeps[i].frames & V4)
			sweep_byte(&sweeps[i], &shapes[0]);
		if (sweeps[i].frames & V6)
			sweep_byte(&sweeps[i], &shapes[1]);
		if (sweeps[i].frames & BIG)
			sweep_byte(&sweeps[i], &shapes[JUMBO]);
	}
	port_before.cfg.subscribed = 0;
	segment(&f, &(struct shape){ 3, false, 5 }, ACK, COLLECT, 16, 4);
	assert_passes("Three VLAN tags are one too many.", &f, HPCCPP_PS_TAGS, &f, 0);
}

/* A frame that ends before the option does is left alone. */
TEST(truncated_frames)
{
	__u32 cut, read;
	struct frame f;
	int v6, n;

	for (v6 = 0; v6 < 2; v6++) {
		for (n = 1; n <= HPCCPP_REC_MAX; n++) {
			collect(&f, v6, n, 10);
			cut = f.len;
			read = f.l3 + (v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
			for (f.len = f.l3; f.len < f.tcp + TCP_LEN + HPCCPP_OPT_LEN(n); f.len++)
				assert_passes("Truncated.", &f, f.len < f.l3 + 10 ?
					      HPCCPP_PS_OTHER : f.len < read ?
					      HPCCPP_PS_NOT_TCP : HPCCPP_PS_PASSED, &f, 0);
			for (; f.len < cut; f.len++) {
				put_tcp_sum(&f);
				assert_passes("Without all data.", &f, HPCCPP_PS_STAMPED, &f,
					      f.tcp + TCP_LEN + HPCCPP_OPT_HDR);
			}
		}
	}
}

TEST(fields_have_limits)
{
	struct hpccpp_int want = record();
	struct frame f, out;

	port_before.U = HPCCPP_U_LIMIT;
	port_before.v_qlen = 1ULL << 46;
	port_before.v_in = port_before.v_qlen +
			   ((HPCCPP_MASK24 + 9ULL) << (HPCCPP_TX_SHIFT + 8));
	want.U = HPCCPP_U_MAX;
	want.qlen = HPCCPP_QLEN_MAX;
	want.tx_bytes = 8;
	collect(&f, false, 1, 0);
	assert_int_equal(pass(&f, &out), HPCCPP_PS_STAMPED);
	assert_frame("Largest values.", f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR, want);
}
