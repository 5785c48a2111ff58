// SPDX-License-Identifier: GPL-2.0
/*
 * Port agent: writes the load of a device's egress port into TCP segments that
 * bring space for it (draft -02 section 3, "Network nodes"; 6.1, one snapshot).
 *
 * A classifier on the device's clsact egress hook. It runs before the packet
 * is queued, and before segmentation: a GSO packet gets one stamp. What it
 * writes is the port as this packet finds it, without this packet.
 *
 * With several records in the option a port takes the first empty one; when
 * none is empty it takes the least loaded one, if its own load is higher
 * (draft -00 section 3). Of two equal loads the slower link's stays: on an
 * idle path the record then names the link that limits a new flow.
 *
 * The TCP checksum is mended by bpf_l4_csum_replace(): the one way that is
 * right for complete and for partial checksums, whoever finishes them.
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

#define ETH_P_IP	0x0800
#define IP_OFFSET	0x1fff
#define IP_MF		0x2000
#define IP_DF		0x4000
#define ETH_HLEN	14
#define AF_INET		2
#define AF_INET6	10
#define THIS_NETNS	((__u64)-1)	/* BPF_F_CURRENT_NETNS; some have it */

#define TCP_WINDOW_MAX	(1U << 30)	/* TCP's, bytes */
#define TCPHDR_SYN	0x02
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

struct prefix_map port_accept SEC(".maps");

/*
 * May a port's queue be that of its qdisc? Set before loading: without, the
 * verifier does not see what reads it, and kernels without tracing helpers
 * (UML) load the program as well.
 */
const volatile bool reads_qdisc = true;

/* How the option stands in the header: as one word, network order. */
#define OPT_WORD(len) \
	bpf_htonl((__u32)HPCCPP_OPT_KIND << 24 | (len) << 16 | HPCCPP_EXID_COLLECT)

struct rec {
	__be32 w[3];
};

static __always_inline void count(__u32 stat)
{
	__u64 *c = bpf_map_lookup_elem(&port_stats, &stat);

	if (c)
		(*c)++;
}

/*
 * Offset of the TCP header, 0 when this is not TCP or not its beginning; and the
 * DSCP codepoint, unless ds is NULL.
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
		    ip6.nexthdr != IPPROTO_TCP)
			return 0;
		if (ds)
			*ds = ip6.priority << 2 | ip6.flow_lbl[0] >> 6;
		return off + sizeof(ip6);
	}
	return 0;
}

/*
 * Offset of the collect option from the TCP header and its length, both 0 when
 * there is none; a malformed one has only a length. sock_ops options stand
 * last, behind what the kernel itself writes, which is one of few layouts, in
 * words. No other place will do: what looks like the option there is a time
 * stamp, an edge of a SACK block.
 */
static __always_inline __u32 find_option(struct __sk_buff *skb, __u32 tcp,
					 __u32 *len)
{
	__be32 hdr[15] = {};
	__u32 doff, n, i = 5;

	if (bpf_skb_load_bytes(skb, tcp, hdr, sizeof(struct tcphdr)))
		return 0;
	doff = ((__u8 *)hdr)[12] >> 4 << 2;
	if (doff < sizeof(struct tcphdr) + HPCCPP_OPT_LEN(1))
		return 0;
	n = doff - sizeof(struct tcphdr);
	/* n <= 40: said again for the verifier, which lost it */
	asm volatile("" : "+r"(n));
	if (n > 40 || n < HPCCPP_OPT_LEN(1))
		return 0;
	if (bpf_skb_load_bytes(skb, tcp + sizeof(struct tcphdr), hdr + 5, n))
		return 0;

#define WORD(a, b, c, d) bpf_htonl((a) << 24 | (b) << 16 | (c) << 8 | (d))
	if (((__u8 *)hdr)[13] & TCPHDR_SYN) {
		if ((hdr[5] & bpf_htonl(0xffff0000)) != WORD(2, 4, 0, 0))
			return 0;		/* MSS is first in a SYN */
		i = 6;
		if (hdr[6] == WORD(4, 2, 8, 10) || hdr[6] == WORD(1, 1, 8, 10))
			i = 9;			/* SACK allowed, timestamps */
		else if (hdr[6] == WORD(1, 1, 4, 2))
			i = 7;			/* SACK allowed */
		if ((hdr[i] & bpf_htonl(0xffffff00)) == WORD(1, 3, 3, 0))
			i++;			/* window scale */
	} else {
		if (hdr[5] == WORD(1, 1, 8, 10))
			i = 8;			/* timestamps */
		else if (hdr[5] == WORD(1, 1, 19, 18))
			i = 10;			/* MD5, which has no timestamps */
		if (hdr[i] == WORD(1, 1, 5, 10))
			i += 3;			/* one SACK block */
		else if (hdr[i] == WORD(1, 1, 5, 18))
			i += 5;			/* two */
	}
#undef WORD
	/* the last place for one of 16 bytes is word 11 */
	if (i > 11 ||
	    (hdr[i] & bpf_htonl(0xff00ffff)) != OPT_WORD(0))
		return 0;
	*len = bpf_ntohl(hdr[i]) >> 16 & 0xff;
	if ((*len != HPCCPP_OPT_LEN(1) && *len != HPCCPP_OPT_LEN(2) &&
	     *len != HPCCPP_OPT_LEN(3)) || i * 4 + *len > doff) {
		*len = HPCCPP_OPT_HDR;
		return 0;
	}
	return i * 4;
}

