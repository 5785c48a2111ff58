/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fast CNP for RoCEv2 on the wire: draft-xiao-rtgwg-rocev2-fast-cnp-02, over IPv6,
 * and the IOAM trace that it brings (RFC 9197, RFC 9486). For the agents, the
 * command and the tests.
 *
 *	Ethernet | IPv6 | Destination Options | UDP | BTH | 16 reserved bytes | ICRC
 */
#ifndef HPCCPP_ROCE_H
#define HPCCPP_ROCE_H

#ifndef __VMLINUX_H__		/* eBPF programs have the types from there, and bpf_helpers.h */
#include <netinet/in.h>
#include <linux/types.h>
#endif

/* These convert constants, too, and in both directions. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HPCCPP_NET16(x)	((__be16)__builtin_bswap16(x))
#define HPCCPP_NET32(x)	((__be32)__builtin_bswap32(x))
#define HPCCPP_LE16(x)	((__u16)(x))
#define HPCCPP_LE32(x)	((__u32)(x))
#else
#define HPCCPP_NET16(x)	((__be16)(x))
#define HPCCPP_NET32(x)	((__be32)(x))
#define HPCCPP_LE16(x)	((__u16)__builtin_bswap16(x))
#define HPCCPP_LE32(x)	((__u32)__builtin_bswap32(x))
#endif

/* --- RoCEv2 (figures 1 and 2) --------------------------------------------------- */

#define HPCCPP_ROCE_PORT	4791	/* UDP destination port */
#define HPCCPP_ROCE_SPORT	49152	/* source ports, from here on: entropy for ECMP */
#define HPCCPP_ROCE_SPORTS	16384
#define HPCCPP_ICRC_LEN		4
#define HPCCPP_QPN_MASK		0xffffff

/* Base Transport Header */
struct hpccpp_bth {
	__u8   opcode;
	__u8   flags;		/* solicited, MigReq, 2 bits pad count, 4 bits version */
	__be16 pkey;
	__be32 qpn;		/* FECN, BECN, 6 bits reserved; 24 bits destination QP */
	__be32 psn;		/* AckReq, 7 bits reserved; 24 bits sequence number */
} __attribute__((__packed__));

#define HPCCPP_BTH_FECN		0x80000000	/* in qpn, host order */
#define HPCCPP_BTH_BECN		0x40000000
#define HPCCPP_BTH_RESV8A	0xff000000	/* not in the ICRC: FECN and BECN too */

#define HPCCPP_ROCE_CNP		0x81	/* opcode */

/*
 * Opcodes of packets with data, which congest: three bits of transport service (RC,
 * UC, RD, UD, XRC; not CNP's 4, not those of manufacturers) and five of operation:
 * SEND and RDMA WRITE all forms, RDMA READ responses. Not: READ requests, ACKs,
 * atomics and their ACKs, RESYNC, which are short and whose number the data paces.
 */
#define HPCCPP_ROCE_SERVICES	0x2f
#define HPCCPP_ROCE_OPERATIONS	0x00c1efff

static __always_inline int hpccpp_roce_data(__u8 opcode)
{
	return HPCCPP_ROCE_SERVICES >> (opcode >> 5) & 1 &&
	       HPCCPP_ROCE_OPERATIONS >> (opcode & 31) & 1;
}

/*
 * A CNP behind its IPv6 headers. A Fast CNP has from the data packet the UDP source port,
 * P_Key and destination QP. Its opcode is 0x81, flags and psn are 0, and of FECN and BECN
 * only BECN is set, as in a receiver's CNP.
 */
struct hpccpp_cnp {
	__be16 sport;
	__be16 dport;		/* HPCCPP_ROCE_PORT */
	__be16 len;		/* of all this */
	__u16  check;
	struct hpccpp_bth bth;
	__u8   reserved[16];
	__u32  icrc;		/* little-endian */
} __attribute__((__packed__));

#define HPCCPP_CNP_DSCP		48	/* where NICs by default send CNPs */
#define HPCCPP_CNP_HOPS		64

/*
 * Invariant CRC of a CNP over IPv6, in the byte order in which a packet has it: CRC-32 of
 * eight bytes 0xff (InfiniBand's LRH), the IPv6 header, UDP, BTH and the reserved bytes.
 * Fields that may change on the way count as ones: traffic class, flow label, hop limit,
 * UDP checksum, resv8a.
 *
 * It does not cover extension headers, and covers the IPv6 header as it is without them:
 * next header UDP, payload length that of UDP. So a node that adds an extension header, or
 * takes one off, does not change it. rxe in the kernel computes the same for a packet
 * without them. It takes the 8 bytes behind the IPv6 header for UDP, so that an agent has
 * to take off a trace before rxe gets the packet.
 *
 * src and dst are those of the IPv6 header. cnp->check need not be set.
 */
