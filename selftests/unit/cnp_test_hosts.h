/* SPDX-License-Identifier: GPL-2.0 */
/* The other tasks of hosts: traces, detours, answers to marks. Part of cnp_test.c. */

/* --- Traces that are added and taken off --- */

static void with_trace(__u8 hops)
{
	the_cnp.hops = hops;
	the_cnp.trace = bpf_htons(7);
	the_cnp.namespaces[0] = 7;
	the_cnp.n_namespaces = 1;
	if (!the_cnp.trace_to++)
		list(&cnp_trace_to, peer, 64);
}

TEST(a_trace_is_added_and_taken_off)
{
	static __u8 without[sizeof(packet)];
	__u32 len, hops;

	for (hops = 1; hops <= 5; hops++) {
		const struct hpccpp_hbh *h = (const void *)(packet + BEHIND);

		send();
		len = packet_len;
		__builtin_memcpy(without, packet, sizeof(without));
		with_trace(hops);
		send();
		assert_int_equal(packet_len, len + ((16 + 28 * hops + 7) & ~7));
		assert_int_equal(packet[IPV6 + 6], 0);
		assert_int_equal(packet[IPV6 + 4] << 8 | packet[IPV6 + 5], packet_len - BEHIND);
		assert_int_equal(h->next, IPPROTO_UDP);
		assert_int_equal((h->hdrlen + 1) * 8, packet_len - len);
		assert_memory_equal(h->padn, "\1\0", 2);
		assert_int_equal(h->type, 0x31);
		assert_int_equal(h->len, 10 + 28 * hops);
		assert_int_equal(h->ioam_type, 0);
		assert_int_equal(bpf_ntohs(h->trace.ns), 7);
		assert_int_equal(h->trace.node_flags, 7 << 3);
		assert_int_equal(h->trace.rem, 7 * hops);
		assert_int_equal(bpf_ntohl(h->trace.type), 0xf20c0000);
		if (hops & 1)
			assert_memory_equal(packet + BEHIND + 16 + 28 * hops, "\1\2\0\0", 4);
		/* at the other end */
		assert_int_equal(hpccpp_cnp_in(&skb), TC_ACT_UNSPEC);
		assert_int_equal(packet_len, len);
		assert_memory_equal(packet, without, len);
		the_cnp.hops = 0;
	}
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_ADDED], 5);
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_REMOVED], 5);
}

TEST(no_trace_to_others)
{
	with_trace(1);
	start(me, another, IPPROTO_UDP);
	put_roce(SEND, QP, 1, 44);
	finish();
	assert_int_equal(hpccpp_cnp_out(&skb), TC_ACT_UNSPEC);
	assert_int_equal(packet_len, SIZE);
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_ADDED], 0);
	send();
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_ADDED], 1);
}

TEST(no_trace_over_the_mtu)
{
	with_trace(8);
	send();
	assert_int_equal(packet_len, SIZE);
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_MTU], 1);
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_ADDED], 0);
	assert_int_equal(flow()->packets, 1);
}

/* A packet with a Hop-by-Hop header comes. True if the agent takes the header off. */
static bool taken_off(__u16 ns, __u8 node_flags, __u8 rem, __u32 type, const char *after,
		      __u32 after_len)
{
	__u64 removed = cnp_counts[HPCCPP_CS_TRACE_REMOVED];
	struct hpccpp_hbh h = {
		.next = IPPROTO_UDP, .hdrlen = (16 + 28 + after_len) / 8 - 1, .padn = { 1 },
		.type = 0x31, .len = 10 + 28,
		.trace = { .ns = bpf_htons(ns), .node_flags = node_flags, .rem = rem,
			   .type = bpf_htonl(type) },
	};

	start(peer, me, 0);
	put(&h, sizeof(h));
	put_zeros(28);
	put(after, after_len);
	put_roce(SEND, OURS, 1, 44);
	finish();
	assert_int_equal(hpccpp_cnp_in(&skb), TC_ACT_UNSPEC);
	return cnp_counts[HPCCPP_CS_TRACE_REMOVED] != removed;
}

