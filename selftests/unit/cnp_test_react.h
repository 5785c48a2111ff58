/* SPDX-License-Identifier: GPL-2.0 */
/* DCQCN: the reaction of a flow to CNPs without a trace. Part of cnp_test.c. */

/* --- DCQCN --- */

static struct hpccpp_dcqcn_params params;

static void dcqcn_at(struct hpccpp_dcqcn *s, __u64 R_C, __u64 R_T, __u64 at)
{
	hpccpp_dcqcn_defaults(&params, LINE, RTT);
	hpccpp_dcqcn_start(s, R_C);
	s->R_T = R_T;
	s->timer_at = at;
	s->alpha_at = at;
}

TEST(dcqcn_fast_recovery_halves_the_way)
{
	struct hpccpp_dcqcn s;
	__u64 rate = LINE / 4;
	int i;

	dcqcn_at(&s, LINE / 4, LINE / 2, 1);
	for (i = 1; i <= HPCCPP_DCQCN_F; i++) {
		hpccpp_dcqcn_advance(&s, &params, 1 + i * params.timer, 0);
		rate = (rate + LINE / 2) / 2;
		assert_int_equal(s.R_C, rate);
		assert_int_equal(s.R_T, LINE / 2);
	}
	assert_int_equal(s.T, HPCCPP_DCQCN_F);
}

TEST(dcqcn_additive_increase_by_the_timer)
{
	struct hpccpp_dcqcn s;

	dcqcn_at(&s, LINE / 4, LINE / 2, 1);
	s.T = HPCCPP_DCQCN_F;
	hpccpp_dcqcn_advance(&s, &params, 1 + params.timer - 1, 0);
	assert_int_equal(s.R_T, LINE / 2);
	hpccpp_dcqcn_advance(&s, &params, 1 + params.timer, 0);
	assert_int_equal(s.R_T, LINE / 2 + params.R_AI);
	assert_int_equal(s.R_C, (LINE / 2 + params.R_AI + LINE / 4) / 2);
	hpccpp_dcqcn_advance(&s, &params, 1 + 2 * params.timer, 0);
	assert_int_equal(s.R_T, LINE / 2 + 2 * params.R_AI);
}

TEST(dcqcn_additive_increase_by_bytes)
{
	struct hpccpp_dcqcn s;

	dcqcn_at(&s, LINE / 4, LINE / 2, 1);
	s.BC = HPCCPP_DCQCN_F;
	hpccpp_dcqcn_advance(&s, &params, 2, params.B - 1);
	assert_int_equal(s.R_T, LINE / 2);
	hpccpp_dcqcn_advance(&s, &params, 2, 1);
	assert_int_equal(s.R_T, LINE / 2 + params.R_AI);
	assert_int_equal(s.bytes, 0);
	assert_int_equal(s.BC, HPCCPP_DCQCN_F + 1);
}

TEST(dcqcn_hyper_increase_by_the_lesser_count)
{
	struct hpccpp_dcqcn s;

	dcqcn_at(&s, LINE / 8, LINE / 4, 1);
	s.T = HPCCPP_DCQCN_F + 1;
	s.BC = HPCCPP_DCQCN_F + 4;
	hpccpp_dcqcn_advance(&s, &params, 1 + params.timer, 0);
	assert_int_equal(s.R_T, LINE / 4 + 2 * params.R_HAI);
	dcqcn_at(&s, LINE / 8, LINE / 4, 1);
	s.T = HPCCPP_DCQCN_F + 4;
	s.BC = HPCCPP_DCQCN_F;
	hpccpp_dcqcn_advance(&s, &params, 1 + params.timer, 0);
	assert_int_equal(s.R_T, LINE / 4 + params.R_AI);
}

