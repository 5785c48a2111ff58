// SPDX-License-Identifier: GPL-2.0
/* The host agent: who asks for INT, of whom, and when. */
#include "host_test.h"

/* --- Handshake ------------------------------------------------------------- */

static void syn_asks_once(void **state)
{
	room = 20;
	connects();
	assert_true(skops.bpf_sock_ops_cb_flags & WRITE_FLAG);
	assert_int_equal(send_syn(), HPCCPP_EXID_COLLECT);
	assert_int_equal(records(), 1);
	assert_int_equal(word(1), HPCCPP_WANTED);
	assert_int_equal(word(2) | word(3), 0);
	assert_int_equal(stat(HPCCPP_HS_ASKED), 1);
	assert_int_equal(send_syn(), 0);
	assert_int_equal(stat(HPCCPP_HS_ASKED), 1);
}

static void syn_without_room(void **state)
{
	room = 0;
	connects();
	assert_int_equal(send_syn(), 0);
	room = 20;
	assert_int_equal(send_syn(), 0);
}

static void syn_of_others(void **state)
{
	cc_is_hpccpp = false;
	connects();
	assert_int_equal(send_syn(), 0);
}

static void syn_if_always(void **state)
{
	cc_is_hpccpp = false;
	the_host.ask = HPCCPP_ASK_ALWAYS;
	connects();
	assert_int_equal(send_syn(), HPCCPP_EXID_COLLECT);
}

static void never_leaves_no_state(void **state)
{
	the_host.ask = HPCCPP_ASK_NEVER;
	connects();
	assert_false(has_flow);
	assert_false(skops.bpf_sock_ops_cb_flags & WRITE_FLAG);
}

