/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent of RoCEv2 hosts, which reacts to CNPs and sends them: what it shares with the
 * command. Programs "hpccpp_cnp_out" and "hpccpp_cnp_in", on egress and ingress
 * of a device.
 */
#ifndef HPCCPP_CNP_H
#define HPCCPP_CNP_H

#include "hpccpp_agent.h"
#include "hpccpp_dcqcn.h"
#include "hpccpp_roce.h"

/* Preference of the filters: after those of a port, which may stamp and drop before us */
#define HPCCPP_CNP_PRIO		(HPCCPP_TC_PRIO + 1)

#define HPCCPP_CNP_FLOWS	4096
#define HPCCPP_CNP_NAMESPACES	4
#define HPCCPP_CNP_NODES	HPCCPP_HBH_HOPS	/* the most that a trace can have */

/* A flow counts as sending if it has sent data within so many T. */
#define HPCCPP_CNP_RECENT_T	100
/* A flow that has sent none for so long may give way to a new one. */
#define HPCCPP_CNP_IDLE		10000000000ULL	/* ns */

/*
 * Two records have to be so far apart for line 4, which divides by the time between them.
 * Nodes give the time in us (RFC 9197, 5.3), and over so many us the load is right to 2
 * percent, also where T is less. Where T is under 12.5 us 4 T have to do, as a record is
 * stale after 8.
 */
#define HPCCPP_CNP_SPAN		50	/* us */
/*
 * A receiver's CNP comes at most so many T after the trace that tells of the same
 * congestion.
 */
#define HPCCPP_CNP_SAME_T	2

/*
 * A packet is held back so long at most. rxe waits less than a second for the packets of a
 * queue pair that is destroyed, and the peer's timeout runs.
 */
#define HPCCPP_CNP_HELD		400000000ULL	/* ns */

/*
 * A flow takes another way at most once in so many T. It hears of the load of the new way
 * a T later at the earliest, and after so many T all that it knew of the old way is out of
 * date. It pauses for one of these T.
 */
#define HPCCPP_CNP_DETOUR_T	HPCCPP_STALE_T

enum hpccpp_cnp_algorithm {
	HPCCPP_CNP_AUTO,	/* HPCC++ by traces, DCQCN without */
	HPCCPP_CNP_DCQCN,	/* DCQCN in any case */
	HPCCPP_CNP_HPCC,	/* HPCC++: the state of a flow, not a setting */
};

/* The answer to data packets with a congestion mark */
enum hpccpp_cnp_answer {
	HPCCPP_ANSWER_NONE,
	HPCCPP_ANSWER_CNP,	/* RoCEv2's own, to the sender's QP */
	HPCCPP_ANSWER_FAST,	/* a receiver's Fast CNP */
};

/* Map "cnp", an array of one entry; written by the command before attaching. */
struct hpccpp_cnp_cfg {
	struct hpccpp_dcqcn_params dcqcn;
	struct hpccpp_params hpcc;	/* W_max: of the line rate */
	__u32 accepts;		/* entries in "cnp_accept" */
	__u32 detours;		/* entries in "cnp_detour": switches to go around */
	__u32 trace_to;		/* entries in "cnp_trace_to": peers whose data gets a trace */
	__u32 expected;		/* flows on a link, as it was given */
	__u16 namespaces[HPCCPP_CNP_NAMESPACES];	/* of IOAM traces */
	__u8  n_namespaces;	/* number of these; 0: all namespaces */
	__u8  algorithm;	/* AUTO or DCQCN */
	__u8  type1, type2;	/* option types of figures 3 and 4 */
	__u8  threshold;	/* 1/64: ports send Fast CNPs from this load on */
	__u8  threshold_percent;
	__u8  rate_given;
	__u8  hops;		/* room in traces for so many nodes; 0: no traces */
	__u8  answer;		/* enum hpccpp_cnp_answer */
	__be16 trace;		/* namespace of the traces that it adds */
	__u32 mark;		/* of copies that become answers, and never leave; 0: none */
	__u32 limit;		/* CNPs a second, as it was given */
};

/* Map "cnp_flows": data packets to one QP of one host. */
struct hpccpp_cnp_key {
	__be32 daddr[4];
	__u32 qpn;		/* destination QP, host order */
};

enum hpccpp_cnp_cause {
	HPCCPP_CNP_NONE,
	HPCCPP_CNP_SWITCH,	/* a Fast CNP of a switch */
	HPCCPP_CNP_RECEIVER,	/* one whose source is the flow's destination */
	HPCCPP_CNP_ORDINARY,	/* a receiver's CNP, without the option */
};

