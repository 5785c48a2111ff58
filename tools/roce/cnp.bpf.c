// SPDX-License-Identifier: GPL-2.0
/*
 * The reaction point of RoCEv2: what a NIC's congestion control does, at the device
 * of a host whose RDMA stack has none (draft-xiao-rtgwg-rocev2-fast-cnp-02).
 *
 * On egress data packets are told apart by destination and destination QP, which is
 * what a Fast CNP names, and those of a flow that is held back get a departure time
 * by its rate, which fq honours. On ingress CNPs are taken off the wire, before the
 * stack sees them, and judged: only what a listed source says of a flow that is
 * really sending is heeded, all else is dropped and counted.
 *
 * A flow can take another way, too, around a switch that has sent a Fast CNP: its
 * packets get another UDP source port, by which switches choose among ways.
 *
 * Where it is to, it also gives the data packets that leave an IOAM trace, for ports to
 * write into, and takes it off those that come, before the stack sees them: rxe looks for
 * UDP right behind the IPv6 header. And it can be the notification point, too: then data
 * packets that come with a congestion mark are answered with a CNP.
 */
#include "vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "hpccpp_answer.h"
#include "hpccpp_cnp.h"
#include "hpccpp_prefix.h"
#include "hpccpp_skb.h"

#define E2BIG		7	/* what a full hash answers */

#define NEXT_HBH	0
#define OPT_PAD1	0
#define OPT_PADN	1
#define OPTIONS_MAX	8	/* looked at in a Destination Options header */
#define TRACE_OPTIONS_MAX 6	/* and in one with a trace: PadN, it, padding */

/* Opcodes; of all services but for their three high bits */
#define ROCE_READ_RESPONSE	0x0d	/* the first of four */
#define ROCE_ACK	0x11
#define ROCE_ATOMIC_ACK	0x12
#define PSN_MASK	0xffffff
#define ACK_REQ		0x80000000	/* beside it, host order */
#define PSN_WINDOW	1024	/* an ACK's is one of the last so many sent */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hpccpp_cnp_cfg);
} cnp SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HPCCPP_CS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} cnp_stats SEC(".maps");

struct prefix_map cnp_accept SEC(".maps");
struct prefix_map cnp_detour SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HPCCPP_CNP_FLOWS);
	__type(key, struct hpccpp_cnp_key);
	__type(value, struct hpccpp_cnp_flow);
} cnp_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_CNP_FLOWS);
	__type(key, struct hpccpp_cnp_qp);
	__type(value, __u32);
} cnp_qps SEC(".maps");

/* When the device is done with what flows gave it that are not held back, by its rate */
struct wire {
	struct bpf_spin_lock lock;
	__u64 done;		/* ns */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire);
} cnp_wire SEC(".maps");

/* Flows that come, by peer and our QP */
struct heard {
	__u64 answered;		/* when it last had a CNP, ns */
	__u32 psn;		/* of the last data packet */
	__u32 qpn;		/* the peer's QP; 0: not known */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_CNP_FLOWS);
	__type(key, struct hpccpp_cnp_qp);
	__type(value, struct heard);
} cnp_heard SEC(".maps");

/* A peer's QP, to our QP that it sends to */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_CNP_FLOWS);
	__type(key, struct hpccpp_cnp_qp);
	__type(value, __u32);
} cnp_senders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cnp_space);
} cnp_space SEC(".maps");

/* CNPs in all */
struct answers {
	struct bpf_spin_lock lock;
	__u64 next;		/* when the next would be due, ns */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct answers);
} cnp_answers SEC(".maps");

/*
 * No packet has both QPs of a flow. But data that asks for an ACK gets one with its PSN,
 * to the other QP: whose data had that PSN last, by its peer and whether it came from it?
 */
struct asking {
	__be32 peer[4];
	__u32 psn;
	__u32 came;
};

struct asked {
	__u64 at;		/* ns */
	__u32 qpn;		/* that the data was to */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4 * HPCCPP_CNP_FLOWS);
	__type(key, struct asking);
	__type(value, struct asked);
} cnp_asked SEC(".maps");

/* When the flows were last gone through for one to give up, ns */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} cnp_walks SEC(".maps");

/* A flow before its first packet, all zero: too large for the stack; has no lock */
struct no_flow {
	__u8 zero[sizeof(struct hpccpp_cnp_flow)];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct no_flow);
} cnp_new SEC(".maps");

static __always_inline void count(__u32 stat)
{
	__u64 *c = bpf_map_lookup_elem(&cnp_stats, &stat);

	if (c)
		(*c)++;
}

