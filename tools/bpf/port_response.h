/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Port agent, what it does of INT responses (draft -00, 6.3): part of port.bpf.c.
 *
 * A port that forwards a segment into which it has written a load over the threshold
 * sends that record straight back as well, or to the receiver. What it sends is made of
 * a copy of the segment, which the kernel hands to the ingress of the same device:
 * make_response(). At the sender's device take_response() makes an ACK of it that brings
 * the record as an echo would, and TCP does the rest: the flow's lock, the host agent,
 * and telling the module that a segment has come. At the receiver's it brings the record
 * as the segment itself will.
 */

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

/* True if the flow has been answered in this period; marks it as answered. */
static __always_inline bool answered(__u32 flow, __u32 period)
{
	bool all = true;
	__u32 *bit, key;
	int i;

	/* other bits in each period, so that no two flows share theirs for good */
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

/* True if this flow may be answered now; counts the reason if not. */
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

/* Sends a copy to this device's ingress, which knows it by the mark. */
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

/* Sends the packet made of a copy by the route to its destination. */
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
 * Words of skb->cb[] in the copy that make_cnp() gets. CB_UDP is 0 in a copy for
 * make_response(), which has the record in the other words.
 */
enum { CB_TRACE, CB_LAST, CB_UDP = 3 };

/* Offset of the TCP header in segments that can be answered */
#define TCP_IN_IPV4	(ETH_HLEN + sizeof(struct iphdr))
#define TCP_IN_IPV6	(ETH_HLEN + sizeof(struct ipv6hdr))

static __always_inline void respond(struct __sk_buff *skb, __u32 tcp,
				    const struct hpccpp_port *p,
				    const struct hpccpp_int *r)
{
	__u32 zero = 0;
	struct hpccpp_port_response *c;
	bool v4 = skb->protocol == bpf_htons(ETH_P_IP);
	__u8 bits[2];		/* data offset, flags */

	/* no tags, no IP options, none of the host's own segments */
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
	/* the port has no address of this family to send from */
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

/* The headers behind IP in a response, and in the ACK made of one */
struct response {
	struct udphdr udp;
	struct hpccpp_response r;
};

struct ack {
	struct tcphdr tcp;
	__be32 option;
	__be32 rec[3];
};

/* An IPv4 address is 12 bytes shorter. */
#define RESPONSE4_LEN	(sizeof(struct response) - 12)
#define RESPONSE6_LEN	sizeof(struct response)

/* Responses pass the data in queues that know CS6 or TC_PRIO_CONTROL. */
#define CONTROL_DS		(48 << 2)
#define CONTROL_PRIORITY	7

union ip_header {
	struct iphdr v4;
	struct ipv6hdr v6;
};

/* A response or its ACK: the address of each end, and what it is made of */
struct reply {
	struct addresses a;
	union ip_header ip;
	struct response u;
};

/* Writes the IP header of a packet whose payload has len bytes. */
static __always_inline long store_ip(struct __sk_buff *skb, bool v4, struct reply *m, __u8 ds,
				     __u8 proto, __u32 len, __u64 flags)
{
	if (v4) {
		put_ipv4(&m->ip.v4, ds, proto, len, &m->a);
		return bpf_skb_store_bytes(skb, ETH_HLEN, &m->ip.v4, sizeof(m->ip.v4), flags);
	}
	put_ipv6(&m->ip.v6, proto, len, &m->a);
	m->ip.v6.priority = ds >> 4;
	return bpf_skb_store_bytes(skb, ETH_HLEN, &m->ip.v6, sizeof(m->ip.v6), flags);
}

/*
 * Fills in all of a response but its sums: it goes to the end that computes W and names the
 * other as its peer. False if the port has no address of this family.
 */
static __always_inline bool fill_response(struct __sk_buff *skb,
					  const struct hpccpp_port_response *c,
					  bool v4, struct reply *m)
{
	bool back = c->to == HPCCPP_TO_SENDER;
	struct response *u = &m->u;
	struct {
		__be16 sport, dport;
		__be32 seq;
	} tcp;

	if (bpf_skb_load_bytes(skb, v4 ? TCP_IN_IPV4 : TCP_IN_IPV6, &tcp, sizeof(tcp)))
		return false;
	u->udp.source = bpf_htons(c->port);
	u->udp.dest = bpf_htons(c->port);
	u->udp.len = bpf_htons(v4 ? RESPONSE4_LEN : RESPONSE6_LEN);
	u->r.id = bpf_htons(back ? HPCCPP_RESPONSE_ID : HPCCPP_RESPONSE_RX_ID);
	u->r.sport = tcp.sport;
	u->r.dport = tcp.dport;
	u->r.seq = tcp.seq;
	u->r.rec[0] = skb->cb[0];
	u->r.rec[1] = skb->cb[1];
	u->r.rec[2] = skb->cb[2];
	if (v4) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &m->ip.v4, sizeof(m->ip.v4)))
			return false;
		u->r.peer[0] = back ? m->ip.v4.daddr : m->ip.v4.saddr;
		m->a.dst[0] = back ? m->ip.v4.saddr : m->ip.v4.daddr;
		__builtin_memcpy(m->a.src, c->addr4, sizeof(c->addr4));
	} else {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &m->ip.v6, sizeof(m->ip.v6)))
			return false;
		__builtin_memcpy(u->r.peer, &m->ip.v6.daddr, sizeof(m->a.dst));
		__builtin_memcpy(m->a.dst, &m->ip.v6.saddr, sizeof(m->a.dst));
		if (!back) {
			__builtin_memcpy(u->r.peer, &m->ip.v6.saddr, sizeof(m->a.dst));
			__builtin_memcpy(m->a.dst, &m->ip.v6.daddr, sizeof(m->a.dst));
		}
		__builtin_memcpy(m->a.src, c->addr6, sizeof(m->a.src));
	}
	return m->a.src[0];
}

