// SPDX-License-Identifier: GPL-2.0
/*
 * HPCC++: the three states of a flow.
 *
 *	              PROBE_LATENCY ----------.
 *	              half of W               | the RTT falls: a queue of this flow
 *	              ^    |                  | at a link without telemetry
 *	          (1) |    | the RTT stays:   |
 *	              |    v it is latency    v
 *	              STEER -----(2)------> COEXIST
 *	   telemetry sets W <----(3)------- the Reno window bounds W
 *
 *	(1) W is as large as T allows, no link is full, and the RTT is longer than T
 *	(2) telemetry ends (not from cause BLIND, which stays); loss at no full link; the flow
 *	    begins over a WAN
 *	(3) no telemetry: there is some; other causes: a link that reports is full; loss and WAN:
 *	    or the Reno window reaches W_max; loss: or it was spurious; WAN: or T is none any more
 *
 * PROBE_LATENCY also ends, without a verdict, if a link that reports is full, the peer pauses, T is
 * configured, data is lost or telemetry ends. hpccpp_enter_coexist() and hpccpp_enter_probe() enter
 * these states. hpccpp_enter_steer() ends COEXIST without telemetry, and over a WAN enters it at
 * once with that cause; hpccpp_leave_coexist() and hpccpp_leave_probe() end the others. A flow
 * begins in COEXIST without telemetry. enum hpccpp_cause has the causes. STEER also adds latency
 * to T where only hosts have port agents: hpccpp_edge_stands().
 */

#include <net/tcp.h>

#include "tcp_hpccpp.h"

/* --- PROBE_LATENCY ------------------------------------------------------------- */

/* Halves W, to see whether the RTT falls. */
static void hpccpp_enter_probe(struct sock *sk, struct hpccpp_flow *f)
{
	f->mode = HPCCPP_PROBE_LATENCY;
	f->qtest_round = 1;
	hpccpp_get_params(sk, f);
	hpccpp_begin_with(&f->s, min(f->s.W, f->p.W_max));
}

/* Makes T as long as rtt: latency is a part of the path. */
static void hpccpp_add_latency(struct hpccpp_flow *f, u32 rtt)
{
	rtt = min(rtt, HPCCPP_T_MAX);
	if (rtt <= f->T)
		return;
	f->latency += rtt - f->T;
	f->T = rtt;
}

/* What depends on T, or on whether W is halved */
static void hpccpp_follow_T(struct sock *sk, struct hpccpp_flow *f)
{
	hpccpp_get_params(sk, f);
	hpccpp_set_small_queue(sk, f);
	hpccpp_resend_params(f);
}

static void hpccpp_leave_probe(struct sock *sk, struct hpccpp_flow *f)
{
	f->mode = HPCCPP_STEER;
	f->qtest_round = 0;
	hpccpp_follow_T(sk, f);
}

/* Ends the search for the cause of a delay, if there is one. */
static void hpccpp_end_qtest(struct sock *sk, struct hpccpp_flow *f)
{
	f->dev_rounds = 0;
	f->limit_rounds = 0;
	if (f->mode == HPCCPP_PROBE_LATENCY)
		hpccpp_leave_probe(sk, f);
}

/* --- COEXIST ------------------------------------------------------------------- */

/*
 * Bounds W by the Reno window, which begins with W_reno bytes. If telemetry has ended, or does not
 * report the bottleneck, Reno goes on from the window that telemetry had reached, and not in slow
 * start.
 */
