// SPDX-License-Identifier: GPL-2.0
/*
 * Port agent: writes the load of a device's egress port into TCP segments that
 * bring space for it (draft -02, section 3, "Network nodes"). On ingress, it writes the load
 * of the link that the packets came by: port_edge.h.
 *
 * A classifier on the device's egress, by tcx or a clsact. It runs before the packet
 * is queued, and before segmentation: a GSO packet gets one stamp. What it
 * writes is the port as this packet finds it, without this packet: as the first
 * segment of a GSO packet finds it. A record that counted those ahead of the last
 * segment would slow a flow down for its own bursts.
 *
 * With several records in the option a port takes the first empty one; when
 * none is empty it takes the least loaded one, if its own load is higher
 * (draft -00 section 3). Of two equal loads the slower link's stays: on an
 * idle path the record then names the link that limits a new flow.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "hpccpp_agent.h"
#include "hpccpp_answer.h"
#include "hpccpp_prefix.h"
#include "hpccpp_roce.h"
#include "hpccpp_skb.h"
#include "hpccpp_verifier.h"

#define IP_OFFSET	0x1fff
#define IP_MF		0x2000
#define IP_DF		0x4000
#define THIS_NETNS	((__u64)-1)	/* BPF_F_CURRENT_NETNS; some have it */

#define FQ_HORIZON	10000000000ULL	/* sch_fq's default, ns */
#define FRAME_MIN	60		/* an Ethernet frame's bytes, without its FCS */
#define TCP_WINDOW_MAX	(1U << 30)	/* TCP's, bytes */
#define TCPOPT_EOL	0
#define TCPOPT_NOP	1
#define TCPHDR_SYN	0x02
#define TCPHDR_PSH	0x08
#define TCP_CSUM_OFF	16	/* of the checksum in the TCP header */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hpccpp_port);
} port SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HPCCPP_PS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} port_stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hpccpp_port_response);
} port_response SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HPCCPP_ANSWERED);
	__type(key, __u32);
	__type(value, __u32);
} port_answered SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HPCCPP_SEEN);
	__type(key, __u32);
	__type(value, __u32);
} port_seen SEC(".maps");

struct prefix_map port_accept SEC(".maps");

/*
 * True if a port's queue may be that of its qdisc. The loader sets it before the
 * verifier looks: with false the verifier does not see the code that reads the
 * qdisc, and kernels without tracing helpers (UML) load the program as well.
 */
const volatile bool reads_qdisc = true;

/* True if the device may have several queues; as above */
const volatile bool several_queues = true;

/* The bit of the second identifier byte that a collect has and a burst has not */
#define COLLECT_BIT	(HPCCPP_EXID_COLLECT ^ HPCCPP_EXID_BURST)

/* What hpccpp_port_set() writes */
const volatile struct hpccpp_port_cfg cfg_to_set;

struct rec {
	__be32 w[3];
};

static __always_inline void count_more(__u32 stat, __u32 n)
{
	__u64 *c = bpf_map_lookup_elem(&port_stats, &stat);

	if (c)
		*c += n;
}

static __always_inline void count(__u32 stat)
{
	count_more(stat, 1);
}

/*
 * The header that the kernel gives to a TCP packet of more than 64 KB (IPv6 BIG TCP), up
 * to the length. It goes away where the packet is cut.
 */
struct jumbo {
	struct ip6_ext ext;	/* its a and b: the option's type and length */
	__be32 len;
};

static __always_inline bool is_jumbo(struct __sk_buff *skb, __u32 off,
				     const struct ipv6hdr *ip6)
{
	struct jumbo j;

	return ip6->nexthdr == IPPROTO_HOPOPTS && !ip6->payload_len &&
	       !bpf_skb_load_bytes(skb, off + sizeof(*ip6), &j, sizeof(j)) &&
	       j.ext.next == IPPROTO_TCP && !j.ext.len &&
	       j.ext.a == IPV6_TLV_JUMBO && j.ext.b == sizeof(j.len);
}

/*
 * Offset of the TCP header, or 0 when the packet is not TCP or is a later fragment.
 * Stores the DSCP codepoint unless ds is NULL.
 */