/*
 * How to read what is the kernel's: by a helper for each field or, where the kernel
 * knows the types of pointers (6.2), by plain loads, an eighth of the stamp less. This
 * file is compiled for either; the command takes what loads.
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

/* Backlog and bytes of a queue's qdisc, in one go. */
static __always_inline void read_qdisc(struct __sk_buff *skb,
				       const struct hpccpp_port_cfg *cfg,
				       __u32 queue, __u64 *tx, __u64 *qlen)
{
	struct sk_buff *kskb = KERNEL_SKB(skb);
	struct net_device *dev = READ(kskb, dev);
	__u32 backlog, packets;
	struct Qdisc *q;

	if (cfg->mq) {
		/* an index of the packet's makes a pointer that has no type */
		struct netdev_queue *txq = BPF_CORE_READ(dev, _tx);

		bpf_probe_read_kernel(&q, sizeof(q), (void *)txq +
				      queue * bpf_core_type_size(*txq) +
				      bpf_core_field_offset(txq->qdisc));
		q = QDISC(q);
	} else {
		q = READ(dev, qdisc);
	}
	backlog = READ(q, qstats.backlog);
	*tx = READ_U64(&q->bstats.bytes);
	if (cfg->root == HPCCPP_ROOT_HEAD) {
		/* what is on the wire does not wait: one mean packet */
		packets = READ(q, q.qlen);
		backlog = packets ? backlog - backlog / packets : 0;
	}
	*qlen = backlog;
}

/*
 * A FIFO of rate B bytes/s over all that passes, in 1/256 bytes: what the
 * port's queue holds now, then this packet joins. Packets that the device
 * drops later are counted as sent.
 */
static __always_inline void virtual_queue(struct hpccpp_port *p, __u64 B,
					  __u64 now, __u32 wire_len,
					  __u64 *tx, __u64 *qlen)
{
	__u64 ns = now > p->v_now ? now - p->v_now : 0;
	__u64 gone;

	/* bytes * 256 in ns: ns * B * 256 / 1e9; coarser where it overflows */
	if (ns < 1 << 24)
		gone = ns * B / 3906250;
	else if (ns < 1ULL << 36)
		gone = (ns >> 12) * B / 953;
	else
		gone = p->v_qlen;
	p->v_qlen = gone < p->v_qlen ? p->v_qlen - gone : 0;
	p->v_now += ns;
	*tx = (p->v_in - p->v_qlen) >> 8;
	/* the packet in service does not wait */
	*qlen = p->v_qlen > p->v_last ? (p->v_qlen - p->v_last) >> 8 : 0;
	p->v_last = (__u64)wire_len << 8;
	p->v_in += p->v_last;
	p->v_qlen += p->v_last;
}

/* What a record has no room for, of the same moment */
struct load {
	__u64 now;		/* ns */
	__u64 tx;		/* bytes */
	__u64 qlen;		/* bytes */
};

/* The port's load now, as a record; accounts for this packet. */
static __always_inline void snapshot(struct __sk_buff *skb,
				     struct hpccpp_port *p, __u32 queue,
				     struct hpccpp_int *r, struct load *l)
{
	__u64 B = p->cfg.rate / 8;
	struct hpccpp_link cur = {
		.B = B,
		.rate = p->cfg.rate_code,
	};
	__u64 tx = 0, qlen = 0, now;
	__u32 wire_len = skb->wire_len;
	bool virt = !reads_qdisc || p->cfg.queue == HPCCPP_QUEUE_VIRTUAL;
	long u;

