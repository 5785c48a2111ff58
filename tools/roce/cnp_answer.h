/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent of RoCEv2 hosts, part of cnp.bpf.c: the notification point. It sends CNPs for
 * data packets that arrive with a congestion mark.
 */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cnp_space);
} cnp_space SEC(".maps");

/* The limit of CNPs over all flows */
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
#define PACKET_HOST	0	/* pkt_type of packets to this machine's MAC address */
#define LOOPBACK_IFINDEX	1

/*
 * Words of skb->cb[] in the copy that hpccpp_answer() gets. Offsets count from the IPv6
 * header.
 */
enum { COPY_TRACE, COPY_UDP, COPY_QPN };

/*
 * True if the packet is for this host. The kernel does not tell a program so directly.
 *
 * Where the host forwards, the lookup says NOT_FWDED for an address of the host, and for
 * one without a route as well. A second lookup, in the main table alone, tells these
 * apart: it has a prefix for each address of the host.
 *
 * Where the host does not forward, the lookup says FWD_DISABLED. Then every packet is for
 * the host, as no router sends it others. But the lookup goes by the setting of the
 * device, and the host by that of all devices, which lo's setting follows: so ask again
 * for lo.
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

/* Data that arrived: its place in the packet, and the flow that an answer is for */
struct heard_data {
	struct hpccpp_cnp_qp key;	/* its queue pair here, and the address of the sender */
	struct ipv6hdr ip;
	struct roce roce;
	__u32 trace, udp;		/* bytes from the IPv6 header; trace 0: none */
	bool marked;			/* with congestion experienced */
};

/* Reads a packet that arrives; false if it is not data that may have an answer. */
static __always_inline bool read_data(struct __sk_buff *skb, struct hpccpp_cnp_cfg *cfg,
				      struct heard_data *d)
{
	__u32 at = ipv6_offset(skb, &d->ip);
	__be32 addr[4];
	int len = 0;

	/* an answer would leave without the VLAN tag */
	if (at != ETH_HLEN || skb->vlan_present || skb->pkt_type != PACKET_HOST)
		return false;
	d->marked = (d->ip.flow_lbl[0] >> 4 & 3) == ECN_CE;
	if (!d->marked && cfg->answer != HPCCPP_ANSWER_CNP)
		return false;
	if (cfg->hops && d->ip.nexthdr == IPPROTO_HOPOPTS) {
		len = trace_header(skb, cfg, at + IP6_LEN, &d->ip, &d->trace);
		if (len <= 0)
			return false;
		d->trace -= at;
	} else if (d->ip.nexthdr != IPPROTO_UDP) {
		return false;
	}
	d->udp = IP6_LEN + len;
	if (bpf_skb_load_bytes(skb, at + d->udp, &d->roce, sizeof(d->roce)))
		return false;
	d->key.qpn = roce_data_qpn(&d->roce);
	__builtin_memcpy(addr, &d->ip.daddr, sizeof(addr));
	if (!d->key.qpn || !is_unicast(addr))
		return false;
	__builtin_memcpy(addr, &d->ip.saddr, sizeof(addr));
	__builtin_memcpy(d->key.peer, addr, sizeof(d->key.peer));
	return is_unicast(addr);
}

/* True if more answers would leave than the limit allows. */
static __always_inline bool too_many_answers(const struct hpccpp_cnp_cfg *cfg)
{
	struct answers *all;
	__u32 zero = 0;

	all = bpf_map_lookup_elem(&cnp_answers, &zero);
	return !all || !cfg->limit ||
	       over_limit(&all->lock, &all->next, 1000000000 / cfg->limit);
}

/*
 * Handles a packet that arrives. If it is data with a congestion mark, and its flow had no
 * CNP for N, a copy goes to our own ingress, where hpccpp_answer() turns it into a CNP.
 * Only data that the stack accepts counts: UDP comes next, or behind a trace that is taken
 * off.
 */
SEPARATE int hpccpp_hear(struct __sk_buff *skb)
{
	static const struct heard none;
	__u32 zero = 0, mark = skb->mark;
	struct hpccpp_cnp_cfg *cfg;
	struct heard_data d = {};
	struct heard *h;
	__u64 now, was;

	cfg = bpf_map_lookup_elem(&cnp, &zero);
	if (!cfg || !read_data(skb, cfg, &d))
		return 0;
	h = bpf_map_lookup_elem(&cnp_heard, &d.key);
	if (!h) {
		bpf_map_update_elem(&cnp_heard, &d.key, &none, BPF_NOEXIST);
		h = bpf_map_lookup_elem(&cnp_heard, &d.key);
	}
	if (!h) {
		count(HPCCPP_CS_ERROR);
		return 0;
	}
	now = bpf_ktime_get_ns();
	/* our ACKs are not for READ responses, which are part of our own requests' sequence */
	if (cfg->answer == HPCCPP_ANSWER_CNP && !is_answer(d.roce.bth.opcode)) {
		h->psn = bpf_ntohl(d.roce.bth.psn) & PSN_MASK;
		ask(cfg, d.key.peer, &d.roce.bth, true, d.key.qpn, h->qpn, now);
	}
	was = h->answered;
	if (!d.marked)
		return 0;
	if (was && (__s64)(now - was) < (__s64)cfg->dcqcn.N) {
		count(HPCCPP_CS_SUPPRESSED);
		return 0;
	}
	if (!is_to_us(skb, &d.ip))
		return 0;
	if (cfg->answer == HPCCPP_ANSWER_CNP && !h->qpn) {
		count(HPCCPP_CS_UNPAIRED);
		return 0;
	}
	/* of two CPUs that handle packets of this flow only one answers */
	if (__sync_val_compare_and_swap(&h->answered, was, now) != was) {
		count(HPCCPP_CS_SUPPRESSED);
		return 0;
	}
	if (too_many_answers(cfg)) {
		count(HPCCPP_CS_LIMITED);
		return 0;
	}
	skb->cb[COPY_TRACE] = d.trace;
	skb->cb[COPY_UDP] = d.udp;
	skb->cb[COPY_QPN] = cfg->answer == HPCCPP_ANSWER_CNP ? h->qpn : d.key.qpn;
	skb->mark = cfg->mark;
	if (bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS))
		count(HPCCPP_CS_ERROR);
	skb->mark = mark;
	return 0;
}

/*
 * Turns a copy into a CNP, which leaves by the device that the data came by. Its source is
 * the destination of the data, so that the sender knows whom a Fast CNP is from. Not
 * static, as hpccpp_remove_trace().
 */
SEPARATE int hpccpp_answer(struct __sk_buff *skb)
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