/* Makes a response of a copy and sends it to the end that computes W. */
static __always_inline int make_response(struct __sk_buff *skb,
					 const struct hpccpp_port_response *c)
{
	bool v4 = skb->protocol == bpf_htons(ETH_P_IP);
	__u32 at = v4 ? TCP_IN_IPV4 : TCP_IN_IPV6;
	__u32 len = v4 ? RESPONSE4_LEN : RESPONSE6_LEN;
	struct bpf_fib_lookup fib = { .ifindex = skb->ifindex };
	struct reply m = {};
	__u64 sum;

	skb->mark = 0;
	if (!fill_response(skb, c, v4, &m))
		goto error;
	sum = pseudo_sum(&m.a, IPPROTO_UDP, len);
	m.u.r.sum = fold16(sum);
	sum += (__u64)bpf_csum_diff(NULL, 0, (__be32 *)&m.u, sizeof(m.u), 0);
	m.u.udp.check = ~fold16(sum);
	if (!m.u.udp.check)
		m.u.udp.check = 0xffff;

	if (bpf_skb_change_tail(skb, at + len, 0))
		goto error;
	if (v4) {
		fib.family = AF_INET;
		fib.ipv4_src = m.a.src[0];
		fib.ipv4_dst = m.a.dst[0];
	} else {
		fib.family = AF_INET6;
		__builtin_memcpy(fib.ipv6_src, m.a.src, sizeof(m.a.src));
		__builtin_memcpy(fib.ipv6_dst, m.a.dst, sizeof(m.a.dst));
	}
	if (store_ip(skb, v4, &m, CONTROL_DS, IPPROTO_UDP, len, 0) ||
	    bpf_skb_store_bytes(skb, at, &m.u, OPAQUE(len), 0))
		goto error;
	skb->priority = CONTROL_PRIORITY;
	return send_off(skb, &fib, HPCCPP_PS_RESPONDED);
error:
	count(HPCCPP_PS_ERROR);
	return TC_ACT_SHOT;
}

/*
 * Looks for the connection of a response, and checks that the data which it is about
 * is in flight. Returns HPCCPP_PS_ACCEPTED or the reason against it, and fills in the
 * numbers of the ACK from the peer. TCP advances snd_nxt only after it has handed a
 * packet down, and over a short path the response is here before that: allow one packet
 * of 64 KB. At the receiver a program cannot see the window that was offered. TCP can:
 * the ACK has the sequence number of that data, and TCP drops it outside the window.
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
	/* TCP would answer an ACK to a socket without a peer by a reset */
	tp = sk->state != BPF_TCP_LISTEN && sk->state != BPF_TCP_SYN_SENT &&
	     sk->state != BPF_TCP_SYN_RECV ? bpf_tcp_sock(sk) : NULL;
	if (tp) {
		next = tp->rcv_nxt;
		/* else clang merges two loads into one with an offset in a register */
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
		 * An old acknowledgment: TCP does not count it as a duplicate
		 * ACK and takes no window from it. It answers at most once in
		 * 500 ms, before anything was acknowledged or after its FIN.
		 */
		th->seq = bpf_htonl(back ? next : seq);
		th->ack_seq = bpf_htonl(tp->snd_una - 1);
	}
	bpf_sk_release(sk);
	return what;
}

/* Reads a packet that may be a response to this port, and tells the source as a prefix. */
static __always_inline bool read_response(struct __sk_buff *skb, bool v4, __u16 port,
					  struct reply *m, struct hpccpp_prefix *source)
{
	__u32 at = v4 ? TCP_IN_IPV4 : TCP_IN_IPV6;
	__u32 len = v4 ? RESPONSE4_LEN : RESPONSE6_LEN;
	union ip_header *ip = &m->ip;

