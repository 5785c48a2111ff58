/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of the host agent: which bytes the tag of an echo signs, and which echoes are
 * accepted. Included by host_test.c.
 */

#define NEXT_TAG(n)	"word" #n "==0xfd044854 "	/* an empty option "tag" after a collect */

static const struct row tag_rows[] = {
	{ "without a key an echo has no tag",
	  "<collect:a+tag ack>echo SIGNED==0" },
	{ "an echo has a tag once the peer has requested one",
	  "keys:1 <collect ack>echo <collect:a+tag ack>tag <collect ack>tag" },
	{ "without room for a tag the echo has none",
	  "keys:1 room=16 <collect:a+tag ack>echo TAG_ROOM==1" },
	{ "a tag has precedence over a second record",
	  "keys:1 <collect:ab+tag ack>tag stored==20 word1==0x27143c ECHO_SHORT==1 TAG_ROOM==0" },
	{ "a SYN-ACK has a tag, or a collect if the SYN requests no tag",
	  "keys:1 syn<collect:a+tag syn-ack>tag remote_port=1 syn<collect;"
	  "syn-ack>collect" },
	{ "a tag is requested until data has brought one, and again after an echo without one",
	  "keys:1 connect syn>collect stored==20 " NEXT_TAG(4) "snd_una=snd_una+1;"
	  "snd_nxt=snd_nxt+1 connected<tag:a TAG_OK==1 bind ack stored==20 " NEXT_TAG(4)
	  "data stored==20 " NEXT_TAG(4) "<tag:a data>collect stored==16;"
	  "<echo data stored==20 " NEXT_TAG(4) },
	{ "the MSS leaves room for the request of a tag, or for a record more if that is longer",
	  "keys:1 room=40 open mss reserved==20 <tag:a mss reserved==16;"
	  "records=3 mss reserved==40 <echo mss reserved==40" },
	{ "the MSS leaves room for the tag of an echo",
	  "keys:1 room=40 ask=NEVER <collect:ab+tag mss reserved==32" },
	{ "the echo in a SYN-ACK's collect has no tag, and is accepted unless tags are required",
	  "keys:1 open require=1 connected<found:0x03961428 TAG_NONE==1 feedback.gen==0;"
	  "require=0 connected<found:0x03961428 TAG_NONE==2 feedback.gen==1" },
	{ "an echo without a tag is accepted unless tags are required",
	  "keys:1 open <echo TAG_NONE==1 ECHOES==1 proven==1 proven=0;"
	  "require=1 <echo TAG_NONE==2 ECHOES==1 proven==0" },
	{ "a host without a key does not count echoes without a tag",
	  "open <echo TAG_NONE==0 ECHOES==1" },
};

static const __u8 local6[16] = { 0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const __u8 local4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };

/* Vectors of the paper and of openssl: bytes 00 01 ..., and the same as the key */
TEST(siphash_has_the_right_values)
{
	static const struct { __u32 len; __u64 hash; } vectors[] = {
		{ 0, 0x726fdb47dd0e0e31ULL }, { 1, 0x74f839c593dc67fdULL },
		{ 7, 0xab0200f58b01d137ULL }, { 8, 0x93f5f5799a932462ULL },
		{ 15, 0xa129ca6149be45e5ULL }, { 56, 0xb78dbfaf3a8d83bdULL },
		{ 63, 0x958a324ceb064572ULL }, { 68, 0x1c7e7228d76f34b4ULL },
	};
	__u64 words[10];
	__u32 i;

	use_keys(1);
	for (i = 0; i < sizeof(words); i++)
		((__u8 *)words)[i] = i;
	for (i = 0; i < ARRAY_SIZE(vectors); i++)
		assert_true(hpccpp_siphash(&the_keys.key[0], words, vectors[i].len) ==
			    vectors[i].hash);
}

/* Returns the tag that hpccpp_wire.rst specifies for an option of a segment. */
static __u32 right_tag(bool v6, bool ours, const __u8 *option, int n)
{
	const __u8 *here = v6 ? local6 : local4, *there = v6 ? addr6 : mapped;
	__u64 words[9] = {};
	__u8 *b = (__u8 *)words;

	memcpy(b, ours ? here : there, 16);
	memcpy(b + 16, ours ? there : here, 16);
	memcpy(b + 32, packet, 4);
	memcpy(b + 36, packet + 8, 4);
	memcpy(b + 40, option, HPCCPP_OPT_LEN(n));
	return __builtin_bswap32(hpccpp_siphash(&the_keys.key[0], words, 40 + HPCCPP_OPT_LEN(n)));
}

static void use_ipv6(void)
{
	set_remote6(addr6);
	memcpy((void *)skops.local_ip6, local6, 16);
}

static void put_ports(void)
{
	((struct tcphdr *)packet)->source = bpf_htons(0x1234);
	((struct tcphdr *)packet)->dest = bpf_htons(0x5678);
}

/* The tag signs both addresses, the ports, the number acknowledged and all records. */
TEST(echo_is_signed)
{
	int n, v6;

	use_keys(2);
	room = 40;
	for (v6 = 0; v6 < 2; v6++) {
		if (v6)
			use_ipv6();
		for (n = 1; n <= 2; n++) {
			script("<collect:%s+tag", n == 1 ? "a" : "ab");
			put_ports();
			script("ack>tag stored==%d", HPCCPP_TAGGED_LEN(n));
			assert_int_equal(word(1), hpccpp_int_w0(&records['a']));
			assert_int_equal(word(3 * n + 1), right_tag(v6, true, stored_options, n));
		}
	}
	script("syn<collect:a+tag");
	put_ports();
	use_keys(1);
	script("syn-ack>tag SIGNED==5 ECHOED==5");
	assert_int_equal(word(4), right_tag(true, true, stored_options, 1));
}

