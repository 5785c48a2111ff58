// SPDX-License-Identifier: GPL-2.0
/* What SYN-ACK and third ACK tell, and each end makes of it */
#include "host_test.h"

static void answer_syn(const struct hpccpp_int *rec, int n)
{
	skops.bpf_sock_ops_cb_flags = WRITE_FLAG;
	no_options();
	put_records(HPCCPP_EXID_COLLECT, rec, n);
	build_segment(TCPHDR_SYN | TCPHDR_ACK, 0);
}

/* The SYN-ACK is made from the SYN alone: there is no state. */
static void syn_ack_asks_back(void **state)
{
	room = 20;
	answer_syn(three, 1);
	assert_int_equal(exid(), HPCCPP_EXID_COLLECT);
	assert_int_equal(stored, HPCCPP_SYNACK_LEN);
	assert_int_equal(word(1), HPCCPP_WANTED);
	assert_int_equal(word(2), 0);
	assert_int_equal(word(3), 0);
	/* 0x1240 of 64 bytes are code 0x1c9; rate and U are the record's */
	assert_int_equal(word(4), 0x1c961428);
	assert_int_equal(stat(HPCCPP_HS_COLLECTED), 1);
	assert_int_equal(stat(HPCCPP_HS_ECHOED), 1);
	assert_int_equal(stat(HPCCPP_HS_ASKED), 1);
	assert_false(has_flow);
}

/* Beside a cookie of Fast Open */
static void syn_with_little_room(void **state)
{
	connects();
	room = 8;
	assert_int_equal(send_syn(), HPCCPP_EXID_COLLECT);
	assert_int_equal(stored, HPCCPP_OPT_HDR);
}

static void collect_of_no_record(void)
{
	no_options();
	put_option(HPCCPP_EXID_COLLECT, NULL, 0);
}

static void syn_ack_to_a_syn_with_little_room(void **state)
{
	skops.bpf_sock_ops_cb_flags = WRITE_FLAG;
	collect_of_no_record();
	build_segment(TCPHDR_SYN | TCPHDR_ACK, 0);
	assert_int_equal(stored, HPCCPP_SYNACK_LEN);
	assert_int_equal(word(4), 0);
	assert_int_equal(stat(HPCCPP_HS_BAD), 0);
}

/* The SYN is all that the server's agent is shown before its first data. */
static void fast_open_proves(void **state)
{
	collect_of_no_record();
	open_passive();
	assert_true(the_flow.proven);
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(stat(HPCCPP_HS_BAD), 0);
}

/* We have no key, so it gets an echo without a tag, and no proof of us. */
static void syn_ack_to_who_wants_tags(void **state)
{
	skops.bpf_sock_ops_cb_flags = WRITE_FLAG;
	no_options();
	put_records(HPCCPP_EXID_COLLECT, three, 1);
	put_option(HPCCPP_EXID_TAG, NULL, 0);
	build_segment(TCPHDR_SYN | TCPHDR_ACK, 0);
	assert_int_equal(exid(), HPCCPP_EXID_ECHO);
}

static void syn_ack_tells_of_a_bound(void **state)
{
	answer_syn(&bound_rec, 1);
	assert_int_equal(word(4), bound_rec.U);
	answer_syn(&empty_rec, 1);
	assert_int_equal(word(4), 0);
}

/* Crowds that the SYN's record has, and the word for it */
static void syn_ack_tells_of_a_crowd(void **state)
{
	static const struct { __u32 N, word; } cases[] = {
		{ 0, 0x1c961428 }, { 3, 0x1c961428 }, { 4, 0x5c961428 }, { 10, 0x5c961428 },
		{ 11, 0x9c961428 }, { 21, 0x9c961428 }, { 22, 0xdc961428 }, { 640, 0xdc961428 },
	};
	struct hpccpp_int rec = three[0];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rec.N = hpccpp_N_encode(cases[i].N);
		answer_syn(&rec, 1);
		assert_int_equal(word(4), cases[i].word);
	}
}