static __always_inline __u32 tcp_offset(struct __sk_buff *skb, __u32 off,
					__u16 proto, __u8 *ds)
{
	struct ipv6hdr ip6;
	struct iphdr ip;

	if (!off)
		return 0;
	if (proto == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes(skb, off, &ip, sizeof(ip)) ||
		    ip.protocol != IPPROTO_TCP || ip.ihl < 5 ||
		    ip.frag_off & bpf_htons(IP_OFFSET))
			return 0;
		if (ds)
			*ds = ip.tos >> 2;
		return off + ip.ihl * 4;
	}
	if (proto == bpf_htons(ETH_P_IPV6)) {
		if (bpf_skb_load_bytes(skb, off, &ip6, sizeof(ip6)) ||
		    (ip6.nexthdr != IPPROTO_TCP && !is_jumbo(skb, off, &ip6)))
			return 0;
		if (ds)
			*ds = ip6.priority << 2 | ip6.flow_lbl[0] >> 6;
		if (ip6.nexthdr != IPPROTO_TCP)
			off += sizeof(struct jumbo);
		return off + sizeof(ip6);
	}
	return 0;
}

/* A TCP header with its options */
struct tcp_header {
	union {
		__be32 word[15];
		__u8 byte[60];
	};
	__u32 len;		/* bytes of the header */
	volatile __u32 at;	/* offset of the option that comes next */
};

/*
 * Returns the offset of the collect or burst option, or 0. Walks kinds and lengths as a TCP
 * stack does: other options may precede ours, and bytes that look like ours inside another
 * option belong to that one. A separate function that keeps the offset in memory, where the
 * verifier does not follow its value: it walks each round of the loop once.
 */
SEPARATE int walk_options(struct tcp_header *h)
{
	__u32 at, len, i;

	if (!h)
		return 0;
	for (i = 0; i < sizeof(h->byte) - sizeof(struct tcphdr); i++) {
		at = h->at;
		if (at > sizeof(h->byte) - HPCCPP_OPT_HDR || at + HPCCPP_OPT_HDR > h->len)
			break;
		len = h->byte[at + 1];
		if (h->byte[at] == HPCCPP_OPT_KIND &&
		    h->byte[at + 2] == HPCCPP_EXID_COLLECT >> 8 &&
		    (h->byte[at + 3] | COLLECT_BIT) == (HPCCPP_EXID_COLLECT & 0xff))
			return at;
		if (h->byte[at] == TCPOPT_NOP)
			len = 1;
		else if (h->byte[at] == TCPOPT_EOL || len < 2)
			break;
		h->at = at + len;
	}
	return 0;
}

/*
 * Offset of the collect option from the TCP header, its length, and if it is a SYN's. All are
 * 0 when there is none; an option that cannot hold a record has only a length: it is malformed,
 * or it begins at an odd offset, where the checksum cannot be updated. A burst without PSH is
 * none: the segment that has it is behind.
 */
static __always_inline __u32 find_option(struct __sk_buff *skb, __u32 tcp,
					 __u32 *len, bool *syn)
{
	struct tcp_header h = {};
	__u32 n, at;

	if (bpf_skb_load_bytes(skb, tcp, &h, sizeof(struct tcphdr)))
		return 0;
	h.len = h.byte[12] >> 4 << 2;
	if (h.len < sizeof(struct tcphdr) + HPCCPP_OPT_LEN(1))
		return 0;
	n = h.len - sizeof(struct tcphdr);
	/* n <= 40 already; the verifier has lost track of that */
	asm volatile("" : "+r"(n));
	if (n > 40 || n < HPCCPP_OPT_LEN(1))
		return 0;
	if (bpf_skb_load_bytes(skb, tcp + sizeof(struct tcphdr), h.word + 5, n))
		return 0;
	/* nearly all segments begin with timestamps */
	h.at = h.word[5] == bpf_htonl(0x0101080a) ? 32 : 20;
	at = walk_options(&h);
	if (at < sizeof(struct tcphdr) || at > sizeof(h.byte) - HPCCPP_OPT_HDR)
		return 0;
	/* segmentation left PSH in the last segment of the burst, GRO keeps it */
	if (!(h.byte[at + 3] & COLLECT_BIT) && !(h.byte[13] & TCPHDR_PSH))
		return 0;
	*len = h.byte[at + 1];
	if ((*len != HPCCPP_OPT_LEN(1) && *len != HPCCPP_OPT_LEN(2) &&
	     *len != HPCCPP_OPT_LEN(3) &&
	     (*len != HPCCPP_SYNACK_LEN || !(h.byte[13] & TCPHDR_SYN))) ||
	    at + *len > h.len || at & 1) {
		*len = HPCCPP_OPT_HDR;
		return 0;
	}
	*syn = h.byte[13] & TCPHDR_SYN;
	return at;
}

