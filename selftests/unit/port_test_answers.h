/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of port_test.c: INT responses that a port makes, and that a host's port takes, and
 * Fast CNPs that it makes.
 */

/* --- Responses that a port makes --------------------------------------------- */

/* True if this segment goes on as it is, and a copy of it is there to be answered. */
static bool is_answered(const struct frame *f)
{
	copy.mark = 0;
	put_packet(f);
	assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_UNSPEC);
	assert_int_equal(skb.mark, 0);
	the_response.next = 0;
	memset(answered_bits, 0, sizeof(answered_bits));
	return copy.mark;
}

static void answers_data_that_it_forwards(void **state)
{
	static const __u8 opts[16] = { HPCCPP_OPT_KIND, 16, 'H', 'C' };
	struct frame f;
	int v6, i;

	for (v6 = 0; v6 < 2; v6++) {
		the_port.U = HPCCPP_ONE;
		memset(stats, 0, sizeof(stats));
		collect(&f, v6, 1, 1);
		assert_true(is_answered(&f));
		assert_int_equal(copy.mark, MARK);
		assert_int_equal(copy.cb[CB_UDP], 0);
		/* without data, in a SYN, behind a tag or options of IP */
		collect(&f, v6, 1, 0);
		assert_false(is_answered(&f));
		segment(&f, &shapes[v6], TCPHDR_SYN, syn_options, sizeof(syn_options), 100);
		assert_false(is_answered(&f));
		for (i = 2; i < 8; i++) {
			segment(&f, &shapes[i], 0x10, opts, sizeof(opts), 100);
			assert_false(is_answered(&f));
		}
		assert_int_equal(stats[HPCCPP_PS_STAMPED], 9);
		assert_int_equal(stats[HPCCPP_PS_SUPPRESSED], 0);
		/* no address of the family to send it from */
		collect(&f, v6, 1, 100);
		memset(v6 ? the_response.addr6 : the_response.addr4, 0, 4);
		assert_false(is_answered(&f));
		/* nothing below the threshold */
		reset(state);
		the_port.cfg.respond = 65;
		the_port.U = HPCCPP_ONE;
		assert_false(is_answered(&f));
		the_port.cfg.respond = 64;
		assert_true(is_answered(&f));
	}
	assert_int_equal(stats[HPCCPP_PS_ERROR], 0);
}

/* What the host itself sends came by no device; VLANs' tags may be beside the packet. */
static void answers_nobody_of_its_own(void **state)
{
	struct frame f;
	int v6;

	the_port.U = HPCCPP_ONE;
	for (v6 = 0; v6 < 2; v6++) {
		collect(&f, v6, 1, 100);
		put_packet(&f);
		skb.ingress_ifindex = 0;
		assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_UNSPEC);
		put_packet(&f);
		skb.vlan_present = 1;
		assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_UNSPEC);
		assert_int_equal(stats[HPCCPP_PS_STAMPED], 2 + 2 * v6);
		assert_int_equal(copy.mark, 0);
	}
}

/* A copy that another's filter let by would be a packet twice, and that is all of it. */
static void copies_do_not_leave(void **state)
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
	/* any other mark is not ours */
	skb.mark = MARK + 1;
	assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_UNSPEC);
	the_port.cfg.mark = 0;
	skb.mark = 0;
	assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_UNSPEC);
	assert_int_equal(stats[HPCCPP_PS_ERROR], 2);
}