void hpccpp_enter_coexist(struct sock *sk, struct hpccpp_flow *f, enum hpccpp_cause cause,
			  u64 W_reno)
{
	bool falls_back = cause == HPCCPP_C_NO_INT || cause == HPCCPP_C_BLIND;
	u8 from;

	hpccpp_end_qtest(sk, f);
	from = f->mode;
	f->mode = HPCCPP_COEXIST;
	f->cause = cause;
	f->loaded = 0;
	f->W_reno = clamp_t(u64, W_reno, hpccpp_wire_len(sk), HPCCPP_W_LIMIT);
	hpccpp_get_params(sk, f);
	if (falls_back && from == HPCCPP_STEER)
		WRITE_ONCE(tcp_sk(sk)->snd_ssthresh,
			   max(f->W_reno / f->p.packet, HPCCPP_CWND_MIN));
	if (falls_back && from != HPCCPP_OFF) {
		f->fallbacks++;
		hpccpp_count(f->net, HPCCPP_S_FALLBACK);
	}
	if (cause == HPCCPP_C_NO_INT) {
		/* Reno takes over: what telemetry knew is out of date when it returns */
		f->s.U = 0;
		f->s.records = 0;
		f->md_seq = 0;
		f->prior_W = 0;
		f->probing = 0;
		hpccpp_forget_edge(f);
		f->rtt_sum = 0;
		f->rtt_n = 0;
		hpccpp_begin_with(&f->s, f->p.W_max);
		hpccpp_unlimit_burst(sk, f);
	}
	f->s.W = hpccpp_bound(&f->p, f->s.W);
}

/* Sets the Reno window of a flow without telemetry, and W with it. */
static void hpccpp_set_reno(struct sock *sk, struct hpccpp_flow *f, u64 W_reno)
{
	f->W_reno = clamp_t(u64, W_reno, f->p.packet, HPCCPP_W_LIMIT);
	hpccpp_get_params(sk, f);
	hpccpp_begin_with(&f->s, f->p.W_max);
}

/* A link that reports telemetry limits the flow again, or the Reno window is no bound any more. */
static void hpccpp_leave_coexist(struct sock *sk, struct hpccpp_flow *f)
{
	f->mode = HPCCPP_STEER;
	if (f->cause == HPCCPP_C_BLIND)
		hpccpp_count(f->net, HPCCPP_S_ENTER);
	hpccpp_get_params(sk, f);
	/* the Reno window may be less than the floor of 1 Mbit/s where T is long */
	if (f->s.W < f->p.W_min)
		hpccpp_begin_with(&f->s, f->p.W_min);
	hpccpp_resend_params(f);
}

/* Returns true if W_max, as T allows it, is no larger than the Reno window. */
static bool hpccpp_reno_is_no_bound(const struct hpccpp_flow *f)
{
	return (f->cause == HPCCPP_C_LOSS || f->cause == HPCCPP_C_WAN) &&
	       hpccpp_w_max(f) <= f->W_reno;
}

/*
 * Raises the Reno window by a packet in a round trip, or by the packets acked in slow start, which
 * ends at ssthresh. W grows with it if it was at that limit.
 */
void hpccpp_grow_reno(struct sock *sk, struct hpccpp_flow *f, u32 acked)
{
	bool at_limit = f->s.W >= f->p.W_max;
	u64 more = (u64)acked * f->p.packet, slow;

	if (f->md_seq || !tcp_is_cwnd_limited(sk))
		return;
	if (hpccpp_in_slow_start(sk, f)) {
		slow = min(more, (u64)tcp_sk(sk)->snd_ssthresh * f->p.packet - f->W_reno);
		f->W_reno = min_t(u64, f->W_reno + slow, HPCCPP_W_LIMIT);
		more -= slow;
	}
	if (more)
		more = DIV64_U64_ROUND_UP(more * f->p.packet, f->W_reno);
	f->W_reno = min_t(u64, f->W_reno + more, HPCCPP_W_LIMIT);
	if (hpccpp_reno_is_no_bound(f))
		hpccpp_leave_coexist(sk, f);
	else
		hpccpp_get_params(sk, f);
	if (at_limit)
		hpccpp_begin_with(&f->s, f->p.W_max);
}

/*
 * Without telemetry: halves the window for each RTO without sending, down to the initial window, as
 * tcp_cwnd_restart() does for congestion controls that leave cwnd to TCP. The flow's first packet
 * has been built by then. tcp_cwnd_application_limited() has no counterpart: W does not shrink
 * while the application uses a part of it.
 */
