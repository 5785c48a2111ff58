/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of the host agent: windows that the receiver computes (lines 28-34 of the draft), and
 * the requests for them. Included by host_test.c.
 */

/* --- The sender ------------------------------------------------------------ */

/* The module requests windows: T 100 us, law averaged, eta 95 %. */
#define WANTS	"windows=1 open <echo feedback.rx==1 windows:0x6405f "

static const struct row window_rows[] = {
	{ "data carries the request in place of a collect, once a round trip, four times",
	  WANTS "4*( ack>none data>window stored==12 word1==0xd006405f word2==0x12345678;"
	  "data>collect snd_una=requested_seq data>collect acked ) data>collect REQUESTED==4" },
	{ "a window with the serial of the request that was written ends the requests",
	  WANTS "<window:1 feedback.window==0x407d004d data>window mark=feedback.gen;"
	  "<window:1 feedback.gen==mark+1 feedback.window==0x507d004d acked data>collect WINDOWS==2;"
	  "<echo feedback.window==0" },
	{ "serials are 1 to 3 in turn; a request that was not written keeps its serial",
	  WANTS "windows:0x64060 acked data>window word1==0xd0064060 <window:1;"
	  "windows:0x6405f windows:0x64060 acked data>window word1==0xe0064060;"
	  "<window:1 feedback.window==0x407d004d <window:2 feedback.window==0x507d004d;"
	  "windows:0x64060 acked data>window word1==0xf0064060 <window:3 feedback.window==0x507d004d;"
	  "windows:0x64060 acked data>window word1==0xd0064060 <window:2 feedback.window==0x407d004d;"
	  "<window:1 feedback.window==0x507d004d" },
	{ "while windows with an older serial arrive, each round trip carries the request",
	  WANTS "10*( data>window acked <window:2 )" },
	{ "an echo in place of a window repeats the request, unless its ACK is old",
	  WANTS "data <window:1 acked old=1 <echo old=0 data>collect acked <echo;"
	  "4*( data>window acked ) data>collect" },
	{ "a request for no windows is repeated until an echo arrives",
	  WANTS "data <window:1 windows:0 acked data>window word1==0xe0000000;"
	  "10*( <window:1 acked data>window ) <echo acked data>collect" },
#define REFUSED	"mark=feedback.gen <window:1 feedback.gen==mark feedback.window==0 data>window;"	\
		"word1==0xd0000000 WINDOWS==0"
	{ "a window in another mode is refused by a request for none",
	  "open <echo " REFUSED },
	{ "a window that was not requested is refused by a request for none",
	  "windows=1 open <echo " REFUSED },
	{ "a window where there is a key is refused by a request for none",
	  "windows=1 keys:1 open " REFUSED },
	{ "requests of the module have no effect before it has registered the flow",
	  "windows=1 connect windows:0x6405f want[0]==0" },
	{ "requests of the module have no effect in another mode",
	  "open windows:0x6405f want[0]==0" },
	{ "a flow under another congestion control requests echoes, also when bound again",
	  WANTS "data cc=bbr 64*( <window:1 ) feedback.key==0 want[0]==0xe0000000;"
	  "cc=hpccpp bind want[0]==0xe0000000" },
	{ "in mode receiver, eight segments per round trip request telemetry on any path",
	  "every=0 snd_cwnd=80 " WANTS "<load:0 data <window:1 acked requests:80/80;"
	  "29*( <window:1 acked requests:8/80 )" },

	/* --- The receiver */
	{ "an ACK carries an echo until a port has written, and for a path without ports",
	  "grant <collect:0 ack>echo:0 <collect:u ack>echo:u port ack>window;"
	  "<collect:0 ack>echo:0 port <collect:u ack>window" },
	{ "a window waits for a segment with room",
	  "grant port room=4 ack>none ECHO_NONE==1 room=8 ack>window" },
	{ "in data, windows and collects take turns; an ACK does not wait for its turn",
	  "ask=ALWAYS connect grant port data>window port data>collect data>window;"
	  "port ack>window" },
	{ "a request without memory for its state counts an error, and echoes go on",
	  "no_rx_memory=1 grant ERROR==1 <collect ack>echo ERROR==1" },
	{ "requests have no effect in another mode, or where there is a key",
	  "<collect request has_rx==0 keys:1 windows=1 request has_rx==0" },
};

