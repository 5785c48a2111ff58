// SPDX-License-Identifier: GPL-2.0
/*
 * HPCC++: T, and the parameters that follow from T, min(B) and the sysctls. A flow computes
 * them once in a round trip.
 */

#include <net/tcp.h>

#include "tcp_hpccpp.h"

/*
 * W never falls under a packet >> this. With a floor of one packet, many flows keep a standing
 * queue; with a lower floor, a flow receives telemetry too rarely.
 */
#define HPCCPP_W_FLOOR_SHIFT	4

/*
 * R never falls under this, bytes/s: 1 Mbit/s. If T is more than .75 ms, the floor of W would be
 * less, and a flow that a queue of other flows has slowed would stay slow for seconds.
 */
#define HPCCPP_MIN_RATE		125000ULL

/* W_ai that follows from N is at least this, 1/1000 of a packet: hpccpp_algo.h */
#define HPCCPP_W_AI_MIN		12U

/* T is the minimum RTT and this many packets: D-T */
#define HPCCPP_T_PACKETS	4U

/*
 * Returns T in us, or 0 while nothing is known. Unless net.hpccpp.base_rtt_us fixes it, T is the
 * minimum RTT plus the time of four full packets on the path's slowest link. The minimum alone is
 * too small: it is measured with a SYN, which takes less time on each hop than a full packet; TCP
 * rounds it down; and delayed ACKs wait for a second packet. If T is too small, R is too high, and
 * the gaps after it cost utilisation. If T is too large by these packets, nothing is lost, and
 * flows of less than a packet in T share more fairly.
 *
 * The queue that the telemetry of the handshake reports is subtracted. Otherwise flows that join a
 * queue would take it for a part of their path, request more because of it, and keep it standing.
 * This ends when a record reports no queue, or one that is longer than the whole RTT: then TCP's
 * own minimum is the better one.
 *
 * Latency that comes later, of a longer path or of hosts, is added if it limits the flow and half
 * a window does not shorten it, or if D-EDGE finds it alike for long: hpccpp_check_delay().
 */
u32 hpccpp_base_rtt(const struct sock *sk, const struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 T = READ_ONCE(f->net->base_rtt_us);

	if (!T) {
		T = tcp_min_rtt(tp);
		/*
		 * TCP takes the RTT of a retransmitted handshake from timestamps, in ms. Skip it
		 * until data is delivered: the filter keeps it only if it is shorter then.
		 */
		if (T == ~0U || (tp->total_retrans && tp->delivered <= 1))
			return 0;
		if (T <= f->syn_rtt)
			T = min_t(u64, T, f->syn_rtt - f->syn_queue);
		T += f->latency;
		if (f->min_B)
			T += DIV64_U64_ROUND_UP(HPCCPP_T_PACKETS *
						USEC_PER_SEC *
						(u64)hpccpp_wire_len(sk),
						f->min_B);
	}
	return clamp_t(u64, T, 1, HPCCPP_T_MAX);
}

/* T as it is now */
void hpccpp_learn_T(const struct sock *sk, struct hpccpp_flow *f)
{
	u32 min_rtt = tcp_min_rtt(tcp_sk(sk));

	/* TCP forgets its minimum after 300 s: what takes its place has latency in it */
	if (min_rtt > f->min_rtt)
		f->latency -= min(f->latency, min_rtt - f->min_rtt);
	f->min_rtt = min_rtt;
	/* net.hpccpp.base_rtt_us may have been T, of a flow that has no other */
	f->T = hpccpp_base_rtt(sk, f) ?: f->T;
}

/* Returns the longest queue of n records, and sets *us to the time that it takes to drain. */
u32 hpccpp_longest_queue(const struct hpccpp_int *rec, int n, u64 *us)
{
	u32 qlen = 0;
	int i;

	*us = 0;
	for (i = 0; i < n; i++) {
		u64 bps = hpccpp_rate_decode(rec[i].rate);
		u64 bits = (u64)rec[i].qlen << (HPCCPP_QLEN_SHIFT + 3);

		if (rec[i].qlen <= qlen)
			continue;
		qlen = rec[i].qlen;
		if (hpccpp_rate_ok(bps))
			*us = div64_u64(bits * USEC_PER_SEC, bps);
	}
	return qlen;
}

/*
 * Keeps the queue that was part of the handshake's RTT. The SYN cannot have waited in a queue that
 * is longer than the whole RTT.
 */
void hpccpp_handshake_queue(const struct sock *sk, struct hpccpp_flow *f,
			    const struct hpccpp_int *rec, int n)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 srtt = tp->srtt_us >> 3, qlen;
	u64 us;

	qlen = hpccpp_longest_queue(rec, n, &us);
	/*
	 * A SYN is all that left, and its answer all that came; or a SYN-ACK, which TCP
	 * does not count.
	 */
	if ((tp->segs_out == 1 && READ_ONCE(tp->segs_in) == 1) || !tp->segs_out) {
		f->syn_rtt = srtt;
		f->syn_queue = us < srtt ? us : 0;
	} else if (!qlen || us > srtt) {
		f->syn_queue = 0;
	}
}

/*
 * Returns the largest W that T and min(B) allow: 9/8 of W_init, as T may be a little small, because
 * the SYN that measured it is shorter than a packet; and more where packets alternate among links.
 */
u32 hpccpp_w_max(const struct hpccpp_flow *f)
{
	u32 w_init = hpccpp_w_init(f);

	return min_t(u64, w_init + w_init / 8 + (u64)w_init * f->spread / 8, HPCCPP_W_LIMIT);
}

/* Sets the draft's parameters as they are now, from f->T and f->min_B. */
void hpccpp_get_params(const struct sock *sk, struct hpccpp_flow *f)
{
	const struct hpccpp_net *hn = f->net;
	struct hpccpp_params *p = &f->p;
	u32 w_init = hpccpp_w_init(f);
	u16 law = READ_ONCE(hn->law);
	u32 eta = hpccpp_eta(hn, law);
	u32 w_floor = hpccpp_wire_len(sk) >> HPCCPP_W_FLOOR_SHIFT;
	u32 flows = READ_ONCE(hn->flows) ?: f->N ?: HPCCPP_FLOWS;
	/* rule of thumb of section 5: W_init * (1 - eta) / N */
	u32 w_ai = div_u64((u64)w_init * (100 - eta), 100 * flows);

	p->T = f->T;
	p->eta = eta * HPCCPP_ONE / 100;
	p->packet = hpccpp_wire_len(sk);
	p->law = law;
	p->W_ai = max(w_ai, p->packet * HPCCPP_W_AI_MIN / 1000);
	/* a decrease is not to be made good before it has had its effect */
	p->share = law == HPCCPP_LAW_AVERAGED && !f->md_seq;
	p->W_max = hpccpp_w_max(f);
	if (f->mode == HPCCPP_PROBE_LATENCY)
		p->W_max /= 2;
	else if (f->mode == HPCCPP_COEXIST)
		/* T says nothing of a path whose bottleneck reports no telemetry */
		p->W_max = f->cause == HPCCPP_C_LOSS || f->cause == HPCCPP_C_WAN ?
			   min(p->W_max, f->W_reno) : f->W_reno;
	p->W_max = min_t(u64, p->W_max, (u64)tcp_sk(sk)->snd_cwnd_clamp * p->packet);
	p->W_max = max(p->W_max, w_floor);
	p->W_min = clamp_t(u64, hpccpp_bdp(HPCCPP_MIN_RATE, f->T), w_floor, p->W_max);
}