/*
 * Two ways to read the kernel's structures: a helper call for each field or, where
 * the kernel knows the types of pointers (6.2), plain loads, which save an eighth of
 * the stamp. This file is compiled for either; the command takes the one that loads.
 */
#ifdef TYPED_POINTERS
extern void *bpf_cast_to_kern_ctx(void *obj) __ksym;
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym;
#define KERNEL_SKB(skb)	((struct sk_buff *)bpf_cast_to_kern_ctx(skb))
#define QDISC(q)	((struct Qdisc *)bpf_rdonly_cast(q, bpf_core_type_id_kernel(struct Qdisc)))
#define READ(p, field)	((p)->field)
#define READ_U64(from)	(*(__u64 *)(from))
#else
#define KERNEL_SKB(skb)	((struct sk_buff *)(skb))
#define QDISC(q)	(q)
#define READ(p, field)	BPF_CORE_READ(p, field)
#define READ_U64(from)	({ __u64 v; bpf_core_read(&v, sizeof(v), from); v; })
#endif

#include "port_queue.h"

/* Backlog and bytes of a queue's qdisc, without its lock; false if it is not the one that it was */
static __always_inline bool read_qdisc(struct __sk_buff *skb,
				       const struct hpccpp_port_cfg *cfg,
				       __u32 queue, __u64 *tx, __u64 *qlen)
{
	struct sk_buff *kskb = KERNEL_SKB(skb);
	struct net_device *dev = READ(kskb, dev);
	__u32 backlog, packets;
	struct Qdisc *q;

	if (cfg->mq) {
		/* a pointer plus the packet's queue index has no type */
		struct netdev_queue *txq = BPF_CORE_READ(dev, _tx);

		bpf_probe_read_kernel(&q, sizeof(q), (void *)txq +
				      queue * bpf_core_type_size(*txq) +
				      bpf_core_field_offset(txq->qdisc));
		q = QDISC(q);
	} else {
		q = READ(dev, qdisc);
	}
	if (!same_qdisc(dev, q, cfg))
		return false;
	backlog = READ(q, qstats.backlog);
	*tx = READ_U64(&q->bstats.bytes);
	if (cfg->overhead) {
		backlog += READ(q, q.qlen) * cfg->overhead;
		*tx += READ_U64(&q->bstats.packets) * cfg->overhead;
	}
	if (cfg->root == HPCCPP_ROOT_HEAD) {
		/* the packet in transmission does not wait: take one of mean size */
		packets = READ(q, q.qlen);
		backlog = packets ? backlog - backlog / packets : 0;
	}
	*qlen = backlog;
	return true;
}

/* What a guest sends may have no count of its segments. */
static __always_inline __u32 segments(const struct __sk_buff *skb)
{
	__u32 segs = skb->gso_segs, size = skb->gso_size;

	if (!segs && size)
		segs = (skb->len + size - 1) / size;
	return segs ?: 1;
}

/*
 * Bytes that a packet takes of its link, whose frames have len bytes. Without overhead they are
 * those of its frames, as a shaper counts them.
 */
static __always_inline __u32 link_bytes(__u32 len, __u32 segs,
					const struct hpccpp_port_cfg *cfg)
{
	if (!cfg->overhead)
		return len;
	if (len < segs * FRAME_MIN)
		len = segs * FRAME_MIN;
	return len + segs * cfg->overhead;
}

/*
 * When the packet is to leave, where that is to come: TCP has given it a time, for which it waits
 * in fq, and not for the link. Else 0. What is further ahead than fq lets packets wait is another
 * clock's time.
 */
static __always_inline __u64 leaves_at(const struct __sk_buff *skb, __u64 now)
{
	return skb->tstamp > now && skb->tstamp - now < FQ_HORIZON ? skb->tstamp : 0;
}

/*
 * Returns the bytes of the virtual queue whose departure time (skb->tstamp) is still ahead. There
 * are two batches of them, and a batch leaves when its last packet is due.
 */
static __always_inline __u64 held_back(struct hpccpp_port *p, __u64 now)
{
	if (now >= p->v_held.until) {
		p->v_held = p->v_next;
		p->v_next.bytes = 0;
		if (now >= p->v_held.until)
			p->v_held.bytes = 0;
	}
	return p->v_held.bytes + p->v_next.bytes;
}

/*
 * Bytes/s as 2^-30 bytes/ns, rounded up: virtual_queue() drains this without a division, which
 * is at most 4/256 bytes too much in 16 ms.
 */
static __always_inline __u64 drain_rate(__u64 B)
{
	return B * (1 << 21) / 1953125 + 1;	/* 2^30 / 10^9 */
}

