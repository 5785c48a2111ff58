/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent of RoCEv2 hosts, part of cnp.bpf.c: the notification point, which answers data
 * packets that come with a congestion mark.
 */

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

#define ECN_CE		3
#define PACKET_HOST	0	/* pkt_type of what is to this machine's MAC address */
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
	if (!cfg || at != ETH_HLEN || skb->vlan_present ||
	    skb->pkt_type != PACKET_HOST)
		return 0;
	marked = (ip.flow_lbl[0] >> 4 & 3) == ECN_CE;
	if (!marked && cfg->answer != HPCCPP_ANSWER_CNP)
		return 0;
	if (cfg->hops && ip.nexthdr == IPPROTO_HOPOPTS) {
		len = trace_header(skb, cfg, at + IP6_LEN, &ip, &trace);
		if (len <= 0)
			return 0;
		trace -= at;
	} else if (ip.nexthdr != IPPROTO_UDP) {
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
	    bpf_skb_load_bytes(skb, ETH_HLEN + IP6_SADDR, a.dst, sizeof(a.dst)) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + IP6_DADDR, a.src, sizeof(a.src)) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + udp, &roce, sizeof(roce)) ||
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