TEST(dcqcn_alpha_decays_without_cnps)
{
	struct hpccpp_dcqcn s;
	double alpha = HPCCPP_ONE;
	int i;

	dcqcn_at(&s, LINE / 1000, LINE / 1000, 1);
	for (i = 1; i < 300; i++) {
		hpccpp_dcqcn_advance(&s, &params, 1 + i * params.timer, 0);
		alpha *= 255 / 256.0;
		if (!s.timer_at || s.R_C == LINE)
			break;
		assert_near(s.alpha, alpha, .01);
	}
	assert_true(i > 100);
	/* as many steps at once, and so many that alpha is 0 */
	assert_near(hpccpp_dcqcn_decay(HPCCPP_ONE, i), alpha, .01);
	assert_int_equal(hpccpp_dcqcn_decay(HPCCPP_ONE, 4096), 0);
	assert_int_equal(hpccpp_dcqcn_decay(HPCCPP_ONE, 0), HPCCPP_ONE);
}

TEST(dcqcn_a_cnp_raises_alpha)
{
	struct hpccpp_dcqcn s;

	dcqcn_at(&s, LINE / 4, LINE / 2, 1);
	s.alpha = HPCCPP_ONE / 4;
	assert_true(hpccpp_dcqcn_cnp(&s, &params, s.R_C, 1 + params.timer / 2 + params.timer));
	/* it decayed once before */
	assert_near(s.alpha, HPCCPP_ONE / 4. * 255 / 256 * 255 / 256 + HPCCPP_ONE / 256., .0001);
	assert_int_equal(s.timer_at, 1 + params.timer / 2 + params.timer);
	assert_int_equal(s.alpha_at, s.timer_at);
}

TEST(dcqcn_a_cnp_cuts_by_half_of_alpha)
{
	struct hpccpp_dcqcn s;

	dcqcn_at(&s, LINE / 4, LINE / 2, 1);
	s.alpha = HPCCPP_ONE / 2;
	s.T = 3;
	s.BC = 2;
	s.bytes = 7;
	assert_true(hpccpp_dcqcn_cnp(&s, &params, s.R_C, 2));
	assert_int_equal(s.R_T, LINE / 4);
	assert_int_equal(s.R_C, LINE / 4 * 3 / 4);
	assert_int_equal(s.T + s.BC + s.bytes, 0);
}

TEST(dcqcn_never_under_the_least_rate)
{
	struct hpccpp_dcqcn s;

	dcqcn_at(&s, LINE / 1000, LINE / 1000, 1);
	s.T = 1;
	assert_true(hpccpp_dcqcn_cnp(&s, &params, s.R_C, 2));
	assert_int_equal(s.R_C, LINE / 1000);
}

TEST(dcqcn_after_a_pause_all_at_once)
{
	struct hpccpp_dcqcn s;

	dcqcn_at(&s, LINE / 8, LINE / 4, 1);
	hpccpp_dcqcn_advance(&s, &params, 1 + 20 * params.timer, 0);
	/* 8 steps, 3 of them additive, and 12 more at once */
	assert_int_equal(s.R_T, LINE / 4 + 15 * params.R_AI);
	assert_int_equal(s.R_C, s.R_T);
	assert_int_equal(s.T, 20);
}

TEST(dcqcn_at_the_line_rate_as_it_began)
{
	struct hpccpp_dcqcn s;

	dcqcn_at(&s, LINE / 8, LINE / 4, 1);
	s.alpha = 5;
	hpccpp_dcqcn_advance(&s, &params, 1 + 2000 * params.timer, 0);
	assert_int_equal(s.R_C, LINE);
	assert_int_equal(s.alpha, HPCCPP_ONE);
	assert_int_equal(s.timer_at, 0);
	/* a rate within R_AI of the line rate becomes the line rate */
	dcqcn_at(&s, LINE - params.R_AI / 2, LINE, 1);
	hpccpp_dcqcn_advance(&s, &params, 1 + params.timer, 0);
	assert_int_equal(s.R_C, LINE);
}

