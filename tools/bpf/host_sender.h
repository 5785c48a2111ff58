/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host agent at a sender: it asks for INT and for windows, and keeps the answers
 * where the module reads them.
 */
#ifndef HPCCPP_HOST_SENDER_H
#define HPCCPP_HOST_SENDER_H

#include "host_peers.h"

#define SOL_TCP		6
#define TCP_CONGESTION	13
#define EPERM		1

/*
 * Round trips in which each segment asks a peer that has not answered yet; also round trips without
 * an answer after which each segment asks a peer that has answered before.
 */
#define HPCCPP_TRIES	4

/*
 * Time for which a peer that has answered before may be silent, s: its agent can be upgraded in
 * less. After that its flows ask no longer, and give no room of their segments for it.
 */
#define HPCCPP_SILENT	60

/*
 * A packet of more segments than this goes through segmentation offload. The flow may
 * then pause the calls for its packets: may_pause_calls().
 */
#define HPCCPP_OFFLOADED	4

#define HPCCPP_FIRST_FLIGHT	10	/* segments: the kernel's TCP_INIT_CWND */

/* "every rtt" asks so often in a round trip where it matters: asks_often(). */
#define HPCCPP_ASKS	8

/* Echoes until a path is known: those of two round trips with HPCCPP_ASKS */
#define HPCCPP_NEW	16

/*
 * Load of a link from which a path is loaded, 1/64. From there on it counts what others do
 * within a round trip: with 7/8 in its place a link of 10 Gbit/s and 20 us was busy again
 * 10.3 round trips after flows had left it, with 3/8 9.3.
 */
#define HPCCPP_LOADED	24

/* Answers after which the agent looks whether the flow still runs hpccpp */
#define HPCCPP_CHECK_CC	64

/*
 * After this many consecutive round trips in which no echo had a record or a bound, the agent
 * assumes that no port of the path has an agent any more.
 */
#define HPCCPP_EMPTY	16

/*
 * Returns 1 if the connection runs hpccpp, 0 if it runs another congestion control, or a negative
 * error: kTLS has a getsockopt() of its own, which eBPF may not call.
 */
static __always_inline long runs_hpccpp(struct bpf_sock_ops *skops)
{
	char cc[16] = {};
	long err = bpf_getsockopt(skops, SOL_TCP, TCP_CONGESTION, cc, sizeof(cc));

	return err ?: !bpf_strncmp(cc, 6, "hpccpp");
}

static __always_inline bool has_hpccpp(struct bpf_sock_ops *skops)
{
	return runs_hpccpp(skops) > 0;
}

/* The configuration and the path allow us to ask this peer for INT. */
static __always_inline bool peer_wanted(struct bpf_sock_ops *skops,
					const struct hpccpp_host_cfg *cfg)
{
	struct hpccpp_prefix key = { .prefixlen = 128 };

	if (cfg->ask == HPCCPP_ASK_NEVER || path_suspected(skops))
		return false;
	if (!cfg->prefixes)
		return true;
	remote_address(skops, (__be32 *)key.addr);
	return bpf_map_lookup_elem(&host_prefix, &key);
}

/* Ask the receiver for windows computed with these parameters; 0: for none. */
static __always_inline void request(struct flow *f, __u32 what, __u32 windows)
{
	__u32 serial = HPCCPP_WINDOW_SERIAL(f->want[0]);

	/* windows may be under way for the serial that was written last */
	if (!serial || f->requests)
		serial = serial % HPCCPP_WINDOW_SERIALS + 1;
	f->want[0] = HPCCPP_WINDOW(HPCCPP_WINDOW_REQUEST, serial, 0, 0) |
		     (what & 0xfffffff);
	f->want[1] = windows;
	f->granted = 0;
	f->requests = 0;
}

/* The last request asks for windows. */
static __always_inline bool wants_windows(const struct flow *f)
{
	return f->want[0] & HPCCPP_WINDOW_ETA;
}

static __always_inline void want_none(struct flow *f)
{
	if (wants_windows(f))
		request(f, 0, 0);
}

/* Marks the feedback as new for the module. */
static __always_inline void publish(struct flow *f)
{
	if (!++f->feedback.gen)
		f->feedback.gen = 1;
}

