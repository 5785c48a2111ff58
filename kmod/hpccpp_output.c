// SPDX-License-Identifier: GPL-2.0
/* HPCC++: pacing rate, cwnd and the size of bursts, as they follow from W. */

#include <net/tcp.h>

#include "tcp_hpccpp.h"

/*
 * Sets R = W / T (line 27). In COEXIST cwnd is the limit, and the rate only spreads the packets: it
 * is 2 W / RTT in slow start and 1.2 W / RTT after, the kernel's default ratios. RTT is TCP's
 * smoothed RTT, as T does not describe a path whose bottleneck reports no telemetry.
 */
void hpccpp_set_pacing(struct sock *sk, const struct hpccpp_flow *f)
{
	u32 opt = HPCCPP_OPT_LEN(f->s.records);
	u32 mss = tcp_sk(sk)->mss_cache;
	u64 rate;

	if (f->mode == HPCCPP_COEXIST) {
		rate = hpccpp_rate(f->s.W, (tcp_sk(sk)->srtt_us >> 3) ?: f->T ?: 1);
		rate = hpccpp_in_slow_start(sk, f) ? 2 * rate : div_u64(rate * 6, 5);
	} else {
		rate = hpccpp_rate(f->s.W, f->T);
	}
	/*
	 * TCP counts payload, for its own pacing and for the departure times that fq uses.
	 * Data segments carry the option whose echo has arrived.
	 */
	rate = div_u64(rate * (mss > opt ? mss - opt : 1), f->p.packet);
	/* where long has 32 bits, 34 Gbit/s and more are not paced */
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/*
 * Returns false during the first ten data segments, which TCP does not pace, while the receiver
 * acknowledges each of them at once. Linux does so until it sends data itself, for 16 segments and
 * half of its window at most. With a cwnd of one packet, a lost packet then costs a timeout.
 */
static bool hpccpp_is_paced(const struct sock *sk, struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!tp->data_segs_out)
		f->data_in = tp->data_segs_in;
	return tp->data_segs_out >= TCP_INIT_CWND || f->data_in != (u8)tp->data_segs_in ||
	       tp->snd_wnd < 2 * TCP_INIT_CWND * tp->mss_cache;
}

/*
 * Sets cwnd and bursts from W. acked is the number of packets that this ACK delivered. W counts
 * bytes on the wire, as qlen, tx_bytes and B do. With telemetry, cwnd is one packet more: rounding
 * and delayed ACKs must not cost what eta leaves. A window of one packet would wait for the
 * receiver's delayed ACK: pacing keeps a smaller W. Until TCP paces, cwnd alone keeps W: it is W in
 * packets, rounded up, and may be one. In recovery, cwnd grows by no more packets than were
 * acknowledged.
 */
void hpccpp_set_cwnd(struct sock *sk, struct hpccpp_flow *f, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	bool paced = hpccpp_is_paced(sk, f);
	u32 cwnd = DIV_ROUND_UP(f->s.W, f->p.packet) + paced;

	u32 least = paced && hpccpp_has_int(f) ? HPCCPP_CWND_MIN : 1;

	if (!hpccpp_has_int(f))		/* as Reno counts */
		cwnd = f->s.W / f->p.packet;
	/* packet conservation in the first round trip of recovery */
	if (state == TCP_CA_Recovery && acked && (s32)(tp->delivered - f->conserve) < 0)
		cwnd = min(cwnd, tcp_packets_in_flight(tp) + acked);
	else if (state >= TCP_CA_CWR)
		/* cwnd grows back with the ACKs */
		cwnd = min(cwnd, tcp_snd_cwnd(tp) + acked);
	/* the first retransmission leaves at once, as with PRR */
	if (state == TCP_CA_Recovery && tp->lost_out && !tp->retrans_out)
		cwnd = max(cwnd, tcp_packets_in_flight(tp) + 1);
	if (f->probing)
		cwnd = HPCCPP_CWND_MIN;
	cwnd = max(cwnd, least);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	if (hpccpp_has_int(f))
		hpccpp_limit_burst(sk, f, !tp->packets_out);
}

/* Lets TCP small queues put sk_pacing_rate >> shift bytes into the device. */
void hpccpp_set_small_queue(struct sock *sk, const struct hpccpp_flow *f)
{
	u32 shift = ilog2(USEC_PER_SEC / f->T + 1) + HPCCPP_BURST_SHIFT;

	WRITE_ONCE(sk->sk_pacing_shift,
		   clamp_t(u32, shift, HPCCPP_PACING_SHIFT, HPCCPP_PACING_SHIFT_MAX));
}

/*
 * Limits the segments of the packets that TCP builds. If sk_gso_max_segs is not as this function
 * set it, sk_setup_caps() has set it for another route: it is the limit of the device.
 * Autosizing by sk_pacing_shift and tcp_tso_rtt_log stays below the limit. A probe's first packet
 * is one segment. TCP builds it before CA_EVENT_TX_START, so if probes are enabled, the limit is
 * one segment whenever nothing is in flight. 6.1 does not merge data written in such pieces.
 */
void hpccpp_limit_burst(struct sock *sk, struct hpccpp_flow *f, bool may_probe)
{
	u32 segs = (f->s.W >> HPCCPP_BURST_SHIFT) / f->p.packet;
	const struct dst_entry *dst = __sk_dst_get(sk);

	/* only its address counts: another route may have the limit that we have set */
	if (sk->sk_gso_max_segs != f->burst_segs || (dst && dst != f->dst)) {
		f->dev_segs = sk->sk_gso_max_segs;
		f->dst = dst;
	}
	if (may_probe && READ_ONCE(f->net->probe))
		segs = 1;
	f->burst_segs = max(min_t(u32, segs, f->dev_segs), 1U);
	if (sk->sk_gso_max_segs != f->burst_segs)
		sk->sk_gso_max_segs = f->burst_segs;
}

/* Gives the device and TCP small queues back their own limits. */
void hpccpp_unlimit_burst(struct sock *sk, struct hpccpp_flow *f)
{
	if (f->burst_segs && sk->sk_gso_max_segs == f->burst_segs)
		sk->sk_gso_max_segs = f->dev_segs;
	f->burst_segs = 0;
	WRITE_ONCE(sk->sk_pacing_shift, HPCCPP_PACING_SHIFT);
}
