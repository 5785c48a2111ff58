// SPDX-License-Identifier: GPL-2.0
/*
 * Host agent: asks for INT, reads the answers, and answers what others ask.
 *
 * A sock_ops program on a cgroup. A connection may carry data both ways, so every
 * flow may use all three sides:
 *
 *	host_sender.h	reserves empty records in segments (option "collect") and
 *			keeps what the peer echoes where the module reads it
 *	host_receiver.h	puts the records of the last segment into the next ACK
 *			(option "echo")
 *	host_window.h	in mode receiver, puts a window computed from these records
 *			into the ACK instead (option "window")
 *
 * Documentation of the protocol: tools/bpf/hpccpp_wire.rst, "Negotiation" (which segments carry the
 * option, and when requests end) and "Segmentation" (packets of several segments).
 *
 * A segment carries one option: beside timestamps there is no room for two. On data the echo or
 * window goes first, then it takes turns with the collect. Where SACK blocks leave little room, an
 * echo is cut to the most loaded records, then left out. The kernel does not report how much room
 * there is; bpf_reserve_hdr_opt() returns ENOSPC. A flow that stopped requesting needs no calls.
 *
 * With a key, a collect is followed by an empty option "tag" until a tag has arrived. It asks the
 * peer to sign its echoes, which the peer does where there is room.
 */
#include "host_flow.h"
#include "host_tag.h"
#include "host_sender.h"
#include "host_receiver.h"
#include "host_window.h"

/* What Linux writes first in a segment that is not a SYN: two NOPs, timestamps */
#define TCPOPT_TSTAMP	0x0101080a
#define TCPOLEN_TSTAMP	12

/* The first word of an option of one record */
#define OPT_ONE(exid)	bpf_htonl((__u32)HPCCPP_OPT_KIND << 24 | \
				  HPCCPP_OPT_LEN(1) << 16 | (exid))

/*
 * Look for an option of one record in the usual places: first, or behind the
 * timestamps as Linux writes them. The kernel's search costs 200 instructions.
 */
static __always_inline bool take_in_place(struct bpf_sock_ops *skops,
					  struct flow *f)
{
	const __be32 *p = POINTER(skops, skb_data) + sizeof(struct tcphdr);
	const __be32 *end = POINTER(skops, skb_data_end);
	struct opt o = { .kind = HPCCPP_OPT_KIND, .len = HPCCPP_OPT_LEN(1) };

	if (p + HPCCPP_OPT_LEN(1) / 4 > end)
		return false;
	if (*p == bpf_htonl(TCPOPT_TSTAMP)) {
		p += TCPOLEN_TSTAMP / 4;
		if (p + HPCCPP_OPT_LEN(1) / 4 > end)
			return false;
	}
	if (*p == OPT_ONE(HPCCPP_EXID_ECHO)) {
		take_echo(skops, f, (const __be32 (*)[3])(p + 1), 1);
		return true;
	}
	if (*p == OPT_ONE(HPCCPP_EXID_BURST)) {
		if (!(skops->skb_tcp_flags & TCPHDR_PSH))
			return true;
	} else if (*p != OPT_ONE(HPCCPP_EXID_COLLECT)) {
		return false;
	}
	__builtin_memcpy(o.rec[0], p + 1, HPCCPP_REC_LEN);
	take_collect(skops, f, &o);
	return true;
}

/*
 * Take what the current segment carries. A collect on a socket without state gives it
 * state: the socket, or its listener, may be older than this agent.
 */
