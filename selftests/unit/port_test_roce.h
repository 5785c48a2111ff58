/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of port_test.c: what a port finds in the headers of IPv6, the nodes that it writes
 * into traces, whom it marks, and what does not pass the border.
 */

/* An extension header; who puts it into a packet writes what is next */
struct header {
	__u8 type, len;
	__u8 b[128];
};

/* Data of RoCEv2 behind these */
static void behind(struct frame *f, const struct header *h, int n)
{
	__u8 udp[8 + 12 + 20 + 4], *p = f->b + 54, *next = f->b + 20;

	roce_data(f, 0);
	memcpy(udp, f->b + f->l3, sizeof(udp));
	for (; n--; h++) {
		*next = h->type;
		memcpy(p, h->b, h->len);
		next = p;
		p += h->len;
	}
	*next = IPPROTO_UDP;
	memcpy(p, udp, sizeof(udp));
	f->l3 = p - f->b;
	f->len = f->l3 + sizeof(udp);
	put16(f->b + 18, f->len - 54);
}

static struct walk *walk_of(struct frame *f, const struct header *h, int n)
{
	struct walk *w;

	behind(f, h, n);
	put_packet(f);
	w = walk_headers(&skb, 14, &the_roce);
	assert_non_null(w);
	return w;
}

/* One header: where UDP is behind it, and the address of the last destination */
TEST(walks_to_the_data)
{
	static const struct { struct header h; __u32 udp, last; } is[] = {
		{ { 0, 8, { 0, 0, 1, 4 } }, 48, 24 },
		{ { 60, 16, { 0, 1, 1, 12 } }, 56, 24 },
		/* segments, home address: another kind, or none left */
		{ { 43, 24, { 0, 2, 4, 1 } }, 64, 48 },
		{ { 43, 24, { 0, 2, 2, 1 } }, 64, 48 },
		{ { 43, 24, { 0, 2, 3, 1 } }, 64, 0 },
		{ { 43, 24, { 0, 2, 4, 0 } }, 64, 24 },
		{ { 43, 24, { 0, 2, 3, 0 } }, 64, 24 },
		/* the only fragment, the first of several, later ones */
		{ { 44, 8, { 0, 99, 0, 0 } }, 48, 24 },
		{ { 44, 8, { 0, 0, 0, 1 } }, 48, 24 },
		{ { 44, 8, { 0, 0, 0, 8 } }, 0, 24 },
		{ { 44, 8, { 0, 0, 1, 0 } }, 0, 24 },
		/* AH, ESP, nothing, something else */
		{ { 51, 24, { 0, 4 } }, 64, 24 },
		{ { 50, 8, {} }, 0, 24 },
		{ { 59, 8, {} }, 0, 24 },
		{ { 58, 8, {} }, 0, 24 },
	};
	struct header three[3];
	struct walk *w;
	struct frame f;
	size_t i;

	w = walk_of(&f, NULL, 0);
	assert_int_equal(w->udp, 40);
	assert_int_equal(w->last, 24);
	for (i = 0; i < ROOM(is); i++) {
		w = walk_of(&f, &is[i].h, 1);
		assert_int_equal(w->udp, is[i].udp);
		assert_int_equal(w->last, is[i].last);
		assert_false(w->domain || w->lost || w->trace || w->ours);
	}
	/* one behind another */
	three[0] = is[0].h;
	three[1] = is[2].h;
	three[2] = is[7].h;
	w = walk_of(&f, three, 3);
	assert_int_equal(w->udp, 80);
	assert_int_equal(w->last, 56);
	/* of so many bytes of Pad1 the end is not reached */
	memset(&three[0], 0, sizeof(three[0]));
	three[0].len = 96;
	three[0].b[1] = 11;
	assert_true(walk_of(&f, three, 1)->lost);
	three[0].len = 72;
	three[0].b[1] = 8;
	assert_false(walk_of(&f, three, 1)->lost);
}