/* Resume paused calls. */
static __always_inline void resume_calls(struct bpf_sock_ops *skops,
					 struct flow *f)
{
	if (!f->paused)
		return;
	f->paused = 0;
	call_write(skops, f);
}

/* An echo or a window arrived: the peer has an agent. */
static __always_inline void peer_answered(struct bpf_sock_ops *skops, struct flow *f)
{
	f->proven = 1;
	f->doubted = 0;
	f->tries = 0;
	f->silent = 0;
	f->round = 0;
	f->no_burst = 0;
	/* of data: the first flight is still to find what begins with it */
	if (f->asked_end && !f->heard)
		peer_seen(skops);
	if (f->asked_end && f->heard < HPCCPP_NEW)
		f->heard++;
	if (f->asked_end)
		f->data_heard = 1;
	if (f->answers < 0xff)
		f->answers++;
}

/* Unbinds the flow: the module finds no feedback any more. Ends requests for windows. */
static __always_inline void unbind(struct flow *f)
{
	f->feedback.key = 0;
	f->feedback.gen = 0;
	want_none(f);
}

/*
 * An echo arrived while there is a request. If we want windows, the receiver has
 * forgotten the request, and we write it again; if we want none, the receiver has
 * obeyed. An ACK of old data says neither: a port may have made it of an INT response.
 */
static __always_inline void echo_for_window(struct bpf_sock_ops *skops,
					    struct flow *f)
{
	const __be32 *th = header(skops);
	__u32 una = skops->snd_una;

	if (!th || (__s32)(bpf_ntohl(th[2]) - una) < 0)
		return;
	if (wants_windows(f) == f->granted) {
		f->granted = !f->granted;
		f->requests = 0;
	}
}

/* Decode a record for the module. Of an empty one only U counts. */
static __always_inline void decode_record(struct hpccpp_int *to,
					  const __be32 *rec)
{
	__u32 w0 = bpf_ntohl(rec[0]);

	if (empty(rec))
		hpccpp_int_decode(to, w0 & HPCCPP_U_MAX, 0, 0);
	else
		hpccpp_int_decode(to, w0, bpf_ntohl(rec[1]), bpf_ntohl(rec[2]));
}

/* One of these n records is of a loaded link. */
static __always_inline bool any_loaded(const __be32 (*rec)[3], int n)
{
	return (n > 0 && (bpf_ntohl(rec[0][0]) & 0xff) >= HPCCPP_LOADED) ||
	       (n > 1 && (bpf_ntohl(rec[1][0]) & 0xff) >= HPCCPP_LOADED) ||
	       (n > 2 && (bpf_ntohl(rec[2][0]) & 0xff) >= HPCCPP_LOADED);
}

/* Count a round trip in which an echo had no record. */
static __always_inline void count_empty(struct bpf_sock_ops *skops, struct flow *f)
{
	if (f->empty && (__s32)(skops->snd_una - f->empty_end) < 0)
		return;
	f->empty_end = skops->snd_nxt;
	if (f->empty < 0xff)
		f->empty++;
}

/* Keep an echo for the module, unless no port has said anything in it. */
static __always_inline void take_echo(struct bpf_sock_ops *skops,
				      struct flow *f, const __be32 (*rec)[3],
				      int n)
{
	count(HPCCPP_HS_ECHOES);
	peer_answered(skops, f);
	f->paused = 0;
	call_write(skops, f);
	if (f->want[0])
		echo_for_window(skops, f);
	n = written(rec, n);
	f->loaded = any_loaded(rec, n);
	/* an empty record may have a bound: all ports are below their thresholds */
	if (!n && !(bpf_ntohl(rec[0][0]) & HPCCPP_U_MAX)) {
		count_empty(skops, f);
		return;
	}
	f->empty = 0;
	decode_record(&f->feedback.rec[0], rec[0]);
	if (n > 1)
		decode_record(&f->feedback.rec[1], rec[1]);
	if (n > 2)
		decode_record(&f->feedback.rec[2], rec[2]);
	f->feedback.n = n ? n : 1;
	f->feedback.window = 0;
	publish(f);
}