/* Puts an echo of n records with the right tag into the segment that arrives. */
static void put_tagged(int n)
{
	put_arrival(n == 1 ? "tag:a" : "tag:ab");
	put_ports();
	put_tag(&the_keys.key[0]);
}

/* Compares what one counter and that of echoes add when the segment arrives. */
static void assert_taken(__u32 which, bool taken)
{
	__u64 before = *counter(which), echoes = *counter(HPCCPP_HS_ECHOES);

	parse_it();
	assert_int_equal(*counter(which), before + 1);
	assert_int_equal(*counter(HPCCPP_HS_ECHOES), echoes + taken);
}

/* An open connection with a key, which requires tags */
static void open_with_key(void)
{
	script("keys:1 open");
	the_keys.require = 1;
}

TEST(right_tag_is_accepted)
{
	__u8 *option = packet + sizeof(struct tcphdr);
	__be32 tag;
	int n, v6;

	open_with_key();
	for (v6 = 0; v6 < 2; v6++) {
		if (v6)
			use_ipv6();
		for (n = 1; n <= 2; n++) {
			put_tagged(n);
			tag = bpf_htonl(right_tag(v6, false, option, n));
			memcpy(option + HPCCPP_OPT_LEN(n), &tag, sizeof(tag));
			assert_taken(HPCCPP_HS_TAG_OK, true);
			assert_feedback(&records['a'], 1 + (n == 2));
		}
	}
}

/* A change of any bit that is signed, or of the tag, is noticed. */
TEST(tag_of_other_bytes_is_refused)
{
	__u32 n, i, len;

	open_with_key();
	for (n = 1; n <= 2; n++) {
		len = sizeof(struct tcphdr) + HPCCPP_TAGGED_LEN(n);
		for (i = 0; i < 8 * len; i++) {
			/* not signed; or it would be another option */
			if ((i >= 4 * 8 && i < 8 * 8) || (i >= 12 * 8 && i < 24 * 8))
				continue;
			put_tagged(n);
			packet[i / 8] ^= 1 << i % 8;
			assert_taken(HPCCPP_HS_TAG_BAD, false);
		}
	}
	assert_false(the_flow.proven);
	assert_false(the_flow.peer_signs);
	script("feedback.gen==0");
}

TEST(tag_of_other_addresses_is_refused)
{
	__u32 *words[] = { &skops.remote_ip4, &skops.local_ip4,
			   &skops.remote_ip6[0], &skops.remote_ip6[1], &skops.remote_ip6[2],
			   &skops.remote_ip6[3], &skops.local_ip6[0], &skops.local_ip6[1],
			   &skops.local_ip6[2], &skops.local_ip6[3] };
	__u32 i;

	open_with_key();
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (i == 2)
			use_ipv6();
		put_tagged(1);
		*words[i] ^= 1;
		assert_taken(HPCCPP_HS_TAG_BAD, false);
		*words[i] ^= 1;
	}
	/* the tag of the opposite direction */
	put_tagged(1);
	memcpy((void *)skops.remote_ip6, local6, 16);
	memcpy((void *)skops.local_ip6, addr6, 16);
	assert_taken(HPCCPP_HS_TAG_BAD, false);
}

/* The agent checks that the number acknowledged is in the window, as TCP has not yet. */
TEST(tag_of_an_old_ack_is_refused)
{
	const struct {
		const char *shows;
		__s32 ack;		/* from snd_una */
		bool require, sign;
		__u32 counter;
		bool taken;
	} rows[] = {
		{ "an ACK before the window", -1, true, true, HPCCPP_HS_TAG_OLD, false },
		{ "an ACK after the window", MSS + 1, true, true, HPCCPP_HS_TAG_OLD, false },
		{ "a tag moved to another ACK", MSS, true, false, HPCCPP_HS_TAG_BAD, false },
		{ "an ACK of all data", MSS, true, true, HPCCPP_HS_TAG_OK, true },
		{ "an ACK of no data", 0, true, true, HPCCPP_HS_TAG_OK, true },
		{ "an old ACK where no tag is required", -1, false, true, HPCCPP_HS_TAG_OLD, true },
	};
	__u32 i;

	open_with_key();
	script("data");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		the_keys.require = rows[i].require;
		put_tagged(1);
		put_snd_ack(skops.snd_una + rows[i].ack);
		if (rows[i].sign)
			put_tag(&the_keys.key[0]);
		assert_taken(rows[i].counter, rows[i].taken);
	}
}

/* A tag may be from either of two keys. A bad tag is counted, also where none is required. */
TEST(tag_of_another_key)
{
	const struct { __u32 n, key; bool require; __u32 counter; bool taken; } rows[] = {
		{ 1, 1, false, HPCCPP_HS_TAG_BAD, true }, { 1, 1, true, HPCCPP_HS_TAG_BAD, false },
		{ 2, 1, true, HPCCPP_HS_TAG_OK, true }, { 2, 0, true, HPCCPP_HS_TAG_OK, true },
	};
	__u32 i;

	open_with_key();
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		the_keys.n = rows[i].n;
		the_keys.require = rows[i].require;
		put_tagged(1);
		put_tag(&the_keys.key[rows[i].key]);
		assert_taken(rows[i].counter, rows[i].taken);
		assert_int_equal(the_flow.peer_signs, rows[i].n == 2);
	}
}