TEST(what_is_taken_off)
{
	assert_false(taken_off(7, 7 << 3, 7, 0xf20c0000, "\1\2\0\0", 4));
	with_trace(1);
	assert_true(taken_off(7, 7 << 3, 7, 0xf20c0000, "\1\2\0\0", 4));
	assert_true(taken_off(7, 7 << 3 | 4, 0, 0xf20c0000, "\0\0\0\0", 4));
	assert_true(taken_off(7, 1 << 3, 7, 0x80000000, "\1\2\0\0", 4));
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_LEFT], 0);
	/* a trace of another namespace stays */
	assert_false(taken_off(8, 7 << 3, 7, 0xf20c0000, "\1\2\0\0", 4));
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_LEFT], 0);
	/* wrong lengths, or an option beside it */
	assert_false(taken_off(7, 6 << 3, 7, 0xf20c0000, "\1\2\0\0", 4));
	assert_false(taken_off(7, 7 << 3, 8, 0xf20c0000, "\1\2\0\0", 4));
	assert_false(taken_off(7, 0, 7, 0, "\1\2\0\0", 4));
	assert_false(taken_off(7, 7 << 3, 7, 0xf20c0000, "\x1e\2\0\0", 4));
	assert_false(taken_off(7, 7 << 3, 7, 0xf20c0000, "\1\3\0\0", 4));
	assert_int_equal(cnp_counts[HPCCPP_CS_TRACE_LEFT], 5);
}

/* --- Detours --- */

static __u16 port_of_last(void)
{
	return packet[BEHIND] << 8 | packet[BEHIND + 1];
}

TEST(a_detour)
{
	__u16 port;
	__u64 at;

	the_cnp.detours = 1;
	list(&cnp_detour, a_switch, 128);
	send();
	assert_string_equal(fast(peer), "receiver");
	assert_int_equal(flow()->detours, 0);
	now += 2 * the_cnp.dcqcn.timer;
	assert_string_equal(fast(another), "switch");
	assert_int_equal(flow()->detours, 0);
	now += 2 * the_cnp.dcqcn.timer;
	assert_string_equal(fast(a_switch), "switch");
	assert_int_equal(flow()->detours, 1);
	assert_int_equal(cnp_counts[HPCCPP_CS_DETOURED], 1);
	at = send();
	port = port_of_last();
	assert_true(port >= 49152 && port != 50000);
	assert_int_equal(port, flow()->port);
	/* the flow pauses, for packets on the old way to arrive first */
	assert_true(at >= now + RTT * US);
	/* the whole sequence moves; the other sequence and other flows stay */
	leave(0x0c, QP, 1, 44);
	assert_int_equal(port_of_last(), port);
	leave(ACK, QP, 1, 44);
	assert_int_equal(port_of_last(), 50000);
	leave(SEND, QP + 1, 1, 44);
	assert_int_equal(port_of_last(), 50000);
	/* it does not move again within 8 T */
	now += 8 * RTT * US;
	send();
	assert_string_equal(fast(a_switch), "switch");
	assert_int_equal(flow()->detours, 1);
	now += 2 * the_cnp.dcqcn.timer;
	assert_string_equal(fast(a_switch), "switch");
	assert_int_equal(flow()->detours, 2);
	assert_int_not_equal(flow()->port, port);
}

TEST(a_detour_keeps_the_icrc_right)
{
	__u32 icrc, was = 0x12345678, len;
	static __u8 old[sizeof(packet)];

	send();
	flow()->port = 60001;
	start(me, peer, IPPROTO_UDP);
	put_roce(SEND, QP, 1, 44);
	finish();
	len = packet_len - BEHIND - 4;
	__builtin_memcpy(old, packet, sizeof(old));
	was = HPCCPP_LE32(crc32(0, packet + BEHIND, len));
	__builtin_memcpy(packet + BEHIND + len, &was, 4);
	hpccpp_cnp_out(&skb);
	assert_int_equal(port_of_last(), 60001);
	__builtin_memcpy(&icrc, packet + BEHIND + len, 4);
	assert_int_equal(icrc, HPCCPP_LE32(crc32(0, packet + BEHIND, len)));
}

