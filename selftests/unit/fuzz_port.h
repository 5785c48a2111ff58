/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The port agent's part of fuzz.c: packets that leave by a port, and what comes to one.
 */

/* True if lo to hi are one record's bytes in a well-formed collect of this header. */
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
	__u64 sum = 0;

	for (; at < end; at++)
		sum += at & 1 ? p[at] << 8 : p[at];
	return fold(sum) % 0xffff;
}

/* The lengths and the checksum of a CNP, fast or not, have to be right. */
static void check_cnp(bool fast)
{
	__u32 udp = packet_len - sizeof(struct hpccpp_cnp), i;
	__u64 sum = IPPROTO_UDP + sizeof(struct hpccpp_cnp);

	if (fast)
		TRUE_OR_TRAP(packet[20] == 60 && !(udp % 8 ^ 54 % 8) &&
			     udp == 54U + (packet[55] + 1) * 8);
	else
		TRUE_OR_TRAP(packet[20] == IPPROTO_UDP && udp == 54);
	TRUE_OR_TRAP((packet[18] << 8 | packet[19]) == (int)packet_len - 54);
	for (i = 22; i < 54; i++)
		sum += i & 1 ? packet[i] : packet[i] << 8;
	for (i = udp; i < packet_len; i++)
		sum += i & 1 ? packet[i] : packet[i] << 8;
	TRUE_OR_TRAP(fold(sum) == 0xffff);
}

/* Whatever becomes of a packet on ingress has to be right, in length and checksum. */
static void run_ingress(struct __sk_buff *skb)
{
	__u64 accepted = stats[HPCCPP_PS_ACCEPTED];
	__u64 responded = stats[HPCCPP_PS_RESPONDED];
	__u64 sent = stats[HPCCPP_PS_CNP_SENT];
	__u32 at = skb->protocol == bpf_htons(ETH_P_IP) ? 34 : 54;
	__u32 addresses = at == 34 ? 26 : 22, n = at == 34 ? 4 : 16, i;
	__u8 old[sizeof(packet)], proto;
	__u64 sum;

	__builtin_memcpy(old, packet, sizeof(old));
	if (has_roce)
		hpccpp_port_cin(skb);
	else
		hpccpp_port_in(skb);
	TRUE_OR_TRAP(!sk_held && skb->mark != MARK);
	if (stats[HPCCPP_PS_CNP_SENT] != sent) {
		check_cnp(true);
		return;
	}
	if (stats[HPCCPP_PS_ACCEPTED] != accepted)
		proto = IPPROTO_TCP;
	else if (stats[HPCCPP_PS_RESPONDED] != responded)
		proto = IPPROTO_UDP;
	else
		return;
	sum = proto + packet_len - at;
	for (i = addresses; i < packet_len; i++)
		sum += i & 1 ? packet[i] : packet[i] << 8;
	TRUE_OR_TRAP(fold(sum) == 0xffff);
	sum = 0;
	for (i = 14; at == 34 && i < at; i++)
		sum += i & 1 ? packet[i] : packet[i] << 8;
	TRUE_OR_TRAP(at != 34 || fold(sum) == 0xffff);
	TRUE_OR_TRAP(packet[at == 34 ? 23 : 20] == proto);
	if (proto != IPPROTO_UDP)
		return;
	/* who is asked, and by which port: as it was; who is told, and the other */
	TRUE_OR_TRAP(!__builtin_memcmp(packet + at + 10, old + at, 2) &&
		     !__builtin_memcmp(packet + at + 12, old + at + 4, 4));
	TRUE_OR_TRAP(!__builtin_memcmp(packet + at - n, old + at -
				       (the_response.to ? n : 2 * n), n) &&
		     !__builtin_memcmp(packet + at + 32, old + at -
				       (the_response.to ? 2 * n : n), n));
}