struct hpccpp_icrc {
	__be32 first;
	__be16 len;
	__u8   next;
	__u8   hops;
	__be32 src[4];
	__be32 dst[4];
	struct hpccpp_cnp cnp;
} __attribute__((__packed__));

#define HPCCPP_ICRC_SEED	0xdebb20e3	/* after those eight bytes */

static __always_inline __u32 hpccpp_cnp_icrc(const void *src, const void *dst,
					     const struct hpccpp_cnp *cnp)
{
	struct hpccpp_icrc over = {
		.first = HPCCPP_NET32(0x6fffffff),
		.len = HPCCPP_NET16(sizeof(*cnp)),
		.next = IPPROTO_UDP,
		.hops = 0xff,
	};
	/* of four bits: bit by bit a verifier would follow both branches at each */
	static const __u32 table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const __u8 *p = (const __u8 *)&over;
	__u32 crc = HPCCPP_ICRC_SEED;
	unsigned int i;

	__builtin_memcpy(over.src, src, sizeof(over.src));
	__builtin_memcpy(over.dst, dst, sizeof(over.dst));
	__builtin_memcpy(&over.cnp, cnp, sizeof(*cnp));
	over.cnp.check = 0xffff;
	over.cnp.bth.qpn |= HPCCPP_NET32(HPCCPP_BTH_RESV8A);
	for (i = 0; i < sizeof(over) - HPCCPP_ICRC_LEN; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return HPCCPP_LE32(~crc);
}

/*
 * a b modulo the polynomial of CRC-32; the highest bit is that of x^0. It has no branches,
 * which a verifier would follow both ways, and the asm keeps the compiler from making
 * some.
 */
static __always_inline __u32 hpccpp_crc_multiply(__u32 a, __u32 b)
{
	__u32 product = 0, i;

	for (i = 0; i < 32; i++) {
		__u32 with = -(a >> 31), over = -(b & 1);

		asm volatile("" : "+r"(with), "+r"(over));
		product ^= b & with;
		b = b >> 1 ^ (0xedb88320 & over);
		a <<= 1;
	}
	return product;
}

/*
 * The bits that change in an ICRC, as it is stored, when 16 bits that it covers change by
 * "bits". They begin len bytes before it, up to 65535. A CRC is linear: of the rest only
 * the length matters, which shifts the change, by x^(8 len) modulo the polynomial.
 */
static __always_inline __u32 hpccpp_icrc_change(__be16 bits, __u32 len)
{
	/* x^(8 * 2^i) */
	static const __u32 power[16] = {
		0x00800000, 0x00008000, 0xedb88320, 0xb1e6b092,
		0xa06a2517, 0xed627dae, 0x88d14467, 0xd7bbfe6a,
		0xec447f11, 0x8e7ea170, 0x6427800e, 0x4d47bae0,
		0x09fe548f, 0x83852d0f, 0x30362f1a, 0x7b5a9cc3,
	};
	__u32 change = HPCCPP_LE16(bits), i;

	for (i = 0; i < 16; i++) {
		if (len >> i & 1)
			change = hpccpp_crc_multiply(change, power[i]);
	}
	return HPCCPP_LE32(change);
}

/* --- The destination option (figures 3 and 4) ------------------------------------ */

/*
 * Types: IANA has assigned none. The draft demands that the high bits are 10 (drop, and
 * answer with Parameter Problem code 2) and the next is 0 (does not change on the way). Of
 * the types for experiments in RFC 4727 0x9E has these bits; 0x9D, beside it, was not
 * assigned when this was written. All nodes of a domain have to use the same types, which
 * can be configured.
 */
#define HPCCPP_FCNP_TYPE1	0x9e	/* figure 3: the original destination */
#define HPCCPP_FCNP_TYPE2	0x9d	/* figure 4: IOAM trace, original destination */
#define HPCCPP_FCNP_TYPE_OK(t)	(((t) & 0xe0) == 0x80)

/*
 * Figure 3, a header with nothing else. It is aligned to 8n + 6, as Mobile IPv6's home
 * address (RFC 6275), which has the same shape. So the address is at a multiple of 8 from
 * the header; in the figure the option begins in the middle of a word.
 */
struct hpccpp_fcnp1 {
	__u8   next;		/* 17, UDP */
	__u8   hdrlen;		/* 2: 8 bytes each, without the first 8 */
	__u8   padn[4];		/* 1 2 0 0 */
	__u8   type;		/* HPCCPP_FCNP_TYPE1 */
	__u8   len;		/* 16 */
	__be32 daddr[4];	/* of the data packet; its last with a routing header */
} __attribute__((__packed__));

/*
 * Figure 4. It is aligned to 4n, as the options of RFC 9486. From "reserved" to the end of
 * the trace it is as in the Hop-by-Hop option of the data packet, which has the type 0x31.
 * Behind the trace are the 16 bytes of the original destination and then, where the header
 * would else end at an odd multiple of 4, a PadN of 4 bytes (1 2 0 0).
 */
struct hpccpp_fcnp2 {
	__u8   next;		/* 17, UDP */
	__u8   hdrlen;
	__u8   padn[2];		/* 1 0 */
	__u8   type;		/* HPCCPP_FCNP_TYPE2 */
	__u8   len;		/* 26 + the trace's data */
	__u8   reserved;	/* 0 */
	__u8   ioam_type;	/* HPCCPP_IOAM_PREALLOC */
	/* struct hpccpp_ioam_trace, its data, __be32 daddr[4], padding */
} __attribute__((__packed__));

/*
 * The length of an option has 8 bits, and so there is room for so many bytes of trace
 * data. A data packet with a longer trace is answered by figure 3.
 */
#define HPCCPP_FCNP2_DATA	228
#define HPCCPP_FCNP2_LEN(data)	(2 + 8 + (data) + 16)		/* Opt Data Len */
#define HPCCPP_FCNP2_HDR(data)	((4 + 4 + 8 + (data) + 16 + 7) & ~7)	/* bytes, all */

/* --- IOAM trace --------------------------------------------------------------------- */

#define HPCCPP_IOAM_HBH		0x31	/* Hop-by-Hop option type (RFC 9486) */
#define HPCCPP_IOAM_OPT		0x11	/* any option of IOAM, in either header, but for: */
#define HPCCPP_OPT_CHANGES	0x20	/* the data may change on the way */
#define HPCCPP_IOAM_PREALLOC	0	/* IOAM-Option-Type: pre-allocated trace */

/* In the packet: Option Type, Opt Data Len, reserved, IOAM-Option-Type, then this */
struct hpccpp_ioam_trace {
	__be16 ns;		/* Namespace-ID */
	__u8   node_flags;	/* NodeLen: 5 bits, words; Overflow, Loopback, Active */
	__u8   rem;		/* Active's last bit; RemainingLen: 7 bits, words */
	__be32 type;		/* IOAM-Trace-Type: 24 bits; reserved */
	/*
	 * Data, filled from its end: the first node writes NodeLen words that end at
	 * RemainingLen words from here, and takes NodeLen from RemainingLen. So what is
	 * written begins at RemainingLen, the last node first.
	 */
} __attribute__((__packed__));

#define HPCCPP_IOAM_NODELEN(node_flags)	((node_flags) >> 3)
#define HPCCPP_IOAM_OVERFLOW	0x04	/* in node_flags */
#define HPCCPP_IOAM_REM		0x7f	/* in rem */

/*
 * The Hop-by-Hop Options header that the agent of a sender adds to a data packet, with
 * nothing but the trace, aligned to 4n. The trace has room for "hops" nodes of
 * HPCCPP_IOAM_HPCC. 4 bytes of PadN (1 2 0 0) follow where the header has to grow to a
 * multiple of 8.
 */
struct hpccpp_hbh {
	__u8   next;		/* 17, UDP */
	__u8   hdrlen;		/* 8 bytes each, without the first 8 */
	__u8   padn[2];		/* 1 0 */
	__u8   type;		/* HPCCPP_IOAM_HBH */
	__u8   len;		/* Opt Data Len: 10 + the trace's data */
	__u8   reserved;	/* 0 */
	__u8   ioam_type;	/* HPCCPP_IOAM_PREALLOC */
	struct hpccpp_ioam_trace trace;
} __attribute__((__packed__));

#define HPCCPP_HBH_HOPS		8	/* at most, as a Fast CNP brings back no more */
#define HPCCPP_HBH_DATA(hops)	((hops) * HPCCPP_IOAM_HPCC_WORDS * 4)
#define HPCCPP_HBH_LEN(hops) \
	((sizeof(struct hpccpp_hbh) + HPCCPP_HBH_DATA(hops) + 7) & ~7)	/* bytes, all */

/*
 * Bits of the type, host order. For each bit a node writes a word, two for the wide ones,
 * in the order of the bits. A node writes all ones for what it does not know.
 */
#define HPCCPP_IOAM_BIT(n)	(0x80000000u >> (n))
#define HPCCPP_IOAM_NODE	HPCCPP_IOAM_BIT(0)	/* hop limit 8, node id 24 bits */
#define HPCCPP_IOAM_IFS		HPCCPP_IOAM_BIT(1)	/* ingress, egress if id: 16 each */
#define HPCCPP_IOAM_SEC		HPCCPP_IOAM_BIT(2)	/* POSIX time, s */
#define HPCCPP_IOAM_FRAC	HPCCPP_IOAM_BIT(3)	/* us, as Linux' nodes: RFC 9197, 5.3 */
#define HPCCPP_IOAM_DEPTH	HPCCPP_IOAM_BIT(6)	/* queue, bytes, as Linux' nodes */
#define HPCCPP_IOAM_NODE_WIDE	HPCCPP_IOAM_BIT(8)	/* hop limit 8, node id 56 bits */
#define HPCCPP_IOAM_IFS_WIDE	HPCCPP_IOAM_BIT(9)	/* ingress, egress if id: 32 each */
/* draft-gafni-ippm-ioam-additional-data-fields-00 */
#define HPCCPP_IOAM_TX		HPCCPP_IOAM_BIT(12)	/* bytes sent, modulo 2^32 */
#define HPCCPP_IOAM_SPEED	HPCCPP_IOAM_BIT(13)	/* speed 6, errors 26 bits */
#define HPCCPP_IOAM_OPAQUE	HPCCPP_IOAM_BIT(22)	/* a word here, not in NodeLen */

/* What HPCC++ needs of each link */
#define HPCCPP_IOAM_HPCC_WORDS	7
#define HPCCPP_IOAM_HPCC	(HPCCPP_IOAM_NODE | HPCCPP_IOAM_IFS | HPCCPP_IOAM_SEC | \
				 HPCCPP_IOAM_FRAC | HPCCPP_IOAM_DEPTH | HPCCPP_IOAM_TX | \
				 HPCCPP_IOAM_SPEED)

