/* SPDX-License-Identifier: GPL-2.0 */
/* The host agent at a receiver: it keeps the last collect, and echoes it. */
#ifndef HPCCPP_HOST_RECEIVER_H
#define HPCCPP_HOST_RECEIVER_H

#include "host_sender.h"
#include "host_tag.h"

static __always_inline void take_collect(struct bpf_sock_ops *skops,
					 struct flow *f, const struct opt *o)
{
	resume_calls(skops, f);
	count(HPCCPP_HS_COLLECTED);
	f->collected = *o;
	if (!f->doubted && !f->proven) {
		f->proven = 1;
		f->lost = 0;
		f->tries = 0;
		f->silent = 0;
	}
	/* one of no record wants no answer: our own question has that room */
	f->echo_due = o->len > HPCCPP_OPT_HDR;
	f->unmeasured = 1;
	call_write(skops, f);
}

/* How many records to echo: those written, or one to show that we are here. */
static __always_inline int echo_records(const struct flow *f)
{
	int n = written(f->collected.rec, records_of(&f->collected));

	return n ? n : 1;
}

/* Sort the records, the most loaded first: an echo with little room has these. */
static __always_inline void most_loaded(struct opt *o)
{
	int i;

	/* to compare the pairs (1, 2), (0, 1), (1, 2) sorts three */
#pragma unroll
	for (i = 0; i < 3; i++) {
		__be32 *a = o->rec[!(i & 1)], *b = a + 3;
		__be32 t;

		if (empty(b) || (bpf_ntohl(b[0]) & 0xff) <=
				(bpf_ntohl(a[0]) & 0xff))
			continue;
		t = a[0], a[0] = b[0], b[0] = t;
		t = a[1], a[1] = b[1], b[1] = t;
		t = a[2], a[2] = b[2], b[2] = t;
	}
}

/* Reserve the echo. */
static __always_inline void plan_echo(struct bpf_sock_ops *skops, struct flow *f)
{
	int n = echo_records(f);
	int fits = reserve(skops, n, f->tags_wanted);

	f->plan = !fits ? PLAN_NONE : PLAN_ECHO | fits;
	if (!fits)
		count(HPCCPP_HS_ECHO_NONE);
	else
		count((fits & PLAN_N) < n ? HPCCPP_HS_ECHO_SHORT :
					    HPCCPP_HS_ECHOED);
	if (tags && f->tags_wanted && fits && !(fits & PLAN_TAG))
		count(HPCCPP_HS_TAG_ROOM);
}

static __always_inline void write_echo(struct bpf_sock_ops *skops,
				       struct flow *f, struct opt *o)
{
	*o = f->collected;
	if ((f->plan & PLAN_N) < records_of(o))
		most_loaded(o);
	if (!tags || !(f->plan & PLAN_TAG))
		store(skops, o, HPCCPP_EXID_ECHO, f->plan & PLAN_N);
	else if (store_tagged(skops, o, f->plan & PLAN_N))
		count(HPCCPP_HS_ERROR);
	f->echo_due = 0;
}

/*
 * A SYN-ACK has no socket yet. All it can go by is the SYN that it answers. It asks too,
 * so that the third ACK brings the answer's path before there is one, and tells of the
 * SYN's in a word. It does not where the SYN wants a tag, which takes that room; nor with
 * a SYN cookie, after which TCP knows the time of the round trip to 64 ms only.
 */
static __always_inline bool may_ask_back(struct bpf_sock_ops *skops, bool tag)
{
	struct hpccpp_host_cfg *cfg = configuration();

	return !tag && skops->args[0] != BPF_WRITE_HDR_TCP_SYNACK_COOKIE &&
	       cfg && peer_wanted(skops, cfg);
}

/*
 * A listener under hpccpp also requests telemetry of clients under other congestion controls.
 * A second SYN-ACK of the connection has no option: the first may be lost because of it.
 */
static __always_inline void plan_syn_ack(struct bpf_sock_ops *skops)
{
	struct answer_key key = answer_to(skops);
	struct listening l = listener_of(skops);
	struct answer *sent = find_answer(&key), new = { .at = seconds() };
	bool asked, tag;
	struct opt o = {};

	if (sent) {
		sent->again = 1;
		return;
	}
	asked = load(skops, &o, HPCCPP_EXID_COLLECT, BPF_LOAD_HDR_OPT_TCP_SYN);
	if (!asked && !bpf_map_lookup_elem(&host_listeners, &l))
		return;
	tag = asked && syn_wants_tag(skops);
	if ((!may_ask_back(skops, tag) || bpf_reserve_hdr_opt(skops, HPCCPP_SYNACK_LEN, 0)) &&
	    (!asked || !reserve(skops, 1, tags && tag)))
		return;
	if (skops->args[0] != BPF_WRITE_HDR_TCP_SYNACK_COOKIE)
		bpf_map_update_elem(&host_answers, &key, &new, BPF_ANY);
}

/* Writes the SYN-ACK's collect, if there was room for it. */
static __always_inline bool ask_back(struct bpf_sock_ops *skops, const struct opt *syn)
{
	struct opt o = { .rec[0][0] = bpf_htonl(HPCCPP_WANTED) };
	struct hpccpp_int r;

	decode_record(&r, syn->rec[0]);
	o.rec[1][0] = bpf_htonl(hpccpp_found(&r));
	if (store_option(skops, &o, HPCCPP_EXID_COLLECT, HPCCPP_SYNACK_LEN))
		return false;
	count(HPCCPP_HS_ASKED);
	return true;
}

static __always_inline void write_syn_ack(struct bpf_sock_ops *skops)
{
	struct answer_key key = answer_to(skops);
	struct answer *sent;
	struct opt o = {};
	bool tag;

	if (!load(skops, &o, HPCCPP_EXID_COLLECT, BPF_LOAD_HDR_OPT_TCP_SYN)) {
		/* another program may have reserved the room */
		sent = find_answer(&key);
		__builtin_memset(&o, 0, sizeof(o));
		if (sent && !sent->again)
			ask_back(skops, &o);
		return;
	}
	most_loaded(&o);
	tag = syn_wants_tag(skops);
	if ((!may_ask_back(skops, tag) || !ask_back(skops, &o)) &&
	    (!tags || !tag || store_tagged(skops, &o, 1)))
		store(skops, &o, HPCCPP_EXID_ECHO, 1);
	count(HPCCPP_HS_COLLECTED);
	count(HPCCPP_HS_ECHOED);
}

#endif /* HPCCPP_HOST_RECEIVER_H */
