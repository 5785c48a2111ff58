/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of fuzz.c: builds packets of the kinds that the agents of ports and of RoCEv2 hosts
 * read, and runs the port agent on those that leave by a port and those that come in.
 */

/* --- Packets ------------------------------------------------------------------- */

/* Extension headers of IPv6, "next" left out: a trace, Fast CNPs of either form, and others */
static const struct { __u8 type, len, b[64]; } extensions[] = {
	{ IPPROTO_HOPOPTS, 48, { 0, 5, 1, 0, 0x31, 38, 0, 0, 0, 1, 7 << 3, 7, 0xf2, 0x0c,
				 [44] = 1, 2 } },
	{ IPPROTO_HOPOPTS, 48, { 0, 5, 1, 0, 0x31, 38, 0, 0, 0, 1, 7 << 3, 0, 0xf2, 0x0c,
				 [44] = 1, 2 } },
	{ IPPROTO_DSTOPTS, 24, { 0, 2, 1, 2, 0, 0, HPCCPP_FCNP_TYPE1, 16, 0xfd } },
	{ IPPROTO_DSTOPTS, 64, { 0, 7, 1, 0, HPCCPP_FCNP_TYPE2, 54, 0, 0, 0, 1, 7 << 3, 0, 0xf2,
				 0x0c, [16] = 0x3f, 0, 0, 1, 0, 1, 0, 2, 0, 0, 0, 1, 0, 1, 0, 0,
				 0, 1, 0x5f, 0x90, 0, 1, 0, 0, 29 << 2,
				 [44] = 0xfd, [60] = 1, 2 } },
	{ IPPROTO_ROUTING, 24, { 0, 2, 4, 1, [8] = 0xfd, 3 } },
	{ IPPROTO_FRAGMENT, 8, {} },
	{ IPPROTO_AH, 24, { 0, 4 } },
};

/* Packets of RoCEv2: an extension header (1: the first above), BTH opcode, UDP length */
static const struct { __u8 extension, opcode, len; } roce_kinds[] = {
	{ 0, 4, 28 }, { 3, HPCCPP_ROCE_CNP, 40 }, { 4, HPCCPP_ROCE_CNP, 40 }, { 0, 0x11, 28 },
	{ 0, HPCCPP_ROCE_CNP, 40 }, { 1, 4, 28 }, { 0, 0x0c, 28 }, { 0, 4, 32 },
};

/* A packet of RoCEv2, with up to two more extension headers */
static void take_roce(void)
{
	__u8 *p = packet + 54, *next = packet + 20, what = take_byte(), more = take_byte();
	__u8 pair = take_byte(), opcode = roce_kinds[what % 8].opcode;
	__u32 len = roce_kinds[what % 8].len, i = roce_kinds[what % 8].extension;

	__builtin_memset(packet, 0, sizeof(packet));
	put16(packet + 12, 0x86dd);
	put32(packet + 14, 0x60000000 | (what & 0x80 ? 3 << 20 : 0));	/* marked */
	packet[21] = 64;
	/* the host's peer, or a switch on the path */
	packet[22] = what & 0x40 ? 0xfc : 0xfd;
	packet[38] = 0xfd;
	for (more = more < 0xc0 ? 0 : more & 0x3f; i || more; more /= 8) {
		i = i ? i - 1 : more % 8 % (sizeof(extensions) / sizeof(extensions[0]));
		*next = extensions[i].type;
		__builtin_memcpy(p, extensions[i].b, extensions[i].len);
		next = p;
		p += extensions[i].len;
		i = 0;
	}
	*next = IPPROTO_UDP;
	put16(p, 1000);
	put16(p + 2, HPCCPP_ROCE_PORT);
	put16(p + 4, len);
	put16(p + 6, what & 0x20 ? 0x1234 : 0);
	p[8] = opcode;
	put16(p + 10, 0xffff);
	put32(p + 12, 16 + (pair & 0x80 ? pair % 8 : 0));
	if (opcode != HPCCPP_ROCE_CNP)
		put32(p + 16, 0x80000001);
	packet_len = p + len - packet;
	put16(packet + 18, packet_len - 54);
}

/* A segment whose options are those of a layout and one of ours, or the response to it */
static void take_segment(bool respond)
{
	static const struct { __u8 len; __u8 b[20]; } layouts[] = {
		{}, { 12, { 1, 1, 8, 10 } }, { 12, { 1, 1, 5, 10 } }, { 20, { 1, 1, 19, 18 } },
		{ 4, { 2, 4 } }, { 20, { 2, 4, 0, 0, 4, 2, 8, 10, [16] = 1, 3, 3, 7 } },
	};
	static const __u8 flags[] = { 0x10, 0x18, 2, 18 };
	static const struct hpccpp_int r = { .link = 5, .rate = 0x864, .U = 70, .N = 40 };
	__u8 what = take_byte(), shape = take_byte(), opts[40] = {};
	__u32 at = layouts[what % 6].len, len = 4 + take_byte() % 10 * 4;
	struct frame f;

	if (len > sizeof(opts) - at)
		len = sizeof(opts) - at;
	__builtin_memcpy(opts, layouts[what % 6].b, at);
	put_header(opts + at, len, shape & 0x80 ? HPCCPP_EXID_BURST : HPCCPP_EXID_COLLECT);
	take(opts + at + HPCCPP_OPT_HDR, len - HPCCPP_OPT_HDR);
	/* a record that a port has written, in a SYN with an N */
	if (what & 0x20 && len >= HPCCPP_OPT_LEN(1))
		put_record(opts + at + HPCCPP_OPT_HDR, &r);
	segment(&f, &shapes[respond ? shape & 1 : shape % SHAPES], flags[what >> 6], opts,
		at + len, 20);
	packet_len = f.len;
	__builtin_memcpy(packet, f.b, f.len);
	if (respond)
		packet_len = response_to(packet, &f, &r, what & 8);
}

