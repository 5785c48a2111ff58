// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the module as it is, compiled for a process: module_kernel.h is the
 * kernel, this file the connection, and the tests are in module_*.c by what they are
 * about. Time passes when a test says so.
 */
#include "module_test.h"

struct world w;
u32 tcp_jiffies32;

static const struct inet_connection_sock_af_ops ipv4 = { .net_header_len = 20 };
static struct sk_buff *const unsent = (void *)&w;

/* --- The agent and what it is called for --- */

int tcp_call_bpf(struct sock *sk, int op, u32 nargs, u32 *args)
{
	kernel_check(!kernel_rcu, "programs are called outside of RCU");
	kernel_check(op == BPF_SOCK_OPS_BASE_RTT && nargs == 4, "the agent's call");
	w.calls++;
	kernel_check(!args[0], "others reply there");
	kernel_check(args[3] == HPCCPP_CALL_SET_PARAMS && w.feedback->key == KEY,
		     "the parameters go to the agent that has bound the flow");
	w.told[1] = args[1];
	w.told[2] = args[2];
	if (w.thief)
		w.thief();
	return 0;
}

/* The agent's program runs: it binds the flow, unless it is deaf. */
static void run_agent(void)
{
	w.tp.bpf_sock_ops_cb_flags = 0;
	if (w.deaf)
		return;
	w.sk->sk_bpf_storage = &w.storage;
	w.sk->sk_cookie = COOKIE;
	w.feedback->key = KEY;
}

bool seeks_agent(void)
{
	return w.tp.bpf_sock_ops_cb_flags & HPCCPP_SEEK_FLAG;
}

/*
 * Every update of every test: W and R are in bounds, and a round trip ends once in a round
 * trip at most (lines 22 and 24). The next one begins with W, from which the draft goes on.
 */
void kernel_trace(const struct trace_hpccpp_update *entry)
{
	w.trace = *entry;
	w.traces++;
	assert_int_equal(entry->snd_una, w.tp.snd_una);
	assert_int_equal(entry->snd_nxt, w.tp.snd_nxt);
	if (!entry->used)
		return;
	assert_in_range(entry->W, 1, entry->W_max);
	assert_int_equal(entry->R, (u64)entry->W * USEC_PER_SEC / entry->T);
	if (!entry->update_wc)
		return;
	assert_int_equal(entry->W, flow()->p.law == HPCCPP_LAW_DRAFT ? entry->W_c : flow()->s.W_n);
	if (w.commits)
		assert_true(after(entry->snd_una, w.commit_nxt));
	w.commits++;
	w.commit_nxt = entry->snd_nxt;
}

struct hpccpp_int stamp(struct port *port, double load, u32 qlen)
{
	u64 now = w.tp.tcp_clock_cache;
	double ns = now - port->stamped;

	port->bytes += load * hpccpp_rate_decode(port->rate) / 8 * ns / 1e9;
	port->stamped = now;
	return (struct hpccpp_int) {
		.link = port->id,
		.rate = port->rate,
		.ts = now >> HPCCPP_TS_SHIFT & HPCCPP_MASK24,
		.tx_bytes = port->bytes >> HPCCPP_TX_SHIFT & HPCCPP_MASK24,
		.qlen = qlen >> HPCCPP_QLEN_SHIFT,
		.U = min_t(u32, load * 64, HPCCPP_U_MAX),
		.N = port->N,
	};
}

void news_of(const struct hpccpp_int *rec, int n)
{
	memcpy(w.feedback->rec, rec, n * sizeof(*rec));
	w.feedback->n = n;
	w.feedback->window = 0;
	w.feedback->gen++;
}

void news(double load, u32 qlen)
{
	struct hpccpp_int rec = stamp(&w.port, load, qlen);

	news_of(&rec, 1);
}

void window(enum hpccpp_window_kind kind, u32 serial, u32 W, u32 value)
{
	w.feedback->window = HPCCPP_WINDOW(kind, serial, hpccpp_num_encode(W), value);
	w.feedback->gen++;
}

/* --- Knobs and counters --- */

static int handle_knob(const char *name, int write, char *text, size_t length)
{
	struct ctl_table *table = (struct ctl_table *)kernel_knobs->ctl_table_arg;
	loff_t pos = 0;

	for (size_t i = 0; i < kernel_knobs->n; i++)
		if (!strcmp(table[i].procname, name))
			return table[i].proc_handler(&table[i], write, text, &length, &pos);
	fail_msg("no knob %s", name);
	return 0;
}

int write_knob(const char *name, const char *text)
{
	char buffer[64];

	snprintf(buffer, sizeof(buffer), "%s\n", text);
	return handle_knob(name, 1, buffer, strlen(buffer));
}

