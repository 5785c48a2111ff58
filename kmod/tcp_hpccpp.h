/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the files of the module share */
#ifndef TCP_HPCCPP_H
#define TCP_HPCCPP_H

#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#include "hpccpp_flow.h"

/*
 * HPCCPP_DEV_ROUNDS: consecutive round trips that are longer than T and the reported queues
 * explain, after which a flow probes for the cause. The same number of shorter round trips reduces
 * T. One is not enough: reports of a growing queue are a round trip old, and round trips vary. An
 * RTT counts with HPCCPP_SLOW_FLIGHT packets in flight, because a single packet may wait for the
 * receiver's delayed ACK.
 */
#define HPCCPP_SPREAD_MAX	56	/* eighths of min(B) T added to W_max: seven more links */
#define HPCCPP_DEV_ROUNDS	4
#define HPCCPP_SLOW_FLIGHT	4U
/*
 * D-EDGE: of so many RTT samples and as many before, the least counts, because noise of ACKs is not
 * in all of them. They have HPCCPP_EDGE_FLIGHT packets in flight, because a single packet may wait
 * for the receiver's delayed ACK.
 */
#define HPCCPP_EDGE_ACKS	4
#define HPCCPP_EDGE_FLIGHT	2U
/*
 * Round trips without a sample after which the earlier ones are forgotten. A flow that has become
 * slow has one packet in flight, and none of these samples. Of 16 flows that begin together, 8
 * would keep a twentieth of their share.
 */
#define HPCCPP_EDGE_AGE		8
/* Round trips without delay that bound the growth of W: by 1/4, 1/2, 1 and 2 W_f */
#define HPCCPP_EDGE_GROWTH	4
/*
 * Round trips with like delay after which it is latency. In a parking lot of four links, whose
 * flows keep a queue, 32 take it for latency, and 64 do not.
 */
#define HPCCPP_EDGE_ROUNDS	128
/* RTT samples of a round trip; with delayed ACKs there are one or two */
#define HPCCPP_PAUSE_ACKS	4

/*
 * A path with a longer T (us, about 500 km of fibre and back) is a WAN: most of its links are
 * expected to have no port agent, and a new flow does not begin at line rate. With a link of
 * 1 Gbit/s that reports telemetry, one of 50 Mbit/s with a buffer of 200 packets that does not, and
 * 50 ms, 6170 packets are sent again in 40 s without this rule, 478 with it, and 414 with Reno.
 */
#define HPCCPP_WAN_T		5000U

/* The least delay that counts, us: the resolution of TCP's clock */
#define HPCCPP_DEV_MIN		1U

/* Round trips with half of the window: the first and the last that have to show a queue */
#define HPCCPP_QTEST_FIRST	3
#define HPCCPP_QTEST_LAST	5

/* Least cwnd, packets: D-CWND */
#define HPCCPP_CWND_MIN		2U

/* N of W_ai, unless set or measured. */
#define HPCCPP_FLOWS		64

/* A flow with fewer updates takes each record as it is, having none to compare it with. */
#define HPCCPP_PATH_UPDATES	8

/* Value of f->sent_params if the agent's W is out of date. Other values have 28 bits. */
#define HPCCPP_PARAMS_RESEND	~0U

/* Headers that the link carries and TCP does not count: Ethernet's. */
#define HPCCPP_L2_LEN		14

