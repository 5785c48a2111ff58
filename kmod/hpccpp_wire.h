/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HPCC++ in-band telemetry (INT) on the wire of TCP.
 *
 * The one definition of the format, shared by the kernel module, the eBPF
 * agents and the command; hpccpp_wire.rst beside it is the specification in
 * words. The drafts mandate no format (draft-pan-tsvwg-hpccplus-02, 6.1).
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

#ifndef __VMLINUX_H__		/* eBPF programs have the types from there */
#include <linux/types.h>
#endif

#define HPCCPP_OPT_KIND		253	/* RFC 4727, shared experiments */
#define HPCCPP_OPT_HDR		4	/* bytes: kind, length, ExID */
#define HPCCPP_REC_LEN		12	/* bytes of one record */
#define HPCCPP_REC_MAX		3	/* 4 + 3 * 12 = 40, all there is */
#define HPCCPP_OPT_LEN(n)	(HPCCPP_OPT_HDR + (n) * HPCCPP_REC_LEN)

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

/* Field units, as shifts: one step of the field is 2^shift of the unit. */
#define HPCCPP_TS_SHIFT		4	/* 16 ns, 24 bits wrap at 268 ms */
#define HPCCPP_TX_SHIFT		6	/* 64 bytes, 24 bits wrap at 1 GiB */
#define HPCCPP_QLEN_SHIFT	6	/* 64 bytes, a float of 10 bits: 127 MiB */
#define HPCCPP_U_SHIFT		6	/* 1/64, 8 bits saturate at 3.98 */

#define HPCCPP_LINK_MAX		0xfff	/* 0: no port's, see hpccpp_found() */
#define HPCCPP_LINK_0		0xfffff	/* of a record's first word: all but the link */
#define HPCCPP_WANTED		(1U << 20)
#define HPCCPP_MASK24		0xffffff
#define HPCCPP_QLEN_MAX		(127U << 14)	/* the largest of its codes */
#define HPCCPP_N_MAX		63	/* the largest code of N */
#define HPCCPP_U_MAX		0xff

/* Rates that the algorithm accepts, bit/s; outside is a record out of range */
#define HPCCPP_RATE_MIN		10000ULL
#define HPCCPP_RATE_MAX		4000000000000ULL

