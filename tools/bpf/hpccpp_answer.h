/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Answers to data packets of RoCEv2 by CNPs, for the eBPF agents of ports and of
 * receivers. After vmlinux.h and bpf_helpers.h.
 */
#ifndef HPCCPP_ANSWER_H
#define HPCCPP_ANSWER_H

#include "hpccpp_agent.h"
#include "hpccpp_ip6.h"
#include "hpccpp_roce.h"
#include "hpccpp_skb.h"

/* Headers behind IPv6's in every packet of RoCEv2 */
struct roce {
	struct udphdr udp;
	struct hpccpp_bth bth;
};

/* The queue pair that a data packet goes to; 0 for any other packet. */
static __always_inline __u32 roce_data_qpn(const struct roce *h)
{
	__u32 qpn = bpf_ntohl(h->bth.qpn) & HPCCPP_QPN_MASK;

	if (h->udp.dest != HPCCPP_NET16(HPCCPP_ROCE_PORT) ||
	    bpf_ntohs(h->udp.len) < sizeof(*h) + HPCCPP_ICRC_LEN ||
	    h->bth.flags & 0x0f || !hpccpp_roce_data(h->bth.opcode))
		return 0;
	/* 0 and 1 set up connections, all ones is multicast */
	return qpn > 1 && qpn != HPCCPP_QPN_MASK ? qpn : 0;
}

/*
 * True if one more answer now would be over the limit of one in "interval" ns on the long
 * run. *next is when the next one is due; the lock protects it.
 */
static __always_inline bool over_limit(struct bpf_spin_lock *lock, __u64 *next,
				       __u32 interval)
{
	__u64 now = bpf_ktime_get_ns();
	bool over;

	bpf_spin_lock(lock);
	over = *next > now + HPCCPP_RESPONSE_BURST;
	if (!over)
		*next = (*next > now ? *next : now) + interval;
	bpf_spin_unlock(lock);
	return over;
}

/* True for the address of one host that can be reached from other links. */
static __always_inline bool is_unicast(const __be32 *a)
{
	__u32 w = bpf_ntohl(a[0]);

	return w >> 24 != 0xff && w >> 22 != 0xfe80 >> 6 &&
	       (w || a[1] || a[2]);
}

/* Room for headers, which are too long for the stack: a packet that is built, and a CNP */
struct cnp_space {
	struct ipv6hdr ip;
	union {
		struct hpccpp_fcnp1 one;
		struct {
			struct hpccpp_fcnp2 two;
			struct hpccpp_ioam_trace trace;
			__u8 data[256];		/* of the trace; daddr; padding */
		};
	};
	__u8 room[24];
	struct hpccpp_cnp cnp;
};

#define FCNP2_HDR_MAX	HPCCPP_FCNP2_HDR(HPCCPP_FCNP2_DATA)

/*
 * Writes the destination options header of a Fast CNP into s. Returns its length, or 0
 * for an error. It has the trace whose option is at "trace" in the packet, unless that is
 * 0 or the trace does not fit; *cut is true then. The address of the last destination is
 * at "last". Both are offsets from the IPv6 header.
 */
static __always_inline __u32 put_option(struct __sk_buff *skb, __u32 trace,
					__u32 last, __u8 type1, __u8 type2,
					struct cnp_space *s, bool *cut)
{
	__u32 n = 0;
	__u8 len = 0;

