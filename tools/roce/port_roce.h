/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Port agent: Fast CNPs for RoCEv2 over IPv6, IOAM traces, and the border of the domain.
 * Part of port.bpf.c; only ports with "cnp", "ioam" or "border" load the programs that use
 * this.
 *
 * The agent walks the headers of a packet once. It looks for UDP and the BTH, for a trace
 * in the Hop-by-Hop options, and for options that must stay in the domain.
 */

#define RH_HOME		2	/* RFC 6275; it and the next list the last address first */
#define RH_SEGMENTS	4	/* RFC 8754 */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hpccpp_port_roce);
} port_roce SEC(".maps");

struct prefix_map port_capable SEC(".maps");

/* What a walk has found. Offsets count from the IPv6 header. */
struct walk {
	__u32 udp;		/* UDP header of a first or only fragment; 0: none */
	__u32 trace;		/* Hop-by-Hop option that has a trace; 0: none */
	__u32 last;		/* address of the last destination; 0: unknown */
	bool  ours;		/* the trace is of our namespace */
	bool  domain;		/* an option that must stay in the domain: Fast CNP, IOAM */
	bool  lost;		/* the walk ended before the headers did */
	__u8  next;		/* type of the next header; IPPROTO_NONE: the walk ends */
	__u8  now;		/* type of the header that has these options */
	__u32 at;
	__u32 options;		/* end of the options; 0: none */
};

/*
 * The state of a walk is in a map, because the verifier does not follow values there: one
 * step looks to it like any other. With the state on the stack it would follow each
 * combination of values through all steps.
 */
struct roce_space {
	struct walk walk;
	struct cnp_space cnp;
};

#define NODE_WORDS	32

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct roce_space);
} port_space SEC(".maps");

/*
 * A step handles one header or one option. So many steps are enough for every packet that
 * a host accepts: Linux allows 8 options in a header, with padding between them.
 */
#define WALK_STEPS	80

static __always_inline void walk_option(struct __sk_buff *skb, __u32 ip,
					const struct hpccpp_port_roce *c,
					struct walk *w)
{
	struct {
		__u8 reserved, ioam_type;
		__be16 ns;
	} ioam;
	struct ip6_option o;
	__u32 len;
	bool ours;

	/* an option has two bytes at least, or the packet is malformed */
	if (bpf_skb_load_bytes(skb, ip + w->at, &o, sizeof(o))) {
		w->next = IPPROTO_NONE;
		w->at = w->options;
		return;
	}
	len = ip6_option_len(&o);
	if ((w->now == IPPROTO_DSTOPTS && (o.type == c->type1 || o.type == c->type2)) ||
	    (o.type & ~HPCCPP_OPT_CHANGES) == HPCCPP_IOAM_OPT)
		w->domain = true;
	if (w->now == IPPROTO_HOPOPTS && o.type == HPCCPP_IOAM_HBH &&
	    len >= 4 + sizeof(struct hpccpp_ioam_trace) && !(len & 3) &&
	    w->at + len <= w->options && !w->ours &&
	    !bpf_skb_load_bytes(skb, ip + w->at + sizeof(o), &ioam, sizeof(ioam)) &&
	    ioam.ioam_type == HPCCPP_IOAM_PREALLOC) {
		ours = c->ioam && ioam.ns == c->ns;
		if (ours || !w->trace)
			w->trace = w->at;
		w->ours = ours;
	}
	w->at += len;
}

static __always_inline void walk_header(struct __sk_buff *skb, __u32 ip,
					struct walk *w)
{
	struct ip6_ext h;
	__u32 len;

	w->now = w->next;
	w->next = IPPROTO_NONE;
	if (bpf_skb_load_bytes(skb, ip + w->at, &h, sizeof(h)))
		return;
	len = ip6_ext_len(&h);
	switch (w->now) {
	case IPPROTO_UDP:
		w->udp = w->at;
		return;
	case IPPROTO_HOPOPTS:
	case IPPROTO_DSTOPTS:
		w->options = w->at + len;
		len = IP6_OPTIONS;
		break;
	case IPPROTO_ROUTING:
		if (h.b)
			w->last = h.a == RH_SEGMENTS || h.a == RH_HOME ?
				  w->at + 8 : 0;
		break;
	case IPPROTO_FRAGMENT:
		if (h.a || h.b & 0xf8)
			return;
		len = 8;
		break;
	case IPPROTO_AH:
		len = (h.len + 2) * 4;
		break;
	default:
		return;
	}
	w->next = h.next;
	w->at += len;
}