/*
 * A GSO packet (TSO, GSO) is a burst. It has W / 2^this at most: if all flows of a link send one at
 * the same moment, these fill 1/16 of its BDP. One segment is always allowed. The table compares
 * three limits in the lab, with MTU 1500 and eta 0.98: W / 16, max(W / 16, min(8 segments, W / 4))
 * and max(W / 16, min(8 segments, W / 4, B T / 16)):
 *
 *	load, mean queue and p99 of the queue, packets
 *	                               W/16             W/4              W/4, B T/16
 *	4 flows, 25 Gbit/s, 20 us      0.980 0.5  2     0.977 0.6  3     0.978  0.6  3
 *	4 flows, 25 Gbit/s, 50 us      0.981 0.5  2                      0.951  4.2 14
 *	4 flows, 100 Gbit/s, 20 us     0.978 1.1  4     0.961 4.8 17     0.961  4.7 17
 *	16 flows, 100 Gbit/s, 20 us    0.982 1.5  4     0.977 2.5  7     0.977  2.5  8
 *	16 flows, 100 Gbit/s, 50 us    0.984 1.6  5     0.976 4.0 12     0.975  4.4 13
 *	2 flows, 25 Gbit/s, 8, 40 us   0.981 0.4  1     0.926 3.4        0.963  2.0  5
 *	8 flows, 100 Gbit/s, 8, 40 us  0.979 1.9  6                      0.956 10.2 33
 *
 * Both hosts together spend 11.3 instructions per byte with one segment per packet, 6.4 with
 * two, 3.5 with 4, 2.2 with 8, 1.7 with 16 and 1.2 with 44 (6.1 in a VM, Reno, no agents). W / 16
 * stays the limit, because long bursts of a flow with a long RTT delay flows with a short one. In
 * the last two rows, one flow has an RTT of 8 us and the others have 40 us. A flow of 40 us has
 * this many times the rate of the flow of 8 us, with 2 flows and with 8: 0.98 and 1.03 with W / 16,
 * 1.36 (2 flows) with W / 4, 1.12 and 1.41 with W / 4 and B T / 16.
 *
 * TCP small queues let as much wait in the device, but at least the bytes that it sends in
 * 1 s >> HPCCPP_PACING_SHIFT_MAX, 122 us, because its completions are late.
 */
#define HPCCPP_BURST_SHIFT	4
#define HPCCPP_PACING_SHIFT	10	/* the kernel's own */
#define HPCCPP_PACING_SHIFT_MAX	13

enum hpccpp_stat {
	HPCCPP_S_GUARDS,		/* HPCCPP_G_MAX of them */
	HPCCPP_S_ACKS = HPCCPP_S_GUARDS + HPCCPP_G_MAX,
	HPCCPP_S_INT,			/* reads of the agent's map with a new echo */
	HPCCPP_S_UPDATES,		/* reads with an echo that was used */
	HPCCPP_S_WINDOWS,		/* updates with a window of the receiver */
	HPCCPP_S_NO_AGENT,		/* flows that no agent has bound within a tick */
	HPCCPP_S_NO_MEMORY,		/* flows without state: Reno */
	HPCCPP_S_ENTER,			/* flows that came under INT */
	HPCCPP_S_FALLBACK,		/* flows that fell back to the Reno window */
	HPCCPP_S_BLIND,			/* of those, for a delay that telemetry does not explain */
	HPCCPP_S_NO_INT,		/* flows that began without INT */
	HPCCPP_S_MD_LOSS,		/* decreases on unexplained loss */
	HPCCPP_S_MD_RTO,		/* on a retransmission timeout */
	HPCCPP_S_MD_CWR,		/* on an ECN mark, or what TCP calls CWR */
	HPCCPP_S_EXPLAINED,		/* loss and marks that INT explains */
	HPCCPP_S_UNDO,			/* decreases taken back */
	HPCCPP_S_PROBES,		/* probes sent after idling */
	HPCCPP_S_MAX,
};

struct hpccpp_stats {
	u64 c[HPCCPP_S_MAX];
};

/* Per network namespace: net.hpccpp.* and /proc/net/hpccpp */
struct hpccpp_net {
	int eta;			/* percent; 0: hpccpp_eta() */
	int flows;			/* N */
	int base_rtt_us;		/* 0: hpccpp_base_rtt() */
	int probe;			/* T of idling; 0: never: D-PROBE */
	int law;			/* enum hpccpp_law */
	struct ctl_table_header *sysctl;
	struct hpccpp_stats __percpu *stats;
};