/* A packet of one of these kinds, or of any bytes. Some bytes of it change, or it is cut. */
static void take_packet(struct __sk_buff *skb, bool roce)
{
	__u8 kind = take_byte(), i;

	switch (roce && (kind & 3) < 3 ? 0 : kind & 3) {
	case 0:
		take_roce();
		break;
	case 3:
		packet_len = take_byte() % PACKET_MOST;
		take(packet, packet_len);
		break;
	default:
		take_segment(kind & 1);
	}
	for (i = kind >> 2 & 3; i > 1; i--)
		packet[take_byte() % PACKET_MOST] = take_byte();
	if (kind >> 4 == 15)
		packet_len = take_byte() % PACKET_MOST;
	skb->len = packet_len;
	skb->ingress_ifindex = 1;
	if (packet_len >= sizeof(struct ethhdr))
		skb->protocol = protocol_of_packet();
}

/* --- The port agent -------------------------------------------------------------- */

/* Returns true if the bytes lo to hi are in one record of a well-formed request. */
static bool in_record(const __u8 *p, __u32 tcp, __u32 lo, __u32 hi)
{
	__u32 end = tcp + (p[tcp + 12] >> 4) * 4;
	bool push = p[tcp + 13] & TCPHDR_PSH;
	__u32 o, l, exid;

	for (o = tcp + sizeof(struct tcphdr); o + 4 <= end && o + 4 <= lo; o++) {
		exid = p[o + 2] << 8 | p[o + 3];
		l = p[o + 1];
		if (l == HPCCPP_SYNACK_LEN)
			l = HPCCPP_OPT_LEN(1);
		if (p[o] == HPCCPP_OPT_KIND && (l == 16 || l == 28 || l == 40) &&
		    (exid == HPCCPP_EXID_COLLECT || (exid == HPCCPP_EXID_BURST && push)) &&
		    o + l <= end && hi < o + l &&
		    (lo - o - 4) / HPCCPP_REC_LEN == (hi - o - 4) / HPCCPP_REC_LEN)
			return true;
	}
	return false;
}

static __u16 sum_from(const __u8 *p, __u32 at, __u32 end)
{
	return at < end ? folded(add16(p + at, end - at)) % 0xffff : 0;
}

/* The lengths and the checksum of a CNP, fast or not, have to be right. */
static void check_cnp(bool fast)
{
	__u32 udp = packet_len - sizeof(struct hpccpp_cnp);

	if (fast)
		TRUE_OR_TRAP(packet[20] == 60 && !(udp % 8 ^ 54 % 8) &&
			     udp == 54U + (packet[55] + 1) * 8);
	else
		TRUE_OR_TRAP(packet[20] == IPPROTO_UDP && udp == 54);
	TRUE_OR_TRAP((packet[18] << 8 | packet[19]) == (int)packet_len - 54);
	TRUE_OR_TRAP(l4_sum(packet + 14, true, packet + udp, packet_len - udp,
			    IPPROTO_UDP) == 0xffff);
}

/* What becomes of a packet on ingress has to be right, in length and checksum. */
static void run_ingress(struct __sk_buff *skb)
{
	__u64 accepted = stats[HPCCPP_PS_ACCEPTED];
	__u64 responded = stats[HPCCPP_PS_RESPONDED];
	__u64 sent = stats[HPCCPP_PS_CNP_SENT];
	bool v4 = skb->protocol == bpf_htons(ETH_P_IP);
	__u8 proto;

	if (has_roce)
		hpccpp_port_cin(skb);
	else
		hpccpp_port_in(skb);
	TRUE_OR_TRAP(!sk_held && skb->mark != MARK);
	if (stats[HPCCPP_PS_CNP_SENT] != sent) {
		check_cnp(true);
		return;
	}
	if (stats[HPCCPP_PS_ACCEPTED] == accepted && stats[HPCCPP_PS_RESPONDED] == responded)
		return;
	proto = packet[v4 ? 23 : 20];
	TRUE_OR_TRAP(proto == (stats[HPCCPP_PS_ACCEPTED] != accepted ? IPPROTO_TCP : IPPROTO_UDP));
	TRUE_OR_TRAP(sum_of(packet, packet_len) == 0xffff);
	TRUE_OR_TRAP(!v4 || folded(add16(packet + 14, 20)) == 0xffff);
}