const char *read_knob(const char *name)
{
	static char text[64];

	assert_int_equal(handle_knob(name, 0, text, sizeof(text)), 0);
	text[strcspn(text, "\n")] = 0;
	return text;
}

int try_knob(const char *name, s64 value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return write_knob(name, text);
}

void as_in_the_draft(void)
{
	assert_int_equal(write_knob("law", "draft"), 0);
}

void knob(const char *name, s64 value)
{
	assert_int_equal(try_knob(name, value), 0);
}

u64 counter(const char *name)
{
	struct seq_file seq = { .net = &init_net };
	char line[64], *at;

	kernel_proc_show(&seq, NULL);
	snprintf(line, sizeof(line), "\n%s ", name);
	/* the first line has none before it */
	at = strstr(seq.text, line);
	if (!at && !strncmp(seq.text, line + 1, strlen(line + 1)))
		at = seq.text - 1;
	if (!at)
		fail_msg("/proc/net/hpccpp lacks %s", name);
	return strtoull(at + strlen(line), NULL, 10);
}

/* --- The connection --- */

/* The module is there, and a socket with nothing sent. */
static int world_begin(void **state)
{
	memset(&w, 0, sizeof(w));
	kernel_cpu = 0;
	kernel_memory = -1;
	kernel_no_proc = false;
	kernel_cc_error = 0;
	kernel_allocated = 0;
	kernel_rcu = 0;
	assert_int_equal(kernel_module_init(), 0);

	w.sk = &w.tp.icsk.sk;
	w.sk->sk_net = &init_net;
	w.sk->sk_max_pacing_rate = ~0UL;
	w.sk->sk_pacing_shift = 10;
	w.sk->sk_gso_max_segs = 65535;
	w.tp.icsk.icsk_af_ops = &ipv4;
	w.tp.icsk.icsk_rto = HZ / 5;
	init_net.ipv4.sysctl_tcp_slow_start_after_idle = 1;
	w.tp.mss_cache = MSS;
	w.tp.tcp_header_len = 32;
	w.tp.snd_cwnd = TCP_INIT_CWND;
	w.tp.snd_wnd = 65535;
	w.tp.snd_cwnd_clamp = ~0;
	w.tp.snd_ssthresh = TCP_INFINITE_SSTHRESH;
	/* soon to wrap, as are most numbers of TCP */
	w.tp.snd_una = -3 * MSS;
	w.tp.snd_nxt = -3 * MSS;
	w.tp.rtt_min = RTT;
	w.tp.srtt_us = RTT << 3;
	w.tp.segs_in = 1;
	w.tp.segs_out = 1;
	w.tp.tcp_clock_cache = 1000000000;
	tcp_jiffies32 = HZ;
	w.tp.send_head = unsent;
	w.rtt = RTT;

	/* another program's storage comes first in the socket's list */
	w.map.map.value_size = sizeof(struct hpccpp_feedback) + 40;
	w.other_map.map.value_size = 8;
	w.elem.sdata.smap = &w.map;
	w.other.sdata.smap = &w.other_map;
	w.other.snode.next = &w.elem.snode;
	w.storage.list.first = &w.other.snode;
	w.feedback = (struct hpccpp_feedback *)w.elem.sdata.data;
	w.port = (struct port) { .id = 0x123, .rate = hpccpp_rate_encode(10000000000) };
	w.second = (struct port) { .id = 0x456, .rate = hpccpp_rate_encode(40000000000) };
	w.port.stamped = w.tp.tcp_clock_cache;
	w.second.stamped = w.tp.tcp_clock_cache;
	/* the tests compute their figures with 95 % */
	knob("eta", 95);
	return 0;
}

/* All is gone again. */
static int world_end(void **state)
{
	if (ops() && ops()->release)
		finish();
	assert_int_equal(kernel_rcu, 0);
	kernel_module_exit();
	assert_int_equal(kernel_allocated, 0);
	assert_null(kernel_cc);
	assert_null(kernel_knobs);
	assert_null(kernel_proc_show);
	return 0;
}

void restart(void)
{
	world_end(NULL);
	world_begin(NULL);
}

const struct tcp_congestion_ops *ops(void)
{
	return w.tp.icsk.icsk_ca_ops;
}

const struct hpccpp_sock *ca(void)
{
	return (void *)w.tp.icsk.icsk_ca_priv;
}

struct hpccpp_flow *flow(void)
{
	return ca()->flow;
}

bool steered(void)
{
	const struct hpccpp_flow *f = flow();

	return f && (f->mode != HPCCPP_COEXIST ||
		     f->cause == HPCCPP_C_LOSS || f->cause == HPCCPP_C_WAN);
}

u32 reno_bound(void)
{
	return flow()->mode == HPCCPP_COEXIST ? flow()->W_reno : 0;
}

