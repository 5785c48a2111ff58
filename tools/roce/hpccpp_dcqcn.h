/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DCQCN's reaction point: "Congestion Control for Large-Scale RDMA Deployments" (Zhu
 * et al., SIGCOMM 2015), section 3 and figures 5-7, for flows that hear of congestion
 * but not of how much there is. And the interval at which its notification point tells.
 *
 * Plain functions on plain structs, without a call into anything, as hpccpp_algo.h;
 * for the eBPF agent and the unit tests. There are no timers: hpccpp_dcqcn_advance()
 * does what they would have done, when the next packet comes.
 *
 *	CNP:		R_T = R_C, R_C = R_C (1 - alpha / 2), alpha = (1 - g) alpha + g
 *	55 us without:	alpha = (1 - g) alpha
 *	increase, by a timer of 55 us or each B bytes, T and BC since the last CNP:
 *	  fast recovery, max(T, BC) <= F:	R_C = (R_T + R_C) / 2
 *	  additive:				R_T = R_T + R_AI, and that
 *	  hyper, min(T, BC) > F:		R_T = R_T + (min(T, BC) - F) R_HAI, and that
 *
 * Differences from the paper
 *  1. A CNP in less than a timer after one that was heeded changes nothing. The paper's
 *     receivers send none; here several switches and the receiver may.
 *  2. The times are in proportion to the network's round trip time, R_AI, R_HAI and B
 *     to the line rate: hpccpp_dcqcn_defaults(). At 40 Gbit/s and 50 us they are the
 *     paper's, R_HAI, which it does not give, that of its authors' simulator.
 *  3. After a pause of more than HPCCPP_DCQCN_STEPS timers the rest of them takes one
 *     step: R_T grows by R_AI for each and R_C is R_T.
 *  4. R_C does not fall under a least rate.
 *  5. A flow that reaches the line rate starts anew, as a NIC forgets such a flow: alpha
 *     is 1, and the next CNP halves its rate.
 */
#ifndef HPCCPP_DCQCN_H
#define HPCCPP_DCQCN_H

#include "hpccpp_algo.h"
#include "hpccpp_wire.h"

#define HPCCPP_DCQCN_G_SHIFT	8	/* g = 1/256 */
#define HPCCPP_DCQCN_F		5
#define HPCCPP_DCQCN_STEPS	8
#define HPCCPP_DCQCN_T		50	/* us, round trip time that goes with the timer */
#define HPCCPP_DCQCN_TIMER	55	/* us */
#define HPCCPP_DCQCN_N		50	/* us: the NP's, section 3.1 */

struct hpccpp_dcqcn_params {
	__u64 line;		/* R_C at most, and to begin with; bytes/s */
	__u64 least;		/* R_C at least */
	__u64 R_AI;
	__u64 R_HAI;
	__u64 B;		/* bytes */
	__u64 timer;		/* ns */
	__u64 N;		/* ns: between two CNPs to a flow */
};

/* hpccpp_dcqcn_start() sets R_C, R_T and alpha; all else is zero at the start. */
struct hpccpp_dcqcn {
	__u64 R_C;		/* bytes/s */
	__u64 R_T;
	__u64 alpha_at;		/* when alpha was last changed, ns */
	__u64 timer_at;		/* when the increase timer was last started; 0: no CNP yet */
	__u64 bytes;		/* since the last CNP or increase by bytes */
	__u32 alpha;		/* 1/2^20 */
	__u16 T, BC;		/* increases since the last CNP */
};

/* Line rate in bytes/s, up to 2^39; T in us. */
static __always_inline void hpccpp_dcqcn_defaults(struct hpccpp_dcqcn_params *p, __u64 line,
						  __u32 T)
{
	p->line = line;
	p->R_AI = line / 1000;		/* 40 Mbit/s */
	p->R_HAI = line / 100;		/* 400 Mbit/s */
	p->least = line / 1000;
	p->timer = (__u64)T * 1000 * HPCCPP_DCQCN_TIMER / HPCCPP_DCQCN_T;
	p->N = (__u64)T * 1000 * HPCCPP_DCQCN_N / HPCCPP_DCQCN_T;
	p->B = hpccpp_bdp(line, T) * 40;	/* 10 MB */
}

static __always_inline void hpccpp_dcqcn_start(struct hpccpp_dcqcn *s, __u64 rate)
{
	*s = (struct hpccpp_dcqcn) {
		.R_C = rate, .R_T = rate, .alpha = HPCCPP_ONE,
	};
}