void hpccpp_restart_reno(struct sock *sk, struct hpccpp_flow *f)
{
	u32 rto = inet_csk(sk)->icsk_rto, cwnd, first = hpccpp_first_flight(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	s32 idle = tcp_jiffies32 - tp->lsndtime;

	/* init() may have been before the handshake, which sets MSS and cwnd */
	if (!tp->data_segs_out)
		hpccpp_set_reno(sk, f, hpccpp_cwnd_bytes(sk));
	cwnd = f->W_reno / f->p.packet;
	if (!READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle) ||
	    tp->packets_out || idle <= (s32)rto || cwnd <= first)
		return;
	WRITE_ONCE(tp->snd_ssthresh, tcp_current_ssthresh(sk));
	while ((idle -= rto) > 0 && cwnd > first)
		cwnd /= 2;
	hpccpp_set_reno(sk, f, (u64)max(cwnd, first) * f->p.packet);
}

/*
 * Telemetry has ended. If the bottleneck reported none, the flow is in COEXIST already, and only
 * the Reno window counts until there is telemetry again.
 */
void hpccpp_lose_int(struct sock *sk, struct hpccpp_flow *f)
{
	if (f->mode == HPCCPP_COEXIST && f->cause == HPCCPP_C_BLIND) {
		f->s.U = 0;
		f->no_int = 0;
		f->loaded = 0;
		f->last_update_seq = tcp_sk(sk)->snd_nxt;
		hpccpp_begin_with(&f->s, f->p.W_max);
		return;
	}
	hpccpp_enter_coexist(sk, f, HPCCPP_C_NO_INT,
			     f->mode == HPCCPP_COEXIST ? f->W_reno : f->s.W);
}

/* --- STEER --------------------------------------------------------------------- */

/*
 * Enters STEER with the flow's first telemetry, or the first after a time without. W must be set.
 * Over a WAN, most links report no telemetry: the flow then goes on as with Reno. This does not
 * apply if rec, the flow's first record, reports a full link: the other flows there would leave a
 * new flow little for long.
 */
void hpccpp_enter_steer(struct sock *sk, struct hpccpp_flow *f, const struct hpccpp_int *rec)
{
	u32 eta = f->p.eta >> (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT);

	f->mode = HPCCPP_STEER;
	f->s.backoff = 0;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	hpccpp_set_small_queue(sk, f);
	hpccpp_count(f->net, HPCCPP_S_ENTER);
	if (f->T > HPCCPP_WAN_T && !(rec && rec->rate && rec->U >= eta))
		hpccpp_enter_coexist(sk, f, HPCCPP_C_WAN, hpccpp_cwnd_bytes(sk));
	else
		hpccpp_get_params(sk, f);
	f->s.W = hpccpp_bound(&f->p, f->s.W);
}

/* T or min(B) are new: sets what follows from them. */
void hpccpp_set_params(struct sock *sk, struct hpccpp_flow *f)
{
	hpccpp_get_params(sk, f);
	/* the path is no WAN: a delayed ACK made the first RTT long */
	if (f->mode == HPCCPP_COEXIST && f->cause == HPCCPP_C_WAN && f->T <= HPCCPP_WAN_T) {
		hpccpp_leave_coexist(sk, f);
		hpccpp_end_stages(&f->s);
	}
	if (hpccpp_has_int(f))
		hpccpp_set_small_queue(sk, f);
}

/*
 * If the flow's telemetry is older than HPCCPP_STALE_T T, the load and the N of the handshake, or W
 * before a pause, no longer describe the path. The flow then begins as if the link were full, with
 * eta / (1 + eta) of W_init. After a pause, W is four times the previous W at most, as two round
 * trips of slow start allow, because other flows may resume as well. Over a WAN it is the previous
 * W at most. W_f is 0, because the port has removed 64 flows from its count by then.
 *
 * In the lab, requests of 10 to 100 KB on kept connections take 4 times the ideal time at p99, and
 * 5.3 times if they go on from W (FB_Hadoop, 50 % load). 16 flows that resume at the same time make
 * a queue of 490 packets, and of 840 if they go on from W. Returns false if W did not change.
 */
