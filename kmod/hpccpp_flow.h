/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of one hpccpp flow, and how a reader finds it: icsk_ca_priv of a
 * socket whose icsk_ca_ops->name is "hpccpp" is a struct hpccpp_sock.
 * `hpccpp flow show` reads it with an eBPF iterator under the socket lock.
 */
#ifndef HPCCPP_FLOW_H
#define HPCCPP_FLOW_H

#include "hpccpp_algo.h"

/* Identifies the layout of struct hpccpp_flow to readers; increase it when a field moves. */
#define HPCCPP_FLOW_LAYOUT	(9U << 16 | sizeof(struct hpccpp_flow))

/* State of a flow: hpccpp_state.c draws the transitions. */
enum hpccpp_mode {
	HPCCPP_OFF,		/* init has not run */
	HPCCPP_STEER,		/* telemetry sets W */
	HPCCPP_PROBE_LATENCY,	/* W is half: does a delay that telemetry does not explain end? */
	HPCCPP_COEXIST,		/* the Reno window bounds W; telemetry does, too, if there is any */
};

/* Why a flow is in COEXIST, and what ends it */
enum hpccpp_cause {
	HPCCPP_C_NO_INT,	/* no telemetry, until there is some */
	HPCCPP_C_BLIND,		/* the bottleneck reports none: until a link is full for an RTT */
	HPCCPP_C_LOSS,		/* loss at no full link: until one is full, or W_reno is W_max */
	HPCCPP_C_WAN,		/* a WAN: the same, or until T is no WAN's */
};

/* Allocated in init, freed in release: 104 bytes of ca_priv do not hold L. */
struct hpccpp_flow {
	__u32 layout;		/* HPCCPP_FLOW_LAYOUT of the module that allocated it */
	__u32 T;		/* base RTT in use, us */
	struct hpccpp_state s;	/* the draft's variables */
	struct hpccpp_params p;	/* the draft's parameters, as of this round trip */
	__u32 N;		/* number of flows that the receiver counts; 0: unknown */
	struct hpccpp_net *net;	/* sysctls and counters of the flow's namespace */
	const void *dst;	/* route that dev_segs belongs to; never dereferenced */
	__u64 min_B;		/* smallest B of the path, bytes/s */
	__u64 last_int;		/* time of the last telemetry that was used, ns */
	__u32 conserve;		/* tp->delivered that ends packet conservation in recovery */
	__u32 last_update_seq;	/* line 24 */
	__u32 md_seq;		/* snd_nxt at the last decrease on loss; 0: it is acknowledged */
	__u32 prior_W;		/* W before that decrease, bytes, for undo; 0: no undo */
	__u32 prior_reno;	/* W_reno before that decrease, bytes; 0: not in COEXIST */
	__u32 W_reno;		/* the Reno window in COEXIST, bytes */
	__u32 min_rtt;		/* TCP's minimum RTT when T was computed, us */
	__u32 syn_rtt;		/* the handshake's RTT, us; 0: unknown */
	__u32 syn_queue;	/* part of syn_rtt spent in queues that telemetry reported, us */
	__u32 acks;		/* ACKs that the algorithm has seen */
	__u32 updates;		/* ACKs with telemetry that was used */
	__u32 no_int;		/* ACKs without telemetry since the last update, outside recovery */
	__u32 gen;		/* number of the agent's feedback that was read last */
	__u32 rtt_sum;		/* sum of the RTT samples of this round trip, us */
	__u32 wnd_mark;		/* snd_una + 2 snd_wnd when the last round trip ended, bytes */
	__u32 dev_rtt;		/* mean RTT nearest to T in dev_rounds, us */
	__u32 rtt_least;	/* least of the last RTT samples, HPCCPP_EDGE_ACKS at most, us */
	__u32 rtt_before;	/* least of as many samples before these, us */
	__u32 edge_W;		/* W after the last round trip with delay, bytes; 0: no limit */
	__u32 latency;		/* latency beyond TCP's minimum RTT that is in no queue, us */
	__u32 sent_params;	/* T, law, eta last sent to the agent; 0: no windows requested */
	__u32 sent_ai;		/* W_ai last sent, bytes */
	__u16 fallbacks;	/* times that it came into COEXIST of cause NO_INT or BLIND */
	__u16 rtt_n;		/* number of RTT samples in rtt_sum */
	__u16 dev_segs;		/* the device's sk_gso_max_segs */
	__u16 burst_segs;	/* sk_gso_max_segs that the module has set; 0: none */
	__u16 window_B;		/* min(B) in the receiver's last window, rate code */
	__u16 edge_rtt;		/* RTT of the first of edge_delays, us */
	__u8  mode;		/* enum hpccpp_mode */
	__u8  cause;		/* enum hpccpp_cause, in COEXIST */
	__s8  dev_rounds;	/* round trips in a row longer than T explains; negative: shorter */
	__u8  spread;		/* eighths of min(B) T added to W_max; 0: one link */
	__u8  data_in;		/* data_segs_in when the flow began to send, low byte */
	__u8  sought;		/* tick when an agent was last sought, low byte of jiffies */
	__u8  seek_segs;	/* segs_out when an agent was last sought, low byte */
	__u8  rx;		/* 1: the agent has receivers compute W */
	__u8  link_full:1,	/* a link that reports was full since the last decrease */
	      loaded:1,		/* BLIND: each update of this round trip reported a full link */
	      probing:1,	/* first packets after idling: net.hpccpp.probe */
	      by_switch:1,	/* a switch has written a record, or a receiver a window */
	      limit_rounds:2,	/* round trips in a row that ended with W near W_max, to 2 */
	      seeks:2;		/* 1: sought an agent; 2: had one, or no_agent counts the flow */
	__u8  rtt_acks:4,	/* samples in rtt_least */
	      qtest_round:4;	/* round trips in PROBE_LATENCY */
	__u8  edge_rounds:4,	/* round trips without delay since edge_W was set */
	      rtt_age:4;	/* round trips since the last sample for rtt_least */
	__u8  edge_delays;	/* round trips with like delay, and none without */
};

/* icsk_ca_priv */
struct hpccpp_sock {
	struct hpccpp_flow *flow;
	unsigned long check;	/* flow XOR a secret of the module */
};

#endif /* HPCCPP_FLOW_H */
