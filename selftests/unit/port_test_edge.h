/* SPDX-License-Identifier: GPL-2.0 */
/* A port on ingress: the bytes that arrived, and a queue that cannot be seen from there. */

/* Has a packet arrive, whose segments GRO has merged; returns its record. */
static struct hpccpp_int arrived(__u32 len, __u32 segs, bool tagged)
{
	struct frame f;

	collect(&f, false, 1, 20);
	put_packet(&f);
	skb.len = len;
	skb.wire_len = 0;			/* has no meaning on ingress */
	skb.gso_segs = segs > 1 ? segs : 0;
	skb.gso_size = segs > 1 ? 100 : 0;
	skb.vlan_present = tagged;
	assert_int_equal(hpccpp_edge(&skb), TC_ACT_UNSPEC);
	return record_after(&f, 0);
}

/* Has n packets of 1250 bytes arrive at this percentage of the link's rate. */
static struct hpccpp_int arrivals(int n, int percent)
{
	struct hpccpp_int r = {};

	while (n--) {
		now += 1250 * 8 * SECOND / the_port.cfg.rate * 100 / percent;
		r = arrived(1250, 1, false);
	}
	return r;
}

/* Headers of merged segments, removed VLAN tags, the least frame and the overhead count. */
TEST(edge_counts_the_bytes_of_the_link)
{
	/* of collect()'s segments: Ethernet, IPv4, TCP with a request */
	enum { HEADERS = 14 + 20 + 20 + HPCCPP_OPT_LEN(1) };
	static const struct { __u32 len, segs; bool tagged; __u32 overhead, bytes; } rows[] = {
		{ 1000, 1, false, 0, 1000 }, { 1000, 1, true, 0, 1004 },
		{ 4000, 4, false, 0, 4000 + 3 * HEADERS },
		{ 4000, 4, true, 0, 4000 + 3 * HEADERS + 16 },
		{ 4000, 4, true, 24, 4000 + 3 * HEADERS + 16 + 96 },
		{ 50, 1, false, 24, 84 },
	};
	size_t i;

	for (i = 0; i < ROOM(rows); i++) {
		__u64 before = the_port.v_in;

		the_port.cfg.overhead = rows[i].overhead;
		arrived(rows[i].len, rows[i].segs, rows[i].tagged);
		assert_int_equal((the_port.v_in - before) >> 8, rows[i].bytes);
	}
}

/* tx_bytes counts the packets before this one, which have left the other end of the link. */
TEST(edge_reports_arrivals_as_sent)
{
	arrivals(10, 200);
	assert_int_equal(arrivals(1, 200).tx_bytes, 10 * 1250 >> HPCCPP_TX_SHIFT);
}

/* At the rate of the link the phantom queue grows by a 200th of that, up to 99.5 % it is none. */
TEST(phantom_queue_of_an_edge)
{
	struct hpccpp_int r;

	assert_int_equal(arrivals(1000, 99).qlen, 0);
	r = arrivals(1000, 100);
	assert_in_range(r.qlen, 6100 >> HPCCPP_QLEN_SHIFT, 6300 >> HPCCPP_QLEN_SHIFT);
	assert_in_range(r.U, 64, 66 + 64 * 6250 / 25000);
	/* it drains while less arrives */
	assert_int_equal(arrivals(200, 90).qlen, 0);
}

/* A more loaded link's record stays, and an edge counts flows as any port does. */
TEST(edge_keeps_a_more_loaded_record)
{
	struct frame f;

	arrivals(200, 50);
	collect(&f, false, 1, 20);
	put_packet(&f);
	packet[f.tcp + TCP_LEN + HPCCPP_OPT_HDR + 1] = 8;	/* a rate */
	packet[f.tcp + TCP_LEN + HPCCPP_OPT_HDR + 2] = 1;
	packet[f.tcp + TCP_LEN + HPCCPP_OPT_HDR + 3] = 60;	/* U */
	assert_int_equal(hpccpp_edge(&skb), TC_ACT_UNSPEC);
	assert_int_equal(stats[HPCCPP_PS_KEPT], 1);
	assert_int_equal(record_after(&f, 0).U, 60);
	assert_int_equal(stats[HPCCPP_PS_STAMPED], 200);
}