bool hpccpp_start_anew(struct sock *sk, struct hpccpp_flow *f)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 W = f->s.W;

	if (f->p.law == HPCCPP_LAW_DRAFT || !hpccpp_paused(sk, f, HPCCPP_STALE_T))
		return false;
	/* the receiver has a W of its own; and a probe asks for the load */
	if (tp->data_segs_out && (f->rx || hpccpp_has_idled(sk, f)))
		return false;
	f->s.W = hpccpp_w_init(f);
	f->s.W_f = 0;
	f->s.U = f->p.eta;
	hpccpp_first_W(&f->s, &f->p, f->min_B);
	f->s.U = 0;
	if (tp->data_segs_out) {
		f->s.W = min_t(u64, f->s.W, f->T > HPCCPP_WAN_T ? W : 4ULL * W);
	} else if (f->T > HPCCPP_WAN_T) {
		/* cwnd followed W; a flow that has not sent begins with the initial window */
		hpccpp_enter_coexist(sk, f, HPCCPP_C_WAN, hpccpp_first_flight(sk) * f->p.packet);
	}
	hpccpp_begin_with(&f->s, hpccpp_bound(&f->p, f->s.W));
	return true;
}

/* --- Delays that telemetry does not explain ------------------------------------ */

/*
 * A round trip with half of the window ends, with a mean RTT of rtt us. The first two do not count:
 * their packets left before, or a queue drains. If half of the time that T does not explain is
 * gone, it was a queue of this flow, at a link that reports no telemetry. Otherwise it is latency
 * of the path or of hosts, or a queue of other flows that stays whatever this flow does, and T
 * becomes as long as the round trip. Jitter alone changes a mean by a quarter of that time, and now
 * and then by more: it counts as a queue when three consecutive round trips agree.
 *
 * T may grow by a queue of several flows that share a link without telemetry, while the links that
 * report have room. They then fill its buffer as Reno would, and loss ends that. When the queue
 * goes, T shrinks with it: hpccpp_check_delay().
 */
static void hpccpp_qtest(struct sock *sk, struct hpccpp_flow *f, u32 rtt)
{
	u8 round = f->qtest_round++;
	bool queue;

	if (round < HPCCPP_QTEST_FIRST)
		return;
	/* a path that has changed meanwhile may explain it */
	queue = f->dev_rtt > f->T && rtt < f->dev_rtt - (f->dev_rtt - f->T) / 2;
	if (queue && round < HPCCPP_QTEST_LAST)
		return;
	if (!queue)
		hpccpp_add_latency(f, rtt);
	hpccpp_leave_probe(sk, f);
	/* no line-rate start: the load with half a window shows how much more fits */
	hpccpp_end_stages(&f->s);
	/* D-EDGE bounds a queue without Reno */
	if (queue && f->by_switch) {
		hpccpp_enter_coexist(sk, f, HPCCPP_C_BLIND, f->s.W);
		hpccpp_count(f->net, HPCCPP_S_BLIND);
	}
}

/*
 * Returns true after HPCCPP_DEV_ROUNDS consecutive round trips that T does not explain, all longer
 * than T or all shorter. dev_rtt is then the RTT among them that is nearest to T, without the first
 * one, in which a queue is still growing.
 */
static bool hpccpp_deviates(struct hpccpp_flow *f, bool longer, u32 rtt)
{
	int n = longer ? f->dev_rounds : -f->dev_rounds;

	n = max(n, 0);
	if (n < 2 || (longer ? rtt < f->dev_rtt : rtt > f->dev_rtt))
		f->dev_rtt = rtt;
	n = (n + 1) % HPCCPP_DEV_ROUNDS;
	f->dev_rounds = longer ? n : -n;
	return !n;
}

