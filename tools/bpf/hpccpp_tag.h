/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The keyed tag of an echo: SipHash-2-4 (Aumasson and Bernstein, 2012) of what
 * struct hpccpp_signed has, the first HPCCPP_TAG_LEN bytes of it. For the host
 * agent, the command and the tests.
 */
#ifndef HPCCPP_TAG_H
#define HPCCPP_TAG_H

#include "hpccpp_wire.h"

#define HPCCPP_KEY_LEN	16

/* In memory as in the key file: a word is of little-endian bytes. */
struct hpccpp_key {
	__u64 word[HPCCPP_KEY_LEN / 8];
};

/* What is signed: that of the segment with the echo, as it is on the wire. */
struct hpccpp_signed {
	__be32 src[4], dst[4];	/* IPv4 as ::ffff:a.b.c.d */
	__be32 ports;		/* source and destination */
	__be32 ack;		/* acknowledgment number */
	__u8 option[32];	/* without the tag: 4 + 12 n bytes */
};

#define HPCCPP_SIGNED_LEN(n)	(40 + HPCCPP_OPT_LEN(n))

static inline __u64 hpccpp_le64(__u64 x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(x);
#else
	return x;
#endif
}

static inline __u64 hpccpp_rotl(__u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void hpccpp_sipround(__u64 *v)
{
	v[0] += v[1];
	v[1] = hpccpp_rotl(v[1], 13) ^ v[0];
	v[0] = hpccpp_rotl(v[0], 32);
	v[2] += v[3];
	v[3] = hpccpp_rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = hpccpp_rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = hpccpp_rotl(v[1], 17) ^ v[2];
	v[2] = hpccpp_rotl(v[2], 32);
}

/*
 * SipHash-2-4 of len bytes at words, of which the last word is there as a whole.
 * One copy in each program: it is long, and no loop of the caller's has it.
 */
static __attribute__((noinline, unused))
__u64 hpccpp_siphash(const struct hpccpp_key *key, const __u64 *words, __u32 len)
{
	__u64 k0 = hpccpp_le64(key->word[0]), k1 = hpccpp_le64(key->word[1]);
	__u64 last = (__u64)len << 56;
	__u64 v[4];
	__u64 m;
	__u32 i;

	v[0] = k0 ^ 0x736f6d6570736575ULL;
	v[1] = k1 ^ 0x646f72616e646f6dULL;
	v[2] = k0 ^ 0x6c7967656e657261ULL;
	v[3] = k1 ^ 0x7465646279746573ULL;
	if (len % 8)
		last |= hpccpp_le64(words[len / 8]) &
			((1ULL << len % 8 * 8) - 1);
	for (i = 0; i <= len / 8; i++) {
		m = i < len / 8 ? hpccpp_le64(words[i]) : last;
		v[3] ^= m;
		hpccpp_sipround(v);
		hpccpp_sipround(v);
		v[0] ^= m;
	}
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		hpccpp_sipround(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The tag of an echo with n records, 1 or 2; as it is on the wire. */
static inline __be32 hpccpp_tag(const struct hpccpp_key *key,
				const struct hpccpp_signed *what, int n)
{
	__u64 h = hpccpp_siphash(key, (const __u64 *)what,
				 n == 2 ? HPCCPP_SIGNED_LEN(2) :
					  HPCCPP_SIGNED_LEN(1));
	__be32 tag;

	h = hpccpp_le64(h);
	__builtin_memcpy(&tag, &h, sizeof(tag));
	return tag;
}

#endif /* HPCCPP_TAG_H */
