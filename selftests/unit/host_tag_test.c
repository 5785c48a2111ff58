// SPDX-License-Identifier: GPL-2.0
/* The host agent: which bytes a tag signs, and which echoes are believed. */
#include "host_test.h"

/* --- Tags ------------------------------------------------------------------ */

/* The paper's vectors: bytes 00 01 ..., the key too */
static void siphash_of_the_paper(void **state)
{
	static const struct {
		__u32 len;
		__u64 hash;
	} vectors[] = {
		{ 0, 0x726fdb47dd0e0e31ULL }, { 1, 0x74f839c593dc67fdULL },
		{ 15, 0xa129ca6149be45e5ULL },
		/* openssl's */
		{ 56, 0xb78dbfaf3a8d83bdULL }, { 68, 0x1c7e7228d76f34b4ULL },
	};
	struct hpccpp_key key;
	__u64 words[10];
	__u32 i;

	for (i = 0; i < sizeof(key); i++)
		((__u8 *)&key)[i] = i;
	for (i = 0; i < sizeof(words); i++)
		((__u8 *)words)[i] = i;
	for (i = 0; i < ARRAY_SIZE(vectors); i++)
		assert_true(hpccpp_siphash(&key, words, vectors[i].len) ==
			    vectors[i].hash);
}

/* What hpccpp_wire.rst says is signed, from the bytes of the segment alone */
static __u32 right_tag(const struct hpccpp_key *key, const __u8 *src,
		       const __u8 *dst, const __u8 *tcp, const __u8 *option, int n)
{
	__u64 words[9] = {};
	__u8 *b = (__u8 *)words;
	__u32 tag;

	__builtin_memcpy(b, src, 16);
	__builtin_memcpy(b + 16, dst, 16);
	__builtin_memcpy(b + 32, tcp, 4);
	__builtin_memcpy(b + 36, tcp + 8, 4);
	__builtin_memcpy(b + 40, option, 4 + 12 * n);
	tag = hpccpp_siphash(key, words, 40 + 4 + 12 * n);
	return __builtin_bswap32(tag);
}

static const __u8 local6[16] = { 0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const __u8 local4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };

static void use_ipv6(void)
{
	set_remote6(addr6);
	__builtin_memcpy((void *)skops.local_ip6, local6, 16);
}

/* A SYN-ACK or ACK of ours has ports and numbers in its header already. */
static void put_header(void)
{
	struct tcphdr *th = (struct tcphdr *)packet;

	th->source = bpf_htons(0x1234);
	th->dest = bpf_htons(0x5678);
	th->seq = bpf_htonl(0x01020304);
	th->ack_seq = bpf_htonl(0x9abcdef0);
}

/* Who was asked for a tag, by a collect of n records */
static void asked_for_a_tag(const struct hpccpp_int *rec, int n)
{
	no_options();
	put_records(HPCCPP_EXID_COLLECT, rec, n);
	put_option(HPCCPP_EXID_TAG, NULL, 0);
	parse_it();
}

/* Of one record and of two, of IPv4 and IPv6: the second record is signed too. */
static void echo_is_signed(void **state)
{
	int n, v6;

	use_keys(2);
	room = 40;
	for (v6 = 0; v6 < 2; v6++) {
		if (v6)
			use_ipv6();
		for (n = 1; n <= 2; n++) {
			asked_for_a_tag(three, n);
			put_header();
			assert_int_equal(send_ack(), HPCCPP_EXID_TAG);
			assert_int_equal(stored, HPCCPP_TAGGED_LEN(n));
			assert_int_equal(word(1), hpccpp_int_w0(&three[0]));
			assert_int_equal(word(3 * n + 1),
					 right_tag(&the_keys.key[0], v6 ? local6 : local4,
						   v6 ? addr6 : mapped, packet,
						   stored_options, n));
		}
	}
	assert_int_equal(stat(HPCCPP_HS_SIGNED), 4);
	assert_int_equal(stat(HPCCPP_HS_ECHOED), 4);
}

