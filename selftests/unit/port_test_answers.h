/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of port_test.c: INT responses that a port sends, those that the port of a host
 * accepts, and Fast CNPs that a port sends.
 */

/* --- Which segments are answered, and how often -------------------------------- */

TEST(flow_is_answered_once_in_a_period)
{
	__u32 flow, period, shared = 0, n;

	/* more periods than the filter has entries: old ones do not stay */
	for (period = 1; period <= 20000; period++) {
		assert_false(answered(0xdecade, period));
		assert_true(answered(0xdecade, period));
	}
	/* 32 flows set 64 bits of 4096: one in thousands finds both bits set */
	for (; period <= 21000; period++) {
		for (flow = 0; flow < 32; flow++)
			shared += answered(flow * 0x01000193, period);
	}
	assert_in_range(shared, 0, 32);
	/* two flows that share their bits in one period do not share them in the next */
	assert_false(answered(0xdecade, ++period));
	for (flow = 1; !answered(flow, period) && flow < 1000000; flow++) {
		memset(answered_bits, 0, sizeof(answered_bits));
		answered(0xdecade, period);
	}
	assert_true(flow < 1000000);
	shared = 0;
	for (n = 0; n < 100; n++) {
		assert_false(answered(0xdecade, ++period));
		shared += answered(flow, period);
	}
	assert_in_range(shared, 0, 2);
}

TEST(answers_are_limited)
{
	struct hpccpp_port_response *c = &the_response;
	int i, n;

	c->interval = 10 * MS;
	for (i = 0; i < 3; i++) {
		/* those of 100 ms at once, and the one that is due */
		for (n = 0; !over_limit(&c->lock, &c->next, c->interval); n++)
			;
		assert_int_equal(n, 11);
		/* then one in 10 ms */
		for (n = 0; n < 50; n++) {
			now += 10 * MS - 1;
			assert_true(over_limit(&c->lock, &c->next, c->interval));
			now += 1;
			assert_false(over_limit(&c->lock, &c->next, c->interval));
			assert_true(over_limit(&c->lock, &c->next, c->interval));
		}
		/* a longer pause does not allow more */
		now += 1000 * SECOND;
	}
}

TEST(answer_counts_why_not)
{
	int i;

	now -= now % T_NS;
	assert_true(may_answer(&the_response, &the_port, 5));
	assert_int_equal(counted(), 0);
	assert_false(may_answer(&the_response, &the_port, 5));
	now += T_NS - 1;
	assert_false(may_answer(&the_response, &the_port, 5));
	assert_int_equal(stats[HPCCPP_PS_SUPPRESSED], 2);
	now += 1;
	assert_true(may_answer(&the_response, &the_port, 5));
	the_response.interval = 10 * MS;
	the_response.next = 0;
	for (i = 0; i < 30; i++)
		may_answer(&the_response, &the_port, 100 + i);
	assert_int_equal(stats[HPCCPP_PS_LIMITED], 30 - 11);
	assert_int_equal(counted(), 2 + 30 - 11);
}

/* Before U has been measured, a queue counts as a load of 1 and its length in B T. */
TEST(congested_from_the_threshold)
{
	static const struct { __u32 U, qlen, threshold; bool congested; } rows[] = {
		{ 63, 0, 64, false }, { 64, 0, 64, true }, { 65, 0, 64, true },
		{ 0, 0, 1, false }, { 0, 1, 64, true }, { 0, 1, 65, false },
		{ 1, 1, 64, false }, { 0, 24999, 128, false }, { 0, 25000, 128, true },
	};
	size_t i;

	for (i = 0; i < ROOM(rows); i++) {
		struct load l = { .qlen = rows[i].qlen };

		assert_int_equal(congested(&the_port, rows[i].U, &l, rows[i].threshold),
				 rows[i].congested);
	}
}

/* Returns true if a copy of the packet is sent to ingress. The packet itself goes on. */
static bool is_answered(void)
{
	copy.mark = 0;
	assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_UNSPEC);
	assert_int_equal(skb.mark, 0);
	the_response.next = 0;
	memset(answered_bits, 0, sizeof(answered_bits));
	return copy.mark;
}

