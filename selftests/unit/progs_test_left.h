/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of progs_test.c: packets that the agent cannot read, which it leaves alone and counts.
 */

/* What counts packets of a protocol that is not TCP */
static int kind_of(int proto)
{
	switch (proto) {
	case 4: case 41: case 47: case 50: case 115: case 137:
		return HPCCPP_PS_TUNNEL;
	case 0: case 43: case 44: case 51: case 60:
		return HPCCPP_PS_EXTENSION;
	}
	return HPCCPP_PS_NOT_TCP;
}

static void leaves_what_is_not_tcp(void **state)
{
	static const int tunnels[] = { 4789, 8472, 6081 };
	struct frame f, out;
	int v6, proto, i;

	for (v6 = 0; v6 < 2; v6++) {
		collect(&f, v6, 2, 10);
		for (proto = 0; proto < 256; proto++) {
			f.b[f.l3 + (v6 ? 6 : 9)] = proto;
			if (proto == IPPROTO_TCP)
				assert_int_equal(pass(&f, &out, NULL),
						 HPCCPP_PS_STAMPED);
			else
				assert_left(&f, kind_of(proto));
		}
		f.b[f.l3 + (v6 ? 6 : 9)] = IPPROTO_UDP;
		for (i = 0; i < 6; i++) {
			put16(f.b + f.tcp + 2, tunnels[i / 2] + i % 2);
			assert_left(&f, i % 2 ? HPCCPP_PS_NOT_TCP : HPCCPP_PS_TUNNEL);
		}
	}
}

static void leaves_what_is_not_ip(void **state)
{
	static const __u16 types[] = {
		0x0000, 0x0040, 0x0806, 0x0801, 0x8847, 0x8863, 0x8864, 0x88cc,
		0x88e7, 0x8906, 0xffff,
	};
	struct frame f;
	size_t i;

	collect(&f, false, 2, 10);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		put16(f.b + 12, types[i]);
		assert_left(&f, HPCCPP_PS_OTHER);
	}
	/* three tags are one more than are looked behind */
	segment(&f, &(struct shape){ 3, false, 5 }, 0x10, (const __u8 *)
		"\xfd\x10HC\0\0\0\0\0\0\0\0\0\0\0", 16, 4);
	assert_left(&f, HPCCPP_PS_TAGS);
}

static void leaves_fragments(void **state)
{
	static const __u16 later[] = {
		0x0001, 0x2001, 0x4001, 0x1fff, 0x3fff, 0xffff, 0x1000, 0x00b9,
	};
	struct frame f, out;
	size_t i;

	collect(&f, false, 1, 10);
	for (i = 0; i < ARRAY_SIZE(later); i++) {
		put16(f.b + f.l3 + 6, later[i]);
		assert_left(&f, HPCCPP_PS_NOT_TCP);
	}
	/* the first one has the header */
	put16(f.b + f.l3 + 6, 0x2000);
	assert_int_equal(pass(&f, &out, NULL), HPCCPP_PS_STAMPED);
	assert_wrote(&f, &out, f.tcp + TCP_LEN + HPCCPP_OPT_HDR, record());
}

/* Behind an extension header the port does not look for TCP. */
static void leaves_ipv6_extensions(void **state)
{
	static const __u8 next[] = { 0, 43, 44, 51, 60, 135, 139, 140 };
	struct frame f, g;
	size_t i;

	collect(&f, true, 2, 10);
	for (i = 0; i < ARRAY_SIZE(next); i++) {
		g = f;
		memcpy(g.b + f.tcp + 8, f.b + f.tcp, f.len - f.tcp);
		memset(g.b + f.tcp, 0, 8);
		g.b[f.tcp] = IPPROTO_TCP;
		g.b[f.l3 + 6] = next[i];
		g.len += 8;
		put16(g.b + f.l3 + 4, g.len - f.tcp);
		assert_left(&g, kind_of(next[i]));
	}
}
