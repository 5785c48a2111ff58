/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Maps of the agents: what the command writes and shows, and the programs use.
 * Nothing is pinned: the command finds a port's program on its device and a
 * host's by its cgroup, and the maps by the program (by name, below).
 */
#ifndef HPCCPP_AGENT_H
#define HPCCPP_AGENT_H

#include "hpccpp_algo.h"
#include "hpccpp_wire.h"
#include "hpccpp_tag.h"

/*
 * Maps "host_prefix", peers to ask, "port_accept", ports that responses are taken
 * from, and "port_capable", senders: LPM tries. IPv4 as ::ffff:a.b.c.d (96+n)
 */
#define HPCCPP_PREFIXES		64
struct hpccpp_prefix {
	__u32 prefixlen;
	__u8  addr[16];
};

/*
 * Map "hpccpp_version", an array of one entry, bound to each agent's program: commands of all
 * versions can read it. Other maps may differ between versions, this one never does, and new
 * counters go to the end of their map.
 */
#define HPCCPP_VERSION_MAP	"hpccpp_version"
#define HPCCPP_CGROUP_LEN	256
struct hpccpp_version {
	char version[32];	/* of the command that has loaded it */
	char cgroup[HPCCPP_CGROUP_LEN];	/* absolute path of a host agent's; else empty */
};

/*
 * Port agent: program "hpccpp_port", or "hpccpp_port_ext" where it is to do more
 * than write its load into all that asks, or "hpccpp_port_cnp" where that has to do
 * with RoCEv2; on the device's egress.
 */

/*
 * Of filters, where there is no tcx: in front of all others, which may end the chain.
 * Beside another filter of eBPF with that preference the handle tells ours.
 */
#define HPCCPP_TC_PRIO		1	/* preference of a port's filters */
#define HPCCPP_EDGE_PRIO	3	/* of an edge's on ingress, behind those of other agents */
#define HPCCPP_TC_HANDLE	0x4850

enum hpccpp_queue {
	HPCCPP_QUEUE_QDISC,	/* backlog and bytes of the root qdisc */
	HPCCPP_QUEUE_VIRTUAL,	/* a FIFO of the port's rate, integrated */
};

/* How the root qdisc keeps its counters. */
enum hpccpp_root {
	HPCCPP_ROOT_FLAT,	/* backlog is what waits: tbf, htb, ... */
	HPCCPP_ROOT_HEAD,	/* backlog has the packet in service: netem */
};

/*
 * Map "port", an array of one entry per tx queue (one, unless the root is mq).
 * The configuration part is written once by the command before attaching.
 */
struct hpccpp_port_cfg {
	__u64 rate;		/* bit/s, of one queue */
	__u32 base_rtt;		/* us, T of the port's own U */
	__u16 link;		/* link id of queue 0; queue q has link + q */
	__u16 rate_code;	/* rate as on the wire */
	__u8  queue;		/* enum hpccpp_queue */
	__u8  root;		/* enum hpccpp_root, of the queue's own qdisc */
	__u8  mq;		/* the device's root is mq: choose a queue */
	__u8  overhead;		/* bytes of each frame that the link carries besides */
	__u32 queues;		/* entries in the map */
	__u32 rate_given;	/* 1: on the command line, 0: read */
	__u8  above;		/* 1/64, below it records stay empty; 0: none */
	__u8  above_percent;	/* as it was given */
	__u8  subscribed;	/* 1: only segments with this codepoint */
	__u8  dscp;
	__u8  respond;		/* 1/64, from it on INT responses; 0: none */
	__u8  ingress;		/* there is a program of ours on ingress too */
	__u16 respond_percent;	/* as it was given */
	__u32 mark;		/* of copies for responses and Fast CNPs, never to leave; 0: none */
	/* as they were when the port was added */
	__u32 channels;		/* that the device sends by, as ethtool says; 0: unknown */
	__u64 sent;		/* packets that the device had sent, or received if on_ingress */
	char  kind[16];		/* of the qdisc, that of each queue under mq; 0-terminated */
	__u32 told;		/* hash of the words that all this is of */
	__u32 on_ingress;	/* 1: for the link that packets come by, 0: that they leave by */
};

/* Who is told of a load: whoever computes W */
enum hpccpp_respond_to {
	HPCCPP_TO_SENDER,
	HPCCPP_TO_RECEIVER,
};

