/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HPCC++ in-band telemetry (INT) on the wire of TCP.
 *
 * The definition of the format for the eBPF agents and the command; hpccpp_wire.rst is the
 * specification in words. The drafts mandate no format (draft-pan-tsvwg-hpccplus-02, 6.1).
 *
 * An experimental TCP option (RFC 6994) carries 1 to 3 records:
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------+---------------+-------------------------------+
 *  |   Kind 253    |  Length 4+12n |             ExID              |
 *  +---------------+-------+-------+---------------+---------------+
 *  |        link id        |          rate         |       U       |
 *  +-----------------------+-----------------------+---------------+
 *  |                      ts                       |  qlen (high)  |
 *  +-----------------------------------------------+---+-----------+
 *  |                    tx_bytes                   |low|     N     |
 *  +-----------------------------------------------+---+-----------+
 *  :                    further records                            :
 *
 * A record whose rate is 0 is empty: no port has written it. The first word of the first record
 * is then HPCCPP_WANTED if the sender does not know its path yet: each port writes, whatever its
 * load. Otherwise U is a bound, and no port that left the record empty has reached this load.
 *
 * The collect of a SYN-ACK is 4 bytes longer: after its record comes a word for the record of the
 * SYN, hpccpp_found(), with N and the queue in place of the link id. In the record of a SYN or a
 * SYN-ACK, N is the number of flows that begin, not of all flows.
 *
 * One with the ExID "window" has no records. With 8 bytes it is a window that
 * the receiver computed, with 12 a sender's request for windows:
 *
 *  +---------------+---------------+-------------------------------+
 *  |   Kind 253    |    Length     |             ExID              |
 *  +---+---+-------+---------------+-------+-----------------------+
 *  |kin|ser|            W, or T            |         value         |
 *  +---+---+-------------------------------+-----------------------+
 *  :               W               |             W_ai              :
 *  +-------------------------------+-------------------------------+
 */
#ifndef HPCCPP_WIRE_H
#define HPCCPP_WIRE_H

#include "hpccpp_feedback.h"

#define HPCCPP_OPT_KIND		253	/* RFC 4727, shared experiments */

/*
 * ExIDs, one per direction, so that a port never takes an echo for space to
 * write into. Not registered with IANA. A collect is a burst in a packet with PSH, which
 * segmentation copies into several segments: only that with PSH counts, the last.
 */
#define HPCCPP_EXID_COLLECT	0x4843	/* "HC": data direction, ports write */
#define HPCCPP_EXID_BURST	0x4842	/* "HB": as that, in the segment with PSH alone */
#define HPCCPP_EXID_ECHO	0x4845	/* "HE": ACK direction, read only */
#define HPCCPP_EXID_WINDOW	0x4857	/* "HW": Rx-HPCC, read only */
#define HPCCPP_EXID_TAG		0x4854	/* "HT": an echo with a tag; empty: wants one */

/* A SYN-ACK's collect: a record, and the word of hpccpp_found(). More does not fit there. */
#define HPCCPP_SYNACK_LEN	(HPCCPP_OPT_LEN(1) + 4)

/* A keyed tag stands behind the records of an echo: tools/bpf/hpccpp_tag.h */
#define HPCCPP_TAG_LEN		4
#define HPCCPP_TAG_MAX		2	/* records that fit beside one */
#define HPCCPP_TAGGED_LEN(n)	(HPCCPP_OPT_LEN(n) + HPCCPP_TAG_LEN)

/*
 * INT response (draft -00, 6.3): a congested port sends it straight back to the sender of a
 * segment, over UDP, or to its receiver. Network order; peer has 4 or 16 bytes. The port makes the
 * response of a copy of the segment. sum is at the place of the segment's checksum, and is the sum
 * of UDP's pseudo-header, which a device that finishes checksums writes there.
 */
#define HPCCPP_RESPONSE_ID	0x4852	/* "HR": to the sender */
#define HPCCPP_RESPONSE_RX_ID	0x4844	/* "HD": to the receiver */
#define HPCCPP_RESPONSE_PORT	18512	/* UDP, unless another is configured */

struct hpccpp_response {
	__be16 id;
	__be16 sport;		/* TCP, of the segment */
	__be32 seq;
	__u16  sum;
	__be16 dport;
	__be32 rec[3];
	__be32 peer[4];		/* the segment's address that this is not sent to */
};

static inline __u32 hpccpp_log2(__u32 v)
{
	__u32 log = 0, n;

	for (n = 16; n; n /= 2) {
		if (v >> n) {
			v >>= n;
			log += n;
		}
	}
	return log;
}