/* --- The receiver ---------------------------------------------------------- */

#define T_US		100
#define T_NS		(T_US * 1000ULL)
#define RATE_10G	0x864	/* 100 * 10^8 */
#define B_10G		1.25e9	/* bytes/s */
#define W0		50000	/* of a BDP of 125000, times 9/8 for W_max */
#define W_AI		80

static void request_of(__u16 T, __u32 eta, __u32 W, __u32 W_ai)
{
	receive_words(HPCCPP_EXID_WINDOW,
		      HPCCPP_WINDOW(HPCCPP_WINDOW_REQUEST, serial, T, law << 8 | eta),
		      (__u32)hpccpp_num_encode(W) << 16 | hpccpp_num_encode(W_ai), 8);
}

static void request_windows(__u32 W)
{
	request_of(hpccpp_num_encode(T_US), 95, W, W_AI);
}

/* The port of a link of 10 Gbit/s: its counter of bytes, its queue in 64 bytes, its flows */
static double port_tx;
static __u32 port_qlen;
static __u16 port_link;
static __u8 port_N;

static struct hpccpp_int from_port;	/* its last record */

/* Receives a collect dt after the one before, in which the port had this load. */
static void collect_from_port(double load, __u64 dt)
{
	now += dt;
	port_tx += load * B_10G * dt / 1e9;
	from_port = (struct hpccpp_int) {
		.link = port_link, .rate = RATE_10G, .U = 30, .N = port_N, .qlen = port_qlen,
		.ts = now >> HPCCPP_TS_SHIFT & HPCCPP_MASK24,
		.tx_bytes = (__u64)port_tx >> HPCCPP_TX_SHIFT & HPCCPP_MASK24,
	};
	receive(HPCCPP_EXID_COLLECT, &from_port, 1);
}

static double window(void)
{
	assert_int_equal(exid(), HPCCPP_EXID_WINDOW);
	assert_int_equal(stored, HPCCPP_WINDOW_LEN);
	return hpccpp_num_decode(HPCCPP_WINDOW_NUM(word(1)));
}

/* Receives n collects and sends an ACK after each. Returns the last window, or 0. */
static double receive_collects(int n, double load, __u64 dt)
{
	double W = 0;

	while (n--) {
		collect_from_port(load, dt);
		script("ack");
		if (stored)
			W = window();
	}
	return W;
}

/* Data of a sender arrives, which requests windows. */
static void grant(void)
{
	script("windows=1 serial=1 <collect ack");
	request_windows(W0);
}

static void begin(void)
{
	port_tx = 0;
	port_qlen = 0;
	port_link = 7;
	port_N = 0;
	grant();
}

/* Runs a word about the receiver. */
static bool run_window_word(const char *text)
{
	if (!strcmp(text, "grant"))
		begin();
	else if (!strcmp(text, "port"))
		collect_from_port(0.5, T_NS);
	else if (!strcmp(text, "request"))
		request_windows(W0);
	else
		return false;
	return true;
}

/*
 * Lines 28-34 of the draft. algo_test.c compares the arithmetic of hpccpp_algo.h with lines
 * 1-27. This compares when a receiver uses it: a round trip ends after T, or after U T if that
 * is longer.
 */