/* Map "port_response", an array of one entry: INT responses, both ways. */
struct hpccpp_port_response {
	struct bpf_spin_lock lock;
	__u32 interval;		/* ns between two, on the long run */
	__u64 next;		/* when the next would be due, ns */
	__u32 mark;		/* of packets that are to become one; 0: none */
	__u16 port;		/* UDP */
	__u8  accepts;		/* entries in "port_accept" */
	__u8  to;		/* enum hpccpp_respond_to */
	__u8  addr4[4];		/* ours, to send from; 0: none */
	__u8  addr6[16];
	__u32 limit;		/* responses a second, as it was given */
};

/* Map "port_roce", an array of one entry: RoCEv2 over IPv6. */
struct hpccpp_port_roce {
	__u64 clock;		/* ns: POSIX time less the monotonic clock */
	__u8  source[16];	/* Fast CNPs' */
	__u32 source_given;	/* 1: on the command line, 0: read */
	__u8  type1;		/* their option, of the draft's figure 3 */
	__u8  type2;		/* and of figure 4 */
	__u8  cnp;		/* 1/64, from it on Fast CNPs; 0: none */
	__u8  ecn;		/* mark the packet that is answered, too */
	__u16 cnp_percent;	/* as it was given */
	__u16 ns;		/* of traces to write into, network order */
	__u8  ioam;		/* write into these */
	__u8  speed;		/* as in a trace */
	__u8  border;		/* Fast CNPs pass neither way */
	__u8  capables;		/* entries in "port_capable": who is not marked */
	__u32 node;		/* 24 bits, all ones: none */
};

/* Responses and CNPs of a port, and of a host, a second */
#define HPCCPP_LIMIT		10000	/* the default */
#define HPCCPP_LIMIT_MAX	1000000
/* So many may go at once, as a time of their rate: one for each of many flows. */
#define HPCCPP_RESPONSE_BURST	100000000ULL	/* ns */

/*
 * Map "port_answered", who had a response: a bloom filter of two bits. A bit is
 * set when its entry is the number of this period, of base_rtt: the filter empties
 * by itself.
 */
#define HPCCPP_ANSWERED		4096

/*
 * Flows of a port, counted in epochs of so many T: whole multiples of that on its clock, so
 * that all queues of a device have the same. A flow asks once in a round trip, which is
 * longer than T where there is a queue.
 */
#define HPCCPP_COUNT_T		2
/* One that last asked more epochs ago than this is new. */
#define HPCCPP_COUNT_OLD	64U
/* The floor of W, a packet in 16 T, is a question in so many. */
#define HPCCPP_COUNT_RARE	8U
/*
 * New flows fill a bucket, from which HPCCPP_BEGUN_T flows leave in each T. Most flows of a
 * datacenter have a few packets and end within T, so eight new flows in each T do not share the
 * link with those of the T before. 200 flows of 500 KB that start within T fill 0.66 of a buffer of
 * 1 MB; if 16 flows leave in each T, they overflow it. The bucket holds HPCCPP_BEGUN_MAX at most:
 * with that many, even on a link of 400 Gbit/s and 20 us each flow begins with one packet.
 */
#define HPCCPP_BEGUN_T		8
#define HPCCPP_BEGUN_MAX	1000

struct hpccpp_flows {
	__u64 ends;		/* of this epoch, ns */
	__u64 begun;		/* the bucket's level: when it will be empty, ns */
	__u32 epoch;		/* its number */
	__u32 now;		/* flows that have asked in it */
	__u32 sum;		/* epochs since they last did, HPCCPP_COUNT_RARE at most */
	__u32 before;		/* the sum of the epoch before */
	__u32 last;		/* N of epochs before, falls by 1/8 with each */
	__u32 N;		/* as told */
};

/* Map "port_seen", by a flow's hash: the epoch in which one last asked; 0: none has */
#define HPCCPP_SEEN		16384

/* Packets that fq holds back for their pacing */
struct hpccpp_held {
	__u64 bytes;
	__u64 until;		/* when the last of them leaves, ns */
};

