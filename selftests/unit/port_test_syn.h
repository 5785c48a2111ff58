/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of port_test.c: N of a SYN's record is the number of flows that begin with it or began
 * shortly before, this one included.
 */

/* Sends a SYN of a new flow; returns the number of flows in its record. */
static __u32 send_syn(bool v6)
{
	struct hpccpp_int r;
	struct frame f;

	flow_hash++;
	segment(&f, &shapes[v6], SYN, syn_options, sizeof(syn_options), 0);
	put_packet(&f);
	assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
	r = record_after(&f, SYN_MSS_LEN);
	assert_int_equal(r.link, 0x123);
	return hpccpp_N_decode(r.N) / 4;
}

/* N is two to 1000 flows, in the steps of its code. Eight flows leave the count in each T. */
TEST(new_flows_are_told_to_a_syn)
{
	__u32 n, most;

	assert_int_equal(send_syn(false), 0);
	for (n = 2; n < 1200; n++) {
		most = n < 1000 ? n : 1000;
		assert_in_range(send_syn(n & 1), most - most / 8, most + most / 8);
	}
	/* data carries the number of all flows */
	assert_int_equal(hpccpp_N_decode(written(100).N) / 4, 1);
	now += 121 * T_NS;
	assert_in_range(send_syn(false), 28, 36);
	now += 5 * T_NS;
	assert_int_equal(send_syn(false), 0);
	/* to the nearest: 1.6 flows */
	now += 5 * T_NS;
	send_syn(false);
	now += T_NS / 20;
	assert_int_equal(send_syn(false), 2);
	now += 5 * T_NS;
	/* eight new flows in each T are no incast */
	for (n = 0; n < 100; n++) {
		now += T_NS / 8;
		assert_int_equal(send_syn(false), 0);
	}
}

/* Builds the SYN of the 17th of the flows that begin, with this record */
static void put_syn_with(struct frame *f, const struct hpccpp_int *r)
{
	__u32 n;

	set_up(NULL);
	for (n = 0; n < 16; n++)
		send_syn(false);
	the_port.U = HPCCPP_ONE;
	memset(stats, 0, sizeof(stats));
	segment(f, &shapes[0], SYN, syn_options, sizeof(syn_options), 0);
	put_record(f->b + f->tcp + TCP_LEN + SYN_MSS_LEN + HPCCPP_OPT_HDR, r);
	put_tcp_sum(f);
	put_packet(f);
}

#define HIGH		200	/* loads of the record that the SYN brings */
#define LOW		0
#define MAX_RATE	(4000000 * MBIT)

/*
 * The SYN's record of another port has N and a rate. The record that it leaves with has the
 * larger number of flows, for its own rate: N flows of a link of one rate get the same share
 * as N * x flows of a link of x times the rate. 17 flows begin here, at 200 Mbit/s; N says 16.
 */
static const struct syn_row {
	const char *why;
	__u64 rate;
	__u8 U;
	__u32 N, then;
} syn_rows[] = {
	{ "Same rate, no flows of the other port.", OURS, HIGH, 0, 16 },
	{ "Same rate, more flows here.", OURS, HIGH, 14, 16 },
	{ "Same rate, more flows at the other port.", OURS, HIGH, 20, 20 },
	{ "Half the rate: half as many flows have the same share.", OURS / 2, HIGH, 0, 8 },
	{ "A quarter of the rate.", OURS / 4, HIGH, 3, 4 },
	{ "5.6 flows are 6.", 70 * MBIT, HIGH, 0, 6 },
	{ "5.2 flows are 5.", 65 * MBIT, HIGH, 0, 5 },
	{ "3.5 flows are 4.", 44 * MBIT, HIGH, 0, 4 },
	{ "1.4 flows are rounded to one, and N of one flow is 0.", 17 * MBIT, HIGH, 0, 0 },
	{ "1.4 flows do not change the other port's number.", 17 * MBIT, HIGH, 2, 2 },
	{ "Ten times the rate.", 10 * OURS, HIGH, 0, 160 },
	{ "The largest rate: the number saturates.", MAX_RATE, HIGH, 0, 65535 },
	{ "The smallest rate.", 10000, HIGH, 5, 5 },
	{ "Rates out of range have no flows.", 5000000 * MBIT, HIGH, 0, 0 },
	{ "A rate that is too small.", 9000, HIGH, 0, 0 },
	{ "The largest code of a rate.", 255000000000000000, HIGH, 0, 0 },
	/* the record of a low load is replaced, and its flows are converted to our rate */
	{ "Same rate, and fewer flows in the old record.", OURS, LOW, 14, 16 },
	{ "Same rate, and more flows in the old record.", OURS, LOW, 64, 64 },
	{ "Twice the rate: half as many flows.", 2 * OURS, LOW, 64, 32 },
	{ "Twice the rate, and fewer flows.", 2 * OURS, LOW, 28, 16 },
	{ "20 times the rate: the flows are too few.", 20 * OURS, LOW, 64, 16 },
	{ "A tenth of the rate: ten times as many flows.", OURS / 10, LOW, 64, 640 },
	{ "The smallest rate: the number saturates.", 10000, LOW, 64, 65535 },
	{ "Largest product of number and rate.", 10000, LOW, 49152, 65535 },
	{ "Largest rate and number.", MAX_RATE, LOW, 49152, 16 },
	{ "A rate out of range, in the old record.", 5000000 * MBIT, LOW, 49152, 16 },
	{ "A rate that is too small, in the old record.", 9000, LOW, 64, 16 },
	{ "The largest code of a rate, in the old record.", 255000000000000000, LOW, 49152, 16 },
	{ "An empty record has no rate.", 0, LOW, 64, 16 },
};