/* Fast CNP's in destination options, and IOAM's in both */
TEST(walks_past_options_of_the_domain)
{
	static const struct { struct header h; bool domain; } is[] = {
		{ { 60, 16, { 0, 1, 0x9e, 12 } }, true },
		{ { 60, 16, { 0, 1, 0x9d, 12 } }, true },
		{ { 60, 16, { 0, 1, 0x9c, 12 } }, false },
		{ { 0, 16, { 0, 1, 0x9e, 12 } }, false },
		{ { 0, 16, { 0, 1, 0x31, 12 } }, true },
		{ { 0, 16, { 0, 1, 0x11, 12 } }, true },
		{ { 60, 16, { 0, 1, 0x11, 12 } }, true },
		{ { 60, 16, { 0, 1, 0x31, 12 } }, true },
		{ { 60, 16, { 0, 1, 0x51, 12 } }, false },
		/* behind others, and what only looks like it in another's data */
		{ { 60, 16, { 0, 1, 0, 1, 2, 0, 0, 0, 0x9e, 6 } }, true },
		{ { 60, 16, { 0, 1, 1, 12, 0x9e, 10 } }, false },
	};
	struct frame f;
	size_t i;

	for (i = 0; i < ROOM(is); i++)
		assert_int_equal(walk_of(&f, &is[i].h, 1)->domain, is[i].domain);
}

/* A trace option in a header of its own, with room for so many words */
static void put_trace(struct header *h, __u16 ns, __u32 type, __u8 nodelen, __u8 rem)
{
	__u8 data = 4 * (rem & 0x7f);

	memset(h, 0, sizeof(*h));
	h->len = (16 + data + 7) / 8 * 8;
	h->b[1] = h->len / 8 - 1;
	h->b[2] = 1;			/* PadN of 2 */
	h->b[4] = HPCCPP_IOAM_HBH;
	h->b[5] = 10 + data;
	put16(h->b + 8, ns);
	h->b[10] = nodelen << 3;
	h->b[11] = rem;
	put32(h->b + 12, type);
}

TEST(walks_to_our_trace)
{
	struct header h[2];
	struct walk *w;
	struct frame f;

	the_roce.ioam = 1;
	the_roce.ns = bpf_htons(0x105);
	put_trace(&h[0], 0x105, HPCCPP_IOAM_HPCC, 7, 7);
	w = walk_of(&f, h, 1);
	assert_int_equal(w->trace, 44);
	assert_true(w->ours);
	/* with another's in front, and behind: their headers have 48 bytes */
	h[1] = h[0];
	h[1].b[9]++;
	w = walk_of(&f, h, 2);
	assert_int_equal(w->trace, 44);
	assert_true(w->ours);
	h[0].b[9]++;
	h[1].b[9]--;
	w = walk_of(&f, h, 2);
	assert_int_equal(w->trace, 92);
	assert_true(w->ours);
	/* none is: the first, which is not written into */
	h[1].b[9]++;
	w = walk_of(&f, h, 2);
	assert_int_equal(w->trace, 44);
	assert_false(w->ours);
	the_roce.ioam = 0;
	h[0].b[9]--;
	assert_false(walk_of(&f, h, 1)->ours);
	the_roce.ioam = 1;
	/* no pre-allocated trace, not of whole words, too short, longer than its header */
	h[0].b[7] = 1;
	assert_int_equal(walk_of(&f, h, 1)->trace, 0);
	h[0].b[7] = 0;
	h[0].b[5]--;
	assert_int_equal(walk_of(&f, h, 1)->trace, 0);
	h[0].b[5] += 1 + 8;
	assert_int_equal(walk_of(&f, h, 1)->trace, 0);
	h[0].b[5] = 6;
	assert_int_equal(walk_of(&f, h, 1)->trace, 0);
	/* in destination options */
	put_trace(&h[0], 0x105, HPCCPP_IOAM_HPCC, 7, 7);
	h[0].type = 60;
	assert_int_equal(walk_of(&f, h, 1)->trace, 0);
}

