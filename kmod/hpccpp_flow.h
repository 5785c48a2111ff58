/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of one hpccpp flow, and how a reader finds it: icsk_ca_priv of a
 * socket whose icsk_ca_ops->name starts with "hpccpp" is a struct hpccpp_sock.
 * `hpccpp flow show` reads it with an eBPF iterator under the socket lock.
 */
#ifndef HPCCPP_FLOW_H
#define HPCCPP_FLOW_H

#include "hpccpp_algo.h"

/* By which readers know these fields: the number is another when one moves. */
#define HPCCPP_FLOW_LAYOUT	(6U << 16 | sizeof(struct hpccpp_flow))

/* Allocated in init, freed in release: 104 bytes of ca_priv do not hold L. */
struct hpccpp_flow {
	__u32 layout;		/* HPCCPP_FLOW_LAYOUT of who wrote it */
	__u32 T;		/* base RTT in use, us */
	struct hpccpp_state s;	/* the draft's variables */
	struct hpccpp_params p;	/* its parameters, as of this round trip */
	struct hpccpp_net *net;	/* of its namespace: knobs, counters */
	const void *dst;	/* the route that dev_segs is of; never looked into */
	__u64 min_B;		/* smallest B of the path, bytes/s */
	__u64 last_int;		/* when INT was last used, ns */
	__u32 conserve;		/* tp->delivered that ends conservation */
	__u32 last_update_seq;	/* line 24 */
	__u32 md_seq;		/* snd_nxt of the last decrease on loss */
	__u32 prior_W;		/* W before that decrease, bytes, for undo */
	__u32 prior_ceiling;	/* and the ceiling */
	__u32 min_rtt;		/* TCP's, that T is of, us */
	__u32 syn_rtt;		/* the handshake's RTT, us; 0: of no use */
	__u32 syn_queue;	/* of that, in queues as telemetry says, us */
	__u32 acks;		/* ACKs seen by the algorithm */
	__u32 updates;		/* of those, with INT that was used */
	__u32 silent;		/* ACKs since the last INT */
	__u32 gen;		/* number of the agent's echo that was read last */
	__u32 fallbacks;	/* times it fell back to Reno */
	__u32 rtt_sum;		/* sum of the RTTs of this round trip, us */
	__u32 rtt_n;		/* ACKs that had one */
	__u32 seek_segs;	/* segs_out when an agent was last sought */
	__u32 wnd_mark;		/* snd_una + 2 snd_wnd at the last round trip's end, bytes */
	__u32 off_rtt;		/* of means that were not T, the nearest to it, us */
	__u32 latency;		/* beyond TCP's minimum RTT, in no queue, us */
	__u32 ceiling;		/* upper bound of W: Reno's window, bytes; 0: none */
	__u32 round_seq;	/* snd_nxt when this round of fallback began */
	__u32 sent_params;	/* T, law, eta last sent to the agent; 0: no windows */
	__u32 sent_ai;		/* W_ai last sent, bytes */
	__u32 N;		/* flows that the receiver counts; 0: unknown */
	__u16 dev_segs;		/* sk_gso_max_segs as the device has it */
	__u16 burst_segs;	/* and as we have set it; 0: not */
	__u16 window_B;		/* min(B) of the receiver's last window, rate code */
	__u8  sought;		/* when an agent was last looked for, low byte of jiffies */
	__u8  off_rounds;	/* round trips in a row that T does not explain */
	__u8  conserving:1,	/* first round trip of recovery */
	      in_md:1,		/* a decrease since md_seq was sent: no other */
	      blind:1,		/* the bottleneck writes no telemetry */
	      off_slower:1,	/* ... as they are longer */
	      at_most:1,	/* W was as large as T allows, or nearly */
	      filled:1,		/* U was eta since the last decrease */
	      prior_filled:1,	/* before the last decrease, for undo */
	      queue:1,		/* a link without telemetry has a queue of this flow */
	      excused:1,	/* a recovery ended since the last telemetry */
	      starting:1,	/* slow start over a WAN: no loss yet */
	      prior_starting:1,	/* before the last decrease, for undo */
	      probing:1;	/* its first packets after idling are a probe */
	__u8  data_in;		/* data_segs_in when the flow began to send, low byte */
	__u8  looking;		/* round trips with half the window, to look why */
	__u8  loaded:1,		/* U >= eta since round_seq */
	      paced:1,		/* by TCP, or so that ACKs may be delayed: hpccpp_is_paced() */
	      agent:1;		/* an agent has bound the flow, or no_agent counts it */
	__u8  spread;		/* eighths of min(B) T added to W_max; 0: one link */
	__u8  rx;		/* the agent has receivers compute W */
};

/* icsk_ca_priv; the scalars are for get_info, which holds no lock. */
struct hpccpp_sock {
	struct hpccpp_flow *flow;
	unsigned long check;	/* of that pointer */
	__u64 R;		/* bytes/s */
	__u32 T;		/* us */
	__u32 U;		/* 1/2^20 */
	__u32 W;		/* bytes on the wire */
	__u32 W_max;		/* bytes on the wire */
	__u32 mode;		/* enum hpccpp_mode */
};

enum hpccpp_mode {
	HPCCPP_OFF,		/* init has not run: all-zero private area */
	HPCCPP_INT,		/* telemetry sets the window */
	HPCCPP_RENO,		/* no telemetry: fallback */
};

#endif /* HPCCPP_FLOW_H */
