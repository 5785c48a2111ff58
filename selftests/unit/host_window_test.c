// SPDX-License-Identifier: GPL-2.0
/*
 * The host agent: windows that the receiver computes, lines 28-34 of the draft, and
 * the requests for them.
 */
#include "host_test.h"

/* --- Windows computed by the receiver -------------------------------------- */

#define T_US		100
#define T_NS		(T_US * 1000ULL)
#define RATE_10G	0x864	/* 100 * 10^8 */
#define B_10G		1.25e9	/* bytes/s */
#define W0		50000	/* of a BDP of 125000, times 9/8 for W_max */
#define W_AI		80
#define STAGE		5

static __u32 window_serial = 1;

static void put_request_of(__u16 T, __u32 stage, __u32 eta, __u32 W, __u32 W_ai)
{
	__be32 w[2] = {
		bpf_htonl(HPCCPP_WINDOW(HPCCPP_WINDOW_REQUEST, window_serial,
					T, stage << 8 | eta)),
		bpf_htonl((__u32)hpccpp_num_encode(W) << 16 | hpccpp_num_encode(W_ai)),
	};

	no_options();
	put_option(HPCCPP_EXID_WINDOW, w, sizeof(w));
	parse_it();
}

static void put_request(__u32 T, __u32 stage, __u32 eta, __u32 W, __u32 W_ai)
{
	put_request_of(hpccpp_num_encode(T), stage, eta, W, W_ai);
}

/* A sender's data has been seen, and it wants windows. */
static void grant(void)
{
	windows = true;
	window_serial = 1;
	collect();
	send_ack();
	put_request(T_US, STAGE, 95, W0, W_AI);
}

/* The port of a link of 10 Gbit/s: what it has sent, and how long its queue is */
static double port_tx;
static __u32 port_qlen;
static __u16 port_link;
static __u8 port_N;

static void collect_from_port(double load, __u64 dt)
{
	struct hpccpp_int rec = { .link = port_link, .rate = RATE_10G, .U = 30, .N = port_N };

	now += dt;
	port_tx += load * B_10G * dt / 1e9;
	rec.ts = now >> HPCCPP_TS_SHIFT & HPCCPP_MASK24;
	rec.tx_bytes = (__u64)port_tx >> HPCCPP_TX_SHIFT & HPCCPP_MASK24;
	rec.qlen = port_qlen;
	receive(HPCCPP_EXID_COLLECT, &rec, 1);
}

static double window(void)
{
	assert_int_equal(exid(), HPCCPP_EXID_WINDOW);
	assert_int_equal(stored, HPCCPP_WINDOW_LEN);
	return hpccpp_num_decode(HPCCPP_WINDOW_NUM(word(1)));
}

/*
 * Lines 28-34 with lines 1-20 of one link, in double precision; and as hpccpp_wire.rst
 * has it: W_c is set after U T where that is more, and after half as much more when it
 * was a decrease.
 */
static struct {
	double U, W, W_c, last;		/* s */
	double tx, ts, qlen;		/* L[i] */
	int stage;
	bool known, decrease;
} draft;

static void draft_measure(double load_bytes)
{
	double t = now / 1e9, T = T_US / 1e6, qlen = port_qlen * 64.0, u, tau;

	if (!draft.known) {
		/* the port's own U, difference 3 */
		draft.U = 30 / 64.0;
	} else {
		u = (qlen < draft.qlen ? qlen : draft.qlen) / (B_10G * T) +
		    (load_bytes - draft.tx) / (t - draft.ts) / B_10G;
		tau = t - draft.ts < T ? t - draft.ts : T;
		draft.U = (1 - tau / T) * draft.U + tau / T * u;	/* 9 */
	}
	draft.known = true;
	draft.tx = load_bytes;
	draft.ts = t;
	draft.qlen = qlen;
}

static void draft_compute(void)
{
	double t = now / 1e9, T = T_US / 1e6, eta = .95, wait, W_max;
	bool update;

	wait = draft.U > 1 ? draft.U * T : T;
	if (draft.decrease)
		wait *= 1.5;
	update = t - draft.last > wait - .000000001;				/* 29 */
	if (draft.U >= eta || draft.stage >= STAGE) {			/* 12 */
		draft.W = draft.W_c / (draft.U / eta) + W_AI;		/* 13 */
		if (update)
			draft.stage = 0;				/* 15 */
	} else {
		draft.W = draft.W_c + W_AI;				/* 17 */
		if (update)
			draft.stage++;					/* 19 */
	}
	W_max = B_10G * T * 9 / 8;
	if (draft.W > W_max)
		draft.W = W_max;
	if (update) {
		draft.W_c = draft.W;
		draft.last = t;						/* 32 */
		draft.decrease = draft.U >= eta;
	}
}

