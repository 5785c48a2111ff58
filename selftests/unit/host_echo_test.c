// SPDX-License-Identifier: GPL-2.0
/* The host agent: what is echoed, what is read, and the calls in between. */
#include "host_test.h"

/* --- What is echoed -------------------------------------------------------- */

static void echoes_all_once(void **state)
{
	int n;

	room = 40;
	for (n = 1; n <= 3; n++) {
		receive(HPCCPP_EXID_COLLECT, three, n);
		send_ack();
		assert_echo(three, n);
		assert_int_equal(send_ack(), 0);
	}
	assert_int_equal(stat(HPCCPP_HS_COLLECTED), 3);
	assert_int_equal(stat(HPCCPP_HS_ECHOED), 3);
}

static void echoes_what_was_written(void **state)
{
	struct hpccpp_int rec[3] = {};
	int n;

	room = 40;
	receive(HPCCPP_EXID_COLLECT, rec, 3);
	send_ack();
	assert_echo(&empty_rec, 1);
	for (n = 1; n < 3; n++) {
		rec[n - 1] = three[n];
		receive(HPCCPP_EXID_COLLECT, rec, 3);
		send_ack();
		assert_echo(&three[1], n);
	}
	rec[0] = bound_rec;
	rec[1] = empty_rec;
	receive(HPCCPP_EXID_COLLECT, rec, 3);
	send_ack();
	assert_echo(&bound_rec, 1);
}

static void echoes_the_last(void **state)
{
	collect();
	receive(HPCCPP_EXID_COLLECT, &three[1], 1);
	send_ack();
	assert_echo(&three[1], 1);
}