TEST(dcqcn_one_reaction_in_a_timer_of_the_longest_T)
{
	struct hpccpp_dcqcn_params p;
	struct hpccpp_dcqcn s;
	__u64 timer = HPCCPP_T_MAX * 1000ULL / 50 * 55;

	hpccpp_dcqcn_defaults(&p, 25000000, HPCCPP_T_MAX);
	hpccpp_dcqcn_start(&s, p.line);
	assert_true(hpccpp_dcqcn_cnp(&s, &p, s.R_C, 1));
	assert_int_equal(s.R_C, p.line / 2);
	assert_false(hpccpp_dcqcn_cnp(&s, &p, s.R_C, timer));
	assert_int_equal(s.R_C, p.line / 2);
	assert_true(hpccpp_dcqcn_cnp(&s, &p, s.R_C, 1 + timer));
}

TEST(dcqcn_cuts_what_the_flow_sends)
{
	struct hpccpp_dcqcn s;

	dcqcn_at(&s, LINE / 2, LINE, 1);
	s.T = 1;
	assert_true(hpccpp_dcqcn_cnp(&s, &params, LINE / 4, 2));
	assert_int_equal(s.R_T, LINE / 4);
	assert_int_equal(s.R_C, LINE / 8);
}

/* --- A flow that leaves --- */

TEST(a_new_flow_has_the_line_rate)
{
	assert_int_equal(send(), 0);
	assert_int_equal(rate(), LINE);
	assert_memory_equal(flow()->saddr, me, 16);
	/* the rate is there when another CPU finds the flow at once */
	assert_non_null(inserted);
	assert_int_equal(inserted->rate, LINE);
	assert_int_equal(inserted->hpcc_rate, LINE);
	assert_memory_equal(inserted->saddr, me, 16);
	assert_int_equal(flow()->packets, 1);
	assert_int_equal(flow()->bytes, SIZE);
	assert_int_equal(flow()->seen, now);
	assert_int_equal(cnp_counts[HPCCPP_CS_DATA], 1);
}

TEST(what_is_no_data_is_no_flow)
{
	leave(ACK, QP, 1, 44);
	leave(0x0c, QP, 1, 44);		/* READ request */
	leave(FAST, QP, 1, 44);
	start(me, peer, IPPROTO_UDP);
	put_roce(SEND, QP, 1, 44);
	packet[BEHIND + 3] ^= 1;	/* another port */
	finish();
	hpccpp_cnp_out(&skb);
	assert_null(flow());
	assert_int_equal(cnp_counts[HPCCPP_CS_DATA], 0);
}

TEST(held_back_by_its_rate)
{
	__u64 first;

	send();
	assert_string_equal(fast(a_switch), "switch");
	assert_int_equal(rate(), LINE / 2);
	now += MS;
	assert_int_equal(send(), 0);	/* no packet waits */
	first = send();
	assert_int_equal(first, now + SIZE * 1000000000ULL / (LINE / 2));
	assert_int_equal(send(), first + SIZE * 1000000000ULL / (LINE / 2));
	assert_int_equal(cnp_counts[HPCCPP_CS_PACED], 2);
	/* not data, but of the same sequence: it leaves after the data */
	assert_int_equal(leave(0x0c, QP, 1, 44), flow()->held);
	assert_int_equal(leave(ACK, QP, 1, 44), 0);
	assert_int_equal(leave(0x0c, QP + 1, 1, 44), 0);
}

TEST(never_held_longer_than_400_ms)
{
	__u64 at = 0;
	int i;

	send();
	fast(a_switch);
	flow()->rate = 1000;
	flow()->dcqcn.R_C = 1000;
	for (i = 0; i < 10; i++)
		at = send();
	assert_int_equal(at, now + 400 * MS);
}

TEST(nothing_overtakes_when_it_is_fast_again)
{
	__u64 last = 0;
	int i;

	send();
	fast(a_switch);
	for (i = 0; i < 10; i++)
		last = send();
	assert_true(last > now);
	flow()->rate = LINE;
	assert_int_equal(send(), last);
	now = last;
	assert_int_equal(send(), 0);
}