/*
 * Returns true if the peer's window has shrunk by more than half of the bytes acknowledged in
 * this round trip, and few ACKs came: its application pauses, and Linux delays ACKs by up to
 * 40 ms then. If the application is only slow, the end of the window moves on with the flow. If
 * it waits for more data (SO_RCVLOWAT), ACKs are not delayed.
 */
static bool hpccpp_peer_pauses(const struct sock *sk, struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 mark = tp->snd_una + 2 * tp->snd_wnd;
	bool shrinks = before(mark, f->wnd_mark);

	f->wnd_mark = mark;
	return shrinks && f->rtt_n < HPCCPP_PAUSE_ACKS;
}

/* Returns the bytes/s on the wire that the flow has delivered lately. */
static u64 hpccpp_delivery_rate(const struct sock *sk, const struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!tp->rate_interval_us)
		return 0;
	return div_u64((u64)tp->rate_delivered * f->p.packet * USEC_PER_SEC,
		       tp->rate_interval_us);
}

/*
 * Raises W_max if the packets of the flow alternate among parallel links (bonds, packet
 * spraying). In that case the flow delivers more than 17/16 of min(B) while U is below 3/4 of
 * eta, or below eta once W_max has grown. W_max then grows by min(B) T / 8 per round trip,
 * HPCCPP_SPREAD_MAX times at most.
 */
static void hpccpp_spread(struct sock *sk, struct hpccpp_flow *f)
{
	u32 most = f->spread ? f->p.eta : f->p.eta / 4 * 3;

	if (f->s.U >= most || f->spread == HPCCPP_SPREAD_MAX ||
	    hpccpp_delivery_rate(sk, f) <= f->min_B / 16 * 17)
		return;
	f->spread++;
	hpccpp_get_params(sk, f);
}

/*
 * D-EDGE takes latency that began after T was measured for a queue. Returns true after
 * HPCCPP_EDGE_ROUNDS round trips with like delay, us, and none without. A queue that W controls
 * changes more. Round trips do not count in which a slow flow has no RTT samples.
 */
static bool hpccpp_edge_stands(struct hpccpp_flow *f, u32 us)
{
	u32 rtt = min(f->T + us, 0xffffU);

	if (f->mode != HPCCPP_STEER || (!us && f->rtt_least != ~0U))
		f->edge_delays = 0;
	if (f->mode != HPCCPP_STEER || !us)
		return false;
	if (!f->edge_delays || abs((s32)(rtt - f->edge_rtt)) > f->edge_rtt / 16 + 1) {
		f->edge_delays = 0;
		f->edge_rtt = rtt;
	}
	f->edge_delays = (f->edge_delays + 1) % HPCCPP_EDGE_ROUNDS;
	return !f->edge_delays;
}

/*
 * Checks the delay of a round trip that has ended. A full link that reports explains it, and so
 * do reported queues, which take queue_us to drain. If a longer delay remains while W is as large
 * as T allows and no link is full, the flow probes for the cause. It does not if T is configured,
 * nor while the peer's application pauses, nor in COEXIST. edge_us is the delay that D-EDGE takes
 * for a queue, if it is longer than those that are reported.
 */
