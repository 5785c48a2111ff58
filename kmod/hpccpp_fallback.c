// SPDX-License-Identifier: GPL-2.0
/*
 * HPCC++: what telemetry does not explain, the fallback to Reno, and the way back
 * (difference 7 of hpccpp_main.c). No ACK of a flow that telemetry steers needs this,
 * but one in a round trip. Silence is looked for with each: hpccpp_is_silent().
 */

#include <net/tcp.h>

#include "tcp_hpccpp.h"

/* From here on INT has to explain each loss. */
void hpccpp_count_loss(const struct sock *sk, struct hpccpp_flow *f)
{
	f->lost = tcp_sk(sk)->lost;
	f->delivered = tcp_sk(sk)->delivered;
}

/*
 * Once a round trip: do the links that we hear of, whose queues last queue_us,
 * explain it? Only while they have room is it theirs to say why it takes longer
 * than T: difference 7.
 */
void hpccpp_explain(const struct sock *sk, struct hpccpp_flow *f,
		    bool loaded, u64 queue_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 T = max(f->T, tcp_min_rtt(tp));
	u32 rtt = f->round_rtt;

	f->round_rtt = 0;
	if (loaded || tp->delivered - f->delivered > HPCCPP_BLIND_SPAN)
		hpccpp_count_loss(sk, f);
	if (!rtt || loaded ||
	    tcp_packets_in_flight(tp) < HPCCPP_BLIND_FLIGHT ||
	    rtt <= T + T / 4 + HPCCPP_BLIND_DELAY + queue_us)
		f->blind_rounds = 0;
	else if (f->blind_rounds < HPCCPP_BLIND_ROUNDS)
		f->blind_rounds++;
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
	/* that is not the window of a probe */
	f->probing = 0;
	hpccpp_set_cwnd(sk, f, 0);
	hpccpp_hand_over(sk, f);
	hpccpp_set_mode(sk, HPCCPP_RENO);
	hpccpp_count(f->net, HPCCPP_S_FALLBACK);
}

/* Fall back until the links that are told of are loaded: difference 7. */
void hpccpp_fallback_blind(struct sock *sk, struct hpccpp_flow *f)
{
	f->blind = 1;
	f->blind_rounds = 0;
	f->loaded = 0;
	f->round_seq = tcp_sk(sk)->snd_nxt;
	hpccpp_fallback(sk, f);
	hpccpp_count(f->net, HPCCPP_S_BLIND);
}

/* True if the most loaded link that we hear of has been full for a round trip. */
bool hpccpp_sees_again(const struct sock *sk, struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!f->blind)
		return true;
	if (!after(tp->snd_una, f->round_seq))
		return false;
	f->blind = !f->loaded;
	f->loaded = 1;
	f->round_seq = tp->snd_nxt;
	hpccpp_count_loss(sk, f);
	return !f->blind;
}