/* A SYN-ACK arrives: with a collect that a port has written, and this word. */
static void asked_back(__u32 found)
{
	connects();
	send_syn();
	put_asked_back(three, found);
	connected();
}

static void third_ack_answers(void **state)
{
	const struct hpccpp_int found = { .rate = 0x614, .U = 40, .qlen = 0x1240 };

	asked_back(0x1c961428);
	assert_mail(&found, 1);
	assert_int_equal(the_flow.mail.gen, 1);
	assert_int_equal(stat(HPCCPP_HS_ECHOES), 1);
	assert_int_equal(stat(HPCCPP_HS_COLLECTED), 1);
	send_ack();
	assert_echo(three, 1);
	assert_int_equal(send_ack(), 0);
	module_has_it();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

static void syn_ack_with_a_cookie(void **state)
{
	write_arg = BPF_WRITE_HDR_TCP_SYNACK_COOKIE;
	answer_syn(three, 1);
	write_arg = 0;
	assert_int_equal(exid(), HPCCPP_EXID_ECHO);
}

/* It has waited for the application, which is no part of the round trip. */
static void data_in_place_of_the_third_ack(void **state)
{
	asked_back(0x1c961428);
	module_has_it();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(send_ack(), 0);
}

/* The most that a record can say is the most that the word can. */
static void syn_found_a_long_queue(void **state)
{
	const struct hpccpp_int found = { .rate = 0x614, .U = 255, .qlen = HPCCPP_QLEN_MAX };

	asked_back(0x3ff614ff);
	assert_mail(&found, 1);
}

static void syn_found_a_crowd(void **state)
{
	struct hpccpp_int found = { .rate = 0x614, .U = 40, .qlen = 0x1240 };
	__u32 bits;

	for (bits = 0; bits < 4; bits++) {
		asked_back(bits << 30 | 0x1c961428);
		found.N = bits ? hpccpp_N_encode(1 << 2 * bits) : 0;
		assert_mail(&found, 1);
	}
}

static void syn_found_nothing(void **state)
{
	asked_back(0x12300000);
	assert_int_equal(the_flow.mail.gen, 0);
	assert_true(the_flow.proven);
}

static void syn_found_a_bound(void **state)
{
	/* a queue of no link is none */
	asked_back(0x12300000 | bound_rec.U);
	assert_mail(&bound_rec, 1);
}

/* hpccpp takes a flow that is older: a handshake's record is not news to it */
static void found_long_ago(void **state)
{
	asked_back(0x1c961428);
	skops.data_segs_out = HPCCPP_FIRST_FLIGHT;
	module_has_it();
	assert_int_equal(the_flow.mail.gen, 1);
	skops.data_segs_out++;
	module_has_it();
	assert_int_equal(the_flow.mail.gen, 0);
}

/* Who answered hears of its path in the third ACK. */
static void third_ack_proves(void **state)
{
	no_options();
	put_records(HPCCPP_EXID_ECHO, three, 1);
	open_passive();
	assert_mail(three, 1);
	assert_true(the_flow.proven);
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

/* --- What has hpccpp's place without telemetry ------------------------------- */

static void assert_stood_in(const char *cc, int stood_in, int came_back)
{
	assert_string_equal(cc_set, cc);
	assert_int_equal(stat(HPCCPP_HS_STOOD_IN), stood_in);
	assert_int_equal(stat(HPCCPP_HS_CAME_BACK), came_back);
}

/* The SYN-ACK has no option. */
static void peer_is_silent(void)
{
	connects();
	send_syn();
	no_options();
	connected();
}

static void fallback_until_an_echo(void **state)
{
	peer_is_silent();
	assert_stood_in("cubic", 1, 0);
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	/* no port has written */
	empty_echo();
	assert_stood_in("cubic", 1, 0);
	echo();
	assert_stood_in("hpccpp", 1, 1);
	echo();
	assert_stood_in("hpccpp", 1, 1);
}

static void no_fallback_with_telemetry(void **state)
{
	asked_back(0x1c961428);
	assert_stood_in("", 0, 0);
}

static void fallback_of_a_server(void **state)
{
	no_options();
	open_passive();
	assert_stood_in("cubic", 1, 0);
	assert_int_equal(send_data(), 0);
}

static void no_fallback_of_a_server_that_hears(void **state)
{
	no_options();
	put_records(HPCCPP_EXID_ECHO, three, 1);
	open_passive();
	assert_stood_in("", 0, 0);
}

static void no_fallback_of_others(void **state)
{
	cc_is_hpccpp = false;
	peer_is_silent();
	assert_stood_in("", 0, 0);
	new_socket();
	no_options();
	open_passive();
	assert_stood_in("", 0, 0);
}

static void no_fallback_where_it_is_locked(void **state)
{
	cc_is_locked = true;
	peer_is_silent();
	cc_is_locked = false;
	assert_int_equal(stat(HPCCPP_HS_ERROR), 0);
	module_has_it();
	echo();
	assert_stood_in("", 0, 0);
}

/* Not asked: there is no state of it yet. */
static void fallback_to_who_is_not_asked(void **state)
{
	put_prefix(0, mapped, 128);
	skops.remote_ip4 = bpf_htonl(0x0a010003);
	peer_is_silent();
	assert_stood_in("cubic", 1, 0);
}

/* dctcp calls itself so without ECN. */
static void fallback_has_another_name(void **state)
{
	peer_is_silent();
	__builtin_memcpy(cc_set, "cubic-else", 11);
	echo();
	assert_stood_in("hpccpp", 1, 1);
}

static void application_has_chosen(void **state)
{
	peer_is_silent();
	__builtin_memcpy(cc_set, "bbr", 4);
	echo();
	assert_stood_in("bbr", 1, 0);
	/* nor is that taken back later */
	__builtin_memcpy(cc_set, "cubic", 6);
	echo();
	assert_stood_in("cubic", 1, 0);
}

/* A name that only begins so is another. */
static void application_has_chosen_the_like(void **state)
{
	peer_is_silent();
	__builtin_memcpy(cc_set, "cubic2", 7);
	echo();
	assert_stood_in("cubic2", 1, 0);
	new_socket();
	cc_set[0] = '\0';
	peer_is_silent();
	__builtin_memcpy(cc_set, "cub", 4);
	echo();
	assert_stood_in("cub", 2, 0);
}

/* connect() anew: TCP sets a congestion control only later, so nothing is set here. */
static void connects_again(void **state)
{
	peer_is_silent();
	connects();
	assert_stood_in("cubic", 1, 0);
	send_syn();
	assert_int_equal(exid(), HPCCPP_EXID_COLLECT);
	put_asked_back(three, 0x1c961428);
	connected();
	assert_stood_in("hpccpp", 1, 1);
}

static void connects_again_to_the_silent(void **state)
{
	peer_is_silent();
	peer_is_silent();
	assert_stood_in("cubic", 1, 0);
	echo();
	assert_stood_in("hpccpp", 1, 1);
}

/* ... over a route that has another */
static void connects_again_by_another_route(void **state)
{
	peer_is_silent();
	connects();
	__builtin_memcpy(cc_set, "bbr", 4);
	put_asked_back(three, 0x1c961428);
	connected();
	assert_stood_in("bbr", 1, 0);
}

/* Those that it accepts are hpccpp's. */
static void listens_later(void **state)
{
	peer_is_silent();
	call_host(BPF_SOCK_OPS_TCP_LISTEN_CB, 0);
	assert_stood_in("hpccpp", 1, 0);
	assert_false(the_flow.stands_in);
}

/* The SYN is older than this agent. */
static void agent_comes_with_the_syn_ack(void **state)
{
	no_options();
	connected();
	assert_stood_in("cubic", 1, 0);
	assert_true(skops.bpf_sock_ops_cb_flags & WRITE_FLAG);
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

static void fallback_that_is_gone(void **state)
{
	cc_is_gone = true;
	peer_is_silent();
	assert_stood_in("", 0, 0);
	assert_int_equal(stat(HPCCPP_HS_ERROR), 1);
}

/* What brings it back is news to a flow of any age. */
static void record_after_the_first_flight(void **state)
{
	peer_is_silent();
	skops.data_segs_out = HPCCPP_FIRST_FLIGHT + 1;
	set_cc = announce;
	echo();
	assert_stood_in("hpccpp", 1, 1);
	assert_int_equal(the_flow.mail.gen, 1);
	assert_int_equal(the_flow.mail.key, KEY);
}

static void syn_ack_echoes_the_syn(void **state)
{
	/* no room to ask back */
	room = 16;
	answer_syn(three, 1);
	assert_int_equal(exid(), HPCCPP_EXID_ECHO);
	assert_int_equal(records(), 1);
	assert_int_equal(word(1), hpccpp_int_w0(&three[0]));
	assert_int_equal(word(2), hpccpp_int_w1(&three[0]));
	assert_int_equal(word(3), hpccpp_int_w2(&three[0]));
	assert_int_equal(stat(HPCCPP_HS_COLLECTED), 1);
	assert_int_equal(stat(HPCCPP_HS_ECHOED), 1);
	assert_false(has_flow);
}

static void syn_ack_has_the_most_loaded(void **state)
{
	answer_syn(three, 3);
	assert_int_equal(stored, HPCCPP_SYNACK_LEN);
	assert_int_equal(word(4), 4 << 20 | (hpccpp_int_w0(&three[1]) & HPCCPP_LINK_0));
}

static void syn_ack_without_a_question(void **state)
{
	skops.bpf_sock_ops_cb_flags = WRITE_FLAG;
	no_options();
	put_records(HPCCPP_EXID_ECHO, three, 1);
	build_segment(TCPHDR_SYN | TCPHDR_ACK, 0);
	assert_int_equal(exid(), 0);
}

static void syn_ack_to_who_is_not_asked(void **state)
{
	the_host.ask = HPCCPP_ASK_NEVER;
	answer_syn(three, 1);
	assert_int_equal(exid(), HPCCPP_EXID_ECHO);
	the_host.ask = HPCCPP_ASK_AUTO;
	put_prefix(0, addr6, 64);
	answer_syn(three, 1);
	assert_int_equal(exid(), HPCCPP_EXID_ECHO);
	put_prefix(0, mapped, 128);
	answer_syn(three, 1);
	assert_int_equal(exid(), HPCCPP_EXID_COLLECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(syn_ack_asks_back),
		TEST(syn_ack_with_a_cookie),
		TEST(syn_with_little_room),
		TEST(syn_ack_to_a_syn_with_little_room),
		TEST(fast_open_proves),
		TEST(syn_ack_to_who_wants_tags),
		TEST(syn_ack_tells_of_a_bound),
		TEST(third_ack_answers),
		TEST(data_in_place_of_the_third_ack),
		TEST(syn_found_a_long_queue),
		TEST(syn_ack_tells_of_a_crowd),
		TEST(syn_found_a_crowd),
		TEST(syn_found_nothing),
		TEST(syn_found_a_bound),
		TEST(found_long_ago),
		TEST(third_ack_proves),
		TEST(fallback_until_an_echo),
		TEST(no_fallback_with_telemetry),
		TEST(fallback_of_a_server),
		TEST(no_fallback_of_a_server_that_hears),
		TEST(no_fallback_of_others),
		TEST(no_fallback_where_it_is_locked),
		TEST(fallback_to_who_is_not_asked),
		TEST(fallback_has_another_name),
		TEST(application_has_chosen),
		TEST(application_has_chosen_the_like),
		TEST(connects_again),
		TEST(connects_again_to_the_silent),
		TEST(connects_again_by_another_route),
		TEST(listens_later),
		TEST(agent_comes_with_the_syn_ack),
		TEST(fallback_that_is_gone),
		TEST(record_after_the_first_flight),
		TEST(syn_ack_echoes_the_syn),
		TEST(syn_ack_has_the_most_loaded),
		TEST(syn_ack_without_a_question),
		TEST(syn_ack_to_who_is_not_asked),
	};

	return RUN(tests);
}
