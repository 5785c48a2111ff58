// SPDX-License-Identifier: GPL-2.0
/*
 * HPCC++: queues and losses at links that report no telemetry, the fallback to Reno, and the
 * return from it (differences 5 and 7 of hpccpp_main.c).
 *
 * A flow runs Reno if its telemetry ends, hpccpp_is_silent(). It also does if it has a queue at a
 * link without telemetry: the links that report have room (U < eta), W is as large as T allows,
 * HPCCPP_OFF_ROUNDS consecutive round trips are longer than T and the reported queues explain, and
 * they get shorter with half of the window. That ends when a link that reports has been full
 * (U >= eta) for a round trip.
 */

#include <net/tcp.h>

#include "tcp_hpccpp.h"

/*
 * A round trip with half of the window ends, with a mean RTT of rtt us. The first two do not count:
 * their packets left before, or a queue drains. If half of the time that T does not explain is
 * gone, it was a queue of this flow, at a link that reports no telemetry. Otherwise it is latency
 * of the path or of hosts, or a queue of other flows that stays whatever this flow does, and T
 * becomes as long as the round trip. Jitter alone changes a mean by a quarter of that time, and now
 * and then by more: it counts as a queue when three consecutive round trips agree.
 *
 * T may grow by a queue of several flows that share a link without telemetry, while the links that
 * report have room. They then fill its buffer as Reno would, and loss ends that: difference 5. When
 * the queue goes, T shrinks with it: hpccpp_explain().
 */
static void hpccpp_look(struct sock *sk, struct hpccpp_flow *f, u32 rtt)
{
	u8 round = f->looking++;
	bool queue;

	if (round < HPCCPP_LOOK_FIRST)
		return;
	/* a path that has changed meanwhile may explain it */
	queue = f->off_rtt > f->T && rtt < f->off_rtt - (f->off_rtt - f->T) / 2;
	if (queue && round < HPCCPP_LOOK_LAST)
		return;
	f->looking = 0;
	rtt = min(rtt, HPCCPP_T_MAX);
	if (!queue && rtt > f->T) {
		f->latency += rtt - f->T;
		f->T = rtt;
	}
	hpccpp_set_params(sk, f);
	/* no line-rate start: the load with half a window shows how much more fits */
	hpccpp_end_stages(&f->s);
	f->queue |= queue;
}

/* Half of the window, for hpccpp_look() */
static void hpccpp_begin_look(struct sock *sk, struct hpccpp_flow *f)
{
	f->looking = 1;
	hpccpp_set_params(sk, f);
	hpccpp_begin_with(&f->s, min(f->s.W, f->p.W_max));
}

void hpccpp_end_look(struct sock *sk, struct hpccpp_flow *f)
{
	f->off_rounds = 0;
	f->at_most = 0;
	if (!f->looking)
		return;
	f->looking = 0;
	hpccpp_set_params(sk, f);
	hpccpp_resend_params(f);
}

/*
 * Raises the ceiling by a packet in a round trip, or by the packets acked in slow start, as Reno's
 * window grows, until it is as large as T allows. W grows with it if it was at the ceiling.
 */
void hpccpp_raise_ceiling(struct sock *sk, struct hpccpp_flow *f, u32 acked)
{
	bool at_ceiling = f->s.W >= f->p.W_max;
	u64 more = (u64)acked * f->p.packet;

	if (f->in_md || !tcp_is_cwnd_limited(sk))
		return;
	if (!f->starting || f->ceiling >= (u64)tcp_sk(sk)->snd_ssthresh * f->p.packet)
		more = DIV64_U64_ROUND_UP(more * f->p.packet, f->ceiling);
	f->ceiling += more;
	hpccpp_get_params(sk, f, &f->p);
	if (f->p.W_max < f->ceiling)
		f->ceiling = 0;
	if (!at_ceiling)
		return;
	hpccpp_begin_with(&f->s, f->p.W_max);
}

/*
 * Recovery is no silence, neither its ACKs nor its time: what TCP sends again does not ask, and
 * SACK blocks leave no room for an echo. The next echo takes a round trip. The telemetry of
 * before is set two round trips old, so that it explains no loss that follows. This happens once
 * until telemetry arrives: it may have ended for good on a path that loses packets.
 */
void hpccpp_end_recovery(const struct sock *sk, struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rtt_ns = hpccpp_rtt(sk, f) * 1000ULL;

	if (inet_csk(sk)->icsk_ca_state < TCP_CA_Recovery)
		return;
	f->silent = 0;
	if (f->excused)
		return;
	f->excused = 1;
	f->last_int = max(f->last_int, tp->tcp_clock_cache - 2 * rtt_ns);
}

/*
 * Sets the ceiling of a flow that comes under telemetry, and bounds its W by it. Over a WAN, most
 * links report no telemetry: the flow then starts as with Reno, W is cwnd at most and grows as in
 * slow start. This does not apply if rec, the flow's first record, reports a full link: the other
 * flows there would leave a new flow little for long. If the flow has a ceiling, it becomes cwnd.
 */
void hpccpp_start(struct sock *sk, struct hpccpp_flow *f, const struct hpccpp_int *rec)
{
	u32 eta = f->p.eta >> (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT);

	if (f->T > HPCCPP_WAN_T && !(rec && rec->rate && rec->U >= eta))
		f->starting = 1;
	else if (!f->ceiling)
		return;
	f->ceiling = min_t(u64, hpccpp_cwnd_bytes(sk), HPCCPP_W_LIMIT);
	hpccpp_get_params(sk, f, &f->p);
	f->s.W = hpccpp_bound(&f->p, f->s.W);
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
	} else {
		/* cwnd followed W; a flow that has not sent begins with the initial window */
		tcp_snd_cwnd_set(tp, hpccpp_first_flight(sk));
		hpccpp_start(sk, f, NULL);
	}
	hpccpp_begin_with(&f->s, hpccpp_bound(&f->p, f->s.W));
	return true;
}