static __always_inline bool same_address(const __be32 *a, const __be32 *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/* Offset of the IPv6 header, which is loaded; 0 when there is none. */
static __always_inline __u32 ipv6_offset(struct __sk_buff *skb,
					 struct ipv6hdr *ip)
{
	__u16 proto;
	__u32 off = ip_offset(skb, &proto);

	if (!off || proto != bpf_htons(ETH_P_IPV6) ||
	    bpf_skb_load_bytes(skb, off, ip, sizeof(*ip)))
		return 0;
	return off;
}

/*
 * True when it is RoCEv2: then roce is loaded, from at, which comes in as the offset
 * of what follows the IPv6 header. Options may stand before UDP: a trace does.
 */
static __always_inline bool load_roce(struct __sk_buff *skb, __u8 next,
				      __u32 *at, struct roce *roce)
{
	struct {
		__u8 next;
		__u8 len;
	} ext;
	int i;

	for (i = 0; i < 2; i++) {
		if (next != NEXT_HBH && next != NEXT_DEST)
			break;
		if (bpf_skb_load_bytes(skb, *at, &ext, sizeof(ext)))
			return false;
		next = ext.next;
		*at += (ext.len + 1) * 8;
	}
	return next == NEXT_UDP &&
	       !bpf_skb_load_bytes(skb, *at, roce, sizeof(*roce)) &&
	       roce->udp.dest == bpf_htons(HPCCPP_ROCE_PORT);
}

static __always_inline bool listed(void *map, const void *source)
{
	struct hpccpp_prefix p = { .prefixlen = 128 };

	__builtin_memcpy(p.addr, source, sizeof(p.addr));
	/* ::ffff:a.b.c.d is on no wire, and would match IPv4's prefixes */
	return bpf_map_lookup_elem(map, &p);
}

/* May the flows be gone through again? At most once in 10 ms, as it takes a while. */
static __always_inline bool may_walk(__u64 now)
{
	__u32 zero = 0;
	__u64 *at = bpf_map_lookup_elem(&cnp_walks, &zero);

	if (!at || now - *at < 10000000)
		return false;
	*at = now;
	return true;
}

/* --- Traces --------------------------------------------------------------------- */

/* What changes in an IPv6 header with the headers behind it */
struct following {
	__be16 payload_len;
	__u8 nexthdr;
} __attribute__((__packed__));

/*
 * Headers of that length behind the IPv6 header are there, or gone: says so in it, in the
 * packet and here. False for an error.
 */
static __always_inline bool set_following(struct __sk_buff *skb, __u32 at,
					  struct ipv6hdr *ip, __u8 next,
					  __s32 more)
{
	struct following f = {
		.payload_len = bpf_htons(bpf_ntohs(ip->payload_len) + more),
		.nexthdr = next,
	};

	ip->payload_len = f.payload_len;
	ip->nexthdr = f.nexthdr;
	return !bpf_skb_store_bytes(skb, at + __builtin_offsetof(struct ipv6hdr, payload_len),
				    &f, sizeof(f), BPF_F_RECOMPUTE_CSUM);
}

/*
 * Gives a packet of RoCEv2 without extension headers a trace, when there is room for it.
 * Nothing that the ICRC is of changes but what who takes it off restores. False: the
 * packet is of no use any more.
 */
static __always_inline bool add_trace(struct __sk_buff *skb,
				      const struct hpccpp_cnp_cfg *cfg,
				      __u32 at, struct ipv6hdr *ip)
{
	__u32 hops = cfg->hops, len = HPCCPP_HBH_LEN(hops), mtu = 0;
	static const __u8 padn[4] = { OPT_PADN, 2 };
	struct hpccpp_hbh h = {
		.next = NEXT_UDP,
		.hdrlen = len / 8 - 1,
		.padn = { OPT_PADN },
		.type = HPCCPP_IOAM_HBH,
		.len = 2 + sizeof(h.trace) + HPCCPP_HBH_DATA(hops),
		.ioam_type = HPCCPP_IOAM_PREALLOC,
		.trace.ns = cfg->trace,
		.trace.node_flags = HPCCPP_IOAM_HPCC_WORDS << 3,
		.trace.rem = HPCCPP_HBH_DATA(hops) / 4,
		.trace.type = bpf_htonl(HPCCPP_IOAM_HPCC),
	};

	if (bpf_check_mtu(skb, 0, &mtu, len, 0)) {
		count(HPCCPP_CS_TRACE_MTU);
		return true;
	}
	/* what it adds behind the IPv6 header is zero */
	if (bpf_skb_adjust_room(skb, len, BPF_ADJ_ROOM_NET, 0)) {
		count(HPCCPP_CS_ERROR);
		return true;
	}
	if (!set_following(skb, at, ip, NEXT_HBH, len) ||
	    bpf_skb_store_bytes(skb, at + sizeof(*ip), &h, sizeof(h), BPF_F_RECOMPUTE_CSUM) ||
	    (hops & 1 &&
	     bpf_skb_store_bytes(skb, at + sizeof(*ip) + len - sizeof(padn), padn,
				 sizeof(padn), BPF_F_RECOMPUTE_CSUM)))
		return false;
	count(HPCCPP_CS_TRACE_ADDED);
	return true;
}

/* Is it a trace of our namespace? "at" is of the option's data. */
static __always_inline bool our_trace(struct __sk_buff *skb,
				      const struct hpccpp_cnp_cfg *cfg,
				      __u32 at, __u32 len, bool *wrong)
{
	struct {
		__u8 reserved, ioam_type;
		struct hpccpp_ioam_trace t;
	} __attribute__((__packed__)) o;
	__u32 nodelen;

	if (bpf_skb_load_bytes(skb, at, &o, sizeof(o)) ||
	    o.ioam_type != HPCCPP_IOAM_PREALLOC || o.t.ns != cfg->trace)
		return false;
	nodelen = HPCCPP_IOAM_NODELEN(o.t.node_flags);
	*wrong = !nodelen || nodelen != hpccpp_ioam_nodelen(bpf_ntohl(o.t.type)) ||
		 (len - sizeof(o)) % 4 ||
		 sizeof(o) + (o.t.rem & HPCCPP_IOAM_REM) * 4 > len;
	return true;
}

/*
 * How long are the Hop-by-Hop options, at "at", that may be taken off? They have a trace
 * of ours and padding, and RoCEv2 is behind them. 0: there is none; -1: ours, but its
 * lengths are wrong, or it is not alone. *option is where the trace is.
 */
static __always_inline int trace_header(struct __sk_buff *skb,
					const struct hpccpp_cnp_cfg *cfg,
					__u32 at, const struct ipv6hdr *ip,
					__u32 *option)
{
	struct {
		__u8 what;	/* next header, then the options' types */
		__u8 len;
	} o;
	__u32 end, udp, len, trace = 0, trace_len = 0, i;
	bool found = false, others = false, wrong;
	struct roce roce;

	if (bpf_skb_load_bytes(skb, at, &o, sizeof(o)) || o.what != NEXT_UDP)
		return 0;
	len = (o.len + 1) * 8;
	end = at + len;
	udp = end;
	if (!load_roce(skb, NEXT_UDP, &udp, &roce))
		return 0;
	at += sizeof(o);
	for (i = 0; i < TRACE_OPTIONS_MAX && at < end; i++) {
		/* two bytes of an option, or the last and what is behind */
		if (bpf_skb_load_bytes(skb, at, &o, sizeof(o)))
			return 0;
		if (o.what == OPT_PAD1) {
			at++;
			continue;
		}
		at += sizeof(o);
		if (o.what == HPCCPP_IOAM_HBH && !found) {
			found = true;
			trace = at;
			trace_len = o.len;
		} else if (o.what != OPT_PADN) {
			others = true;
		}
		at += o.len;
	}
	if (!found || !our_trace(skb, cfg, trace, trace_len, &wrong))
		return 0;
	if (wrong || others || at != end ||
	    bpf_ntohs(ip->payload_len) < len + sizeof(roce) + HPCCPP_ICRC_LEN)
		return -1;
	*option = trace - sizeof(o);
	return len;
}

/*
 * Takes the trace off a packet that has one of ours. False: the packet is of no use any
 * more. Not static: verified by itself, not once for all that may come of it.
 */
__noinline int hpccpp_remove_trace(struct __sk_buff *skb)
{
	struct hpccpp_cnp_cfg *cfg;
	struct ipv6hdr ip;
	__u32 zero = 0, at, option;
	int len;

	at = ipv6_offset(skb, &ip);
	cfg = bpf_map_lookup_elem(&cnp, &zero);
	if (!at || !cfg)
		return true;
	len = trace_header(skb, cfg, at + sizeof(ip), &ip, &option);
	if (len < 0)
		count(HPCCPP_CS_TRACE_LEFT);
	if (len <= 0)
		return true;
	if (bpf_skb_adjust_room(skb, -len, BPF_ADJ_ROOM_NET, 0)) {
		count(HPCCPP_CS_ERROR);
		return true;
	}
	if (!set_following(skb, at, &ip, NEXT_UDP, -len)) {
		count(HPCCPP_CS_ERROR);
		return false;
	}
	count(HPCCPP_CS_TRACE_REMOVED);
	return true;
}

/* Of RC, RD or XRC: others have none */
static __always_inline bool has_acks(__u8 opcode)
{
	return HPCCPP_ROCE_SERVICES >> (opcode >> 5) & 1;
}

static __always_inline bool is_ack(__u8 opcode)
{
	return has_acks(opcode) && (opcode & 31) == ROCE_ACK;
}

/* psn of an ACK, and the last one that was sent */
static __always_inline bool acks(__u32 psn, __u32 last)
{
	return ((last - psn) & PSN_MASK) < PSN_WINDOW;
}

/* Was it so few T ago that what sent then is sending? */
static __always_inline bool recent(const struct hpccpp_cnp_cfg *cfg, __u64 at,
				   __u64 now)
{
	return (__s64)(now - at) < cfg->hpcc.T * (HPCCPP_CNP_RECENT_T * 1000LL);
}

/* ... and may be waited for an ACK? What asks may be held back first. */
static __always_inline bool waits(const struct hpccpp_cnp_cfg *cfg,
				  const struct asked *by, __u64 now)
{
	return recent(cfg, by->at + HPCCPP_CNP_HELD, now);
}

/*
 * Data passes to that QP. Where two have the same PSN, as after a start from the same, it
 * is taken down for the one that is not paired: so each ACK pairs one more.
 */
static __always_inline void ask(const struct hpccpp_cnp_cfg *cfg,
				const __be32 *peer, const struct hpccpp_bth *bth,
				bool came, __u32 qpn, bool paired, __u64 now)
{
	struct asked by = { .at = now, .qpn = qpn }, *before;
	__u32 psn = bpf_ntohl(bth->psn);
	struct asking a = {
		.peer = { peer[0], peer[1], peer[2], peer[3] },
		.psn = psn & PSN_MASK,
		.came = came,
	};

	if (!(psn & ACK_REQ) || !has_acks(bth->opcode))
		return;
	before = paired ? bpf_map_lookup_elem(&cnp_asked, &a) : NULL;
	if (!before || before->qpn == qpn || !waits(cfg, before, now))
		bpf_map_update_elem(&cnp_asked, &a, &by, BPF_ANY);
}

/* The QP that data was to that asked for an ACK with this PSN; 0: none */
static __always_inline __u32 who_asked(const struct hpccpp_cnp_cfg *cfg,
				       const __be32 *peer, __u32 psn, bool came,
				       __u64 now)
{
	struct asking a = {
		.peer = { peer[0], peer[1], peer[2], peer[3] },
		.psn = psn,
		.came = came,
	};
	struct asked *by = bpf_map_lookup_elem(&cnp_asked, &a);

	return by && waits(cfg, by, now) ? by->qpn : 0;
}

/* --- Egress --------------------------------------------------------------------- */

static long give_up_idle(struct bpf_map *map, struct hpccpp_cnp_key *key,
			 struct hpccpp_cnp_flow *f, __u64 *now)
{
	if (*now > f->seen && *now - f->seen > HPCCPP_CNP_IDLE)
		bpf_map_delete_elem(map, key);
	return 0;
}

static __always_inline struct hpccpp_cnp_flow *
new_flow(const struct hpccpp_cnp_cfg *cfg, const struct hpccpp_cnp_key *key,
	 const struct ipv6hdr *ip, __u64 now)
{
	__u32 zero = 0;
	void *none = bpf_map_lookup_elem(&cnp_new, &zero);
	struct hpccpp_cnp_flow *f;

	if (!none)
		return NULL;
	if (bpf_map_update_elem(&cnp_flows, key, none, BPF_NOEXIST) == -E2BIG) {
		if (!may_walk(now))
			return NULL;
		bpf_for_each_map_elem(&cnp_flows, give_up_idle, &now, 0);
		bpf_map_update_elem(&cnp_flows, key, none, BPF_NOEXIST);
	}
	f = bpf_map_lookup_elem(&cnp_flows, key);
	if (f) {
		f->rate = cfg->dcqcn.line;
		__builtin_memcpy(f->saddr, &ip->saddr, sizeof(f->saddr));
	}
	return f;
}

/* Is what follows "busy" ours now? Nobody waits for it. */
static __always_inline bool take(struct hpccpp_cnp_flow *f)
{
	return !__sync_lock_test_and_set(&f->busy, 1);
}

static __always_inline void give_back(struct hpccpp_cnp_flow *f)
{
	__sync_lock_test_and_set(&f->busy, 0);
}

/* W_max by the slowest link heard of lately: it and an eighth, as the module does */
static __noinline void set_bounds(struct hpccpp_cnp_flow *f,
				  struct hpccpp_params *p,
				  const struct hpccpp_int *rec, int n,
				  __u64 now)
{
	__u64 B = hpccpp_min_B(&f->hpcc, f->min_B, rec, n, p->T, now);
	__u64 W = hpccpp_bdp(B, p->T);

	f->min_B = B;
	W += W / 8;
	if (B && W < p->W_max)
		p->W_max = W > p->W_min ? W : p->W_min;
}

/*
 * What no Fast CNP has told of for T had less than the ports' threshold: that, and no
 * more than eta, is the load then, as of a record that was left empty (difference 5 of
 * hpccpp_algo.h). R = W / T.
 */
static __noinline __u64 untold(struct hpccpp_cnp_flow *f,
			       const struct hpccpp_cnp_cfg *cfg, __u64 now)
{
	struct hpccpp_int below = { .U = cfg->threshold };
	__u64 T = (__u64)cfg->hpcc.T * 1000;
	struct hpccpp_params p = cfg->hpcc;
	int i;

	set_bounds(f, &p, NULL, 0, now);
	for (i = 0; i < 4; i++) {
		if (now < f->told + T)
			break;
		f->told += T;
		hpccpp_measure_inflight(&f->hpcc, &p, &below, 1, now);
		hpccpp_compute_wind(&f->hpcc, &p, true);
	}
	if (now > f->told + T)
		f->told = now - T;
	return hpccpp_rate(f->hpcc.W, p.T);
}

/* When the device would begin with a packet that it is given now */
static __always_inline __u64 wire_begins(__u32 len, __u64 line, __u64 now)
{
	__u64 begins = now, takes = len * 1000000000ULL / (line ? line : 1);
	__u32 zero = 0;
	struct wire *d = bpf_map_lookup_elem(&cnp_wire, &zero);

	if (!d)
		return now;
	bpf_spin_lock(&d->lock);
	if (d->done > begins)
		begins = d->done;
	d->done = begins + takes;
	bpf_spin_unlock(&d->lock);
	return begins;
}

/*
 * A packet of a flow leaves no sooner than the one before, also when the flow is held
 * back no more: who is overtaken is lost to the receiver. "next" of a flow that is not
 * held back is when the device will have sent what it was given, so that a first CNP
 * does not add to that.
 */
static __always_inline void pace(struct __sk_buff *skb,
				 const struct hpccpp_cnp_cfg *cfg,
				 struct hpccpp_cnp_flow *f, __u64 now)
{
	__u64 rate = 0, at, begins, line = cfg->dcqcn.line;
	__u32 len = skb->len;
	bool held;

	if (f->algorithm == HPCCPP_CNP_HPCC && f->rate < line &&
	    now > f->told && now - f->told >= cfg->hpcc.T * 1000ULL && take(f)) {
		rate = untold(f, cfg, now);
		give_back(f);
	}
	begins = f->rate < line ? now : wire_begins(len, line, now);
	bpf_spin_lock(&f->lock);
	at = f->next > now ? f->next : now;
	held = f->held > now;
	if (f->rate < line) {
		if (f->algorithm == HPCCPP_CNP_DCQCN) {
			hpccpp_dcqcn_advance(&f->dcqcn, &cfg->dcqcn, now, len);
			f->rate = f->dcqcn.R_C;
		} else if (rate) {
			f->rate = rate < line ? rate : line;
		}
		if (at > now + HPCCPP_CNP_HELD)
			at = now + HPCCPP_CNP_HELD;
		f->next = at + len * 1000000000ULL / (f->rate ? f->rate : 1);
		f->held = at;
		held = at > now;
	} else {
		at = f->held;
		if (f->next < begins)
			f->next = begins;
	}
	f->seen = now;
	f->packets++;
	f->bytes += len;
	bpf_spin_unlock(&f->lock);
	if (held) {
		skb->tstamp = at;
		count(HPCCPP_CS_PACED);
	}
	count(HPCCPP_CS_DATA);
}

/*
 * Data does not name the QP that it comes from, but an ACK of ours goes to it. Each of
 * theirs is that of one of ours at most: it leaves the last when it proves to be that of
 * another, and may take over one that was paired wrongly.
 */
static __always_inline void learn_sender(const struct hpccpp_cnp_cfg *cfg,
					 const struct ipv6hdr *ip,
					 const struct hpccpp_bth *bth, __u64 now)
{
	__u32 psn = bpf_ntohl(bth->psn) & PSN_MASK, *known, ours;
	struct hpccpp_cnp_qp theirs = {}, key = {};
	struct heard *h, *last = NULL;

	__builtin_memcpy(theirs.peer, &ip->daddr, sizeof(theirs.peer));
	theirs.qpn = bpf_ntohl(bth->qpn) & HPCCPP_QPN_MASK;
	__builtin_memcpy(key.peer, theirs.peer, sizeof(key.peer));
	known = bpf_map_lookup_elem(&cnp_senders, &theirs);
	if (known) {
		key.qpn = *known;
		last = bpf_map_lookup_elem(&cnp_heard, &key);
		if (last && last->qpn != theirs.qpn)
			last = NULL;
		if (last && acks(psn, last->psn))
			return;
	}
	ours = who_asked(cfg, key.peer, psn, true, now);
	key.qpn = ours;
	h = ours ? bpf_map_lookup_elem(&cnp_heard, &key) : NULL;
	if (!h)
		return;
	if (last)
		last->qpn = 0;
	h->qpn = theirs.qpn;
	bpf_map_update_elem(&cnp_senders, &theirs, &ours, BPF_ANY);
}

/*
 * Which of the two sequences of a queue pair is it of: its requests, or, READ responses
 * among them, its answers? What has no data waits for the data before it all the same.
 */
static __always_inline bool is_answer(__u8 opcode)
{
	return (opcode & 31) >= ROCE_READ_RESPONSE &&
	       (opcode & 31) <= ROCE_ATOMIC_ACK;
}

/*
 * A packet whose UDP header is at "at" gets that source port, and what sums it up
 * changes with it. False: the packet is of no use any more. Not static, as
 * hpccpp_remove_trace().
 */
__noinline int hpccpp_set_port(struct __sk_buff *skb, __u32 at, __u32 port)
{
	__be16 new = bpf_htons(port);
	struct udphdr udp;
	__u32 len, end, old, icrc;

	if (bpf_skb_load_bytes(skb, at, &udp, sizeof(udp)))
		return true;
	len = bpf_ntohs(udp.len) - HPCCPP_ICRC_LEN;
	end = at + len;
	/* RoCEv2's are multiples of 4, which the checksum of words relies on */
	if (len < sizeof(struct roce) || len > 0xffff || len % 4 ||
	    bpf_skb_load_bytes(skb, end, &old, sizeof(old)))
		return true;
	icrc = old ^ hpccpp_icrc_change(udp.source ^ new, len);
	at += __builtin_offsetof(struct udphdr, check);
	/* no checksum stays none; the hash is of the old port, and what ECMP goes by */
	return !bpf_l4_csum_replace(skb, at, udp.source, new,
				    sizeof(new) | BPF_F_MARK_MANGLED_0) &&
	       !bpf_l4_csum_replace(skb, at, old, icrc,
				    sizeof(icrc) | BPF_F_MARK_MANGLED_0) &&
	       !bpf_skb_store_bytes(skb, end, &icrc, sizeof(icrc), 0) &&
	       !bpf_skb_store_bytes(skb, at - __builtin_offsetof(struct udphdr, check),
				    &new, sizeof(new), BPF_F_INVALIDATE_HASH);
}

SEC("tc")
int hpccpp_cnp_out(struct __sk_buff *skb)
{
	struct hpccpp_cnp_key key = {};
	struct hpccpp_cnp_cfg *cfg;
	struct hpccpp_cnp_flow *f;
	__u32 zero = 0, ip_at, at, sequence;
	struct ipv6hdr ip;
	struct roce roce;
	bool data, answer;
	__u64 now;

	ip_at = ipv6_offset(skb, &ip);
	if (!ip_at)
		return TC_ACT_UNSPEC;
	at = ip_at + sizeof(ip);
	/* a CNP waits for nobody */
	if (!load_roce(skb, ip.nexthdr, &at, &roce) ||
	    roce.bth.opcode == HPCCPP_ROCE_CNP)
		return TC_ACT_UNSPEC;
	cfg = bpf_map_lookup_elem(&cnp, &zero);
	if (!cfg)
		return TC_ACT_UNSPEC;
	now = bpf_ktime_get_ns();
	data = hpccpp_roce_data(roce.bth.opcode);
	answer = is_answer(roce.bth.opcode);
	sequence = 1 << answer;
	__builtin_memcpy(key.daddr, &ip.daddr, sizeof(key.daddr));
	key.qpn = bpf_ntohl(roce.bth.qpn) & HPCCPP_QPN_MASK;
	f = bpf_map_lookup_elem(&cnp_flows, &key);
	if (!data) {
		if (cfg->answer == HPCCPP_ANSWER_CNP && is_ack(roce.bth.opcode))
			learn_sender(cfg, &ip, &roce.bth, now);
		if (f && f->data & sequence && f->held > now)
			skb->tstamp = f->held;
		if (f && f->data & sequence && f->port &&
		    !hpccpp_set_port(skb, at, f->port)) {
			count(HPCCPP_CS_ERROR);
			return TC_ACT_SHOT;
		}
		return TC_ACT_UNSPEC;
	}
	if (!f)
		f = new_flow(cfg, &key, &ip, now);
	if (!f) {
		count(HPCCPP_CS_UNTRACKED);
		return TC_ACT_UNSPEC;
	}
	f->data |= sequence;
	if (!answer) {
		f->psn = bpf_ntohl(roce.bth.psn) & PSN_MASK;
		ask(cfg, key.daddr, &roce.bth, false, key.qpn, f->lqpn, now);
	}
	f->sport = bpf_ntohs(roce.udp.source);
	if ((f->port && !hpccpp_set_port(skb, at, f->port)) ||
	    (cfg->hops && ip.nexthdr == NEXT_UDP && !add_trace(skb, cfg, ip_at, &ip))) {
		count(HPCCPP_CS_ERROR);
		return TC_ACT_SHOT;
	}
	pace(skb, cfg, f, now);
	return TC_ACT_UNSPEC;
}

/* --- Ingress -------------------------------------------------------------------- */

/* Of UDP in IPv6, over all; none at all, which UDP there may not have, is wrong. */
static __always_inline bool checksum_ok(struct ipv6hdr *ip,
					struct hpccpp_cnp *c)
{
	__u64 sum = bpf_htonl(NEXT_UDP) + (__u64)bpf_htonl(sizeof(*c));

	sum += (__u64)bpf_csum_diff(NULL, 0, (__be32 *)&ip->saddr, 32, 0);
	sum += (__u64)bpf_csum_diff(NULL, 0, (__be32 *)c, sizeof(*c), 0);
	return c->check && fold16(sum) == 0xffff;
}

/* Not inline: a frame of its own, gone before HPCC++ needs the stack */
static __noinline bool icrc_ok(const struct ipv6hdr *ip,
			       const struct hpccpp_cnp *c)
{
	return hpccpp_cnp_icrc(&ip->saddr, &ip->daddr, c) == c->icrc;
}

/* What a CNP did to a flow; with its lock held */
static __always_inline void heed(struct hpccpp_cnp_flow *f, __u64 rate,
				 __u8 cause, const __be32 *from, __u64 now)
{
	f->rate = rate;
	f->cause = cause;
	f->cnps++;
	f->cnp_at = now;
	if (cause != HPCCPP_CNP_SWITCH)
		return;
	f->from[0] = from[0];
	f->from[1] = from[1];
	f->from[2] = from[2];
	f->from[3] = from[3];
}

/* Does the flow react to a CNP that says no more than that? */
static __always_inline bool slow_down(const struct hpccpp_cnp_cfg *cfg,
				      struct hpccpp_cnp_flow *f,
				      const struct ipv6hdr *ip, __u8 cause,
				      __u64 now)
{
	__u64 T = cfg->hpcc.T * 1000ULL;
	bool heeded = false;
	__be32 from[4];

	__builtin_memcpy(from, &ip->saddr, sizeof(from));
	bpf_spin_lock(&f->lock);
	/* who knows the load by traces has no use for it */
	if (f->algorithm != HPCCPP_CNP_HPCC || f->rate >= cfg->dcqcn.line ||
	    (__s64)(now - f->cnp_at) > (__s64)(HPCCPP_STALE_T * T)) {
		if (f->algorithm != HPCCPP_CNP_DCQCN) {
			/* where the other algorithm left it */
			f->algorithm = HPCCPP_CNP_DCQCN;
			hpccpp_dcqcn_start(&f->dcqcn, f->rate);
		}
		heeded = hpccpp_dcqcn_cnp(&f->dcqcn, &cfg->dcqcn, now);
	}
	if (heeded)
		heed(f, f->dcqcn.R_C, cause, from, now);
	bpf_spin_unlock(&f->lock);
	return heeded;
}

/* What a node that fills in all that HPCC++ needs has written, in words */
enum { N_NODE, N_IFS, N_SEC, N_FRAC, N_DEPTH, N_TX, N_SPEED };
#define N_WORDS		HPCCPP_IOAM_HPCC_WORDS

/*
 * As a record of ours; false when the node did not know all. The U of a port is not in
 * a trace, and counts where there is no earlier record only: of a port with a queue it
 * is taken for full, and the queue.
 */
static __always_inline bool to_record(struct hpccpp_int *r, const __be32 *node,
				      __u32 T)
{
	__u32 ifs = bpf_ntohl(node[N_IFS]), depth = bpf_ntohl(node[N_DEPTH]);
	__u64 bps = hpccpp_ioam_speed(bpf_ntohl(node[N_SPEED]) >> 26), U = 0;
	__u32 id = (bpf_ntohl(node[N_NODE]) & 0xffffff) ^ ifs << 24;
	int i;

#pragma unroll
	for (i = N_SEC; i < N_SPEED; i++) {
		if (node[i] == 0xffffffff)
			return false;
	}
	if (!hpccpp_rate_ok(bps))
		return false;
	id = (id ^ ifs << 8) * 0x9e3779b1;
	if (depth)
		U = 64 + hpccpp_div((__u64)depth << HPCCPP_U_SHIFT,
				    hpccpp_bdp(bps / 8, T));
	depth >>= HPCCPP_QLEN_SHIFT;
	*r = (struct hpccpp_int) {
		.link = id >> 20,
		.rate = hpccpp_rate_encode(bps),
		.ts = (bpf_ntohl(node[N_SEC]) * 1000000000ULL +
		       bpf_ntohl(node[N_FRAC]) * 1000ULL) >> HPCCPP_TS_SHIFT &
		      HPCCPP_MASK24,
		.tx_bytes = bpf_ntohl(node[N_TX]) >> HPCCPP_TX_SHIFT &
			    HPCCPP_MASK24,
		.qlen = depth < HPCCPP_QLEN_MAX ? depth : HPCCPP_QLEN_MAX,
		.U = U < HPCCPP_U_MAX ? U : HPCCPP_U_MAX - 1,
	};
	return true;
}

/* What of an option is needed: where it is, and how long with all around it */
struct option {
	__u32 at;		/* of its data */
	__u32 end;		/* of the header */
	__u8 type;
	__u8 len;
};

/*
 * One record of a trace, that of its fullest port, as in a segment of TCP that has room
 * for one. False when there is none of use.
 */
static __noinline bool load_trace(struct __sk_buff *skb,
				  const struct hpccpp_cnp_cfg *cfg,
				  const struct option *o,
				  struct hpccpp_int *most)
{
	__u32 at = o->at + 2, end = o->at + o->len - 16, i;
	bool any = !cfg->n_namespaces, found = false;
	struct hpccpp_ioam_trace t;
	__be32 node[N_WORDS];
	struct hpccpp_int r;
	__u8 type;

	if (bpf_skb_load_bytes(skb, at - 1, &type, 1) ||
	    bpf_skb_load_bytes(skb, at, &t, sizeof(t)))
		return false;
	for (i = 0; i < HPCCPP_CNP_NAMESPACES; i++)
		any = any || (i < cfg->n_namespaces &&
			      cfg->namespaces[i] == bpf_ntohs(t.ns));
	if (type != HPCCPP_IOAM_PREALLOC || !any ||
	    (bpf_ntohl(t.type) & 0xffffff00) != HPCCPP_IOAM_HPCC ||
	    HPCCPP_IOAM_NODELEN(t.node_flags) != N_WORDS)
		return false;
	/* the last node, who sends this, is the first there */
	at += sizeof(t) + (t.rem & HPCCPP_IOAM_REM) * 4;
	for (i = 0; i < HPCCPP_CNP_NODES; i++) {
		if (at + sizeof(node) > end ||
		    bpf_skb_load_bytes(skb, at, node, sizeof(node)))
			break;
		at += sizeof(node);
		if (!to_record(&r, node, cfg->hpcc.T) ||
		    (found && r.U <= most->U))
			continue;
		*most = r;
		found = true;
	}
	return found;
}

/* Lines 1-27; 0 when there was nothing new. "busy" is ours. R = W / T. */
static __noinline __u64 told(struct hpccpp_cnp_flow *f,
			     const struct hpccpp_cnp_cfg *cfg,
			     const struct hpccpp_int *rec, __u64 now)
{
	__u64 T = cfg->hpcc.T * 1000ULL;
	struct hpccpp_params p = cfg->hpcc;
	bool commit;

	if (f->algorithm != HPCCPP_CNP_HPCC || f->rate >= cfg->dcqcn.line) {
		/* where the other algorithm left it */
		__builtin_memset(&f->hpcc, 0, sizeof(f->hpcc));
		f->min_B = 0;
		f->commit = 0;
		f->hpcc.W_c = hpccpp_bdp(f->rate, p.T);
		f->hpcc.W = f->hpcc.W_c;
	}
	commit = now >= f->commit;
	set_bounds(f, &p, rec, 1, now);
	if (!hpccpp_measure_inflight(&f->hpcc, &p, rec, 1, now))
		return 0;
	hpccpp_compute_wind(&f->hpcc, &p, commit);
	/* after a decrease half a T later, as difference 9 of the module */
	if (commit)
		f->commit = now + (f->hpcc.U >= p.eta ? T + T / 2 : T);
	f->told = now;
	return hpccpp_rate(f->hpcc.W, p.T);
}

/* A trace came: HPCC++. False: it was nothing new. */
static __always_inline bool follow(const struct hpccpp_cnp_cfg *cfg,
				   struct hpccpp_cnp_flow *f,
				   const struct ipv6hdr *ip, __u8 cause,
				   const struct hpccpp_int *rec, __u64 now)
{
	__u64 line = cfg->dcqcn.line, rate = 0;
	__be32 from[4];

	if (!take(f))
		return false;
	rate = told(f, cfg, rec, now);
	if (rate) {
		__builtin_memcpy(from, &ip->saddr, sizeof(from));
		bpf_spin_lock(&f->lock);
		f->algorithm = HPCCPP_CNP_HPCC;
		heed(f, rate < line ? rate : line, cause, from, now);
		bpf_spin_unlock(&f->lock);
	}
	give_back(f);
	return rate;
}

/* The flow takes another way, if the switch that a Fast CNP is of is one to go around. */
static __always_inline void detour(const struct hpccpp_cnp_cfg *cfg,
				   struct hpccpp_cnp_flow *f,
				   const struct ipv6hdr *ip, __u64 now)
{
	__u32 others = HPCCPP_ROCE_SPORTS - 1;
	__u64 T = cfg->hpcc.T * 1000ULL;
	bool moved;
	__u32 by;

	if (!cfg->detours || !listed(&cnp_detour, &ip->saddr))
		return;
	/* any but what it has, as nobody knows how switches choose */
	by = 1 + bpf_get_prandom_u32() % others;
	bpf_spin_lock(&f->lock);
	moved = !f->detours || (__s64)(now - f->detour_at) >
			       (__s64)(T * HPCCPP_CNP_DETOUR_T);
	if (moved) {
		f->port = HPCCPP_ROCE_SPORT +
			  ((f->port ?: f->sport) + by) % HPCCPP_ROCE_SPORTS;
		f->detours++;
		f->detour_at = now;
		/* what is on the old way is to be there first */
		f->next = (f->next > now ? f->next : now) + T;
		f->held = f->next < now + HPCCPP_CNP_HELD ? f->next :
							    now + HPCCPP_CNP_HELD;
	}
	bpf_spin_unlock(&f->lock);
	if (moved)
		count(HPCCPP_CS_DETOURED);
}

static __always_inline __u32 heeded_as(__u8 cause)
{
	return cause == HPCCPP_CNP_SWITCH ? HPCCPP_CS_SWITCH :
	       cause == HPCCPP_CNP_RECEIVER ? HPCCPP_CS_RECEIVER :
					      HPCCPP_CS_ORDINARY;
}

static __always_inline bool sending(const struct hpccpp_cnp_cfg *cfg,
				    const struct hpccpp_cnp_flow *f, __u64 now)
{
	return f->packets && recent(cfg, f->seen, now);
}

/*
 * Is there a Fast CNP's option in this Destination Options header, with UDP behind
 * it? Others may stand beside it.
 */
static __always_inline bool find_option(struct __sk_buff *skb,
					const struct hpccpp_cnp_cfg *cfg,
					__u32 at, struct option *o)
{
	struct {
		__u8 next;
		__u8 len;
	} hdr;
	int i;

	if (bpf_skb_load_bytes(skb, at, &hdr, sizeof(hdr)) ||
	    hdr.next != NEXT_UDP)
		return false;
	o->end = at + (hdr.len + 1) * 8;
	at += sizeof(hdr);
	for (i = 0; i < OPTIONS_MAX; i++) {
		if (at + 2 > o->end ||
		    bpf_skb_load_bytes(skb, at, &o->type, 1))
			return false;
		if (o->type == OPT_PAD1) {
			at++;
			continue;
		}
		if (bpf_skb_load_bytes(skb, at + 1, &o->len, 1))
			return false;
		at += 2;
		if (o->type == cfg->type1 || o->type == cfg->type2) {
			o->at = at;
			return true;
		}
		at += o->len;
	}
	return false;
}

/* Why a CNP about this flow is not heeded, to be counted; HPCCPP_CS_MAX when it may be */
static __always_inline __u32 judge(const struct hpccpp_cnp_cfg *cfg,
				   const struct hpccpp_cnp_flow *f,
				   struct ipv6hdr *ip, struct hpccpp_cnp *c,
				   bool summed, __u64 now)
{
	__be32 addr[4];

	__builtin_memcpy(addr, &ip->daddr, sizeof(addr));
	if (!f || !same_address(addr, f->saddr))
		return HPCCPP_CS_UNKNOWN;
	if (!sending(cfg, f, now))
		return HPCCPP_CS_IDLE;
	if (summed && !checksum_ok(ip, c))
		return HPCCPP_CS_CHECKSUM;
	return icrc_ok(ip, c) ? HPCCPP_CS_MAX : HPCCPP_CS_ICRC;
}

/* A Fast CNP: what becomes of it, to be counted */
static __always_inline __u32 take_fast(struct __sk_buff *skb,
				       const struct hpccpp_cnp_cfg *cfg,
				       struct ipv6hdr *ip, __u32 ext,
				       const struct option *o)
{
	struct hpccpp_int rec = {};
	struct hpccpp_cnp_key key = {};
	struct hpccpp_cnp_flow *f;
	__u64 now = bpf_ktime_get_ns();
	struct hpccpp_cnp c;
	__be32 addr[4];
	__u32 fixed = 16;	/* of the option's data */
	__u32 wrong;
	__u8 cause;

	if (!listed(&cnp_accept, &ip->saddr))
		return HPCCPP_CS_DENIED;
	if (o->type == cfg->type2)
		fixed = HPCCPP_FCNP2_LEN(0);
	if (o->len < fixed || (o->type == cfg->type1 && o->len != fixed) ||
	    o->at + o->len > o->end ||
	    bpf_ntohs(ip->payload_len) != o->end - ext + sizeof(c) ||
	    bpf_skb_load_bytes(skb, o->at + o->len - 16, key.daddr, 16) ||
	    bpf_skb_load_bytes(skb, o->end, &c, sizeof(c)) ||
	    c.dport != bpf_htons(HPCCPP_ROCE_PORT) ||
	    c.len != bpf_htons(sizeof(c)) || c.bth.opcode != HPCCPP_ROCE_CNP)
		return HPCCPP_CS_MALFORMED;

	key.qpn = bpf_ntohl(c.bth.qpn) & HPCCPP_QPN_MASK;
	f = bpf_map_lookup_elem(&cnp_flows, &key);
	wrong = judge(cfg, f, ip, &c, true, now);
	if (!f || wrong != HPCCPP_CS_MAX)
		return wrong;

	__builtin_memcpy(addr, &ip->saddr, sizeof(addr));
	cause = same_address(addr, key.daddr) ? HPCCPP_CNP_RECEIVER :
						HPCCPP_CNP_SWITCH;
	if (o->type == cfg->type2 && cfg->algorithm == HPCCPP_CNP_AUTO) {
		if (load_trace(skb, cfg, o, &rec)) {
			if (!follow(cfg, f, ip, cause, &rec, now))
				return HPCCPP_CS_REPEATED;
			count(HPCCPP_CS_TRACED);
			goto heeded;
		}
		count(HPCCPP_CS_TRACE_BAD);
	}
	if (!slow_down(cfg, f, ip, cause, now))
		return HPCCPP_CS_REPEATED;
heeded:
	if (cause == HPCCPP_CNP_SWITCH)
		detour(cfg, f, ip, now);
	return heeded_as(cause);
}

/* Our QP of a flow, which an ACK that comes names: as learn_sender() the other way */
static __always_inline void learn_qp(const struct hpccpp_cnp_cfg *cfg,
				     const struct ipv6hdr *ip,
				     const struct hpccpp_bth *bth, __u64 now)
{
	__u32 psn = bpf_ntohl(bth->psn) & PSN_MASK, *known, theirs;
	struct hpccpp_cnp_flow *f, *last = NULL;
	struct hpccpp_cnp_key key = {};
	struct hpccpp_cnp_qp ours = {};

	__builtin_memcpy(ours.peer, &ip->saddr, sizeof(ours.peer));
	ours.qpn = bpf_ntohl(bth->qpn) & HPCCPP_QPN_MASK;
	__builtin_memcpy(key.daddr, ours.peer, sizeof(key.daddr));
	known = bpf_map_lookup_elem(&cnp_qps, &ours);
	if (known) {
		key.qpn = *known;
		last = bpf_map_lookup_elem(&cnp_flows, &key);
		if (last && last->lqpn != ours.qpn)
			last = NULL;
		if (last && acks(psn, last->psn))
			return;
	}
	theirs = who_asked(cfg, key.daddr, psn, false, now);
	key.qpn = theirs;
	f = theirs ? bpf_map_lookup_elem(&cnp_flows, &key) : NULL;
	if (!f)
		return;
	if (last)
		last->lqpn = 0;
	f->lqpn = ours.qpn;
	bpf_map_update_elem(&cnp_qps, &ours, &theirs, BPF_ANY);
}

/* A receiver's CNP, as it has always been: what becomes of it, to be counted */
static __always_inline __u32 take_ordinary(struct __sk_buff *skb,
					   const struct hpccpp_cnp_cfg *cfg,
					   struct ipv6hdr *ip, __u32 at)
{
	struct hpccpp_cnp_key key = {};
	__u64 now = bpf_ktime_get_ns();
	struct hpccpp_cnp_qp qp = {};
	struct hpccpp_cnp_flow *f;
	struct hpccpp_cnp c;
	__u32 *qpn, wrong;

	if (bpf_ntohs(ip->payload_len) != sizeof(c) ||
	    bpf_skb_load_bytes(skb, at, &c, sizeof(c)) ||
	    c.len != bpf_htons(sizeof(c)))
		return HPCCPP_CS_MALFORMED;
	__builtin_memcpy(qp.peer, &ip->saddr, sizeof(qp.peer));
	qp.qpn = bpf_ntohl(c.bth.qpn) & HPCCPP_QPN_MASK;
	qpn = bpf_map_lookup_elem(&cnp_qps, &qp);
	if (!qpn)
		return HPCCPP_CS_UNKNOWN;
	__builtin_memcpy(key.daddr, qp.peer, sizeof(key.daddr));
	key.qpn = *qpn;
	f = bpf_map_lookup_elem(&cnp_flows, &key);
	/* it may be another's by now */
	if (f && f->lqpn != qp.qpn)
		return HPCCPP_CS_UNKNOWN;
	/* RoCEv2's own packets may do without a checksum: the ICRC is there */
	wrong = judge(cfg, f, ip, &c, c.check, now);
	if (!f || wrong != HPCCPP_CS_MAX)
		return wrong;
	return slow_down(cfg, f, ip, HPCCPP_CNP_ORDINARY, now) ?
	       HPCCPP_CS_ORDINARY : HPCCPP_CS_REPEATED;
}

/* --- Notification point --------------------------------------------------------- */

#define ECN_CE		3
#define PACKET_HOST	0	/* pkt_type of what is to this machine's MAC address */
#define AF_INET6	10
#define LOOPBACK_IFINDEX	1

/* What a copy brings to hpccpp_answer() in skb->cb[]: places, from the IPv6 header */
enum { COPY_TRACE, COPY_UDP, COPY_QPN };

/*
 * Is it to this host? A host that forwards sends on what is not, or refuses it; one that
 * does not has no use for it, and no router gives it such. Whether it forwards is not
 * said by the device's own switch, but by that of all, which lo's follows. What is not
 * forwarded is ours, or has no route: then the main table has none either, where each
 * address of ours has its prefix.
 */
static __always_inline bool is_to_us(struct __sk_buff *skb,
				     const struct ipv6hdr *ip)
{
	struct bpf_fib_lookup fib = {
		.family = AF_INET6,
		.ifindex = skb->ifindex,
	};
	long ret;

	__builtin_memcpy(fib.ipv6_src, &ip->saddr, sizeof(fib.ipv6_src));
	__builtin_memcpy(fib.ipv6_dst, &ip->daddr, sizeof(fib.ipv6_dst));
	ret = bpf_fib_lookup(skb, &fib, sizeof(fib), 0);
	if (ret == BPF_FIB_LKUP_RET_FWD_DISABLED) {
		fib.ifindex = LOOPBACK_IFINDEX;
		ret = bpf_fib_lookup(skb, &fib, sizeof(fib), 0);
	}
	if (ret == BPF_FIB_LKUP_RET_NOT_FWDED)
		return bpf_fib_lookup(skb, &fib, sizeof(fib),
				      BPF_FIB_LOOKUP_DIRECT) !=
		       BPF_FIB_LKUP_RET_NOT_FWDED;
	return ret == BPF_FIB_LKUP_RET_FWD_DISABLED;
}

/*
 * A packet that came: is it data, with a congestion mark, of a flow that has had no CNP
 * for N? Then a copy goes to our ingress, to become one: hpccpp_answer(). Data are what
 * the stack takes, UDP being next or behind a trace that is taken off.
 */
__noinline int hpccpp_hear(struct __sk_buff *skb)
{
	static const struct heard none;
	struct hpccpp_cnp_qp key = {};
	__u32 zero = 0, at, udp, trace = 0, mark = skb->mark;
	struct hpccpp_cnp_cfg *cfg;
	struct answers *all;
	struct ipv6hdr ip;
	struct roce roce;
	struct heard *h;
	__u64 now, was;
	__be32 addr[4];
	bool marked;
	int len = 0;

	at = ipv6_offset(skb, &ip);
	cfg = bpf_map_lookup_elem(&cnp, &zero);
	/* an answer would leave without the tag */
	if (!cfg || at != ETHER_LEN || skb->vlan_present ||
	    skb->pkt_type != PACKET_HOST)
		return 0;
	marked = (ip.flow_lbl[0] >> 4 & 3) == ECN_CE;
	if (!marked && cfg->answer != HPCCPP_ANSWER_CNP)
		return 0;
	if (cfg->hops && ip.nexthdr == NEXT_HBH) {
		len = trace_header(skb, cfg, at + IP6_LEN, &ip, &trace);
		if (len <= 0)
			return 0;
		trace -= at;
	} else if (ip.nexthdr != NEXT_UDP) {
		return 0;
	}
	udp = at + IP6_LEN + len;
	if (bpf_skb_load_bytes(skb, udp, &roce, sizeof(roce)))
		return 0;
	key.qpn = roce_data_qpn(&roce);
	__builtin_memcpy(addr, &ip.daddr, sizeof(addr));
	if (!key.qpn || !is_unicast(addr))
		return 0;
	__builtin_memcpy(addr, &ip.saddr, sizeof(addr));
	if (!is_unicast(addr))
		return 0;
	__builtin_memcpy(key.peer, addr, sizeof(key.peer));
	h = bpf_map_lookup_elem(&cnp_heard, &key);
	if (!h) {
		bpf_map_update_elem(&cnp_heard, &key, &none, BPF_NOEXIST);
		h = bpf_map_lookup_elem(&cnp_heard, &key);
	}
	if (!h) {
		count(HPCCPP_CS_ERROR);
		return 0;
	}
	now = bpf_ktime_get_ns();
	/* READ responses are not of the sequence that our ACKs are of */
	if (cfg->answer == HPCCPP_ANSWER_CNP && !is_answer(roce.bth.opcode)) {
		h->psn = bpf_ntohl(roce.bth.psn) & PSN_MASK;
		ask(cfg, addr, &roce.bth, true, key.qpn, h->qpn, now);
	}
	was = h->answered;
	if (!marked)
		return 0;
	if (was && (__s64)(now - was) < (__s64)cfg->dcqcn.N) {
		count(HPCCPP_CS_SUPPRESSED);
		return 0;
	}
	if (!is_to_us(skb, &ip))
		return 0;
	if (cfg->answer == HPCCPP_ANSWER_CNP && !h->qpn) {
		count(HPCCPP_CS_UNPAIRED);
		return 0;
	}
	/* of two CPUs that have a packet of it one answers */
	if (__sync_val_compare_and_swap(&h->answered, was, now) != was) {
		count(HPCCPP_CS_SUPPRESSED);
		return 0;
	}
	all = bpf_map_lookup_elem(&cnp_answers, &zero);
	if (!all || !cfg->limit ||
	    over_limit(&all->lock, &all->next, 1000000000 / cfg->limit)) {
		count(HPCCPP_CS_LIMITED);
		return 0;
	}
	skb->cb[COPY_TRACE] = trace;
	skb->cb[COPY_UDP] = udp - at;
	skb->cb[COPY_QPN] = cfg->answer == HPCCPP_ANSWER_CNP ? h->qpn : key.qpn;
	skb->mark = cfg->mark;
	if (bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS))
		count(HPCCPP_CS_ERROR);
	skb->mark = mark;
	return 0;
}