TEST(a_first_cnp_waits_for_what_the_device_has)
{
	int i;

	for (i = 0; i < 1000; i++)
		assert_int_equal(send(), 0);
	fast(a_switch);
	/* the device sends one after the other, and then begins with the last */
	assert_int_equal(send(), now + 999 * (SIZE * 1000000000ULL / LINE));
}

/* --- The table of flows --- */

TEST(a_full_table_gives_up_what_is_idle)
{
	__u32 i;

	for (i = 0; i < FLOWS; i++) {
		leave(SEND, QP + i, 1, 44);
		now += 100 * MS;
	}
	leave(SEND, QP + FLOWS, 1, 44);
	assert_null(flow_to(QP + FLOWS));
	assert_int_equal(cnp_counts[HPCCPP_CS_UNTRACKED], 1);
	/* the first two have been idle for 10 s, the others for less */
	now = flow_to(QP + 1)->seen + HPCCPP_CNP_IDLE + 1;
	leave(SEND, QP + FLOWS, 1, 44);
	assert_non_null(flow_to(QP + FLOWS));
	assert_null(flow_to(QP));
	assert_null(flow_to(QP + 1));
	assert_non_null(flow_to(QP + 2));
	assert_non_null(flow_to(QP + 3));
	assert_int_equal(cnp_counts[HPCCPP_CS_UNTRACKED], 1);
}

TEST(a_full_table_is_gone_through_once_in_10_ms)
{
	__u32 i;

	for (i = 0; i < FLOWS; i++)
		leave(SEND, QP + i, 1, 44);
	now += HPCCPP_CNP_IDLE - 5 * MS;
	leave(SEND, QP + FLOWS, 1, 44);		/* the agent looks for idle flows */
	now += 6 * MS;
	leave(SEND, QP + FLOWS, 1, 44);		/* too soon to look again */
	assert_non_null(flow());
	now += 4 * MS;
	leave(SEND, QP + FLOWS, 1, 44);
	assert_null(flow());
	assert_non_null(flow_to(QP + FLOWS));
	assert_int_equal(cnp_counts[HPCCPP_CS_UNTRACKED], 2);
}

/* --- CNPs --- */

TEST(who_sent_a_cnp)
{
	send();
	assert_string_equal(fast(a_switch), "switch");
	assert_int_equal(flow()->cause, HPCCPP_CNP_SWITCH);
	assert_memory_equal(flow()->from, a_switch, 16);
	assert_int_equal(flow()->cnp_at, now);
	now += 2 * the_cnp.dcqcn.timer;
	assert_string_equal(fast(peer), "receiver");
	assert_int_equal(flow()->cause, HPCCPP_CNP_RECEIVER);
	assert_int_equal(flow()->cnps, 2);
	assert_memory_equal(flow()->from, a_switch, 16);
	assert_string_equal(fast(stranger), "denied");
}

TEST(one_reaction_in_a_timer)
{
	send();
	assert_string_equal(fast(a_switch), "switch");
	now += the_cnp.dcqcn.timer - 1;
	assert_string_equal(fast(a_switch), "repeated");
	assert_int_equal(rate(), LINE / 2);
	now += 1;
	assert_string_equal(fast(a_switch), "switch");
	assert_true(rate() < LINE / 2);
	assert_int_equal(cnp_counts[HPCCPP_CS_REPEATED], 1);
}

TEST(cnps_of_flows_that_do_not_send)
{
	assert_string_equal(fast(a_switch), "unknown");
	send();
	assert_string_equal(fast_about(a_switch, QP + 1, peer, RIGHT), "unknown");
	assert_string_equal(fast_about(a_switch, QP, another, RIGHT), "unknown");
	now += 100 * RTT * US;
	assert_string_equal(fast(a_switch), "idle");
	assert_int_equal(rate(), LINE);
	now -= 1;
	assert_string_equal(fast(a_switch), "switch");
}