/* A link that reports telemetry is full, or the path turns out to be no WAN. */
void hpccpp_end_ceiling(struct sock *sk, struct hpccpp_flow *f)
{
	f->ceiling = 0;
	f->starting = 0;
	hpccpp_get_params(sk, f, &f->p);
	/* a ceiling may be less than the floor of 1 Mbit/s where T is long */
	if (f->s.W < f->p.W_min)
		hpccpp_begin_with(&f->s, f->p.W_min);
	hpccpp_resend_params(f);
}

/*
 * Returns true after HPCCPP_OFF_ROUNDS consecutive round trips that T does not explain, all longer
 * than T or all shorter. off_rtt is then the RTT among them that is nearest to T, without the first
 * one, in which a queue is still growing.
 */
static bool hpccpp_is_off(struct hpccpp_flow *f, bool slower, u32 rtt)
{
	if (f->off_slower != slower)
		f->off_rounds = 0;
	f->off_slower = slower;
	if (f->off_rounds < 2 || (slower ? rtt < f->off_rtt : rtt > f->off_rtt))
		f->off_rtt = rtt;
	if (++f->off_rounds < HPCCPP_OFF_ROUNDS)
		return false;
	f->off_rounds = 0;
	return true;
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

/* Bytes/s on the wire that the flow has delivered lately */
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
	hpccpp_set_params(sk, f);
}

/*
 * Checks the delay of a round trip that has ended. A full link that reports explains it, and so
 * do reported queues, which take queue_us to drain. If a longer delay remains while W is as large
 * as T allows and no link is full, the flow tests half of the window. It does not if T is
 * configured, nor while the peer's application pauses. Sets f->queue if a link without telemetry
 * has a queue of this flow.
 */
void hpccpp_explain(struct sock *sk, struct hpccpp_flow *f, bool loaded,
		    u64 queue_us)
{
	u32 rtt = f->rtt_n ? f->rtt_sum / f->rtt_n : 0;
	bool at_most = f->s.W >= f->p.W_max / 8 * 7;
	bool was_at_most = f->at_most;
	u32 T = f->T, slack = max(T * 3 / 16, HPCCPP_OFF_DELAY);
	u32 path = rtt - min_t(u64, rtt, queue_us);
	bool pauses = hpccpp_peer_pauses(sk, f);

	f->rtt_sum = 0;
	f->rtt_n = 0;
	f->at_most = at_most;
	f->filled |= loaded;
	if (!rtt || pauses || READ_ONCE(f->net->base_rtt_us)) {
		hpccpp_end_look(sk, f);
		return;
	}
	/* no queue makes it shorter */
	if (f->latency && rtt + slack < T && !f->looking) {
		if (hpccpp_is_off(f, false, rtt) && T > f->off_rtt)
			f->latency -= min(f->latency, T - f->off_rtt);
		return;
	}
	if (loaded) {
		if (f->s.W <= hpccpp_w_init(f))
			f->spread = 0;
		hpccpp_end_look(sk, f);
		return;
	}
	if (f->looking) {
		hpccpp_look(sk, f, path);
		return;
	}
	/* of a W that was as large at the begin of the round trip */
	if (f->ceiling || !at_most || !was_at_most || path <= T + slack) {
		f->off_rounds = 0;
		if (!f->ceiling && at_most && was_at_most)
			hpccpp_spread(sk, f);
	} else if (hpccpp_is_off(f, true, path)) {
		hpccpp_begin_look(sk, f);
	}
}

/*
 * Another congestion control follows. It starts from the current window, not in slow
 * start, and with the device's own limit for bursts.
 */
void hpccpp_hand_over(struct sock *sk, struct hpccpp_flow *f)
{
	struct tcp_sock *tp = tcp_sk(sk);

	WRITE_ONCE(tp->snd_ssthresh, max(tcp_snd_cwnd(tp), HPCCPP_CWND_MIN));
	hpccpp_unlimit_burst(sk, f);
}

/* Reno goes on from the window that telemetry had reached. */
void hpccpp_fallback(struct sock *sk, struct hpccpp_flow *f)
{
	f->fallbacks++;
	/* Reno answers from here on, and md_seq may wrap before INT is back */
	f->in_md = 0;
	f->prior_W = 0;
	hpccpp_end_look(sk, f);
	f->queue = 0;
	f->rtt_sum = 0;
	f->rtt_n = 0;
	/* that is not the window of a probe */
	f->probing = 0;
	hpccpp_set_cwnd(sk, f, 0);
	hpccpp_hand_over(sk, f);
	hpccpp_set_mode(sk, HPCCPP_RENO);
	hpccpp_count(f->net, HPCCPP_S_FALLBACK);
}

/* Falls back until a link that reports telemetry is full: difference 7 */
void hpccpp_fallback_blind(struct sock *sk, struct hpccpp_flow *f)
{
	f->blind = 1;
	f->loaded = 0;
	f->round_seq = tcp_sk(sk)->snd_nxt;
	hpccpp_fallback(sk, f);
	hpccpp_count(f->net, HPCCPP_S_BLIND);
}

/* Returns true if the most loaded link that reports has been full for a round trip. */
bool hpccpp_sees_again(const struct sock *sk, struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!f->blind)
		return true;
	/* one that is not in flight any more is of before a long silence */
	if (!after(tp->snd_una, f->round_seq) && !after(f->round_seq, tp->snd_nxt))
		return false;
	f->blind = !f->loaded;
	f->loaded = 1;
	f->round_seq = tp->snd_nxt;
	return !f->blind;
}