	if (!virt)
		read_qdisc(skb, &p->cfg, queue, &tx, &qlen);
	now = bpf_ktime_get_ns();
	cur.seen = now;
	cur.ts = now >> HPCCPP_TS_SHIFT & HPCCPP_MASK24;

	bpf_spin_lock(&p->lock);
	if (virt)
		virtual_queue(p, B, now, wire_len, &tx, &qlen);
	*l = (struct load) { .now = now, .tx = tx, .qlen = qlen };
	cur.tx_bytes = tx >> HPCCPP_TX_SHIFT & HPCCPP_MASK24;
	qlen >>= HPCCPP_QLEN_SHIFT;
	cur.qlen = qlen < HPCCPP_QLEN_MAX ? qlen : HPCCPP_QLEN_MAX;
	if (cur.seen >= p->last.seen) {
		u = hpccpp_link_u(&p->last, &cur, p->cfg.base_rtt);
		if (u >= 0)
			p->U = hpccpp_ewma(p->U, u, cur.ts - p->last.ts &
					   HPCCPP_MASK24, p->cfg.base_rtt);
		else if (u == -HPCCPP_G_STALE || u == -HPCCPP_G_WRAP)
			p->U = 0;	/* nothing passed for a long time */
		if (u != -HPCCPP_G_NOT_NEW)
			p->last = cur;
	}
	r->U = p->U >> (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT) < HPCCPP_U_MAX ?
	       p->U >> (HPCCPP_ONE_SHIFT - HPCCPP_U_SHIFT) : HPCCPP_U_MAX;
	bpf_spin_unlock(&p->lock);

	r->link = (p->cfg.link + queue) & HPCCPP_LINK_MAX;
	r->rate = cur.rate;
	r->ts = cur.ts;
	r->tx_bytes = cur.tx_bytes;
	r->qlen = cur.qlen;
}

/* Does record a, in the packet, give way to ours before record b does? */
static __always_inline bool less_loaded(__u32 a, __u32 b)
{
	__u8 ua = a, ub = b;

	if (ua != ub)
		return ua < ub;
	return (a >> 8 & 0xfff) > (b >> 8 & 0xfff);	/* order as rates do */
}

/*
 * Below the threshold: leaves an option empty that nobody has written into, with
 * the threshold as its bound, unless the sender has to hear of a link.
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

/* True when the record is in the packet now. */
static __always_inline bool stamp(struct __sk_buff *skb, __u32 tcp, __u32 off,
				  __u32 len, const struct hpccpp_int *r)
{
	struct rec rec[HPCCPP_REC_MAX] = {}, old, new = {
		.w[0] = bpf_htonl(hpccpp_int_w0(r)),
		.w[1] = bpf_htonl(hpccpp_int_w1(r)),
		.w[2] = bpf_htonl(hpccpp_int_w2(r)),
	};
	__u32 at = tcp + off + HPCCPP_OPT_HDR;
	__u32 least = hpccpp_int_w0(r);
	int i, n = 1, victim = -1;
	bool empty = false;
	__s64 diff;

	/* the length is a constant in each branch, for the verifier */
	if (len == HPCCPP_OPT_LEN(3)) {
		n = 3;
		if (bpf_skb_load_bytes(skb, at, rec, 3 * HPCCPP_REC_LEN))
			goto error;
	} else if (len == HPCCPP_OPT_LEN(2)) {
		n = 2;
		if (bpf_skb_load_bytes(skb, at, rec, 2 * HPCCPP_REC_LEN))
			goto error;
	} else if (bpf_skb_load_bytes(skb, at, rec, HPCCPP_REC_LEN)) {
		goto error;
	}

#pragma unroll
	for (i = 0; i < HPCCPP_REC_MAX; i++) {
		__u32 w0 = bpf_ntohl(rec[i].w[0]);

		if (i >= n || empty)
			continue;
		if (!(w0 >> 8 & 0xfff)) {
			empty = true;
		} else {
			if (!less_loaded(w0, least))
				continue;
			least = w0;
		}
		victim = i;
		old = rec[i];
	}
	if (victim < 0) {
		count(HPCCPP_PS_KEPT);
		return false;
	}
	diff = bpf_csum_diff(old.w, sizeof(old), new.w, sizeof(new), 0);
	if (diff < 0 ||
	    bpf_skb_store_bytes(skb, at + victim * HPCCPP_REC_LEN, &new,
				sizeof(new), 0) ||
	    bpf_l4_csum_replace(skb, tcp + TCP_CSUM_OFF, 0, diff, 0))
		goto error;
	count(empty ? HPCCPP_PS_STAMPED : HPCCPP_PS_REPLACED);
	return true;
error:
	count(HPCCPP_PS_ERROR);
	return false;
}