static const struct answer_row {
	const char *why;
	bool answered;
	int shape;
	__u8 flags;
	int data;
	bool own, tagged, no_address;	/* no ingress device; VLAN in the skb */
	__u8 threshold;			/* 1/64; the load is 64 */
} answer_rows[] = {
	{ "One byte of data that is forwarded.", true, 0, ACK, 1, .threshold = 1 },
	{ "IPv6, at the threshold.", true, 1, ACK, 100, .threshold = 64 },
	{ "A load below the threshold.", false, 0, ACK, 100, .threshold = 65 },
	{ "The port sends no responses.", false, 0, ACK, 100 },
	{ "A segment without data.", false, 0, ACK, 0, .threshold = 1 },
	{ "A SYN with data.", false, 0, SYN, 100, .threshold = 1 },
	{ "A VLAN tag in the packet.", false, 2, ACK, 100, .threshold = 1 },
	{ "Two VLAN tags in the packet, over IPv6.", false, 5, ACK, 100, .threshold = 1 },
	{ "Options of IPv4.", false, 6, ACK, 100, .threshold = 1 },
	{ "A BIG TCP packet.", false, JUMBO, ACK, 100, .threshold = 1 },
	{ "A VLAN tag beside the packet.", false, 1, ACK, 100, .tagged = true, .threshold = 1 },
	{ "A segment of the host's own.", false, 1, ACK, 100, .own = true, .threshold = 1 },
	{ "The port has no IPv4 address.",
	  false, 0, ACK, 100, .no_address = true, .threshold = 1 },
	{ "The port has no IPv6 address.",
	  false, 1, ACK, 100, .no_address = true, .threshold = 1 },
};

TEST(answers_forwarded_data)
{
	static const __u8 opts[sizeof(syn_options)] = COLLECT;
	struct frame f;
	size_t i;

	for (i = 0; i < ROOM(answer_rows); i++) {
		const struct answer_row *r = &answer_rows[i];

		set_up(state);
		the_port.U = HPCCPP_ONE;
		the_port.cfg.respond = r->threshold;
		if (r->no_address)
			memset(r->shape ? the_response.addr6 : the_response.addr4, 0, 4);
		segment(&f, &shapes[r->shape], r->flags, r->flags & SYN ? syn_options : opts,
			sizeof(opts), r->data);
		put_packet(&f);
		skb.ingress_ifindex = !r->own;
		skb.vlan_present = r->tagged;
		if (is_answered() != r->answered)
			fail_msg("%s", r->why);
		assert_int_equal(copy.mark, r->answered ? MARK : 0);
		assert_int_equal(copy.cb[CB_UDP], 0);
		assert_int_equal(stats[HPCCPP_PS_STAMPED], 1);
		assert_int_equal(counted(), 1);
	}
}

/* The second segment of a flow in a period is not answered. */
TEST(segment_is_answered_once)
{
	struct frame f;
	int i;

	the_port.U = HPCCPP_ONE;
	collect(&f, false, 1, 100);
	for (i = 0; i < 2; i++) {
		copy.mark = 0;
		put_packet(&f);
		hpccpp_port_ext(&skb);
		assert_int_equal(copy.mark, i ? 0 : MARK);
	}
}

/* A copy that another filter on ingress let pass is dropped, as it would be a duplicate. */
TEST(copies_do_not_leave)
{
	struct frame f;

	collect(&f, false, 1, 100);
	put_packet(&f);
	skb.mark = MARK;
	assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_SHOT);
	assert_int_equal(hpccpp_port_cnp(&skb), TC_ACT_SHOT);
	assert_int_equal(stats[HPCCPP_PS_ERROR], 2);
	assert_int_equal(counted(), 2);
	assert_memory_equal(packet, f.b, f.len);
	/* other marks, and a port that makes no copies */
	skb.mark = MARK + 1;
	assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_UNSPEC);
	the_port.cfg.mark = 0;
	skb.mark = 0;
	assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_UNSPEC);
	assert_int_equal(stats[HPCCPP_PS_ERROR], 2);
}