TEST(a_cnp_that_is_to_another_address)
{
	struct hpccpp_fcnp1 o = { .next = IPPROTO_UDP, .hdrlen = 2, .padn = { 1, 2 },
				  .type = HPCCPP_FCNP_TYPE1, .len = 16 };

	send();
	__builtin_memcpy(o.daddr, peer, 16);
	start(a_switch, another, IPPROTO_DSTOPTS);
	put(&o, sizeof(o));
	put_cnp_packet(QP, RIGHT);
	assert_string_equal(came(), "unknown");
}

TEST(damaged_cnps)
{
	send();
	assert_string_equal(fast_about(a_switch, QP, peer, BAD_SUM), "checksum");
	assert_string_equal(fast_about(a_switch, QP, peer, NO_SUM | BAD_ICRC), "icrc");
	assert_int_equal(rate(), LINE);
}

TEST(a_fast_cnp_without_a_checksum)
{
	send();
	assert_string_equal(fast_about(a_switch, QP, peer, NO_SUM), "switch");
	assert_int_equal(rate(), LINE / 2);
}

/* Other implementations may cover other bytes: the draft does not say which. */
TEST(a_fast_cnp_with_a_checksum_and_anothers_icrc)
{
	send();
	assert_string_equal(fast_about(a_switch, QP, peer, BAD_ICRC), "switch");
}

TEST(malformed_cnps)
{
	static const struct {
		__u8 at, bits;
	} flips[] = {
		{ BEHIND + 7, 1 },	/* the option's length */
		{ BEHIND + 24 + 3, 1 },	/* UDP: port, length */
		{ BEHIND + 24 + 5, 8 },
		{ BEHIND + 24 + 8, 2 },	/* opcode */
		{ IPV6 + 5, 8 },	/* payload length */
	};
	__u32 i;

	send();
	for (i = 0; i < ROOM(flips); i++) {
		struct hpccpp_fcnp1 o = { .next = IPPROTO_UDP, .hdrlen = 2, .padn = { 1, 2 },
					  .type = HPCCPP_FCNP_TYPE1, .len = 16 };

		__builtin_memcpy(o.daddr, peer, 16);
		start(a_switch, me, IPPROTO_DSTOPTS);
		put(&o, sizeof(o));
		put_cnp_packet(QP, RIGHT);
		packet[flips[i].at] ^= flips[i].bits;
		assert_string_equal(came(), "malformed");
	}
	assert_int_equal(rate(), LINE);
}

TEST(options_beside_a_fast_cnps)
{
	struct hpccpp_fcnp1 o = { .next = IPPROTO_UDP, .hdrlen = 3, .padn = { 0, 0x3e, 0, 0 },
				  .type = 1, .len = 4 };

	send();
	/* Pad1, another option, PadN, 6 bytes in all; the Fast CNP's; two Pad1 */
	start(a_switch, me, IPPROTO_DSTOPTS);
	put(&o, 12);
	packet[BEHIND + 12 - 2] = HPCCPP_FCNP_TYPE1;
	packet[BEHIND + 12 - 1] = 16;
	packet[BEHIND + 6] = 1;
	packet[BEHIND + 7] = 1;
	packet[BEHIND + 8] = 0;
	packet[BEHIND + 9] = 0;
	put(peer, 16);
	put_zeros(4);
	put_cnp_packet(QP, RIGHT);
	assert_string_equal(came(), "switch");
}

/* --- A receiver's CNP, without the option --- */