static void compute_as_the_sender(void)
{
	/* steps of T/64, of a number between these two */
	static const struct { int n, from, to; double load; __u32 qlen; } rows[] = {
		{ 40, 16, 17, 0.6, 0 }, { 400, 3, 8, 0.6, 0 },	/* increase */
		{ 50, 6, 7, 0.9, 0 }, { 100, 6, 7, 1, 3072 },	/* decrease: a queue of 1.5 BDP */
		{ 200, 6, 7, 0.7, 0 },
		/* less than two packets in T */
		{ 60, 100, 140, 1, 24576 }, { 60, 100, 140, 0.9, 512 },
	};
	struct hpccpp_params p = {
		.T = T_US, .eta = 95 * HPCCPP_ONE / 100, .law = law, .packet = MSS + 66,
		.W_ai = W_AI, .W_min = (MSS + 66) / 16 + 1, .W_max = B_10G * T_US / 1e6 * 9 / 8,
	};
	struct hpccpp_state s = { 0 };
	__u64 last;
	int n, round_trips = 0;
	bool ends;
	__u32 i;

	begin();
	last = now;
	hpccpp_begin_with(&s, hpccpp_num_decode(hpccpp_num_encode(W0)));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		port_qlen = rows[i].qlen;
		for (n = 0; n < rows[i].n; n++) {
			collect_from_port(rows[i].load, T_NS * (rows[i].from + n %
					  (rows[i].to - rows[i].from)) / 64);
			hpccpp_measure_inflight(&s, &p, &from_port, 1, now);
			script("ack");
			if (!stored)
				continue;
			ends = now - last >= (s.U > HPCCPP_ONE ?
					      T_NS * s.U >> HPCCPP_ONE_SHIFT : T_NS);
			hpccpp_compute_wind(&s, &p, ends);
			if (ends)
				last = now;
			round_trips += ends;
			assert_int_equal(the_rx.s.W_c, s.W_c);
			assert_int_equal(the_rx.s.W_n, s.W_n);
			assert_int_equal(HPCCPP_WINDOW_NUM(word(1)), hpccpp_num_encode(s.W));
		}
	}
	assert_true(round_trips > 20);
}

TEST(lines_28_34)
{
	compute_as_the_sender();
	set_up(state);
	law = HPCCPP_LAW_DRAFT;
	compute_as_the_sender();
}

/* Returns W after 40 T at eta with 15 other flows, of a request with this law. */
static double window_of_sixteen(__u32 this_law)
{
	law = this_law;
	begin();
	port_N = hpccpp_N_encode(16);
	request_of(hpccpp_num_encode(T_US), 95, W0, W_AI);
	return receive_collects(400, 0.95, T_NS / 10);
}

/* W goes to the fair share of 7422 bytes by the averaged law (D-SHARE). */
TEST(fair_share_of_the_averaged_law)
{
	double W;
	int i;

	assert_in_range(window_of_sixteen(HPCCPP_LAW_DRAFT), W0 - 1000, W0 * 2);
	set_up(state);
	assert_in_range(window_of_sixteen(HPCCPP_LAW_AVERAGED), 7400, W0 / 4);

	/* after a decrease of the sender, not for a T */
	serial = 2;
	request_of(hpccpp_num_encode(T_US), 95, 2000, W_AI);
	for (i = 0; i < 9; i++) {
		W = receive_collects(1, 0.95, T_NS / 10);
		if (W)
			assert_in_range(W, 1900, 2200);
	}
	/* then by half of W at most in each round trip */
	assert_in_range(receive_collects(91, 0.95, T_NS / 10), 5000, 12500);
}

/* ACKs carry a window once in a quarter of T, and once for each collect. */
TEST(window_in_a_quarter_of_T)
{
	const __u64 step = T_NS / 50;
	__u64 last = 0;
	int i;

	begin();
	for (i = 0; i < 200; i++) {
		if (!receive_collects(1, 0.5, step))
			continue;
		if (last)
			assert_int_equal(now - last, (T_NS / 4 + step - 1) / step * step);
		last = now;
	}
	assert_true(receive_collects(1, 0.5, 10 * T_NS));
	now += T_NS;
	script("ack>none");
}

