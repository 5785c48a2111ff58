// SPDX-License-Identifier: GPL-2.0
/*
 * What libFuzzer feeds to all that reads what others wrote: the port agent, the
 * host agent and the agent of RoCEv2 hosts, whose sources are compiled into this
 * unchanged, and the update of hpccpp_algo.h. The first byte says which; what
 * stands for the kernel's helpers does what they do to a packet in a buffer.
 *
 * A trap is a finding, as is what the sanitizers find.
 */
#define BPF_NO_PRESERVE_ACCESS_INDEX
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "hpccpp_agent.h"
#include "hpccpp_cnp.h"

#define ENOENT		2
#define EFAULT		14
#define EINVAL		22
#define ENOSPC		28
#define ENOMSG		42
#define ENOTSUPP	524

#define TRUE_OR_TRAP(x)	do { if (!(x)) __builtin_trap(); } while (0)

/* --- The input ------------------------------------------------------------- */

static const __u8 *input;
static unsigned long left;

/* The next n bytes, and zeros behind the end */
static void take(void *to, __u32 n)
{
	__u32 have = n < left ? n : left;

	__builtin_memset(to, 0, n);
	__builtin_memcpy(to, input, have);
	input += have;
	left -= have;
}

static __u8 take_byte(void)
{
	__u8 b;

	take(&b, sizeof(b));
	return b;
}

static __u64 take_range(__u64 lo, __u64 hi)
{
	__u64 x;

	take(&x, sizeof(x));
	return lo + x % (hi - lo + 1);
}

/* --- Helpers --------------------------------------------------------------- */

static __u64 now;
#define PACKET_MOST	200	/* bytes of one that comes */
static __u8 packet[512];	/* or, for a host, from the TCP header on */
static __u32 packet_len;

static struct hpccpp_port the_port;
static struct hpccpp_port_response the_response;
static struct __sk_buff copy;	/* what is to come to ingress, with a mark */
static __u8 copied[sizeof(packet)];
static __u32 copied_len;
#define MARK	0x12345678
static bool has_extras, has_roce;
static struct hpccpp_host_cfg the_host;
static __u64 stats[HPCCPP_HS_MAX + HPCCPP_PS_MAX];
static __u64 cnp_counts[HPCCPP_CS_MAX];
static bool peer_listed, cc_is_hpccpp;
static __u32 room, reserved, stored;
static struct hpccpp_host_keys the_keys;
static __u8 *loaded;		/* the option that was found last */

static void *map_lookup(void *map, const void *key);
static long map_update(void *map, const void *key, const void *value,
		       __u64 flags);
static long map_delete(void *map, const void *key);
static long for_each(void *map, void *callback, void *arg);

static __u64 ktime_get_ns(void)
{
	return now;
}

static long load_bytes(const void *skb, __u32 off, void *to, __u32 len)
{
	(void)skb;
	if (off > packet_len || len > packet_len - off)
		return -EFAULT;
	__builtin_memcpy(to, packet + off, len);
	return 0;
}

static long store_bytes(void *skb, __u32 off, const void *from, __u32 len,
			__u64 flags)
{
	(void)skb;
	TRUE_OR_TRAP(!flags || flags == BPF_F_RECOMPUTE_CSUM ||
		     flags == BPF_F_INVALIDATE_HASH);
	if (off > packet_len || len > packet_len - off)
		return -EFAULT;
	__builtin_memcpy(packet + off, from, len);
	return 0;
}