	if (trace && bpf_skb_load_bytes(skb, ETH_HLEN + trace + 1, &len, 1))
		return 0;
	/* Opt Data Len there: reserved, IOAM-Option-Type, header, data */
	if (len >= 2 + sizeof(s->trace))
		n = len - 2 - sizeof(s->trace);
	if (!len || n > HPCCPP_FCNP2_DATA) {
		*cut = len;
		s->one = (struct hpccpp_fcnp1) {
			.next = IPPROTO_UDP,
			.hdrlen = sizeof(s->one) / 8 - 1,
			.padn = { IPV6_TLV_PADN, 2 },
			.type = type1,
			.len = sizeof(s->one.daddr),
		};
		if (bpf_skb_load_bytes(skb, ETH_HLEN + last, s->one.daddr,
				       sizeof(s->one.daddr)))
			return 0;
		return sizeof(s->one);
	}
	s->two = (struct hpccpp_fcnp2) {
		.next = IPPROTO_UDP,
		.hdrlen = HPCCPP_FCNP2_HDR(n) / 8 - 1,
		.padn = { IPV6_TLV_PADN },
		.type = type2,
		.len = HPCCPP_FCNP2_LEN(n),
		.ioam_type = HPCCPP_IOAM_PREALLOC,
	};
	/* the verifier has lost track of the bound of n */
	asm volatile("" : "+r"(n));
	if (n > HPCCPP_FCNP2_DATA ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + trace + 4, &s->trace,
			       sizeof(s->trace) + n) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + last, s->data + n, 16))
		return 0;
	s->data[n + 16] = IPV6_TLV_PADN;	/* not part of the header where it is full */
	s->data[n + 17] = 2;
	s->data[n + 18] = 0;
	s->data[n + 19] = 0;
	return HPCCPP_FCNP2_HDR(n);
}

/*
 * True if the checksum is left to the device. It is only that of the pseudo-header then,
 * and the device would finish it in the CNP. No RoCEv2 stack is known to leave one, and
 * most send none.
 */
static __always_inline bool sum_is_left(const struct addresses *a,
					const struct udphdr *udp)
{
	return udp->check &&
	       udp->check == fold16(pseudo_sum(a, IPPROTO_UDP, bpf_ntohs(udp->len)));
}

/*
 * Makes a CNP of a data packet: to queue pair qpn, between these addresses, behind the
 * option of len bytes in s, or without one if len is 0. "udp" is the offset of UDP in the
 * data packet, from the IPv6 header. False for an error.
 */
static __always_inline bool put_cnp(struct __sk_buff *skb, __u32 udp,
				    const struct roce *data, __u32 qpn,
				    const struct addresses *a,
				    struct cnp_space *s, __u32 len)
{
	struct hpccpp_cnp *cnp = &s->cnp;
	long err;

	*cnp = (struct hpccpp_cnp) {
		.sport = data->udp.source,
		.dport = HPCCPP_NET16(HPCCPP_ROCE_PORT),
		.len = HPCCPP_NET16(sizeof(*cnp)),
		.bth.opcode = HPCCPP_ROCE_CNP,
		.bth.pkey = data->bth.pkey,
		.bth.qpn = bpf_htonl(qpn | HPCCPP_BTH_BECN),
	};
	put_ipv6(&s->ip, len ? IPPROTO_DSTOPTS : IPPROTO_UDP, len + sizeof(*cnp), a);
	s->ip.priority = HPCCPP_CNP_DSCP >> 2;
	s->ip.flow_lbl[0] = (HPCCPP_CNP_DSCP & 3) << 6;
	s->ip.hop_limit = HPCCPP_CNP_HOPS;

	cnp->icrc = hpccpp_cnp_icrc(a->src, a->dst, cnp);
	cnp->check = ~fold16(pseudo_sum(a, IPPROTO_UDP, sizeof(*cnp)) +
			     bpf_csum_diff(NULL, 0, (__be32 *)cnp, sizeof(*cnp), 0));
	if (!cnp->check)
		cnp->check = 0xffff;

	/* change_tail() refuses to cut into the transport header, so cut in front first */
	err = udp > IP6_LEN ?
	      bpf_skb_adjust_room(skb, IP6_LEN - udp, BPF_ADJ_ROOM_NET, 0) : 0;
	err = err ?: bpf_skb_change_tail(skb, ETH_HLEN + IP6_LEN + len + sizeof(*cnp), 0);
	err = err ?: bpf_skb_store_bytes(skb, ETH_HLEN, &s->ip, IP6_LEN + len, 0);
	err = err ?: bpf_skb_store_bytes(skb, ETH_HLEN + IP6_LEN + len, cnp,
					 sizeof(*cnp), 0);
	return !err;
}

#endif /* HPCCPP_ANSWER_H */