/* --- Nodes of a trace ---------------------------------------------------------- */

static struct load trace_load;

/* A trace passes: the words of all of it are in "packet" from byte 70 on */
static bool pass_trace(struct frame *f, const struct header *h)
{
	struct walk *w = walk_of(f, h, 1);

	memset(stats, 0, sizeof(stats));
	assert_true(w->ours);
	return trace_node(&skb, 14, w, &the_roce, &trace_load, 0x123);
}

static __u32 word_of(int i)
{
	__be32 w;

	memcpy(&w, packet + 70 + 4 * i, sizeof(w));
	return bpf_ntohl(w);
}

/* No byte of it has changed but the flags, and it has been counted there. */
static void assert_passed(const struct frame *f, __u8 flags, int stat)
{
	struct frame want = *f;

	want.b[64] = flags;
	assert_memory_equal(packet, want.b, f->len);
	assert_int_equal(stats[stat], 1);
	assert_int_equal(counted(), 1);
}

#define POSIX	(1700000000 * SECOND)

static int trace_reset(void **state)
{
	set_up(state);
	the_roce.ioam = 1;
	the_roce.ns = bpf_htons(1);
	the_roce.node = 0x123456;
	the_roce.speed = 28;
	the_roce.clock = POSIX;
	trace_load = (struct load) {
		.now = 5 * SECOND + 123456789, .tx = 0x1234567890, .qlen = 5000,
	};
	return 0;
}

TEST(nodes_have_all_that_hpcc_takes)
{
	struct header h;
	struct frame f;
	int i;

	trace_reset(state);
	put_trace(&h, 1, HPCCPP_IOAM_HPCC, 7, 0x80 | 14);
	assert_true(pass_trace(&f, &h));
	assert_int_equal(stats[HPCCPP_PS_TRACED], 1);
	assert_int_equal(counted(), 1);
	assert_int_equal(packet[64], 7 << 3);
	assert_int_equal(packet[65], 0x80 | 7);
	for (i = 0; i < 7; i++)
		assert_int_equal(word_of(i), 0);
	assert_int_equal(word_of(7), (__u32)f.b[21] << 24 | 0x123456);
	assert_int_equal(word_of(8), 1 << 16 | 0x123);
	assert_int_equal(word_of(9), 1700000005);
	assert_int_equal(word_of(10), 123456);
	assert_int_equal(word_of(11), 5000);
	assert_int_equal(word_of(12), 0x34567890);
	assert_int_equal(word_of(13), 28U << 26 | 0x3ffffff);
	/* nothing else has changed */
	memcpy(f.b + 64, packet + 64, 2);
	memcpy(f.b + 98, packet + 98, 28);
	assert_memory_equal(packet, f.b, f.len);
	/* a queue beyond a word */
	trace_load.qlen = 1ULL << 32;
	assert_true(pass_trace(&f, &h));
	assert_int_equal(word_of(11), ~0U);
}

/* What is not known, and what takes two words */
TEST(nodes_have_what_is_known)
{
	struct header h;
	struct frame f;
	__u32 node;
	int i;

	trace_reset(state);
	/* all fields: 22 bits, three of two words, and the opaque snapshot's */
	put_trace(&h, 1, 0xfffffe00, 25, 26);
	for (node = 0x123456; node; node = node == 0x123456 ? 0xffffff : 0) {
		the_roce.node = node;
		assert_true(pass_trace(&f, &h));
		assert_int_equal(packet[65], 0);
		for (i = 4; i < 25; i++) {
			if (i == 6)
				assert_int_equal(word_of(i), 5000);
			else if (i == 8)
				assert_int_equal(word_of(i), (__u32)f.b[21] << 24 |
						 (node == 0xffffff ? 0xffffff : 0));
			else if (i == 9)
				assert_int_equal(word_of(i), node == 0xffffff ? ~0U : node);
			else if (i == 10)
				assert_int_equal(word_of(i), 1);
			else if (i == 11)
				assert_int_equal(word_of(i), 0x123);
			else if (i == 15)
				assert_int_equal(word_of(i), 0x34567890);
			else if (i == 16)
				assert_int_equal(word_of(i), 28U << 26 | 0x3ffffff);
			else
				assert_int_equal(word_of(i), ~0U);
		}
		assert_int_equal(word_of(25), 0x00ffffff);
	}
}

