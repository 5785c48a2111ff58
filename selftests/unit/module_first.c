// SPDX-License-Identifier: GPL-2.0
/*
 * The first window of a flow whose handshake has told of a load, or of a crowd that begins with
 * it: difference 9 of hpccpp_algo.h.
 */
#include "module_test.h"

/* Its part of a link beside the load that is there; a SYN-ACK tells of it without an id. */
static void begins_beside_what_the_handshake_found(void **state)
{
	begin(.5);
	assert_near(flow()->s.W, RTT * 1250 * .95 / 1.5, 50);
	assert_int_equal(flow()->s.W_c, flow()->s.W);
	assert_int_equal(flow()->last_update_seq, w.tp.snd_nxt);
	assert_int_equal(w.tp.snd_cwnd, DIV_ROUND_UP(flow()->s.W, WIRE) + 1);
}

/* Of 16 that begin, as the SYN has found */
static void begins_in_a_crowd(void **state)
{
	w.port.N = hpccpp_N_encode(16);
	begin(.5);
	assert_near(flow()->s.W, RTT * 1250 * .95 / 16, 50);
	assert_int_equal(flow()->s.W_c, flow()->s.W);
}

static void begins_alone(void **state)
{
	begin(0);
	assert_near(flow()->s.W, RTT * 1250 * .95, 50);
}

static void begins_at_line_rate_as_in_the_draft(void **state)
{
	knob("share", 0);
	begin(.5);
	assert_int_equal(flow()->s.W_c, RTT * 1250);
}

/* TCP has a slow start threshold of connections before: no line rate, and no more in a crowd. */
static void begins_in_a_crowd_with_less(void **state)
{
	w.tp.snd_ssthresh = 100;
	w.port.N = hpccpp_N_encode(4);
	begin(0);
	assert_int_equal(flow()->s.W, 10 * WIRE + flow()->p.W_ai);
	assert_int_equal(flow()->s.W_c, flow()->s.W);
}

static const struct CMUnitTest tests[] = {
	MODULE_TEST(begins_beside_what_the_handshake_found),
	MODULE_TEST(begins_in_a_crowd),
	MODULE_TEST(begins_alone),
	MODULE_TEST(begins_at_line_rate_as_in_the_draft),
	MODULE_TEST(begins_in_a_crowd_with_less),
};

const struct tests first_tests = { tests, ARRAY_SIZE(tests) };