static void begin_draft(void)
{
	__builtin_memset(&draft, 0, sizeof(draft));
	draft.W_c = hpccpp_num_decode(hpccpp_num_encode(W0));
	port_tx = 0;
	port_qlen = 0;
	port_link = 7;
	port_N = 0;
	grant();
}

/* A collect, and an ACK. True if that brings a window, and it is the draft's. */
static bool step(double load, __u64 dt, double error)
{
	double W;

	collect_from_port(load, dt);
	draft_measure(port_tx);
	send_ack();
	if (!stored)
		return false;
	draft_compute();
	W = window();
	/* rounded down by less than 1/1024 */
	if (W > draft.W + error || W < draft.W * 1023 / 1024 - error)
		fail_msg("W is %d, and the draft's %d", (int)W, (int)draft.W);
	return true;
}

/* Below eta: W_c grows by W_ai once in T, from stage 5 on by a factor. */
static void lines_28_34_increase(void **state)
{
	int i, told = 0;

	begin_draft();
	for (i = 0; i < 400; i++)
		told += step(.6, T_NS / 10, 150);
	/* 40 T, and a window in a quarter of each */
	assert_true(told >= 120 && told <= 160);
	assert_true(draft.W_c > W0 * 1.5);
}

/* W after 40 T at eta, of a request with this T and what stands beside it */
static double window_of_sixteen(__u16 T)
{
	double W = 0;
	int i;

	begin_draft();
	port_N = hpccpp_N_encode(16);
	put_request_of(T, STAGE, 95, W0, W_AI);
	for (i = 0; i < 400; i++) {
		collect_from_port(.95, T_NS / 10);
		send_ack();
		if (stored)
			W = window();
	}
	return W;
}

/* Difference 8 is the sender's to choose: 16 flows have 7422 bytes each. */
static void share_where_the_sender_wants_it(void **state)
{
	__u16 T = hpccpp_num_encode(T_US);

	assert_in_range(window_of_sixteen(T | HPCCPP_REQUEST_SHARE >> 12), 7400, W0 / 4);
}

/* A decrease is not made good before it has had its effect: not for a T. */
static void share_after_a_decrease(void **state)
{
	__u16 T = hpccpp_num_encode(T_US) | HPCCPP_REQUEST_SHARE >> 12;
	double W;
	int i;

	window_of_sixteen(T);
	window_serial = 2;
	put_request_of(T, STAGE, 95, 2000, W_AI);
	for (i = 0; i < 9; i++) {
		collect_from_port(.95, T_NS / 10);
		send_ack();
		if (stored)
			assert_in_range(window(), 1900, 2200);
	}
	/* then it goes there: by half of W at most in each round trip */
	for (W = 0; i < 100; i++) {
		collect_from_port(.95, T_NS / 10);
		send_ack();
		if (stored)
			W = window();
	}
	assert_in_range(W, 5000, 12500);
}

static void share_of_a_sender_that_does_not(void **state)
{
	assert_in_range(window_of_sixteen(hpccpp_num_encode(T_US)), W0 - 1000, W0 * 2);
}

/* Over eta, and with a queue: W divides by U, and waits for what comes of it. */
static void lines_28_34_decrease(void **state)
{
	int i;

	begin_draft();
	for (i = 0; i < 50; i++)
		step(.9, T_NS / 10, 300);
	port_qlen = 3000;		/* 192 KB, 1.5 BDP */
	for (i = 0; i < 100; i++)
		step(1, T_NS / 10, 300);
	port_qlen = 0;
	for (i = 0; i < 200; i++)
		step(.7, T_NS / 10, 300);
}

