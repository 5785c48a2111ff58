/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the sides of the host agent share: the maps, and the functions that read and
 * write options of the current segment. The state of a flow is in host_state.h.
 */
#ifndef HPCCPP_HOST_FLOW_H
#define HPCCPP_HOST_FLOW_H

#include "vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "hpccpp_prefix.h"
#include "hpccpp_verifier.h"
#include "host_state.h"

#define TCPHDR_SYN	0x02
#define TCPHDR_PSH	0x08
#define TCPHDR_ACK	0x10

/* State of a flow at a receiver that computes W (section 6.2) */
struct rx {
	struct hpccpp_state s;
	struct hpccpp_params p;
	__u64 next;		/* the next window is due then, ns */
	__u64 round;		/* start of the current round trip, ns */
	__u64 min_B;		/* smallest B of the path, bytes/s */
	__u64 stays;		/* the flow counts on "link" alone until then, ns */
	__u32 epoch;		/* last epoch in which "link" counted the flow */
	__u16 link;		/* link that counted the flow */
	__u8 serial;		/* of the request that the parameters are from */
	__u8 value;		/* kind of the next window: B, U, N in turn */
	__u64 share_at;		/* time from which on W goes towards W_f, ns */
};

/* flow.plan: HDR_OPT_LEN reserves room for it, WRITE_HDR_OPT writes it */
enum {
	PLAN_NONE, PLAN_COLLECT = 0x10, PLAN_ECHO = 0x20, PLAN_WINDOW = 0x40,
	PLAN_REQUEST = 0x80, PLAN_TAG = 0x08, PLAN_N = 0x7
};

/*
 * There is a key; and the receiver computes W (mode receiver). The loader sets these: the verifier
 * drops the code of what is false, which then costs nothing.
 */
#ifdef __bpf__
const volatile bool tags, windows;
#else
static bool tags, windows;	/* the unit tests run all */
#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hpccpp_host_cfg);
} host SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hpccpp_host_keys);
} host_keys SEC(".maps");

struct prefix_map host_prefix SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HPCCPP_HS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} host_stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	/* an accepted socket inherits listener_flag with the flag itself */
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct flow);
} host_sk SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rx);
} host_rx SEC(".maps");

static __always_inline void count(__u32 stat)
{
	__u64 *c = bpf_map_lookup_elem(&host_stats, &stat);

	if (c)
		(*c)++;
}

static __always_inline struct hpccpp_host_cfg *configuration(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&host, &zero);
}

/*
 * Load a pointer from the context. In assembly, because clang may compute the
 * address in a register that several branches share, and the verifier allows only
 * constant offsets into the context.
 */
static __always_inline void *pointer_at(struct bpf_sock_ops *skops,
					const int off)
{
#ifdef __bpf__
	void *p;

	asm volatile("%[p] = *(u64 *)(%[skops] + %[off])"
		     : [p] "=r"(p) : [skops] "r"(skops), [off] "i"(off));
	return p;
#else
	return *(void **)((char *)skops + off);	/* the unit tests */
#endif
}

#define POINTER(skops, field) \
	pointer_at(skops, __builtin_offsetof(struct bpf_sock_ops, field))

static __always_inline struct flow *find(struct bpf_sock_ops *skops, bool add)
{
	struct bpf_sock *sk = POINTER(skops, sk);
	struct flow *f;

	if (!sk)
		return NULL;
	f = bpf_sk_storage_get(&host_sk, sk, NULL,
			       add ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!f && add)
		count(HPCCPP_HS_ERROR);
	return f;
}

static __always_inline void set_flags(struct bpf_sock_ops *skops, int flags)
{
	int have = skops->bpf_sock_ops_cb_flags;

	if ((have & flags) != flags)
		bpf_sock_ops_cb_flags_set(skops, have | flags);
}

/*
 * A flow may pause its WRITE calls after a packet: may_pause_calls(). These events
 * resume them, as an echo does. The kernel tells of RTT samples once in a round trip, maybe
 * before all that asked is acked; retransmissions and timeouts may bring none, and the agent
 * has to see them.
 */
#define HPCCPP_RESUME_FLAGS						\
	(BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_RETRANS_CB_FLAG |	\
	 BPF_SOCK_OPS_RTO_CB_FLAG)

/* We are about to set the WRITE flag. We may clear it later if it was not set yet. */
static __always_inline void own_calls(struct bpf_sock_ops *skops,
				      struct flow *f)
{
	if (!(skops->bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG))
		f->own_flag = 1;
}

