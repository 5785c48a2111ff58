/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unit tests of the host agent, tools/bpf/host.bpf.c, which is compiled into each of
 * them unchanged: a connection, the segments that it sends and those that arrive.
 */

/* the shim has what other agents need as well */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "bpf_shim.h"
#include "host.bpf.c"
#include "host_shim.h"

/* vmlinux.h defines most of what cmocka.h wants before it */
#include <stdarg.h>
#include <setjmp.h>
#define uintmax_t unsigned long
#include <cmocka.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MSS		1448
#define MS		1000000ULL	/* ns */
#define WRITE_FLAG	BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG

/* --- The maps -------------------------------------------------------------- */

static struct hpccpp_prefix prefixes[4];
static int n_prefixes;

static bool bits_equal(const __u8 *a, const __u8 *b, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		if ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1)
			return false;
	return true;
}

/* As an LPM trie finds a prefix that is no longer than the key's */
static void *map_lookup(void *map, const void *key)
{
	const struct hpccpp_prefix *addr = key;
	static __u8 listed;
	int i;

	if (map != &host_prefix)
		return host_lookup(map, key);
	for (i = 0; i < n_prefixes; i++)
		if (prefixes[i].prefixlen <= addr->prefixlen &&
		    bits_equal(prefixes[i].addr, addr->addr,
			       prefixes[i].prefixlen))
			return &listed;
	return NULL;
}

static long map_update(void *map, const void *key, const void *value,
		       __u64 flags)
{
	return host_update(map, key, value, flags);
}

static __u64 stat(__u32 which)
{
	return stats[HPCCPP_PS_MAX + which];
}

/* The module announces a flow when it begins with it. */
static void announce(void)
{
	__u32 op = skops.op, arg = skops.args[0];

	module_has_it();
	skops.op = op;
	skops.args[0] = arg;
}

/* --- A connection ---------------------------------------------------------- */

static int set_up(void **state)
{
	__builtin_memset(stats, 0, sizeof(stats));
	__builtin_memset(&the_host, 0, sizeof(the_host));
	__builtin_memset(&the_keys, 0, sizeof(the_keys));
	__builtin_memset(&the_link, 0, sizeof(the_link));
	__builtin_memset(packet, 0, sizeof(packet));
	the_host.records = 1;
	the_host.every = 1;
	cc_is_hpccpp = true;
	cc_is_locked = false;
	cc_is_gone = false;
	set_cc = NULL;
	cc_set[0] = '\0';
	__builtin_memcpy(the_host.fallback, "cubic", 6);
	n_prefixes = 0;
	tags = false;
	windows = false;
	now = 1000 * MS;
	room = 28;
	again = false;
	new_socket();
	skops.family = AF_INET;
	skops.local_ip4 = bpf_htonl(0x0a000001);
	skops.remote_ip4 = bpf_htonl(0x0a010002);
	skops.snd_una = 1000;
	skops.snd_nxt = 1000;
	skops.snd_cwnd = 100;
	end_packet(0);
	return 0;
}

/* Another socket of the same host: the maps stay */
static void other_socket(void)
{
	struct link_flows link = the_link;
	bool had_link = has_link;

	new_socket();
	the_link = link;
	has_link = had_link;
	skops.family = AF_INET;
	skops.snd_una = 1000;
	skops.snd_nxt = 1000;
}

static __u32 exid(void)
{
	return stored ? stored_options[2] << 8 | stored_options[3] : 0;
}

static int records(void)
{
	return stored_options[1] / HPCCPP_REC_LEN;
}

static __u32 word(int i)
{
	__be32 w;

	__builtin_memcpy(&w, stored_options + 4 * i, sizeof(w));
	return bpf_ntohl(w);
}

/* True if there is an empty option "tag" behind a collect of n records. */
static bool wants_tag(int n)
{
	return stored == HPCCPP_OPT_LEN(n) + 4U &&
	       word(HPCCPP_OPT_LEN(n) / 4) == 0xfd044854;
}

/* Send a segment: the ExID of its option, 0 without one. */
static __u32 send_syn(void)
{
	build_segment(TCPHDR_SYN, 0);
	return exid();
}

static __u32 send_ack(void)
{
	build_segment(TCPHDR_ACK, 0);
	return exid();
}

static __u32 send_packet(__u32 len)
{
	build_segment(TCPHDR_ACK, len);
	skops.snd_nxt += len;
	skops.packets_out++;
	return exid();
}

static __u32 send_data(void)
{
	return send_packet(MSS);
}

/* What is in flight, or a part of it, once more */
static __u32 send_again(void)
{
	again = true;
	build_segment(TCPHDR_ACK, MSS);
	again = false;
	return exid();
}

static void acked(void)
{
	skops.snd_una = skops.snd_nxt;
	skops.packets_out = 0;
	skops.lost_out = 0;
	skops.sacked_out = 0;
}

static void all_lost(void)
{
	skops.lost_out = skops.packets_out;
}

/* Options of the segment that arrives next */
static __u32 options_len;

static void no_options(void)
{
	__builtin_memset(packet, 0, sizeof(packet));
	put_snd_ack(skops.snd_una);
	skops.skb_tcp_flags = TCPHDR_ACK;
	options_len = 0;
	end_packet(0);
}

static void put_bytes(const void *bytes, __u32 len)
{
	__builtin_memcpy(packet + sizeof(struct tcphdr) + options_len, bytes, len);
	options_len += len;
	end_packet(options_len);
}

static void put_option(__u16 exid, const void *body, __u32 len)
{
	__u8 head[] = { HPCCPP_OPT_KIND, 4 + len, exid >> 8, exid & 0xff };

	put_bytes(head, sizeof(head));
	put_bytes(body, len);
}

