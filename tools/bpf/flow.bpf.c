// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the state of every flow under hpccpp, or under what stands in for it: an
 * iterator over TCP sockets, which holds each one's lock, so that a flow's
 * numbers belong together. It shows what ss cannot, as that has no room for more
 * than five numbers of a congestion control.
 *
 * Why a flow has no telemetry is partly in the module's state, and partly in what
 * its host agent keeps of the socket. There may be several host agents, each with a map
 * of its own: the iterator walks a socket's storage as the module does, and goes by the
 * map's name.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "flow_reason.h"

/* Storages of a socket that are looked at, the last that was made first */
#define STORAGES	16

/* The flow as the module and the agent have it, and our record: too much for a stack */
struct scratch {
	struct hpccpp_flow flow;
	struct flow agent;
	struct hpccpp_flow_rec rec;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/* struct tcp_sock of kernels with MPTCP */
struct tcp_sock___mptcp {
	__u8 is_mptcp;
} __attribute__((preserve_access_index));

static __always_inline bool is_hpccpp(const char *name)
{
	return name[0] == 'h' && name[1] == 'p' && name[2] == 'c' &&
	       name[3] == 'c' && name[4] == 'p' && name[5] == 'p';
}

/* Copies the state that a host agent keeps of the socket into s->agent. */
static __always_inline enum agent read_agent(struct scratch *s, struct sock *sk)
{
	struct bpf_local_storage *storage = BPF_CORE_READ(sk, sk_bpf_storage);
	struct hlist_node *node;
	int i;

	if (!storage)
		return AGENT_NONE;
	node = BPF_CORE_READ(storage, list.first);
	for (i = 0; i < STORAGES && node; i++) {
		struct bpf_local_storage_elem *elem;
		struct bpf_local_storage_map *map;
		char name[16] = {};

		elem = container_of(node, struct bpf_local_storage_elem, snode);
		map = BPF_CORE_READ(elem, sdata.smap);
		bpf_core_read(name, sizeof(name), &map->map.name);
		if (!bpf_strncmp(name, sizeof(name), "host_sk"))
			return BPF_CORE_READ(map, map.value_size) == sizeof(s->agent) &&
			       !bpf_core_read(&s->agent, sizeof(s->agent), &elem->sdata.data) ?
			       AGENT_READ : AGENT_OTHER;
		node = BPF_CORE_READ(elem, snode.next);
	}
	return AGENT_NONE;
}

static __always_inline void read_flow(struct scratch *s,
				      struct hpccpp_flow *from)
{
	struct hpccpp_flow_rec *rec = &s->rec;
	struct hpccpp_flow *f = &s->flow;
	int i;

	/* no more than its size is known to be there */
	if (bpf_probe_read_kernel(&rec->layout, sizeof(rec->layout),
				  &from->layout) ||
	    rec->layout != HPCCPP_FLOW_LAYOUT ||
	    bpf_probe_read_kernel(f, sizeof(*f), from))
		return;
	for (i = 0; i < HPCCPP_LINKS; i++)
		rec->links += !!f->s.L[i].seen;
	rec->mode = shown_mode(f);
	rec->law = f->p.law;
	rec->T = f->T;
	rec->U = f->s.U;
	rec->W = f->s.W;
	rec->W_c = f->s.W_c;
	rec->W_f = f->s.W_f;
	rec->inc_stage = f->s.inc_stage;
	rec->acks = f->acks;
	rec->updates = f->updates;
	rec->fallbacks = f->fallbacks;
	rec->R = f->T ? hpccpp_rate(f->s.W, f->T) : 0;
	rec->min_B = f->min_B;
	rec->bottleneck = f->s.bottleneck;
	rec->records = f->s.records;
	for (i = 0; i < HPCCPP_G_MAX; i++)
		rec->guards[i] = f->s.guards[i];
}

static __always_inline __u64 inode_number(struct sock *sk)
{
	struct socket *socket = sk->sk_socket;

	if (!socket)
		return 0;	/* closed by its owner */
	return BPF_CORE_READ(container_of(socket, struct socket_alloc, socket),
			     vfs_inode.i_ino);
}

static __always_inline void read_addresses(struct hpccpp_flow_rec *rec,
					   struct sock_common *skc)
{
	rec->family = skc->skc_family;
	rec->state = skc->skc_state;
	rec->sport = skc->skc_num;
	rec->dport = bpf_ntohs(skc->skc_dport);
	if (rec->family == AF_INET) {
		__builtin_memcpy(rec->saddr, &skc->skc_rcv_saddr, 4);
		__builtin_memcpy(rec->daddr, &skc->skc_daddr, 4);
	} else {
		bpf_core_read(rec->saddr, 16, &skc->skc_v6_rcv_saddr);
		bpf_core_read(rec->daddr, 16, &skc->skc_v6_daddr);
	}
}

SEC("iter/tcp")
int flow_show(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct inet_connection_sock *icsk;
	struct hpccpp_flow_rec *rec;
	struct hpccpp_sock hs;
	struct tcp_sock *tp;
	struct scratch *s;
	char name[16] = {};
	enum agent agent;
	__u32 zero = 0;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);	/* none in TIME_WAIT, SYN_RECV */
	if (!tp || skc->skc_state == BPF_TCP_LISTEN)
		return 0;
	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return 0;
	icsk = &tp->inet_conn;
	bpf_probe_read_kernel(name, sizeof(name), &icsk->icsk_ca_ops->name);
	agent = read_agent(s, (struct sock *)tp);
	if (!is_hpccpp(name) && (agent != AGENT_READ || !s->agent.stands_in))
		return 0;
	rec = &s->rec;
	__builtin_memset(rec, 0, sizeof(*rec));
	read_addresses(rec, skc);
	rec->cwnd = tp->snd_cwnd;
	rec->srtt_us = tp->srtt_us >> 3;
	rec->ino = inode_number((struct sock *)tp);
	if (!is_hpccpp(name)) {
		__builtin_memcpy(rec->fallback, name, sizeof(name));
		if (skc->skc_state != BPF_TCP_SYN_SENT)
			rec->reason = agent_reason(&s->agent);
	} else if (!bpf_core_read(&hs, sizeof(hs), &icsk->icsk_ca_priv)) {
		/* the module sets check in init, also if there is no memory for a flow */
		rec->mode = hs.flow ? HPCCPP_SHOWN_INT :
			    hs.check ? HPCCPP_SHOWN_RENO : HPCCPP_SHOWN_OFF;
		if (hs.flow)
			read_flow(s, hs.flow);
		rec->reason = flow_reason(rec->mode, hs.flow, agent,
					  rec->layout == HPCCPP_FLOW_LAYOUT ? &s->flow : NULL,
					  &s->agent);
	}
	if (rec->reason == HPCCPP_R_NO_ECHO &&
	    bpf_core_field_exists(struct tcp_sock___mptcp, is_mptcp) &&
	    BPF_CORE_READ((struct tcp_sock___mptcp *)tp, is_mptcp))
		rec->reason = HPCCPP_R_MPTCP;
	bpf_seq_write(ctx->meta->seq, rec, sizeof(*rec));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