static __always_inline void call_write(struct bpf_sock_ops *skops,
				       struct flow *f)
{
	own_calls(skops, f);
	set_flags(skops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

static __always_inline void clear_flags(struct bpf_sock_ops *skops, int flags)
{
	bpf_sock_ops_cb_flags_set(skops, skops->bpf_sock_ops_cb_flags & ~flags);
}

/* Load the option with this ExID. Returns its length; 0 or less: there is none. */
static __always_inline int load_any(struct bpf_sock_ops *skops, struct opt *o,
				    __u16 exid, __u64 flags)
{
	/* the helper searches for this kind and ExID */
	o->kind = HPCCPP_OPT_KIND;
	o->len = HPCCPP_OPT_HDR;
	o->exid = bpf_htons(exid);
	return bpf_load_hdr_opt(skops, o, sizeof(*o), flags);
}

/*
 * Load the records of the option with this ExID, from the segment or (flags) from
 * the SYN that a SYN-ACK answers. Returns how many there are.
 */
static __always_inline int load(struct bpf_sock_ops *skops, struct opt *o,
				__u16 exid, __u64 flags)
{
	int len = load_any(skops, o, exid, flags);

	/* a SYN's collect of none is taken as one of an empty record, but for its length */
	if (len == HPCCPP_OPT_LEN(1) ||
	    (len == HPCCPP_OPT_HDR && exid == HPCCPP_EXID_COLLECT &&
	     skops->op != BPF_SOCK_OPS_PARSE_HDR_OPT_CB) ||
	    (len == HPCCPP_SYNACK_LEN && exid == HPCCPP_EXID_COLLECT &&
	     skops->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB))
		return 1;
	if (len == HPCCPP_OPT_LEN(2))
		return 2;
	if (len == HPCCPP_OPT_LEN(3))
		return 3;
	if (len > 0)
		count(HPCCPP_HS_BAD);
	return 0;
}

static __always_inline bool empty(const __be32 *rec)
{
	return !(bpf_ntohl(rec[0]) >> 8 & 0xfff);
}

static __always_inline int records_of(const struct opt *o)
{
	/* the length is 4 + 12 n bytes, so this is n */
	return o->len / (__u32)HPCCPP_REC_LEN;
}

/* How many records ports have written. These come first. */
static __always_inline int written(const __be32 (*rec)[3], int n)
{
	if (n < 1 || empty(rec[0]))
		return 0;
	if (n < 2 || empty(rec[1]))
		return 1;
	if (n < 3 || empty(rec[2]))
		return 2;
	return 3;
}

/* local_address() and remote_address(), IPv4 as ::ffff:a.b.c.d */
#define ADDRESS(end)							\
static __always_inline void end ## _address(struct bpf_sock_ops *skops,	\
					    __be32 *to)			\
{									\
	if (skops->family == AF_INET) {					\
		to[0] = 0;						\
		to[1] = 0;						\
		to[2] = bpf_htonl(0xffff);				\
		to[3] = OPAQUE(skops->end ## _ip4);			\
	} else {							\
		to[0] = OPAQUE(skops->end ## _ip6[0]);			\
		to[1] = OPAQUE(skops->end ## _ip6[1]);			\
		to[2] = OPAQUE(skops->end ## _ip6[2]);			\
		to[3] = OPAQUE(skops->end ## _ip6[3]);			\
	}								\
}

ADDRESS(local)
ADDRESS(remote)

/* The TCP header of the current segment */
static __always_inline const __be32 *header(struct bpf_sock_ops *skops)
{
	const __be32 *th = POINTER(skops, skb_data);
	const __be32 *end = POINTER(skops, skb_data_end);

	return th + sizeof(struct tcphdr) / 4 > end ? NULL : th;
}

/* Reserve room for n records, or for as many as fit. Returns that, and PLAN_TAG. */
static __always_inline int reserve(struct bpf_sock_ops *skops, int n, bool tag)
{
	/* a tag is as long as the empty option that wants one */
	if (tags && tag) {
		if (n >= 2 && !bpf_reserve_hdr_opt(skops, HPCCPP_TAGGED_LEN(2), 0))
			return PLAN_TAG | 2;
		if (n >= 1 && !bpf_reserve_hdr_opt(skops, HPCCPP_TAGGED_LEN(1), 0))
			return PLAN_TAG | 1;
	}
	if (n >= 3 && !bpf_reserve_hdr_opt(skops, HPCCPP_OPT_LEN(3), 0))
		return 3;
	if (n >= 2 && !bpf_reserve_hdr_opt(skops, HPCCPP_OPT_LEN(2), 0))
		return 2;
	if (n >= 1 && !bpf_reserve_hdr_opt(skops, HPCCPP_OPT_LEN(1), 0))
		return 1;
	return 0;
}

/* Writes an option, for which there is room. Its length is a constant for the verifier. */
static __always_inline long store_option(struct bpf_sock_ops *skops, struct opt *o,
					 __u16 exid, const __u32 len)
{
	o->kind = HPCCPP_OPT_KIND;
	o->len = len;
	o->exid = bpf_htons(exid);
	return bpf_store_hdr_opt(skops, o, OPAQUE(len), 0);
}

/* Writes an option of n records. */
static __always_inline void store(struct bpf_sock_ops *skops, struct opt *o,
				  __u16 exid, int n)
{
	long err;

	if (n == 3)
		err = store_option(skops, o, exid, HPCCPP_OPT_LEN(3));
	else if (n == 2)
		err = store_option(skops, o, exid, HPCCPP_OPT_LEN(2));
	else if (n == 1)
		err = store_option(skops, o, exid, HPCCPP_OPT_LEN(1));
	else
		err = store_option(skops, o, exid, HPCCPP_OPT_HDR);
	if (err)
		count(HPCCPP_HS_ERROR);
}

#endif /* HPCCPP_HOST_FLOW_H */