/* W is for the smallest rate of the path, also when that becomes less. */
TEST(window_follows_the_path)
{
	struct hpccpp_int rec = { .link = 8, .rate = 0x764, .U = 30 };
	int i;

	begin();
	receive_collects(1, 0.5, T_NS);
	for (i = 1; i < 4; i++) {
		now += T_NS;
		rec.ts = now >> HPCCPP_TS_SHIFT & HPCCPP_MASK24;
		receive(HPCCPP_EXID_COLLECT, &rec, 1);
		the_rx.value = HPCCPP_WINDOW_B;
		script("ack>window");
	}
	assert_int_equal(HPCCPP_WINDOW_VALUE(word(1)), rec.rate);
}

TEST(window_has_B_U_and_N)
{
	__u32 i, kind, value;

	begin();
	for (i = 0; i < 9; i++) {
		assert_true(receive_collects(1, 0.5, T_NS));
		kind = HPCCPP_WINDOW_KIND(word(1));
		value = HPCCPP_WINDOW_VALUE(word(1));
		assert_int_equal(kind, i % 3);
		assert_int_equal(HPCCPP_WINDOW_SERIAL(word(1)), 1);
		if (kind == HPCCPP_WINDOW_B)
			assert_int_equal(value, RATE_10G);
		else if (kind == HPCCPP_WINDOW_N)
			assert_int_equal(value, 1);
		else if (i > 3)
			assert_in_range(value, 126, 128);
	}
	assert_int_equal(*counter(HPCCPP_HS_COMPUTED), 9);
	/* a U of more bits than there are */
	the_rx.value = HPCCPP_WINDOW_U;
	port_qlen = 0xffff;
	collect_from_port(1, T_NS);
	receive_collects(1, 1, 2 * T_NS);
	assert_int_equal(HPCCPP_WINDOW_VALUE(word(1)), 0xfff);
}

/* W is at most 9/8 of the path's BDP, and at least a 16th of a packet. */
TEST(window_has_bounds)
{
	/* 100 kbit/s and T of 1 us: a BDP of less than a byte */
	const struct hpccpp_int slow = { .link = 9, .rate = 0x30a, .U = 30 };

	begin();
	assert_in_range(receive_collects(200, 0.1, T_NS), 140625 * 1023. / 1024, 140625);
	port_qlen = 0xffff;
	assert_in_range(receive_collects(200, 1, 2 * T_NS), (MSS + 66) / 16,
			(MSS + 66) / 16 + W_AI + 1);
	request_of(0, 0, 0, 0);
	request_of(1, 95, W0, W_AI);
	receive(HPCCPP_EXID_COLLECT, &slow, 1);
	script("ack>window");
	assert_int_equal(window(), (MSS + 66) / 16 + 1);
}

TEST(requests_have_bounds)
{
	static const struct { __u32 T, eta, W, W_ai; bool right; __u32 law; } rows[] = {
		{ 0, 95, W0, 1, false }, { HPCCPP_T_MAX + 8192, 95, W0, 1, false },
		{ T_US, 101, W0, 1, false }, { T_US, 255, W0, 1, false },
		{ T_US, 95, W0, 1, false, HPCCPP_LAWS }, { T_US, 95, W0, 1, false, 15 },
		{ T_US, 95, 0, 1, false }, { T_US, 95, HPCCPP_W_LIMIT + (1U << 20), 1, false },
		{ T_US, 95, W0, HPCCPP_W_LIMIT + (1U << 20), false },
		{ 1, 1, 1, 0, true, HPCCPP_LAW_DRAFT },
		{ 3999744, 100, HPCCPP_W_LIMIT, HPCCPP_W_LIMIT, true, HPCCPP_LAW_AVERAGED },
	};
	__u32 i, bad = 0;

	script("windows=1 <collect");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		law = rows[i].law;
		request_of(hpccpp_num_encode(rows[i].T), rows[i].eta, rows[i].W, rows[i].W_ai);
		script("BAD==%d", bad += !rows[i].right);
		assert_int_equal(has_rx, rows[i].right);
		assert_int_equal(the_flow.rx, rows[i].right);
		if (!rows[i].right)
			continue;
		assert_int_equal(the_rx.p.T, rows[i].T);
		assert_int_equal(the_rx.p.eta, rows[i].eta * HPCCPP_ONE / 100);
		assert_int_equal(the_rx.p.W_ai, rows[i].W_ai);
		assert_int_equal(the_rx.p.law, law);
	}
}