/* What the SYN has found is an echo in short. */
static __always_inline void take_found(struct bpf_sock_ops *skops,
				       struct flow *f, __u32 found)
{
	struct hpccpp_int r;
	__be32 rec[1][3];

	hpccpp_found_decode(&r, found);
	rec[0][0] = bpf_htonl(hpccpp_int_w0(&r));
	rec[0][1] = bpf_htonl(hpccpp_int_w1(&r));
	rec[0][2] = bpf_htonl(hpccpp_int_w2(&r));
	take_echo(skops, f, rec, 1);
}

/* Keep a window for the module. */
static __always_inline void take_window(struct bpf_sock_ops *skops, struct flow *f,
					__u32 word)
{
	/* no window can answer a request that was not written yet */
	bool current = f->requests && HPCCPP_WINDOW_SERIAL(word) ==
				      HPCCPP_WINDOW_SERIAL(f->want[0]);

	count(HPCCPP_HS_WINDOWS);
	peer_answered(skops, f);
	f->empty = 0;
	/* write it again until the receiver computes by this request */
	if (current)
		f->granted = 1;
	else if (f->requests > 1)
		f->requests = 1;
	f->feedback.window = (word & ~(3U << 28)) | current << 28;
	publish(f);
}

/*
 * A window arrived that we do not want: an earlier request, or an agent before us,
 * asked for it. Ask the peer to echo.
 */
static __always_inline void refuse_window(struct flow *f)
{
	f->granted = 0;
	if (!f->want[0])
		request(f, 0, 0);
	else if (f->requests > 1)
		f->requests = 1;
}

/* The state of the flow allows it to ask for INT in data. */
static __always_inline bool may_ask(const struct flow *f,
				    const struct hpccpp_host_cfg *cfg)
{
	if (!f->wanted || !(f->feedback.key || f->stands_in ||
			    cfg->ask == HPCCPP_ASK_ALWAYS))
		return false;
	return f->proven || (!f->passive && f->tries < HPCCPP_TRIES);
}

/*
 * Replaces hpccpp by the fallback until telemetry arrives. At the end of the handshake, TCP has not
 * called init() yet, so that no congestion control is initialised twice. If the route locks the
 * congestion control, setsockopt() fails with EPERM; the flow keeps hpccpp, with the Reno window.
 */
static __always_inline void stand_in(struct bpf_sock_ops *skops, struct flow *f,
				     struct hpccpp_host_cfg *cfg)
{
	long err;

	if (!has_hpccpp(skops))
		return;
	err = bpf_setsockopt(skops, SOL_TCP, TCP_CONGESTION, cfg->fallback,
			     sizeof(cfg->fallback));
	if (!err) {
		f->stands_in = 1;
		count(HPCCPP_HS_STOOD_IN);
	} else if (err != -EPERM) {
		count(HPCCPP_HS_ERROR);
	}
}