TEST(nodes_of_unknown_interfaces)
{
	static const __u32 ingress[] = { 0, 2, 0xfffe, 0xffff, 0x10000, 0x12345 };
	struct walk *w;
	struct header h;
	struct frame f;
	size_t i;

	trace_reset(state);
	put_trace(&h, 1, HPCCPP_IOAM_IFS | HPCCPP_IOAM_IFS_WIDE, 3, 3);
	for (i = 0; i < ROOM(ingress); i++) {
		w = walk_of(&f, &h, 1);
		skb.ingress_ifindex = ingress[i];
		assert_true(trace_node(&skb, 14, w, &the_roce, &trace_load, 0x123));
		assert_int_equal(word_of(0), 0x123 |
				 (ingress[i] && ingress[i] < 0xffff ? ingress[i] << 16 :
				  0xffff0000));
		assert_int_equal(word_of(1), ingress[i] ?: ~0U);
		assert_int_equal(word_of(2), 0x123);
	}
}

TEST(nodes_that_find_no_room)
{
	struct header h;
	struct frame f;

	trace_reset(state);
	/* half of it: the overflow is told, and who follows writes nothing */
	put_trace(&h, 1, HPCCPP_IOAM_HPCC, 7, 6);
	assert_false(pass_trace(&f, &h));
	assert_passed(&f, 7 << 3 | HPCCPP_IOAM_OVERFLOW, HPCCPP_PS_TRACE_FULL);
	put_trace(&h, 1, HPCCPP_IOAM_HPCC, 7, 14);
	h.b[10] |= HPCCPP_IOAM_OVERFLOW;
	assert_false(pass_trace(&f, &h));
	assert_passed(&f, 7 << 3 | HPCCPP_IOAM_OVERFLOW, HPCCPP_PS_TRACE_FULL);
	/* the opaque snapshot's word is not in NodeLen */
	put_trace(&h, 1, HPCCPP_IOAM_HPCC | HPCCPP_IOAM_OPAQUE, 7, 7);
	assert_false(pass_trace(&f, &h));
	assert_passed(&f, 7 << 3 | HPCCPP_IOAM_OVERFLOW, HPCCPP_PS_TRACE_FULL);
	/* a length that is not the type's, and more room than there is */
	put_trace(&h, 1, HPCCPP_IOAM_HPCC, 6, 14);
	assert_false(pass_trace(&f, &h));
	assert_passed(&f, 6 << 3, HPCCPP_PS_TRACE_BAD);
	put_trace(&h, 1, 0, 0, 14);
	assert_false(pass_trace(&f, &h));
	assert_passed(&f, 0, HPCCPP_PS_TRACE_BAD);
	put_trace(&h, 1, HPCCPP_IOAM_HPCC, 7, 14);
	h.b[11]++;
	assert_false(pass_trace(&f, &h));
	assert_passed(&f, 7 << 3, HPCCPP_PS_TRACE_BAD);
}

/* --- Whom a port marks, and what else becomes of copies --------------------------- */

TEST(marks_who_takes_no_cnps)
{
	static const struct { __u8 ecn, capables, src; bool marked; } is[] = {
		{ 0, 0, 7, false }, { 1, 0, 7, true }, { 1, 1, 7, false },
		{ 1, 1, 8, true }, { 0, 1, 8, false },
	};
	struct frame f;
	size_t i;

	now |= 1;		/* the shim's: the packet can be marked */
	prefixes[0] = (struct hpccpp_prefix) { 128, { 0xfd, 1, [15] = 7 } };
	n_prefixes = 1;
	for (i = 0; i < ROOM(is); i++) {
		roce_data(&f, 0);
		f.b[37] = is[i].src;
		the_roce.ecn = is[i].ecn;
		the_roce.capables = is[i].capables;
		memset(stats, 0, sizeof(stats));
		assert_true(is_notified(&f));
		assert_int_equal(stats[HPCCPP_PS_CNP_MARKED], is[i].marked);
	}
}

