/* SPDX-License-Identifier: GPL-2.0 */
/* INT responses as a port sends them, for port_test.c and fuzz.c. After frames.h. */
#define ADDR4		{ 10, 9, 9, 1 }
#define ADDR6		{ 0xfd, 9, [15] = 1 }

/* Returns the sum of an untagged packet: 0xffff if its checksum is right */
static __u16 sum_of(const __u8 *p, __u32 len)
{
	bool v6 = p[14] >> 4 == 6;
	__u32 at = v6 ? 54 : 34;

	return l4_sum(p + 14, v6, p + at, len - at, p[v6 ? 20 : 23]);
}

/* Writes the IP header of a packet that an agent makes */
static void put_ip(__u8 *p, bool v6, __u8 ds, __u8 proto, __u16 len,
		   const __u8 *src, const __u8 *dst)
{
	if (v6) {
		put32(p, 0x60000000 | ds << 20);
		put16(p + 4, len);
		p[6] = proto;
		p[7] = 64;
		memcpy(p + 8, src, 16);
		memcpy(p + 24, dst, 16);
		return;
	}
	put32(p, 0x45000000 | ds << 16 | (20 + len));
	put32(p + 4, 0x4000);
	put32(p + 8, 64 << 24 | proto << 16);
	memcpy(p + 12, src, 4);
	memcpy(p + 16, dst, 4);
	put16(p + 10, ~folded(add16(p, 20)));
}

static void put_udp_sum(__u8 *p, __u32 len)
{
	__u32 at = p[14] >> 4 == 6 ? 54 : 34;

	put16(p + at + 6, 0);
	put16(p + at + 6, (__u16)~sum_of(p, len) ?: 0xffff);
}

/* Writes the response to segment f with record r; returns its length */
static __u32 response_to(__u8 *want, const struct frame *f, const struct hpccpp_int *r,
			 bool to_receiver)
{
	static const __u8 addr4[] = ADDR4, addr6[16] = ADDR6;
	__u32 n = f->v6 ? 16 : 4, at = f->v6 ? 54 : 34, len = 32 + n;
	const __u8 *src = f->b + (f->v6 ? 22 : 26), *dst = src + n, *tcp = f->b + f->tcp;

	memcpy(want, f->b, 14);
	put_ip(want + 14, f->v6, 48 << 2, 17, len, f->v6 ? addr6 : addr4,
	       to_receiver ? dst : src);
	put16(want + at, HPCCPP_RESPONSE_PORT);
	put16(want + at + 2, HPCCPP_RESPONSE_PORT);
	put16(want + at + 4, len);
	put16(want + at + 8, to_receiver ? HPCCPP_RESPONSE_RX_ID : HPCCPP_RESPONSE_ID);
	memcpy(want + at + 10, tcp, 2);
	memcpy(want + at + 12, tcp + 4, 4);
	put16(want + at + 16, folded(add16(want + (f->v6 ? 22 : 26), 2 * n) + 17 + len));
	memcpy(want + at + 18, tcp + 2, 2);
	put_record(want + at + 20, r);
	memcpy(want + at + 32, to_receiver ? src : dst, n);
	put_udp_sum(want, at + len);
	return at + len;
}