struct hpccpp_port {
	struct bpf_spin_lock lock;
	__u32 U;		/* 1/2^20, averaged over base_rtt */
	struct hpccpp_port_cfg cfg;
	struct hpccpp_link last;	/* last snapshot */
	__u64 v_now;		/* virtual queue: time of v_qlen, ns */
	__u64 v_qlen;		/* 1/256 bytes in it then, or in service */
	struct hpccpp_held v_held, v_next;	/* of these, in the order of time */
	__u64 v_in;		/* 1/256 bytes that entered so far */
	__u64 v_last;		/* 1/256 bytes of the last packet in */
	struct hpccpp_flows flows;
};

/* A flow that has begun is in the bucket for this time, ns */
#define HPCCPP_BEGUN_NS(port)	((__u64)(port)->cfg.base_rtt * (1000 / HPCCPP_BEGUN_T))

/* The level of the bucket, as the time that it takes to run empty, ns */
static inline __u64 hpccpp_begun(const struct hpccpp_port *p, __u64 now)
{
	__u64 left = p->flows.begun > now ? p->flows.begun - now : 0;
	__u64 most = HPCCPP_BEGUN_MAX * HPCCPP_BEGUN_NS(p);

	return left < most ? left : most;
}

/*
 * Map "port_stats", per-CPU array indexed by this. Packets. One of HPCCPP_PORT_STAT_KINDS
 * counts each packet that the agent sees, so that this takes no counter of its own.
 */
enum hpccpp_port_stat {
	HPCCPP_PS_STAMPED,	/* written into an empty record */
	HPCCPP_PS_REPLACED,	/* written over a less loaded record */
	HPCCPP_PS_KEPT,		/* all records there are more loaded */
	HPCCPP_PS_PASSED,	/* no space to write in was offered */
	HPCCPP_PS_QUIET,	/* left empty: the load is below the threshold */
	HPCCPP_PS_UNSUBSCRIBED,	/* brought space, has another DSCP codepoint */
	HPCCPP_PS_BAD,		/* malformed option, left alone */
	HPCCPP_PS_ERROR,	/* a helper failed: packet left alone */
	HPCCPP_PS_RESPONDED,	/* INT responses sent */
	HPCCPP_PS_SUPPRESSED,	/* none, nor a Fast CNP: the flow had one in this period */
	HPCCPP_PS_LIMITED,	/* none, nor a Fast CNP: more than the port's limit */
	HPCCPP_PS_ACCEPTED,	/* responses that went on to the flow */
	HPCCPP_PS_DENIED,	/* not from a listed source, dropped */
	HPCCPP_PS_UNKNOWN,	/* of no connection of this host, dropped */
	HPCCPP_PS_OUTSIDE,	/* of data that is not in flight, dropped */
	HPCCPP_PS_DAMAGED,	/* checksum wrong or no record, dropped */
	HPCCPP_PS_CNP_SENT,	/* Fast CNPs */
	HPCCPP_PS_CNP_CUT,	/* of these, without the trace: it is too long */
	HPCCPP_PS_CNP_MARKED,	/* data packets marked that were answered */
	HPCCPP_PS_TRACED,	/* a node's data written into an IOAM trace */
	HPCCPP_PS_TRACE_FULL,	/* no room for it: overflow set */
	HPCCPP_PS_TRACE_BAD,	/* malformed trace, left alone */
	HPCCPP_PS_BORDER_IN,	/* Fast CNPs dropped that came by the device */
	HPCCPP_PS_BORDER_OUT,	/* ... that were to leave by it */
	HPCCPP_PS_GUESSED,	/* under mq, and the driver chooses queues by itself */
	HPCCPP_PS_NOT_TCP,	/* no TCP header that is read: IP, and another protocol */
	HPCCPP_PS_TUNNEL,	/* ... or in it, and maybe TCP inside */
	HPCCPP_PS_EXTENSION,	/* ... behind extension headers */
	HPCCPP_PS_TAGS,		/* ... behind more tags than are read */
	HPCCPP_PS_OTHER,	/* ... not IP */
	HPCCPP_PS_STALE,	/* brought space, but the qdisc is another than was read */
	HPCCPP_PS_SEGMENTS,	/* segments of GSO packets, but the first of each */
	HPCCPP_PS_MAX,
};

#define HPCCPP_PORT_STAT_NAMES { \
	"stamped", "replaced", "kept", "passed", "quiet", "unsubscribed", \
	"bad", "error", "responded", "suppressed", "limited", "accepted", \
	"denied", "unknown", "outside", "damaged", "cnp_sent", "cnp_cut", \
	"cnp_marked", "traced", "trace_full", "trace_bad", "border_in", \
	"border_out", "guessed", "not_tcp", "tunnel", "extension", "tags", "other", \
	"stale", "segments" }