/* Drains the queue up to now, by drain_rate(). */
static __always_inline void drain_queue(struct hpccpp_port *p, __u64 drain, __u64 now)
{
	__u64 ns = now > p->v_now ? now - p->v_now : 0;
	__u64 gone;

	/* in coarser steps where the product would overflow: B <= 2^39 bytes/s */
	if (ns < 1 << 24)
		gone = ns * drain >> 22;
	else if (ns < 1ULL << 36)
		gone = (ns >> 12) * drain >> 10;
	else
		gone = p->v_qlen;
	p->v_qlen = gone < p->v_qlen ? p->v_qlen - gone : 0;
	p->v_now += ns;
}

/*
 * A FIFO that all packets pass at a rate of drain_rate(), in 1/256 bytes. Drains it up to now,
 * returns its state, then adds this packet, whose segments have "each" bytes. Packets that the
 * device drops later count as sent. Of a host's own packets those that leave later are passed
 * by the others: they are the last to be drained, and wait for the link when their time has come.
 */
static __always_inline void virtual_queue(struct hpccpp_port *p, __u64 drain,
					  __u64 now, __u32 wire_len, __u32 each,
					  __u64 leaves, __u64 *tx, __u64 *qlen)
{
	__u64 held, waits;

	drain_queue(p, drain, now);
	*tx = (p->v_in - p->v_qlen) >> 8;
	held = held_back(p, p->v_now) << 8;
	waits = p->v_qlen > held ? p->v_qlen - held : 0;
	/* the segment in service does not wait */
	*qlen = waits > p->v_last ? (waits - p->v_last) >> 8 : 0;
	p->v_in += (__u64)wire_len << 8;
	p->v_qlen += (__u64)wire_len << 8;
	if (leaves) {
		p->v_next.bytes += wire_len;
		if (p->v_next.until < leaves)
			p->v_next.until = leaves;
	}
	p->v_last = (__u64)each << 8;
}

#include "port_edge.h"

/* The load in full units, for users other than the record */
struct load {
	__u64 now;		/* ns */
	__u64 tx;		/* bytes */
	__u64 qlen;		/* bytes */
};

/* Flows of this epoch: those that have asked, or what their epochs add up to. */
static __always_inline __u32 flows_counted(const struct hpccpp_flows *f)
{
	__u32 sum = f->sum < f->before ? f->sum : f->before;

	return f->now > sum ? f->now : sum;
}

/* The epoch of count_flow() at this time, read before the lock is taken */
struct epoch {
	__u64 ends;		/* ns; 0: none */
	__u32 number;
};

static __always_inline struct epoch epoch_of(const struct hpccpp_port *p, __u64 now)
{
	__u64 ns = (__u64)p->cfg.base_rtt * (HPCCPP_COUNT_T * 1000), number;

	if (!ns)
		return (struct epoch) {};
	number = now / ns;
	return (struct epoch) { .number = number, .ends = (number + 1) * ns };
}

/* An epoch of count_flow() has ended, or many have without a request. */
static __always_inline void end_epoch(struct hpccpp_flows *f, struct epoch e)
{
	__u32 passed = e.number - f->epoch, N = flows_counted(f);

	f->last -= (f->last + 7) / 8;
	if (f->last < N)
		f->last = N;
	f->last = passed < HPCCPP_COUNT_OLD ? f->last >> passed / 5 : 0;
	f->before = passed == 1 ? f->sum : 0;
	f->sum = 0;
	f->now = 0;
	f->epoch = e.number;
	f->ends = e.ends;
}

/*
 * N, as of a packet that asks. *seen is the epoch in which its flow last did. A flow counts
 * once in an epoch, from its second on, so that a flow of one packet is none. Flows that ask
 * more rarely, in one epoch of 8 at least, count by the epochs between: what these add up to
 * in this epoch and in the one before, whichever is less. A crowd that returns from so short a
 * pause has a large sum once. It has two where it returns over the end of an epoch, and is
 * told as up to 8 times as many then. Two flows of one hash are one.
 */
static __always_inline __u32 count_flow(struct hpccpp_port *p, __u64 now, struct epoch epoch,
					__u32 *seen)
{
	struct hpccpp_flows *f = &p->flows;
	__u32 gap, N;

	if (now >= f->ends && epoch.ends)
		end_epoch(f, epoch);
	gap = f->epoch - *seen;
	/* another queue of the device may be ahead by a few */
	if (!*seen || (gap && gap < -HPCCPP_COUNT_OLD)) {
		if (*seen && gap <= HPCCPP_COUNT_OLD) {
			f->now++;
			f->sum += gap <= HPCCPP_COUNT_RARE ? gap : 1;
		}
		*seen = f->epoch;
	}
	N = flows_counted(f);
	if (N < f->last)
		N = f->last;
	f->N = N ?: 1;
	return f->N;
}