static void put_records(__u16 exid, const struct hpccpp_int *rec, int n)
{
	__be32 w[HPCCPP_REC_MAX + 1][3] = {};
	int i;

	for (i = 0; i < n; i++) {
		w[i][0] = bpf_htonl(hpccpp_int_w0(&rec[i]));
		w[i][1] = bpf_htonl(hpccpp_int_w1(&rec[i]));
		w[i][2] = bpf_htonl(hpccpp_int_w2(&rec[i]));
	}
	/* of an echo with a tag, that is put into it later */
	put_option(exid, w, n * HPCCPP_REC_LEN +
			    (exid == HPCCPP_EXID_TAG && n ? HPCCPP_TAG_LEN : 0));
}

static void parse_it(void)
{
	call_host(BPF_SOCK_OPS_PARSE_HDR_OPT_CB, 0);
}

static void receive(__u16 exid, const struct hpccpp_int *rec, int n)
{
	no_options();
	put_records(exid, rec, n);
	parse_it();
}

/* A SYN-ACK's collect: a record that a port has written, and what the SYN has found */
static void put_asked_back(const struct hpccpp_int *rec, __u32 found)
{
	no_options();
	put_records(HPCCPP_EXID_COLLECT, rec, 1);
	found = bpf_htonl(found);
	put_bytes(&found, sizeof(found));
	packet[sizeof(struct tcphdr) + 1] += sizeof(found);
}

/* Links of 200 Mbit/s; the second is the most loaded, the third the least */
static const struct hpccpp_int three[] = {
	{ .link = 1, .rate = 0x614, .U = 40, .ts = 0x123456, .tx_bytes = 0x9abcde, .qlen = 0x1240 },
	{ .link = 2, .rate = 0x714, .U = 60, .ts = 2, .tx_bytes = 3, .qlen = 4 },
	{ .link = 3, .rate = 0x714, .U = 20, .ts = 5, .tx_bytes = 6, .qlen = 7 },
};

static const struct hpccpp_int empty_rec, bound_rec = { .U = 51 };

static void echo(void)
{
	receive(HPCCPP_EXID_ECHO, three, 1);
}

static void empty_echo(void)
{
	receive(HPCCPP_EXID_ECHO, &empty_rec, 1);
}

static void collect(void)
{
	receive(HPCCPP_EXID_COLLECT, three, 1);
}

static void connects(void)
{
	call_host(BPF_SOCK_OPS_TCP_CONNECT_CB, 0);
}

static void connected(void)
{
	call_host(BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB, 0);
}

/* To a peer that has not answered; its module has taken the flow. */
static void open_active(void)
{
	connects();
	send_syn();
	skops.snd_una++;
	skops.snd_nxt++;
	no_options();
	connected();
	module_has_it();
	send_ack();
}

/* As a child of a listener whose flag is set; the ACK has what was put before. */
static void open_passive(void)
{
	call_host(BPF_SOCK_OPS_TCP_LISTEN_CB, 0);
	call_host(BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, 0);
	module_has_it();
}

/* --- What a test says ------------------------------------------------------- */

static int asks_in(int n)
{
	int asks = 0;

	while (n--)
		asks += send_data() == HPCCPP_EXID_COLLECT;
	return asks;
}

static void echo_of_load(__u16 rate, __u8 U)
{
	const struct hpccpp_int rec = { .link = rate ? 9 : 0, .rate = rate, .U = U };

	receive(HPCCPP_EXID_ECHO, &rec, 1);
}

/* Data, and the last of so many echoes that the flow knows its path, which has this load */
static void path_known(__u8 U)
{
	int i;

	send_data();
	acked();
	for (i = 0; i < HPCCPP_NEW; i++)
		echo_of_load(0x714, U);
}

static void assert_echo(const struct hpccpp_int *rec, int n)
{
	int i;

	assert_int_equal(exid(), HPCCPP_EXID_ECHO);
	assert_int_equal(records(), n);
	for (i = 0; i < n; i++) {
		assert_int_equal(word(1 + 3 * i), hpccpp_int_w0(&rec[i]));
		assert_int_equal(word(2 + 3 * i), hpccpp_int_w1(&rec[i]));
		assert_int_equal(word(3 + 3 * i), hpccpp_int_w2(&rec[i]));
	}
}

static void assert_mail(const struct hpccpp_int *rec, int n)
{
	assert_int_equal(the_flow.mail.n, n);
	assert_memory_equal(the_flow.mail.rec, rec, n * sizeof(*rec));
}

static const __u8 mapped[16] = { [10] = 0xff, 0xff, 10, 1, 0, 2 };

static const __u8 addr6[16] = { 0xfd, 0x5a, 0xa5, 0x3c, 0xc3, 0x81, 0x18, 0xe7,
				0x7e, 0x24, 0x42, 0x99, 0x66, 0x0f, 0xf0, 0xab };

static void set_remote6(const __u8 *addr)
{
	skops.family = AF_INET6;
	__builtin_memcpy((void *)skops.remote_ip6, addr, 16);
}

static void use_keys(int n)
{
	__u8 *key = (__u8 *)the_keys.key;
	__u32 i;

	for (i = 0; i < sizeof(the_keys.key); i++)
		key[i] = i;
	the_keys.n = n;
	tags = true;
	((struct tcphdr *)packet)->source = 0;
}

#define TEST(name)	cmocka_unit_test_setup(name, set_up)

#define RUN(tests)	(cmocka_set_message_output(CM_OUTPUT_TAP),	\
			 cmocka_run_group_tests(tests, NULL, NULL))

static void put_prefix(int i, const void *addr, __u32 len)
{
	prefixes[i].prefixlen = len;
	__builtin_memcpy(prefixes[i].addr, addr, 16);
	n_prefixes = i + 1;
	the_host.prefixes = n_prefixes;
}