static __always_inline void parse(struct bpf_sock_ops *skops, struct flow *f)
{
	bool answers_syn = skops->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB;
	struct opt o;
	int n, tag = 0;
	bool synack;

	/* with a key there may be an option "tag" beside this one, or in its place */
	if (!tags && f && !answers_syn && take_in_place(skops, f))
		return;
	__builtin_memset(&o, 0, sizeof(o));
	if (tags)
		tag = load_any(skops, &o, HPCCPP_EXID_TAG, 0);
	if (tag > HPCCPP_OPT_HDR) {
		n = tag == HPCCPP_TAGGED_LEN(2) ? 2 : 1;
		if (n == 1 && tag != HPCCPP_TAGGED_LEN(1))
			count(HPCCPP_HS_BAD);
		else if (f && accept_tag(skops, f, &o, n))
			take_echo(skops, f, o.rec, n);
		return;
	}
	if (f) {
		n = load(skops, &o, HPCCPP_EXID_ECHO, 0);
		if (n) {
			if (!tags || accept_untagged(f))
				take_echo(skops, f, o.rec, n);
			return;
		}
	}
	n = load(skops, &o, HPCCPP_EXID_COLLECT, 0);
	if (!n && skops->skb_tcp_flags & TCPHDR_PSH)
		n = load(skops, &o, HPCCPP_EXID_BURST, 0);
	if (!n && f)
		parse_window(skops, f, &o);
	if (!n)
		return;
	synack = o.len == HPCCPP_SYNACK_LEN;
	/* a SYN proxy may have reflected the option of our SYN, which is shorter */
	if (answers_syn && !synack)
		return;
	if (!f)
		f = find(skops, true);
	if (!f)
		return;
	if (synack)
		o.len = HPCCPP_OPT_LEN(1);
	take_collect(skops, f, &o);
	if (tag == HPCCPP_OPT_HDR)
		f->tags_wanted = 1;
	if (synack && (!tags || accept_untagged(f)))
		take_found(skops, f, bpf_ntohl(o.rec[1][0]));
}

/*
 * TCP computes the MSS: reserve the largest option that a data segment may get, as
 * segments would exceed the path's MTU otherwise.
 */
static __always_inline void reserve_mss(struct bpf_sock_ops *skops,
					const struct flow *f,
					const struct hpccpp_host_cfg *cfg,
					bool ask)
{
	bool tag = ask && !f->peer_signs;
	int n = ask ? cfg->records : 0;
	int fits;

	if (f->collected.kind && n < records_of(&f->collected))
		n = records_of(&f->collected);
	if (f->collected.kind && f->tags_wanted)
		tag = true;
	fits = reserve(skops, n, tag);
	/* without a tag there may be room for a record more, which is longer */
	if (tags && fits & PLAN_TAG && (fits & PLAN_N) < n)
		bpf_reserve_hdr_opt(skops, HPCCPP_REC_LEN - HPCCPP_TAG_LEN, 0);
}

/*
 * Reserve what answers a collect: a window where W is computed here, or an echo. On
 * data it takes turns with a collect of our own that is due.
 */
static __always_inline bool plan_answer(struct bpf_sock_ops *skops,
					struct flow *f,
					const struct hpccpp_host_cfg *cfg,
					bool data, bool ask)
{
	if (!f->echo_due ||
	    (data && ask && f->echo_turn && data_due(skops, f, cfg)))
		return false;
	if (windows && f->rx && f->rx_knows_link && has_load(&f->collected)) {
		if (!window_due(skops))
			return false;
		plan_window(skops, f);
	} else {
		plan_echo(skops, f);
	}
	if (data)
		f->echo_turn = 1;
	return true;
}

/* HDR_OPT_LEN: choose the option of this segment and reserve its room. */
static __always_inline void hdr_opt_len(struct bpf_sock_ops *skops)
{
	__u32 flags = skops->skb_tcp_flags;
	struct hpccpp_host_cfg *cfg = configuration();
	struct flow *f;
	bool ask, data;

	if ((flags & TCPHDR_SYN) && (flags & TCPHDR_ACK)) {
		plan_syn_ack(skops);
		return;
	}
	f = find(skops, false);
	if (!(flags & TCPHDR_SYN) && skops->bpf_sock_ops_cb_flags & HPCCPP_SEEK_FLAG) {
		if (!f || (!f->feedback.key && !f->stands_in))
			f = sought(skops, f, cfg);
		else if (!f->paused)	/* the flag is also one of HPCCPP_RESUME_FLAGS */
			clear_flags(skops, HPCCPP_SEEK_FLAG);
	}
	if (!f || !cfg)
		return;
	ask = may_ask(f, cfg);
	/*
	 * Every segment has a flag, so without one TCP computes the MSS. args[0]
	 * says so too, unless a program before us has replied.
	 */
	if (!flags) {
		reserve_mss(skops, f, cfg, ask);
		return;
	}

	f->plan = PLAN_NONE;
	f->ask_end = 0;
	if (flags & TCPHDR_SYN) {
		plan_syn(skops, f, cfg);
		return;
	}
	data = skops->skb_len;
	if (plan_third_ack(skops, f) || plan_answer(skops, f, cfg, data, ask))
		return;
	if (data && ask)
		plan_data(skops, f, cfg);
}

