// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the agent of RoCEv2 hosts and of DCQCN, by which it reacts. cnp.bpf.c is
 * compiled into this unchanged, and gets packets in a buffer, at times that the tests set.
 */
#include "bpf_shim.h"

#include "test.h"
#include "cnp.bpf.c"
#include "cnp_maps.h"

#define US	1000ULL		/* ns */
#define UNTOLD	(RTT * US * 5 / 4)	/* so long without a CNP counts as silence */
#define MS	1000000ULL
#define RTT	10000U		/* us */
#define LINE	25000000ULL	/* bytes/s: 200 Mbit/s */
#define QP	0x123456	/* the QP that data goes to */
#define OURS	0x654321	/* the QP that it comes from */
#define FAST	0x81		/* opcodes: a CNP */
#define SEND	0x04
#define WRITE	0x0a
#define ACK	0x11
#define READ_RESPONSE	0x0d
#define UD_SEND	0x64
#define ECN_ASK	0x80000000U	/* beside a PSN: asks for an ACK */
#define IPV6	14
#define BEHIND	54
#define SIZE	122		/* of most packets, bytes */

static const __u8 me[16] = { 0xfd, 0, 0, 0xa, [15] = 1 };
static const __u8 peer[16] = { 0xfd, 0, 0, 0xb, [15] = 1 };
static const __u8 a_switch[16] = { 0xfd, 0, 0, 5, [15] = 2 };
static const __u8 another[16] = { 0xfd, 0, 0, 5, [15] = 3 };
static const __u8 stranger[16] = { 0xfd, 0, 0, 6, [15] = 2 };

static struct __sk_buff skb;
static const struct hpccpp_cnp_flow *inserted;	/* a flow as it was put into its map */
static struct hpccpp_cnp_flow inserted_flow;

/* --- What stands for the kernel --- */

static void *map_lookup(void *map, const void *key)
{
	return table_lookup(table_of(map), key);
}

static long map_update(void *map, const void *key, const void *value, __u64 flags)
{
	if (map == &cnp_flows) {
		__builtin_memcpy(&inserted_flow, value, sizeof(inserted_flow));
		inserted = &inserted_flow;
	}
	return table_update(table_of(map), key, value, flags);
}

static long map_delete(void *map, const void *key)
{
	return table_delete(table_of(map), key);
}

static long for_each(void *map, void *callback, void *arg)
{
	return table_each(table_of(map), callback, arg);
}

/* bpf_shim.h asks for these, which only the agents of TCP have */
static void *sk_storage_get(void *map, void *sk, void *value, __u64 flags)
{
	(void)map;
	(void)sk;
	(void)value;
	(void)flags;
	return NULL;
}

static long sk_storage_delete(void *map, void *sk)
{
	(void)map;
	(void)sk;
	return -ENOENT;
}

/* --- Packets --- */

static void put(const void *bytes, __u32 n)
{
	TRUE_OR_TRAP(packet_len + n <= sizeof(packet));
	__builtin_memcpy(packet + packet_len, bytes, n);
	packet_len += n;
}

static void put_zeros(__u32 n)
{
	TRUE_OR_TRAP(packet_len + n <= sizeof(packet));
	__builtin_memset(packet + packet_len, 0, n);
	packet_len += n;
}

static void start(const __u8 *src, const __u8 *dst, __u8 next)
{
	static const __u8 ether[14] = { [12] = 0x86, [13] = 0xdd };
	struct ipv6hdr ip = { .version = 6, .nexthdr = next, .hop_limit = 64 };

	packet_len = 0;
	put(ether, sizeof(ether));
	__builtin_memcpy(&ip.saddr, src, 16);
	__builtin_memcpy(&ip.daddr, dst, 16);
	put(&ip, sizeof(ip));
	skb = (struct __sk_buff) { .protocol = bpf_htons(ETH_P_IPV6) };
}

static void finish(void)
{
	__be16 len = bpf_htons(packet_len - BEHIND);

	__builtin_memcpy(packet + IPV6 + 4, &len, sizeof(len));
	skb.len = packet_len;
}

/* Puts UDP, BTH, bytes of payload and the place of the ICRC. */
static void put_roce(__u8 opcode, __u32 qpn, __u32 psn, __u32 payload)
{
	struct roce h = {
		.udp = { .source = bpf_htons(50000), .dest = bpf_htons(4791),
			 .len = bpf_htons(sizeof(h) + payload + HPCCPP_ICRC_LEN) },
		.bth = { .opcode = opcode, .pkey = 0xffff, .qpn = bpf_htonl(qpn),
			 .psn = bpf_htonl(psn) },
	};

	put(&h, sizeof(h));
	put_zeros(payload + HPCCPP_ICRC_LEN);
}