/*
 * Adds the flow of this SYN to the bucket of new flows. Returns the level of the bucket with this
 * flow, plus half a flow, so that a division by HPCCPP_BEGUN_NS() rounds to the nearest number.
 */
static __always_inline __u64 count_begun(struct hpccpp_port *p, __u64 now)
{
	__u64 each = HPCCPP_BEGUN_NS(p), left = hpccpp_begun(p, now) + each;

	p->flows.begun = now + left;
	return left + each / 2;
}

/* Returns N of a SYN: 0 for a single flow, which shares the link with no other new flow. */
static __always_inline __u32 alone(__u32 N)
{
	return N < 2 ? 0 : N;
}

/*
 * Returns the port's load now, as a record. Adds this packet to a virtual queue, and counts its
 * flow if seen is not NULL. N of a SYN is the number of flows that begin with it or began shortly
 * before. tcp is the offset of its TCP header, or 0. Returns false if the load is not known: the
 * qdisc is not the one the port was configured with.
 */
static __always_inline bool snapshot(struct __sk_buff *skb, struct hpccpp_port *p, bool edge,
				     __u32 tcp, __u32 queue, __u32 *seen, bool syn,
				     struct hpccpp_int *r, struct load *l)
{
	__u64 B = p->cfg.rate / 8;
	struct hpccpp_link cur = {
		.B = B,
		.rate = p->cfg.rate_code,
	};
	__u64 tx = 0, qlen = 0, begun = 0, drain = 0, now;
	__u32 segs = segments(skb);
	__u32 wire_len = link_bytes(edge ? arrived_bytes(skb, tcp, segs) : skb->wire_len, segs,
				    &p->cfg);
	__u32 each = segs > 1 ? wire_len / segs : wire_len, N = 0;
	bool virt = edge || !reads_qdisc || p->cfg.queue == HPCCPP_QUEUE_VIRTUAL;
	struct hpccpp_link old;
	struct epoch epoch = {};
	bool newer;
	__u32 U;
	long u;

	if (virt)
		drain = drain_rate(edge ? edge_drain(B) : B);
	else if (!read_qdisc(skb, &p->cfg, queue, &tx, &qlen))
		return false;
	now = bpf_ktime_get_ns();
	cur.seen = now;
	cur.ts = now >> HPCCPP_TS_SHIFT & HPCCPP_MASK24;
	if (seen)
		epoch = epoch_of(p, now);

	/* Interrupts are off under the lock: divisions come before and after. */
	bpf_spin_lock(&p->lock);
	if (edge)
		phantom_queue(p, drain, now, wire_len, &tx, &qlen);
	else if (virt)
		virtual_queue(p, drain, now, wire_len, each, leaves_at(skb, now), &tx, &qlen);
	*l = (struct load) { .now = now, .tx = tx, .qlen = qlen };
	cur.tx_bytes = tx >> HPCCPP_TX_SHIFT & HPCCPP_MASK24;
	qlen >>= HPCCPP_QLEN_SHIFT;
	cur.qlen = qlen < HPCCPP_QLEN_MAX ? qlen : HPCCPP_QLEN_MAX;
	old = p->last;
	newer = cur.seen >= old.seen && cur.ts != old.ts;
	if (newer)
		p->last = cur;
	if (seen)
		N = count_flow(p, now, epoch, seen);
	if (syn)
		begun = count_begun(p, now);
	bpf_spin_unlock(&p->lock);

	/* Without the lock: of two CPUs that average at one moment, one replaces the other's U. */
	u = newer ? hpccpp_link_u(&old, &cur, p->cfg.base_rtt, p->cfg.base_rtt) : -HPCCPP_G_NOT_NEW;
	U = *(volatile __u32 *)&p->U;
	if (u >= 0)
		U = hpccpp_ewma(U, u, (cur.ts - old.ts) & HPCCPP_MASK24, p->cfg.base_rtt);
	else if (u == -HPCCPP_G_STALE || u == -HPCCPP_G_WRAP)
		U = 0;	/* nothing passed for a long time */
	if (newer)
		*(volatile __u32 *)&p->U = U;
	U >>= HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT;
	r->U = U < HPCCPP_U_MAX ? U : HPCCPP_U_MAX;
	if (syn)
		N = alone(begun / HPCCPP_BEGUN_NS(p));