/* NULL for an error */
static __always_inline struct walk *walk_headers(struct __sk_buff *skb, __u32 ip,
						 const struct hpccpp_port_roce *c)
{
	__u32 zero = 0, i;
	struct roce_space *s = bpf_map_lookup_elem(&port_space, &zero);
	struct walk *w;

	if (!s)
		return NULL;
	w = &s->walk;
	*w = (struct walk) { .at = IP6_LEN, .last = IP6_DADDR };
	if (bpf_skb_load_bytes(skb, ip + __builtin_offsetof(struct ipv6hdr, nexthdr), &w->next, 1))
		return NULL;
	for (i = 0; i < WALK_STEPS; i++) {
		if (w->at < w->options)
			walk_option(skb, ip, c, w);
		else if (w->next != IPPROTO_NONE)
			walk_header(skb, ip, w);
		else
			return w;
		/* makes clang load the state from memory in each step */
		asm volatile("" : : : "memory");
	}
	w->lost = true;
	return w;
}

/* The queue pair that a data packet of RoCEv2 goes to; 0 for any other packet. */
static __always_inline __u32 data_qpn(struct __sk_buff *skb, __u32 ip,
				      const struct walk *w)
{
	struct roce h;

	return w->udp && !bpf_skb_load_bytes(skb, ip + w->udp, &h, sizeof(h)) ?
	       roce_data_qpn(&h) : 0;
}

/* --- Fast CNP ------------------------------------------------------------------ */

/*
 * True if the load is over the threshold. U is 0 after a time without packets that this
 * program measures. Other packets may fill the queue then, and a link on which packets
 * wait is full: so the load is taken for that of a full link, plus the queue.
 */
static __always_inline bool congested(const struct hpccpp_port *p, __u8 U,
				      const struct load *l, __u8 threshold)
{
	__u64 bdp = p->cfg.rate / 8 * p->cfg.base_rtt / 1000000;

	if (U || !l->qlen)
		return U >= threshold;
	return (bdp + l->qlen) << HPCCPP_U_SHIFT >= threshold * bdp;
}

/*
 * Sends a copy of a data packet from egress to make_cnp(). True if it did. It answers only
 * data from one host to one other, and not that of this host, which needs no packet to
 * hear of the load. The CNP brings the trace only if this port has written its node there
 * ("traced"): otherwise the sender would learn of every load but the one that matters.
 */
static __always_inline bool send_cnp(struct __sk_buff *skb, __u32 ip, __u32 qpn,
				     const struct walk *w,
				     const struct hpccpp_port *p, bool traced)
{
	__u32 zero = 0;
	struct hpccpp_port_response *c;
	__be32 addr[4];

	if (!skb->ingress_ifindex || !w->last ||
	    bpf_skb_load_bytes(skb, ip + w->last, addr, sizeof(addr)) ||
	    !is_unicast(addr) ||
	    bpf_skb_load_bytes(skb, ip + __builtin_offsetof(struct ipv6hdr, saddr), addr,
			       sizeof(addr)) || !is_unicast(addr))
		return false;
	c = bpf_map_lookup_elem(&port_response, &zero);
	if (!c || !c->mark)
		return false;
	/* queue pairs between the same two hosts may share a UDP port */
	if (!may_answer(c, p, bpf_get_hash_recalc(skb) ^ qpn * 0x9e3779b1))
		return false;
	skb->cb[CB_UDP] = w->udp;
	skb->cb[CB_TRACE] = traced ? w->trace : 0;
	skb->cb[CB_LAST] = w->last;
	return send_copy(skb, c);
}

/* True if the sender of the packet is known to take Fast CNPs. */
static __always_inline bool capable(struct __sk_buff *skb, __u32 ip,
				    const struct hpccpp_port_roce *c)
{
	struct hpccpp_prefix p = { .prefixlen = 128 };

	return c->capables &&
	       !bpf_skb_load_bytes(skb, ip + IP6_SADDR, p.addr, sizeof(p.addr)) &&
	       bpf_map_lookup_elem(&port_capable, &p);
}

/*
 * Turns the copy that send_cnp() made into a Fast CNP and sends it to the sender of the
 * data.
 */