/* Looks now and then whether the application has chosen another congestion control. */
static __always_inline void check_cc(struct bpf_sock_ops *skops, struct flow *f)
{
	if (f->answers < HPCCPP_CHECK_CC)
		return;
	f->answers = 0;
	if (!f->feedback.key || runs_hpccpp(skops))
		return;
	unbind(f);
	clear_flags(skops, HPCCPP_SEEK_FLAG);
	if (f->own_flag || f->listener_flag)
		clear_flags(skops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

/* Telemetry has ended: no echo comes, or none with a record. It may begin again. */
static __always_inline void lose_telemetry(struct bpf_sock_ops *skops, struct flow *f)
{
	struct hpccpp_host_cfg *cfg = configuration();

	if (!cfg || !f->feedback.key || f->stands_in)
		return;
	f->empty = 0;
	stand_in(skops, f, cfg);
	if (!f->stands_in)
		return;
	f->lost = !!f->feedback.gen;
	f->asked_at = seconds();
	unbind(f);
}

/*
 * Stops requesting: the peer has no agent, or the path drops the option. A bound flow gets the
 * fallback. Segments cause no calls until the peer requests telemetry.
 */
static __always_inline void give_up(struct bpf_sock_ops *skops, struct flow *f)
{
	count(HPCCPP_HS_GAVE_UP);
	lose_telemetry(skops, f);
	if (f->own_flag || f->listener_flag)
		clear_flags(skops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

/*
 * Count a round trip in which we asked and had no answer. Who has answered before, and does
 * not for HPCCPP_TRIES of them, may be behind another path, which drops what asks or clears
 * PSH: all ask again, and not by bursts.
 */
static __always_inline void count_tries(struct bpf_sock_ops *skops,
					struct flow *f)
{
	__u32 now;

	if (f->round && (__s32)(skops->snd_una - f->round) <= 0)
		return;
	if (f->round && f->tries < 0xff)
		f->tries++;
	f->round = skops->snd_nxt;
	if (!f->round)
		f->round = 1;
	if (f->tries < HPCCPP_TRIES)
		return;
	now = seconds();
	if (!f->proven) {
		if (f->tries == HPCCPP_TRIES)
			give_up(skops, f);
	} else if (f->heard) {
		f->heard = 0;
		f->tries = 0;
		f->no_burst = 1;
		f->silent = now;
	} else if (!f->silent) {
		f->silent = now;
	} else if (f->tries == 2 * HPCCPP_TRIES) {
		lose_telemetry(skops, f);
	} else if (now - f->silent > HPCCPP_SILENT) {
		f->proven = 0;
		give_up(skops, f);
	}
}

/* All data asks: none has had an answer, for HPCCPP_TRIES round trips at most. */
static __always_inline bool all_ask(const struct flow *f)
{
	return !f->heard && f->tries < HPCCPP_TRIES;
}

/*
 * "every rtt" asks HPCCPP_ASKS times in a round trip instead of once: while the path is
 * loaded, new to the flow, or may change with a packet as the window is a few of them;
 * and where the receiver computes W, who says so in a fourth of T.
 */
static __always_inline bool asks_often(struct bpf_sock_ops *skops,
				       const struct flow *f)
{
	return windows || (f->heard && f->heard < HPCCPP_NEW) ||
	       skops->snd_cwnd <= HPCCPP_ASKS || f->loaded;
}

/* All data that asked is acked. */
static __always_inline bool asked_is_acked(struct bpf_sock_ops *skops,
					   const struct flow *f)
{
	return (__s32)(skops->snd_una - f->asked_end) >= 0;
}

/*
 * This data has to ask: the first of a flight in any case, as it may be a probe; the next after
 * a retransmission, as the request may have been lost; and all until there is an echo, so that
 * a path which drops the option loses all that is in flight: doubt_loss().
 */
static __always_inline bool data_due(struct bpf_sock_ops *skops,
				     const struct flow *f,
				     const struct hpccpp_host_cfg *cfg)
{
	__u32 sent = skops->snd_nxt + skops->skb_len - f->asked_end;

	if (!skops->packets_out)
		return true;
	if (cfg->every)
		return f->segs + 1 >= cfg->every || asked_is_acked(skops, f);
	if (all_ask(f) || !f->asked_end || asked_is_acked(skops, f) ||
	    (f->heard && skops->total_retrans != f->retrans) || skops->snd_cwnd <= HPCCPP_ASKS)
		return true;
	return asks_often(skops, f) &&
	       (__u64)sent * HPCCPP_ASKS >= (__u64)skops->snd_cwnd * skops->mss_cache;
}

/*
 * Calls may pause after the packet that asks now. With segmentation offload TCP builds
 * few packets, and calls us several times for each, which costs more than the question
 * itself. They go on when an ACK brings an RTT sample or an echo, or earlier:
 * HPCCPP_RESUME_FLAGS.
 *
 * Calls must not pause where another packet of this flight has to ask, or an echo is
 * due. Nor where packets have few segments: without calls TCP computes a larger MSS,
 * then cuts the next packet that asks at the smaller one and leaves a small rest.
 */
static __always_inline bool may_pause_calls(struct bpf_sock_ops *skops,
					    const struct flow *f,
					    const struct hpccpp_host_cfg *cfg)
{
	return !cfg->every && !f->echo_due && (f->own_flag || f->listener_flag) &&
	       skops->skb_len > HPCCPP_OFFLOADED * skops->mss_cache &&
	       !asks_often(skops, f);
}

/* Data has requested telemetry, and no echo of data has arrived. */
static __always_inline bool unheard(const struct flow *f)
{
	return f->asked_end && !f->heard;
}

/*
 * All that is in flight is lost: the option may be the cause. Begin anew to ask until an echo
 * comes. If no data has had an echo, wait until it is acknowledged: the retransmissions, which
 * have no option, arrived where the option did not. This suspects the path, and the requests
 * end; but if the MSS has shrunk meanwhile, the segments were too long for the path. If TCP has
 * retransmitted a part only, the option has passed, and the segment was lost that a port would
 * have written into.
 */
static __always_inline void doubt_loss(struct bpf_sock_ops *skops, struct flow *f)
{
	__u32 packets = skops->packets_out, lost = skops->lost_out;
	bool first = unheard(f), suspects;

	if (first ? !asked_is_acked(skops, f) || skops->total_retrans == f->retrans :
		    !packets || lost != packets)
		return;
	if (first && (skops->total_retrans - f->retrans) *
		     (skops->mss_cache > f->asked_mss ? skops->mss_cache : f->asked_mss) <
		     f->asked_bytes) {
		f->asked_end = 0;
		return;
	}
	suspects = first && skops->mss_cache >= f->asked_mss;
	/* the path has carried the option: the peer may have no agent any more */
	if (suspects && f->data_heard) {
		lose_telemetry(skops, f);
		if (f->lost)
			return;
	}
	if (f->proven) {
		f->proven = 0;
		f->passive = 0;
		f->tries = 0;
		f->round = 0;
	}
	if (suspects && suspect_path(skops, f->doubted)) {
		f->tries = HPCCPP_TRIES + 1;	/* counted here */
		give_up(skops, f);
	}
	f->asked_end = 0;
	f->heard = 0;
	f->doubted = 1;
}

/* The connection is going to ask for INT. */
static __always_inline bool is_governed(struct bpf_sock_ops *skops, bool stands_in,
					const struct hpccpp_host_cfg *cfg)
{
	return cfg->ask == HPCCPP_ASK_ALWAYS || stands_in || has_hpccpp(skops);
}

/* Is it still what stood in? dctcp without ECN is "dctcp-reno". */
static __always_inline bool has_fallback(struct bpf_sock_ops *skops,
					 const struct hpccpp_host_cfg *cfg)
{
	unsigned int i;
	char cc[16] = {};

	bpf_getsockopt(skops, SOL_TCP, TCP_CONGESTION, cc, sizeof(cc));
	for (i = 0; i < sizeof(cc); i++) {
		if (cfg->fallback[i] != cc[i])
			return !cfg->fallback[i] && cc[i] == '-';
		if (!cc[i])
			break;
	}
	return true;
}

/* hpccpp has its place again, unless the application has chosen another meanwhile. */
static __always_inline bool restore(struct bpf_sock_ops *skops, struct flow *f)
{
	const struct hpccpp_host_cfg *cfg = configuration();
	char cc[16] = "hpccpp";
	long err = -EPERM;

	/* the module reads the feedback meanwhile */
	if (cfg && has_fallback(skops, cfg))
		err = bpf_setsockopt(skops, SOL_TCP, TCP_CONGESTION, cc, sizeof(cc));
	f->stands_in = 0;
	if (err && err != -EPERM)
		count(HPCCPP_HS_ERROR);
	return !err;
}

/*
 * Binds a flow that runs hpccpp or is about to: writes the key by which the module finds the
 * feedback. The flow may be older than this agent.
 */
static __always_inline void bind_flow(struct bpf_sock_ops *skops, struct flow *f,
				      const struct hpccpp_host_cfg *cfg)
{
	clear_flags(skops, HPCCPP_SEEK_FLAG);
	call_write(skops, f);
	set_flags(skops, BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
	f->wanted = peer_wanted(skops, cfg);
	/*
	 * Drops telemetry of the handshake if the flow is past its first flight, as it is
	 * outdated. Keeps the telemetry that ends the fallback.
	 */
	if (!f->stands_in && skops->data_segs_out > HPCCPP_FIRST_FLIGHT) {
		f->feedback.gen = 0;
		f->heard = 0;
		f->asked_end = 0;
	}
	f->paused = 0;
	f->answers = 0;
	f->empty = 0;
	f->lost = 0;
	f->feedback.key = bpf_get_socket_cookie(skops) ^ HPCCPP_FEEDBACK_KEY;
	f->feedback.rx = windows;
	want_none(f);
}

/*
 * Binds the flow if it runs hpccpp and the module seeks an agent (HPCCPP_SEEK_FLAG). Returns
 * the flow.
 */
static __always_inline struct flow *sought(struct bpf_sock_ops *skops, struct flow *f,
					   const struct hpccpp_host_cfg *cfg)
{
	if (!cfg || !has_hpccpp(skops)) {
		if (f)
			clear_flags(skops, HPCCPP_SEEK_FLAG);
		return f;
	}
	if (!f) {
		f = find(skops, true);
		/* other programs may have set WRITE_HDR_OPT for themselves */
		if (f && skops->bpf_sock_ops_cb_flags & BPF_SOCK_OPS_RTO_CB_FLAG)
			f->own_flag = 1;
	}
	if (f)
		bind_flow(skops, f, cfg);
	return f;
}

/* Telemetry has come. */
static __always_inline void come_back(struct bpf_sock_ops *skops, struct flow *f)
{
	const struct hpccpp_host_cfg *cfg = configuration();

	if (cfg)
		bind_flow(skops, f, cfg);
	if (restore(skops, f))
		count(HPCCPP_HS_CAME_BACK);
	else if (!has_hpccpp(skops))
		f->feedback.key = 0;
}

/* The request has to be written: once a round trip, a few times, until granted. */
static __always_inline bool request_due(struct bpf_sock_ops *skops,
					const struct flow *f)
{
	if (!f->want[0] || f->granted || f->requests >= HPCCPP_TRIES)
		return false;
	return !f->requests || (__s32)(skops->snd_una - f->requested_seq) > 0;
}

/* The connection is under another congestion control: it has no state and no calls. */
static __always_inline void leave_alone(struct bpf_sock_ops *skops, const struct flow *f)
{
	struct bpf_sock *sk = POINTER(skops, sk);

	if (f->own_flag)
		clear_flags(skops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	if (sk)
		bpf_sk_storage_delete(&host_sk, sk);
}

/*
 * Reserve the collect of the first SYN: of no record beside a cookie of Fast Open, which
 * leaves room for no more. The server begins to answer with this SYN, and its kernel does
 * not show the third ACK then.
 */
static __always_inline void plan_syn(struct bpf_sock_ops *skops, struct flow *f,
				     const struct hpccpp_host_cfg *cfg)
{
	int fits;

	if (!is_governed(skops, f->stands_in, cfg)) {
		leave_alone(skops, f);
		return;
	}
	if (f->wanted && !f->syn_sent) {
		fits = reserve(skops, 1, true);
		if (fits || !bpf_reserve_hdr_opt(skops, HPCCPP_OPT_HDR, 0)) {
			f->plan = PLAN_COLLECT | fits;
			f->syn_asked = 1;
			set_flags(skops, BPF_SOCK_OPS_STATE_CB_FLAG);
		}
	}
	if (f->syn_sent < 2)
		f->syn_sent++;
}

/*
 * Reserve the collect of the third ACK, unless that carries data, or the echo of what
 * the SYN-ACK collected, which says as well that we are here. Data in its place has waited
 * for the application: the server would take that for a part of the round trip.
 */
static __always_inline bool plan_third_ack(struct bpf_sock_ops *skops,
					   struct flow *f)
{
	int fits;

	if (!f->third)
		return false;
	f->third = 0;
	if (skops->skb_len)
		f->echo_due = 0;
	if (skops->skb_len || !f->wanted || f->echo_due)
		return false;
	fits = reserve(skops, 1, true);
	if (!fits)
		return false;
	f->plan = PLAN_COLLECT | fits;
	return true;
}

/*
 * A flow that has lost its telemetry requests it once a second, in case the peer's agent or a
 * port's comes back: more could cost a segment each, if the path now drops the option. It stops
 * requesting after HPCCPP_SILENT seconds without an answer.
 */
static __always_inline bool lost_due(struct bpf_sock_ops *skops, struct flow *f)
{
	__u32 now = seconds();

	if (now == f->asked_at)
		return false;
	f->asked_at = now;
	if (!f->silent) {
		f->silent = now;
	} else if (now - f->silent > HPCCPP_SILENT && f->proven) {
		f->proven = 0;
		f->tries = HPCCPP_TRIES;
		give_up(skops, f);
	}
	return true;
}

/* Reserve the request or the collect of a data segment. */
static __always_inline void plan_data(struct bpf_sock_ops *skops, struct flow *f,
				      const struct hpccpp_host_cfg *cfg)
{
	int n;

	f->echo_turn = 0;
	if (f->lost) {
		if (!lost_due(skops, f))
			return;
		goto ask;
	}
	doubt_loss(skops, f);
	if (request_due(skops, f) &&
	    !bpf_reserve_hdr_opt(skops, HPCCPP_REQUEST_LEN, 0)) {
		f->requested_seq = skops->snd_nxt;
		f->requests++;
		f->plan = PLAN_REQUEST;
		return;
	}
	/* the option may have lost what is lost: wait for its retransmission */
	if ((unheard(f) && skops->lost_out) || !data_due(skops, f, cfg)) {
		f->segs++;
		return;
	}
	count_tries(skops, f);
ask:
	if (!may_ask(f, cfg))
		return;
	n = reserve(skops, cfg->records, !f->peer_signs);
	if (!n)
		return;		/* the next that has room asks */
	f->plan = PLAN_COLLECT | n;
	f->ask_end = (skops->snd_nxt + skops->skb_len) ?: 1;
	f->paused = may_pause_calls(skops, f, cfg);
}

/* This segment has been sent before. */
static __always_inline bool sent_again(struct bpf_sock_ops *skops)
{
	const __be32 *th = header(skops);
	__u32 next = skops->snd_nxt;

	return th && (__s32)(bpf_ntohl(th[1]) - next) < 0;
}

/*
 * Write the collect, and behind it the empty option that asks for a tag. TCP has put PSH
 * into packets of several segments by now, for the receiver's GRO. Segmentation leaves it
 * in the last of them alone: that one is written into, and the others stay alike and are
 * merged.
 *
 * What TCP sends again goes without the question, which may be why it was lost; the kernel
 * fills the room that was reserved.
 */
static __always_inline void write_collect(struct bpf_sock_ops *skops,
					  struct flow *f, struct opt *o)
{
	bool burst = (skops->skb_tcp_flags & (TCPHDR_PSH | TCPHDR_SYN)) == TCPHDR_PSH &&
		     !f->no_burst;

	/* in data, not in the handshake */
	if (f->ask_end) {
		if (sent_again(skops)) {
			f->paused = 0;
			return;
		}
		if (!f->asked_end || f->heard || asked_is_acked(skops, f)) {
			f->asked_bytes = 0;
			f->asked_mss = skops->mss_cache;
			f->retrans = skops->total_retrans;
		}
		f->asked_bytes += f->ask_end - skops->snd_nxt;
		f->asked_end = f->ask_end;
		f->segs = 0;
	}
	if (!f->feedback.gen)
		o->rec[0][0] = bpf_htonl(HPCCPP_WANTED);
	store(skops, o, burst ? HPCCPP_EXID_BURST : HPCCPP_EXID_COLLECT,
	      f->plan & PLAN_N);
	count(HPCCPP_HS_ASKED);
	if (tags && f->plan & PLAN_TAG)
		store_option(skops, o, HPCCPP_EXID_TAG, HPCCPP_OPT_HDR);
}

/* Write an option "window" of a constant length, and count it. */
static __always_inline void store_window(struct bpf_sock_ops *skops,
					 struct opt *o, const int len,
					 __u32 stat)
{
	count(store_option(skops, o, HPCCPP_EXID_WINDOW, len) ? HPCCPP_HS_ERROR : stat);
}

static __always_inline void write_request(struct bpf_sock_ops *skops,
					  struct flow *f, struct opt *o)
{
	o->rec[0][0] = bpf_htonl(f->want[0]);
	o->rec[0][1] = bpf_htonl(f->want[1]);
	store_window(skops, o, HPCCPP_REQUEST_LEN, HPCCPP_HS_REQUESTED);
}

#endif /* HPCCPP_HOST_SENDER_H */
