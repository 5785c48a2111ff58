/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent of RoCEv2 hosts, part of cnp.bpf.c: it adds IOAM traces to data packets that
 * leave, and takes them off data packets that arrive.
 */

/* The fields of an IPv6 header that change with the headers behind it */
struct following {
	__be16 payload_len;
	__u8 nexthdr;
} __attribute__((__packed__));

/*
 * Updates these fields, in the packet and in *ip, after "more" bytes of headers were added
 * behind the IPv6 header, or removed if negative. False for an error.
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
 * Adds a trace to a packet of RoCEv2 without extension headers, if the MTU has room for
 * it. The ICRC stays right, as it covers only fields that the receiver's agent restores
 * when it takes the trace off. False: the packet is damaged, drop it. Not static, as
 * hpccpp_remove_trace().
 */
SEPARATE int hpccpp_add_trace(struct __sk_buff *skb, __u32 at, __u32 hops, __be16 ns)
{
	__u32 len = HPCCPP_HBH_LEN(hops), mtu = 0;
	static const __u8 padn[4] = { IPV6_TLV_PADN, 2 };
	struct hpccpp_hbh h = {
		.next = IPPROTO_UDP,
		.hdrlen = len / 8 - 1,
		.padn = { IPV6_TLV_PADN },
		.type = HPCCPP_IOAM_HBH,
		.len = 2 + sizeof(h.trace) + HPCCPP_HBH_DATA(hops),
		.ioam_type = HPCCPP_IOAM_PREALLOC,
		.trace.ns = ns,
		.trace.node_flags = HPCCPP_IOAM_HPCC_WORDS << 3,
		.trace.rem = HPCCPP_HBH_DATA(hops) / 4,
		.trace.type = bpf_htonl(HPCCPP_IOAM_HPCC),
	};
	struct ipv6hdr ip;

	if (bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)))
		return true;
	if (bpf_check_mtu(skb, 0, &mtu, len, 0)) {
		count(HPCCPP_CS_TRACE_MTU);
		return true;
	}
	/* the kernel fills the new room with zeros */
	if (bpf_skb_adjust_room(skb, len, BPF_ADJ_ROOM_NET, 0)) {
		count(HPCCPP_CS_ERROR);
		return true;
	}
	if (!set_following(skb, at, &ip, IPPROTO_HOPOPTS, len) ||
	    bpf_skb_store_bytes(skb, at + sizeof(ip), &h, sizeof(h), BPF_F_RECOMPUTE_CSUM) ||
	    (hops & 1 &&
	     bpf_skb_store_bytes(skb, at + sizeof(ip) + len - sizeof(padn), padn,
				 sizeof(padn), BPF_F_RECOMPUTE_CSUM)))
		return false;
	count(HPCCPP_CS_TRACE_ADDED);
	return true;
}

/*
 * True if the option data at "at" is a trace of our namespace. *wrong says if its lengths
 * do not fit.
 */
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
 * The length of the Hop-by-Hop options at "at" if they may be taken off: they are a trace
 * of ours and padding, and RoCEv2 is behind them. 0 if there is no trace of ours; -1 if
 * its lengths are wrong, or another option stands beside it. *option is the offset of the
 * trace.
 */
static __always_inline int trace_header(struct __sk_buff *skb,
					const struct hpccpp_cnp_cfg *cfg,
					__u32 at, const struct ipv6hdr *ip,
					__u32 *option)
{
	__u32 end, udp, len, trace = 0, trace_len = 0, i;
	bool found = false, others = false, wrong;
	struct ip6_option o;
	struct ip6_ext h;
	struct roce roce;

	if (bpf_skb_load_bytes(skb, at, &h, sizeof(h)) || h.next != IPPROTO_UDP)
		return 0;
	len = ip6_ext_len(&h);
	end = at + len;
	udp = end;
	if (!load_roce(skb, IPPROTO_UDP, &udp, &roce))
		return 0;
	at += IP6_OPTIONS;
	for (i = 0; i < TRACE_OPTIONS_MAX && at < end; i++) {
		/* a Pad1 at the end comes with the first byte of UDP */
		if (bpf_skb_load_bytes(skb, at, &o, sizeof(o)))
			return 0;
		if (o.type == HPCCPP_IOAM_HBH && !found) {
			found = true;
			trace = at;
			trace_len = o.len;
		} else if (o.type != IPV6_TLV_PAD1 && o.type != IPV6_TLV_PADN) {
			others = true;
		}
		at += ip6_option_len(&o);
	}
	if (!found || !our_trace(skb, cfg, trace + sizeof(o), trace_len, &wrong))
		return 0;
	if (wrong || others || at != end ||
	    bpf_ntohs(ip->payload_len) < len + sizeof(roce) + HPCCPP_ICRC_LEN)
		return -1;
	*option = trace;
	return len;
}

/*
 * Takes the trace off a packet that has one of ours. False: the packet is damaged, drop
 * it. Not static: the verifier checks a global function once, a static one again for each
 * state of its callers.
 */
SEPARATE int hpccpp_remove_trace(struct __sk_buff *skb)
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
	if (!set_following(skb, at, &ip, IPPROTO_UDP, -len)) {
		count(HPCCPP_CS_ERROR);
		return false;
	}
	count(HPCCPP_CS_TRACE_REMOVED);
	return true;
}
