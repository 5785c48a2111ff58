/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection of the module in a process, module_kernel.h: what TCP and the host
 * agent do to the module, in words of TCP. The path, unless a test changes it, is one
 * link of 10 Gbit/s and 100 us: T is 105 us, W_init 131250 bytes.
 */
#ifndef HPCCPP_MODULE_TEST_H
#define HPCCPP_MODULE_TEST_H

#include "module_kernel.h"
#include "test.h"
#include "hpccpp_flow.h"
#include "hpccpp_wire.h"
#include "trace.h"

#define RTT		100U		/* us, the path's */
#define T_BASE		105U		/* and four packets at 10 Gbit/s, rounded up */
#define WIRE		1514U		/* bytes of a packet on the wire */
#define MSS		1448U
#define W_INIT		131250U		/* 10 Gbit/s for T_BASE */
#define W_MOST		147656U		/* and an eighth */
#define ETA		(95U * HPCCPP_ONE / 100)

/* A port that stamps. */
struct port {
	u16 id;
	u16 rate;		/* code */
	u8 N;			/* code; 0: not told */
	u64 bytes;		/* sent */
	u64 stamped;		/* when, ns */
};

#define TICK	(USEC_PER_SEC / HZ)
#define COOKIE	0xabcdef01ULL			/* of the socket */
#define KEY	(COOKIE ^ HPCCPP_FEEDBACK_KEY)

struct world {
	struct tcp_sock tp;
	struct sock *sk;
	struct hpccpp_feedback *feedback;	/* the agent's */
	struct port port, second;
	u32 rtt;			/* of what is acked, us */
	bool limited;			/* by the application */
	bool deaf;			/* there is no agent */
	void (*thief)(void);		/* another program, called like the agent */
	u32 calls;			/* of the agent's program */
	u32 told[3];			/* arguments of the last call, from 1 on */
	struct trace_hpccpp_update trace;	/* the last */
	u32 traces, commits;
	u32 commit_nxt;			/* snd_nxt at the last commit */
	struct bpf_local_storage storage;
	struct bpf_local_storage_map map, other_map;
	struct bpf_local_storage_elem elem, other;
};

extern struct world w;

/* The module is loaded again, and there is another socket: for a row of a table. */
void restart(void);
bool seeks_agent(void);		/* by its callback flags */
void pass(u64 us);
void knob(const char *name, s64 value);
int try_knob(const char *name, s64 value);
int write_knob(const char *name, const char *text);
const char *read_knob(const char *name);	/* valid until the next call */
void as_in_the_draft(void);	/* net.hpccpp.law=draft */
u64 counter(const char *name);

/* The agent has news: of the one link, of n records, of a window, or a bound of U. */
struct hpccpp_int stamp(struct port *port, double load, u32 qlen);
void news(double load, u32 qlen);
void news_of(const struct hpccpp_int *rec, int n);
void window(enum hpccpp_window_kind kind, u32 serial, u32 W, u32 value);

/* The connection: begin() as a client whose SYN-ACK had telemetry, if load >= 0. */
void begin(double load);
void begin_known(double load);	/* and has T and B by a second record */
void finish(void);
void submit(u32 packets);
void fill(void);
void ack(u32 packets);
void round_trip(double load);
void rounds(u32 n, u32 rtt, double load, u32 qlen);
void in_state(u8 state);
void lose(u32 packets);
void recovered(void);
void mark(void);
void timed_out(void);
bool steered(void);		/* telemetry sets W, within Reno's window or not */
u32 reno_bound(void);		/* Reno's window in COEXIST, bytes; 0: none */
bool conserving(void);		/* recovery sends a packet for one that has arrived */
struct hpccpp_flow *flow(void);
const struct hpccpp_sock *ca(void);
const struct tcp_congestion_ops *ops(void);

/* a is within 1/part of b */
void assert_near(u64 a, u64 b, u64 part);

#endif /* HPCCPP_MODULE_TEST_H */