/* --- Responses that a port sends ----------------------------------------------- */

/* The copy of a packet arrives at the program on ingress, which sends it. */
static void deliver_copy(int (*ingress)(struct __sk_buff *skb))
{
	memcpy(packet, copied, sizeof(packet));
	packet_len = copied_len;
	assert_int_equal(ingress(&copy), 7);
}

/* Sends f through a full port, and its copy to ingress; checks the response that leaves. */
static void respond_to(const struct frame *f)
{
	__u8 want[sizeof(packet)];
	struct hpccpp_int r;
	__u32 len;

	the_port.U = HPCCPP_ONE;
	put_packet(f);
	assert_true(is_answered());
	r = record_after(f, 0);
	assert_int_equal(r.U, 64);
	deliver_copy(f->v6 ? hpccpp_port_cin : hpccpp_port_in);
	assert_int_equal(copy.mark, 0);
	assert_int_equal(copy.priority, 7);
	len = response_to(want, f, &r, the_response.to);
	assert_int_equal(packet_len, len);
	assert_memory_equal(packet, want, len);
	assert_int_equal(sum_of(packet, packet_len), 0xffff);
}

TEST(responses_are_as_specified)
{
	struct frame f;
	int i;

	for (i = 0; i < 4; i++) {
		the_response.to = i & 1 ? HPCCPP_TO_RECEIVER : HPCCPP_TO_SENDER;
		collect(&f, i & 2, 1, 300);
		respond_to(&f);
	}
	assert_int_equal(stats[HPCCPP_PS_RESPONDED], 4);
	assert_int_equal(stats[HPCCPP_PS_ERROR], 0);
}

/* A checksum of 0 would mean that there is none. Among 65536 sequence numbers it occurs. */
TEST(responses_have_a_sum)
{
	const struct hpccpp_port before = the_port;
	int v6, i, special = 0;
	struct frame f;

	for (v6 = 0; v6 < 2; v6++) {
		collect(&f, v6, 1, 1);
		for (i = 0; i < 65536; i++) {
			the_port = before;
			put16(f.b + f.tcp + 4, i);
			respond_to(&f);
			special += packet[v6 ? 60 : 40] == 0xff && packet[v6 ? 61 : 41] == 0xff;
		}
	}
	assert_in_range(special, 2, 4);
}

/* Without an address, a route or a TCP header no response is sent, and the copy is dropped. */
TEST(responses_that_cannot_leave)
{
	struct frame f;
	int i;

	for (i = 0; i < 3; i++) {
		set_up(state);
		collect(&f, false, 1, 1);
		the_port.U = HPCCPP_ONE;
		put_packet(&f);
		assert_true(is_answered());
		if (i == 0)
			memset(the_response.addr4, 0, 4);
		else if (i == 1)
			now++;			/* bpf_shim.h has no route then */
		else
			packet_len = f.tcp + 4;
		assert_int_equal(hpccpp_port_in(&copy), TC_ACT_SHOT);
		assert_int_equal(stats[HPCCPP_PS_ERROR], 1);
		assert_int_equal(stats[HPCCPP_PS_RESPONDED], 0);
	}
}

/* --- Responses that the port of a host accepts ----------------------------------- */

#define UNA	0xfffffff0U		/* about to wrap */
#define NXT	(UNA + 5000)
#define RCV	0x7ffffffeU

static struct frame data;		/* segment that the response is about */

/* Puts a response about the segment with this number */
static void put_response(bool v6, bool to_receiver, __u32 seq)
{
	static const struct hpccpp_int r = {
		.link = 5, .rate = 0x864, .U = 70, .ts = 99, .tx_bytes = 3, .qlen = 2,
	};

	collect(&data, v6, 1, 100);
	put32(data.b + data.tcp + 4, seq);
	packet_len = response_to(packet, &data, &r, to_receiver);
	skb = (struct __sk_buff) { .len = packet_len };
	skb.protocol = protocol_of_packet();
	the_tp.snd_una = UNA;
	the_tp.snd_nxt = NXT;
	the_tp.rcv_nxt = RCV;
}