#define HPCCPP_PORT_STAT_KINDS { \
	HPCCPP_PS_STAMPED, HPCCPP_PS_REPLACED, HPCCPP_PS_KEPT, HPCCPP_PS_PASSED, \
	HPCCPP_PS_QUIET, HPCCPP_PS_UNSUBSCRIBED, HPCCPP_PS_BAD, HPCCPP_PS_ERROR, \
	HPCCPP_PS_NOT_TCP, HPCCPP_PS_TUNNEL, HPCCPP_PS_EXTENSION, HPCCPP_PS_TAGS, \
	HPCCPP_PS_OTHER, HPCCPP_PS_STALE }

/* Host agent: program "hpccpp_host", sock_ops of a cgroup. */

enum hpccpp_ask {
	HPCCPP_ASK_AUTO,	/* flows under hpccpp */
	HPCCPP_ASK_ALWAYS,	/* every flow, for tests and measurements */
	HPCCPP_ASK_NEVER,	/* only echo */
};

enum hpccpp_host_mode {
	HPCCPP_MODE_SENDER,	/* the sender computes W */
	HPCCPP_MODE_RECEIVER,	/* the receiver does, when both have this mode */
};

/* Map "host", an array of one entry; written by the command. */
struct hpccpp_host_cfg {
	__u8  ask;		/* enum hpccpp_ask */
	__u8  records;		/* records to ask for, 1..HPCCPP_REC_MAX */
	__u16 every;		/* ask in one of so many packets; 0: by the round trip */
	__u32 prefixes;		/* entries in "host_prefix"; 0: any peer */
	__u32 mode;		/* enum hpccpp_host_mode */
	char  fallback[16];	/* congestion control of flows without telemetry, 0-terminated */
	char  cgroup[HPCCPP_CGROUP_LEN];	/* absolute path, for show */
};

/*
 * Map "host_keys", an array of one entry; written by the command, which shows how
 * many there are and no more. The first signs, all are accepted.
 */
#define HPCCPP_KEYS		2
struct hpccpp_host_keys {
	struct hpccpp_key key[HPCCPP_KEYS];
	__u32 n;		/* of them in use */
	__u32 require;		/* ignore echoes whose tag is not right */
};

/* Map "host_peers", an LRU hash. Times are s of CLOCK_MONOTONIC. */
#define HPCCPP_PEERS		4096
#define HPCCPP_PEER_SEEN	3600	/* s for which a peer's agent is known */
#define HPCCPP_PEER_SUSPECT	60	/* s for which a path is suspected at first */
struct hpccpp_peer_key {
	__u64 netns;		/* cookie of the host's namespace */
	__u32 addr[4];		/* the peer's address, IPv4 as ::ffff:a.b.c.d */
};

struct hpccpp_peer {
	__u32 seen;		/* its agent was seen then; 0: never */
	__u32 until;		/* until then flows to it carry no option; 0: they do */
	__u32 times;		/* that it has been suspected before */
};

/* Map "host_stats", per-CPU array indexed by this. */
enum hpccpp_host_stat {
	HPCCPP_HS_ASKED,	/* collect options written */
	HPCCPP_HS_COLLECTED,	/* collect options that arrived */
	HPCCPP_HS_ECHOED,	/* echo options written, all records */
	HPCCPP_HS_ECHO_SHORT,	/* echoes cut to the most loaded record */
	HPCCPP_HS_ECHO_NONE,	/* due, and no room */
	HPCCPP_HS_ECHOES,	/* echo options that arrived */
	HPCCPP_HS_REQUESTED,	/* requests for windows written */
	HPCCPP_HS_COMPUTED,	/* windows computed and written */
	HPCCPP_HS_WINDOWS,	/* windows that arrived */
	HPCCPP_HS_GAVE_UP,	/* flows that stopped asking: no echo came */
	HPCCPP_HS_BAD,		/* malformed options that arrived */
	HPCCPP_HS_ERROR,	/* no memory, or a helper failed */
	HPCCPP_HS_SIGNED,	/* echoes written with a tag */
	HPCCPP_HS_TAG_ROOM,	/* echoes written without: no room for it */
	HPCCPP_HS_TAG_OK,	/* echoes that arrived with the right tag */
	HPCCPP_HS_TAG_NONE,	/* ... without a tag, and there is a key */
	HPCCPP_HS_TAG_BAD,	/* ... with a tag of no key of ours */
	HPCCPP_HS_TAG_OLD,	/* ... with the right tag of an old ACK */
	HPCCPP_HS_STOOD_IN,	/* times that a connection got the fallback */
	HPCCPP_HS_CAME_BACK,	/* of those, under hpccpp when telemetry came */
	HPCCPP_HS_SUSPECTED,	/* times that a path was suspected to drop the option */
	HPCCPP_HS_MAX,
};

