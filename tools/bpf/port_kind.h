/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a packet is that the port agent does not read: counters tell an operator whether
 * telemetry is missing because nothing asks for it, or because ports cannot see TCP.
 * Part of port.bpf.c.
 */
#ifndef HPCCPP_PORT_KIND_H
#define HPCCPP_PORT_KIND_H

/* UDP ports of tunnels, as IANA assigned them, and the one that Linux has for VXLAN */
#define PORT_VXLAN		4789
#define PORT_VXLAN_LINUX	8472
#define PORT_GENEVE		6081

/* Counter of a protocol above IP: of a tunnel, of an extension header, or of neither */
static __always_inline __u32 kind_of_protocol(__u8 protocol)
{
	switch (protocol) {
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
	case IPPROTO_GRE:
	case IPPROTO_ESP:
	case IPPROTO_L2TP:
	case IPPROTO_MPLS:
		return HPCCPP_PS_TUNNEL;
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_FRAGMENT:
	case IPPROTO_DSTOPTS:
	case IPPROTO_AH:
		return HPCCPP_PS_EXTENSION;
	}
	return HPCCPP_PS_NOT_TCP;
}

static __always_inline bool is_tunnel_port(struct __sk_buff *skb, __u32 udp)
{
	__be16 port;

	if (bpf_skb_load_bytes(skb, udp + __builtin_offsetof(struct udphdr, dest), &port,
			       sizeof(port)))
		return false;
	return port == bpf_htons(PORT_VXLAN) || port == bpf_htons(PORT_VXLAN_LINUX) ||
	       port == bpf_htons(PORT_GENEVE);
}

/* The counter of a packet in which tcp_offset() has found no TCP */
static __always_inline __u32 kind_of_unread(struct __sk_buff *skb, __u32 ip, __u16 proto)
{
	__u32 len = sizeof(struct ipv6hdr);
	struct { __u8 version, rest[5], next, after[2], protocol; } h;

	if (ip && (proto == bpf_htons(ETH_P_8021Q) || proto == bpf_htons(ETH_P_8021AD)))
		return HPCCPP_PS_TAGS;
	if (!ip || (proto != bpf_htons(ETH_P_IP) && proto != bpf_htons(ETH_P_IPV6)) ||
	    bpf_skb_load_bytes(skb, ip, &h, sizeof(h)))
		return HPCCPP_PS_OTHER;
	if (proto == bpf_htons(ETH_P_IP)) {
		len = (h.version & 0xf) * 4;
		h.next = h.protocol;
	}
	if (h.next == IPPROTO_UDP && is_tunnel_port(skb, ip + len))
		return HPCCPP_PS_TUNNEL;
	return kind_of_protocol(h.next);
}

#endif /* HPCCPP_PORT_KIND_H */