static __u16 fold(__u64 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static __s64 csum_diff(const __be32 *from, __u32 from_len, const __be32 *to,
		       __u32 to_len, __u32 seed)
{
	__u64 sum = seed;
	__u32 i;

	for (i = 0; i < from_len / 4; i++)
		sum += (__u32)~from[i];
	for (i = 0; i < to_len / 4; i++)
		sum += to[i];
	return fold(sum);
}

static long l4_csum_replace(void *skb, __u32 off, __u64 from, __u64 to,
			    __u64 flags)
{
	bool mangled = flags & BPF_F_MARK_MANGLED_0;
	__u64 size = flags & ~BPF_F_MARK_MANGLED_0;
	__u64 mask = size == 2 ? 0xffff : 0xffffffff;
	__u16 sum;

	/* of a difference, or of a word that was another */
	TRUE_OR_TRAP(size ? size == 2 || size == 4 : !from);
	if (load_bytes(skb, off, &sum, sizeof(sum)))
		return -EFAULT;
	if (mangled && !sum)
		return 0;
	sum = ~fold((__u64)(__u16)~sum + (size ? ~from & mask : 0) + to);
	if (mangled && !sum)
		sum = 0xffff;
	return store_bytes(skb, off, &sum, sizeof(sum), 0);
}

/* As bpf_sock_ops_load_hdr_opt() searches for a kind with 16 bits of magic */
static long load_hdr_opt(struct bpf_sock_ops *skops, void *res, __u32 len,
			 __u64 flags)
{
	__u8 *want = res;
	__u32 i, l;

	(void)skops;
	(void)flags;
	TRUE_OR_TRAP(want[1] == 4 && len >= 40);
	for (i = sizeof(struct tcphdr); i < packet_len; i += l) {
		if (!packet[i])
			return -ENOMSG;
		l = 1;
		if (packet[i] == 1)
			continue;
		if (packet_len - i < 2 || packet[i + 1] < 2 ||
		    packet[i + 1] > packet_len - i)
			return -EFAULT;
		l = packet[i + 1];
		if (packet[i] != want[0])
			continue;
		if (l < 4)
			return -ENOMSG;
		if (packet[i + 2] == want[2] && packet[i + 3] == want[3]) {
			__builtin_memcpy(res, packet + i, l);
			loaded = packet + i;
			return l;
		}
	}
	return -ENOMSG;
}

static long reserve_hdr_opt(struct bpf_sock_ops *skops, __u32 len, __u64 flags)
{
	(void)skops;
	TRUE_OR_TRAP(!flags);
	if (len > room - reserved)
		return -ENOSPC;
	reserved += len;
	return 0;
}

static long store_hdr_opt(struct bpf_sock_ops *skops, const void *from,
			  __u32 len, __u64 flags)
{
	const __u8 *o = from;
	__u32 i, exid = o[2] << 8 | o[3];

	(void)skops;
	TRUE_OR_TRAP(!flags && o[0] == HPCCPP_OPT_KIND && o[1] == len);
	/* what wants a tag stands behind a collect, all else alone */
	if (exid == HPCCPP_EXID_TAG && len == HPCCPP_OPT_HDR)
		TRUE_OR_TRAP(stored == 16 || stored == 28);
	else
		TRUE_OR_TRAP(!stored);
	if (exid == HPCCPP_EXID_TAG)
		TRUE_OR_TRAP(the_keys.n && (len == 4 || len == 20 || len == 32));
	else if (exid == HPCCPP_EXID_WINDOW)
		TRUE_OR_TRAP(len == HPCCPP_WINDOW_LEN || len == HPCCPP_REQUEST_LEN);
	else
		TRUE_OR_TRAP(len == 16 || len == 28 || len == 40);
	TRUE_OR_TRAP(exid == HPCCPP_EXID_COLLECT || exid == HPCCPP_EXID_ECHO ||
		     exid == HPCCPP_EXID_TAG || exid == HPCCPP_EXID_WINDOW);
	/* empty, but for HPCCPP_WANTED */
	for (i = 4; exid == HPCCPP_EXID_COLLECT && i < len; i++)
		TRUE_OR_TRAP(!o[i] || (i == 5 && o[i] == 0x10));
	if (stored + len > reserved)
		return -ENOSPC;
	stored += len;
	return 0;
}

static void *sk_storage_get(void *map, void *sk, void *value, __u64 flags);
static long sk_storage_delete(void *map, void *sk);

static long cb_flags_set(struct bpf_sock_ops *skops, int flags)
{
	skops->bpf_sock_ops_cb_flags = flags;
	return 0;
}

static long getsockopt(void *skops, int level, int name, void *to, int len)
{
	(void)skops;
	(void)level;
	(void)name;
	TRUE_OR_TRAP(len >= 7);
	__builtin_memcpy(to, cc_is_hpccpp ? "hpccpp" : "cubic\0", 7);
	return 0;
}

/* What is to become a response is left to be run later, as the kernel does. */
static long clone_redirect(struct __sk_buff *skb, __u32 ifindex, __u64 flags)
{
	TRUE_OR_TRAP(skb->mark && flags == BPF_F_INGRESS && !ifindex);
	copy = *skb;
	__builtin_memcpy(copied, packet, sizeof(copied));
	copied_len = packet_len;
	return 0;
}

static long change_tail(struct __sk_buff *skb, __u32 len, __u64 flags)
{
	(void)skb;
	TRUE_OR_TRAP(!flags && len <= sizeof(packet));
	while (packet_len < len)
		packet[packet_len++] = 0;
	packet_len = len;
	return 0;
}

static long vlan_pop(struct __sk_buff *skb)
{
	__u16 proto;

	if (load_bytes(skb, 12, &proto, sizeof(proto)) ||
	    (proto != __builtin_bswap16(0x8100) &&
	     proto != __builtin_bswap16(0x88A8)))
		return 0;
	if (packet_len < 18)
		return -ENOSPC;
	__builtin_memmove(packet + 12, packet + 16, packet_len - 16);
	packet_len -= 4;
	__builtin_memcpy(&skb->protocol, packet + 12, 2);
	return 0;
}

/* Bytes behind the IPv6 header are cut off, or there are more, which are zero. */
static long adjust_room(struct __sk_buff *skb, __s32 diff, __u32 mode,
			__u64 flags)
{
	__u32 cut = diff < 0 ? -diff : 0, more = diff < 0 ? 0 : diff;

	TRUE_OR_TRAP(!mode && !flags && diff);
	if (skb->protocol != bpf_htons(0x86dd))
		return -ENOTSUPP;
	if (packet_len < 54 + cut)
		return -EFAULT;
	TRUE_OR_TRAP(packet_len + more <= sizeof(packet));
	__builtin_memmove(packet + 54 + more, packet + 54 + cut,
			  packet_len - 54 - cut);
	__builtin_memset(packet + 54, 0, more);
	packet_len += diff;
	skb->len = packet_len;
	return 0;
}

static long check_mtu(struct __sk_buff *skb, __u32 ifindex, __u32 *mtu,
		      __s32 more, __u64 flags)
{
	TRUE_OR_TRAP(!ifindex && !*mtu && !flags);
	return skb->len + more > 14 + 280;
}

static __u32 prandom(void)
{
	return now * 0x9e3779b1;
}

static long ecn_set_ce(struct __sk_buff *skb)
{
	(void)skb;
	return now & 1;
}

static long fib_lookup(void *skb, struct bpf_fib_lookup *fib, int len,
		       __u32 flags)
{
	static const long answers[] = { BPF_FIB_LKUP_RET_NO_NEIGH,
					BPF_FIB_LKUP_RET_NOT_FWDED,
					BPF_FIB_LKUP_RET_FWD_DISABLED };

	(void)skb;
	TRUE_OR_TRAP(len == sizeof(*fib) &&
		     !(flags & ~BPF_FIB_LOOKUP_DIRECT));
	return answers[now % 3];
}

static struct bpf_sock the_sk;
static struct bpf_tcp_sock the_tp;
static bool sk_held;

static struct bpf_sock *sk_lookup(void *skb, struct bpf_sock_tuple *t,
				  __u32 len, __u64 netns, __u64 flags)
{
	(void)skb;
	TRUE_OR_TRAP(netns == (__u64)-1 && !flags && !sk_held);
	TRUE_OR_TRAP(len == sizeof(t->ipv4) || len == sizeof(t->ipv6));
	sk_held = the_sk.state;
	return sk_held ? &the_sk : NULL;
}

static long sk_release(void *sk)
{
	TRUE_OR_TRAP(sk == &the_sk && sk_held);
	sk_held = false;
	return 0;
}

#define bpf_clone_redirect	clone_redirect
#define bpf_skb_change_tail	change_tail
#define bpf_skb_vlan_pop	vlan_pop
#define bpf_skb_adjust_room	adjust_room
#define bpf_skb_ecn_set_ce	ecn_set_ce
#define bpf_get_prandom_u32	prandom
#define bpf_fib_lookup(...)	fib_lookup(__VA_ARGS__)
#define bpf_redirect_neigh(i, p, l, f)	7	/* TC_ACT_REDIRECT */
#define bpf_sk_lookup_tcp	sk_lookup
#define bpf_sk_release		sk_release
#define bpf_tcp_sock(sk)	((sk)->state == 1 ? &the_tp : NULL)
#define bpf_map_lookup_elem	map_lookup
#define bpf_map_update_elem	map_update
#define bpf_map_delete_elem	map_delete
#define bpf_for_each_map_elem(m, f, a, flags)	for_each(m, f, a)
#define bpf_check_mtu		check_mtu
#define bpf_ktime_get_ns	ktime_get_ns
#define bpf_spin_lock(lock)	((void)(lock))
#define bpf_spin_unlock(lock)	((void)(lock))
#define bpf_get_hash_recalc(skb)	((skb)->hash)
#define bpf_skb_load_bytes	load_bytes
#define bpf_skb_store_bytes	store_bytes
#define bpf_csum_diff		csum_diff
#define bpf_l4_csum_replace	l4_csum_replace
#define bpf_load_hdr_opt	load_hdr_opt
#define bpf_reserve_hdr_opt	reserve_hdr_opt
#define bpf_store_hdr_opt	store_hdr_opt
#define bpf_sk_storage_get	sk_storage_get
#define bpf_sk_storage_delete	sk_storage_delete
#define bpf_sock_ops_cb_flags_set	cb_flags_set
#define bpf_getsockopt		getsockopt
#define bpf_strncmp(s, n, t)	__builtin_memcmp(s, t, n)

/* not run, as queues are virtual here: what clang knows for eBPF alone */
#undef BPF_CORE_READ
#define BPF_CORE_READ(from, ...)	((from)->__VA_ARGS__)
#undef bpf_core_read
#define bpf_core_read(to, len, from)	__builtin_memcpy(to, from, len)
#undef bpf_core_type_size
#define bpf_core_type_size(type)	sizeof(type)
#undef bpf_core_field_offset
#define bpf_core_field_offset(field)	0

#define count port_count
#define LICENSE port_license
#include "port.bpf.c"
#undef count
#undef LICENSE
#define LICENSE host_license
#include "host.bpf.c"
#undef LICENSE
#define count cnp_count
#define take take_cnp
#define find_option find_cnp
#include "cnp.bpf.c"
#undef count
#undef take
#undef find_option

static struct hpccpp_port_roce the_roce;
static struct roce_space the_space;
static struct link_flows the_link;
static bool has_link;
static struct hpccpp_cnp_cfg the_cnp;

#define FLOWS	4		/* more there is no room for */
static struct {
	bool used;
	struct hpccpp_cnp_key key;
	struct hpccpp_cnp_flow flow;
} flows[FLOWS];
static __u32 the_qpn;		/* peer's, of whatever queue pair of ours */
static struct wire the_wire;
static __u64 last_walk;
static struct asked the_asked[8];	/* by the lowest bits of the PSN, whoever */
static struct cnp_space the_cnp_space;
static struct answers the_answers;
static bool is_heard, is_sender;
static struct heard the_heard;	/* and whose: */
static struct hpccpp_cnp_qp heard_qp;
static __u32 sender_qpn;

static void *cnp_lookup(void *map, const void *key)
{
	static struct new_flow new;
	__u32 i;

	if (map == &cnp)
		return &the_cnp;
	if (map == &cnp_stats)
		return &cnp_counts[*(const __u32 *)key];
	if (map == &cnp_wire)
		return &the_wire;
	if (map == &cnp_walks)
		return &last_walk;
	if (map == &cnp_asked) {
		i = ((const struct asking *)key)->psn % 8;
		return the_asked[i].qpn ? &the_asked[i] : NULL;
	}
	if (map == &cnp_new)
		return &new;
	if (map == &cnp_accept || map == &cnp_detour || map == &cnp_trace_to)
		return peer_listed ? &peer_listed : NULL;
	if (map == &cnp_qps)
		return the_qpn ? &the_qpn : NULL;
	if (map == &cnp_space)
		return &the_cnp_space;
	if (map == &cnp_answers)
		return &the_answers;
	if (map == &cnp_senders)
		return is_sender ? &sender_qpn : NULL;
	if (map == &cnp_heard)
		return is_heard && !__builtin_memcmp(&heard_qp, key, sizeof(heard_qp)) ?
		       &the_heard : NULL;
	for (i = 0; map == &cnp_flows && i < FLOWS; i++) {
		if (flows[i].used &&
		    !__builtin_memcmp(&flows[i].key, key, sizeof(flows[i].key)))
			return &flows[i].flow;
	}
	return NULL;
}

static void *map_lookup(void *map, const void *key)
{
	static __u32 answered_bit;
	__u32 i = map == &host_links ? 0 : *(const __u32 *)key;

	if (map == &port)
		return i < the_port.cfg.queues ? &the_port : NULL;
	if (map == &port_stats)
		return &stats[i];
	if (map == &host)
		return &the_host;
	if (map == &host_keys)
		return &the_keys;
	if (map == &host_stats)
		return &stats[HPCCPP_PS_MAX + i];
	if (map == &host_links)
		return has_link ? &the_link : NULL;
	if (map == &port_response)
		return &the_response;
	if (map == &port_roce)
		return &the_roce;
	if (map == &port_space)
		return &the_space;
	if (map == &port_answered) {
		TRUE_OR_TRAP(i < HPCCPP_ANSWERED);
		return &answered_bit;
	}
	if (map != &host_prefix && map != &port_accept && map != &port_capable)
		return cnp_lookup(map, key);
	return peer_listed ? &peer_listed : NULL;
}

static long map_update(void *map, const void *key, const void *value,
		       __u64 flags)
{
	__u32 i;

	if (map == &cnp_qps) {
		the_qpn = *(const __u32 *)value;
		return 0;
	}
	if (map == &cnp_senders) {
		sender_qpn = *(const __u32 *)value;
		is_sender = true;
		return 0;
	}
	if (map == &cnp_asked) {
		i = ((const struct asking *)key)->psn % 8;
		__builtin_memcpy(&the_asked[i], value, sizeof(the_asked[i]));
		return 0;
	}
	if (map == &cnp_heard) {
		/* the last one there is room for */
		__builtin_memcpy(&heard_qp, key, sizeof(heard_qp));
		__builtin_memcpy(&the_heard, value, sizeof(the_heard));
		is_heard = true;
		return 0;
	}
	if (map == &cnp_flows) {
		for (i = 0; i < FLOWS && flows[i].used; i++)
			;
		if (i == FLOWS)
			return -E2BIG;
		flows[i].used = true;
		__builtin_memcpy(&flows[i].key, key, sizeof(flows[i].key));
		__builtin_memcpy(&flows[i].flow, value, sizeof(flows[i].flow));
		return 0;
	}
	TRUE_OR_TRAP(map == &host_links && key && flags == BPF_NOEXIST);
	__builtin_memcpy(&the_link, value, sizeof(the_link));
	has_link = true;
	return 0;
}

static long map_delete(void *map, const void *key)
{
	__u32 i;

	TRUE_OR_TRAP(map == &cnp_flows);
	for (i = 0; i < FLOWS; i++)
		flows[i].used &= &flows[i].key != key;
	return 0;
}

static long for_each(void *map, void *callback, void *arg)
{
	long (*call)(void *map, void *key, void *value, void *arg) = callback;
	__u32 i;

	TRUE_OR_TRAP(map == &cnp_flows);
	for (i = 0; i < FLOWS; i++) {
		if (flows[i].used &&
		    call(map, &flows[i].key, &flows[i].flow, arg))
			break;
	}
	return 0;
}

static struct flow the_flow;
static struct rx the_rx;
static bool has_flow, has_rx;

static void *sk_storage_get(void *map, void *sk, void *value, __u64 flags)
{
	TRUE_OR_TRAP(sk && !value);
	if (map == &host_rx) {
		if (!has_rx && !flags)
			return NULL;
		if (!has_rx)
			__builtin_memset(&the_rx, 0, sizeof(the_rx));
		has_rx = true;
		return &the_rx;
	}
	TRUE_OR_TRAP(map == &host_sk);
	if (!has_flow && !flags)
		return NULL;
	if (!has_flow)
		__builtin_memset(&the_flow, 0, sizeof(the_flow));
	has_flow = true;
	return &the_flow;
}

static long sk_storage_delete(void *map, void *sk)
{
	TRUE_OR_TRAP(map == &host_sk && sk);
	if (!has_flow)
		return -ENOENT;
	has_flow = false;
	return 0;
}

/* --- The update ------------------------------------------------------------ */

static struct hpccpp_state state;
static struct hpccpp_params params;

static void take_params(void)
{
	params.T = take_range(1, HPCCPP_T_MAX);
	params.eta = take_range(1, 200) * HPCCPP_ONE / 100;
	params.max_stage = take_range(0, 1000);
	params.W_ai = take_range(0, 1 << 20);
	params.W_min = take_range(1, HPCCPP_W_LIMIT);
	params.W_max = take_range(params.W_min, HPCCPP_W_LIMIT);
	__builtin_memset(&state, 0, sizeof(state));
}

/* n records arrive: what must hold after, whatever is in them */
static void update(const struct hpccpp_int *rec, int n, bool update_wc)
{
	bool bound = n == 1 && !rec->rate && rec->U, used;
	struct hpccpp_state old = state;
	__u32 held = 0;
	__u64 B;
	int i;

	used = hpccpp_new_ack(&state, &params, rec, n, now, update_wc);
	for (i = 0; i < HPCCPP_G_MAX; i++) {
		held += state.guards[i] - old.guards[i];
		TRUE_OR_TRAP(!(state.hit >> i & 1) ==
			     (state.guards[i] == old.guards[i]));
	}
	TRUE_OR_TRAP(held <= (__u32)n && !(state.hit >> HPCCPP_G_MAX));
	TRUE_OR_TRAP(state.U <= HPCCPP_U_LIMIT);
	if (used) {
		TRUE_OR_TRAP(n && state.u <= HPCCPP_U_LIMIT);
		TRUE_OR_TRAP(state.W >= params.W_min && state.W <= params.W_max);
		TRUE_OR_TRAP(state.W_c == (update_wc ? state.W : old.W_c));
	} else {
		TRUE_OR_TRAP(held == (__u32)n);
		TRUE_OR_TRAP(state.W == old.W && state.W_c == old.W_c &&
			     state.U == old.U);
	}
	for (i = 0; i < HPCCPP_LINKS; i++) {
		B = hpccpp_rate_decode(state.L[i].rate);
		TRUE_OR_TRAP(!state.L[i].seen ||
			     (hpccpp_rate_ok(B) && state.L[i].B == B / 8));
	}
	B = hpccpp_min_B(&state, 0, rec, n, params.T, now);
	TRUE_OR_TRAP(B <= HPCCPP_RATE_MAX / 8 && (!used || B || bound));
	TRUE_OR_TRAP(hpccpp_bdp(B, params.T));
	TRUE_OR_TRAP(hpccpp_rate(state.W, params.T) <=
		     (__u64)HPCCPP_W_LIMIT * 1000000);
}

static void pass_time(void)
{
	__u8 shift = take_byte() % 40;

	now += (__u64)take_byte() << shift;
}

static void fuzz_update(void)
{
	take_params();
	while (left) {
		struct hpccpp_int rec[HPCCPP_REC_MAX];
		__u8 what = take_byte();
		int i, n = what % 4;

		pass_time();
		for (i = 0; i < n; i++) {
			__be32 w[3];

			take(w, sizeof(w));
			hpccpp_int_decode(&rec[i], bpf_ntohl(w[0]),
					  bpf_ntohl(w[1]), bpf_ntohl(w[2]));
			hpccpp_known_B(&state, &rec[i]);
		}
		update(rec, n, what & 0x80);
	}
}

/* --- The port agent -------------------------------------------------------- */

/* Are lo to hi one record's bytes in a well-formed collect of this header? */
static bool in_record(const __u8 *p, __u32 tcp, __u32 lo, __u32 hi)
{
	__u32 end = tcp + (p[tcp + 12] >> 4) * 4;
	__u32 o, l;

	for (o = tcp + sizeof(struct tcphdr); o + 4 <= end && o + 4 <= lo; o++) {
		l = p[o + 1];
		if (p[o] == HPCCPP_OPT_KIND && (l == 16 || l == 28 || l == 40) &&
		    (p[o + 2] << 8 | p[o + 3]) == HPCCPP_EXID_COLLECT &&
		    o + l <= end && hi < o + l &&
		    (lo - o - 4) / HPCCPP_REC_LEN == (hi - o - 4) / HPCCPP_REC_LEN)
			return true;
	}
	return false;
}

static __u16 sum_from(const __u8 *p, __u32 at, __u32 end)
{
	__u64 sum = 0;

	for (; at < end; at++)
		sum += at & 1 ? p[at] << 8 : p[at];
	return fold(sum) % 0xffff;
}

/* A CNP, fast or not: are its lengths right, and its checksum? */
static void check_cnp(bool fast)
{
	__u32 udp = packet_len - sizeof(struct hpccpp_cnp), i;
	__u64 sum = IPPROTO_UDP + sizeof(struct hpccpp_cnp);

	if (fast)
		TRUE_OR_TRAP(packet[20] == 60 && !(udp % 8 ^ 54 % 8) &&
			     udp == 54U + (packet[55] + 1) * 8);
	else
		TRUE_OR_TRAP(packet[20] == IPPROTO_UDP && udp == 54);
	TRUE_OR_TRAP((packet[18] << 8 | packet[19]) == (int)packet_len - 54);
	for (i = 22; i < 54; i++)
		sum += i & 1 ? packet[i] : packet[i] << 8;
	for (i = udp; i < packet_len; i++)
		sum += i & 1 ? packet[i] : packet[i] << 8;
	TRUE_OR_TRAP(fold(sum) == 0xffff);
}

/* A packet on ingress: is what becomes of it right, in length and checksum? */
static void run_ingress(struct __sk_buff *skb)
{
	__u64 accepted = stats[HPCCPP_PS_ACCEPTED];
	__u64 responded = stats[HPCCPP_PS_RESPONDED];
	__u64 sent = stats[HPCCPP_PS_CNP_SENT];
	__u32 at = skb->protocol == bpf_htons(ETH_P_IP) ? 34 : 54;
	__u32 addresses = at == 34 ? 26 : 22, n = at == 34 ? 4 : 16, i;
	__u8 old[sizeof(packet)], proto;
	__u64 sum;

	__builtin_memcpy(old, packet, sizeof(old));
	if (has_roce)
		hpccpp_port_cin(skb);
	else
		hpccpp_port_in(skb);
	TRUE_OR_TRAP(!sk_held && skb->mark != MARK);
	if (stats[HPCCPP_PS_CNP_SENT] != sent) {
		check_cnp(true);
		return;
	}
	if (stats[HPCCPP_PS_ACCEPTED] != accepted)
		proto = IPPROTO_TCP;
	else if (stats[HPCCPP_PS_RESPONDED] != responded)
		proto = IPPROTO_UDP;
	else
		return;
	sum = proto + packet_len - at;
	for (i = addresses; i < packet_len; i++)
		sum += i & 1 ? packet[i] : packet[i] << 8;
	TRUE_OR_TRAP(fold(sum) == 0xffff);
	sum = 0;
	for (i = 14; at == 34 && i < at; i++)
		sum += i & 1 ? packet[i] : packet[i] << 8;
	TRUE_OR_TRAP(at != 34 || fold(sum) == 0xffff);
	TRUE_OR_TRAP(packet[at == 34 ? 23 : 20] == proto);
	if (proto != IPPROTO_UDP)
		return;
	/* who is asked, and by which port: as it was; who is told, and the other */
	TRUE_OR_TRAP(!__builtin_memcmp(packet + at + 10, old + at, 2) &&
		     !__builtin_memcmp(packet + at + 12, old + at + 4, 4));
	TRUE_OR_TRAP(!__builtin_memcmp(packet + at - n, old + at -
				       (the_response.to ? n : 2 * n), n) &&
		     !__builtin_memcmp(packet + at + 32, old + at -
				       (the_response.to ? 2 * n : n), n));
}

static void take_packet(struct __sk_buff *skb)
{
	packet_len = take_byte() % PACKET_MOST;
	take(packet, packet_len);
	skb->len = packet_len;
	skb->ingress_ifindex = 1;
	if (packet_len >= sizeof(struct ethhdr))
		__builtin_memcpy(&skb->protocol, packet + 12, 2);
}

/* What comes from another, and may be a response */
static void one_arrival(void)
{
	struct __sk_buff skb = {};

	the_sk.state = take_byte() % 11;
	take(&the_tp.snd_una, sizeof(the_tp.snd_una));
	the_tp.snd_nxt = the_tp.snd_una + take_byte();
	the_tp.rcv_nxt = the_tp.snd_una;
	take_packet(&skb);
	run_ingress(&skb);
}

static void one_packet(void)
{
	struct __sk_buff skb = {};
	__u32 i, tcp, lo = sizeof(packet), hi = 0;
	__u64 did = 0, before = 0, marked = stats[HPCCPP_PS_CNP_MARKED];
	__u8 old[sizeof(packet)];
	__u16 proto;

	take_packet(&skb);
	skb.wire_len = take_range(0, 70000);
	skb.queue_mapping = take_byte() & 1;
	skb.hash = take_byte();
	__builtin_memcpy(old, packet, sizeof(old));
	for (i = 0; i < HPCCPP_PS_MAX; i++)
		before += stats[i];

	if (has_roce) {
		int act = hpccpp_port_cnp(&skb);

		TRUE_OR_TRAP(act == TC_ACT_UNSPEC ||
			     (act == TC_ACT_SHOT && the_roce.border));
	} else {
		TRUE_OR_TRAP((has_extras ? hpccpp_port_ext(&skb) :
			      hpccpp_port(&skb)) == TC_ACT_UNSPEC);
	}

	for (i = 0; i < HPCCPP_PS_MAX; i++)
		did += stats[i];
	/* a segment that was written into may be answered, too */
	TRUE_OR_TRAP(did - before <= 1 + (the_port.cfg.respond && has_extras) +
				     has_roce);
	TRUE_OR_TRAP(stats[HPCCPP_PS_CNP_MARKED] == marked ||
		     (the_roce.ecn && !the_roce.capables));
	TRUE_OR_TRAP(the_port.U <= HPCCPP_U_LIMIT);
	tcp = ip_offset(&skb, &proto);
	tcp = tcp_offset(&skb, tcp, proto, NULL);
	/* what is not TCP, a trace is written into */
	for (i = 0; i < packet_len && (tcp || !has_roce); i++) {
		if (packet[i] == old[i])
			continue;
		TRUE_OR_TRAP(tcp);
		if (i - tcp - TCP_CSUM_OFF < 2)
			continue;
		hi = i;
		if (lo > i)
			lo = i;
	}
	if (tcp)
		TRUE_OR_TRAP(sum_from(packet, tcp, packet_len) ==
			     sum_from(old, tcp, packet_len));
	if (hi)
		TRUE_OR_TRAP(in_record(old, tcp, lo, hi));
	TRUE_OR_TRAP(!skb.mark);
	if (copy.mark) {
		run_ingress(&copy);
		copy.mark = 0;
	}
}

static void fuzz_port(void)
{
	struct hpccpp_port_cfg *cfg = &the_port.cfg;
	__u8 what;

	__builtin_memset(&the_port, 0, sizeof(the_port));
	cfg->rate = take_range(HPCCPP_RATE_MIN, HPCCPP_RATE_MAX);
	cfg->rate_code = hpccpp_rate_encode(cfg->rate);
	cfg->base_rtt = take_range(1, HPCCPP_T_MAX);
	cfg->link = take_range(0, HPCCPP_LINK_MAX);
	cfg->queue = HPCCPP_QUEUE_VIRTUAL;
	cfg->queues = take_range(1, 4);
	cfg->mq = cfg->queues > 1;
	what = take_byte();
	has_extras = what & 1;
	cfg->above = what >> 2;
	cfg->subscribed = what >> 1 & 1;
	cfg->dscp = 1;
	cfg->respond = take_byte();
	what = take_byte();
	has_roce = what & 1;
	has_extras |= has_roce;
	the_roce = (struct hpccpp_port_roce) {
		.source = { 0xfd }, .type1 = HPCCPP_FCNP_TYPE1,
		.type2 = HPCCPP_FCNP_TYPE2, .cnp = take_byte(),
		.ecn = what >> 1 & 1, .ioam = what >> 2 & 1,
		.border = what >> 3 & 1, .ns = bpf_htons(1), .speed = 28,
		.node = 7, .capables = what >> 5 & 1,
	};
	the_response = (struct hpccpp_port_response) {
		.interval = 1000, .mark = MARK, .port = HPCCPP_RESPONSE_PORT,
		.accepts = 1, .to = what >> 4 & 1, .addr4 = { 10 }, .addr6 = { 0xfd },
	};
	peer_listed = true;
	while (left) {
		pass_time();
		if (!(take_byte() % 4))
			one_arrival();
		else
			one_packet();
	}
}

/* --- The host agent -------------------------------------------------------- */

static struct bpf_sock_ops skops;

static void call_host(__u32 op, __u32 arg)
{
	const __u64 *ok = &stats[HPCCPP_PS_MAX + HPCCPP_HS_TAG_OK];
	__u64 before = *ok;
	__u32 gen = has_flow ? the_flow.mail.gen : 0;

	skops.op = op;
	skops.args[0] = arg;
	hpccpp_host(&skops);
	TRUE_OR_TRAP(!has_rx || (the_rx.p.T && the_rx.p.T <= HPCCPP_T_MAX));
	TRUE_OR_TRAP(!has_rx || !the_rx.s.W ||
		     (the_rx.p.W_min && the_rx.s.W >= the_rx.p.W_min &&
		      the_rx.s.W <= HPCCPP_W_LIMIT));
	TRUE_OR_TRAP(the_flow.mail.n <= HPCCPP_REC_MAX);
	TRUE_OR_TRAP(*ok - before <= 1 && (*ok == before || tags));
	/* nothing new without a right tag, where it is required */
	if (tags && the_keys.require && has_flow && the_flow.mail.gen &&
	    the_flow.mail.gen != gen)
		TRUE_OR_TRAP(*ok != before);
}

static void put_ack(__u32 ack)
{
	((struct tcphdr *)packet)->ack_seq = bpf_htonl(ack);
}

/* The tag of the segment's echo, with one of the keys; nobody finds it by chance */
static void put_tag(const struct hpccpp_key *key)
{
	int len, n;
	struct hpccpp_signed s;
	struct opt o = {};

	len = load_any(&skops, &o, HPCCPP_EXID_TAG, 0);
	n = len == 32 ? 2 : 1;
	if (len != HPCCPP_TAGGED_LEN(n) || !what_is_signed(&skops, false, &s, &o, n))
		return;
	((__be32 *)&o)[len / 4 - 1] = hpccpp_tag(key, &s, n);
	__builtin_memcpy(loaded, &o, len);
}

/* A segment is built: reserve, write what was reserved, no more and no less */
static void send_segment(void)
{
	static const __u32 lengths[] = { 0, 1448, 0, 30 * 1448 };
	bool mss;

	/* a segment has a flag at least, and none is there to ask for the MSS */
	skops.skb_tcp_flags = take_byte() ?: TCPHDR_ACK;
	skops.skb_len = lengths[take_byte() % 4];
	room = take_byte() % 11 * 4;
	reserved = 0;
	stored = 0;
	mss = take_byte() & 1;
	/* then TCP calls nobody */
	if (!(skops.bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG))
		return;
	if (mss) {
		skops.skb_tcp_flags = 0;
		skops.skb_len = 0;
		call_host(BPF_SOCK_OPS_HDR_OPT_LEN_CB,
			  BPF_WRITE_HDR_TCP_CURRENT_MSS);
		return;
	}
	call_host(BPF_SOCK_OPS_HDR_OPT_LEN_CB, BPF_WRITE_HDR_TCP_CURRENT_MSS + 1);
	if (reserved)
		call_host(BPF_SOCK_OPS_WRITE_HDR_OPT_CB, 0);
	TRUE_OR_TRAP(stored == reserved);
	/* who has calls end hears when they are to begin again */
	TRUE_OR_TRAP(!the_flow.paused_len || (skops.bpf_sock_ops_cb_flags &
					      HPCCPP_RESUME_FLAGS) == HPCCPP_RESUME_FLAGS);
}

/* As the module reads what the agent keeps, and what it does with it */
static void pull(void)
{
	const struct hpccpp_mail *mail = &the_flow.mail;
	__u8 how = take_byte();
	int i;

	call_host(HPCCPP_SOCK_OP, 0);
	TRUE_OR_TRAP(mail->magic == HPCCPP_MAIL_MAGIC && mail->governed);
	TRUE_OR_TRAP(mail->n <= HPCCPP_REC_MAX && (!mail->n || mail->gen));
	if (mail->window) {
		TRUE_OR_TRAP(HPCCPP_WINDOW_KIND(mail->window) !=
			     HPCCPP_WINDOW_REQUEST &&
			     HPCCPP_WINDOW_SERIAL(mail->window) <= 1);
		return;
	}
	for (i = 0; i < mail->n; i++)
		TRUE_OR_TRAP(mail->rec[i].rate ||
			     (mail->n == 1 && mail->rec[i].U &&
			      !mail->rec[i].qlen));
	update(mail->rec, mail->n, how & 1);
}

/* As the module tells what W depends on */
static void tell(void)
{
	take(&skops.args[1], sizeof(skops.args[1]));
	take(&skops.args[2], sizeof(skops.args[2]));
	call_host(HPCCPP_SOCK_TELL, 0);
}

static void fuzz_host(void)
{
	static const __u32 events[] = {
		BPF_SOCK_OPS_TCP_LISTEN_CB, BPF_SOCK_OPS_TCP_CONNECT_CB,
		BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB,
		BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, BPF_SOCK_OPS_PARSE_HDR_OPT_CB,
	};
	static struct bpf_sock sk;
	__u8 modes;

	take_params();
	has_flow = false;
	has_rx = false;
	has_link = false;
	__builtin_memset(&the_flow, 0, sizeof(the_flow));
	__builtin_memset(&skops, 0, sizeof(skops));
	skops.sk = &sk;
	skops.skb_data = packet;
	skops.family = take_byte() & 1 ? AF_INET : AF_INET6;
	the_host.ask = take_byte() % 3;
	the_host.records = take_range(1, HPCCPP_REC_MAX);
	the_host.every = take_range(0, 4);
	the_host.prefixes = take_byte() & 1;
	peer_listed = take_byte() & 1;
	cc_is_hpccpp = take_byte() & 1;
	the_keys.n = take_byte() % 3;
	the_keys.require = take_byte() & 1;
	take(the_keys.key, sizeof(the_keys.key));
	tags = the_keys.n;
	modes = take_byte();
	windows = modes & 1;
	the_host.congested = modes >> 1 & 1;
	skops.mss_cache = 1448;
	while (left) {
		__u8 what = take_byte() % 10, sign = take_byte();

		pass_time();
		take(&skops.snd_una, sizeof(skops.snd_una));
		skops.snd_nxt = skops.snd_una + take_byte();
		skops.packets_out = take_byte() % 4;
		skops.lost_out = take_byte() % 4;
		packet_len = sizeof(struct tcphdr) + take_byte() % 11 * 4;
		take(packet + sizeof(struct tcphdr),
		     packet_len - sizeof(struct tcphdr));
		skops.skb_data_end = packet + packet_len;
		put_ack(skops.snd_una + sign);
		if (sign & 1)
			put_tag(&the_keys.key[sign >> 1 & 1]);
		if (what < 5)
			call_host(events[what], 0);
		else if (what < 7)
			send_segment();
		else if (what < 8)
			pull();
		else if (what < 9)
			tell();
		else
			call_host(sign & 1 ? BPF_SOCK_OPS_RTT_CB :
				  sign & 2 ? BPF_SOCK_OPS_RETRANS_CB :
					     BPF_SOCK_OPS_RTO_CB, 0);
	}
}

/* --- The agent of RoCEv2 hosts -------------------------------------------- */

#define IP6	14		/* where no tag is in the way */
#define BEHIND	54

/* Checksum and ICRC of what may be a CNP; nobody finds them by chance */
static void put_sums(void)
{
	__u32 at = packet_len - sizeof(struct hpccpp_cnp), i;
	struct hpccpp_cnp c;
	__u64 sum;

	if (packet_len < BEHIND + sizeof(c))
		return;
	__builtin_memcpy(&c, packet + at, sizeof(c));
	c.icrc = hpccpp_cnp_icrc(packet + 22, packet + 38, &c);
	c.check = 0;
	__builtin_memcpy(packet + at, &c, sizeof(c));
	sum = IPPROTO_UDP + sizeof(c);
	for (i = 22; i < BEHIND; i++)
		sum += i & 1 ? packet[i] : packet[i] << 8;
	for (i = 0; i < sizeof(c); i++)
		sum += i & 1 ? packet[at + i] : packet[at + i] << 8;
	c.check = bpf_htons(~fold(sum)) ?: 0xffff;
	__builtin_memcpy(packet + at, &c, sizeof(c));
}

/* Is what is in "with" the same as in "without", but for a header behind IPv6's? */
static void check_header(const __u8 *with, __u32 with_len,
			 const __u8 *without, __u32 without_len)
{
	__u32 len = with_len - without_len, plen[2];

	TRUE_OR_TRAP(len && len % 8 == 0 && len == (with[BEHIND + 1] + 1) * 8U);
	plen[0] = with[IP6 + 4] << 8 | with[IP6 + 5];
	plen[1] = without[IP6 + 4] << 8 | without[IP6 + 5];
	TRUE_OR_TRAP(((plen[1] + len) & 0xffff) == plen[0]);
	TRUE_OR_TRAP(!with[IP6 + 6] && without[IP6 + 6] == IPPROTO_UDP &&
		     with[BEHIND] == IPPROTO_UDP);
	TRUE_OR_TRAP(!__builtin_memcmp(with, without, IP6 + 4) &&
		     !__builtin_memcmp(with + IP6 + 7, without + IP6 + 7,
				       BEHIND - IP6 - 7) &&
		     !__builtin_memcmp(with + BEHIND + len, without + BEHIND,
				       without_len - BEHIND));
}

/* What is to be answered: to whom it came from, in place of all it was */
static void run_answer(void)
{
	__u64 answered = cnp_counts[HPCCPP_CS_ANSWERED];

	__builtin_memcpy(packet, copied, sizeof(packet));
	packet_len = copied_len;
	if (hpccpp_cnp_in(&copy) == TC_ACT_SHOT) {
		TRUE_OR_TRAP(cnp_counts[HPCCPP_CS_ANSWERED] == answered);
	} else {
		TRUE_OR_TRAP(cnp_counts[HPCCPP_CS_ANSWERED] == answered + 1);
		check_cnp(the_cnp.answer == HPCCPP_ANSWER_FAST);
		TRUE_OR_TRAP(!__builtin_memcmp(packet + 22, copied + 38, 16) &&
			     !__builtin_memcmp(packet + 38, copied + 22, 16));
	}
	TRUE_OR_TRAP(!copy.mark);
}

/* Of bytes, from any start; bit by bit */
static __u32 crc(const __u8 *p, __u32 n)
{
	__u32 c = 0, i;

	for (i = 0; i < 8 * n; i++) {
		c ^= p[i / 8] >> i % 8 & 1;
		c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
	}
	return c;
}

/*
 * Another UDP source port in the packet than in "old", which it is put into with what
 * changes with it: is the port of those there are, are ICRC and checksum right?
 */
static void check_port(__u8 *old, __u32 old_udp, __u32 udp)
{
	__u32 len = (old[old_udp + 4] << 8 | old[old_udp + 5]) - HPCCPP_ICRC_LEN;
	__u8 *from = old + old_udp, *to = packet + udp;
	__u32 change, i;
	__u16 sum;

	if (!__builtin_memcmp(from, to, 2))
		return;
	TRUE_OR_TRAP(the_cnp.detours && to[0] >> 6 == 3);
	sum = sum_from(from, 0, len + HPCCPP_ICRC_LEN);
	change = crc(from, len);
	__builtin_memcpy(from, to, 2);
	change ^= crc(from, len);
	for (i = 0; i < HPCCPP_ICRC_LEN; i++)
		from[len + i] ^= change >> 8 * i;
	if (from[6] || from[7])
		__builtin_memcpy(from + 6, to + 6, 2);
	TRUE_OR_TRAP(!(from[6] || from[7]) ||
		     sum_from(from, 0, len + HPCCPP_ICRC_LEN) == sum);
}

static void one_roce(void)
{
	__u64 added = cnp_counts[HPCCPP_CS_TRACE_ADDED];
	__u64 removed = cnp_counts[HPCCPP_CS_TRACE_REMOVED];
	__u8 old[sizeof(packet)], what = take_byte();
	struct __sk_buff skb = {};
	__u32 old_len, at, i;
	struct ipv6hdr ip;
	struct roce roce;
	int act;

	take_packet(&skb);
	if (what & 1)
		put_sums();
	at = ipv6_offset(&skb, &ip);
	if (at) {
		at += sizeof(ip);
		if (!load_roce(&skb, ip.nexthdr, &at, &roce))
			at = 0;
	}
	old_len = packet_len;
	__builtin_memcpy(old, packet, sizeof(old));
	if (what & 2) {
		act = hpccpp_cnp_out(&skb);
		TRUE_OR_TRAP(act == TC_ACT_UNSPEC);
		if (at)
			check_port(old, at, at + packet_len - old_len);
	} else {
		act = hpccpp_cnp_in(&skb);
		TRUE_OR_TRAP(act == TC_ACT_UNSPEC || act == TC_ACT_SHOT);
	}
	TRUE_OR_TRAP(!skb.tstamp || skb.tstamp <= now + HPCCPP_CNP_HELD);
	if (cnp_counts[HPCCPP_CS_TRACE_ADDED] != added) {
		TRUE_OR_TRAP(what & 2 && the_cnp.hops);
		check_header(packet, packet_len, old, old_len);
	} else if (cnp_counts[HPCCPP_CS_TRACE_REMOVED] != removed) {
		TRUE_OR_TRAP(!(what & 2) && the_cnp.hops);
		check_header(old, old_len, packet, packet_len);
	} else {
		TRUE_OR_TRAP(packet_len == old_len &&
			     !__builtin_memcmp(packet, old, old_len));
	}
	TRUE_OR_TRAP(!skb.mark && (!copy.mark || the_cnp.answer));
	if (copy.mark)
		run_answer();
	for (i = 0; i < FLOWS; i++)
		TRUE_OR_TRAP(!flows[i].used ||
			     (flows[i].flow.rate <= the_cnp.dcqcn.line &&
			      !flows[i].flow.busy));
}

static void fuzz_cnp(void)
{
	__u8 what = take_byte();
	__u64 line;

	__builtin_memset(flows, 0, sizeof(flows));
	__builtin_memset(the_asked, 0, sizeof(the_asked));
	last_walk = 0;
	the_wire.done = 0;
	the_answers.next = 0;
	the_qpn = 0;
	is_heard = false;
	is_sender = false;
	peer_listed = !(what & 0x80);
	take_params();
	line = take_range(HPCCPP_RATE_MIN, HPCCPP_RATE_MAX);
	the_cnp = (struct hpccpp_cnp_cfg) {
		.hpcc = params, .hops = what & 15, .trace = bpf_htons(1),
		.namespaces = { 1 }, .n_namespaces = what >> 4 & 1,
		.algorithm = what >> 5 & 1, .threshold = 51,
		.type1 = HPCCPP_FCNP_TYPE1, .type2 = HPCCPP_FCNP_TYPE2,
		.answer = what >> 6 & 1 ? HPCCPP_ANSWER_CNP + (what >> 5 & 1) :
			  HPCCPP_ANSWER_NONE,
		.mark = what >> 6 & 1 ? MARK : 0, .limit = 10,
	};
	if (the_cnp.hops > HPCCPP_HBH_HOPS)
		the_cnp.hops = 0;
	the_cnp.detours = take_byte() & 1;
	hpccpp_dcqcn_defaults(&the_cnp.dcqcn, line / 8, params.T);
	while (left) {
		pass_time();
		one_roce();
	}
}

int LLVMFuzzerTestOneInput(const __u8 *data, unsigned long size);
int LLVMFuzzerTestOneInput(const __u8 *data, unsigned long size)
{
	static void (* const fuzz[])(void) = { fuzz_update, fuzz_port, fuzz_host,
						fuzz_cnp };

	input = data;
	left = size;
	now = 1;
	fuzz[take_byte() % 4]();
	return 0;
}