void hpccpp_check_delay(struct sock *sk, struct hpccpp_flow *f, bool loaded, u64 queue_us,
			u32 edge_us)
{
	u32 rtt = f->rtt_n ? f->rtt_sum / f->rtt_n : 0;
	bool at_limit = f->s.W >= f->p.W_max / 8 * 7;
	u32 T = f->T, slack = max(T * 3 / 16, HPCCPP_DEV_MIN);
	u32 path = rtt - min_t(u64, rtt, queue_us);
	bool pauses = hpccpp_peer_pauses(sk, f);
	bool stands = !pauses && hpccpp_edge_stands(f, edge_us);

	f->rtt_sum = 0;
	f->rtt_n = 0;
	f->limit_rounds = at_limit ? min(f->limit_rounds + 1, 2) : 0;
	/* W was as large when the round trip began, too */
	at_limit = f->limit_rounds == 2;
	if (stands) {
		hpccpp_add_latency(f, f->T + edge_us);
		hpccpp_follow_T(sk, f);
		hpccpp_end_qtest(sk, f);
		return;
	}
	if (!rtt || pauses || READ_ONCE(f->net->base_rtt_us)) {
		hpccpp_end_qtest(sk, f);
		return;
	}
	/* no queue makes it shorter */
	if (f->latency && rtt + slack < T && f->mode != HPCCPP_PROBE_LATENCY) {
		if (hpccpp_deviates(f, false, rtt) && T > f->dev_rtt)
			f->latency -= min(f->latency, T - f->dev_rtt);
		return;
	}
	if (loaded) {
		if (f->s.W <= hpccpp_w_init(f))
			f->spread = 0;
		hpccpp_end_qtest(sk, f);
	} else if (f->mode == HPCCPP_PROBE_LATENCY) {
		hpccpp_qtest(sk, f, path);
	} else if (f->mode == HPCCPP_COEXIST || !at_limit || path <= T + slack) {
		f->dev_rounds = 0;
		if (f->mode == HPCCPP_STEER && at_limit)
			hpccpp_spread(sk, f);
	} else if (hpccpp_deviates(f, true, path)) {
		hpccpp_enter_probe(sk, f);
	}
}

/* --- Updates and losses -------------------------------------------------------- */

/*
 * Telemetry has set W just now. loaded: a link that reports telemetry is full, which ends COEXIST;
 * if the bottleneck did not report before, it has to be full for a round trip.
 */
void hpccpp_updated(struct sock *sk, struct hpccpp_flow *f, bool loaded, bool round_ends)
{
	f->last_int = tcp_sk(sk)->tcp_clock_cache;
	f->no_int = 0;
	f->probing = 0;
	f->updates++;
	hpccpp_count(f->net, HPCCPP_S_UPDATES);
	f->loaded &= loaded;
	f->link_full |= loaded;
	if (f->mode == HPCCPP_COEXIST &&
	    (f->cause == HPCCPP_C_BLIND ? round_ends && f->loaded : loaded))
		hpccpp_leave_coexist(sk, f);
	if (round_ends)
		f->loaded = 1;
}

/*
 * Called when recovery ends, or the Loss state after a timeout. After a timeout without telemetry,
 * the Reno window becomes the current cwnd if that is smaller, and grows in slow start.
 *
 * Recovery is no time without telemetry: retransmissions do not ask, and SACK blocks leave no room
 * for an echo. The next echo takes a round trip. The last telemetry is set two round trips old, so
 * that it explains no loss that follows.
 */
void hpccpp_end_recovery(struct sock *sk, struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rtt_ns = hpccpp_rtt(sk, f) * 1000ULL;
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_Loss && !hpccpp_has_int(f))
		hpccpp_set_reno(sk, f, min_t(u64, f->W_reno, hpccpp_cwnd_bytes(sk)));
	if (state >= TCP_CA_Recovery)
		f->last_int = max(f->last_int, tp->tcp_clock_cache - 2 * rtt_ns);
}

/* Allows the next decrease when all data that was sent before the last one is acknowledged. */
void hpccpp_end_decrease(const struct sock *sk, struct hpccpp_flow *f)
{
	if (!before(tcp_sk(sk)->snd_una, f->md_seq))
		f->md_seq = 0;
}

/* Half of the window, bytes on the wire: two packets at least, as ssthresh of Reno */
u32 hpccpp_half(const struct sock *sk, const struct hpccpp_flow *f)
{
	u32 W = f->mode == HPCCPP_COEXIST ? f->s.W : f->s.W_c;

	return max(W / 2, 2 * hpccpp_wire_len(sk));
}

/* Reacts to loss without telemetry: the window becomes ssthresh, which TCP has set for this. */
static void hpccpp_decrease_reno(struct sock *sk, struct hpccpp_flow *f, enum hpccpp_stat why)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	hpccpp_count(f->net, why);
	f->link_full = 0;
	f->prior_W = f->md_seq || why == HPCCPP_S_MD_CWR ? 0 : f->s.W;
	f->prior_reno = f->W_reno;
	f->md_seq = tp->snd_nxt ?: 1;
	hpccpp_set_reno(sk, f, min_t(u64, f->W_reno, (u64)tp->snd_ssthresh * f->p.packet));
	hpccpp_set_pacing(sk, f);
}