/*
 * A copy becomes a CNP, and leaves by the device that it came by. From its destination,
 * so that a sender knows whom a Fast CNP is from. Not static, as hpccpp_remove_trace().
 */
__noinline int hpccpp_answer(struct __sk_buff *skb)
{
	__u32 zero = 0, len = 0, udp = skb->cb[COPY_UDP];
	struct hpccpp_cnp_cfg *cfg = bpf_map_lookup_elem(&cnp, &zero);
	struct cnp_space *s = bpf_map_lookup_elem(&cnp_space, &zero);
	struct addresses a;
	struct roce roce;
	bool cut = false;

	skb->mark = 0;
	if (!cfg || !s ||
	    bpf_skb_load_bytes(skb, ETHER_LEN + IP6_SADDR, a.dst, sizeof(a.dst)) ||
	    bpf_skb_load_bytes(skb, ETHER_LEN + IP6_DADDR, a.src, sizeof(a.src)) ||
	    bpf_skb_load_bytes(skb, ETHER_LEN + udp, &roce, sizeof(roce)) ||
	    sum_is_left(&a, &roce.udp))
		goto error;
	if (cfg->answer == HPCCPP_ANSWER_FAST) {
		len = put_option(skb, skb->cb[COPY_TRACE], IP6_DADDR, cfg->type1,
				 cfg->type2, s, &cut);
		if (!len)
			goto error;
	}
	if (len > FCNP2_HDR_MAX ||
	    !put_cnp(skb, udp, &roce, skb->cb[COPY_QPN], &a, s, len))
		goto error;
	count(HPCCPP_CS_ANSWERED);
	return bpf_redirect_neigh(skb->ifindex, NULL, 0, 0);
error:
	count(HPCCPP_CS_ERROR);
	return TC_ACT_SHOT;
}