/* Not static: the function itself has to run, and not a copy of it inside another. */
int (*port_set)(struct __sk_buff *skb) = hpccpp_port_set;

/* A packet from another host, which may be a response */
static void one_arrival(void)
{
	struct __sk_buff skb = {};
	__be32 seq;

	the_sk.state = take_byte() % 11;
	take_packet(&skb, false);
	/* most often a segment in flight */
	memcpy(&seq, packet + (skb.protocol == bpf_htons(ETH_P_IP) ? 46 : 66), sizeof(seq));
	the_tp.snd_una = bpf_ntohl(seq);
	the_tp.snd_una += (__s8)take_byte();
	the_tp.snd_nxt = the_tp.snd_una + take_byte();
	the_tp.rcv_nxt = the_tp.snd_una;
	run_ingress(&skb);
	/* no packet runs this: the command does */
	skb.mark = the_port.cfg.queues;
	TRUE_OR_TRAP(port_set(&skb) == TC_ACT_UNSPEC);
}

static bool has_edge;	/* the port is on ingress */

static void one_packet(void)
{
	__u32 i, tcp, lo = sizeof(packet), hi = 0;
	struct __sk_buff skb = {};
	__u8 old[sizeof(packet)];
	__u16 proto;
	int act;

	take_packet(&skb, false);
	skb.wire_len = take_range(0, 70000);
	skb.gso_segs = take_byte();
	skb.gso_size = take_byte();
	skb.queue_mapping = take_byte() & 1;
	skb.hash = take_byte();
	__builtin_memcpy(old, packet, sizeof(old));
	skb.vlan_present = take_byte() & 1;
	act = has_edge ? hpccpp_edge(&skb) : has_roce ? hpccpp_port_cnp(&skb) :
	      has_extras ? hpccpp_port_ext(&skb) : hpccpp_port(&skb);
	TRUE_OR_TRAP(act == TC_ACT_UNSPEC ||
		     (act == TC_ACT_SHOT && has_roce && the_roce.border));
	TRUE_OR_TRAP(the_port.U <= HPCCPP_U_LIMIT);
	tcp = ip_offset(&skb, &proto);
	tcp = tcp_offset(&skb, tcp, proto, NULL);
	/* traces are written into packets that are not TCP */
	for (i = 0; i < packet_len && (tcp || !has_roce); i++) {
		if (packet[i] == old[i])
			continue;
		TRUE_OR_TRAP(tcp);
		if (i - tcp - TCP_CSUM_OFF < 2)
			continue;
		hi = i;
		if (lo > i)
			lo = i;
	}
	if (tcp)
		TRUE_OR_TRAP(sum_from(packet, tcp, packet_len) == sum_from(old, tcp, packet_len));
	if (hi)
		TRUE_OR_TRAP(in_record(old, tcp, lo, hi));
	TRUE_OR_TRAP(!skb.mark);
	if (copy.mark) {
		run_ingress(&copy);
		copy.mark = 0;
	}
}

static void fuzz_port(void)
{
	struct hpccpp_port_cfg *cfg = &the_port.cfg;
	__u8 what;

	__builtin_memset(&the_port, 0, sizeof(the_port));
	cfg->rate = take_range(HPCCPP_RATE_MIN, HPCCPP_RATE_MAX);
	cfg->rate_code = hpccpp_rate_encode(cfg->rate);
	cfg->base_rtt = take_range(1, HPCCPP_T_MAX);
	cfg->link = take_range(0, HPCCPP_LINK_MAX);
	cfg->queue = HPCCPP_QUEUE_VIRTUAL;
	cfg->queues = take_range(1, 4);
	cfg->mq = cfg->queues > 1;
	what = take_byte();
	has_extras = what & 1;
	cfg->above = what >> 2;
	cfg->subscribed = what >> 1 & 1;
	cfg->dscp = 1;
	cfg->respond = take_byte();
	what = take_byte();
	has_roce = what & 1;
	has_edge = !has_roce && what & 0x40;
	has_extras |= has_roce || has_edge;
	the_roce = (struct hpccpp_port_roce) {
		.source = { 0xfd }, .type1 = HPCCPP_FCNP_TYPE1,
		.type2 = HPCCPP_FCNP_TYPE2, .cnp = take_byte(),
		.ecn = what >> 1 & 1, .ioam = what >> 2 & 1,
		.border = what >> 3 & 1, .ns = bpf_htons(1), .speed = 28,
		.node = 7, .capables = what >> 5 & 1,
	};
	the_response = (struct hpccpp_port_response) {
		.interval = 1000, .mark = MARK, .port = HPCCPP_RESPONSE_PORT,
		.accepts = 1, .to = what >> 4 & 1, .addr4 = { 10 }, .addr6 = { 0xfd },
	};
	n_prefixes = 1;		/* of length 0: all */
	__builtin_memset(answered_bits, 0, sizeof(answered_bits));
	while (left) {
		pass_time();
		if (!(take_byte() % 4))
			one_arrival();
		else
			one_packet();
	}
}