static void take_packet(struct __sk_buff *skb)
{
	packet_len = take_byte() % PACKET_MOST;
	take(packet, packet_len);
	skb->len = packet_len;
	skb->ingress_ifindex = 1;
	if (packet_len >= sizeof(struct ethhdr))
		__builtin_memcpy(&skb->protocol, packet + 12, 2);
}

/* Packets that the agent has seen by kind, which are all */
static __u64 kinds(void)
{
	static const __u32 kind[] = HPCCPP_PORT_STAT_KINDS;
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < sizeof(kind) / sizeof(kind[0]); i++)
		sum += stats[kind[i]];
	return sum;
}

/* Not static: it has to be run itself, and not a copy of it inside another. */
int (*port_set)(struct __sk_buff *skb) = hpccpp_port_set;

/* What comes from another, and may be a response */
static void one_arrival(void)
{
	struct __sk_buff skb = {};

	the_sk.state = take_byte() % 11;
	take(&the_tp.snd_una, sizeof(the_tp.snd_una));
	the_tp.snd_nxt = the_tp.snd_una + take_byte();
	the_tp.rcv_nxt = the_tp.snd_una;
	take_packet(&skb);
	run_ingress(&skb);
	/* no packet runs this: what it is told is the command's */
	skb.mark = the_port.cfg.queues;
	TRUE_OR_TRAP(port_set(&skb) == TC_ACT_UNSPEC);
}

static void one_packet(void)
{
	struct __sk_buff skb = {};
	__u32 i, tcp, lo = sizeof(packet), hi = 0;
	__u64 did = 0, before = 0, seen = kinds(), marked = stats[HPCCPP_PS_CNP_MARKED];
	__u8 old[sizeof(packet)];
	__u16 proto;

	take_packet(&skb);
	skb.wire_len = take_range(0, 70000);
	skb.gso_segs = take_byte();
	skb.gso_size = take_byte();
	skb.queue_mapping = take_byte() & 1;
	skb.hash = take_byte();
	__builtin_memcpy(old, packet, sizeof(old));
	for (i = 0; i < HPCCPP_PS_SEGMENTS; i++)
		before += stats[i];

	if (has_roce) {
		int act = hpccpp_port_cnp(&skb);

		TRUE_OR_TRAP(act == TC_ACT_UNSPEC ||
			     (act == TC_ACT_SHOT && the_roce.border));
	} else {
		TRUE_OR_TRAP((has_extras ? hpccpp_port_ext(&skb) :
			      hpccpp_port(&skb)) == TC_ACT_UNSPEC);
	}

	for (i = 0; i < HPCCPP_PS_SEGMENTS; i++)
		did += stats[i];
	/* once each, but what leaves the domain, which is dropped; another error counts too */
	seen = kinds() - seen;
	TRUE_OR_TRAP((seen || the_roce.border) &&
		     seen <= 1 + (the_port.cfg.respond && has_extras) + has_roce);
	/* a segment that was written into may be answered, too */
	TRUE_OR_TRAP(did - before <= 1 + (the_port.cfg.respond && has_extras) +
				     2 * has_roce);
	TRUE_OR_TRAP(stats[HPCCPP_PS_CNP_MARKED] == marked ||
		     (the_roce.ecn && !the_roce.capables));
	TRUE_OR_TRAP(the_port.U <= HPCCPP_U_LIMIT);
	tcp = ip_offset(&skb, &proto);
	tcp = tcp_offset(&skb, tcp, proto, NULL);
	/* what is not TCP, a trace is written into */
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
		TRUE_OR_TRAP(sum_from(packet, tcp, packet_len) ==
			     sum_from(old, tcp, packet_len));
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
	has_extras |= has_roce;
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
	n_prefixes = 1;		/* all */
	__builtin_memset(answered_bits, 0, sizeof(answered_bits));
	while (left) {
		pass_time();
		if (!(take_byte() % 4))
			one_arrival();
		else
			one_packet();
	}
}