bool conserving(void)
{
	return w.tp.icsk.icsk_ca_state == TCP_CA_Recovery &&
	       (s32)(w.tp.delivered - flow()->conserve) < 0;
}

/* The times of TCP that tests do not set: no pause is longer than an RTO */
u32 tcp_current_ssthresh(const struct sock *sk)
{
	return max_t(u32, w.tp.snd_ssthresh, w.tp.snd_cwnd * 3 / 4);
}

void pass(u64 us)
{
	w.tp.tcp_clock_cache += us * 1000;
	tcp_jiffies32 = w.tp.tcp_clock_cache / (NSEC_PER_SEC / HZ);
}

void begin(double load)
{
	if (load >= 0)
		news(load, 0);
	w.tp.icsk.icsk_ca_ops = kernel_cc;
	run_agent();
	ops()->init(w.sk);
}

/* T has the four packets when B is known, so from the second record on. */
void begin_known(double load)
{
	begin(load);
	assert_true(steered());
	round_trip(load);
	assert_int_equal(flow()->T, T_BASE);
}

void finish(void)
{
	ops()->release(w.sk);
	w.tp.icsk.icsk_ca_ops = NULL;
}

void submit(u32 packets)
{
	if (!tcp_packets_in_flight(&w.tp)) {
#ifdef HPCCPP_HAVE_CWND_EVENT_TX_START
		if (ops()->cwnd_event_tx_start)
			ops()->cwnd_event_tx_start(w.sk);
#else
		if (ops()->cwnd_event)
			ops()->cwnd_event(w.sk, CA_EVENT_TX_START);
#endif
	}
	if (seeks_agent())
		run_agent();
	w.tp.lsndtime = tcp_jiffies32;
	w.tp.packets_out += packets;
	w.tp.segs_out += packets;
	w.tp.data_segs_out += packets;
	w.tp.snd_nxt += packets * MSS;
}

bool tcp_is_cwnd_limited(const struct sock *sk)
{
	return !w.limited;
}

void fill(void)
{
	if (w.tp.snd_cwnd > tcp_packets_in_flight(&w.tp))
		submit(w.tp.snd_cwnd - tcp_packets_in_flight(&w.tp));
}

void ack(u32 packets)
{
	struct rate_sample rs = {
		.rtt_us = packets ? (long)w.rtt : -1,
		.acked_sacked = packets,
		.prior_in_flight = tcp_packets_in_flight(&w.tp),
		.is_app_limited = w.limited,
	};

	assert_in_range(packets, 0, w.tp.packets_out);
	w.tp.snd_una += packets * MSS;
	w.tp.packets_out -= packets;
	w.tp.delivered += packets;
	w.tp.segs_in++;
#ifdef HPCCPP_HAVE_CONG_CONTROL_ACK
	ops()->cong_control(w.sk, w.tp.snd_una, 0, &rs);
#else
	ops()->cong_control(w.sk, &rs);
#endif
}

/* All that is in flight is acked at once, with news; and as much is sent as may be. */
void round_trip(double load)
{
	fill();
	pass(w.rtt > T_BASE ? w.rtt : T_BASE);
	news(load, 0);
	ack(w.tp.packets_out);
	fill();
}

/* What acks all leaves nothing in flight; some has to be for a delay to count */
void rounds(u32 n, u32 rtt, double load, u32 qlen)
{
	while (n--) {
		fill();
		pass(rtt);
		w.rtt = rtt;
		news(load, qlen);
		ack(w.tp.packets_out - 4);
		fill();
	}
}

/* As tcp_set_ca_state(): the module hears of it first. */
void in_state(u8 state)
{
	if (ops()->set_state)
		ops()->set_state(w.sk, state);
	w.tp.icsk.icsk_ca_state = state;
}

void lose(u32 packets)
{
	w.tp.lost_out += packets;
	w.tp.lost += packets;
	w.tp.snd_ssthresh = ops()->ssthresh(w.sk);
	in_state(TCP_CA_Recovery);
}

/* What was lost has been acknowledged. */
void recovered(void)
{
	in_state(TCP_CA_Open);
	w.tp.lost_out = 0;
}

void mark(void)
{
	w.tp.snd_ssthresh = ops()->ssthresh(w.sk);
	in_state(TCP_CA_CWR);
}

void timed_out(void)
{
	w.tp.snd_ssthresh = ops()->ssthresh(w.sk);
	if (ops()->cwnd_event)
		ops()->cwnd_event(w.sk, CA_EVENT_LOSS);
	in_state(TCP_CA_Loss);
}

void assert_near(u64 a, u64 b, u64 part)
{
	if ((a > b ? a - b : b - a) > b / part)
		fail_msg("%llu is not within 1/%llu of %llu", (long long)a, (long long)part,
			 (long long)b);
}

TEST_MAIN("module", world_begin, world_end)
