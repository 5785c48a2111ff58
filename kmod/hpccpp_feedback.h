/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Telemetry as a host agent passes it to the module: decoded records, windows of the receiver,
 * and how module and agent find each other. hpccpp_feedback.rst describes the interface.
 */
#ifndef HPCCPP_FEEDBACK_H
#define HPCCPP_FEEDBACK_H

#ifndef __VMLINUX_H__		/* eBPF programs have the types from there */
#include <linux/types.h>
#endif

#define HPCCPP_OPT_HDR		4	/* bytes: kind, length, ExID */
#define HPCCPP_REC_LEN		12	/* bytes of one record */
#define HPCCPP_REC_MAX		3	/* 4 + 3 * 12 = 40, all there is */
#define HPCCPP_OPT_LEN(n)	(HPCCPP_OPT_HDR + (n) * HPCCPP_REC_LEN)

/* Field units, as shifts: one step of the field is 2^shift of the unit. */
#define HPCCPP_TS_SHIFT		4	/* 16 ns, 24 bits wrap at 268 ms */
#define HPCCPP_TX_SHIFT		6	/* 64 bytes, 24 bits wrap at 1 GiB */
#define HPCCPP_QLEN_SHIFT	6	/* 64 bytes, a float of 10 bits: 127 MiB */
#define HPCCPP_U_SHIFT		6	/* 1/64, 8 bits saturate at 3.98 */

#define HPCCPP_LINK_MAX		0xfff	/* 0: no port's, see hpccpp_found() */
/* Bit of the ids of edges, the ports of hosts; switches' ports have ids below it. */
#define HPCCPP_LINK_EDGE	0x800
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

/*
 * N: 0 if it is unknown, else 1 + 4 e + m for (4 + m) * 2^e quarters of a flow: steps of a
 * quarter of an octave. The nearest code is within 1/8. Decodes to quarters of a flow.
 */
static inline __u32 hpccpp_N_decode(__u8 code)
{
	__u32 n = code & HPCCPP_N_MAX;

	return n ? (4 + (n - 1) % 4) << (n - 1) / 4 : 0;
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
 * when it finds that the connection runs hpccpp, at the end of the handshake or later, and clears
 * it when it finds that the connection does not any more. The storage of other programs does not
 * contain it. If two maps have it, the module reads the one that was added to the socket last.
 */
#define HPCCPP_FEEDBACK_KEY	0x48432b0548432b05ULL

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
#define HPCCPP_CALL_SET_PARAMS	0x48432b85U

struct hpccpp_feedback {
	__u64 key;	/* of the flow that runs hpccpp; 0: none */
	__u32 gen;		/* echoes and windows that brought news; 0: none yet */
	struct hpccpp_int rec[HPCCPP_REC_MAX];	/* of the last echo */
	__u8  n;		/* of them; 1, of no link, has a bound of the load */
	__u8  rx;		/* the agent has receivers compute windows */
	__u32 window;		/* came instead of an echo, or 0; serial: of the last request */
};

#endif /* HPCCPP_FEEDBACK_H */