static __always_inline void put_ipv4(struct iphdr *ip, __u8 ds, __u8 proto,
				     __u32 len, const struct addresses *a)
{
	*ip = (struct iphdr) {
		.version = 4, .ihl = sizeof(*ip) / 4, .tos = ds, .ttl = 64,
		.tot_len = bpf_htons(sizeof(*ip) + len),
		.frag_off = bpf_htons(IP_DF), .protocol = proto,
		.saddr = a->src[0], .daddr = a->dst[0],
	};
	ip->check = ~fold16(bpf_csum_diff(NULL, 0, (__be32 *)ip, sizeof(*ip), 0));
}

/*
 * INT responses (draft -00, 6.3). A port that forwards a segment into which it has
 * written a load over the threshold sends that record straight back as well, or to
 * the receiver. What it sends is made of a copy of the segment, which the kernel hands
 * to the ingress of the same device: make_response(). At the sender's device
 * take_response() makes an ACK of it that brings the record as an echo would, and TCP
 * does the rest: the flow's lock, the host agent, and telling the module that a segment
 * has come. At the receiver's it brings the record as the segment itself will.
 */

/* Has the flow had a response in this period? From now on it has. */
static __always_inline bool answered(__u32 flow, __u32 period)
{
	bool all = true;
	__u32 *bit, key;
	int i;

	/* another two bits in each period: nobody shares them always */
	flow = (flow ^ period) * 0x9e3779b1;
	flow ^= flow >> 15;
	flow *= 0x85ebca6b;
#pragma unroll
	for (i = 0; i < 2; i++) {
		key = flow >> (i ? 20 : 4) & (HPCCPP_ANSWERED - 1);
		bit = bpf_map_lookup_elem(&port_answered, &key);
		if (!bit)
			return true;
		all = all && *bit == period;
		*bit = period;
	}
	return all;
}

/* May this flow be answered now? Counts why not. */
static __always_inline bool may_answer(struct hpccpp_port_response *c,
				       const struct hpccpp_port *p, __u32 flow)
{
	if (answered(flow, bpf_ktime_get_ns() / (p->cfg.base_rtt * 1000ULL))) {
		count(HPCCPP_PS_SUPPRESSED);
		return false;
	}
	if (over_limit(&c->lock, &c->next, c->interval)) {
		count(HPCCPP_PS_LIMITED);
		return false;
	}
	return true;
}

/* A copy to our ingress, which knows it by its mark. */
static __always_inline bool send_copy(struct __sk_buff *skb,
				      const struct hpccpp_port_response *c)
{
	__u32 mark = skb->mark;
	bool sent;

	skb->mark = c->mark;
	sent = !bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
	if (!sent)
		count(HPCCPP_PS_ERROR);
	skb->mark = mark;
	return sent;
}

/* What was made of a copy leaves by the route to its destination. */
static __always_inline int send_off(struct __sk_buff *skb,
				    struct bpf_fib_lookup *fib, __u32 stat)
{
	long err = bpf_fib_lookup(skb, fib, sizeof(*fib), 0);

	if (err != BPF_FIB_LKUP_RET_SUCCESS && err != BPF_FIB_LKUP_RET_NO_NEIGH) {
		count(HPCCPP_PS_ERROR);
		return TC_ACT_SHOT;
	}
	count(stat);
	return bpf_redirect_neigh(fib->ifindex, NULL, 0, 0);
}

/*
 * What a copy brings to make_cnp() in skb->cb[], and the first is 0 in what is to
 * become a response, which has its record in the others.
 */
enum { CB_TRACE, CB_LAST, CB_UDP = 3 };

/* Where the TCP header is in what a response can be made of */
#define TCP_IN_IPV4	(sizeof(struct ethhdr) + sizeof(struct iphdr))
#define TCP_IN_IPV6	(sizeof(struct ethhdr) + sizeof(struct ipv6hdr))