/* One record, decoded to host order; still in the units of the wire. */
struct hpccpp_int {
	__u16 link;		/* link id: switch and port, 12 bits */
	__u16 rate;		/* code of hpccpp_rate_decode(); 0 = empty */
	__u32 ts;		/* time of the snapshot, 16 ns, 24 bits */
	__u32 tx_bytes;		/* bytes sent by the port, 64 B, 24 bits */
	__u32 qlen;		/* bytes waiting at the port, 64 B */
	__u8  U;		/* the port's own normalised load, 1/64 */
	__u8  N;		/* flows at the port, or that begin (SYN): hpccpp_N_decode() */
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

/*
 * N: 0 if it is unknown, else 1 + 4 e + m for (4 + m) * 2^e quarters of a flow: steps of a
 * quarter of an octave. The nearest code is within 1/8. Decodes to quarters of a flow.
 */
static inline __u32 hpccpp_N_decode(__u8 code)
{
	__u32 n = code & HPCCPP_N_MAX;

	return n ? (4 + (n - 1) % 4) << (n - 1) / 4 : 0;
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

/*
 * rate: 4-bit decimal exponent e, then 8-bit mantissa m, m * 10^e bit/s. Every
 * speed of at most two significant digits, and of three up to 255, is exact
 * (10M, 25G, 100G, 2.5G, 200M); any other is within 2 % (0.5 / 26). The
 * encoder uses the smallest exponent, so that codes order as the rates do.
 */
static inline __u64 hpccpp_rate_decode(__u16 code)
{
	static const __u64 pow10[16] = {
		1ULL, 10ULL, 100ULL, 1000ULL, 10000ULL, 100000ULL, 1000000ULL,
		10000000ULL, 100000000ULL, 1000000000ULL, 10000000000ULL,
		100000000000ULL, 1000000000000ULL, 10000000000000ULL,
		100000000000000ULL, 1000000000000000ULL,
	};

	return (code & 0xff) * pow10[code >> 8 & 0xf];
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

/* The option "window": its lengths, and what its value is */
#define HPCCPP_WINDOW_LEN	8
#define HPCCPP_REQUEST_LEN	12

enum hpccpp_window_kind {
	HPCCPP_WINDOW_B,	/* a code of hpccpp_rate_decode(): min(B) */
	HPCCPP_WINDOW_U,	/* U in 1/256, saturating */
	HPCCPP_WINDOW_N,	/* flows of the last hop, saturating; 0: none */
	HPCCPP_WINDOW_REQUEST,	/* law 4 | eta 8, percent; or 0 */
};

#define HPCCPP_WINDOW(kind, serial, num, value) \
	((__u32)(kind) << 30 | (__u32)(serial) << 28 | (__u32)(num) << 12 | \
	 (value))
#define HPCCPP_WINDOW_KIND(w)	((__u32)(w) >> 30)
#define HPCCPP_WINDOW_SERIAL(w)	((__u32)(w) >> 28 & 3)
#define HPCCPP_WINDOW_NUM(w)	((__u32)(w) >> 12 & 0xffff)
#define HPCCPP_WINDOW_VALUE(w)	((__u32)(w) & 0xfff)
#define HPCCPP_WINDOW_ETA	0xffU	/* of a request's value; 0: none wanted */
#define HPCCPP_REQUEST_LAW(w)	((__u32)(w) >> 8 & 0xf)	/* enum hpccpp_law */
#define HPCCPP_REQUEST_T(w)	((__u32)(w) >> 12 & 0x7fff)	/* enough for HPCCPP_T_MAX */
#define HPCCPP_WINDOW_SERIALS	3	/* a request has 1 to 3 */
#define HPCCPP_WINDOW_U_SHIFT	8
#define HPCCPP_ETA_MAX		100	/* percent, also of net.hpccpp.eta */

/* Bytes or us, rounded down by less than 1/1024: 5-bit exponent of 2, mantissa */
static inline __u64 hpccpp_num_decode(__u16 code)
{
	return (__u64)(code & 0x7ff) << (code >> 11);
}

static inline __u16 hpccpp_num_encode(__u32 num)
{
	__u16 e = 0;

	for (; num > 0x7ff; num >>= 1)
		e++;
	return e << 11 | num;
}

/*
 * Between module and host agent. The agent keeps this first in its socket storage,
 * where the module reads it, as plain memory: agents write under the socket's lock,
 * the module reads under it. To ask an agent's program for a record, word by word,
 * costs as much as all that the module does with one.
 *
 * The module calls its agent by BPF_SOCK_OPS_BASE_RTT, as tcp_nv does without arguments;
 * args[3] is HPCCPP_CALL_SET_PARAMS. Programs that are called before may have left a reply in
 * args[0]. Another format of the map's value has another value of args[3] and HPCCPP_FEEDBACK_KEY.
 */

/*
 * The key in the map's value is this XOR the socket's cookie. The agent writes the key
 * when it finds that the connection runs hpccpp, at the end of the handshake or later. The module
 * clears it when the flow ends or telemetry stops. The storage of other programs does not
 * contain it.
 */
#define HPCCPP_FEEDBACK_KEY	0x48432b0448432b04ULL

/*
 * Callback flags that the module sets on a socket that no agent has bound. RTT marks that the
 * module seeks an agent; the agent clears it. If WRITE_HDR_OPT is clear, the module sets it, so
 * that TCP calls the agent for the next segment, and RTO, which marks that the module set it.
 */
#define HPCCPP_SEEK_FLAG	BPF_SOCK_OPS_RTT_CB_FLAG
#define HPCCPP_CALL_FLAGS	(BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG)

/*
 * The parameters of a request for windows: args[1] is the 28 low bits of its first word, args[2]
 * the second word. 0 ends the requests. The module calls only agents that request windows.
 */
#define HPCCPP_CALL_SET_PARAMS	0x48432b83U

struct hpccpp_feedback {
	__u64 key;	/* of the flow that runs hpccpp; 0: none */
	__u32 gen;		/* echoes that brought news; 0: none yet */
	__u32 unread;		/* echoes since the module looked last */
	struct hpccpp_int rec[HPCCPP_REC_MAX];	/* of the last echo */
	__u8  n;		/* of them; 1, of no link, has a bound of the load */
	__u8  rx;		/* the agent has receivers compute windows */
	__u32 window;		/* came instead of an echo, or 0; serial: of the last request */
};

#endif /* HPCCPP_WIRE_H */