	r->link = (p->cfg.link + queue) & HPCCPP_LINK_MAX;
	r->rate = cur.rate;
	r->ts = cur.ts;
	r->tx_bytes = cur.tx_bytes;
	r->qlen = cur.qlen;
	r->N = hpccpp_N_encode(N);
	return true;
}

/* True when record a of the packet is to give way before record b. */
static __always_inline bool less_loaded(__u32 a, __u32 b)
{
	__u8 ua = a, ub = b;

	if (ua != ub)
		return ua < ub;
	return (a >> 8 & 0xfff) > (b >> 8 & 0xfff);	/* order as rates do */
}

/*
 * Below the threshold, leaves an option empty that no port has written into and
 * raises its bound to the threshold. Not if the sender has yet to hear of a link.
 */
static __always_inline bool quiet(struct __sk_buff *skb, __u32 tcp, __u32 off,
				  __u8 above, __u8 U)
{
	__u32 at = tcp + off + HPCCPP_OPT_HDR;
	__be32 old, new = bpf_htonl(above);

	if (U >= above || bpf_skb_load_bytes(skb, at, &old, sizeof(old)) ||
	    bpf_ntohl(old) > HPCCPP_U_MAX)
		return false;
	if (bpf_ntohl(old) < above &&
	    (bpf_l4_csum_replace(skb, tcp + TCP_CSUM_OFF, old, new,
				 sizeof(new)) ||
	     bpf_skb_store_bytes(skb, at, &new, sizeof(new), 0)))
		count(HPCCPP_PS_ERROR);
	else
		count(HPCCPP_PS_QUIET);
	return true;
}

static __always_inline __u16 rate_of(const struct rec *r)
{
	return bpf_ntohl(r->w[0]) >> 8 & 0xfff;
}

/*
 * Converts N, the code of the new flows of a link with rate from, to a link with rate to. Returns
 * the code of the number of flows that get the same share there, to the nearest, or 0 if that is
 * less than two or a rate is out of range. Rates in range keep the product in 64 bits.
 */
static __always_inline __u32 begun_at(__u32 N, __u16 from, __u16 to)
{
	__u64 B = hpccpp_rate_decode(from), B_to = hpccpp_rate_decode(to), flows;

	if (!hpccpp_rate_ok(B) || !hpccpp_rate_ok(B_to))
		return 0;
	flows = (hpccpp_N_decode(N) * B_to + 2 * B) / (4 * B);
	return hpccpp_N_encode(alone(flows < 0xffff ? flows : 0xffff));
}

/* Returns the third word of r, a SYN's record, with N of other if that leaves a smaller share. */
static __always_inline __be32 most_flows(const struct rec *r, const struct rec *other)
{
	__u32 w = bpf_ntohl(r->w[2]), N = bpf_ntohl(other->w[2]) & HPCCPP_N_MAX;

	if (N)
		N = begun_at(N, rate_of(other), rate_of(r));
	return (w & HPCCPP_N_MAX) < N ? bpf_htonl((w & ~HPCCPP_N_MAX) | N) : r->w[2];
}

/* The records of an option of this length, and how many these are; 0: they are not there. */
static __always_inline int load_records(struct __sk_buff *skb, __u32 at, __u32 len,
					struct rec *rec)
{
	/* the length is a constant in each branch, for the verifier */
	if (len == HPCCPP_OPT_LEN(3))
		return bpf_skb_load_bytes(skb, at, rec, OPAQUE(3 * HPCCPP_REC_LEN)) ? 0 : 3;
	if (len == HPCCPP_OPT_LEN(2))
		return bpf_skb_load_bytes(skb, at, rec, OPAQUE(2 * HPCCPP_REC_LEN)) ? 0 : 2;
	return bpf_skb_load_bytes(skb, at, rec, OPAQUE(HPCCPP_REC_LEN)) ? 0 : 1;
}

/* A record, and those of a segment that it is for */
struct choice {
	struct rec rec[HPCCPP_REC_MAX];
	struct rec new;		/* what is to be written, */
	struct rec old;		/* ... in place of this one, */
	__u32 victim;		/* ... of so many before it */
	__u32 n;		/* records there are */
	__u32 syn;		/* it is a SYN's: */
	__u32 stat;		/* what becomes of it, enum hpccpp_port_stat */
};

/*
 * Chooses the record to replace: the first empty one, or else the least loaded. If none is
 * replaced, a SYN's first record stays, but with the N that leaves a flow the smallest share, also
 * if its other fields are from another port. This is a separate function without the packet, so
 * that the verifier walks it once and not for each path that leads here.
 */