/* The same Fast CNP, without the tags */
TEST(cnps_about_tagged_data)
{
	__u8 want[sizeof(packet)];
	struct frame f;
	__u32 len;
	int tags;

	roce_data(&f, 0);
	notify(&f, 24);
	memcpy(want, packet, sizeof(want));
	len = packet_len;
	for (tags = 1; tags <= 2; tags++) {
		memmove(f.b + 16, f.b + 12, f.len - 12);
		put16(f.b + 12, tags == 1 ? 0x8100 : 0x88a8);
		f.len += 4;
		assert_true(is_notified(&f));
		deliver_copy(hpccpp_port_cin);
		assert_int_equal(packet_len, len);
		assert_memory_equal(packet, want, len);
	}
	assert_int_equal(stats[HPCCPP_PS_CNP_SENT], 3);
}

/* The packet's last destination is in the routing header. */
TEST(cnps_about_routed_data)
{
	struct header h = { 43, 24, { 0, 2, 4, 1, [8] = 0xfd, 3, [23] = 9 } };
	struct frame f;

	behind(&f, &h, 1);
	assert_true(is_notified(&f));
	deliver_copy(hpccpp_port_cin);
	assert_int_equal(packet[60], HPCCPP_FCNP_TYPE1);
	assert_memory_equal(packet + 62, h.b + 8, 16);
	/* of a kind that does not tell it */
	h.b[2] = 3;
	behind(&f, &h, 1);
	assert_false(is_notified(&f));
	h.b[2] = 4;
	h.b[8] = 0xff;
	behind(&f, &h, 1);
	assert_false(is_notified(&f));
}

/* --- The border ------------------------------------------------------------------ */

static void assert_at_border(const struct frame *f, bool stops)
{
	memset(stats, 0, sizeof(stats));
	put_packet(f);
	assert_int_equal(hpccpp_port_cnp(&skb), stops ? TC_ACT_SHOT : TC_ACT_UNSPEC);
	put_packet(f);
	assert_int_equal(hpccpp_port_cin(&skb), stops ? TC_ACT_SHOT : TC_ACT_UNSPEC);
	assert_int_equal(stats[HPCCPP_PS_BORDER_OUT], stops);
	assert_int_equal(stats[HPCCPP_PS_BORDER_IN], stops);
}

TEST(border_stops_what_is_the_domains)
{
	struct header fast = { 60, 24, { 0, 2, 1, 2, 0, 0, 0x9e, 16 } };
	struct header pads = { 0, 96, { 0, 11 } };
	struct frame f;

	the_roce.cnp = 0;
	behind(&f, &fast, 1);
	assert_at_border(&f, false);
	the_roce.border = 1;
	assert_at_border(&f, true);
	/* behind a tag */
	memmove(f.b + 16, f.b + 12, f.len - 12);
	put16(f.b + 12, 0x8100);
	f.len += 4;
	assert_at_border(&f, true);
	/* what may hide one */
	behind(&f, &pads, 1);
	assert_at_border(&f, true);
	the_roce.border = 0;
	assert_at_border(&f, false);
	/* and nothing else: no option, another type, another protocol */
	the_roce.border = 1;
	behind(&f, NULL, 0);
	assert_at_border(&f, false);
	the_roce.type1 = 0x9c;
	behind(&f, &fast, 1);
	assert_at_border(&f, false);
	the_roce.type1 = 0x9e;
	put16(f.b + 12, 0x0801);
	assert_at_border(&f, false);
}