/* The four kinds of response, about a segment that is accepted */
static void put_kind(int kind)
{
	put_response(kind & 1, kind & 2, kind & 2 ? RCV : UNA);
}

/* Fails unless the response is dropped and counted there. */
static void assert_dropped(int stat)
{
	memset(stats, 0, sizeof(stats));
	assert_int_equal(hpccpp_port_in(&skb), TC_ACT_SHOT);
	assert_int_equal(stats[stat], 1);
	assert_int_equal(counted(), 1);
	assert_false(sk_held);
}

/* Fails unless the packet goes on unchanged and uncounted. */
static void assert_untouched(void)
{
	__u8 old[sizeof(packet)];
	__u32 len = packet_len;

	memset(stats, 0, sizeof(stats));
	memcpy(old, packet, sizeof(old));
	assert_int_equal(hpccpp_port_in(&skb), TC_ACT_UNSPEC);
	assert_int_equal(counted(), 0);
	assert_int_equal(packet_len, len);
	assert_memory_equal(packet, old, len);
}

/* Fails unless the response becomes the ACK that carries its record. */
static void assert_accepted(bool to_receiver)
{
	__u32 n = data.v6 ? 16 : 4, at = data.v6 ? 54 : 34;
	const __u8 *src = data.b + (data.v6 ? 22 : 26), *dst = src + n;
	const __u8 *tcp = data.b + data.tcp;
	__u8 want[sizeof(packet)], response[sizeof(packet)];

	memset(stats, 0, sizeof(stats));
	memcpy(response, packet, sizeof(response));
	assert_int_equal(hpccpp_port_in(&skb), TC_ACT_UNSPEC);
	assert_int_equal(stats[HPCCPP_PS_ACCEPTED], 1);
	assert_int_equal(counted(), 1);
	assert_false(sk_held);

	memcpy(want, data.b, 14);
	put_ip(want + 14, data.v6, 0, 6, 36, to_receiver ? src : dst, to_receiver ? dst : src);
	memcpy(want + at, tcp + (to_receiver ? 0 : 2), 2);
	memcpy(want + at + 2, tcp + (to_receiver ? 2 : 0), 2);
	put32(want + at + 4, RCV);
	if (to_receiver)
		memcpy(want + at + 4, tcp + 4, 4);
	put32(want + at + 8, UNA - 1);
	put32(want + at + 12, 0x9010ffff);
	put32(want + at + 16, 0);
	put_header(want + at + 20, 16, to_receiver ? HPCCPP_EXID_COLLECT : HPCCPP_EXID_ECHO);
	memcpy(want + at + 24, response + at + 20, 12);
	put16(want + at + 16, ~sum_of(want, at + 36));
	assert_int_equal(packet_len, at + 36);
	assert_memory_equal(packet, want, at + 36);
	/* the socket was looked up with the addresses and ports of the ACK */
	if (data.v6) {
		assert_memory_equal(sk_asked.ipv6.saddr, want + 22, 32);
		assert_memory_equal(&sk_asked.ipv6.sport, want + at, 4);
	} else {
		assert_memory_equal(&sk_asked.ipv4.saddr, want + 26, 8);
		assert_memory_equal(&sk_asked.ipv4.sport, want + at, 4);
	}
}

/* Sequence numbers: in flight at the sender, with 64 KB of slack; in 1 GB at the receiver */
TEST(accepts_responses_in_the_window)
{
	static const struct { bool to_receiver, accepted; __u32 seq; } rows[] = {
		{ false, true, UNA }, { false, true, UNA + 1 }, { false, true, NXT - 1 },
		{ false, true, NXT }, { false, true, NXT + 0xffff },
		{ false, false, UNA - 1 }, { false, false, UNA - 0x10000 },
		{ false, false, NXT + 0x10000 }, { false, false, NXT + (1 << 20) },
		{ false, false, NXT + (256 << 20) }, { false, false, NXT + (1U << 30) },
		{ false, false, UNA + (1U << 31) },
		{ true, true, RCV }, { true, true, RCV + 1 }, { true, true, RCV + (1 << 30) - 1 },
		{ true, false, RCV - 1 }, { true, false, RCV + (1 << 30) },
		{ true, false, RCV + (1U << 31) }, { true, false, RCV - 0x10000 },
	};
	size_t i;

	for (i = 0; i < 2 * ROOM(rows); i++) {
		put_response(i & 1, rows[i / 2].to_receiver, rows[i / 2].seq);
		if (rows[i / 2].accepted)
			assert_accepted(rows[i / 2].to_receiver);
		else
			assert_dropped(HPCCPP_PS_OUTSIDE);
	}
}