/* Sends the packet to the peer. Returns the time at which it may leave. */
static __u64 leave(__u8 opcode, __u32 qpn, __u32 psn, __u32 payload)
{
	start(me, peer, IPPROTO_UDP);
	put_roce(opcode, qpn, psn, payload);
	finish();
	assert_int_equal(hpccpp_cnp_out(&skb), TC_ACT_UNSPEC);
	return skb.tstamp;
}

static __u64 send(void)
{
	return leave(SEND, QP, 1, 44);
}

/* The packet comes from the peer, and the agent must let it pass. */
static void arrive(__u8 opcode, __u32 qpn, __u32 psn)
{
	start(peer, me, IPPROTO_UDP);
	put_roce(opcode, qpn, psn, 44);
	finish();
	assert_int_equal(hpccpp_cnp_in(&skb), TC_ACT_UNSPEC);
}

enum { RIGHT, BAD_SUM = 1, NO_SUM = 2, BAD_ICRC = 4 };

/* CRC-32 as zlib has it, bit by bit */
static __u32 crc32(__u32 crc, const void *bytes, __u32 n)
{
	const __u8 *p = bytes;
	__u32 i;

	crc = ~crc;
	for (i = 0; i < 8 * n; i++) {
		crc ^= p[i / 8] >> i % 8 & 1;
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/*
 * The ICRC of RoCEv2: fields that may change on the way are ones, extension headers left
 * out
 */
static __u32 icrc_of(const struct hpccpp_cnp *c)
{
	__u8 over[8 + 40 + sizeof(*c) - 4];

	__builtin_memset(over, 0xff, sizeof(over));
	over[8] = 0x6f;
	over[12] = 0;
	over[13] = sizeof(*c);
	over[14] = IPPROTO_UDP;
	__builtin_memcpy(over + 16, packet + IPV6 + 8, 32);
	__builtin_memcpy(over + 48, c, sizeof(*c) - 4);
	over[48 + 6] = 0xff;
	over[48 + 7] = 0xff;
	over[48 + 8 + 4] = 0xff;
	return HPCCPP_LE32(crc32(0, over, sizeof(over)));
}

static void put_cnp_packet(__u32 qpn, int wrong)
{
	struct hpccpp_cnp c = {
		.sport = bpf_htons(50000), .dport = bpf_htons(4791),
		.len = bpf_htons(sizeof(c)),
		.bth = { .opcode = FAST, .pkey = 0xffff, .qpn = bpf_htonl(qpn | 0x40000000) },
	};
	__u64 sum = bpf_htonl(IPPROTO_UDP) + (__u64)bpf_htonl(sizeof(c));
	__be32 addresses[8];

	__builtin_memcpy(addresses, packet + IPV6 + 8, sizeof(addresses));
	c.icrc = icrc_of(&c) ^ !!(wrong & BAD_ICRC);
	sum += csum_diff(NULL, 0, addresses, sizeof(addresses), 0);
	sum += csum_diff(NULL, 0, (__be32 *)&c, sizeof(c), 0);
	c.check = ~fold(sum);
	if (wrong & BAD_SUM)
		c.check ^= 1;
	if (wrong & NO_SUM)
		c.check = 0;
	put(&c, sizeof(c));
	finish();
}

/*
 * Gives the agent a CNP. Returns the counter that has grown, by its name in the command.
 */
static const char *came(void)
{
	static const char *const names[] = HPCCPP_CNP_STAT_NAMES;
	__u64 before[HPCCPP_CS_MAX];
	const char *name = "nothing";
	int i, n = 0;

	__builtin_memcpy(before, cnp_counts, sizeof(before));
	assert_int_equal(hpccpp_cnp_in(&skb), TC_ACT_SHOT);
	for (i = HPCCPP_CS_SWITCH; i <= HPCCPP_CS_ICRC; i++) {
		if (cnp_counts[i] == before[i] || i == HPCCPP_CS_TRACED ||
		    i == HPCCPP_CS_TRACE_BAD)
			continue;
		name = names[i];
		n++;
	}
	assert_int_equal(n, 1);
	return name;
}

/* A Fast CNP by figure 3 */
static const char *fast_about(const __u8 *from, __u32 qpn, const __u8 *to, int wrong)
{
	struct hpccpp_fcnp1 o = { .next = IPPROTO_UDP, .hdrlen = 2, .padn = { 1, 2 },
				  .type = HPCCPP_FCNP_TYPE1, .len = 16 };

	__builtin_memcpy(o.daddr, to, 16);
	start(from, me, IPPROTO_DSTOPTS);
	put(&o, sizeof(o));
	put_cnp_packet(qpn, wrong);
	return came();
}

static const char *fast(const __u8 *from)
{
	return fast_about(from, QP, peer, RIGHT);
}

static const char *ordinary(__u32 qpn, int wrong)
{
	start(peer, me, IPPROTO_UDP);
	put_cnp_packet(qpn, wrong);
	return came();
}

/* The words of a port in a trace, host order */
struct port_node {
	__u32 id;
	__u64 at;		/* ns, POSIX */
	__u32 depth, tx;	/* bytes */
	__u8  speed;		/* code: 28 is 100 Mbit/s, 29 160, 30 200 */
};

#define SPEED_100M	28
#define SPEED_200M	30
#define UNKNOWN		0xffffffff

static void put_trace(__u32 type, __u8 flags, __u16 ns, const struct port_node *n, __u32 nodes)
{
	struct hpccpp_ioam_trace t = {
		.ns = bpf_htons(ns), .node_flags = 7 << 3 | flags, .type = bpf_htonl(type),
	};
	__u32 i;

	put(&t, sizeof(t));
	for (i = 0; i < nodes; i++) {
		__be32 w[] = {
			bpf_htonl(63 << 24 | n[i].id), bpf_htonl(1 << 16 | 2),
			bpf_htonl(n[i].at / 1000000000), bpf_htonl(n[i].at % 1000000000 / 1000),
			bpf_htonl(n[i].depth), bpf_htonl(n[i].tx),
			bpf_htonl((__u32)n[i].speed << 26 | HPCCPP_IOAM_ERRORS_UNKNOWN),
		};
		put(w, sizeof(w));
	}
}

/* A Fast CNP by figure 4; the last node first */
static const char *fast_trace(const __u8 *from, __u32 type, __u8 flags, __u16 ns,
			      const struct port_node *n, __u32 nodes)
{
	__u32 data = nodes * 28, len = HPCCPP_FCNP2_HDR(data);
	struct hpccpp_fcnp2 o = {
		.next = IPPROTO_UDP, .hdrlen = len / 8 - 1, .padn = { 1 },
		.type = HPCCPP_FCNP_TYPE2, .len = HPCCPP_FCNP2_LEN(data),
	};
	static const __u8 padn[4] = { 1, 2 };

	start(from, me, IPPROTO_DSTOPTS);
	put(&o, sizeof(o));
	put_trace(type, flags, ns, n, nodes);
	put(peer, 16);
	if (packet_len < BEHIND + len)
		put(padn, sizeof(padn));
	put_cnp_packet(QP, RIGHT);
	return came();
}

static const char *traced(const struct port_node *n, __u32 nodes)
{
	return fast_trace(a_switch, HPCCPP_IOAM_HPCC, 0, 0, n, nodes);
}

/* --- State --- */

static struct hpccpp_cnp_flow *flow_to(__u32 qpn)
{
	struct hpccpp_cnp_key key = { .qpn = qpn };

	__builtin_memcpy(key.daddr, peer, 16);
	return map_lookup(&cnp_flows, &key);
}

static struct hpccpp_cnp_flow *flow(void)
{
	return flow_to(QP);
}

static __u64 rate(void)
{
	return flow()->rate;
}

static void list(void *map, const __u8 *address, __u32 bits)
{
	struct hpccpp_prefix p = { .prefixlen = bits };
	__u8 one = 1;

	__builtin_memcpy(p.addr, address, 16);
	assert_int_equal(map_update(map, &p, &one, 0), 0);
}

/* Sets up an agent as the command does, without traces, answers and detours. */
static int set_up(void **state)
{
	tables_clear();
	now = 1000000 * MS;
	copy.mark = 0;
	inserted = NULL;
	the_cnp = (struct hpccpp_cnp_cfg) {
		.hpcc = { .T = RTT, .eta = 95ULL * HPCCPP_ONE / 100, .law = HPCCPP_LAW_DRAFT,
			  .W_ai = 250, .W_min = 250, .W_max = LINE / 1000000 * RTT },
		.type1 = HPCCPP_FCNP_TYPE1, .type2 = HPCCPP_FCNP_TYPE2,
		.threshold = 52, .threshold_percent = 80, .accepts = 2,
	};
	hpccpp_dcqcn_defaults(&the_cnp.dcqcn, LINE, RTT);
	list(&cnp_accept, a_switch, 64);
	list(&cnp_accept, peer, 128);
	return 0;
}

/* One that is near another, in parts of it */
static void assert_near(double value, double expected, double part)
{
	if (value < expected * (1 - part) || value > expected * (1 + part))
		fail_msg("%f is not %f", value, expected);
}

#include "cnp_test_react.h"
#include "cnp_test_hpcc.h"
#include "cnp_test_hosts.h"

TEST_MAIN("cnp", set_up, NULL)