/* --- Notification point --- */

static void answering(__u8 with)
{
	the_cnp.answer = with;
	the_cnp.mark = MARK;
	the_cnp.limit = 1000000;
	/* at this time the routes of the shim say that it is for us */
	now += (5 - now % 3) % 3;
}

/*
 * A data packet with a congestion mark comes. True if the agent made a copy to answer it.
 */
static bool marked(__u32 qpn, __u32 psn, __u8 ecn)
{
	copy.mark = 0;
	start(peer, me, IPPROTO_UDP);
	packet[IPV6 + 1] |= ecn << 4;
	put_roce(SEND, qpn, psn, 44);
	finish();
	assert_int_equal(hpccpp_cnp_in(&skb), TC_ACT_UNSPEC);
	assert_int_equal(skb.mark, 0);
	return copy.mark;
}

static void answer(void)
{
	__builtin_memcpy(packet, copied, sizeof(packet));
	packet_len = copied_len;
	assert_int_equal(hpccpp_cnp_in(&copy), 7);
}

TEST(a_mark_is_answered_with_a_fast_cnp)
{
	struct hpccpp_cnp c;

	assert_false(marked(QP, 1, 3));
	answering(HPCCPP_ANSWER_FAST);
	assert_false(marked(QP, 1, 2));
	assert_true(marked(QP, 1, 3));
	answer();
	assert_int_equal(cnp_counts[HPCCPP_CS_ANSWERED], 1);
	assert_int_equal(packet_len, BEHIND + 24 + sizeof(c));
	assert_memory_equal(packet + IPV6 + 8, me, 16);
	assert_memory_equal(packet + IPV6 + 24, peer, 16);
	assert_int_equal(packet[BEHIND + 6], HPCCPP_FCNP_TYPE1);
	assert_memory_equal(packet + BEHIND + 8, me, 16);
	__builtin_memcpy(&c, packet + BEHIND + 24, sizeof(c));
	assert_int_equal(c.bth.opcode, FAST);
	assert_int_equal(bpf_ntohl(c.bth.qpn), QP | 0x40000000);
	assert_int_equal(c.icrc, icrc_of(&c));
	/* no second one within N, and none for another host's packet */
	now += the_cnp.dcqcn.N - 3;
	answering(HPCCPP_ANSWER_FAST);
	assert_false(marked(QP, 1, 3));
	assert_int_equal(cnp_counts[HPCCPP_CS_SUPPRESSED], 1);
	now += 3;
	assert_true(marked(QP, 1, 3));
	now += 1;
	assert_false(marked(QP + 1, 1, 3));
	assert_false(marked(1, 1, 3));
}

TEST(an_answer_needs_the_queue_pair_of_the_sender)
{
	answering(HPCCPP_ANSWER_CNP);
	assert_false(marked(OURS, 1, 3));
	assert_int_equal(cnp_counts[HPCCPP_CS_UNPAIRED], 1);
	marked(OURS, ECN_ASK | 7, 0);
	leave(ACK, QP, 7, 4);
	assert_true(marked(OURS, 8, 3));
	answer();
	assert_int_equal(packet_len, BEHIND + sizeof(struct hpccpp_cnp));
	assert_int_equal(packet[BEHIND + 8 + 4], 0x40);
	assert_memory_equal(packet + BEHIND + 8 + 5, "\x12\x34\x56", 3);
}

TEST(no_more_answers_than_the_limit)
{
	int i, n = 0;

	answering(HPCCPP_ANSWER_FAST);
	the_cnp.limit = 10;
	for (i = 0; i < 20; i++)
		n += marked(QP + i, 1, 3);
	/* the limit lets pass those of a tenth of a second at once, and one more */
	assert_int_equal(n, 2);
	assert_int_equal(cnp_counts[HPCCPP_CS_LIMITED], 18);
}