extern unsigned int hpccpp_net_id;
extern struct pernet_operations hpccpp_net_ops;

static inline struct hpccpp_net *hpccpp_net(const struct sock *sk)
{
	return net_generic(sock_net(sk), hpccpp_net_id);
}

/*
 * Returns eta in percent. With law averaged and an eta of 99, 98 and 95, 64 flows at 100 Gbit/s and
 * 20 us keep a queue of 5.7, 5.4 and 3.9 packets; at 10 Gbit/s and 8 us they keep 10, 8.8 and 5.7.
 */
static inline u32 hpccpp_eta(const struct hpccpp_net *hn, u16 law)
{
	return READ_ONCE(hn->eta) ?: law == HPCCPP_LAW_DRAFT ? 95 : 99;
}

static inline void hpccpp_count(const struct hpccpp_net *hn, unsigned int stat)
{
	this_cpu_inc(hn->stats->c[stat]);
}

/* Bytes of a full packet on the wire; TCP options come out of the MSS. */
static inline u32 hpccpp_wire_len(const struct sock *sk)
{
	return tcp_sk(sk)->mss_cache + tcp_sk(sk)->tcp_header_len +
	       inet_csk(sk)->icsk_af_ops->net_header_len + HPCCPP_L2_LEN;
}

/* Returns cwnd in bytes on the wire. */
static inline u64 hpccpp_cwnd_bytes(const struct sock *sk)
{
	return (u64)tcp_snd_cwnd(tcp_sk(sk)) * hpccpp_wire_len(sk);
}

/* W_init of the draft's section 5: what fills the path's smallest link. */
static inline u32 hpccpp_w_init(const struct hpccpp_flow *f)
{
	return min_t(u64, hpccpp_bdp(f->min_B, f->T), HPCCPP_W_LIMIT);
}

/* The initial window of the route, as tcp_init_cwnd() has it, packets */
static inline u32 hpccpp_first_flight(struct sock *sk)
{
	const struct dst_entry *dst = __sk_dst_get(sk);

	return (dst ? dst_metric(dst, RTAX_INITCWND) : 0) ?: TCP_INIT_CWND;
}

/* Returns TCP's smoothed RTT, us, or T if that is longer. */
static inline u32 hpccpp_rtt(const struct sock *sk, const struct hpccpp_flow *f)
{
	return max(f->T, tcp_sk(sk)->srtt_us >> 3);
}

/* Forgets the RTT samples of D-EDGE. */
static inline void hpccpp_forget_rtts(struct hpccpp_flow *f)
{
	f->rtt_least = ~0U;
	f->rtt_before = ~0U;
	f->rtt_age = 0;
	f->rtt_acks = 0;
}

/* Forgets delay of before a pause, or of before telemetry ended, and the bound that follows it. */
static inline void hpccpp_forget_edge(struct hpccpp_flow *f)
{
	hpccpp_forget_rtts(f);
	f->edge_W = 0;
	f->edge_rounds = 0;
	f->edge_delays = 0;
}

/* Returns false if the flow has no telemetry: it runs Reno. */
static inline bool hpccpp_has_int(const struct hpccpp_flow *f)
{
	return f->mode != HPCCPP_COEXIST || f->cause != HPCCPP_C_NO_INT;
}

/* Returns true in COEXIST while the Reno window grows as in slow start. */
static inline bool hpccpp_in_slow_start(const struct sock *sk, const struct hpccpp_flow *f)
{
	return f->W_reno < (u64)tcp_sk(sk)->snd_ssthresh * f->p.packet;
}

/* Sends the receiver the present W, from which it goes on if that is less than its own. */
static inline void hpccpp_resend_params(struct hpccpp_flow *f)
{
	if (f->sent_params)
		f->sent_params = HPCCPP_PARAMS_RESEND;
}