static __always_inline int make_cnp(struct __sk_buff *skb)
{
	struct bpf_fib_lookup fib = { .ifindex = skb->ifindex, .family = AF_INET6 };
	__u32 zero = 0, udp = skb->cb[CB_UDP], trace = skb->cb[CB_TRACE], len;
	__u32 last = skb->cb[CB_LAST];
	struct hpccpp_port_roce *c = bpf_map_lookup_elem(&port_roce, &zero);
	struct roce_space *s = bpf_map_lookup_elem(&port_space, &zero);
	struct addresses a = {};
	bool cut = false;
	struct ipv6hdr ip;
	struct roce data;

	skb->mark = 0;
	if (!c || !s)
		goto error;
	/* the device that it leaves by may add its own tags; to pop none is no error */
	if (bpf_skb_vlan_pop(skb) || bpf_skb_vlan_pop(skb))
		goto error;
	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + udp, &data, sizeof(data)) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + last, a.dst, sizeof(a.dst)))
		goto error;
	__builtin_memcpy(a.src, &ip.saddr, sizeof(a.src));
	if (sum_is_left(&a, &data.udp))
		goto error;

	__builtin_memcpy(a.src, c->source, sizeof(a.src));
	__builtin_memcpy(a.dst, &ip.saddr, sizeof(a.dst));
	len = put_option(skb, trace, last, c->type1, c->type2, &s->cnp, &cut);
	if (!len || len > FCNP2_HDR_MAX ||
	    !put_cnp(skb, udp, &data, bpf_ntohl(data.bth.qpn) & HPCCPP_QPN_MASK,
		     &a, &s->cnp, len))
		goto error;
	if (cut)
		count(HPCCPP_PS_CNP_CUT);
	__builtin_memcpy(fib.ipv6_src, a.src, sizeof(a.src));
	__builtin_memcpy(fib.ipv6_dst, a.dst, sizeof(a.dst));
	return send_off(skb, &fib, HPCCPP_PS_CNP_SENT);
error:
	count(HPCCPP_PS_ERROR);
	return TC_ACT_SHOT;
}

/* --- IOAM node --------------------------------------------------------------------- */

/* The data that one node adds to a trace of this type, as 32-bit words in order of its bits */
static __always_inline void put_node(__be32 *words, __u32 type, __u8 hops, __u32 ingress,
				     const struct hpccpp_port_roce *c,
				     const struct load *l, __u16 link)
{
	__u64 ns = l->now + c->clock, sec = ns / 1000000000;
	__u32 n = 0, i;

#define PUT(word)	(words[n++ & (NODE_WORDS - 1)] = bpf_htonl(word))
#pragma unroll
	for (i = 0; i < 22; i++) {
		__u32 known = ~0u, more = ~0u;

		if (!(type & HPCCPP_IOAM_BIT(i)))
			continue;
		switch (HPCCPP_IOAM_BIT(i)) {
		case HPCCPP_IOAM_NODE:
			known = (__u32)hops << 24 | c->node;
			break;
		case HPCCPP_IOAM_IFS:
			known = (ingress && ingress < 0xffff ? ingress << 16 :
				 0xffff0000) | link;
			break;
		case HPCCPP_IOAM_SEC:
			known = sec;
			break;
		case HPCCPP_IOAM_FRAC:
			known = (ns - sec * 1000000000) / 1000;
			break;
		case HPCCPP_IOAM_DEPTH:
			known = l->qlen < ~0u ? l->qlen : ~0u;
			break;
		case HPCCPP_IOAM_NODE_WIDE:
			known = (__u32)hops << 24;
			more = c->node;
			if (c->node == 0xffffff) {
				known |= 0xffffff;
				more = ~0u;
			}
			break;
		case HPCCPP_IOAM_IFS_WIDE:
			known = ingress ?: ~0u;
			more = link;
			break;
		case HPCCPP_IOAM_TX:
			known = l->tx;
			break;
		case HPCCPP_IOAM_SPEED:
			known = (__u32)c->speed << 26 | HPCCPP_IOAM_ERRORS_UNKNOWN;
			break;
		}
		PUT(known);
		if (hpccpp_ioam_words(i) == 2)
			PUT(more);
	}
	if (type & HPCCPP_IOAM_OPAQUE)
		PUT(0x00ffffff);	/* no data, no schema */
#undef PUT
}

