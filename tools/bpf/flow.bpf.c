// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the state of every flow under hpccpp: an iterator over TCP sockets,
 * which holds each one's lock, so that a flow's numbers belong together. It
 * shows what ss cannot, as that has no room for more than five numbers of a
 * congestion control.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "hpccpp_agent.h"
#include "hpccpp_flow.h"

/* The flow as the module has it, and our record of it: too much for a stack */
struct scratch {
	struct hpccpp_flow flow;
	struct hpccpp_flow_rec rec;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

static __always_inline bool is_hpccpp(struct inet_connection_sock *icsk)
{
	char name[16] = {};

	bpf_probe_read_kernel(name, sizeof(name), &icsk->icsk_ca_ops->name);
	return name[0] == 'h' && name[1] == 'p' && name[2] == 'c' &&
	       name[3] == 'c' && name[4] == 'p' && name[5] == 'p';
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
	rec->T = f->T;
	rec->U = f->s.U;
	rec->W = f->s.W;
	rec->W_c = f->s.W_c;
	rec->W_f = f->s.W_f;
	rec->inc_stage = f->s.inc_stage;
	rec->acks = f->acks;
	rec->updates = f->updates;
	rec->fallbacks = f->fallbacks;
	rec->R = f->R;
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

SEC("iter/tcp")
int flow_show(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct inet_connection_sock *icsk;
	struct hpccpp_flow_rec *rec;
	struct hpccpp_sock hs;
	struct tcp_sock *tp;
	struct scratch *s;
	__u32 zero = 0;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);	/* none in TIME_WAIT, SYN_RECV */
	if (!tp)
		return 0;
	icsk = &tp->inet_conn;
	if (skc->skc_state == TCP_LISTEN || !is_hpccpp(icsk))
		return 0;
	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return 0;
	rec = &s->rec;
	__builtin_memset(rec, 0, sizeof(*rec));
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
	rec->cwnd = tp->snd_cwnd;
	rec->srtt_us = tp->srtt_us >> 3;
	rec->ino = inode_number((struct sock *)tp);
	if (!bpf_core_read(&hs, sizeof(hs), &icsk->icsk_ca_priv)) {
		rec->mode = hs.mode;
		if (hs.flow)
			read_flow(s, hs.flow);
	}
	bpf_seq_write(ctx->meta->seq, rec, sizeof(*rec));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