/*
 * Returns true if U is of telemetry of this round trip. last_int alone does not show that, because
 * a flow that begins to send after a pause sets it, too.
 */
static bool hpccpp_is_recent(const struct sock *sk, struct hpccpp_flow *f)
{
	u64 seen = f->rx ? f->last_int : hpccpp_find_link(&f->s, f->s.bottleneck)->seen;

	return tcp_sk(sk)->tcp_clock_cache - seen <= hpccpp_rtt(sk, f) * 1000ULL;
}

/*
 * Reacts to loss, a timeout or an ECN mark, which the draft leaves to the transport: once per round
 * trip, W is reduced to half of W_c, in COEXIST to half of W. It stays if telemetry of this round
 * trip has reduced it by as much already (line 13 with U of twice eta).
 *
 * If a link that reports has been full since the last decrease, W grows back to the W that its load
 * allows within two round trips, so that random loss costs no more. Otherwise a link without
 * telemetry may have lost the packet: the flow enters COEXIST.
 */
void hpccpp_decrease(struct sock *sk, struct hpccpp_flow *f, enum hpccpp_stat why)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 half;

	hpccpp_end_decrease(sk, f);
	if (!hpccpp_has_int(f)) {
		hpccpp_decrease_reno(sk, f, why);
		return;
	}
	if (f->md_seq) {
		/* the loss before a timeout is real even if the timeout was spurious */
		if (why == HPCCPP_S_MD_RTO)
			f->prior_W = 0;
		return;
	}
	f->prior_W = 0;
	f->edge_delays = 0;
	hpccpp_end_qtest(sk, f);
	hpccpp_get_params(sk, f);
	if (f->s.U / 2 >= f->p.eta && hpccpp_is_recent(sk, f)) {
		hpccpp_count(f->net, HPCCPP_S_EXPLAINED);
		return;
	}
	hpccpp_count(f->net, why);
	/* TCP does not undo the reaction to a mark */
	f->prior_W = why == HPCCPP_S_MD_CWR ? 0 : f->s.W;
	f->prior_reno = f->mode == HPCCPP_COEXIST ? f->W_reno : 0;
	f->md_seq = tp->snd_nxt ?: 1;
	half = hpccpp_half(sk, f);
	hpccpp_begin_with(&f->s, min(f->s.W, half));
	if (f->edge_W)
		f->edge_W = f->s.W;
	if (f->mode == HPCCPP_COEXIST)
		f->W_reno = half;
	else if (f->link_full)
		hpccpp_end_stages(&f->s);
	else
		hpccpp_enter_coexist(sk, f, HPCCPP_C_LOSS, half);
	f->link_full = 0;
	hpccpp_get_params(sk, f);
	f->last_update_seq = tp->snd_nxt;
	hpccpp_resend_params(f);
	hpccpp_set_pacing(sk, f);
}

/* The loss was spurious: W and the Reno window become what they were. */
void hpccpp_undo(struct sock *sk, struct hpccpp_flow *f)
{
	if (!f->prior_W)
		return;
	f->md_seq = 0;
	if (f->prior_reno)
		f->W_reno = max(f->W_reno, f->prior_reno);
	else if (f->mode == HPCCPP_COEXIST && f->cause == HPCCPP_C_LOSS)
		hpccpp_leave_coexist(sk, f);
	hpccpp_get_params(sk, f);
	hpccpp_begin_with(&f->s, min(max(f->s.W, f->prior_W), f->p.W_max));
	if (f->edge_W)
		f->edge_W = f->s.W;
	f->prior_W = 0;
	hpccpp_set_pacing(sk, f);
	hpccpp_count(f->net, HPCCPP_S_UNDO);
}