/* No ACK is sent for it, and one that comes often brings one in a quarter of T. */
static void window_in_a_quarter_of_T(void **state)
{
	__u64 last = 0;
	int i;

	begin_draft();
	for (i = 0; i < 200; i++) {
		collect_from_port(.5, T_NS / 50);
		send_ack();
		if (!stored)
			continue;
		if (last)
			assert_int_equal(now - last, (T_NS / 4 + T_NS / 50 - 1) /
						     (T_NS / 50) * (T_NS / 50));
		last = now;
	}
	/* late ones come at once */
	collect_from_port(.5, 10 * T_NS);
	assert_int_equal(send_ack(), HPCCPP_EXID_WINDOW);
	/* once for what was collected */
	now += T_NS;
	assert_int_equal(send_ack(), 0);
}

/* The smallest rate of the path, also when it becomes less */
static void window_follows_the_path(void **state)
{
	struct hpccpp_int rec = { .link = 8, .rate = 0x764, .U = 30 };
	int i;

	begin_draft();
	collect_from_port(.5, T_NS);
	send_ack();
	for (i = 1; i < 4; i++) {
		now += T_NS;
		rec.ts = now >> HPCCPP_TS_SHIFT & HPCCPP_MASK24;
		receive(HPCCPP_EXID_COLLECT, &rec, 1);
		the_rx.value = HPCCPP_WINDOW_B;
		assert_int_equal(send_ack(), HPCCPP_EXID_WINDOW);
	}
	assert_int_equal(HPCCPP_WINDOW_VALUE(word(1)), rec.rate);
}

/* Guideline 1 of section 6.1: at most once in a round trip */
static void commits_once_in_T(void **state)
{
	__u64 committed = 0;
	double W_c = 0;
	int i, commits = 0;

	begin_draft();
	/* steps that leave windows just before T, and after */
	for (i = 0; i < 2000; i++) {
		collect_from_port(.6, T_NS * (3 + i % 5) / 64);
		send_ack();
		if (the_rx.committed == committed)
			continue;
		if (commits++) {
			assert_true(the_rx.committed - committed >= T_NS);
			assert_true((double)the_rx.s.W_c != W_c ||
				    the_rx.s.W_c == the_rx.p.W_max);
		}
		committed = the_rx.committed;
		W_c = the_rx.s.W_c;
	}
	assert_true(commits > 50);
}

/* The longest wait is one that windows of a quarter of T can end in time. */
static void commits_soon_after_T(void **state)
{
	__u64 committed = 0;
	int i;

	begin_draft();
	for (i = 0; i < 2000; i++) {
		collect_from_port(.6, T_NS / 64);
		send_ack();
		if (the_rx.committed == committed)
			continue;
		if (committed)
			assert_true(the_rx.committed - committed < T_NS + T_NS / 8);
		committed = the_rx.committed;
	}
}

static void window_says_B_U_and_N(void **state)
{
	int i, kind;

	begin_draft();
	for (i = 0; i < 9; i++) {
		collect_from_port(.5, T_NS);
		assert_int_equal(send_ack(), HPCCPP_EXID_WINDOW);
		kind = HPCCPP_WINDOW_KIND(word(1));
		assert_int_equal(kind, i % 3);
		assert_int_equal(HPCCPP_WINDOW_SERIAL(word(1)), 1);
		if (kind == HPCCPP_WINDOW_B)
			assert_int_equal(HPCCPP_WINDOW_VALUE(word(1)), RATE_10G);
		else if (kind == HPCCPP_WINDOW_N)
			assert_int_equal(HPCCPP_WINDOW_VALUE(word(1)), 1);
		else if (i > 3)
			assert_true(HPCCPP_WINDOW_VALUE(word(1)) >= 126 &&
				    HPCCPP_WINDOW_VALUE(word(1)) <= 128);
	}
	assert_int_equal(stat(HPCCPP_HS_COMPUTED), 9);
	/* a U of more than there are bits for */
	the_rx.value = HPCCPP_WINDOW_U;
	port_qlen = 0xffff;
	collect_from_port(1, T_NS);
	collect_from_port(1, 2 * T_NS);
	send_ack();
	assert_int_equal(HPCCPP_WINDOW_VALUE(word(1)), 0xfff);
}

/* W is at most 9/8 of what the path holds, and at least a 16th of a packet. */
static void window_has_bounds(void **state)
{
	int i;

	begin_draft();
	for (i = 0; i < 200; i++) {
		collect_from_port(.1, T_NS);
		send_ack();
	}
	assert_true(window() >= 140625 * 1023. / 1024 && window() <= 140625);
	port_qlen = 0xffff;
	for (i = 0; i < 200; i++) {
		collect_from_port(1, 2 * T_NS);
		send_ack();
	}
	assert_true(window() >= (MSS + 66) / 16 && window() <= (MSS + 66) / 16 + W_AI + 1);
}