/* The receiver goes on from the W that the sender has reduced: once for each serial. */
TEST(request_after_a_decrease)
{
	/* serial, and W of the last window's, percent */
	static const struct { __u32 serial, W; bool is_reduced; } rows[] = {
		{ 1, 50, false }, { 2, 50, true }, { 2, 25, false }, { 3, 200, false },
	};
	struct hpccpp_state before;
	double W, W_new;
	__u32 i;

	begin();
	W = receive_collects(1, 0.5, T_NS);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		before = the_rx.s;
		serial = rows[i].serial;
		W_new = W * rows[i].W / 100;
		request_windows(W_new);
		if (rows[i].is_reduced) {
			hpccpp_begin_with(&before, hpccpp_num_decode(hpccpp_num_encode(W_new)));
			before.W_f = 0;
		}
		assert_memory_equal(&the_rx.s, &before, sizeof(before));
	}
	/* the answer is due at once, and has the serial of the request */
	assert_true(receive_collects(1, 0.5, 1000));
	assert_int_equal(HPCCPP_WINDOW_SERIAL(word(1)), 3);
}

TEST(request_for_echoes)
{
	begin();
	assert_true(receive_collects(1, 0.5, T_NS));
	request_of(0, 0, 0, 0);
	collect_from_port(0.5, T_NS);
	script("ack>echo BAD==0");
	/* the flow's W is forgotten */
	request_windows(W0 / 2);
	assert_int_equal(the_rx.s.W_c, hpccpp_num_decode(hpccpp_num_encode(W0 / 2)));
	assert_false(the_rx.s.L[0].seen);
}

/* Returns N in the window after one more collect. */
static __u32 flows_after(__u64 dt)
{
	collect_from_port(0.3, dt);
	the_rx.value = HPCCPP_WINDOW_N;
	script("ack>window");
	return HPCCPP_WINDOW_VALUE(word(1));
}

/* Flows of one link that end here count once in an epoch of 16 T, and in the next one. */
TEST(flows_are_counted)
{
	int i;

	begin();
	assert_int_equal(flows_after(T_NS), 1);
	other_socket();
	grant();
	for (i = 0; i < 17; i++)
		assert_int_equal(flows_after(T_NS), 2);
	for (i = 0; i < 23; i++)
		flows_after(T_NS);
	/* the first flow has ended */
	assert_int_equal(flows_after(T_NS), 1);
	assert_int_equal(the_link.epoch, 3);
	/* counts of earlier epochs are forgotten */
	the_link.now = 9;
	assert_int_equal(flows_after(40 * T_NS), 1);
}

/* A flow counts on one link for an epoch, also if its bottleneck changes. */
TEST(flows_count_on_one_link)
{
	__u64 until;

	begin();
	receive_collects(1, 0.3, T_NS);
	assert_int_equal(the_rx.link, 7);
	until = now + 16 * T_NS;
	assert_int_equal(the_rx.stays, until);
	port_link = 8;
	receive_collects(1, 0.3, T_NS);
	assert_int_equal(the_rx.s.bottleneck, 8);
	assert_int_equal(the_rx.link, 7);
	receive_collects(1, 0.3, until - now);
	assert_int_equal(the_rx.link, 8);
}