TEST(rejects_responses_without_connection)
{
	static const int states[] = {
		0, BPF_TCP_LISTEN, BPF_TCP_SYN_SENT, BPF_TCP_SYN_RECV,
		BPF_TCP_TIME_WAIT, BPF_TCP_NEW_SYN_RECV,
	};
	size_t i;
	int kind;

	for (kind = 0; kind < 4; kind++) {
		for (i = 0; i < ROOM(states); i++) {
			the_sk.state = states[i];
			put_kind(kind);
			assert_dropped(HPCCPP_PS_UNKNOWN);
		}
		the_sk.state = BPF_TCP_CLOSE_WAIT;
		put_kind(kind);
		assert_accepted(kind & 2);
	}
}

/* Any wrong bit is rejected, and so are a missing checksum and an empty record. */
TEST(rejects_damaged_responses)
{
	__u32 at, bit, bits;
	int kind;

	for (kind = 0; kind < 4; kind++) {
		at = kind & 1 ? 54 : 34;
		put_kind(kind);
		bits = packet_len * 8;
		/* except those of port, length and id, without which it is no response */
		for (bit = (at + 6) * 8; bit < bits; bit++) {
			if (bit / 8 == at + 8 || bit / 8 == at + 9)
				continue;
			put_kind(kind);
			packet[bit / 8] ^= 1 << bit % 8;
			assert_dropped(HPCCPP_PS_DAMAGED);
		}
		put_kind(kind);
		put16(packet + at + 6, 0);
		assert_dropped(HPCCPP_PS_DAMAGED);
		put_kind(kind);
		put32(packet + at + 20, 0x00500046);	/* link and load, no rate */
		put_udp_sum(packet, packet_len);
		assert_dropped(HPCCPP_PS_DAMAGED);
	}
}

TEST(accepts_listed_sources)
{
	int kind;

	for (kind = 0; kind < 4; kind++) {
		/* the IPv6 address ::ffff:a.b.c.d is not IPv4's a.b.c.d */
		prefixes[0].prefixlen = 96;
		put_kind(kind | 1);
		memcpy(packet + 22, prefixes[0].addr, 16);
		put_udp_sum(packet, packet_len);
		assert_dropped(HPCCPP_PS_DENIED);
		put_kind(kind);
		packet[kind & 1 ? 37 : 29] ^= 1;	/* the source's last byte */
		put_udp_sum(packet, packet_len);
		if (kind & 1)
			assert_dropped(HPCCPP_PS_DENIED);
		else
			assert_accepted(kind & 2);
		prefixes[0].prefixlen = 128;
		put_kind(kind);
		packet[kind & 1 ? 37 : 29] ^= 1;
		put_udp_sum(packet, packet_len);
		assert_dropped(HPCCPP_PS_DENIED);
	}
	/* ::1:0:ffff:a.b.c.d is an IPv6 address */
	prefixes[1].prefixlen = 0;
	put_kind(1);
	memcpy(packet + 22, prefixes[0].addr, 16);
	packet[29] = 1;
	put_udp_sum(packet, packet_len);
	assert_accepted(false);
}