/* The words that a node writes for bit i */
static __always_inline __u32 hpccpp_ioam_words(__u32 i)
{
	return i >= 8 && i <= 10 ? 2 : 1;
}

/* NodeLen of a type */
static __always_inline __u32 hpccpp_ioam_nodelen(__u32 type)
{
	__u32 n = 0, i;

	for (i = 0; i < 22; i++)
		n += type & HPCCPP_IOAM_BIT(i) ? hpccpp_ioam_words(i) : 0;
	return n;
}

/*
 * Interface speed. The six bits do not have the draft's encoding, so that nodes of other
 * makes do not fit: code = 7 * d + m stands for {1, 1.6, 2, 2.5, 4, 5, 8}[m] * 10^d * 10
 * kbit/s, which has every speed of Ethernet up to 8 Tbit/s; 63 is unknown. A speed between
 * two has the code of the lower, so that nobody sends more than there is. Errors: unknown,
 * all ones.
 */
#define HPCCPP_IOAM_SPEED_UNKNOWN	63
#define HPCCPP_IOAM_ERRORS_UNKNOWN	0x3ffffff

/* bit/s; 0 when unknown */
static __always_inline __u64 hpccpp_ioam_speed(__u32 code)
{
	/* a byte each: 80, 50, 40, 25, 20, 16, 10 */
	__u32 m = 0x5032281914100aULL >> 8 * (code % 7) & 0xff;
	__u32 e = code / 7 + 3;

	if (code >= HPCCPP_IOAM_SPEED_UNKNOWN)
		return 0;
	/* keeps a check of bounds that the compiler finds needless, and the verifier wants */
	asm volatile("" : "+r"(e));
	return hpccpp_rate_decode(e << 8 | m);
}

/* The code of the highest speed that is not above bps */
static inline __u32 hpccpp_ioam_speed_code(__u64 bps)
{
	__u32 code = HPCCPP_IOAM_SPEED_UNKNOWN;

	while (code-- > 0) {
		if (hpccpp_ioam_speed(code) <= bps)
			return code;
	}
	return HPCCPP_IOAM_SPEED_UNKNOWN;
}

#endif /* HPCCPP_ROCE_H */