static void third_ack_asks_once(void **state)
{
	cc_is_hpccpp = false;
	connects();
	assert_int_equal(send_syn(), 0);
	no_options();
	connected();
	assert_true(skops.bpf_sock_ops_cb_flags &
		    BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
	assert_int_equal(send_ack(), HPCCPP_EXID_COLLECT);
	assert_int_equal(records(), 1);
	assert_int_equal(send_ack(), 0);
}

static void third_ack_with_data(void **state)
{
	cc_is_hpccpp = false;
	connects();
	send_syn();
	no_options();
	connected();
	assert_int_equal(send_data(), 0);
	assert_int_equal(send_ack(), 0);
}

static void listener_has_the_flag(void **state)
{
	call_host(BPF_SOCK_OPS_TCP_LISTEN_CB, 0);
	assert_true(skops.bpf_sock_ops_cb_flags & WRITE_FLAG);
	assert_true(the_flow.listener_flag);
}

static void listener_of_another_program(void **state)
{
	skops.bpf_sock_ops_cb_flags = WRITE_FLAG;
	call_host(BPF_SOCK_OPS_TCP_LISTEN_CB, 0);
	assert_false(has_flow);
}

static void listener_forgets_its_peer(void **state)
{
	open_active();
	echo();
	skops.bpf_sock_ops_cb_flags = 0;
	call_host(BPF_SOCK_OPS_TCP_LISTEN_CB, 0);
	assert_true(the_flow.listener_flag);
	assert_false(the_flow.proven);
	assert_int_equal(the_flow.mail.gen, 0);
}

/* Without an option from the peer no segment of a child needs a call. */
static void child_of_a_bare_peer(void **state)
{
	call_host(BPF_SOCK_OPS_TCP_LISTEN_CB, 0);
	no_options();
	call_host(BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, 0);
	assert_false(skops.bpf_sock_ops_cb_flags & WRITE_FLAG);
	assert_true(skops.bpf_sock_ops_cb_flags &
		    BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
}

static void child_of_another_program(void **state)
{
	skops.bpf_sock_ops_cb_flags = WRITE_FLAG;
	no_options();
	call_host(BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, 0);
	assert_true(skops.bpf_sock_ops_cb_flags & WRITE_FLAG);
}

static void child_of_a_peer_with_an_agent(void **state)
{
	call_host(BPF_SOCK_OPS_TCP_LISTEN_CB, 0);
	no_options();
	put_records(HPCCPP_EXID_COLLECT, three, 1);
	call_host(BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, 0);
	assert_true(skops.bpf_sock_ops_cb_flags & WRITE_FLAG);
	assert_true(the_flow.proven);
}

/* --- Who asks -------------------------------------------------------------- */

static void data_asks(void **state)
{
	open_active();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(word(1), HPCCPP_WANTED);
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(send_ack(), 0);
}

static void data_is_wanted_until_an_echo(void **state)
{
	open_active();
	echo();
	send_data();
	assert_int_equal(word(1), 0);
}

static void data_of_others(void **state)
{
	cc_is_hpccpp = false;
	connects();
	send_syn();
	no_options();
	connected();
	send_ack();
	assert_int_equal(send_data(), 0);
	module_has_it();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

static void data_if_always(void **state)
{
	the_host.ask = HPCCPP_ASK_ALWAYS;
	connects();
	no_options();
	connected();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

/* Four round trips of data, whatever their length: none of the fifth asks. */
static void peer_without_an_agent(void **state)
{
	int trip;

	open_active();
	for (trip = 0; trip < 4; trip++) {
		assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
		assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
		assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
		acked();
	}
	assert_int_equal(stat(HPCCPP_HS_GAVE_UP), 0);
	assert_int_equal(send_data(), 0);
	assert_int_equal(stat(HPCCPP_HS_GAVE_UP), 1);
	acked();
	assert_int_equal(send_data(), 0);
	assert_int_equal(stat(HPCCPP_HS_GAVE_UP), 1);
	compute_mss();
	assert_int_equal(reserved, 0);
}

static void round_trip_ends_with_its_ack(void **state)
{
	int i;

	open_active();
	for (i = 0; i < 20; i++)
		assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	/* all but the round trip's first byte */
	skops.snd_una = the_flow.round;
	for (i = 0; i < 20; i++)
		assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(the_flow.tries, 0);
	skops.snd_una++;
	send_data();
	assert_int_equal(the_flow.tries, 1);
}

static void answer_ends_the_doubt(void (*answer)(void))
{
	int trip;

	open_active();
	for (trip = 0; trip < 4; trip++) {
		send_data();
		acked();
	}
	answer();
	for (trip = 0; trip < 20; trip++) {
		send_data();
		assert_int_equal(exid(), HPCCPP_EXID_COLLECT);
		acked();
	}
	assert_int_equal(stat(HPCCPP_HS_GAVE_UP), 0);
}

static void echo_proves(void **state)
{
	answer_ends_the_doubt(echo);
}

static void empty_echo_proves(void **state)
{
	answer_ends_the_doubt(empty_echo);
	assert_int_equal(the_flow.mail.gen, 0);
}

static void collect_and_its_echo(void)
{
	collect();
	send_ack();
}

static void collect_proves(void **state)
{
	answer_ends_the_doubt(collect_and_its_echo);
}

static void answer_comes_late(void **state)
{
	int trip;

	open_active();
	for (trip = 0; trip < 6; trip++) {
		send_data();
		acked();
	}
	assert_int_equal(send_data(), 0);
	echo();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

static void passive_waits(void **state)
{
	no_options();
	open_passive();
	assert_int_equal(send_data(), 0);
	echo();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

static void passive_and_a_collect(void **state)
{
	no_options();
	open_passive();
	collect();
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

/* --- Timeout --------------------------------------------------------------- */

/* It is sent again without; then four round trips of data ask, if no echo comes. */
static void asks_anew(void)
{
	int trip;

	send_data();
	send_data();
	all_lost();
	assert_int_equal(send_again(), 0);
	acked();
	for (trip = 0; trip < 4; trip++) {
		assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
		acked();
		/* says nothing of the way there */
		collect();
		assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
	}
	assert_int_equal(send_data(), 0);
	assert_int_equal(stat(HPCCPP_HS_GAVE_UP), 1);
}

static void timeout_of_active(void **state)
{
	int trip;

	open_active();
	/* in vain, which counts no more once an echo has come */
	for (trip = 0; trip < 3; trip++) {
		send_data();
		acked();
	}
	echo();
	asks_anew();
}

static void timeout_of_passive(void **state)
{
	no_options();
	put_records(HPCCPP_EXID_COLLECT, three, 1);
	open_passive();
	send_ack();
	asks_anew();
}

static void timeout_then_an_echo(void **state)
{
	int trip;

	open_active();
	echo();
	send_data();
	all_lost();
	assert_int_equal(send_again(), 0);
	acked();
	echo();
	for (trip = 0; trip < 10; trip++) {
		assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
		acked();
	}
	/* and now a collect proves again */
	assert_false(the_flow.doubted);
}

static void timeout_before_the_proof(void **state)
{
	int trip;

	open_active();
	for (trip = 0; trip < 3; trip++) {
		send_data();
		acked();
	}
	send_data();
	all_lost();
	assert_int_equal(send_again(), 0);
	acked();
	/* three were counted before, and no more */
	assert_int_equal(send_data(), 0);
}

/* What was asked in vain before is of another cause. */
static void timeout_of_a_silent_peer(void **state)
{
	int trip;

	open_active();
	echo();
	for (trip = 0; trip < 3; trip++) {
		assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
		acked();
	}
	send_data();
	all_lost();
	assert_int_equal(send_again(), 0);
	acked();
	for (trip = 0; trip < 5; trip++) {
		assert_int_equal(send_data(), trip < 4 ? HPCCPP_EXID_COLLECT : 0);
		acked();
	}
}

/* A part of it may arrive before all that was lost has been sent again. */
static void timeout_and_what_arrives_of_it(void **state)
{
	open_active();
	echo();
	send_data();
	send_data();
	send_data();
	all_lost();
	assert_int_equal(send_again(), 0);
	skops.lost_out = 2;
	skops.sacked_out = 1;
	assert_int_equal(send_again(), 0);
	skops.lost_out = 1;
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

static void loss_is_no_timeout(void **state)
{
	open_active();
	echo();
	send_data();
	send_data();
	send_data();
	skops.lost_out = 2;
	skops.sacked_out = 1;
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_true(the_flow.proven);
}

/* Whatever it is sent again for: by an ACK, a probe of the tail or a timeout */
static void what_is_sent_again_does_not_ask(void **state)
{
	__u32 asked;

	open_active();
	echo();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	asked = the_flow.asked_end;
	again = true;
	assert_int_equal(send_data(), 0);
	assert_int_equal(the_flow.asked_end, asked);
	again = false;
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_true(the_flow.proven);
}

/* --- How often ------------------------------------------------------------- */

static void every_4(void **state)
{
	the_host.every = 4;
	open_active();
	echo();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(asks_in(3), 0);
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(asks_in(400), 100);
	acked();
	/* the first of a flight asks in any case */
	assert_int_equal(asks_in(2), 1);
	acked();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

static void every_rtt(void **state)
{
	int trip;

	the_host.every = 0;
	open_active();
	assert_int_equal(asks_in(20), 20);	/* until there is an echo */
	path_known(HPCCPP_LOADED - 1);
	acked();
	for (trip = 0; trip < 3; trip++) {
		assert_int_equal(asks_in(30), 1);
		/* but for a byte, what asked is acked */
		skops.snd_una = the_flow.asked_end - 1;
		assert_int_equal(asks_in(1), 0);
		skops.snd_una++;
	}
	/* the first of a flight asks in any case */
	assert_int_equal(asks_in(30), 1);
	skops.packets_out = 0;
	assert_int_equal(asks_in(30), 1);
}

static void every_rtt_without_room(void **state)
{
	the_host.every = 0;
	open_active();
	path_known(0);
	room = 8;
	assert_int_equal(send_data(), 0);
	room = 28;
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(send_data(), 0);
}

/* So many of 80 packets ask, after an echo of this load. */
static void assert_asks(__u16 rate, __u8 U, int n)
{
	echo_of_load(rate, U);
	acked();
	assert_int_equal(asks_in(80), n);
}

static void every_rtt_of_a_loaded_path(void **state)
{
	struct hpccpp_int rec[3];
	int i;

	the_host.every = 0;
	skops.snd_cwnd = 80;
	open_active();
	path_known(0);
	assert_asks(0x714, HPCCPP_LOADED - 1, 1);
	assert_asks(0x714, HPCCPP_LOADED, 8);
	/* a bound is no load: no port has as much */
	assert_asks(0, HPCCPP_LOADED, 1);
	/* whichever record it is */
	for (i = 0; i < 3; i++) {
		__builtin_memcpy(rec, three, sizeof(rec));
		rec[0].U = 20;
		rec[1].U = 20;
		rec[i].U = 200;
		acked();
		receive(HPCCPP_EXID_ECHO, rec, 3);
		assert_int_equal(asks_in(80), 8);
		/* that of the echo before is gone */
		receive(HPCCPP_EXID_ECHO, &three[2], 1);
		acked();
		assert_int_equal(asks_in(80), 1);
	}
}

static void every_rtt_of_a_new_path(void **state)
{
	int i;

	the_host.every = 0;
	skops.snd_cwnd = 80;
	open_active();
	/* what the handshake has brought is no echo of data */
	echo();
	assert_int_equal(asks_in(80), 80);
	for (i = 1; i < 20; i++)
		assert_asks(0x714, 0, i < 16 ? 8 : 1);
	/* it is new again when all that was sent over it was lost */
	send_data();
	all_lost();
	assert_int_equal(send_again(), 0);
	acked();
	assert_int_equal(asks_in(20), 20);
}

static void every_rtt_of_few_packets(void **state)
{
	the_host.every = 0;
	open_active();
	path_known(0);
	acked();
	/* TCP's is without options */
	skops.mss_cache = MSS + 28;
	skops.snd_cwnd = 9;
	assert_int_equal(asks_in(9), 1);
	acked();
	skops.snd_cwnd = 8;
	assert_int_equal(asks_in(8), 8);
}

/* Another path, which drops what asks: all ask for some round trips, and if so, all is lost. */
static void every_rtt_without_answer(void **state)
{
	int time, trip;

	the_host.every = 0;
	open_active();
	for (time = 0; time < 2; time++) {
		path_known(0);
		assert_false(the_flow.no_burst);
		for (trip = 0; trip < 30; trip++) {
			acked();
			assert_int_equal(asks_in(20), trip >= 4 && trip < 8 ? 20 : 1);
		}
		/* PSH may be what does not arrive */
		assert_true(the_flow.no_burst);
	}
	acked();
	assert_int_equal(send_packet(30 * MSS), HPCCPP_EXID_COLLECT);
	assert_int_equal(stat(HPCCPP_HS_GAVE_UP), 0);
}

/* Who gave up asks again when the peer does: in all, until there is an echo */
static void every_rtt_of_a_peer_that_asks(void **state)
{
	int trip;

	the_host.every = 0;
	open_active();
	for (trip = 0; trip < 6; trip++) {
		acked();
		assert_int_equal(asks_in(20), trip < 4 ? 20 : 0);
	}
	collect();
	acked();
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
	assert_int_equal(asks_in(20), 20);
}

/* With no port any more, an empty echo says so. */
static void every_rtt_without_ports(void **state)
{
	the_host.every = 0;
	skops.snd_cwnd = 80;
	open_active();
	path_known(200);
	acked();
	assert_int_equal(asks_in(80), 8);
	empty_echo();
	acked();
	assert_int_equal(asks_in(80), 1);
}

/* Another congestion control had the flow, for half of all sequence numbers. */
static void every_rtt_after_another(void **state)
{
	the_host.every = 0;
	open_active();
	path_known(0);
	acked();
	assert_int_equal(asks_in(20), 1);
	skops.snd_una += 3000000000;
	skops.snd_nxt = skops.snd_una + 20 * MSS;
	skops.data_segs_out = 2000000;
	module_has_it();
	assert_int_equal(asks_in(20), 20);
}

/* --- Who is asked ---------------------------------------------------------- */

/* True if the peer at this address is asked, by each of the three ways to know of it. */
static bool is_wanted(void)
{
	bool wanted;

	has_flow = false;
	connects();
	wanted = has_flow && the_flow.wanted;
	has_flow = false;
	module_has_it();
	assert_int_equal(the_flow.wanted, wanted);
	has_flow = false;
	no_options();
	call_host(BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, 0);
	assert_int_equal(the_flow.wanted, wanted);
	return wanted;
}

static void ipv6_prefixes(void **state)
{
	static const __u32 lengths[] = { 0, 1, 31, 32, 33, 63, 64, 65, 95, 96,
					 97, 127, 128 };
	__u8 other[16];
	__u32 i, bit;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		put_prefix(0, addr6, lengths[i]);
		set_remote6(addr6);
		assert_true(is_wanted());
		for (bit = 0; bit < 128; bit++) {
			__builtin_memcpy(other, addr6, 16);
			other[bit / 8] ^= 0x80 >> bit % 8;
			set_remote6(other);
			assert_int_equal(is_wanted(), bit >= lengths[i]);
		}
	}
}

static void ipv4_prefixes(void **state)
{
	static const __u32 lengths[] = { 0, 1, 8, 15, 16, 17, 31, 32 };
	__u32 i, bit;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		put_prefix(0, mapped, 96 + lengths[i]);
		skops.remote_ip4 = bpf_htonl(0x0a010002);
		assert_true(is_wanted());
		for (bit = 0; bit < 32; bit++) {
			skops.remote_ip4 = bpf_htonl(0x0a010002 ^ 1U << (31 - bit));
			assert_int_equal(is_wanted(), bit >= lengths[i]);
		}
	}
}

/* An address of IPv4 is none of IPv6 with the same bits. */
static void families_apart(void **state)
{
	static const __u8 v4_in_front[16] = { 10, 1, 0, 2 }, v4_behind[16] = {
		[12] = 10, 1, 0, 2 };

	put_prefix(0, mapped, 128);
	set_remote6(v4_in_front);
	assert_false(is_wanted());
	set_remote6(v4_behind);
	assert_false(is_wanted());
	set_remote6(mapped);
	assert_true(is_wanted());
	put_prefix(0, addr6, 1);
	skops.family = AF_INET;
	assert_false(is_wanted());
}

static void several_prefixes(void **state)
{
	put_prefix(0, addr6, 64);
	put_prefix(1, mapped, 112);
	assert_true(is_wanted());
	set_remote6(addr6);
	assert_true(is_wanted());
	the_host.ask = HPCCPP_ASK_NEVER;
	assert_false(is_wanted());
	the_host.ask = HPCCPP_ASK_ALWAYS;
	n_prefixes = 1;
	skops.family = AF_INET;
	assert_false(is_wanted());
}

static void unwanted_peer_is_not_asked(void **state)
{
	put_prefix(0, addr6, 64);
	open_active();
	assert_int_equal(send_data(), 0);
	echo();
	skops.bpf_sock_ops_cb_flags |= WRITE_FLAG;
	assert_int_equal(send_data(), 0);
	/* and gets its echoes */
	collect();
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
}

/* --- Other lives of a socket ----------------------------------------------- */

/* connect() anew: nothing of the last peer is left. */
static void connects_anew(void **state)
{
	struct flow none = {};

	windows = true;
	open_active();
	receive(HPCCPP_EXID_ECHO, three, 3);
	module_calls(HPCCPP_CALL_TELL, 2000 << 12 | 5 << 8 | 95, 1);
	collect();
	send_data();
	assert_int_not_equal(the_flow.mail.gen, 0);
	connects();
	none.wanted = 1;
	none.own_flag = 1;
	assert_memory_equal(&the_flow, &none, sizeof(none));
	windows = false;
	/* as from the start */
	open_active();
	assert_int_equal(word(1), HPCCPP_WANTED);
	acked();
	peer_without_an_agent(state);
}

static void connects_anew_to_another(void **state)
{
	open_active();
	echo();
	put_prefix(0, addr6, 64);
	connects();
	assert_false(has_flow);
}

/* The flag was another program's: it is not ours on the second connection either. */
static void connects_anew_with_a_flag(void **state)
{
	skops.bpf_sock_ops_cb_flags = WRITE_FLAG;
	connects();
	assert_false(the_flow.own_flag);
	connects();
	assert_false(the_flow.own_flag);
}

/* The module looks at the mail on each ACK; one that never does has let go. */
static void flow_that_was_let_go(void **state)
{
	int i;

	open_active();
	for (i = 0; i < 1000; i++)
		echo();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	echo();
	assert_int_equal(send_data(), 0);
	assert_int_equal(the_flow.mail.key, 0);
	/* taken again */
	module_has_it();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(the_flow.mail.unread, 0);
}

static void flow_that_is_read(void **state)
{
	int i;

	open_active();
	for (i = 0; i < 3000; i++) {
		echo();
		the_flow.mail.unread = 0;
	}
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

static void flow_older_than_its_agent(void **state)
{
	no_options();
	parse_it();
	echo();
	assert_false(has_flow);
	collect();
	assert_true(has_flow);
	assert_true(skops.bpf_sock_ops_cb_flags & WRITE_FLAG);
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(syn_asks_once),
		TEST(syn_without_room),
		TEST(syn_of_others),
		TEST(syn_if_always),
		TEST(never_leaves_no_state),
		TEST(third_ack_asks_once),
		TEST(third_ack_with_data),
		TEST(listener_has_the_flag),
		TEST(listener_of_another_program),
		TEST(listener_forgets_its_peer),
		TEST(child_of_a_bare_peer),
		TEST(child_of_another_program),
		TEST(child_of_a_peer_with_an_agent),
		TEST(data_asks),
		TEST(data_is_wanted_until_an_echo),
		TEST(data_of_others),
		TEST(data_if_always),
		TEST(peer_without_an_agent),
		TEST(round_trip_ends_with_its_ack),
		TEST(echo_proves),
		TEST(empty_echo_proves),
		TEST(collect_proves),
		TEST(answer_comes_late),
		TEST(passive_waits),
		TEST(passive_and_a_collect),
		TEST(timeout_of_active),
		TEST(timeout_of_passive),
		TEST(timeout_then_an_echo),
		TEST(timeout_before_the_proof),
		TEST(timeout_of_a_silent_peer),
		TEST(timeout_and_what_arrives_of_it),
		TEST(loss_is_no_timeout),
		TEST(what_is_sent_again_does_not_ask),
		TEST(every_4),
		TEST(every_rtt),
		TEST(every_rtt_without_room),
		TEST(every_rtt_of_a_loaded_path),
		TEST(every_rtt_of_a_new_path),
		TEST(every_rtt_of_few_packets),
		TEST(every_rtt_without_answer),
		TEST(every_rtt_of_a_peer_that_asks),
		TEST(every_rtt_without_ports),
		TEST(every_rtt_after_another),
		TEST(ipv6_prefixes),
		TEST(ipv4_prefixes),
		TEST(families_apart),
		TEST(several_prefixes),
		TEST(unwanted_peer_is_not_asked),
		TEST(connects_anew),
		TEST(connects_anew_to_another),
		TEST(connects_anew_with_a_flag),
		TEST(flow_that_was_let_go),
		TEST(flow_that_is_read),
		TEST(flow_older_than_its_agent),
	};

	return RUN(tests);
}