static __u16 folded(__u64 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Of pseudo-header and all behind; 0xffff when the checksum there is right */
static __u16 sum_of(const __u8 *p, __u32 len)
{
	bool v6 = p[14] >> 4 == 6;
	__u32 at = v6 ? 54 : 34;

	return folded(add16(p + (v6 ? 22 : 26), v6 ? 32 : 8) +
		      p[v6 ? 20 : 23] + len - at + add16(p + at, len - at));
}

/* The header of a packet that an agent made, from and to the addresses at these places */
static void put_ip(__u8 *p, bool v6, __u8 ds, __u8 proto, __u16 len,
		   const __u8 *src, const __u8 *dst)
{
	if (v6) {
		put32(p, 0x60000000 | ds << 20);
		put16(p + 4, len);
		p[6] = proto;
		p[7] = 64;
		memcpy(p + 8, src, 16);
		memcpy(p + 24, dst, 16);
		return;
	}
	put32(p, 0x45000000 | ds << 16 | (20 + len));
	put32(p + 4, 0x4000);
	put32(p + 8, 64 << 24 | proto << 16);
	memcpy(p + 12, src, 4);
	memcpy(p + 16, dst, 4);
	put16(p + 10, ~folded(add16(p, 20)));
}

/* What f, stamped, is answered with; its length */
static __u32 response_to(__u8 *want, const struct frame *f, const struct hpccpp_int *r,
			 bool to_receiver)
{
	static const __u8 addr4[] = ADDR4, addr6[16] = ADDR6;
	bool v6 = f->b[12] == 0x86;
	__u32 n = v6 ? 16 : 4, at = v6 ? 54 : 34, len = 32 + n;
	const __u8 *src = f->b + (v6 ? 22 : 26), *dst = src + n, *tcp = f->b + f->tcp;

	memcpy(want, f->b, 14);
	put_ip(want + 14, v6, 48 << 2, 17, len, v6 ? addr6 : addr4,
	       to_receiver ? dst : src);
	put16(want + at, HPCCPP_RESPONSE_PORT);
	put16(want + at + 2, HPCCPP_RESPONSE_PORT);
	put16(want + at + 4, len);
	put16(want + at + 6, 0);
	put16(want + at + 8, to_receiver ? HPCCPP_RESPONSE_RX_ID : HPCCPP_RESPONSE_ID);
	memcpy(want + at + 10, tcp, 2);
	memcpy(want + at + 12, tcp + 4, 4);
	put16(want + at + 16, folded(add16(want + (v6 ? 22 : 26), 2 * n) + 17 + len));
	memcpy(want + at + 18, tcp + 2, 2);
	put_record(want + at + 20, r);
	memcpy(want + at + 32, to_receiver ? src : dst, n);
	put16(want + at + 6, ~sum_of(want, at + len));
	if (!want[at + 6] && !want[at + 7])
		put16(want + at + 6, 0xffff);
	return at + len;
}

/* f passes a full port, and the copy comes back: the response in "packet" */
static void respond_to(const struct frame *f)
{
	__u8 want[sizeof(packet)];
	struct hpccpp_int r;
	__be32 w[3];
	__u32 len;

	the_port.U = HPCCPP_ONE;
	assert_true(is_answered(f));
	memcpy(w, packet + f->tcp + TCP_LEN + HPCCPP_OPT_HDR, sizeof(w));
	hpccpp_int_decode(&r, bpf_ntohl(w[0]), bpf_ntohl(w[1]), bpf_ntohl(w[2]));
	assert_int_equal(r.U, 64);
	memcpy(packet, copied, sizeof(packet));
	packet_len = copied_len;
	assert_int_equal(hpccpp_port_in(&copy), 7);
	assert_int_equal(copy.mark, 0);
	assert_int_equal(copy.priority, 7);
	len = response_to(want, f, &r, the_response.to);
	assert_int_equal(packet_len, len);
	assert_memory_equal(packet, want, len);
	assert_int_equal(sum_of(packet, packet_len), 0xffff);
}

static void responses_are_as_specified(void **state)
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

/* A sum of 0 would say that there is none: among 65536 sequence numbers each occurs. */
static void responses_have_a_sum(void **state)
{
	struct frame f;
	int v6, i, special = 0;

	for (v6 = 0; v6 < 2; v6++) {
		collect(&f, v6, 1, 1);
		for (i = 0; i < 65536; i++) {
			reset(state);
			put16(f.b + f.tcp + 4, i);
			respond_to(&f);
			special += packet[v6 ? 60 : 40] == 0xff && packet[v6 ? 61 : 41] == 0xff;
		}
	}
	assert_in_range(special, 2, 4);
}

/* Without an address or a route no response is sent, and the copy ends there. */
static void responses_that_cannot_leave(void **state)
{
	struct frame f;

	collect(&f, false, 1, 1);
	the_port.U = HPCCPP_ONE;
	assert_true(is_answered(&f));
	memset(the_response.addr4, 0, 4);
	assert_int_equal(hpccpp_port_in(&copy), TC_ACT_SHOT);
	reset(state);
	the_port.U = HPCCPP_ONE;
	assert_true(is_answered(&f));
	now++;			/* the shim's: no route */
	assert_int_equal(hpccpp_port_in(&copy), TC_ACT_SHOT);
	assert_int_equal(stats[HPCCPP_PS_ERROR], 1);
	assert_int_equal(stats[HPCCPP_PS_RESPONDED], 0);
}

/* --- Responses that a host's port takes -------------------------------------- */

#define UNA	0xfffffff0U		/* about to wrap */
#define NXT	(UNA + 5000)
#define RCV	0x7ffffffeU

/* A response about that data comes in: the one place, or NULL */
static struct frame data;	/* that it is about */
static bool data_v6;

static void take_one(bool v6, bool to_receiver, __u32 seq)
{
	static const struct hpccpp_int r = {
		.link = 5, .rate = 0x864, .U = 70, .ts = 99, .tx_bytes = 3, .qlen = 2,
	};

	data_v6 = v6;
	collect(&data, v6, 1, 100);
	put32(data.b + data.tcp + 4, seq);
	packet_len = response_to(packet, &data, &r, to_receiver);
	skb = (struct __sk_buff) { .len = packet_len };
	memcpy(&skb.protocol, packet + 12, 2);
	the_tp.snd_una = UNA;
	the_tp.snd_nxt = NXT;
	the_tp.rcv_nxt = RCV;
}

static void put_udp_sum(void)
{
	__u32 at = data_v6 ? 54 : 34;

	put16(packet + at + 6, 0);
	put16(packet + at + 6, ~sum_of(packet, packet_len) ?: 0xffff);
}

/* It is dropped and counted there. */
static void assert_dropped(int stat)
{
	memset(stats, 0, sizeof(stats));
	assert_int_equal(hpccpp_port_in(&skb), TC_ACT_SHOT);
	assert_int_equal(stats[stat], 1);
	assert_int_equal(counted(), 1);
	assert_false(sk_held);
}

/* It is left to UDP, as it is. */
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

/* It becomes the ACK that it is to be. */
static void assert_accepted(bool to_receiver)
{
	__u32 n = data_v6 ? 16 : 4, at = data_v6 ? 54 : 34;
	const __u8 *src = data.b + (data_v6 ? 22 : 26), *dst = src + n;
	const __u8 *tcp = data.b + data.tcp;
	__u8 want[sizeof(packet)], response[sizeof(packet)];

	memset(stats, 0, sizeof(stats));
	memcpy(response, packet, sizeof(response));
	assert_int_equal(hpccpp_port_in(&skb), TC_ACT_UNSPEC);
	assert_int_equal(stats[HPCCPP_PS_ACCEPTED], 1);
	assert_int_equal(counted(), 1);
	assert_false(sk_held);

	memcpy(want, data.b, 14);
	put_ip(want + 14, data_v6, 0, 6, 36, to_receiver ? src : dst,
	       to_receiver ? dst : src);
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
	/* of the connection that the segment is of, from here to there */
	if (data_v6) {
		assert_memory_equal(sk_asked.ipv6.saddr, want + 22, 32);
		assert_memory_equal(&sk_asked.ipv6.sport, want + at, 4);
	} else {
		assert_memory_equal(&sk_asked.ipv4.saddr, want + 26, 8);
		assert_memory_equal(&sk_asked.ipv4.sport, want + at, 4);
	}
}

static void takes_what_is_in_flight(void **state)
{
	static const __u32 good[] = { UNA, UNA + 1, NXT - 1, NXT, NXT + 0xffff };
	static const __u32 bad[] = {
		UNA - 1, UNA - 0x10000, NXT + 0x10000, NXT + (1 << 20),
		NXT + (256 << 20), NXT + (1U << 30), UNA + (1U << 31),
	};
	size_t i;
	int v6;

	for (v6 = 0; v6 < 2; v6++) {
		for (i = 0; i < ROOM(good); i++) {
			take_one(v6, false, good[i]);
			assert_accepted(false);
		}
		for (i = 0; i < ROOM(bad); i++) {
			take_one(v6, false, bad[i]);
			assert_dropped(HPCCPP_PS_OUTSIDE);
		}
	}
}

static void receiver_takes_what_may_come(void **state)
{
	static const __u32 good[] = { RCV, RCV + 1, RCV + (1 << 30) - 1 };
	static const __u32 bad[] = {
		RCV - 1, RCV + (1 << 30), RCV + (1U << 31), RCV - 0x10000,
	};
	size_t i;
	int v6;

	for (v6 = 0; v6 < 2; v6++) {
		for (i = 0; i < ROOM(good); i++) {
			take_one(v6, true, good[i]);
			assert_accepted(true);
		}
		for (i = 0; i < ROOM(bad); i++) {
			take_one(v6, true, bad[i]);
			assert_dropped(HPCCPP_PS_OUTSIDE);
		}
	}
}

static void takes_none_of_no_connection(void **state)
{
	static const int states[] = {
		0, BPF_TCP_LISTEN, BPF_TCP_SYN_SENT, BPF_TCP_SYN_RECV,
		BPF_TCP_TIME_WAIT, BPF_TCP_NEW_SYN_RECV,
	};
	size_t i;
	int k;

	for (k = 0; k < 4; k++) {
		for (i = 0; i < ROOM(states); i++) {
			the_sk.state = states[i];
			take_one(k & 1, k & 2, k & 2 ? RCV : UNA);
			assert_dropped(HPCCPP_PS_UNKNOWN);
		}
		the_sk.state = BPF_TCP_CLOSE_WAIT;
		take_one(k & 1, k & 2, k & 2 ? RCV : UNA);
		assert_accepted(k & 2);
	}
}

/* Each bit of it counts, as does a checksum that is not there. */
static void takes_none_that_is_damaged(void **state)
{
	__u32 at, bit, good;
	int k;

	for (k = 0; k < 4; k++) {
		at = k & 1 ? 54 : 34;
		take_one(k & 1, k & 2, k & 2 ? RCV : UNA);
		good = packet_len * 8;
		/* but for the port, the length and the id, by which it is a response */
		for (bit = (at + 6) * 8; bit < good; bit++) {
			if (bit / 8 == at + 8 || bit / 8 == at + 9)
				continue;
			take_one(k & 1, k & 2, k & 2 ? RCV : UNA);
			packet[bit / 8] ^= 1 << bit % 8;
			assert_dropped(HPCCPP_PS_DAMAGED);
		}
		take_one(k & 1, k & 2, k & 2 ? RCV : UNA);
		put16(packet + at + 6, 0);
		assert_dropped(HPCCPP_PS_DAMAGED);
		/* a record of nobody, whatever its load */
		take_one(k & 1, k & 2, k & 2 ? RCV : UNA);
		put32(packet + at + 20, 0x00500046);
		put_udp_sum();
		assert_dropped(HPCCPP_PS_DAMAGED);
	}
}

static void takes_from_whom_is_listed(void **state)
{
	int k;

	for (k = 0; k < 4; k++) {
		/* as IPv4 is in the list, but an address of IPv6: on no wire */
		prefixes[0].prefixlen = 96;
		take_one(true, k & 2, k & 2 ? RCV : UNA);
		memcpy(packet + 22, prefixes[0].addr, 16);
		put_udp_sum();
		assert_dropped(HPCCPP_PS_DENIED);
		take_one(k & 1, k & 2, k & 2 ? RCV : UNA);
		packet[k & 1 ? 37 : 29] ^= 1;	/* the source's last byte */
		put_udp_sum();
		if (k & 1)
			assert_dropped(HPCCPP_PS_DENIED);
		else
			assert_accepted(k & 2);
		prefixes[0].prefixlen = 128;
		take_one(k & 1, k & 2, k & 2 ? RCV : UNA);
		packet[k & 1 ? 37 : 29] ^= 1;
		put_udp_sum();
		assert_dropped(HPCCPP_PS_DENIED);
	}
}

/* One byte more or less, another port or id, a fragment, options: that is no response. */
static void leaves_what_is_no_response(void **state)
{
	static const struct { int v6; __u32 at; __u8 change; } changes[] = {
		{ 0, 14, 3 }, { 0, 16, 1 }, { 0, 17, 1 }, { 0, 20, 0x20 }, { 0, 20, 1 },
		{ 0, 21, 1 }, { 0, 23, 1 }, { 0, 36, 1 }, { 0, 37, 1 }, { 0, 38, 1 },
		{ 0, 39, 4 }, { 0, 42, 1 }, { 0, 43, 1 },
		{ 1, 18, 1 }, { 1, 19, 1 }, { 1, 20, 1 }, { 1, 56, 1 }, { 1, 57, 1 },
		{ 1, 58, 1 }, { 1, 59, 4 }, { 1, 62, 1 }, { 1, 63, 1 },
	};
	size_t i;

	for (i = 0; i < ROOM(changes); i++) {
		take_one(changes[i].v6, false, UNA);
		packet[changes[i].at] ^= changes[i].change;
		assert_untouched();
	}
	for (i = 0; i < 2; i++) {
		take_one(i, false, UNA);
		packet_len--;
		assert_untouched();
		take_one(i, false, UNA);
		skb.protocol ^= 0x100;
		assert_untouched();
		take_one(i, false, UNA);
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
	memcpy(packet, copied, sizeof(packet));
	packet_len = copied_len;
	assert_int_equal(hpccpp_port_cin(&copy), 7);
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
static void cnps_without_a_trace(void **state)
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
static void cnps_with_a_trace(void **state)
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
static void cnps_of_a_port_that_is_no_node(void **state)
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

static void cnps_have_a_sum(void **state)
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

static void cnps_about_data_only(void **state)
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
static void cnps_to_one_host_only(void **state)
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
static void cnps_of_finished_sums(void **state)
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