SEPARATE int choose(struct choice *c)
{
	struct rec other;
	bool empty = false;
	__u32 least, victim = HPCCPP_REC_MAX, i;

	if (!c)
		return 0;
	least = bpf_ntohl(c->new.w[0]);
	c->old = c->rec[0];
	other = c->rec[0];
#pragma unroll
	for (i = 0; i < HPCCPP_REC_MAX; i++) {
		__u32 w0 = bpf_ntohl(c->rec[i].w[0]);

		if (i >= c->n || empty)
			continue;
		if (!(w0 >> 8 & 0xfff)) {
			empty = true;
		} else {
			if (!less_loaded(w0, least))
				continue;
			least = w0;
		}
		victim = i;
		c->old = c->rec[i];
	}
	c->victim = victim;
	c->stat = empty ? HPCCPP_PS_STAMPED : HPCCPP_PS_REPLACED;
	if (victim == HPCCPP_REC_MAX) {
		c->victim = 0;
		c->stat = HPCCPP_PS_KEPT;
		other = c->new;
		c->new = c->old;
	}
	if (c->syn)
		c->new.w[2] = most_flows(&c->new, &other);
	return 0;
}

/* Writes the record; false when it is not in the packet then. */
static __always_inline bool stamp(struct __sk_buff *skb, __u32 tcp, __u32 off,
				  __u32 len, bool syn, const struct hpccpp_int *r)
{
	struct choice c = {
		.new.w[0] = bpf_htonl(hpccpp_int_w0(r)),
		.new.w[1] = bpf_htonl(hpccpp_int_w1(r)),
		.new.w[2] = bpf_htonl(hpccpp_int_w2(r)),
		.syn = syn,
	};
	__u32 at = tcp + off + HPCCPP_OPT_HDR;
	__s64 diff;

	c.n = load_records(skb, at, len, c.rec);
	if (!c.n)
		goto error;
	choose(&c);
	if (c.stat != HPCCPP_PS_KEPT || c.new.w[2] != c.old.w[2]) {
		diff = bpf_csum_diff(c.old.w, sizeof(c.old), c.new.w, sizeof(c.new), 0);
		if (diff < 0 ||
		    bpf_skb_store_bytes(skb, at + c.victim * HPCCPP_REC_LEN, &c.new,
					sizeof(c.new), 0) ||
		    bpf_l4_csum_replace(skb, tcp + TCP_CSUM_OFF, 0, diff, 0))
			goto error;
	}
	count(c.stat);
	return c.stat != HPCCPP_PS_KEPT;
error:
	count(HPCCPP_PS_ERROR);
	return false;
}

#include "port_kind.h"
#include "port_response.h"
#include "port_roce.h"

/* The queue that this packet will take, and its state: NULL if there is none */
static __always_inline struct hpccpp_port *find_port(struct __sk_buff *skb, __u32 *which)
{
	__u32 queue = 0, queues;
	struct hpccpp_port *p;
	__s32 chosen;

	p = bpf_map_lookup_elem(&port, &queue);
	*which = 0;
	if (!several_queues || !p || !p->cfg.mq)
		return p;
	queues = p->cfg.queues;
	chosen = stack_queue(skb, queues);
	if (chosen >= 0)
		queue = chosen;
	else if (skb->queue_mapping)
		queue = skb->queue_mapping - 1;
	else
		queue = bpf_get_hash_recalc(skb);
	if (queues)
		queue %= queues;
	if (chosen < 0)
		skb->queue_mapping = queue + 1;
	*which = queue;
	return bpf_map_lookup_elem(&port, &queue);
}

/*
 * extras: the port may have been told to leave options empty, or to respond.
 * roce: it handles RoCEv2 as well. edge: it is on ingress. All are constants.
 */
