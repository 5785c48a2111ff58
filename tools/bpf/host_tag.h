/* SPDX-License-Identifier: GPL-2.0 */
/* Tags of the host agent: sign an echo, check the tag of an echo. */
#ifndef HPCCPP_HOST_TAG_H
#define HPCCPP_HOST_TAG_H

#include "host_flow.h"

/* Fill s from the current segment and this option of n records. */
static __always_inline bool what_is_signed(struct bpf_sock_ops *skops,
					   bool ours, struct hpccpp_signed *s,
					   const struct opt *o, int n)
{
	const __be32 *th = header(skops);

	if (!th)
		return false;
	s->ports = th[0];
	s->ack = th[2];
	local_address(skops, ours ? s->src : s->dst);
	remote_address(skops, ours ? s->dst : s->src);
	__builtin_memset(s->option, 0, sizeof(s->option));
	__builtin_memcpy(s->option, o, HPCCPP_OPT_LEN(1));
	if (n == 2)
		__builtin_memcpy(s->option, o, HPCCPP_OPT_LEN(2));
	return true;
}

static __always_inline struct hpccpp_host_keys *keys(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&host_keys, &zero);
}

/* The SYN that this SYN-ACK answers asks for tags. */
static __always_inline bool syn_wants_tag(struct bpf_sock_ops *skops)
{
	struct opt o = {};

	return load_any(skops, &o, HPCCPP_EXID_TAG, BPF_LOAD_HDR_OPT_TCP_SYN) ==
	       HPCCPP_OPT_HDR;
}

/* Decide on an echo without a tag, and ask the peer for tags again. */
static __always_inline bool accept_untagged(struct flow *f)
{
	struct hpccpp_host_keys *k = keys();

	f->peer_signs = 0;
	count(HPCCPP_HS_TAG_NONE);
	return k && !k->require;
}

/*
 * Decide on an echo with a tag. A tag stays right when somebody sends the segment
 * again, and TCP has not checked the acknowledgment number yet: so it has to be in
 * the window as well.
 */
static __always_inline bool accept_tag(struct bpf_sock_ops *skops,
				       struct flow *f, struct opt *o, int n)
{
	__be32 tag = n == 2 ? o->rec[2][0] : o->rec[1][0];
	struct hpccpp_host_keys *k = keys();
	struct hpccpp_signed s;
	__u32 una = skops->snd_una, nxt = skops->snd_nxt;

	if (!k || !what_is_signed(skops, false, &s, o, n))
		return false;
	if (tag != hpccpp_tag(&k->key[0], &s, n) &&
	    (k->n < 2 || tag != hpccpp_tag(&k->key[1], &s, n))) {
		count(HPCCPP_HS_TAG_BAD);
		return !k->require;
	}
	f->peer_signs = 1;
	if (bpf_ntohl(s.ack) - una > nxt - una) {
		count(HPCCPP_HS_TAG_OLD);
		return !k->require;
	}
	count(HPCCPP_HS_TAG_OK);
	return true;
}

/* As store(), for an echo of 1 or 2 records and its tag */
static __always_inline long store_tagged(struct bpf_sock_ops *skops,
					 struct opt *o, int n)
{
	struct hpccpp_host_keys *k = keys();
	struct hpccpp_signed s;
	long err;

	o->kind = HPCCPP_OPT_KIND;
	o->len = n == 2 ? HPCCPP_TAGGED_LEN(2) : HPCCPP_TAGGED_LEN(1);
	o->exid = bpf_htons(HPCCPP_EXID_TAG);
	if (!k || !what_is_signed(skops, true, &s, o, n))
		return -1;
	if (n == 2) {
		o->rec[2][0] = hpccpp_tag(&k->key[0], &s, 2);
		err = store_option(skops, o, HPCCPP_EXID_TAG, HPCCPP_TAGGED_LEN(2));
	} else {
		o->rec[1][0] = hpccpp_tag(&k->key[0], &s, 1);
		err = store_option(skops, o, HPCCPP_EXID_TAG, HPCCPP_TAGGED_LEN(1));
	}
	if (!err)
		count(HPCCPP_HS_SIGNED);
	return err;
}

#endif /* HPCCPP_HOST_TAG_H */