/* Adds this port to the trace, as one more node. False if it did not. */
static __always_inline bool trace_node(struct __sk_buff *skb, __u32 ip,
				       const struct walk *w,
				       const struct hpccpp_port_roce *c,
				       const struct load *l, __u16 link)
{
	__u32 zero = 0, at = ip + w->trace + 4, type, need, rem, nodelen;
	struct roce_space *s = bpf_map_lookup_elem(&port_space, &zero);
	struct hpccpp_ioam_trace t;
	__be32 *words;
	__u8 len, hops;

	if (!s || bpf_skb_load_bytes(skb, at, &t, sizeof(t)) ||
	    bpf_skb_load_bytes(skb, at - 3, &len, 1) ||
	    bpf_skb_load_bytes(skb, ip + __builtin_offsetof(struct ipv6hdr, hop_limit),
			       &hops, 1)) {
		count(HPCCPP_PS_ERROR);
		return false;
	}
	type = bpf_ntohl(t.type);
	nodelen = HPCCPP_IOAM_NODELEN(t.node_flags);
	need = nodelen + !!(type & HPCCPP_IOAM_OPAQUE);
	rem = t.rem & HPCCPP_IOAM_REM;
	if (!nodelen || nodelen != hpccpp_ioam_nodelen(type) ||
	    2 + sizeof(t) + rem * 4 > len) {
		count(HPCCPP_PS_TRACE_BAD);
		return false;
	}
	if (t.node_flags & HPCCPP_IOAM_OVERFLOW || rem < need) {
		t.node_flags |= HPCCPP_IOAM_OVERFLOW;
		if (bpf_skb_store_bytes(skb, at, &t, sizeof(t), 0))
			count(HPCCPP_PS_ERROR);
		else
			count(HPCCPP_PS_TRACE_FULL);
		return false;
	}

	words = (__be32 *)s->cnp.data;
	put_node(words, type, hops, skb->ingress_ifindex, c, l, link);
	rem -= need;
	t.rem = (t.rem & ~HPCCPP_IOAM_REM) | rem;
	/* need is 1 to NODE_WORDS already; the verifier has lost track of that */
	barrier_var(need);
	need = ((need - 1) & (NODE_WORDS - 1)) + 1;
	if (bpf_skb_store_bytes(skb, at + sizeof(t) + rem * 4, words, need * 4, 0) ||
	    bpf_skb_store_bytes(skb, at, &t, sizeof(t), 0)) {
		count(HPCCPP_PS_ERROR);
		return false;
	}
	count(HPCCPP_PS_TRACED);
	return true;
}

/* Adds this port to a packet's trace; if it is congested, also sends a Fast CNP to its sender. */
static __always_inline void tell_roce(struct __sk_buff *skb, __u32 ip, __u32 qpn, struct walk *w,
				      const struct hpccpp_port_roce *c,
				      struct hpccpp_port *p, const struct load *l,
				      const struct hpccpp_int *r)
{
	bool traced = w->ours && trace_node(skb, ip, w, c, l, r->link);

	if (!qpn || !c->cnp || !congested(p, r->U, l, c->cnp) ||
	    !send_cnp(skb, ip, qpn, w, p, traced))
		return;
	if (c->ecn && !capable(skb, ip, c) && bpf_skb_ecn_set_ce(skb) > 0)
		count(HPCCPP_PS_CNP_MARKED);
}

/* --- Border ---------------------------------------------------------------------- */

/*
 * Fast CNPs and IOAM (RFC 9486) must not cross the border. A packet whose walk did not
 * reach the end may hide either, and no host accepts a packet with so many headers.
 */
static __always_inline bool at_border(const struct hpccpp_port_roce *c,
				      const struct walk *w)
{
	return c->border && w && (w->domain || w->lost);
}

static __always_inline bool border_in(struct __sk_buff *skb)
{
	struct hpccpp_port_roce *c;
	__u32 zero = 0, ip;
	__u16 proto;

	c = bpf_map_lookup_elem(&port_roce, &zero);
	if (!c || !c->border)
		return false;
	ip = ip_offset(skb, &proto);
	if (!ip || proto != bpf_htons(ETH_P_IPV6))
		return false;
	return at_border(c, walk_headers(skb, ip, c));
}