/* All orders of three, cut to two and to one */
static void echoes_the_most_loaded(void **state)
{
	static const __u8 orders[6][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	const struct hpccpp_int sorted[] = { three[1], three[0], three[2] };
	struct hpccpp_int rec[3];
	int i, j;

	for (i = 0; i < 6; i++) {
		for (j = 0; j < 3; j++)
			rec[j] = three[orders[i][j]];
		for (j = 1; j < 3; j++) {
			room = 4 + 12 * j + 8;
			receive(HPCCPP_EXID_COLLECT, rec, 3);
			send_ack();
			assert_echo(sorted, j);
		}
	}
	assert_int_equal(stat(HPCCPP_HS_ECHO_SHORT), 12);
	assert_int_equal(stat(HPCCPP_HS_ECHOED), 0);
}

static void echo_waits_for_room(void **state)
{
	collect();
	room = 12;
	assert_int_equal(send_ack(), 0);
	assert_int_equal(send_ack(), 0);
	assert_int_equal(stat(HPCCPP_HS_ECHO_NONE), 2);
	room = 16;
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
	assert_int_equal(stat(HPCCPP_HS_ECHOED), 1);
}

/* Both directions carry data. */
static void echo_and_collect_take_turns(void **state)
{
	open_active();
	echo();
	collect();
	assert_int_equal(send_data(), HPCCPP_EXID_ECHO);
	collect();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(send_data(), HPCCPP_EXID_ECHO);
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	/* an ACK does not wait for its turn */
	collect();
	assert_int_equal(send_data(), HPCCPP_EXID_ECHO);
	collect();
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
	collect();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

/* A collect that is not due yet has no turn. */
static void echo_does_not_wait(void **state)
{
	the_host.every = 0;
	open_active();
	path_known(10);
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	collect();
	assert_int_equal(send_data(), HPCCPP_EXID_ECHO);
	collect();
	assert_int_equal(send_data(), HPCCPP_EXID_ECHO);
	collect();
	skops.snd_una = the_flow.asked_end;
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(send_data(), HPCCPP_EXID_ECHO);
}

static void collect_of_several_records(void **state)
{
	int i;

	the_host.records = 3;
	open_active();
	room = 40;
	for (i = 0; i < 3; i++) {
		send_data();
		assert_int_equal(records(), 3 - i);
		room -= 12;
	}
	assert_int_equal(send_data(), 0);
}

/* Of what segmentation makes of a packet, the last segment is asked. */
static void burst_is_echoed_once(void **state)
{
	int n, collected = 1;

	collect();
	send_ack();
	for (n = 1; n <= HPCCPP_REC_MAX; n++) {
		room = HPCCPP_OPT_LEN(n);
		no_options();
		put_records(HPCCPP_EXID_BURST, three, n);
		parse_it();
		assert_int_equal(stat(HPCCPP_HS_COLLECTED), collected);
		assert_int_equal(send_ack(), 0);
		no_options();
		put_records(HPCCPP_EXID_BURST, three, n);
		skops.skb_tcp_flags |= TCPHDR_PSH;
		parse_it();
		assert_int_equal(stat(HPCCPP_HS_COLLECTED), ++collected);
		send_ack();
		assert_echo(three, n);
		/* what is no burst is echoed as ever */
		collect();
		assert_int_equal(stat(HPCCPP_HS_COLLECTED), ++collected);
		skops.skb_tcp_flags |= TCPHDR_PSH;
		parse_it();
		assert_int_equal(stat(HPCCPP_HS_COLLECTED), ++collected);
		send_ack();
	}
}

/* So does a packet of one segment that has PSH, as the last of what is written has. */
static void burst_has_PSH(void **state)
{
	open_active();
	assert_int_equal(send_packet(MSS), HPCCPP_EXID_COLLECT);
	assert_int_equal(send_packet(MSS + 1), HPCCPP_EXID_BURST);
	build_segment(TCPHDR_ACK | TCPHDR_PSH, 1);
	assert_int_equal(exid(), HPCCPP_EXID_BURST);
}

/* TCP is told the most that a data segment may get. */
static void mss_leaves_room(void **state)
{
	room = 40;
	open_active();
	compute_mss();
	assert_int_equal(reserved, 16);
	the_host.records = 3;
	compute_mss();
	assert_int_equal(reserved, 40);
	the_host.records = 1;
	receive(HPCCPP_EXID_COLLECT, three, 2);
	compute_mss();
	assert_int_equal(reserved, 28);
	/* who only echoes */
	the_flow.mail.key = 0;
	compute_mss();
	assert_int_equal(reserved, 28);
	assert_int_equal(the_flow.plan, 0);
}

/* --- What is read ---------------------------------------------------------- */

static void mail_has_the_echo(void **state)
{
	int n;

	open_active();
	for (n = 1; n <= 3; n++) {
		receive(HPCCPP_EXID_ECHO, three, n);
		assert_mail(three, n);
		assert_int_equal(the_flow.mail.gen, n);
		assert_int_equal(the_flow.mail.unread, n);
	}
	assert_int_equal(stat(HPCCPP_HS_ECHOES), 3);
	receive(HPCCPP_EXID_ECHO, &three[1], 1);
	assert_mail(&three[1], 1);
}

static void mail_of_empty_echoes(void **state)
{
	struct hpccpp_int rec[3] = { three[0], three[1] };

	open_active();
	empty_echo();
	assert_int_equal(the_flow.mail.gen, 0);
	receive(HPCCPP_EXID_ECHO, rec, 3);
	assert_mail(three, 2);
	/* a bound is news, and of an empty record no more than that */
	rec[0] = (struct hpccpp_int){ .link = 1, .U = 51, .ts = 3, .qlen = 4 };
	receive(HPCCPP_EXID_ECHO, rec, 1);
	assert_mail(&bound_rec, 1);
	assert_int_equal(the_flow.mail.gen, 2);
}

static void mail_number_is_never_0(void **state)
{
	open_active();
	the_flow.mail.gen = ~0;
	echo();
	assert_int_equal(the_flow.mail.gen, 1);
}

static const __u8 nops[] = { 1, 1 }, stamps[] = { 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2 },
	sack[] = { 1, 1, 5, 10, 0, 0, 0, 5, 0, 0, 0, 7 };

/* Wherever the option stands */
static void options_are_found(void **state)
{
	const struct {
		const __u8 *bytes;
		__u32 len;
	} before[] = {
		{ nops, 0 }, { nops, 2 }, { stamps, 12 }, { sack, 12 },
		{ stamps + 2, 10 },
	};
	__u32 i;

	open_active();
	for (i = 0; i < ARRAY_SIZE(before); i++) {
		no_options();
		put_bytes(before[i].bytes, before[i].len);
		put_records(HPCCPP_EXID_ECHO, &three[i % 3], 1);
		parse_it();
		assert_mail(&three[i % 3], 1);
		assert_int_equal(the_flow.mail.gen, i + 1);
		no_options();
		put_bytes(before[i].bytes, before[i].len);
		put_records(HPCCPP_EXID_COLLECT, &three[i % 3], 1);
		parse_it();
		assert_true(the_flow.echo_due);
		send_ack();
		assert_echo(&three[i % 3], 1);
	}
}

/* What is cut off is not read, whatever stands behind it. */
static void options_cut_off(void **state)
{
	__u32 i, cut;

	open_active();
	for (i = 0; i < 2; i++) {
		for (cut = 1; cut <= 16; cut++) {
			no_options();
			if (i)
				put_bytes(stamps, sizeof(stamps));
			put_records(HPCCPP_EXID_ECHO, three, 1);
			end_packet(options_len - cut);
			parse_it();
		}
	}
	assert_int_equal(stat(HPCCPP_HS_ECHOES), 0);
	assert_int_equal(the_flow.mail.gen, 0);
}

static void options_of_wrong_lengths(void **state)
{
	__u8 body[36] = {};
	__u32 len, bad = 0;

	open_active();
	for (len = 0; len <= 36; len++) {
		if (len == 12 || len == 24 || len == 36)
			continue;
		no_options();
		put_option(HPCCPP_EXID_ECHO, body, len);
		parse_it();
		bad++;
		/* a SYN-ACK's, and not wrong */
		if (len != HPCCPP_SYNACK_LEN - HPCCPP_OPT_HDR) {
			no_options();
			put_option(HPCCPP_EXID_COLLECT, body, len);
			parse_it();
			bad++;
		}
		assert_int_equal(stat(HPCCPP_HS_BAD), bad);
	}
	assert_int_equal(stat(HPCCPP_HS_ECHOES), 0);
	assert_int_equal(stat(HPCCPP_HS_COLLECTED), 0);
}

/* --- Calls that pause ------------------------------------------------------ */

#define LARGE	(30 * MSS)

static bool paused(void)
{
	return !(skops.bpf_sock_ops_cb_flags & WRITE_FLAG);
}

static void ready_to_pause(void)
{
	the_host.every = 0;
	open_active();
	path_known(10);
}

static void calls_pause_until(__u32 op)
{
	ready_to_pause();
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
	assert_true(paused());
	assert_int_equal(send_packet(LARGE), 0);
	acked();
	call_host(op, 0);
	assert_false(paused());
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
}

static void calls_pause_until_an_ack(void **state)
{
	calls_pause_until(BPF_SOCK_OPS_RTT_CB);
	/* of a part of what asked: there may be no other sample in this round trip */
	assert_true(paused());
	assert_int_equal(the_flow.asked_end, skops.snd_nxt);
	skops.snd_una = the_flow.asked_end - 1;
	call_host(BPF_SOCK_OPS_RTT_CB, 0);
	assert_false(paused());
	assert_int_equal(send_packet(LARGE), 0);
	skops.snd_una++;
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
	assert_true(paused());
}

static void calls_go_on_after_what_is_sent_again(void **state)
{
	ready_to_pause();
	again = true;
	build_segment(TCPHDR_ACK, LARGE);
	assert_int_equal(stored, 0);
	assert_false(paused());
	again = false;
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
	assert_true(paused());
}

static void calls_pause_until_an_echo(void **state)
{
	ready_to_pause();
	send_packet(LARGE);
	assert_true(paused());
	echo_of_load(0x714, 200);
	assert_false(paused());
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
}

static void calls_pause_until_a_retransmission(void **state)
{
	calls_pause_until(BPF_SOCK_OPS_RETRANS_CB);
}

static void calls_pause_until_a_timeout(void **state)
{
	calls_pause_until(BPF_SOCK_OPS_RTO_CB);
}

static void calls_pause_until_a_collect(void **state)
{
	ready_to_pause();
	send_packet(LARGE);
	assert_true(paused());
	collect();
	assert_false(paused());
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
}

static void calls_go_on_for_small_packets(void **state)
{
	ready_to_pause();
	assert_int_equal(send_packet(4 * MSS), HPCCPP_EXID_BURST);
	assert_false(paused());
	acked();
	assert_int_equal(send_packet(4 * MSS + 1), HPCCPP_EXID_BURST);
	assert_true(paused());
}

static void calls_go_on_for_an_echo(void **state)
{
	ready_to_pause();
	collect();
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_ECHO);
	collect();
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
	assert_false(paused());
}

static void calls_go_on_for_others(void **state)
{
	skops.bpf_sock_ops_cb_flags = WRITE_FLAG;
	ready_to_pause();
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
	assert_false(paused());
}

static void calls_of_a_child_pause(void **state)
{
	the_host.every = 0;
	no_options();
	put_records(HPCCPP_EXID_COLLECT, three, 1);
	open_passive();
	send_ack();
	path_known(10);
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
	assert_true(paused());
}

static void calls_go_on_for_one_of_so_many(void **state)
{
	ready_to_pause();
	for (the_host.every = 1; the_host.every < 100; the_host.every *= 3) {
		acked();
		echo_of_load(0x714, 10);
		assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
		assert_false(paused());
	}
}

static void calls_go_on_while_loaded(void **state)
{
	ready_to_pause();
	echo_of_load(0x714, 200);
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
	assert_false(paused());
	echo_of_load(0x714, 10);
	acked();
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
	assert_true(paused());
}

static void calls_go_on_where_windows_come(void **state)
{
	windows = true;
	ready_to_pause();
	assert_int_equal(send_packet(LARGE), HPCCPP_EXID_BURST);
	assert_false(paused());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(echoes_all_once),
		TEST(echoes_what_was_written),
		TEST(echoes_the_last),
		TEST(echoes_the_most_loaded),
		TEST(echo_waits_for_room),
		TEST(echo_and_collect_take_turns),
		TEST(echo_does_not_wait),
		TEST(collect_of_several_records),
		TEST(burst_is_echoed_once),
		TEST(burst_has_PSH),
		TEST(mss_leaves_room),
		TEST(mail_has_the_echo),
		TEST(mail_of_empty_echoes),
		TEST(mail_number_is_never_0),
		TEST(options_are_found),
		TEST(options_cut_off),
		TEST(options_of_wrong_lengths),
		TEST(calls_pause_until_an_ack),
		TEST(calls_pause_until_an_echo),
		TEST(calls_go_on_after_what_is_sent_again),
		TEST(calls_pause_until_a_retransmission),
		TEST(calls_pause_until_a_timeout),
		TEST(calls_pause_until_a_collect),
		TEST(calls_go_on_for_small_packets),
		TEST(calls_go_on_for_an_echo),
		TEST(calls_go_on_for_others),
		TEST(calls_of_a_child_pause),
		TEST(calls_go_on_for_one_of_so_many),
		TEST(calls_go_on_while_loaded),
		TEST(calls_go_on_where_windows_come),
	};

	return RUN(tests);
}