static void syn_ack_is_signed(void **state)
{
	use_keys(1);
	skops.bpf_sock_ops_cb_flags = WRITE_FLAG;
	room = 20;
	no_options();
	put_records(HPCCPP_EXID_COLLECT, three, 1);
	put_option(HPCCPP_EXID_TAG, NULL, 0);
	put_header();
	build_segment(TCPHDR_SYN | TCPHDR_ACK, 0);
	assert_int_equal(exid(), HPCCPP_EXID_TAG);
	assert_int_equal(word(4), right_tag(&the_keys.key[0], local4, mapped, packet,
					    stored_options, 1));
	no_options();
	put_records(HPCCPP_EXID_COLLECT, three, 1);
	build_segment(TCPHDR_SYN | TCPHDR_ACK, 0);
	assert_int_equal(exid(), HPCCPP_EXID_COLLECT);
}

/* What a SYN has found is not signed. */
static void found_is_an_echo_without_a_tag(void **state)
{
	use_keys(1);
	the_keys.require = 1;
	open_active();
	put_asked_back(three, 0x1c961428);
	connected();
	assert_int_equal(stat(HPCCPP_HS_TAG_NONE), 1);
	assert_int_equal(the_flow.mail.gen, 0);
	the_keys.require = 0;
	connected();
	assert_int_equal(stat(HPCCPP_HS_TAG_NONE), 2);
	assert_int_equal(the_flow.mail.gen, 1);
}

static void no_key_no_tag(void **state)
{
	asked_for_a_tag(three, 1);
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
	assert_int_equal(stat(HPCCPP_HS_SIGNED), 0);
}

static void not_asked_no_tag(void **state)
{
	use_keys(1);
	collect();
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
	/* and what was asked once holds */
	asked_for_a_tag(three, 1);
	assert_int_equal(send_ack(), HPCCPP_EXID_TAG);
	collect();
	assert_int_equal(send_ack(), HPCCPP_EXID_TAG);
}

static void tag_without_room(void **state)
{
	use_keys(1);
	room = 16;
	asked_for_a_tag(three, 1);
	assert_int_equal(send_ack(), HPCCPP_EXID_ECHO);
	assert_int_equal(stat(HPCCPP_HS_TAG_ROOM), 1);
	/* a tag goes before the second record */
	room = 28;
	asked_for_a_tag(three, 2);
	assert_int_equal(send_ack(), HPCCPP_EXID_TAG);
	assert_int_equal(records(), 1);
	assert_int_equal(word(1), hpccpp_int_w0(&three[1]));
	assert_int_equal(stat(HPCCPP_HS_ECHO_SHORT), 1);
	assert_int_equal(stat(HPCCPP_HS_TAG_ROOM), 1);
}

/* A tag is asked for until one has come. */
static void asks_for_a_tag(void **state)
{
	use_keys(1);
	connects();
	assert_int_equal(send_syn(), HPCCPP_EXID_COLLECT);
	assert_true(wants_tag(1));
	skops.snd_una++;
	skops.snd_nxt++;
	no_options();
	put_records(HPCCPP_EXID_TAG, three, 1);
	put_tag(&the_keys.key[0]);
	connected();
	assert_int_equal(stat(HPCCPP_HS_TAG_OK), 1);
	module_has_it();
	/* the peer may have sent a SYN cookie, and forgotten */
	send_ack();
	assert_true(wants_tag(1));
	send_data();
	assert_true(wants_tag(1));
	no_options();
	put_records(HPCCPP_EXID_TAG, three, 1);
	put_tag(&the_keys.key[0]);
	parse_it();
	assert_int_equal(send_data(), HPCCPP_EXID_COLLECT);
	assert_false(wants_tag(1));
	/* one without, and it is asked for again */
	echo();
	send_data();
	assert_true(wants_tag(1));
}