static __always_inline void respond(struct __sk_buff *skb, __u32 tcp,
				    const struct hpccpp_port *p,
				    const struct hpccpp_int *r)
{
	__u32 zero = 0;
	struct hpccpp_port_response *c;
	bool v4 = skb->protocol == bpf_htons(ETH_P_IP);
	__u8 bits[2];		/* data offset, flags */

	/* neither tags, nor options of IP, nor what is the host's own */
	if ((!v4 && skb->protocol != bpf_htons(ETH_P_IPV6)) ||
	    tcp != (v4 ? TCP_IN_IPV4 : TCP_IN_IPV6) ||
	    skb->vlan_present || !skb->ingress_ifindex)
		return;
	if (bpf_skb_load_bytes(skb, tcp + 12, bits, sizeof(bits)) ||
	    bits[1] & TCPHDR_SYN || skb->len <= tcp + (bits[0] >> 4 << 2))
		return;
	c = bpf_map_lookup_elem(&port_response, &zero);
	if (!c || !c->mark)
		return;
	/* no address of this family to send from */
	if (!*(v4 ? (__u32 *)c->addr4 : (__u32 *)c->addr6))
		return;
	if (!may_answer(c, p, bpf_get_hash_recalc(skb)))
		return;
	skb->cb[0] = bpf_htonl(hpccpp_int_w0(r));
	skb->cb[1] = bpf_htonl(hpccpp_int_w1(r));
	skb->cb[2] = bpf_htonl(hpccpp_int_w2(r));
	skb->cb[CB_UDP] = 0;
	send_copy(skb, c);
}

#include "port_roce.h"

/*
 * extras: may the port be told to leave out some of what asks? roce: has it to do
 * with RoCEv2? Constants.
 */
static __always_inline int egress(struct __sk_buff *skb, bool extras, bool roce)
{
	struct hpccpp_port_roce *c = NULL;
	struct hpccpp_int r = {};
	struct load l = {};
	struct walk *w = NULL;
	__u32 queue = 0, queues, ip, tcp, off, len = 0, qpn = 0;
	struct hpccpp_port *p;
	__u16 proto;
	__u8 ds = 0;

	p = bpf_map_lookup_elem(&port, &queue);
	if (roce)
		c = bpf_map_lookup_elem(&port_roce, &queue);
	if (!p || (roce && !c))
		return TC_ACT_UNSPEC;
	if (p->cfg.mq) {
		/*
		 * The stack would choose the queue after us; what we choose
		 * by the flow's hash it keeps.
		 */
		queues = p->cfg.queues;
		if (skb->queue_mapping)
			queue = skb->queue_mapping - 1;
		else
			queue = bpf_get_hash_recalc(skb);
		if (queues)
			queue %= queues;
		skb->queue_mapping = queue + 1;
		p = bpf_map_lookup_elem(&port, &queue);
		if (!p)
			return TC_ACT_UNSPEC;
	}

	/* a copy that another's filter on ingress kept from becoming a response */
	if (extras && p->cfg.mark && skb->mark == p->cfg.mark) {
		count(HPCCPP_PS_ERROR);
		return TC_ACT_SHOT;
	}
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
	off = tcp ? find_option(skb, tcp, &len) : 0;
	if (extras && off && p->cfg.subscribed && ds != p->cfg.dscp) {
		count(HPCCPP_PS_UNSUBSCRIBED);
		tcp = 0;
		off = 0;
	}
	if (!off) {
		if (tcp)
			count(len ? HPCCPP_PS_BAD : HPCCPP_PS_PASSED);
		/* a virtual queue holds every packet, asked or not */
		if (p->cfg.queue != HPCCPP_QUEUE_VIRTUAL && !qpn &&
		    !(w && w->ours))
			return TC_ACT_UNSPEC;
	}
	snapshot(skb, p, queue, &r, &l);
	if (roce && w && w->ours)
		trace_node(skb, ip, w, c, &l, r.link);
	if (roce && w && qpn && c->cnp && congested(p, r.U, &l, c->cnp) &&
	    send_cnp(skb, ip, qpn, w, p) && c->ecn && !capable(skb, ip, c) &&
	    bpf_skb_ecn_set_ce(skb) > 0)
		count(HPCCPP_PS_CNP_MARKED);
	if (!off || (extras && quiet(skb, tcp, off, p->cfg.above, r.U)))
		return TC_ACT_UNSPEC;
	if (stamp(skb, tcp, off, len, &r) && extras && p->cfg.respond &&
	    r.U >= p->cfg.respond)
		respond(skb, tcp, p, &r);
	return TC_ACT_UNSPEC;
}

/* What follows the IP header in a response, and in the ACK made of it */
struct response {
	struct udphdr udp;
	struct hpccpp_response r;
};

struct ack {
	struct tcphdr tcp;
	__be32 option;
	__be32 rec[3];
};

