/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IPv6: the length of an extension header and of an option in it. Every walk of the agents goes
 * by these lengths; the walks themselves differ, as the agent of hosts has to be quick on packets
 * without such headers.
 * For eBPF, after vmlinux.h.
 */
#ifndef HPCCPP_IP6_H
#define HPCCPP_IP6_H

#define IPV6_TLV_PAD1	0
#define IPV6_TLV_PADN	1
#define IPV6_TLV_JUMBO	194

#define IP6_LEN		sizeof(struct ipv6hdr)
#define IP6_SADDR	__builtin_offsetof(struct ipv6hdr, saddr)
#define IP6_DADDR	__builtin_offsetof(struct ipv6hdr, daddr)

/* The first bytes of an extension header, which has 8 at least */
struct ip6_ext {
	__u8 next;
	__u8 len;
	__u8 a, b;		/* Routing: type, segments left; Fragment: offset */
};

/* Fragment and AH count in another way. */
static __always_inline __u32 ip6_ext_len(const struct ip6_ext *h)
{
	return (h->len + 1) * 8;
}

#define IP6_OPTIONS	2	/* the first option's place in its header */

/* The first bytes of an option. Pad1 has no length: "len" is then the byte behind it. */
struct ip6_option {
	__u8 type;
	__u8 len;		/* of the data behind these two bytes */
};

/* Includes these two bytes. */
static __always_inline __u32 ip6_option_len(const struct ip6_option *o)
{
	return o->type == IPV6_TLV_PAD1 ? 1 : sizeof(*o) + o->len;
}

#endif /* HPCCPP_IP6_H */