/* Where no port has written there is an echo, as otherwise. */
static void window_needs_telemetry(void **state)
{
	begin_draft();
	receive(HPCCPP_EXID_COLLECT, &empty_rec, 1);
	send_ack();
	assert_echo(&empty_rec, 1);
	/* a bound alone has no B */
	receive(HPCCPP_EXID_COLLECT, &bound_rec, 1);
	send_ack();
	assert_echo(&bound_rec, 1);
	collect_from_port(.5, T_NS);
	assert_int_equal(send_ack(), HPCCPP_EXID_WINDOW);
	receive(HPCCPP_EXID_COLLECT, &empty_rec, 1);
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
	now += T_NS;
	receive(HPCCPP_EXID_COLLECT, &bound_rec, 1);
	assert_int_equal(send_ack(), HPCCPP_EXID_WINDOW);
}

static void window_waits_for_room(void **state)
{
	begin_draft();
	collect_from_port(.5, T_NS);
	room = 4;
	assert_int_equal(send_ack(), 0);
	assert_int_equal(stat(HPCCPP_HS_ECHO_NONE), 1);
	room = 8;
	assert_int_equal(send_ack(), HPCCPP_EXID_WINDOW);
}

static void window_takes_turns(void **state)
{
	begin_draft();
	the_host.ask = HPCCPP_ASK_ALWAYS;
	the_flow.wanted = 1;
	skops.bpf_sock_ops_cb_flags |= WRITE_FLAG;
	collect_from_port(.5, T_NS);
	assert_int_equal(send_data(), HPCCPP_EXID_WINDOW);
	collect_from_port(.5, T_NS);
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(send_data(), HPCCPP_EXID_WINDOW);
	collect_from_port(.5, T_NS);
	assert_int_equal(send_ack(), HPCCPP_EXID_WINDOW);
}

static void requests_that_are_wrong(void **state)
{
	static const __u32 wrong[][4] = {
		/* T, eta, W, W_ai */
		{ 0, 95, W0, 1 }, { HPCCPP_T_MAX + 8192, 95, W0, 1 },
		{ T_US, 201, W0, 1 }, { T_US, 255, W0, 1 }, { T_US, 95, 0, 1 },
		{ T_US, 95, HPCCPP_W_LIMIT + (1U << 20), 1 },
		{ T_US, 95, W0, HPCCPP_W_LIMIT + (1U << 20) },
	};
	static const __u32 right[][4] = {
		{ 1, 1, 1, 0 }, { 3999744, 200, HPCCPP_W_LIMIT, HPCCPP_W_LIMIT },
	};
	__u32 i;

	windows = true;
	collect();
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		put_request(wrong[i][0], STAGE, wrong[i][1], wrong[i][2], wrong[i][3]);
		assert_int_equal(stat(HPCCPP_HS_BAD), i + 1);
		assert_false(has_rx);
		assert_false(the_flow.rx);
	}
	for (i = 0; i < ARRAY_SIZE(right); i++) {
		put_request(right[i][0], STAGE, right[i][1], right[i][2], right[i][3]);
		assert_true(the_flow.rx);
		assert_int_equal(the_rx.p.T, right[i][0]);
		assert_int_equal(the_rx.p.eta, right[i][1] * HPCCPP_ONE / 100);
		assert_int_equal(the_rx.p.W_ai, right[i][3]);
		assert_int_equal(the_rx.p.max_stage, STAGE);
	}
	assert_int_equal(stat(HPCCPP_HS_BAD), ARRAY_SIZE(wrong));
}

static void window_options_of_wrong_lengths(void **state)
{
	__be32 w[9] = { bpf_htonl(HPCCPP_WINDOW(HPCCPP_WINDOW_REQUEST, 1, 100, 95)) };
	__u32 len, bad = 0;

	windows = true;
	collect();
	for (len = 0; len <= 36; len++) {
		if (len == 8)
			continue;
		no_options();
		put_option(HPCCPP_EXID_WINDOW, w, len);
		parse_it();
		assert_int_equal(stat(HPCCPP_HS_BAD), ++bad);
	}
	/* a window of 0 bytes, and one as long as a request */
	w[0] = bpf_htonl(HPCCPP_WINDOW(HPCCPP_WINDOW_U, 1, 0, 9));
	no_options();
	put_option(HPCCPP_EXID_WINDOW, w, 4);
	parse_it();
	assert_int_equal(stat(HPCCPP_HS_BAD), ++bad);
	w[0] = bpf_htonl(HPCCPP_WINDOW(HPCCPP_WINDOW_U, 1, 100, 9));
	no_options();
	put_option(HPCCPP_EXID_WINDOW, w, 8);
	parse_it();
	assert_int_equal(stat(HPCCPP_HS_BAD), ++bad);
	assert_false(has_rx);
}