/*
 * Returns true if nothing is in flight, and nothing has been for T base RTTs, plus the time for
 * which pacing holds a packet back.
 */
static inline bool hpccpp_paused(const struct sock *sk, const struct hpccpp_flow *f, u64 T)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	T += DIV_ROUND_UP(f->p.packet, f->s.W);
	return !tp->packets_out && tp->tcp_clock_cache - f->last_int > T * f->T * 1000;
}

/*
 * Returns true if the flow has paused for so long that it begins with a probe: the first two
 * packets of its data, which take the same path and queue as the rest. The rest waits until the ACK
 * of the probe reports the load. Data that fits into the probe does not wait.
 */
static inline bool hpccpp_has_idled(const struct sock *sk, const struct hpccpp_flow *f)
{
	u32 probe = READ_ONCE(f->net->probe);

	return probe && !f->probing && hpccpp_paused(sk, f, probe);
}

/* Each file calls only the ones before it: params, output, state, rx, main. */

/* hpccpp_params.c */
void hpccpp_learn_T(const struct sock *sk, struct hpccpp_flow *f);
u32 hpccpp_base_rtt(const struct sock *sk, const struct hpccpp_flow *f);
void hpccpp_handshake_queue(const struct sock *sk, struct hpccpp_flow *f,
			    const struct hpccpp_int *rec, int n);
u32 hpccpp_longest_queue(const struct hpccpp_int *rec, int n, u64 *us);
u32 hpccpp_w_max(const struct hpccpp_flow *f);
void hpccpp_get_params(const struct sock *sk, struct hpccpp_flow *f);

/* hpccpp_output.c */
void hpccpp_set_pacing(struct sock *sk, const struct hpccpp_flow *f);
void hpccpp_set_cwnd(struct sock *sk, struct hpccpp_flow *f, u32 acked);
void hpccpp_set_small_queue(struct sock *sk, const struct hpccpp_flow *f);
void hpccpp_limit_burst(struct sock *sk, struct hpccpp_flow *f, bool may_probe);
void hpccpp_unlimit_burst(struct sock *sk, struct hpccpp_flow *f);

/* hpccpp_state.c */
void hpccpp_enter_coexist(struct sock *sk, struct hpccpp_flow *f, enum hpccpp_cause cause,
			  u64 W_reno);
void hpccpp_grow_reno(struct sock *sk, struct hpccpp_flow *f, u32 acked);
void hpccpp_restart_reno(struct sock *sk, struct hpccpp_flow *f);
void hpccpp_lose_int(struct sock *sk, struct hpccpp_flow *f);
void hpccpp_enter_steer(struct sock *sk, struct hpccpp_flow *f, const struct hpccpp_int *rec);
void hpccpp_set_params(struct sock *sk, struct hpccpp_flow *f);
bool hpccpp_start_anew(struct sock *sk, struct hpccpp_flow *f);
void hpccpp_check_delay(struct sock *sk, struct hpccpp_flow *f, bool loaded, u64 queue_us,
			u32 edge_us);
void hpccpp_updated(struct sock *sk, struct hpccpp_flow *f, bool loaded, bool round_ends);
void hpccpp_end_recovery(struct sock *sk, struct hpccpp_flow *f);
u32 hpccpp_half(const struct sock *sk, const struct hpccpp_flow *f);
void hpccpp_end_decrease(const struct sock *sk, struct hpccpp_flow *f);
void hpccpp_decrease(struct sock *sk, struct hpccpp_flow *f, enum hpccpp_stat why);
void hpccpp_undo(struct sock *sk, struct hpccpp_flow *f);

/* hpccpp_rx.c */
void hpccpp_send_params(struct sock *sk, struct hpccpp_flow *f);
bool hpccpp_apply_window(struct sock *sk, struct hpccpp_flow *f, u32 word);

#endif /* TCP_HPCCPP_H */