/* WRITE_HDR_OPT: write what HDR_OPT_LEN reserved. */
static __always_inline void write_hdr_opt(struct bpf_sock_ops *skops)
{
	__u32 flags = skops->skb_tcp_flags;
	struct opt o = {};
	struct flow *f;

	if ((flags & TCPHDR_SYN) && (flags & TCPHDR_ACK)) {
		write_syn_ack(skops);
		return;
	}
	f = find(skops, false);
	if (!f || f->plan == PLAN_NONE)
		return;
	if (windows && f->plan & PLAN_WINDOW)
		write_window(skops, f, &o);
	else if (f->plan & PLAN_REQUEST)
		write_request(skops, f, &o);
	else if (f->plan & PLAN_ECHO)
		write_echo(skops, f, &o);
	else
		write_collect(skops, f, &o);
	if (f->plan & PLAN_COLLECT && f->paused) {
		set_flags(skops, HPCCPP_RESUME_FLAGS);
		clear_flags(skops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	}
	f->plan = PLAN_NONE;
}

/* listen(): the kernel calls for SYN-ACKs by the flags of the listener. */
static __always_inline void on_listen(struct bpf_sock_ops *skops)
{
	struct bpf_sock *sk = POINTER(skops, sk);
	struct flow *f = find(skops, false);
	struct listening l = listener_of(skops);
	__u8 one = 1;

	/* the socket may have been connected: forget that peer, and be hpccpp's again */
	if (f && f->stands_in)
		restore(skops, f);
	if (has_hpccpp(skops))
		bpf_map_update_elem(&host_listeners, &l, &one, BPF_ANY);
	else
		bpf_map_delete_elem(&host_listeners, &l);
	if (f && sk && !f->listener_flag)
		bpf_sk_storage_delete(&host_sk, sk);
	if (skops->bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG)
		return;
	f = find(skops, true);
	if (!f)
		return;
	f->listener_flag = 1;
	set_flags(skops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

/*
 * connect(): the socket may have been connected before. Forget all but own_flag, and what
 * has hpccpp's place: TCP is about to ask the route for a congestion control. plan_syn() ends
 * this where that is another one.
 */
static __always_inline void on_connect(struct bpf_sock_ops *skops)
{
	struct bpf_sock *sk = POINTER(skops, sk);
	struct flow *f = find(skops, false);
	struct hpccpp_host_cfg *cfg;
	bool own_flag = f && f->own_flag, stands_in = f && f->stands_in;

	if (f && sk)
		bpf_sk_storage_delete(&host_sk, sk);
	cfg = configuration();
	if (!cfg || !peer_wanted(skops, cfg))
		return;
	f = find(skops, true);
	if (!f)
		return;
	f->own_flag = own_flag;
	f->stands_in = stands_in;
	f->wanted = 1;
	call_write(skops, f);
}

/* A connection has ended before the SYN-ACK, perhaps because of the option of its SYN. */
static __always_inline void on_state(struct bpf_sock_ops *skops)
{
	struct flow *f = find(skops, false);

	if (f && f->syn_asked && skops->args[0] == BPF_TCP_SYN_SENT &&
	    skops->args[1] == BPF_TCP_CLOSE)
		suspect_path(skops, false);
}

/* The handshake is done: with telemetry it is hpccpp's, else the fallback's. */
static __always_inline void settle(struct bpf_sock_ops *skops, struct flow *f,
				   struct hpccpp_host_cfg *cfg)
{
	if (!f->feedback.gen)
		stand_in(skops, f, cfg);
	else if (f->stands_in)
		come_back(skops, f);
	if (!f->feedback.key && !f->stands_in && has_hpccpp(skops))
		bind_flow(skops, f, cfg);
}

/* The SYN-ACK arrived. */
static __always_inline struct flow *
on_active_established(struct bpf_sock_ops *skops)
{
	struct hpccpp_host_cfg *cfg = configuration();
	struct flow *f = find(skops, false);

	/* a server's request gives state to a connection under another congestion control */
	parse(skops, f);
	f = find(skops, false);
	/* the peer may select hpccpp later; segments without an unknown option bring no call */
	set_flags(skops, BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
	if (!cfg || (!(f && (f->proven || f->stands_in)) && !is_governed(skops, false, cfg))) {
		if (f)
			leave_alone(skops, f);
		return NULL;
	}
	if (f) {
		f->third = 1;
		/* the peer forgets that we want tags if only its listener saw the SYN */
		f->peer_signs = 0;
		if (f->syn_asked && f->syn_sent > 1 && !f->proven) {
			suspect_path(skops, false);
			f->wanted = peer_wanted(skops, cfg);
		}
	} else {
		/* a peer that we do not ask, or a SYN that is older than this agent */
		f = find(skops, true);
		if (f && peer_wanted(skops, cfg)) {
			f->wanted = 1;
			call_write(skops, f);
		}
	}
	if (f)
		settle(skops, f, cfg);
	return f;
}

/* The third ACK arrived. */
static __always_inline struct flow *
on_passive_established(struct bpf_sock_ops *skops)
{
	struct hpccpp_host_cfg *cfg = configuration();
	struct bpf_sock *sk = POINTER(skops, sk);
	struct flow *f = find(skops, false);
	struct answer_key key = answer_to(skops);
	struct answer *sent = find_answer(&key);
	bool sent_again = sent && sent->again;

	if (sent)
		bpf_map_delete_elem(&host_answers, &key);
	parse(skops, f);
	f = find(skops, false);
	set_flags(skops, BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
	/* the peer has no agent: its segments need no calls */
	if (f && f->listener_flag && !f->proven)
		clear_flags(skops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	if (!cfg || (!(f && f->proven) && !has_hpccpp(skops))) {
		if (f && sk)
			bpf_sk_storage_delete(&host_sk, sk);
		return NULL;
	}
	if (!f)
		f = find(skops, true);
	if (f) {
		if (sent_again && !f->proven)
			suspect_path(skops, false);
		f->passive = 1;
		f->wanted = peer_wanted(skops, cfg);
		settle(skops, f, cfg);
	}
	return f;
}

SEC("sockops")
int hpccpp_host(struct bpf_sock_ops *skops)
{
	struct flow *f = NULL;

	switch (skops->op) {
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		hdr_opt_len(skops);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		write_hdr_opt(skops);
		break;
	case BPF_SOCK_OPS_RTT_CB:
	case BPF_SOCK_OPS_RETRANS_CB:
	case BPF_SOCK_OPS_RTO_CB:
		f = find(skops, false);
		if (f)
			resume_calls(skops, f);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		f = find(skops, false);
		parse(skops, f);
		if (!f)
			break;
		if (f->stands_in && f->feedback.gen)
			come_back(skops, f);
		else if (f->empty >= HPCCPP_EMPTY && !skops->lost_out && !skops->retrans_out)
			lose_telemetry(skops, f);
		check_cc(skops, f);
		break;
	case BPF_SOCK_OPS_BASE_RTT:
		/* the module calls, or tcp_nv */
		f = find(skops, false);
		if (windows && f && f->feedback.key && skops->args[3] == HPCCPP_CALL_SET_PARAMS)
			request(f, skops->args[1], skops->args[2]);
		f = NULL;
		break;
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		on_listen(skops);
		break;
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		on_connect(skops);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		on_state(skops);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
		f = on_active_established(skops);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		f = on_passive_established(skops);
		break;
	}
	/* once for all events: it is long, and the verifier walks each copy */
	if (windows && f && f->rx && f->unmeasured)
		measure(skops, f);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