/* What the sender has taken off W, W_c loses: once for a request. */
static void request_after_a_decrease(void **state)
{
	double W, W_c;

	begin_draft();
	collect_from_port(.5, T_NS);
	send_ack();
	W = window();
	W_c = the_rx.s.W_c;
	/* the same one again, as it is until it is granted */
	put_request(T_US, STAGE, 95, W / 2, W_AI);
	assert_true(the_rx.s.W_c == W_c);
	window_serial = 2;
	put_request(T_US, STAGE, 95, W / 2, W_AI);
	assert_true(the_rx.s.W_c > W_c * .499 && the_rx.s.W_c < W_c * .501);
	W_c = the_rx.s.W_c;
	put_request(T_US, STAGE, 95, W / 2, W_AI);
	assert_true(the_rx.s.W_c == W_c);
	/* more than W is not taken over */
	window_serial = 3;
	put_request(T_US, STAGE, 95, W * 2, W_AI);
	assert_true(the_rx.s.W_c == W_c);
	/* the answer is due at once, and has its serial */
	collect_from_port(.5, 1000);
	assert_int_equal(send_ack(), HPCCPP_EXID_WINDOW);
	assert_int_equal(HPCCPP_WINDOW_SERIAL(word(1)), 3);
}

static void request_for_none(void **state)
{
	begin_draft();
	collect_from_port(.5, T_NS);
	assert_int_equal(send_ack(), HPCCPP_EXID_WINDOW);
	put_request(0, 0, 0, 0, 0);
	collect_from_port(.5, T_NS);
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
	assert_int_equal(stat(HPCCPP_HS_BAD), 0);
	/* the flow's W is forgotten */
	put_request(T_US, STAGE, 95, W0 / 2, W_AI);
	assert_int_equal(the_rx.s.W_c,
			 hpccpp_num_decode(hpccpp_num_encode(W0 / 2)));
	assert_false(the_rx.s.L[0].seen);
}

static void request_in_the_other_mode(void **state)
{
	collect();
	put_request(T_US, STAGE, 95, W0, W_AI);
	assert_false(has_rx);
	use_keys(1);
	windows = true;
	put_request(T_US, STAGE, 95, W0, W_AI);
	assert_false(has_rx);
}

/* Flows of one link that end here */
static void flows_are_counted(void **state)
{
	struct flow flow;
	struct rx rx;
	int i;

	begin_draft();
	collect_from_port(.3, T_NS);
	send_ack();
	assert_int_equal(the_link.now, 1);
	flow = the_flow;
	rx = the_rx;
	other_socket();
	grant();
	port_link = 7;
	collect_from_port(.3, T_NS);
	the_rx.value = HPCCPP_WINDOW_N;
	send_ack();
	assert_int_equal(HPCCPP_WINDOW_VALUE(word(1)), 2);
	/* each once in an epoch, and N holds in the next one */
	for (i = 0; i < 40; i++) {
		collect_from_port(.3, T_NS);
		the_rx.value = HPCCPP_WINDOW_N;
		send_ack();
		if (i < 16)
			assert_int_equal(HPCCPP_WINDOW_VALUE(word(1)), 2);
	}
	/* the other has gone */
	assert_int_equal(HPCCPP_WINDOW_VALUE(word(1)), 1);
	assert_int_equal(the_link.epoch, 3);
	/* of long ago nothing is known */
	the_link.now = 9;
	collect_from_port(.3, 40 * T_NS);
	the_rx.value = HPCCPP_WINDOW_N;
	send_ack();
	assert_int_equal(HPCCPP_WINDOW_VALUE(word(1)), 1);
	(void)flow;
	(void)rx;
}