TEST(new_flows_in_the_record_of_a_syn)
{
	size_t i;

	for (i = 0; i < ROOM(syn_rows); i++) {
		const struct syn_row *row = &syn_rows[i];
		struct hpccpp_int r, other = {
			.link = 0x777, .rate = hpccpp_rate_encode(row->rate), .ts = 0x123456,
			.tx_bytes = 0x345678, .qlen = 127, .U = row->U,
			.N = hpccpp_N_encode(row->N),
		};
		struct frame f;

		put_syn_with(&f, &other);
		assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
		memcpy(f.b, packet, f.len);
		assert_int_equal(tcp_sum(&f), 0xffff);
		r = record_after(&f, SYN_MSS_LEN);
		if (r.N != hpccpp_N_encode(row->then))
			fail_msg("%s N is %u.", row->why, hpccpp_N_decode(r.N) / 4);
		assert_int_equal(counted(), 1);
		if (row->U == LOW) {
			assert_int_equal(r.link, the_port.cfg.link);
			assert_int_equal(r.rate, the_port.cfg.rate_code);
			assert_int_equal(stats[row->rate ? HPCCPP_PS_REPLACED :
					       HPCCPP_PS_STAMPED], 1);
			continue;
		}
		/* only N of a record that stays changes */
		assert_int_equal(stats[HPCCPP_PS_KEPT], 1);
		r.N = other.N;
		assert_int_equal(hpccpp_int_w0(&r), hpccpp_int_w0(&other));
		assert_int_equal(hpccpp_int_w1(&r), hpccpp_int_w1(&other));
		assert_int_equal(hpccpp_int_w2(&r), hpccpp_int_w2(&other));
	}
}

/* A record that cannot be written is an error, and does not count as kept. */
TEST(syn_that_cannot_be_written)
{
	struct hpccpp_int other = { .link = 5, .rate = hpccpp_rate_encode(OURS), .U = HIGH };
	struct frame f;

	put_syn_with(&f, &other);
	no_stores = true;
	assert_int_equal(hpccpp_port(&skb), TC_ACT_UNSPEC);
	no_stores = false;
	assert_int_equal(stats[HPCCPP_PS_KEPT], 0);
	assert_int_equal(stats[HPCCPP_PS_ERROR], 1);
}

/* SYNs with another codepoint than the subscription's do not count as new flows. */
TEST(syn_without_subscription)
{
	struct frame f;
	__u32 n;

	the_port.cfg.subscribed = 1;
	the_port.cfg.dscp = 10;
	for (n = 0; n < 16; n++) {
		segment(&f, &shapes[0], SYN, syn_options, sizeof(syn_options), 0);
		f.b[f.l3 + 1] = 0;
		put_packet(&f);
		assert_int_equal(hpccpp_port_ext(&skb), TC_ACT_UNSPEC);
	}
	the_port.cfg.subscribed = 0;
	assert_int_equal(send_syn(false), 0);
}