/* IPv4's is the shorter address */
#define RESPONSE4_LEN	(sizeof(struct response) - 12)
#define RESPONSE6_LEN	sizeof(struct response)

/* Responses, for queues that let such pass: CS6, TC_PRIO_CONTROL */
#define CONTROL_DS		(48 << 2)
#define CONTROL_PRIORITY	7

/* A copy of a segment of ours becomes a response and goes to who computes W. */
static __always_inline int make_response(struct __sk_buff *skb,
					 const struct hpccpp_port_response *c)
{
	bool v4 = skb->protocol == bpf_htons(ETH_P_IP);
	__u32 at = v4 ? TCP_IN_IPV4 : TCP_IN_IPV6;
	__u32 len = v4 ? RESPONSE4_LEN : RESPONSE6_LEN;
	struct bpf_fib_lookup fib = { .ifindex = skb->ifindex };
	bool back = c->to == HPCCPP_TO_SENDER;
	struct response u = {};
	struct addresses a = {};
	struct {
		__be16 sport, dport;
		__be32 seq;
	} tcp;
	union {
		struct iphdr v4;
		struct ipv6hdr v6;
	} ip;
	__u64 sum;
	long err;

	skb->mark = 0;
	if (bpf_skb_load_bytes(skb, at, &tcp, sizeof(tcp)))
		goto error;
	u.udp.source = bpf_htons(c->port);
	u.udp.dest = bpf_htons(c->port);
	u.udp.len = bpf_htons(len);
	u.r.id = bpf_htons(back ? HPCCPP_RESPONSE_ID : HPCCPP_RESPONSE_RX_ID);
	u.r.sport = tcp.sport;
	u.r.dport = tcp.dport;
	u.r.seq = tcp.seq;
	u.r.rec[0] = skb->cb[0];
	u.r.rec[1] = skb->cb[1];
	u.r.rec[2] = skb->cb[2];
	if (v4) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip.v4, sizeof(ip.v4)))
			goto error;
		u.r.peer[0] = back ? ip.v4.daddr : ip.v4.saddr;
		a.dst[0] = back ? ip.v4.saddr : ip.v4.daddr;
		__builtin_memcpy(a.src, c->addr4, sizeof(c->addr4));
		fib.family = AF_INET;
		fib.ipv4_src = a.src[0];
		fib.ipv4_dst = a.dst[0];
	} else {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip.v6, sizeof(ip.v6)))
			goto error;
		__builtin_memcpy(u.r.peer, &ip.v6.daddr, sizeof(a.dst));
		__builtin_memcpy(a.dst, &ip.v6.saddr, sizeof(a.dst));
		if (!back) {
			__builtin_memcpy(u.r.peer, &ip.v6.saddr, sizeof(a.dst));
			__builtin_memcpy(a.dst, &ip.v6.daddr, sizeof(a.dst));
		}
		__builtin_memcpy(a.src, c->addr6, sizeof(a.src));
		fib.family = AF_INET6;
		__builtin_memcpy(fib.ipv6_src, a.src, sizeof(a.src));
		__builtin_memcpy(fib.ipv6_dst, a.dst, sizeof(a.dst));
	}
	if (!a.src[0])		/* the port has no address of this family */
		goto error;
	sum = pseudo_sum(&a, IPPROTO_UDP, len);
	u.r.sum = fold16(sum);
	sum += (__u64)bpf_csum_diff(NULL, 0, (__be32 *)&u, sizeof(u), 0);
	u.udp.check = ~fold16(sum);
	if (!u.udp.check)
		u.udp.check = 0xffff;

	if (bpf_skb_change_tail(skb, at + len, 0))
		goto error;
	if (v4) {
		put_ipv4(&ip.v4, CONTROL_DS, IPPROTO_UDP, len, &a);
		err = bpf_skb_store_bytes(skb, ETH_HLEN, &ip.v4, sizeof(ip.v4), 0);
		err = err ?: bpf_skb_store_bytes(skb, at, &u, RESPONSE4_LEN, 0);
	} else {
		put_ipv6(&ip.v6, IPPROTO_UDP, len, &a);
		ip.v6.priority = CONTROL_DS >> 4;
		err = bpf_skb_store_bytes(skb, ETH_HLEN, &ip.v6, sizeof(ip.v6), 0);
		err = err ?: bpf_skb_store_bytes(skb, at, &u, RESPONSE6_LEN, 0);
	}
	if (err)
		goto error;
	skb->priority = CONTROL_PRIORITY;
	return send_off(skb, &fib, HPCCPP_PS_RESPONDED);