	if (v4) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip->v4, sizeof(ip->v4)) ||
		    ip->v4.protocol != IPPROTO_UDP || ip->v4.ihl != 5 ||
		    ip->v4.tot_len != bpf_htons(sizeof(ip->v4) + len) ||
		    ip->v4.frag_off & bpf_htons(IP_OFFSET | IP_MF) ||
		    bpf_skb_load_bytes(skb, at, &m->u, RESPONSE4_LEN))
			return false;
		m->a.src[0] = ip->v4.saddr;
		m->a.dst[0] = ip->v4.daddr;
		source->addr[10] = 0xff;
		source->addr[11] = 0xff;
		__builtin_memcpy(source->addr + 12, m->a.src, 4);
	} else {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip->v6, sizeof(ip->v6)) ||
		    ip->v6.nexthdr != IPPROTO_UDP ||
		    ip->v6.payload_len != bpf_htons(len) ||
		    bpf_skb_load_bytes(skb, at, &m->u, RESPONSE6_LEN))
			return false;
		__builtin_memcpy(m->a.src, &ip->v6.saddr, sizeof(m->a.src));
		__builtin_memcpy(m->a.dst, &ip->v6.daddr, sizeof(m->a.dst));
		__builtin_memcpy(source->addr, m->a.src, sizeof(m->a.src));
	}
	return m->u.udp.dest == bpf_htons(port) && m->u.udp.len == bpf_htons(len) &&
	       (m->u.r.id == bpf_htons(HPCCPP_RESPONSE_ID) ||
		m->u.r.id == bpf_htons(HPCCPP_RESPONSE_RX_ID));
}

/* Puts an ACK with the record of the response in its place. */
static __always_inline long put_ack(struct __sk_buff *skb, bool v4, bool back,
				    struct reply *m, struct ack *ack)
{
	__u32 at = v4 ? TCP_IN_IPV4 : TCP_IN_IPV6;
	long err;

	ack->tcp.doff = sizeof(*ack) / 4;
	ack->tcp.ack = 1;
	ack->tcp.window = 0xffff;
	ack->option = bpf_htonl((__u32)HPCCPP_OPT_KIND << 24 |
				HPCCPP_OPT_LEN(1) << 16 |
				(back ? HPCCPP_EXID_ECHO : HPCCPP_EXID_COLLECT));
	__builtin_memcpy(ack->rec, m->u.r.rec, sizeof(ack->rec));
	ack->tcp.check = ~fold16(pseudo_sum(&m->a, IPPROTO_TCP, sizeof(*ack)) +
				 bpf_csum_diff(NULL, 0, (__be32 *)ack, sizeof(*ack), 0));
	err = bpf_skb_change_tail(skb, at + sizeof(*ack), 0);
	err = err ?: store_ip(skb, v4, m, 0, IPPROTO_TCP, sizeof(*ack), BPF_F_RECOMPUTE_CSUM);
	return err ?: bpf_skb_store_bytes(skb, at, ack, sizeof(*ack),
					  BPF_F_RECOMPUTE_CSUM);
}

/*
 * Makes an ACK of a response: at the sender with an echo of the record, at the
 * receiver with the record as a segment would bring it.
 */
static __always_inline int take_response(struct __sk_buff *skb,
					 const struct hpccpp_port_response *c)
{
	bool v4 = skb->protocol == bpf_htons(ETH_P_IP), back;
	struct hpccpp_prefix source = { .prefixlen = 128 };
	__u32 len = v4 ? RESPONSE4_LEN : RESPONSE6_LEN, what;
	struct ack ack = {};
	struct reply m = {};

	if ((!v4 && skb->protocol != bpf_htons(ETH_P_IPV6)) ||
	    !read_response(skb, v4, c->port, &m, &source))
		return TC_ACT_UNSPEC;
	back = m.u.r.id == bpf_htons(HPCCPP_RESPONSE_ID);

	what = HPCCPP_PS_DENIED;
	/* no wire carries ::ffff:a.b.c.d, and it would match an IPv4 prefix */
	if ((!v4 && !m.a.src[0] && !m.a.src[1] && m.a.src[2] == bpf_htonl(0xffff)) ||
	    !bpf_map_lookup_elem(&port_accept, &source))
		goto drop;
	what = HPCCPP_PS_DAMAGED;
	if (fold16(pseudo_sum(&m.a, IPPROTO_UDP, len) +
		 bpf_csum_diff(NULL, 0, (__be32 *)&m.u, sizeof(m.u), 0)) != 0xffff)
		goto drop;
	/* an empty record would say that no port has written */
	if (!(bpf_ntohl(m.u.r.rec[0]) >> 8 & 0xfff))
		goto drop;
	/* the ACK is to come from the other end of the connection, not from the port */
	__builtin_memcpy(m.a.src, m.u.r.peer, sizeof(m.a.src));
	ack.tcp.source = back ? m.u.r.dport : m.u.r.sport;
	ack.tcp.dest = back ? m.u.r.sport : m.u.r.dport;
	what = find_flow(skb, v4, &m.a, back, bpf_ntohl(m.u.r.seq), &ack.tcp);
	if (what != HPCCPP_PS_ACCEPTED)
		goto drop;
	if (!put_ack(skb, v4, back, &m, &ack)) {
		count(what);
		return TC_ACT_UNSPEC;
	}
	what = HPCCPP_PS_ERROR;
drop:
	count(what);
	return TC_ACT_SHOT;
}