SEC("tc")
int hpccpp_cnp_in(struct __sk_buff *skb)
{
	struct hpccpp_cnp_cfg *cfg;
	struct option o = {};
	__u32 zero = 0, at;
	struct ipv6hdr ip;
	struct roce roce;

	at = ipv6_offset(skb, &ip);
	cfg = bpf_map_lookup_elem(&cnp, &zero);
	if (!at || !cfg)
		return TC_ACT_UNSPEC;
	if (cfg->answer) {
		if (skb->mark == cfg->mark)
			return hpccpp_answer(skb);
		hpccpp_hear(skb);
	}
	if (cfg->hops && ip.nexthdr == NEXT_HBH) {
		if (!hpccpp_remove_trace(skb))
			return TC_ACT_SHOT;
		if (!ipv6_offset(skb, &ip))
			return TC_ACT_UNSPEC;
	}
	at += sizeof(ip);
	if (ip.nexthdr == NEXT_DEST && find_option(skb, cfg, at, &o)) {
		count(take_fast(skb, cfg, &ip, at, &o));
		return TC_ACT_SHOT;
	}
	if (ip.nexthdr != NEXT_UDP || !load_roce(skb, NEXT_UDP, &at, &roce))
		return TC_ACT_UNSPEC;
	if (is_ack(roce.bth.opcode)) {
		learn_qp(cfg, &ip, &roce.bth, bpf_ktime_get_ns());
	} else if (roce.bth.opcode == HPCCPP_ROCE_CNP) {
		count(take_ordinary(skb, cfg, &ip, at));
		return TC_ACT_SHOT;
	}
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
