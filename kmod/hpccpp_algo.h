/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The HPCC++ algorithm: lines 1-27 of draft-pan-tsvwg-hpccplus-02, section 4.2, and the
 * averaged law, which takes the place of lines 11-20 by default.
 *
 * These are plain functions on plain structs that call nothing else. They are compiled
 * unchanged into the kernel module, both eBPF agents and the unit tests. The host agent
 * also uses them for lines 28-34 (section 6.2). Comments give the draft's line numbers.
 *
 * Every packet carries the load of the links that it crossed. From two records of link i the
 * sender computes how full that link's pipe is, in units of its bandwidth-delay product B_i T.
 * B_i is the link's rate and T the base RTT; a prime marks the earlier record:
 *
 *            min(qlen, qlen')     tx_bytes - tx_bytes'
 *      u_i = ---------------- + ----------------------          (lines 4-5)
 *                B_i * T          (ts - ts') * B_i
 *
 * With each ACK, u is the largest u_i, and tau = ts - ts' of that link. U is the moving
 * average of u over about T (lines 8-9; tau counts as T at most):
 *
 *      U = (1 - tau/T) U + tau/T u
 *
 * The window W divides by U, so that the most loaded link is brought to its target eta
 * in one round trip (line 13). W_ai is a small additive increase, for fairness:
 *
 *      W = W_c / (U / eta) + W_ai
 *
 * W_c has to be the window that made the load U. It is not W: telemetry arrives a round trip
 * after its packet was sent, and U averages over another T. W may have changed since. Dividing
 * W itself by U would react to one queue again with each ACK until U no longer shows it.
 * There are two laws, enum hpccpp_law, which differ in W_c and in when line 13 applies:
 *
 * averaged (the default), hpccpp_averaged()
 *	W_c averages windows with the weights with which U averages loads:
 *
 *		W_c = (1 - tau/T) W_c + tau/T W_p
 *
 *	W_p is the window with which the packets that are acknowledged now were sent. That was
 *	in the previous round trip, so W_p is the mean of W at its start and at its end. W_n is
 *	W at the start of the current round trip. When that ends, W_p = (W_n + W) / 2, W_n = W.
 *
 *	U is the load that all flows made, in units of the BDP, and W_c is what this flow had in
 *	it. So W_c / U is the flow's part of the load times the BDP, however W has changed
 *	meanwhile. Line 13 can apply to each ACK, upwards and downwards, and W follows the load
 *	as fast as U does. It waits only for HPCCPP_SETTLE round trips after a start, while U
 *	still describes the time before: then W = W_c + W_ai unless U >= eta.
 *
 * draft, hpccpp_draft()
 *	W_c is W at the end of the last round trip (lines 14-15, 18-19). Each ACK starts from the
 *	same W_c, so that no queue is reacted to twice. But part of U describes packets that were
 *	sent with earlier windows. Therefore W grows by W_ai alone for maxStage round trips
 *	before line 13 may increase it (line 12).
 *
 * Fixed point. u, U and eta are in 1/2^20 (HPCCPP_ONE). With b the bytes the
 * link could have sent in ts - ts', the error of one u is at most
 *	2^-20 + 1/(32 b) of the rate term	(b is rounded to 1/32 byte)
 *	2^-20 + 1/bdp of the queue term	(bdp is rounded to a byte)
 * and the record's own quantisation (tools/bpf/hpccpp_wire.h) comes on top: 64 bytes in
 * tx_bytes, 64 or 1/64 in qlen, 16 ns in ts. U is rounded to 2^-20 at every update and
 * so comes within T / (2 tau) * 2^-20 of a steady u: 0.1 % with 2000 ACKs in T.
 * W is rounded down to a byte. Derived in selftests/unit/algo_test.c.
 *
 * hpccpp_main.c lists the differences from the draft by their names, as D-SHARE. The draft's camel
 * case is spelled with underscores here: inc_stage, W_c.
 */
#ifndef HPCCPP_ALGO_H
#define HPCCPP_ALGO_H

#include "hpccpp_feedback.h"

#if !defined(__KERNEL__) && !defined(__VMLINUX_H__)
#include <stdbool.h>
#endif

#if defined(__KERNEL__) && !defined(__BPF__)
#include <linux/math64.h>
#define hpccpp_div(a, b)	div64_u64(a, b)
#else
#define hpccpp_div(a, b)	((a) / (b))
#endif

#define HPCCPP_ONE_SHIFT	20
#define HPCCPP_ONE		(1U << HPCCPP_ONE_SHIFT)

/* Largest T, us: 4 s in ns are 32 bits, so that T * U stays in 64. */
#define HPCCPP_T_MAX		4000000U

/* Largest u: a queue of 256 times the bandwidth-delay product, 28 bits. */
#define HPCCPP_U_LIMIT		(256U << HPCCPP_ONE_SHIFT)

#define HPCCPP_LINKS		8	/* links remembered per flow */

/* Telemetry that is older than this many T is out of date. */
#define HPCCPP_STALE_T		8

/*
 * The same for a flow with less than two packets in T: at its smallest window it sends one
 * packet in 16 T, and some are lost.
 */
#define HPCCPP_SLOW_STALE_T	64

/* No window beyond TCP's own 1 GiB makes sense; keeps W * eta in 64 bits. */
#define HPCCPP_W_LIMIT		(1U << 30)

/*
 * Bytes by which a port may exceed B between two stamps: shapers have burst
 * allowances and send a whole GSO packet (64 KiB) at one instant.
 */
#define HPCCPP_BURST		(128 * 1024)

/* Where the 24 bits wrap: half of it in ns, all of it in bytes. */
#define HPCCPP_TS_HALF_NS	(1ULL << (23 + HPCCPP_TS_SHIFT))
#define HPCCPP_TX_WRAP_BYTES	(1ULL << (24 + HPCCPP_TX_SHIFT))

/* Why a record, or its difference to the one before, was not used. */
enum hpccpp_guard {
	HPCCPP_G_FIRST,		/* first record of a link: no difference */
	HPCCPP_G_NOT_NEW,	/* ts does not advance: duplicate, reordered */
	HPCCPP_G_WRAP,		/* ts or tx_bytes may have wrapped twice */
	HPCCPP_G_STALE,		/* earlier record out of date: (SLOW_)STALE_T */
	HPCCPP_G_RATE,		/* more bytes sent than B allows */
	HPCCPP_G_CHANGED,	/* the link has another B than before */
	HPCCPP_G_RANGE,		/* rate outside RATE_MIN..RATE_MAX */
	HPCCPP_G_MAX,
};

#define HPCCPP_GUARD_NAMES { \
	"first", "not_new", "wrap", "stale", "rate", "changed", "range" }

/* L[i]: the last record of one link. */
struct hpccpp_link {
	__u64 B;		/* bandwidth, bytes/s */
	__u64 seen;		/* our clock when it arrived, ns; 0 = unused */
	__u32 ts;		/* 16 ns, 24 bits */
	__u32 tx_bytes;		/* 64 bytes, 24 bits */
	__u32 qlen;		/* 64 bytes */
	__u16 rate;		/* code that B was decoded from, and these flags */
	__u16 id;		/* link id */
};

/* Flag in rate, whose code has 12 bits: the link has reported this rate before */
#define HPCCPP_AGAIN	(1U << 15)

/*
 * Flag in rate: ts may be old, because it has wrapped or the echo waited for room in an ACK. The
 * next record is not compared with this one.
 */
#define HPCCPP_WAITED	(1U << 14)

static inline bool hpccpp_same_rate(__u16 a, __u16 b)
{
	return !((a ^ b) & ~(HPCCPP_AGAIN | HPCCPP_WAITED));
}

/* Rule by which W follows from U: hpccpp_averaged(), hpccpp_draft() */
enum hpccpp_law {
	HPCCPP_LAW_AVERAGED,
	HPCCPP_LAW_DRAFT,
	HPCCPP_LAWS,
};

/* The values of net.hpccpp.law */
#define HPCCPP_LAW_NAMES { "averaged", "draft" }

/* The draft's parameters (figure 3) and the bounds of W */
struct hpccpp_params {
	__u32 T;		/* base RTT, us, 1..HPCCPP_T_MAX */
	__u32 eta;		/* 1/2^20 */
	__u32 packet;		/* a full packet on the wire, bytes */
	__u16 law;		/* enum hpccpp_law */
	__u16 share;		/* 1: W goes towards W_f (law averaged); 0: not */
	__u32 W_ai;		/* bytes */
	__u32 W_min;		/* bytes, not 0 */
	__u32 W_max;		/* bytes */
};

/* The draft's variables (figure 2); all are zero at the start */
struct hpccpp_state {
	__u32 U;		/* normalised inflight bytes, 1/2^20 */
	__u32 W;		/* window, bytes on the wire */
	__u32 W_c;		/* reference window, bytes on the wire */
	__u32 W_p;		/* averaged: W that packets acked now were sent with, bytes */
	__u32 W_n;		/* averaged: W at the start of this round trip, bytes */
	__u32 W_f;		/* fair-share window on that link, bytes; 0: unknown */
	__u32 u;		/* largest u' of the last update, 1/2^20 */
	__u32 tau;		/* its interval, 16 ns */
	__u16 inc_stage;	/* round trips; draft: since line 13, averaged: since the start */
	__u16 bottleneck;	/* link id of that u', and of W_f */
	__u8  records;		/* records in the last update */
	__u8  hit;		/* guards that held in the last update, bits */
	__u8  stepped;		/* 1: the last round trip ended with a step down to W_f */
	__u8  backoff;		/* shift of the next step down; HPCCPP_BACKOFF_MAX at most */
	__u32 guards[HPCCPP_G_MAX];	/* records held back, by reason */
	struct hpccpp_link L[HPCCPP_LINKS];
};

/* B * us in bytes; never 0, as callers divide by it */
static inline __u64 hpccpp_bdp(__u64 B, __u32 us)
{
	__u64 bdp = hpccpp_div(B * us, 1000000ULL);

	return bdp ? bdp : 1;
}

/* The queue's part of line 5, in 1/2^20; at most HPCCPP_U_LIMIT */
static inline __u64 hpccpp_queue_u(__u64 qlen, __u64 B, __u32 T)
{
	__u64 u = hpccpp_div(qlen << (HPCCPP_QLEN_SHIFT + HPCCPP_ONE_SHIFT),
			     hpccpp_bdp(B, T));

	return u < HPCCPP_U_LIMIT ? u : HPCCPP_U_LIMIT;
}

/*
 * Lines 4-5: u' of one link from its record and the one before, in 1/2^20, or
 * a negative guard. The queue is divided by what B sends in drain us, hpccpp_drain().
 * B <= 2^39 bytes/s and ts < 2^24 bound every product.
 */
static inline long hpccpp_link_u(const struct hpccpp_link *old,
				 const struct hpccpp_link *cur, __u32 T, __u32 drain)
{
	__u32 dts = (cur->ts - old->ts) & HPCCPP_MASK24;
	__u64 dtx = (__u64)((cur->tx_bytes - old->tx_bytes) & HPCCPP_MASK24)
		    << HPCCPP_TX_SHIFT;
	__u64 dts_ns = (__u64)dts << HPCCPP_TS_SHIFT;
	__u64 age = cur->seen - old->seen;
	__u64 could, most, u;

	if (!hpccpp_same_rate(cur->rate, old->rate))
		return -HPCCPP_G_CHANGED;
	/*
	 * dts is the advance of ts, less whole wraps. The true advance is the
	 * nearest to the advance of the local clock: delays vary by less than half a wrap.
	 */
	if (!dts || dts_ns > age + HPCCPP_TS_HALF_NS)
		return -HPCCPP_G_NOT_NEW;
	if (age > dts_ns + HPCCPP_TS_HALF_NS)
		return -HPCCPP_G_WRAP;
	if (age > (__u64)T * 1000 * (drain > T ? HPCCPP_SLOW_STALE_T : HPCCPP_STALE_T))
		return -HPCCPP_G_STALE;

	/* bytes B could have sent in dts, in 1/32: 1e9 / 16 / 32 = 1953125 */
	could = hpccpp_div(cur->B * dts, 1953125ULL);
	most = (could + could / 8) / 32 + HPCCPP_BURST;
	if (most >= HPCCPP_TX_WRAP_BYTES)
		return -HPCCPP_G_WRAP;
	if (dtx > most)
		return -HPCCPP_G_RATE;

	u = hpccpp_queue_u(cur->qlen < old->qlen ? cur->qlen : old->qlen,
			   cur->B, drain);
	u += hpccpp_div(dtx << (5 + HPCCPP_ONE_SHIFT), could ? could : 1);
	return u < HPCCPP_U_LIMIT ? u : HPCCPP_U_LIMIT;
}

/* u' from one record alone, in 1/2^20: D-LINK */
static inline long hpccpp_port_u(const struct hpccpp_int *rec, __u64 B, __u32 T)
{
	__u64 u = (__u64)rec->U << (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT);
	__u64 queue = rec->U < HPCCPP_U_MAX ? 0 :
		      hpccpp_queue_u(rec->qlen, B, T);

	return u > queue ? u : queue;
}

/* Lines 8-9: U = (1 - tau/T) * U + tau/T * u; tau in 16 ns, T in us. */
static inline __u32 hpccpp_ewma(__u32 U, __u32 u, __u32 tau, __u32 T)
{
	__u64 t = (__u64)T * 1000;
	__u64 tau_ns = (__u64)tau << HPCCPP_TS_SHIFT;

	if (tau_ns > t)
		tau_ns = t;
	return hpccpp_div((t - tau_ns) * U + tau_ns * u + t / 2, t);
}

/*
 * Returns the entry of a link, or else the entry to reuse for it: an unused one, or
 * the one whose last record is oldest. The caller compares seen and id.
 */
static inline struct hpccpp_link *hpccpp_find_link(struct hpccpp_state *s,
						   __u16 id)
{
	struct hpccpp_link *oldest = &s->L[0];
	int i;

	for (i = 0; i < HPCCPP_LINKS; i++) {
		struct hpccpp_link *l = &s->L[i];

		if (l->seen && l->id == id)
			return l;
		if (l->seen < oldest->seen)
			oldest = l;
	}
	return oldest;
}

/* True if the algorithm accepts this rate, bit/s. */
static inline bool hpccpp_rate_ok(__u64 bps)
{
	return bps >= HPCCPP_RATE_MIN && bps <= HPCCPP_RATE_MAX;
}

static inline void hpccpp_guard(struct hpccpp_state *s, long guard)
{
	s->guards[guard]++;
	s->hit |= 1U << guard;
}

/* Less than two packets in T: the flow receives telemetry, and can react, only once in tau. */
static inline bool hpccpp_is_slow(const struct hpccpp_state *s, const struct hpccpp_params *p)
{
	return s->W < 2 * p->packet;
}

/*
 * D-SLOW. Returns the time in which a queue is to drain, us: T, or the longer tau (in 16 ns) of a
 * slow flow, which can react only once in tau. Without this, 64 flows at 10 Gbit/s and 8 us use
 * 0.80 of the link and keep a queue of 46 packets; with it, 0.97 and 5.7 (eta 0.95).
 */
static inline __u32 hpccpp_drain(const struct hpccpp_state *s, const struct hpccpp_params *p,
				 __u32 tau)
{
	__u32 us;

	if (!hpccpp_is_slow(s, p))
		return p->T;
	us = hpccpp_div((__u64)tau << HPCCPP_TS_SHIFT, 1000ULL);
	return us > p->T ? us : p->T;
}

/*
 * W_c of the averaged law, with the weights of lines 8-9. If more than T has passed since the
 * last record, W_p counts for T of that time. W counts for the rest, as the packets after the
 * last record were sent with it. In a slow flow W_p counts for all of it.
 */
static inline __u32 hpccpp_average_W(const struct hpccpp_state *s, const struct hpccpp_params *p)
{
	__u64 tau_ns = (__u64)s->tau << HPCCPP_TS_SHIFT;
	__u64 T_ns = p->T * 1000ULL;

	if (tau_ns > T_ns && !hpccpp_is_slow(s, p))
		return hpccpp_div(s->W_p * T_ns + s->W * (tau_ns - T_ns), tau_ns);
	return hpccpp_ewma(s->W_c, s->W_p, s->tau, p->T);
}

/*
 * Lines 4-5 and 27 for one record of an ACK. Returns the load of its link since the record before,
 * scaled as U, and sets *tau to the time between them (units of ts). Returns a negative value if
 * the record cannot be used.
 */
static inline long hpccpp_measure_link(struct hpccpp_state *s,
				       const struct hpccpp_params *p,
				       const struct hpccpp_int *rec, __u64 now,
				       __u32 *tau)
{
	struct hpccpp_link *old = hpccpp_find_link(s, rec->link);
	struct hpccpp_link cur = {
		.seen = now,
		.ts = rec->ts,
		.tx_bytes = rec->tx_bytes,
		.qlen = rec->qlen,
		.rate = rec->rate,
		.id = rec->link,
	};
	bool known = old->seen && old->id == cur.id;
	__u32 dts = (cur.ts - old->ts) & HPCCPP_MASK24;
	long u = -HPCCPP_G_FIRST;
	__u64 bps;

	if (known && hpccpp_same_rate(cur.rate, old->rate)) {
		cur.rate |= HPCCPP_AGAIN;
		cur.B = old->B;
	} else {
		bps = hpccpp_rate_decode(cur.rate);
		if (!hpccpp_rate_ok(bps)) {
			hpccpp_guard(s, HPCCPP_G_RANGE);
			return -HPCCPP_G_RANGE;
		}
		cur.B = bps / 8;
	}
	known = known && !(old->rate & HPCCPP_WAITED);
	if (known)
		u = hpccpp_link_u(old, &cur, p->T, hpccpp_drain(s, p, dts)); /* 4-5 */
	if (known && u >= 0) {
		*tau = dts;
		*old = cur;				/* line 27: L = ack.L */
		return u;
	}
	hpccpp_guard(s, -u);
	if (u == -HPCCPP_G_NOT_NEW)
		return u;
	if (u == -HPCCPP_G_WRAP)
		cur.rate |= HPCCPP_WAITED;
	*old = cur;
	/*
	 * A rate over B or another B with the same id means that the port was
	 * configured again. The next record can be used.
	 */
	if (u == -HPCCPP_G_RATE || u == -HPCCPP_G_CHANGED)
		return u;
	return hpccpp_port_u(rec, cur.B, p->T);		/* tau stays a T */
}

/*
 * Returns the W of one flow if all flows of rec's link share eta of it equally. Returns 0 if
 * the link does not report how many flows it has, or reports one: U suffices for one flow.
 */
static inline __u32 hpccpp_share(const struct hpccpp_params *p,
				 const struct hpccpp_int *rec)
{
	__u64 W;

	if (!p->share || rec->N <= 1)
		return 0;
	W = hpccpp_bdp(hpccpp_rate_decode(rec->rate) / 8, p->T);
	W = hpccpp_div((W * p->eta >> HPCCPP_ONE_SHIFT) * 4,
		       hpccpp_N_decode(rec->N));
	return W < HPCCPP_W_LIMIT ? W : HPCCPP_W_LIMIT;
}

/*
 * Lines 1-10. ack holds the n records that came with an ACK at our time now
 * (ns, not 0). Returns false when no record was of use; U is then unchanged.
 */
static inline bool hpccpp_measure_inflight(struct hpccpp_state *s,
					   const struct hpccpp_params *p,
					   const struct hpccpp_int *ack, int n,
					   __u64 now)
{
	const __u32 t_units = (((__u64)p->T * 1000 - 1) >> HPCCPP_TS_SHIFT) + 1;
	struct hpccpp_int most = {};			/* of that u */
	bool any = false;
	__u32 u = 0;					/* line 2 */
	__u32 tau = 0;
	int i;

	s->records = n;
	s->hit = 0;
	if (n == 1 && !ack->rate && ack->U) {		/* D-BOUND */
		u = (__u32)ack->U << (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT);
		if (u > p->eta)
			u = p->eta;
		tau = t_units;
		any = true;
		n = 0;
	}
	for (i = 0; i < n; i++) {			/* line 3 */
		__u32 dts = t_units;
		long u_i = hpccpp_measure_link(s, p, &ack[i], now, &dts);

		if (u_i < 0)
			continue;
		if (!any || u_i > u) {			/* line 6 */
			u = u_i;			/* line 7 */
			tau = dts;
			most = ack[i];
		}
		any = true;
	}
	if (!any)
		return false;
	if (most.rate && most.link != s->bottleneck) {
		s->bottleneck = most.link;
		s->stepped = 0;		/* U was measured at another link */
	}
	s->W_f = hpccpp_share(p, &most);
	s->u = u;
	s->tau = tau;
	s->U = hpccpp_ewma(s->U, u, tau, p->T);		/* lines 8-9 */
	if (p->law == HPCCPP_LAW_AVERAGED)
		s->W_c = hpccpp_average_W(s, p);
	return true;
}

/*
 * D-SHARE. Line 13 keeps the ratio of two flows' windows, and W_ai changes it only in
 * hundreds of round trips. So W also goes part of the way to the fair share W_f. Some flows
 * gain what others give, so the load of all together remains under line 13. Each ACK starts
 * from the W of line 13: the steps of a round trip do not add up.
 *
 * An increase is 3/8 of the way and a decrease 5/8, because a flow that joins a full link begins
 * with half of it. If 16 flows join one after another, with an eta of 95 %, each stays within 1.25
 * of its share after 17 round trips at 100 Gbit/s and 8 us, and after 20 at 25 Gbit/s and 20 us.
 * With decreases of 1/2 these are 20 and 22. With 3/4 they are 15 and 15, but flows of 46 to 120 KB
 * in competition with larger ones are slower (p99 slowdown in star32 6.4, with 5/8 5.8).
 *
 *  - W increases only while U is less than 33/32 of eta, and decreases only while U is more
 *    than 31/32 of it. If N is less than the real number of flows, each increase may still make
 *    a queue, to which line 13 reacts: with an N of 1.25, two flows keep 4 % of the link's BDP.
 *  - An increase is half of W at most: when most flows of an incast end together, W_f becomes
 *    many times W.
 *  - A decrease ends at 9/8 of W_f, because N is reported to within 1/8.
 *  - Flows that N counts may be limited elsewhere. A decrease is in vain if U is less than 31/32
 *    of eta in the next round trip: no other flow took what this one gave. Each such decrease
 *    halves the next one, down to 5/256 of the way. Each other decrease doubles it again. The
 *    flow takes back what it gave at once, by line 13.
 */
#define HPCCPP_STEP_BAND(eta)	((eta) / 32)
#define HPCCPP_BACKOFF_MAX	5

static inline __u64 hpccpp_fair_step(const struct hpccpp_state *s,
				     const struct hpccpp_params *p, __u64 W)
{
	__u64 most = s->W_f + s->W_f / 8;
	__u64 step;

	if (!s->W_f)
		return W;
	if (W < s->W_f && s->U < p->eta + HPCCPP_STEP_BAND(p->eta)) {
		step = (s->W_f - W) * 3 / 8;
		W += step < W / 2 ? step : W / 2;
	} else if (W > most && s->U > p->eta - HPCCPP_STEP_BAND(p->eta)) {
		W -= ((W - most) * 5 / 8) >> s->backoff;
	}
	return W;
}

/* A round trip ends, with a step down or not. U shows whether the last step was in vain. */
static inline void hpccpp_fair_step_done(struct hpccpp_state *s,
					 const struct hpccpp_params *p, bool down)
{
	if (s->stepped && s->U < p->eta - HPCCPP_STEP_BAND(p->eta))
		s->backoff += s->backoff < HPCCPP_BACKOFF_MAX;
	else if (s->stepped && s->backoff)
		s->backoff--;
	s->stepped = down;
}

static inline __u64 hpccpp_bound(const struct hpccpp_params *p, __u64 W)
{
	if (W > p->W_max)
		W = p->W_max;
	return W < p->W_min ? p->W_min : W;
}

/* The draft's maxStage: additive increases before a multiplicative one */
#define HPCCPP_MAX_STAGE	5

/* Round trips after a start until U describes only packets that were sent since */
#define HPCCPP_SETTLE		2

/* Allows a multiplicative increase with the next ACK, under either law. */
static inline void hpccpp_end_stages(struct hpccpp_state *s)
{
	s->inc_stage = HPCCPP_MAX_STAGE;
}

/* Sets W by another rule than lines 11-20, and the windows that the laws compute with. */
static inline void hpccpp_begin_with(struct hpccpp_state *s, __u32 W)
{
	s->W = W;
	s->W_c = W;
	s->W_p = W;
	s->W_n = W;
	s->stepped = 0;
}

/* Lines 11-20 as the draft has them */
static inline void hpccpp_draft(struct hpccpp_state *s, const struct hpccpp_params *p,
				bool round_ends)
{
	bool mult = s->U >= p->eta || s->inc_stage >= HPCCPP_MAX_STAGE; /* line 12 */
	__u64 W = s->W_c;

	if (mult)					/* line 13 */
		W = hpccpp_div(W * p->eta, s->U ? s->U : 1);
	s->W = hpccpp_bound(p, W + p->W_ai);		/* lines 13, 17 */
	if (round_ends) {				/* lines 14, 18 */
		s->inc_stage = mult ? 0 : s->inc_stage + 1;
		hpccpp_begin_with(s, s->W);		/* lines 15, 19: W_c */
	}
}

/*
 * The averaged law: line 13 with each ACK. When a round trip ends, W_p becomes the mean of W at
 * its start and at its end. W at its end is W before this ACK, with which its last packets were
 * paced.
 */
static inline void hpccpp_averaged(struct hpccpp_state *s, const struct hpccpp_params *p,
				   bool round_ends)
{
	bool mult = s->U >= p->eta || s->inc_stage >= HPCCPP_SETTLE;
	__u64 W = s->W_c, fair;
	__u32 end = s->W;

	if (mult)
		W = hpccpp_div(W * p->eta, s->U ? s->U : 1);
	W = hpccpp_bound(p, W + p->W_ai);
	fair = hpccpp_bound(p, hpccpp_fair_step(s, p, W));
	s->W = fair;
	if (round_ends) {
		s->inc_stage += s->inc_stage < HPCCPP_SETTLE;
		s->W_p = (s->W_n + end) / 2;
		s->W_n = s->W;
		hpccpp_fair_step_done(s, p, fair < W);
	}
}

/* Lines 11-20. round_ends (line 22): a packet sent after the last round trip's end is acked. */
static inline void hpccpp_compute_wind(struct hpccpp_state *s, const struct hpccpp_params *p,
				       bool round_ends)
{
	if (p->law == HPCCPP_LAW_DRAFT)
		hpccpp_draft(s, p, round_ends);
	else
		hpccpp_averaged(s, p, round_ends);
}

/*
 * D-START. Computes the first window of a flow that begins or resumes, from U. On entry, s->W
 * is the window that the flow would have alone. On return:
 *
 *	W = W eta / max(U + own, eta), and at most W_f
 *
 * If U is the load of the other flows, B is the rate of their link in bytes/s, and own is the load
 * that this flow adds to it, W / (B T). Without own, the flow would add W to a full link. W_f
 * limits W, because U does not include flows that begin at the same time: they have not sent yet.
 * If U includes this flow, B is 0, own is 0, and W_f does not limit W. W_c stays the window that
 * made the load then, as for lines 11-20.
 */
static inline void hpccpp_first_W(struct hpccpp_state *s, const struct hpccpp_params *p, __u64 B)
{
	__u64 U = s->U, W = s->W;

	if (B)
		U += hpccpp_div(W << HPCCPP_ONE_SHIFT, hpccpp_bdp(B, p->T));
	if (U > p->eta)
		W = hpccpp_div(W * p->eta, U);
	if (B && s->W_f && W > s->W_f)
		W = s->W_f;
	W = hpccpp_bound(p, W);
	hpccpp_begin_with(s, B ? W : s->W);
	s->W = W;
	s->inc_stage = 0;
}

/* Returns the rate of the most loaded link, bytes/s, or 0 if it is not in L. */
static inline __u64 hpccpp_bottleneck_B(struct hpccpp_state *s)
{
	const struct hpccpp_link *l = hpccpp_find_link(s, s->bottleneck);

	return l->seen && l->id == s->bottleneck ? l->B : 0;
}

/* Line 27: R = W/T, bytes/s */
static inline __u64 hpccpp_rate(__u32 W, __u32 T)
{
	return hpccpp_div((__u64)W * 1000000, T);
}

/*
 * Returns B of the record's link, bytes/s, if the link has reported this rate before, or else 0.
 * One record that arrives in two packets counts once: its ts is the same.
 */
static inline __u64 hpccpp_known_B(const struct hpccpp_state *s,
				   const struct hpccpp_int *rec)
{
	int i;

	for (i = 0; i < HPCCPP_LINKS && s->L[i].seen; i++) {
		const struct hpccpp_link *l = &s->L[i];

		if (l->id == rec->link)
			return hpccpp_same_rate(l->rate, rec->rate) &&
			       (l->rate & HPCCPP_AGAIN || l->ts != rec->ts) ? l->B : 0;
	}
	return 0;
}

/*
 * Returns the smallest B of the path, bytes/s, or 0 if none is known: of the n records in ack and
 * of the links with a record in the last STALE_T * T. It bounds W and sets T, and new flows start
 * at its rate (section 5). A single record may be damaged or forged, so the first record of a link
 * counts as the previous B of the path, before, unless that is 0.
 */
static inline __u64 hpccpp_min_B(struct hpccpp_state *s, __u64 before,
				 const struct hpccpp_int *ack, int n, __u32 T,
				 __u64 now)
{
	__u64 B = 0;
	int i;

	/* entries are taken in order, and stay in use */
	for (i = 0; i < HPCCPP_LINKS && s->L[i].seen; i++) {
		const struct hpccpp_link *l = &s->L[i];

		if ((before && !(l->rate & HPCCPP_AGAIN)) ||
		    now - l->seen > (__u64)T * HPCCPP_STALE_T * 1000)
			continue;
		if (!B || l->B < B)
			B = l->B;
	}
	for (i = 0; i < n; i++) {
		__u64 b = hpccpp_known_B(s, &ack[i]);

		if (!b) {
			b = hpccpp_rate_decode(ack[i].rate);
			if (!hpccpp_rate_ok(b))
				continue;
			b = before ? before : b / 8;
		}
		if (!B || b < B)
			B = b;
	}
	return B;
}

#endif /* HPCCPP_ALGO_H */