#define HPCCPP_HOST_STAT_NAMES { \
	"asked", "collected", "echoed", "echo_short", "echo_none", \
	"echoes", "requested", "computed", "windows", "gave_up", "bad", \
	"error", "signed", "tag_room", "tag_ok", "tag_none", "tag_bad", "tag_old", \
	"stood_in", "came_back", "suspected" }

/* Why telemetry does not, or not alone, steer a flow that asked for hpccpp */
enum hpccpp_reason {
	HPCCPP_R_NONE,
	HPCCPP_R_NO_AGENT,	/* no host agent has it */
	HPCCPP_R_NOT_ASKED,	/* the agent's "ask" or "prefix" leaves its peer out */
	HPCCPP_R_NO_DATA,	/* none that it has sent asks */
	HPCCPP_R_NO_ECHO,	/* the peer does not answer */
	HPCCPP_R_EMPTY,		/* the peer's echoes are empty: no port writes */
	HPCCPP_R_UNUSED,	/* they are not, and none of them can be used */
	HPCCPP_R_LOST_ECHO,	/* no echo, of a flow that had telemetry */
	HPCCPP_R_LOST_RECORDS,	/* empty echoes, of a flow that had telemetry */
	HPCCPP_R_BLIND_DELAY,	/* a queue that telemetry does not explain */
	HPCCPP_R_BLIND_LOSS,	/* loss of that kind: W is at most Reno's window */
	HPCCPP_R_NO_MEMORY,	/* for the module's state */
	HPCCPP_R_MPTCP,		/* no echo: the socket is an MPTCP subflow */
	HPCCPP_R_MAX,
};

#define HPCCPP_REASON_NAMES { \
	"", "no-agent", "not-asked", "no-data", "no-echo", "empty", "unused", \
	"lost-echo", "lost-records", "blind-delay", "blind-loss", "no-memory", "mptcp" }

/* The names that `hpccpp flow show` has for the states of a flow: hpccpp, hpccpp-reno, off */
enum hpccpp_shown {
	HPCCPP_SHOWN_OFF,	/* init has not run */
	HPCCPP_SHOWN_INT,	/* telemetry sets W */
	HPCCPP_SHOWN_RENO,	/* no telemetry, or none of the bottleneck */
};

/*
 * Iterator "flow_show" over tcp sockets: one of these per flow under hpccpp, or under a
 * host agent's fallback.
 */
struct hpccpp_flow_rec {
	__u8  family;		/* AF_INET, AF_INET6 */
	__u8  state;		/* TCP state */
	__u8  mode;		/* enum hpccpp_shown */
	__u8  links;		/* entries of L in use */
	__u8  reason;		/* enum hpccpp_reason */
	__u8  law;		/* enum hpccpp_law */
	__u16 sport, dport;	/* host order */
	__u8  saddr[16], daddr[16];	/* IPv4 in the first 4 bytes */
	__u32 cwnd;		/* packets */
	__u32 srtt_us;
	__u32 layout;		/* of the module's struct hpccpp_flow; 0: no flow */
	__u32 T;		/* us */
	__u32 U, W, W_c, W_f;	/* as in struct hpccpp_state */
	__u32 inc_stage;
	__u32 acks, updates, fallbacks;
	__u64 R;		/* bytes/s */
	__u64 min_B;		/* bytes/s */
	__u64 ino;		/* socket inode: tells flows apart */
	__u16 bottleneck, records;
	__u32 guards[HPCCPP_G_MAX];
	char  fallback[16];	/* the congestion control that stands in; empty: none does */
};

#endif /* HPCCPP_AGENT_H */