/* Packets that differ from a response in length, port, id or fragment go on to UDP. */
TEST(leaves_other_udp)
{
	static const struct { int v6; __u32 at; __u8 change; } changes[] = {
		{ 0, 13, 1 }, { 0, 14, 3 }, { 0, 16, 1 }, { 0, 17, 1 }, { 0, 20, 0x20 },
		{ 0, 20, 1 }, { 0, 21, 1 }, { 0, 23, 1 }, { 0, 36, 1 }, { 0, 37, 1 },
		{ 0, 38, 1 }, { 0, 39, 4 }, { 0, 42, 1 }, { 0, 43, 1 },
		{ 1, 13, 1 }, { 1, 18, 1 }, { 1, 19, 1 }, { 1, 20, 1 }, { 1, 56, 1 },
		{ 1, 57, 1 }, { 1, 58, 1 }, { 1, 59, 4 }, { 1, 62, 1 }, { 1, 63, 1 },
	};
	size_t i;

	for (i = 0; i < ROOM(changes); i++) {
		put_response(changes[i].v6, false, UNA);
		packet[changes[i].at] ^= changes[i].change;
		skb.protocol = protocol_of_packet();
		assert_untouched();
	}
	for (i = 0; i < 2; i++) {
		put_response(i, false, UNA);
		packet_len--;
		assert_untouched();
		/* a port that accepts no responses */
		put_response(i, false, UNA);
		the_response.accepts = 0;
		assert_untouched();
		the_response.accepts = 1;
	}
}

/* --- Fast CNPs --------------------------------------------------------------- */

#define QPN	0x123456

/* Data of RoCEv2, with a trace option of so many bytes of nodes, or none for 0 */
static void roce_data(struct frame *f, int nodes)
{
	int len = nodes ? 14 + nodes : 0, hdr = nodes ? 16 + nodes : 0;
	__u8 *p = f->b + 14;
	int i;

	for (i = 0; i < (int)sizeof(f->b); i++)
		f->b[i] = rnd();
	put16(f->b + 12, 0x86dd);
	put32(p, 0x60000000);
	hdr = hdr ? (hdr + 7 + 2) / 8 * 8 : 0;
	put16(p + 4, hdr + 8 + 12 + 20 + 4);
	p[6] = nodes ? 0 : 17;
	memcpy(p + 8, (__u8 [16]) { 0xfd, 1, [15] = 7 }, 16);
	memcpy(p + 24, (__u8 [16]) { 0xfd, 2, [15] = 8 }, 16);
	p += 40;
	if (nodes) {
		memset(p, 0, hdr);
		p[0] = 17;
		p[1] = hdr / 8 - 1;
		p[2] = 1;		/* PadN of 2 */
		p[4] = HPCCPP_IOAM_HBH;
		p[5] = len - 4;
		put16(p + 8, 1);
		/* nodes of one word, their id, and room for one */
		p[10] = 1 << 3;
		p[11] = 1;
		put32(p + 12, HPCCPP_IOAM_NODE);
		for (i = 0; i < nodes; i++)
			p[16 + i] = i;
		for (i = 4 + 2 + len - 4; i < hdr; i++)
			p[i] = 0;	/* Pad1 */
		p += hdr;
	}
	put16(p + 2, HPCCPP_ROCE_PORT);
	put16(p + 4, 8 + 12 + 20 + 4);
	put16(p + 6, 0);
	p[8] = 4;			/* SEND only */
	p[9] = 0;
	put32(p + 12, QPN);
	f->l3 = p - f->b;		/* of UDP */
	f->len = p + 8 + 12 + 20 + 4 - f->b;
}

static bool is_notified(const struct frame *f)
{
	copy.mark = 0;
	put_packet(f);
	the_port.U = HPCCPP_ONE;
	the_port.last = (struct hpccpp_link) {};
	assert_int_equal(hpccpp_port_cnp(&skb), TC_ACT_UNSPEC);
	the_response.next = 0;
	memset(answered_bits, 0, sizeof(answered_bits));
	return copy.mark;
}

