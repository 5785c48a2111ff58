// SPDX-License-Identifier: GPL-2.0
/* Unit tests of the iterator over TCP sockets: flow.bpf.c, unchanged, reads one socket. */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "test.h"
#include "hpccpp_agent.h"

/* --- The kernel -------------------------------------------------------------- */

static struct hpccpp_flow_rec shown;
static int n_shown;
static void *its_scratch, *tcp_sock;
static bool has_mptcp;	/* the kernel; any socket is a subflow then */

static long seq_write(struct seq_file *seq, const void *rec, __u32 len)
{
	assert_null(seq);
	assert_int_equal(len, sizeof(shown));
	memcpy(&shown, rec, len);
	n_shown++;
	return 0;
}

#define bpf_map_lookup_elem(map, key)	((map) == &scratch && !*(key) ? its_scratch : NULL)
#define bpf_skc_to_tcp_sock(skc)	((skc) ? tcp_sock : NULL)
#define bpf_seq_write			seq_write
#define bpf_strncmp(s, n, t)		__builtin_strncmp(s, t, n)
#define bpf_probe_read_kernel(to, len, from)	(memcpy(to, from, len), 0)
#undef bpf_core_read
#define bpf_core_read			bpf_probe_read_kernel
#undef BPF_CORE_READ
#define BPF_CORE_READ(from, ...)	((from)->__VA_ARGS__)
#undef bpf_core_field_exists
#define bpf_core_field_exists(...)	has_mptcp
#define preserve_access_index		unused

#include "flow.bpf.c"

/* --- One socket, whose agent's storage comes after that of another program ---- */

static struct tcp_sock tp;
static struct tcp_congestion_ops ca;
static struct socket_alloc inode;
static struct hpccpp_flow flow;
static struct hpccpp_sock hs;
static struct scratch space;
static struct bpf_local_storage storage;
static struct bpf_local_storage_map maps[2];
static struct {
	struct bpf_local_storage_elem elem;
	struct flow room;
} elems[2];

static struct flow *agent_state(void)
{
	return (void *)elems[1].elem.sdata.data;
}

static int reset(void **state)
{
	struct sock_common *skc = (void *)&tp;
	int i;

	memset(&tp, 0, sizeof(tp));
	memset(&flow, 0, sizeof(flow));
	memset(elems, 0, sizeof(elems));
	memset(&space, 0x55, sizeof(space));
	its_scratch = &space;
	tcp_sock = &tp;
	*skc = (struct sock_common) { .skc_family = AF_INET, .skc_state = BPF_TCP_ESTABLISHED,
				      .skc_num = 5001, .skc_dport = bpf_htons(80),
				      .skc_rcv_saddr = bpf_htonl(0x04030201),
				      .skc_daddr = bpf_htonl(0x08070605) };
	tp.inet_conn.icsk_ca_ops = &ca;
	tp.inet_conn.icsk_inet.sk.sk_bpf_storage = &storage;
	strcpy(ca.name, "hpccpp");
	hs = (struct hpccpp_sock) { .flow = &flow, .check = 1 };
	flow.layout = HPCCPP_FLOW_LAYOUT;
	flow.mode = HPCCPP_COEXIST;
	strcpy(maps[0].map.name, "other");
	strcpy(maps[1].map.name, "host_sk");
	maps[1].map.value_size = sizeof(struct flow);
	storage.list.first = &elems[0].elem.snode;
	elems[0].elem.snode.next = &elems[1].elem.snode;
	for (i = 0; i < 2; i++)
		elems[i].elem.sdata.smap = &maps[i];
	return 0;
}

/* Returns how many flows are shown. */
static int show(void)
{
	struct bpf_iter_meta meta = {};
	struct bpf_iter__tcp ctx = { .meta = &meta, .sk_common = (void *)&tp };

	n_shown = 0;
	memcpy(tp.inet_conn.icsk_ca_priv, &hs, sizeof(hs));
	assert_int_equal(flow_show(&ctx), 0);
	return n_shown;
}

TEST(other_sockets_are_not_shown)
{
	struct bpf_iter__tcp end = {};
	int i;

	assert_int_equal(flow_show(&end), 0);
	tcp_sock = NULL;
	assert_int_equal(show(), 0);
	tcp_sock = &tp;
	its_scratch = NULL;
	assert_int_equal(show(), 0);
	its_scratch = &space;
	((struct sock_common *)&tp)->skc_state = BPF_TCP_LISTEN;
	assert_int_equal(show(), 0);
	((struct sock_common *)&tp)->skc_state = BPF_TCP_CLOSE_WAIT;
	assert_int_equal(show(), 1);
	/* another congestion control, where no agent has replaced hpccpp by it */
	for (i = 0; i < 6; i++) {
		ca.name[i] ^= 1;
		assert_int_equal(show(), 0);
		ca.name[i] ^= 1;
	}
}