/* Two links that take turns as the bottleneck: counted on one for an epoch */
static void flows_count_on_one_link(void **state)
{
	__u64 until;

	begin_draft();
	collect_from_port(.3, T_NS);
	send_ack();
	assert_int_equal(the_rx.link, 7);
	until = now + 16 * T_NS;
	assert_true(the_rx.stays == until);
	port_link = 8;
	collect_from_port(.3, T_NS);
	send_ack();
	assert_int_equal(the_rx.s.bottleneck, 8);
	assert_int_equal(the_rx.link, 7);
	collect_from_port(.3, until - now);
	send_ack();
	assert_int_equal(the_rx.link, 8);
}

/* --- Windows, at the sender ------------------------------------------------ */

static void tell(__u32 what)
{
	module_calls(HPCCPP_CALL_TELL, what, 0x12345678);
}

static void put_window(__u32 kind, __u32 serial)
{
	__be32 w = bpf_htonl(HPCCPP_WINDOW(kind, serial, 2000, 77));

	no_options();
	put_option(HPCCPP_EXID_WINDOW, &w, sizeof(w));
	parse_it();
}

#define WANT	(100 << 12 | STAGE << 8 | 95)

static void wants(void)
{
	windows = true;
	open_active();
	echo();
	assert_true(the_flow.mail.rx);
	tell(WANT);
}

/* In data, in place of a collect; once a round trip, four times */
static void request_is_written(void **state)
{
	int trip;

	wants();
	for (trip = 0; trip < 4; trip++) {
		assert_int_equal(send_ack(), 0);
		assert_int_equal(send_data(), HPCCPP_EXID_WINDOW);
		assert_int_equal(stored, HPCCPP_REQUEST_LEN);
		assert_int_equal(word(1), 3U << 30 | 1 << 28 | WANT);
		assert_int_equal(word(2), 0x12345678);
		assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
		skops.snd_una = the_flow.requested_seq;
		assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
		acked();
	}
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(stat(HPCCPP_HS_REQUESTED), 4);
}

static void request_is_granted(void **state)
{
	__u32 gen;

	wants();
	/* no answer to what has not been asked yet */
	put_window(HPCCPP_WINDOW_U, 1);
	assert_false(the_flow.granted);
	assert_int_equal(HPCCPP_WINDOW_SERIAL(the_flow.mail.window), 0);
	assert_int_equal(send_data(), HPCCPP_EXID_WINDOW);
	gen = the_flow.mail.gen;
	put_window(HPCCPP_WINDOW_U, 1);
	assert_true(the_flow.granted);
	assert_int_equal(the_flow.mail.gen, gen + 1);
	assert_int_equal(the_flow.mail.window, 1U << 30 | 1 << 28 | 2000 << 12 | 77);
	acked();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_int_equal(stat(HPCCPP_HS_WINDOWS), 2);
	/* an echo has no window beside it */
	echo();
	assert_int_equal(the_flow.mail.window, 0);
}

/* Serials: another one, once the last was written; 1 to 3 */
static void request_has_a_serial(void **state)
{
	static const __u32 serials[] = { 1, 2, 3, 1 };
	__u32 i;

	windows = true;
	open_active();
	echo();
	for (i = 0; i < ARRAY_SIZE(serials); i++) {
		tell(WANT);
		tell(WANT + 1);
		acked();
		assert_int_equal(send_data(), HPCCPP_EXID_WINDOW);
		assert_int_equal(HPCCPP_WINDOW_SERIAL(word(1)), serials[i]);
		put_window(HPCCPP_WINDOW_U, serials[i] % 3 + 1);
		assert_false(the_flow.granted);
		assert_int_equal(HPCCPP_WINDOW_SERIAL(the_flow.mail.window), 0);
		put_window(HPCCPP_WINDOW_U, serials[i]);
		assert_true(the_flow.granted);
	}
}

/* Windows of an older request: it is written again as long as they come. */
static void request_until_it_is_obeyed(void **state)
{
	int trip;

	wants();
	for (trip = 0; trip < 10; trip++) {
		assert_int_equal(send_data(), HPCCPP_EXID_WINDOW);
		acked();
		put_window(HPCCPP_WINDOW_U, 2);
	}
}

/* Echoes in place of windows: the receiver has forgotten, and is asked again. */
static void request_was_forgotten(void **state)
{
	wants();
	send_data();
	put_window(HPCCPP_WINDOW_U, 1);
	acked();
	/* that of an old ACK may be a response of a port */
	no_options();
	put_records(HPCCPP_EXID_ECHO, three, 1);
	put_snd_ack(skops.snd_una - 1);
	parse_it();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	acked();
	echo();
	assert_int_equal(send_data(), HPCCPP_EXID_WINDOW);
}

