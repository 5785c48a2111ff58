/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet handling that the TC programs share. For eBPF, after vmlinux.h and
 * bpf_helpers.h.
 */
#ifndef HPCCPP_SKB_H
#define HPCCPP_SKB_H

/* Offset of the IP header, behind tags, and the protocol there; 0 for an error. */
static __always_inline __u32 ip_offset(struct __sk_buff *skb, __u16 *proto)
{
	__u32 off = ETH_HLEN;
	struct {
		__be16 tci;
		__be16 proto;
	} tag;
	int i;

	*proto = skb->protocol;
	/* tags in the packet data; a tag in skb->vlan_tci takes no room there */
	for (i = 0; i < 2; i++) {
		if (*proto != bpf_htons(ETH_P_8021Q) &&
		    *proto != bpf_htons(ETH_P_8021AD))
			break;
		if (bpf_skb_load_bytes(skb, off, &tag, sizeof(tag)))
			return 0;
		*proto = tag.proto;
		off += sizeof(tag);
	}
	return off;
}

/* Folds a sum to 16 bits, as the Internet checksum does. */
static __always_inline __u16 fold16(__u64 sum)
{
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (sum >> 16) + sum;
}

/* Addresses of a packet that is to be made, of either family */
struct addresses {
	__be32 src[4];
	__be32 dst[4];		/* IPv4: the first of each, else 0 */
};

static __always_inline __u64 pseudo_sum(const struct addresses *a, __u8 proto,
					__u32 len)
{
	return (__u64)bpf_csum_diff(NULL, 0, (__be32 *)a, sizeof(*a), 0) +
	       bpf_htonl(proto) + bpf_htonl(len);
}

static __always_inline void put_ipv6(struct ipv6hdr *ip, __u8 proto, __u32 len,
				     const struct addresses *a)
{
	*ip = (struct ipv6hdr) {
		.version = 6, .hop_limit = 64, .nexthdr = proto,
		.payload_len = bpf_htons(len),
	};
	__builtin_memcpy(&ip->saddr, a->src, sizeof(a->src));
	__builtin_memcpy(&ip->daddr, a->dst, sizeof(a->dst));
}

#endif /* HPCCPP_SKB_H */