/*
 * qlen: 4-bit exponent e of 2, then 6-bit mantissa m: m where e is 0, else
 * (64 + m) * 2^(e - 1). So it is exact under 128, and rounded down by less than 1/64
 * from there.
 */
static inline __u32 hpccpp_qlen_decode(__u16 code)
{
	__u32 e = code >> 6 & 0xf, m = code & 0x3f;

	return e ? (64 + m) << (e - 1) : m;
}

static inline __u16 hpccpp_qlen_encode(__u32 qlen)
{
	__u32 e;

	if (qlen < 64)
		return qlen;
	if (qlen > HPCCPP_QLEN_MAX)
		qlen = HPCCPP_QLEN_MAX;
	e = hpccpp_log2(qlen) - 5;
	return e << 6 | (qlen >> (e - 1) & 0x3f);
}

static inline __u8 hpccpp_N_encode(__u32 flows)
{
	__u32 e, n;

	if (!flows)
		return 0;
	if (flows > 0xffff)
		flows = 0xffff;
	n = 4 * flows + flows / 2;	/* to the nearest */
	e = hpccpp_log2(n) - 2;
	n = 1 + 4 * e + (n >> e & 3);
	return n < HPCCPP_N_MAX ? n : HPCCPP_N_MAX;
}

/* A record's three words in host order to its fields, and back. */
static inline void hpccpp_int_decode(struct hpccpp_int *r, __u32 w0, __u32 w1,
				     __u32 w2)
{
	r->link = w0 >> 20;
	r->rate = (w0 >> 8) & 0xfff;
	r->U = w0 & 0xff;
	r->ts = w1 >> 8;
	r->tx_bytes = w2 >> 8;
	r->qlen = hpccpp_qlen_decode((w1 & 0xff) << 2 | (w2 >> 6 & 3));
	r->N = w2 & HPCCPP_N_MAX;
}

static inline __u32 hpccpp_int_w0(const struct hpccpp_int *r)
{
	return (__u32)r->link << 20 | (__u32)r->rate << 8 | r->U;
}

static inline __u32 hpccpp_int_w1(const struct hpccpp_int *r)
{
	return r->ts << 8 | hpccpp_qlen_encode(r->qlen) >> 2;
}

static inline __u32 hpccpp_int_w2(const struct hpccpp_int *r)
{
	return r->tx_bytes << 8 | (hpccpp_qlen_encode(r->qlen) & 3) << 6 | r->N;
}

/*
 * Returns the word that a SYN-ACK carries for the record of the SYN: N in 5 bits, qlen in 7, rate
 * in 12 and U in 8. N is (code + 1) / 2, and 31 at most: it decodes to within a quarter of the
 * flows, up to 40000. qlen is its code / 8: it decodes to within 1/16 of the queue and 448 bytes.
 * The word has no link id, no ts and no tx_bytes: a flow that begins needs no differences.
 */
static inline __u32 hpccpp_found(const struct hpccpp_int *r)
{
	__u32 N = r->N < HPCCPP_N_MAX ? (r->N + 1) / 2 : HPCCPP_N_MAX / 2;

	return N << 27 | hpccpp_qlen_encode(r->qlen) >> 3 << 20 |
	       (hpccpp_int_w0(r) & HPCCPP_LINK_0);
}

/* Decodes the word of a SYN-ACK to a record with link id 0, without ts and tx_bytes */
static inline void hpccpp_found_decode(struct hpccpp_int *r, __u32 found)
{
	__u32 N = found >> 27, qlen = found >> 20 & 0x7f;

	hpccpp_int_decode(r, found & HPCCPP_LINK_0, 0, 0);
	/* the middle of the eight codes of this qlen; the largest code for 127, which saturates */
	r->qlen = qlen ? hpccpp_qlen_decode(qlen << 3 | (qlen < 0x7f ? 4 : 7)) : 0;
	r->N = N ? 2 * N - 1 : 0;
}

/* A code within the above of a rate in bit/s; 0 only for 0, 0xfff the most. */
static inline __u16 hpccpp_rate_encode(__u64 bps)
{
	__u64 m = bps;
	__u64 pow = 1;
	__u8 e = 0;

	if (bps > 255000000000000000ULL)	/* keeps bps + pow in 64 bits */
		return 0xfff;
	while (e < 15 && m > 255) {
		pow *= 10;
		e++;
		m = (bps + pow / 2) / pow;
	}
	return e << 8 | m;
}

#endif /* HPCCPP_WIRE_H */