static void request_for_none_is_obeyed(void **state)
{
	wants();
	send_data();
	put_window(HPCCPP_WINDOW_U, 1);
	tell(0);
	acked();
	assert_int_equal(send_data(), HPCCPP_EXID_WINDOW);
	assert_int_equal(word(1), 3U << 30 | 2 << 28);
	/* still windows: it is written once a round trip, for ever */
	for (int trip = 0; trip < 10; trip++) {
		put_window(HPCCPP_WINDOW_U, 1);
		acked();
		assert_int_equal(send_data(), HPCCPP_EXID_WINDOW);
	}
	echo();
	acked();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
}

/* Windows that nobody wanted are not obeyed, and the peer is asked to echo. */
static void window_that_nobody_wanted(void **state)
{
	__u32 gen;
	int i;

	for (i = 0; i < 3; i++) {
		new_socket();
		skops.snd_una = 1000;
		skops.snd_nxt = 1000;
		windows = i;
		if (i == 2)
			use_keys(1);
		open_active();
		if (i < 2)
			echo();
		gen = the_flow.mail.gen;
		put_window(HPCCPP_WINDOW_B, 1);
		assert_int_equal(the_flow.mail.gen, gen);
		assert_int_equal(the_flow.mail.window, 0);
		assert_int_equal(send_data(), HPCCPP_EXID_WINDOW);
		assert_int_equal(word(1), 3U << 30 | 1 << 28);
	}
	assert_int_equal(stat(HPCCPP_HS_WINDOWS), 0);
}

static void tell_of_others(void **state)
{
	windows = true;
	connects();
	tell(WANT);
	assert_int_equal(the_flow.want[0], 0);
	module_has_it();
	windows = false;
	tell(WANT);
	assert_int_equal(the_flow.want[0], 0);
}

/* The module has gone while windows came: echoes are for nobody either. */
static void windows_of_a_flow_that_was_let_go(void **state)
{
	int i;

	wants();
	send_data();
	for (i = 0; i < 1000; i++)
		put_window(HPCCPP_WINDOW_U, 1);
	assert_int_equal(the_flow.mail.key, 0);
	assert_int_equal(the_flow.want[0] & HPCCPP_WINDOW_ETA, 0);
	/* and when it is taken again, no windows are wanted before it says so */
	module_has_it();
	assert_int_equal(the_flow.want[0] & HPCCPP_WINDOW_ETA, 0);
}

/* The receiver needs more than one record in T. */
static void windows_are_asked_for_often(void **state)
{
	int i;

	the_host.every = 0;
	skops.snd_cwnd = 80;
	wants();
	echo_of_load(0x714, 0);
	send_data();
	for (i = 0; i < 30; i++) {
		put_window(HPCCPP_WINDOW_U, 1);
		acked();
		/* all, until a window has come for data that asked */
		assert_int_equal(asks_in(80), i ? 8 : 80);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_28_34_increase),
		TEST(share_where_the_sender_wants_it),
		TEST(share_of_a_sender_that_does_not),
		TEST(share_after_a_decrease),
		TEST(lines_28_34_decrease),
		TEST(window_in_a_quarter_of_T),
		TEST(window_follows_the_path),
		TEST(commits_once_in_T),
		TEST(commits_soon_after_T),
		TEST(window_says_B_U_and_N),
		TEST(window_has_bounds),
		TEST(window_needs_telemetry),
		TEST(window_waits_for_room),
		TEST(window_takes_turns),
		TEST(requests_that_are_wrong),
		TEST(window_options_of_wrong_lengths),
		TEST(request_after_a_decrease),
		TEST(request_for_none),
		TEST(request_in_the_other_mode),
		TEST(flows_are_counted),
		TEST(flows_count_on_one_link),
		TEST(request_is_written),
		TEST(request_is_granted),
		TEST(request_has_a_serial),
		TEST(request_until_it_is_obeyed),
		TEST(request_was_forgotten),
		TEST(request_for_none_is_obeyed),
		TEST(window_that_nobody_wanted),
		TEST(tell_of_others),
		TEST(windows_of_a_flow_that_was_let_go),
		TEST(windows_are_asked_for_often),
	};

	return RUN(tests);
}