static void mss_leaves_room_for_tags(void **state)
{
	use_keys(1);
	room = 40;
	open_active();
	compute_mss();
	assert_int_equal(reserved, 20);
	the_flow.peer_signs = 1;
	compute_mss();
	assert_int_equal(reserved, 16);
	/* of three records two have room beside a tag; without one there are three */
	the_host.records = 3;
	compute_mss();
	assert_int_equal(reserved, 40);
	the_flow.peer_signs = 0;
	compute_mss();
	assert_int_equal(reserved, 40);
	the_host.records = 1;
	the_flow.mail.key = 0;
	the_flow.stands_in = 0;
	asked_for_a_tag(three, 2);
	compute_mss();
	assert_int_equal(reserved, 32);
}

/* A flow that has asked; the echo of n records that comes has the right tag. */
static void tagged_echo(int n)
{
	no_options();
	put_header();
	put_snd_ack(skops.snd_una);
	put_records(HPCCPP_EXID_TAG, three, n);
	put_tag(&the_keys.key[0]);
}

static void assert_taken(__u32 which, bool taken)
{
	__u64 before = stat(which), echoes = stat(HPCCPP_HS_ECHOES);

	parse_it();
	assert_int_equal(stat(which), before + 1);
	assert_int_equal(stat(HPCCPP_HS_ECHOES), echoes + taken);
}

/* Our own tag is that of the wire format, as seen from the other end. */
static void tag_that_is_right(void **state)
{
	int n, v6;

	use_keys(1);
	open_active();
	the_keys.require = 1;
	for (v6 = 0; v6 < 2; v6++) {
		if (v6)
			use_ipv6();
		for (n = 1; n <= 2; n++) {
			__u8 *option = packet + sizeof(struct tcphdr);
			__be32 tag;

			tagged_echo(n);
			tag = bpf_htonl(right_tag(&the_keys.key[0], v6 ? addr6 : mapped,
						  v6 ? local6 : local4, packet, option, n));
			__builtin_memcpy(option + 4 + 12 * n, &tag, sizeof(tag));
			assert_taken(HPCCPP_HS_TAG_OK, true);
			assert_mail(three, n);
		}
	}
}

/* Each bit that is signed, and each of the tag itself */
static void tag_of_other_bytes(void **state)
{
	__u32 n, i, len;

	use_keys(1);
	open_active();
	the_keys.require = 1;
	for (n = 1; n <= 2; n++) {
		len = sizeof(struct tcphdr) + HPCCPP_TAGGED_LEN(n);
		for (i = 0; i < 8 * len; i++) {
			/* ports, ACK, records and tag: not the rest of the header, nor
			 * what makes it another option
			 */
			if ((i >= 4 * 8 && i < 8 * 8) || (i >= 12 * 8 && i < 24 * 8))
				continue;
			tagged_echo(n);
			packet[i / 8] ^= 1 << i % 8;
			assert_taken(HPCCPP_HS_TAG_BAD, false);
		}
	}
	assert_false(the_flow.proven);
	assert_false(the_flow.peer_signs);
	assert_int_equal(the_flow.mail.gen, 0);
}

static void tag_of_other_addresses(void **state)
{
	int i;

	use_keys(1);
	the_keys.require = 1;
	open_active();
	tagged_echo(1);
	skops.remote_ip4 ^= 1;
	assert_taken(HPCCPP_HS_TAG_BAD, false);
	skops.remote_ip4 ^= 1;
	skops.local_ip4 ^= 1;
	assert_taken(HPCCPP_HS_TAG_BAD, false);
	use_ipv6();
	for (i = 0; i < 4; i++) {
		tagged_echo(2);
		skops.remote_ip6[i] ^= 1;
		assert_taken(HPCCPP_HS_TAG_BAD, false);
		skops.remote_ip6[i] ^= 1;
		skops.local_ip6[i] ^= 1;
		assert_taken(HPCCPP_HS_TAG_BAD, false);
		skops.local_ip6[i] ^= 1;
	}
	/* from there to here, not from here to there */
	tagged_echo(1);
	__builtin_memcpy((void *)skops.remote_ip6, local6, 16);
	__builtin_memcpy((void *)skops.local_ip6, addr6, 16);
	assert_taken(HPCCPP_HS_TAG_BAD, false);
}