TEST(an_ordinary_cnp)
{
	leave(SEND, QP, ECN_ASK | 7, 44);
	assert_string_equal(ordinary(OURS, NO_SUM), "unknown");
	arrive(ACK, OURS, 7);
	assert_int_equal(flow()->lqpn, OURS);
	assert_string_equal(ordinary(OURS, BAD_ICRC | NO_SUM), "icrc");
	assert_string_equal(ordinary(OURS, BAD_ICRC), "icrc");
	assert_string_equal(ordinary(OURS, BAD_SUM), "checksum");
	assert_string_equal(ordinary(OURS + 1, NO_SUM), "unknown");
	assert_int_equal(rate(), LINE);
	assert_string_equal(ordinary(OURS, NO_SUM), "ordinary");
	assert_int_equal(rate(), LINE / 2);
	assert_int_equal(flow()->cause, HPCCPP_CNP_ORDINARY);
	now += 2 * the_cnp.dcqcn.timer;
	assert_string_equal(ordinary(OURS, RIGHT), "ordinary");
}

TEST(a_cnp_to_a_queue_pair_that_is_anothers_by_now)
{
	leave(SEND, QP, ECN_ASK | 7, 44);
	arrive(ACK, OURS, 7);
	/* the flow now has another QP of ours, and the first has no flow */
	leave(SEND, QP, ECN_ASK | 8, 44);
	arrive(ACK, OURS + 1, 8);
	assert_int_equal(flow()->lqpn, OURS + 1);
	assert_string_equal(ordinary(OURS, NO_SUM), "unknown");
	assert_int_equal(rate(), LINE);
	assert_string_equal(ordinary(OURS + 1, NO_SUM), "ordinary");
}

TEST(two_queue_pairs_with_the_same_psn)
{
	leave(SEND, QP, ECN_ASK | 7, 44);
	leave(SEND, QP + 1, ECN_ASK | 7, 44);
	arrive(ACK, OURS, 7);		/* QP's, taken for QP + 1's, which had it last */
	assert_int_equal(flow_to(QP + 1)->lqpn, OURS);
	/* these PSNs tell the flows apart */
	leave(SEND, QP, ECN_ASK | 5000, 44);
	leave(SEND, QP + 1, ECN_ASK | 9000, 44);
	arrive(ACK, OURS, 5000);
	assert_int_equal(flow_to(QP + 1)->lqpn, 0);
	arrive(ACK, OURS + 1, 9000);
	assert_int_equal(flow()->lqpn, OURS);
	assert_int_equal(flow_to(QP + 1)->lqpn, OURS + 1);
	/* a flow that is paired leaves an equal PSN to the other */
	leave(SEND, QP + 2, ECN_ASK | 5001, 44);
	leave(SEND, QP, ECN_ASK | 5001, 44);
	arrive(ACK, OURS + 2, 5001);
	assert_int_equal(flow_to(QP + 2)->lqpn, OURS + 2);
	assert_int_equal(flow()->lqpn, OURS);
}

TEST(who_asks_for_an_ack)
{
	leave(SEND, QP, 7, 44);			/* does not ask */
	arrive(ACK, OURS, 7);
	assert_int_equal(flow()->lqpn, 0);
	leave(UD_SEND, QP, ECN_ASK | 8, 44);	/* has no ACKs */
	arrive(ACK, OURS, 8);
	assert_int_equal(flow()->lqpn, 0);
	leave(READ_RESPONSE, QP, ECN_ASK | 9, 44);	/* of the other sequence */
	arrive(ACK, OURS, 9);
	assert_int_equal(flow()->lqpn, 0);
	leave(SEND, QP, ECN_ASK | 0xffffff, 44);
	now += 100 * RTT * US + HPCCPP_CNP_HELD;
	arrive(ACK, OURS, 0xffffff);		/* an ACK of data of long ago */
	assert_int_equal(flow()->lqpn, 0);
	now -= 1;
	arrive(ACK, OURS, 0xffffff);
	assert_int_equal(flow()->lqpn, OURS);
}

TEST(psns_that_are_acknowledged)
{
	assert_true(acks(5, 5));
	assert_true(acks(5, 5 + 1023));
	assert_false(acks(5, 5 + 1024));
	assert_false(acks(6, 5));
	assert_true(acks(0xffffff, 0));
	assert_true(acks(0xfffff0, 100));
}