static __always_inline int pass_packet(struct __sk_buff *skb, bool extras, bool roce, bool edge)
{
	struct hpccpp_port_roce *c = NULL;
	struct hpccpp_int r = {};
	struct load l = {};
	struct walk *w = NULL;
	__u32 zero = 0, queue, ip, tcp, off, len = 0, qpn = 0, hash;
	__u32 *seen = NULL;
	struct hpccpp_port *p;
	bool syn = false;
	__u16 proto;
	__u8 ds = 0;

	p = find_port(skb, &queue);
	if (roce)
		c = bpf_map_lookup_elem(&port_roce, &zero);
	if (!p || (roce && !c))
		return TC_ACT_UNSPEC;

	/* a copy for a response that another filter on ingress has let pass */
	if (extras && p->cfg.mark && skb->mark == p->cfg.mark) {
		count(HPCCPP_PS_ERROR);
		return TC_ACT_SHOT;
	}
	if (skb->gso_size)
		count_more(HPCCPP_PS_SEGMENTS, segments(skb) - 1);
	ip = ip_offset(skb, &proto);
	tcp = tcp_offset(skb, ip, proto, extras ? &ds : NULL);
	if (roce && ip && !tcp && proto == bpf_htons(ETH_P_IPV6)) {
		w = walk_headers(skb, ip, c);
		if (at_border(c, w)) {
			count(HPCCPP_PS_BORDER_OUT);
			return TC_ACT_SHOT;
		}
		if (w)
			qpn = data_qpn(skb, ip, w);
	}
	off = tcp ? find_option(skb, tcp, &len, &syn) : 0;
	if (extras && off && p->cfg.subscribed && ds != p->cfg.dscp) {
		count(HPCCPP_PS_UNSUBSCRIBED);
		off = 0;
		syn = false;
	} else if (!off && tcp) {
		count(len ? HPCCPP_PS_BAD : HPCCPP_PS_PASSED);
	} else if (!off) {
		count(kind_of_unread(skb, ip, proto));
	}
	/* every packet enters a virtual queue */
	if (!off && p->cfg.queue != HPCCPP_QUEUE_VIRTUAL && !qpn && !(w && w->ours))
		return TC_ACT_UNSPEC;
	if (off) {
		hash = bpf_get_hash_recalc(skb) % HPCCPP_SEEN;
		seen = bpf_map_lookup_elem(&port_seen, &hash);
	}
	if (!snapshot(skb, p, edge, tcp, queue, seen, syn, &r, &l)) {
		if (off)
			count(HPCCPP_PS_STALE);
		return TC_ACT_UNSPEC;
	}
	if (roce && w)
		tell_roce(skb, ip, qpn, w, c, p, &l, &r);
	if (!off || (extras && quiet(skb, tcp, off, p->cfg.above, r.U)))
		return TC_ACT_UNSPEC;
	if (stamp(skb, tcp, off, len, syn, &r) && extras && p->cfg.respond &&
	    r.U >= p->cfg.respond)
		respond(skb, tcp, p, &r);
	return TC_ACT_UNSPEC;
}

static __always_inline int ingress(struct __sk_buff *skb, bool roce)
{
	struct hpccpp_port_response *c;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&port_response, &zero);
	if (!c)
		return TC_ACT_UNSPEC;
	if (c->mark && skb->mark == c->mark)
		return roce && skb->cb[CB_UDP] ? make_cnp(skb) : make_response(skb, c);
	if (roce && border_in(skb)) {
		count(HPCCPP_PS_BORDER_IN);
		return TC_ACT_SHOT;
	}
	return c->accepts ? take_response(skb, c) : TC_ACT_UNSPEC;
}

/* On ingress, for ports that send responses or take them */
SEC("tc")
int hpccpp_port_in(struct __sk_buff *skb)
{
	return ingress(skb, false);
}

/* ... or send Fast CNPs or are at the border */
SEC("tc")
int hpccpp_port_cin(struct __sk_buff *skb)
{
	return ingress(skb, true);
}

/* Only one of these is attached: a port without extras does not pay for them. */
SEC("tc")
int hpccpp_port(struct __sk_buff *skb)
{
	return pass_packet(skb, false, false, false);
}

SEC("tc")
int hpccpp_port_ext(struct __sk_buff *skb)
{
	return pass_packet(skb, true, false, false);
}

SEC("tc")
int hpccpp_port_cnp(struct __sk_buff *skb)
{
	return pass_packet(skb, true, true, false);
}

/* On ingress, for the link that packets have come by */
SEC("tc")
int hpccpp_edge(struct __sk_buff *skb)
{
	return pass_packet(skb, true, false, true);
}

/*
 * The command runs it where a port is replaced, for the queue in the mark: what the queue was
 * told becomes another, and its state stays.
 */
SEC("tc")
int hpccpp_port_set(struct __sk_buff *skb)
{
	__u32 queue = skb->mark;
	struct hpccpp_port *p = bpf_map_lookup_elem(&port, &queue);

	if (!p)
		return TC_ACT_UNSPEC;
	bpf_spin_lock(&p->lock);
	p->cfg = cfg_to_set;
	bpf_spin_unlock(&p->lock);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