/* The copy comes back: the Fast CNP in "packet", all of whose fields are right */
static void notify(const struct frame *f, __u32 opt_len)
{
	struct hpccpp_cnp cnp;
	__u8 want[54 + 256];
	__be32 src[4], dst[4];

	assert_true(is_notified(f));
	deliver_copy(hpccpp_port_cin);
	assert_int_equal(packet_len, 54 + opt_len + sizeof(cnp));
	memset(want, 0, sizeof(want));
	memcpy(want, f->b, 14);
	put32(want + 14, 0x60000000 | HPCCPP_CNP_DSCP << 22);
	put16(want + 18, opt_len + sizeof(cnp));
	want[20] = 60;
	want[21] = HPCCPP_CNP_HOPS;
	memcpy(want + 22, the_roce.source, 16);
	memcpy(want + 38, f->b + 22, 16);
	want[54] = 17;
	want[55] = opt_len / 8 - 1;
	assert_memory_equal(packet, want, 56);
	memcpy(&cnp, packet + 54 + opt_len, sizeof(cnp));
	assert_memory_equal(&cnp.sport, f->b + f->l3, 2);
	assert_int_equal(bpf_ntohs(cnp.dport), HPCCPP_ROCE_PORT);
	assert_int_equal(bpf_ntohs(cnp.len), sizeof(cnp));
	assert_int_equal(cnp.bth.opcode, HPCCPP_ROCE_CNP);
	assert_int_equal(cnp.bth.flags, 0);
	assert_memory_equal(&cnp.bth.pkey, f->b + f->l3 + 10, 2);
	assert_int_equal(bpf_ntohl(cnp.bth.qpn), QPN | HPCCPP_BTH_BECN);
	memcpy(src, packet + 22, 16);
	memcpy(dst, packet + 38, 16);
	assert_int_equal(cnp.icrc, hpccpp_cnp_icrc(src, dst, &cnp));
	assert_true(cnp.check);
	assert_int_equal(folded(add16(packet + 22, 32) + 17 + sizeof(cnp) +
				add16(packet + 54 + opt_len, sizeof(cnp))), 0xffff);
}

/* Without a trace: figure 3 of the draft */
TEST(cnps_without_a_trace)
{
	struct frame f;

	roce_data(&f, 0);
	notify(&f, 24);
	assert_memory_equal(packet + 56, "\1\2\0\0\x9e\x10", 6);
	assert_memory_equal(packet + 62, f.b + 38, 16);
	assert_int_equal(stats[HPCCPP_PS_CNP_SENT], 1);
	assert_int_equal(stats[HPCCPP_PS_NOT_TCP], 1);
	assert_int_equal(counted(), 2);
}

/* With one: figure 4, of up to 228 bytes of nodes, and figure 3 for more */
TEST(cnps_with_a_trace)
{
	struct frame f;
	__u32 n, opt_len;
	__u8 node[4];

	the_roce.ns = bpf_htons(1);
	the_roce.node = 0x123456;
	the_roce.ioam = 1;
	for (n = 4; n <= 236; n += 4) {
		roce_data(&f, n);
		memset(stats, 0, sizeof(stats));
		if (n > 228) {
			notify(&f, 24);
			assert_int_equal(packet[60], HPCCPP_FCNP_TYPE1);
			assert_int_equal(stats[HPCCPP_PS_CNP_CUT], 1);
			continue;
		}
		opt_len = (6 + 26 + n + 7) / 8 * 8;
		notify(&f, opt_len);
		assert_int_equal(stats[HPCCPP_PS_CNP_CUT], 0);
		assert_memory_equal(packet + 56, "\1\0\x9d", 3);
		assert_int_equal(packet[59], 26 + n);
		/* as it left, with this port's node */
		assert_memory_equal(packet + 60, copied + 14 + 40 + 6, 10 + n);
		put32(node, (__u32)f.b[21] << 24 | the_roce.node);
		assert_memory_equal(packet + 70, node, 4);
		assert_memory_equal(packet + 70 + n, f.b + 38, 16);
		/* then padding */
		if (opt_len > 32 + n)
			assert_memory_equal(packet + 86 + n, "\1\2\0\0", 4);
	}
}

/* The trace would tell of all ports but this one. */
TEST(cnps_of_a_port_that_is_no_node)
{
	struct frame f;

	roce_data(&f, 40);
	notify(&f, 24);
	assert_int_equal(packet[60], HPCCPP_FCNP_TYPE1);
	/* nor is there room for its node */
	the_roce.ns = bpf_htons(1);
	the_roce.ioam = 1;
	roce_data(&f, 40);
	f.b[14 + 40 + 11] = 0;
	notify(&f, 24);
	assert_int_equal(packet[60], HPCCPP_FCNP_TYPE1);
	assert_int_equal(stats[HPCCPP_PS_TRACE_FULL], 1);
	assert_int_equal(stats[HPCCPP_PS_CNP_CUT], 0);
}