/* Makes one increase, after the caller has counted it in T or BC. */
static __always_inline void hpccpp_dcqcn_increase(struct hpccpp_dcqcn *s,
						  const struct hpccpp_dcqcn_params *p)
{
	__u16 most = s->T > s->BC ? s->T : s->BC;
	__u16 least = s->T < s->BC ? s->T : s->BC;

	if (least > HPCCPP_DCQCN_F)
		s->R_T += (least - HPCCPP_DCQCN_F) * p->R_HAI;
	else if (most > HPCCPP_DCQCN_F)
		s->R_T += p->R_AI;
	if (s->R_T > p->line)
		s->R_T = p->line;
	s->R_C = (s->R_T + s->R_C) / 2;
	/* so near to the line rate that it need not be held back */
	if (s->R_T == p->line && s->R_C + p->R_AI >= p->line)
		s->R_C = p->line;
}

/* alpha (1 - g)^n: n by its bits */
static __always_inline __u32 hpccpp_dcqcn_decay(__u32 alpha, __u64 n)
{
	__u64 left = HPCCPP_ONE - (HPCCPP_ONE >> HPCCPP_DCQCN_G_SHIFT);
	int i;

	if (n >> 12)
		return 0;
	for (i = 0; i < 12; i++) {
		if (n >> i & 1)
			alpha = alpha * left >> HPCCPP_ONE_SHIFT;
		left = left * left >> HPCCPP_ONE_SHIFT;
	}
	return alpha;
}

/*
 * Does what the timers would have done until now (our clock, ns), and counts len bytes
 * that are sent now.
 */
static __always_inline void hpccpp_dcqcn_advance(struct hpccpp_dcqcn *s,
						 const struct hpccpp_dcqcn_params *p,
						 __u64 now, __u32 len)
{
	__u64 n;
	int i;

	if (!s->timer_at)
		return;
	if (now > s->alpha_at && now - s->alpha_at >= p->timer) {
		n = (now - s->alpha_at) / p->timer;
		s->alpha = hpccpp_dcqcn_decay(s->alpha, n);
		s->alpha_at += n * p->timer;
	}
	s->bytes += len;
	if (s->bytes >= p->B) {
		s->bytes = 0;
		s->BC += s->BC < 0xffff;
		hpccpp_dcqcn_increase(s, p);
	}
	n = now > s->timer_at ? (now - s->timer_at) / p->timer : 0;
	s->timer_at += n * p->timer;
	for (i = 0; i < HPCCPP_DCQCN_STEPS && n; i++) {
		/* the verifier must forget s, or it follows each step for all values */
		asm volatile("" : : : "memory");
		n--;
		s->T += s->T < 0xffff;
		hpccpp_dcqcn_increase(s, p);
	}
	if (n) {
		s->T = s->T + n < 0xffff ? s->T + n : 0xffff;
		/* a thousand R_AI are the line rate */
		s->R_T += (n < 1024 ? n : 1024) * p->R_AI;
		if (s->R_T > p->line)
			s->R_T = p->line;
		s->R_C = s->R_T;
	}
	if (s->R_C >= p->line)
		hpccpp_dcqcn_start(s, p->line);
}

/*
 * Applies a CNP to a flow that sends at "rate": that is R_C or, where another algorithm
 * holds the flow back, less. False if the CNP comes too soon after another; it changes
 * nothing then.
 */
static __always_inline bool hpccpp_dcqcn_cnp(struct hpccpp_dcqcn *s,
					     const struct hpccpp_dcqcn_params *p, __u64 rate,
					     __u64 now)
{
	if (s->timer_at && !s->T && (__s64)(now - s->timer_at) < (__s64)p->timer)
		return false;
	hpccpp_dcqcn_advance(s, p, now, 0);
	if (s->R_C > rate)
		s->R_C = rate;
	s->R_T = s->R_C;
	s->R_C = s->R_C * (2 * HPCCPP_ONE - s->alpha) >> (HPCCPP_ONE_SHIFT + 1);
	if (s->R_C < p->least)
		s->R_C = p->least;
	s->alpha = hpccpp_dcqcn_decay(s->alpha, 1) + (HPCCPP_ONE >> HPCCPP_DCQCN_G_SHIFT);
	s->T = 0;
	s->BC = 0;
	s->bytes = 0;
	s->timer_at = now;
	s->alpha_at = now;
	return true;
}

#endif /* HPCCPP_DCQCN_H */