error:
	count(HPCCPP_PS_ERROR);
	return TC_ACT_SHOT;
}

/*
 * Is there a connection, of us and the peer, and the data in flight that a response is
 * about? TCP moves snd_nxt when a packet has been handed down, and on short ways a
 * response is here before: allow one of 64 KB. At the receiver a program cannot see the
 * window that was offered. TCP can: what it is given has the number of that data, and
 * it drops what is not within. Fills in the header of the ACK, which is the peer's.
 */
static __always_inline __u32 find_flow(struct __sk_buff *skb, bool v4,
				       const struct addresses *a, bool back,
				       __u32 seq, struct tcphdr *th)
{
	struct bpf_sock_tuple t = {};
	struct bpf_tcp_sock *tp;
	__u32 what = HPCCPP_PS_UNKNOWN, next;
	struct bpf_sock *sk;
	bool in_flight;

	if (v4) {
		t.ipv4.saddr = a->src[0];
		t.ipv4.daddr = a->dst[0];
		t.ipv4.sport = th->source;
		t.ipv4.dport = th->dest;
		sk = bpf_sk_lookup_tcp(skb, &t, sizeof(t.ipv4),
				       THIS_NETNS, 0);
	} else {
		__builtin_memcpy(t.ipv6.saddr, a->src, sizeof(a->src));
		__builtin_memcpy(t.ipv6.daddr, a->dst, sizeof(a->dst));
		t.ipv6.sport = th->source;
		t.ipv6.dport = th->dest;
		sk = bpf_sk_lookup_tcp(skb, &t, sizeof(t.ipv6),
				       THIS_NETNS, 0);
	}
	if (!sk)
		return what;
	/* an ACK would reset what has no peer yet */
	tp = sk->state != BPF_TCP_LISTEN && sk->state != BPF_TCP_SYN_SENT &&
	     sk->state != BPF_TCP_SYN_RECV ? bpf_tcp_sock(sk) : NULL;
	if (tp) {
		next = tp->rcv_nxt;
		/* or clang makes one load of two, with an offset in a register */
		asm volatile("" : "+r"(next));
		what = HPCCPP_PS_OUTSIDE;
		if (back)
			in_flight = (__s32)(seq - tp->snd_una) >= 0 &&
				    (__s32)(tp->snd_nxt + 0x10000 - seq) > 0;
		else
			in_flight = seq - next < TCP_WINDOW_MAX;
		if (in_flight)
			what = HPCCPP_PS_ACCEPTED;
		/*
		 * Nothing that TCP would count as a duplicate ACK, take a
		 * window from, or answer: at most it does once in 500 ms, while
		 * nothing has been acknowledged yet or after its FIN.
		 */
		th->seq = bpf_htonl(back ? next : seq);
		th->ack_seq = bpf_htonl(tp->snd_una - 1);
	}
	bpf_sk_release(sk);
	return what;
}

/*
 * A response becomes an ACK of its connection with an echo of its record, or at the
 * receiver with that as it was collected.
 */