struct hpccpp_cnp_flow {
	/* for all up to "busy" but sport, data, lqpn and psn, each written at once */
	struct bpf_spin_lock lock;
	__u8  algorithm;	/* DCQCN or HPCC: which of them set "rate" */
	__u8  cause;		/* enum hpccpp_cnp_cause, of the last CNP heeded */
	__u16 sport;		/* UDP source port, as the stack has it */
	__u32 data;		/* sequences in which it has sent data: 1 requests, 2 answers */
	__u32 lqpn;		/* our QP; 0: not known */
	__u32 psn;		/* of the last data packet */
	__u64 rate;		/* bytes/s, the lower of both; that of the line: not held back */
	__u64 hpcc_rate;	/* by HPCC++; that of the line: no trace holds it back */
	__u64 next;		/* when the next packet may leave, ns */
	__u64 held;		/* when the last packet may leave, if it is held back, ns */
	__u64 seen;		/* when the last packet came from the stack, ns */
	__u64 packets, bytes;	/* data packets, as they leave the device */
	__u64 cnps;		/* CNPs heeded */
	__u64 cnp_at;		/* the last, ns */
	__u64 detour_at;	/* when it last took another way, ns */
	__u32 detours;		/* how often it did */
	__u32 port;		/* UDP source port in place of its own; 0: none */
	__be32 saddr[4];	/* ours */
	__be32 from[4];		/* source of the last Fast CNP of a switch */
	__be32 traced[4];	/* source of the last trace */
	__u64 traced_at;	/* when that came, ns */
	__u64 cut_at;		/* when a trace last asked for less, ns */
	struct hpccpp_dcqcn dcqcn;

	__u32 busy;		/* a CPU that sets it owns the fields below */
	__u64 told;		/* HPCC++ knows the load up to then, ns */
	__u64 commit;		/* when W_c may follow W again, ns */
	__u64 min_B;		/* bytes/s */
	struct hpccpp_state hpcc;
};

/* Map "cnp_qps": our QP, by its peer and its number, to the peer's. */
struct hpccpp_cnp_qp {
	__be32 peer[4];
	__u32 qpn;		/* ours */
};

/* Map "cnp_stats", per-CPU array indexed by this. Packets. */
enum hpccpp_cnp_stat {
	HPCCPP_CS_DATA,		/* data packets of flows that are known */
	HPCCPP_CS_PACED,	/* of these, held back */
	HPCCPP_CS_UNTRACKED,	/* data packets of flows that found no room */
	HPCCPP_CS_SWITCH,	/* Fast CNPs of switches heeded */
	HPCCPP_CS_RECEIVER,	/* Fast CNPs of receivers heeded */
	HPCCPP_CS_ORDINARY,	/* CNPs of receivers heeded */
	HPCCPP_CS_TRACED,	/* of all heeded, those whose trace HPCC++ has used */
	HPCCPP_CS_TRACE_BAD,	/* the trace was of no use; heeded as without one */
	HPCCPP_CS_REPEATED,	/* dropped: the flow has reacted to that congestion */
	HPCCPP_CS_DENIED,	/* dropped: not from a listed source */
	HPCCPP_CS_MALFORMED,	/* dropped: lengths, ports, opcode are wrong */
	HPCCPP_CS_UNKNOWN,	/* dropped: of no flow of this host */
	HPCCPP_CS_IDLE,		/* dropped: of a flow that is not sending */
	HPCCPP_CS_CHECKSUM,	/* dropped: UDP checksum is wrong */
	HPCCPP_CS_ICRC,		/* dropped: ICRC is wrong */
	HPCCPP_CS_ERROR,	/* a helper failed, or no memory */
	HPCCPP_CS_TRACE_ADDED,	/* data packets that left with a trace */
	HPCCPP_CS_TRACE_MTU,	/* ... without: it would be longer than the MTU */
	HPCCPP_CS_TRACE_REMOVED, /* packets that came with a trace, which was taken off */
	HPCCPP_CS_TRACE_LEFT,	/* ... with one that stays: malformed, or beside other options */
	HPCCPP_CS_ANSWERED,	/* CNPs made for data packets with a congestion mark */
	HPCCPP_CS_SUPPRESSED,	/* not made: the flow had one within N */
	HPCCPP_CS_LIMITED,	/* not made: over the limit */
	HPCCPP_CS_UNPAIRED,	/* not made: the QP of the sender is not known */
	HPCCPP_CS_DETOURED,	/* Fast CNPs that a flow took another way for */
	HPCCPP_CS_MAX,
};

#define HPCCPP_CNP_STAT_NAMES { \
	"data", "paced", "untracked", "switch", "receiver", "ordinary", \
	"traced", "trace_bad", "repeated", "denied", "malformed", "unknown", \
	"idle", "checksum", "icrc", "error", "trace_added", "trace_mtu", \
	"trace_removed", "trace_left", "answered", "suppressed", \
	"limited", "unpaired", "detoured" }

#endif /* HPCCPP_CNP_H */