TEST(cnps_have_a_sum)
{
	bool special = false;
	struct frame f;
	int i;

	roce_data(&f, 0);
	/* the ICRC makes of each port and key another */
	for (i = 0; !special && i < 1000000; i++) {
		put16(f.b + f.l3, i);
		put16(f.b + f.l3 + 10, i >> 16);
		notify(&f, 24);
		special = packet[84] == 0xff && packet[85] == 0xff;
	}
	assert_true(special);
}

TEST(cnps_about_data_only)
{
	static const struct { int at, len; __u32 to; bool data; } changes[] = {
		{ 12, 4, QPN, true }, { 12, 4, 0xff000002, true }, { 12, 4, 0, false },
		{ 12, 4, 1, false }, { 12, 4, 0xffffff, false },
		{ 12, 4, 0xfffffe, true },
		{ 8, 1, 0x11, false },		/* ACK */
		{ 8, 1, HPCCPP_ROCE_CNP, false },
		{ 9, 1, 0xf0, true }, { 9, 1, 1, false }, { 9, 1, 8, false },
		{ 2, 2, HPCCPP_ROCE_PORT + 1, false },
		{ 4, 2, 23, false }, { 4, 2, 24, true },
	};
	struct frame f;
	size_t i;
	__u8 *p;

	for (i = 0; i < ROOM(changes); i++) {
		roce_data(&f, 0);
		p = f.b + f.l3 + changes[i].at;
		if (changes[i].len == 4)
			put32(p, changes[i].to);
		else if (changes[i].len == 2)
			put16(p, changes[i].to);
		else
			*p = changes[i].to;
		assert_int_equal(is_notified(&f), changes[i].data);
	}
}

/* Only between hosts that can be reached, and of what is forwarded */
TEST(cnps_to_one_host_only)
{
	static const struct { __u8 addr[16]; bool one; } hosts[] = {
		{ { 0xfd, 1, [15] = 1 }, true }, { { 0x20, 1, [15] = 1 }, true },
		{ { [0] = 0x10 }, true }, { { [6] = 1 }, true }, { { [11] = 1 }, true },
		{ { [15] = 1 }, false }, { {}, false },
		{ { 0xff, 2, [15] = 1 }, false }, { { 0xfe, 0x80, [15] = 1 }, false },
		{ { 0xfe, 0xbf, [15] = 1 }, false }, { { 0xfe, 0xc0, [15] = 1 }, true },
	};
	struct frame f;
	size_t i;
	int dst;

	for (i = 0; i < ROOM(hosts); i++) {
		for (dst = 0; dst < 2; dst++) {
			roce_data(&f, 0);
			memcpy(f.b + (dst ? 38 : 22), hosts[i].addr, 16);
			assert_int_equal(is_notified(&f), hosts[i].one);
		}
	}
	roce_data(&f, 0);
	put_packet(&f);
	skb.ingress_ifindex = 0;
	copy.mark = 0;
	assert_int_equal(hpccpp_port_cnp(&skb), TC_ACT_UNSPEC);
	assert_int_equal(copy.mark, 0);
}

/* A checksum that the device is to finish is the pseudo-header's as yet. */
TEST(cnps_of_finished_sums)
{
	struct frame f;
	__u16 left;

	roce_data(&f, 0);
	left = folded(add16(f.b + 22, 32) + 17 + 8 + 12 + 20 + 4);
	put16(f.b + f.l3 + 6, left ^ 1);
	notify(&f, 24);
	put16(f.b + f.l3 + 6, left);
	assert_true(is_notified(&f));
	memcpy(packet, copied, sizeof(packet));
	assert_int_equal(hpccpp_port_cin(&copy), TC_ACT_SHOT);
	assert_int_equal(stats[HPCCPP_PS_ERROR], 1);
}