static __always_inline int take_response(struct __sk_buff *skb,
					 const struct hpccpp_port_response *c)
{
	bool v4 = skb->protocol == bpf_htons(ETH_P_IP);
	__u32 at = v4 ? TCP_IN_IPV4 : TCP_IN_IPV6;
	__u32 len = v4 ? RESPONSE4_LEN : RESPONSE6_LEN, what;
	struct hpccpp_prefix source = { .prefixlen = 128 };
	struct response u = {};
	struct addresses a = {};
	struct ack ack = {};
	union {
		struct iphdr v4;
		struct ipv6hdr v6;
	} ip;
	bool back;
	long err;

	if (v4) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip.v4, sizeof(ip.v4)) ||
		    ip.v4.protocol != IPPROTO_UDP || ip.v4.ihl != 5 ||
		    ip.v4.tot_len != bpf_htons(sizeof(ip.v4) + len) ||
		    ip.v4.frag_off & bpf_htons(IP_OFFSET | IP_MF) ||
		    bpf_skb_load_bytes(skb, at, &u, RESPONSE4_LEN))
			return TC_ACT_UNSPEC;
		a.src[0] = ip.v4.saddr;
		a.dst[0] = ip.v4.daddr;
		source.addr[10] = 0xff;
		source.addr[11] = 0xff;
		__builtin_memcpy(source.addr + 12, a.src, 4);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip.v6, sizeof(ip.v6)) ||
		    ip.v6.nexthdr != IPPROTO_UDP ||
		    ip.v6.payload_len != bpf_htons(len) ||
		    bpf_skb_load_bytes(skb, at, &u, RESPONSE6_LEN))
			return TC_ACT_UNSPEC;
		__builtin_memcpy(a.src, &ip.v6.saddr, sizeof(a.src));
		__builtin_memcpy(a.dst, &ip.v6.daddr, sizeof(a.dst));
		__builtin_memcpy(source.addr, a.src, sizeof(a.src));
	} else {
		return TC_ACT_UNSPEC;
	}
	back = u.r.id == bpf_htons(HPCCPP_RESPONSE_ID);
	if (u.udp.dest != bpf_htons(c->port) || u.udp.len != bpf_htons(len) ||
	    (!back && u.r.id != bpf_htons(HPCCPP_RESPONSE_RX_ID)))
		return TC_ACT_UNSPEC;

	what = HPCCPP_PS_DENIED;
	/* ::ffff:a.b.c.d is on no wire, and would match IPv4's prefixes */
	if ((!v4 && !a.src[0] && !a.src[1] && a.src[2] == bpf_htonl(0xffff)) ||
	    !bpf_map_lookup_elem(&port_accept, &source))
		goto drop;
	what = HPCCPP_PS_DAMAGED;
	if (fold16(pseudo_sum(&a, IPPROTO_UDP, len) +
		 bpf_csum_diff(NULL, 0, (__be32 *)&u, sizeof(u), 0)) != 0xffff)
		goto drop;
	/* an empty one would say that no port has written */
	if (!(bpf_ntohl(u.r.rec[0]) >> 8 & 0xfff))
		goto drop;
	/* from the port to the other end, whose ACK it is to be */
	__builtin_memcpy(a.src, u.r.peer, sizeof(a.src));
	ack.tcp.source = back ? u.r.dport : u.r.sport;
	ack.tcp.dest = back ? u.r.sport : u.r.dport;
	what = find_flow(skb, v4, &a, back, bpf_ntohl(u.r.seq), &ack.tcp);
	if (what != HPCCPP_PS_ACCEPTED)
		goto drop;

	ack.tcp.doff = sizeof(ack) / 4;
	ack.tcp.ack = 1;
	ack.tcp.window = 0xffff;
	ack.option = bpf_htonl((__u32)HPCCPP_OPT_KIND << 24 |
			       HPCCPP_OPT_LEN(1) << 16 |
			       (back ? HPCCPP_EXID_ECHO : HPCCPP_EXID_COLLECT));
	__builtin_memcpy(ack.rec, u.r.rec, sizeof(ack.rec));
	ack.tcp.check = ~fold16(pseudo_sum(&a, IPPROTO_TCP, sizeof(ack)) +
			      bpf_csum_diff(NULL, 0, (__be32 *)&ack,
					    sizeof(ack), 0));
	err = bpf_skb_change_tail(skb, at + sizeof(ack), 0);
	if (v4) {
		put_ipv4(&ip.v4, 0, IPPROTO_TCP, sizeof(ack), &a);
		err = err ?: bpf_skb_store_bytes(skb, ETH_HLEN, &ip.v4,
						 sizeof(ip.v4),
						 BPF_F_RECOMPUTE_CSUM);
	} else {
		put_ipv6(&ip.v6, IPPROTO_TCP, sizeof(ack), &a);
		err = err ?: bpf_skb_store_bytes(skb, ETH_HLEN, &ip.v6,
						 sizeof(ip.v6),
						 BPF_F_RECOMPUTE_CSUM);
	}
	err = err ?: bpf_skb_store_bytes(skb, at, &ack, sizeof(ack),
					 BPF_F_RECOMPUTE_CSUM);
	if (!err) {
		count(what);
		return TC_ACT_UNSPEC;
	}
	what = HPCCPP_PS_ERROR;
drop:
	count(what);
	return TC_ACT_SHOT;
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

/* On ingress, of ports that send responses or take them */
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

/* One of these is loaded: who does without extras does not pay for them. */
SEC("tc")
int hpccpp_port(struct __sk_buff *skb)
{
	return egress(skb, false, false);
}

SEC("tc")
int hpccpp_port_ext(struct __sk_buff *skb)
{
	return egress(skb, true, false);
}

SEC("tc")
int hpccpp_port_cnp(struct __sk_buff *skb)
{
	return egress(skb, true, true);
}

char LICENSE[] SEC("license") = "GPL";