/* TCP has not looked at the number yet when the agent does. */
static void tag_of_an_old_echo(void **state)
{
	use_keys(1);
	open_active();
	send_data();
	the_keys.require = 1;
	tagged_echo(1);
	put_snd_ack(skops.snd_una - 1);
	put_tag(&the_keys.key[0]);
	assert_taken(HPCCPP_HS_TAG_OLD, false);
	put_snd_ack(skops.snd_nxt + 1);
	put_tag(&the_keys.key[0]);
	assert_taken(HPCCPP_HS_TAG_OLD, false);
	/* the same one for another ACK */
	put_snd_ack(skops.snd_nxt);
	assert_taken(HPCCPP_HS_TAG_BAD, false);
	put_tag(&the_keys.key[0]);
	assert_taken(HPCCPP_HS_TAG_OK, true);
	put_snd_ack(skops.snd_una);
	put_tag(&the_keys.key[0]);
	assert_taken(HPCCPP_HS_TAG_OK, true);
	the_keys.require = 0;
	put_snd_ack(skops.snd_una - 1);
	put_tag(&the_keys.key[0]);
	assert_taken(HPCCPP_HS_TAG_OLD, true);
}

static void tag_of_another_key(void **state)
{
	use_keys(1);
	open_active();
	tagged_echo(1);
	put_tag(&the_keys.key[1]);
	/* counted, and believed where tags are not required */
	assert_taken(HPCCPP_HS_TAG_BAD, true);
	assert_false(the_flow.peer_signs);
	the_keys.require = 1;
	assert_taken(HPCCPP_HS_TAG_BAD, false);
	the_keys.n = 2;
	assert_taken(HPCCPP_HS_TAG_OK, true);
	assert_true(the_flow.peer_signs);
	tagged_echo(1);
	assert_taken(HPCCPP_HS_TAG_OK, true);
}

static void tag_is_not_there(void **state)
{
	use_keys(1);
	open_active();
	no_options();
	put_records(HPCCPP_EXID_ECHO, three, 1);
	assert_taken(HPCCPP_HS_TAG_NONE, true);
	assert_true(the_flow.proven);
	the_flow.proven = 0;
	the_keys.require = 1;
	assert_taken(HPCCPP_HS_TAG_NONE, false);
	assert_false(the_flow.proven);
	/* where there is no key, none is missed */
	tags = false;
	echo();
	assert_int_equal(stat(HPCCPP_HS_TAG_NONE), 2);
}

static void tag_of_wrong_length(void **state)
{
	__u8 body[36] = {};
	__u32 len, bad = 0;

	use_keys(1);
	open_active();
	for (len = 1; len <= 36; len++) {
		if (len == 16 || len == 28)
			continue;
		no_options();
		put_option(HPCCPP_EXID_TAG, body, len);
		parse_it();
		assert_int_equal(stat(HPCCPP_HS_BAD), ++bad);
	}
	assert_int_equal(stat(HPCCPP_HS_ECHOES), 0);
	assert_int_equal(stat(HPCCPP_HS_TAG_BAD), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(siphash_of_the_paper),
		TEST(echo_is_signed),
		TEST(syn_ack_is_signed),
		TEST(found_is_an_echo_without_a_tag),
		TEST(no_key_no_tag),
		TEST(not_asked_no_tag),
		TEST(tag_without_room),
		TEST(asks_for_a_tag),
		TEST(mss_leaves_room_for_tags),
		TEST(tag_that_is_right),
		TEST(tag_of_other_bytes),
		TEST(tag_of_other_addresses),
		TEST(tag_of_an_old_echo),
		TEST(tag_of_another_key),
		TEST(tag_is_not_there),
		TEST(tag_of_wrong_length),
	};

	return RUN(tests);
}