TEST(state_is_copied)
{
	int i;

	flow.mode = HPCCPP_STEER;
	tp.snd_cwnd = 7;
	tp.srtt_us = 8 * 123 + 7;
	tp.inet_conn.icsk_inet.sk.sk_socket = &inode.socket;
	inode.vfs_inode.i_ino = 99;
	flow.T = 1000;
	flow.p.law = HPCCPP_LAW_DRAFT;
	flow.s.U = 2;
	flow.s.W = 3;
	flow.s.W_c = 4;
	flow.s.W_f = 5;
	flow.s.inc_stage = 6;
	flow.acks = 8;
	flow.updates = 9;
	flow.fallbacks = 10;
	flow.min_B = 12;
	flow.s.bottleneck = 13;
	flow.s.records = 14;
	for (i = 0; i < HPCCPP_G_MAX; i++)
		flow.s.guards[i] = 20 + i;
	flow.s.L[0].seen = 1;
	flow.s.L[HPCCPP_LINKS - 1].seen = 2;
	assert_int_equal(show(), 1);
	for (i = 0; i < HPCCPP_G_MAX; i++)
		assert_int_equal(shown.guards[i], 20 + i);
	memset(shown.guards, 0, sizeof(shown.guards));
	const struct hpccpp_flow_rec want = {
		.family = AF_INET, .state = BPF_TCP_ESTABLISHED, .mode = HPCCPP_SHOWN_INT,
		.links = 2,
		.sport = 5001, .dport = 80, .saddr = { 4, 3, 2, 1 }, .daddr = { 8, 7, 6, 5 },
		.cwnd = 7, .srtt_us = 123, .layout = HPCCPP_FLOW_LAYOUT, .T = 1000, .U = 2, .W = 3,
		.W_c = 4, .W_f = 5, .inc_stage = 6, .acks = 8, .updates = 9, .fallbacks = 10,
		.law = HPCCPP_LAW_DRAFT, .R = 3000, .min_B = 12, .ino = 99, .bottleneck = 13,
		.records = 14,
	};
	assert_memory_equal(&shown, &want, sizeof(want));
}

TEST(flow_of_another_layout_is_not_read)
{
	flow.layout++;
	flow.T = 5;
	assert_int_equal(show(), 1);
	assert_int_equal(shown.layout, flow.layout);
	assert_int_equal(shown.T, 0);
	hs.flow = NULL;
	assert_int_equal(show(), 1);
	assert_int_equal(shown.layout, 0);
	assert_int_equal(shown.reason, HPCCPP_R_NO_MEMORY);
}

TEST(ipv6_addresses)
{
	struct sock_common *skc = (void *)&tp;

	skc->skc_family = AF_INET6;
	memset(&skc->skc_v6_rcv_saddr, 0xa, 16);
	memset(&skc->skc_v6_daddr, 0xb, 16);
	assert_int_equal(show(), 1);
	assert_memory_equal(shown.saddr, &skc->skc_v6_rcv_saddr, 16);
	assert_memory_equal(shown.daddr, &skc->skc_v6_daddr, 16);
}

/* The reason of a flow without telemetry is in the state of its agent, if that is known. */
TEST(agent_is_read)
{
	assert_int_equal(show(), 1);
	assert_int_equal(shown.reason, HPCCPP_R_NOT_ASKED);
	agent_state()->wanted = 1;
	assert_int_equal(show(), 1);
	assert_int_equal(shown.reason, HPCCPP_R_NO_ECHO);
	has_mptcp = true;
	assert_int_equal(show(), 1);
	assert_int_equal(shown.reason, HPCCPP_R_MPTCP);
	has_mptcp = false;
	maps[1].map.value_size++;
	assert_int_equal(show(), 1);
	assert_int_equal(shown.reason, HPCCPP_R_NONE);
	elems[0].elem.snode.next = NULL;
	assert_int_equal(show(), 1);
	assert_int_equal(shown.reason, HPCCPP_R_NO_AGENT);
	tp.inet_conn.icsk_inet.sk.sk_bpf_storage = NULL;
	assert_int_equal(show(), 1);
	assert_int_equal(shown.reason, HPCCPP_R_NO_AGENT);
}

TEST(fallback_of_the_agent)
{
	strcpy(ca.name, "cubic");
	assert_int_equal(show(), 0);
	agent_state()->stands_in = 1;
	assert_int_equal(show(), 1);
	assert_string_equal(shown.fallback, "cubic");
	assert_int_equal(shown.mode, 0);
	assert_int_equal(shown.reason, HPCCPP_R_NOT_ASKED);
	((struct sock_common *)&tp)->skc_state = BPF_TCP_SYN_SENT;
	assert_int_equal(show(), 1);
	assert_int_equal(shown.reason, HPCCPP_R_NONE);
}

TEST_MAIN("flow", reset, NULL)
