/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's helpers for eBPF programs in a user-space test: they do to a packet in a
 * buffer what the kernel does. The test includes this before the programs, which are
 * unchanged. It defines map_lookup() and the other functions declared here, and sets "now",
 * "packet" and the rest of the state.
 *
 * A trap means that a program called a helper in a way that the kernel does not allow.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "hpccpp_agent.h"
#include "hpccpp_cnp.h"

#define ENOENT		2
#define EEXIST		17
#define EFAULT		14
#define EINVAL		22
#define ENOSPC		28
#define ENOMSG		42
#define ENOTSUPP	524

#define TRUE_OR_TRAP(x)	do { if (!(x)) __builtin_trap(); } while (0)

static __u64 now;
#define PACKET_MOST	200	/* bytes of a packet that arrives, at most */
static __u8 packet[512];	/* for a host agent, from the TCP header on */
static __u32 packet_len;

static struct hpccpp_port the_port;
static struct hpccpp_port_response the_response;
static struct __sk_buff copy;	/* a clone on its way to ingress, with a mark */
static __u8 copied[sizeof(packet)];
static __u32 copied_len;
#define MARK	0x12345678
static bool has_extras, has_roce;
static struct hpccpp_host_cfg the_host;
static __u64 stats[HPCCPP_HS_MAX + HPCCPP_PS_MAX];
static bool peer_listed, cc_is_locked, cc_is_gone;
static char cc_set[16];		/* congestion control of the socket */
static void (*set_cc)(void);	/* called when an agent has set it, or NULL */
static __u32 room, reserved, stored;
static __u8 stored_options[40];	/* options of the segment that TCP builds */
static struct hpccpp_host_keys the_keys;
static __u8 *loaded;		/* the last option found */

static void *map_lookup(void *map, const void *key);
static long map_update(void *map, const void *key, const void *value,
		       __u64 flags);
static long map_delete(void *map, const void *key);
static long for_each(void *map, void *callback, void *arg);

/* Returns true if an entry of an LPM trie covers the key. */
static bool prefix_matches(const struct hpccpp_prefix *entry,
			   const struct hpccpp_prefix *key)
{
	__u32 bit;

	for (bit = 0; bit < entry->prefixlen; bit++) {
		if (bit >= key->prefixlen ||
		    (entry->addr[bit / 8] ^ key->addr[bit / 8]) & 0x80 >> bit % 8)
			return false;
	}
	return true;
}

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

static bool no_stores;		/* stores into a packet fail */

static long store_bytes(void *skb, __u32 off, const void *from, __u32 len,
			__u64 flags)
{
	(void)skb;
	TRUE_OR_TRAP(!flags || flags == BPF_F_RECOMPUTE_CSUM ||
		     flags == BPF_F_INVALIDATE_HASH);
	if (no_stores || off > packet_len || len > packet_len - off)
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

	/* from a difference, or from two values of a word */
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

/* Searches for a kind with 16 bits of magic, as bpf_sock_ops_load_hdr_opt() does. */
static long load_hdr_opt(struct bpf_sock_ops *skops, void *res, __u32 len,
			 __u64 flags)
{
	__u8 *want = res;
	__u32 i, l;

	/* while TCP builds a segment, a program can only read the SYN that it answers */
	TRUE_OR_TRAP((flags == BPF_LOAD_HDR_OPT_TCP_SYN) ==
		     (skops->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB ||
		      skops->op == BPF_SOCK_OPS_WRITE_HDR_OPT_CB));
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
	/* the request of a tag comes after a collect; other options are alone */
	if (exid == HPCCPP_EXID_TAG && len == HPCCPP_OPT_HDR)
		TRUE_OR_TRAP(stored == 16 || stored == 28);
	else
		TRUE_OR_TRAP(!stored);
	if (exid == HPCCPP_EXID_TAG)
		TRUE_OR_TRAP(the_keys.n && (len == 4 || len == 20 || len == 32));
	else if (exid == HPCCPP_EXID_WINDOW)
		TRUE_OR_TRAP(len == HPCCPP_WINDOW_LEN || len == HPCCPP_REQUEST_LEN);
	else
		TRUE_OR_TRAP(len == 16 || len == 28 || len == 40 ||
			     (exid == HPCCPP_EXID_COLLECT &&
			      (len == HPCCPP_OPT_HDR || len == HPCCPP_SYNACK_LEN)));
	TRUE_OR_TRAP(exid == HPCCPP_EXID_COLLECT || exid == HPCCPP_EXID_BURST ||
		     exid == HPCCPP_EXID_ECHO || exid == HPCCPP_EXID_TAG ||
		     exid == HPCCPP_EXID_WINDOW);
	/* empty, except for HPCCPP_WANTED and the echo of a SYN */
	for (i = 4; (exid | 1) == HPCCPP_EXID_COLLECT && i < len && i < HPCCPP_OPT_LEN(1); i++)
		TRUE_OR_TRAP(!o[i] || (i == 5 && o[i] == 0x10));
	if (stored + len > reserved)
		return -ENOSPC;
	__builtin_memcpy(stored_options + stored, from, len);
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
	TRUE_OR_TRAP(len == 16);
	__builtin_memcpy(to, cc_set, 16);
	return 0;
}

static long setsockopt(void *skops, int level, int name, const void *from, int len)
{
	TRUE_OR_TRAP(skops && level == 6 && name == 13 && len == 16);
	if (cc_is_locked || cc_is_gone)
		return cc_is_gone ? -2 : -1;
	__builtin_memcpy(cc_set, from, 16);
	if (set_cc)
		set_cc();
	return 0;
}

/* Keeps the clone: the kernel delivers it later, too. */
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

/* Returns the protocol in the Ethernet header, as a context has it. */
static __u32 protocol_of_packet(void)
{
	__be16 proto;

	__builtin_memcpy(&proto, packet + 12, sizeof(proto));
	return proto;
}

static long vlan_pop(struct __sk_buff *skb)
{
	__u16 proto;

	if (load_bytes(skb, 12, &proto, sizeof(proto)) ||
	    (proto != bpf_htons(ETH_P_8021Q) &&
	     proto != bpf_htons(ETH_P_8021AD)))
		return 0;
	if (packet_len < 18)
		return -ENOSPC;
	__builtin_memmove(packet + 12, packet + 16, packet_len - 16);
	packet_len -= 4;
	skb->protocol = protocol_of_packet();
	return 0;
}

/* Removes bytes after the IPv6 header, or inserts zeros there. */
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
static struct bpf_sock_tuple sk_asked;	/* the last one looked up */
static bool sk_held;

static struct bpf_sock *sk_lookup(void *skb, struct bpf_sock_tuple *t,
				  __u32 len, __u64 netns, __u64 flags)
{
	(void)skb;
	TRUE_OR_TRAP(netns == (__u64)-1 && !flags && !sk_held);
	TRUE_OR_TRAP(len == sizeof(t->ipv4) || len == sizeof(t->ipv6));
	sk_asked = (struct bpf_sock_tuple) {};
	__builtin_memcpy(&sk_asked, t, len);
	sk_held = the_sk.state;
	return sk_held ? &the_sk : NULL;
}

static long sk_release(void *sk)
{
	TRUE_OR_TRAP(sk == &the_sk && sk_held);
	sk_held = false;
	return 0;
}

/* Request sockets and sockets in TIME_WAIT are not full sockets. */
static struct bpf_tcp_sock *tcp_sock(const struct bpf_sock *sk)
{
	TRUE_OR_TRAP(sk == &the_sk && sk_held);
	return sk->state != BPF_TCP_TIME_WAIT &&
	       sk->state != BPF_TCP_NEW_SYN_RECV ? &the_tp : NULL;
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
#define bpf_tcp_sock(sk)	tcp_sock(sk)
#define bpf_map_lookup_elem	map_lookup
#define bpf_map_update_elem	map_update
#define bpf_map_delete_elem	map_delete
#define bpf_for_each_map_elem(m, f, a, flags)	for_each(m, f, a)
#define bpf_check_mtu		check_mtu
#define bpf_ktime_get_ns	ktime_get_ns
#define bpf_get_netns_cookie(c)	1
#define COOKIE			0xabcdef01ULL
#define bpf_get_socket_cookie(c)	COOKIE
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
#define bpf_setsockopt		setsockopt
#define bpf_strncmp(s, n, t)	__builtin_memcmp(s, t, n)

/* builtins that clang has for eBPF only; not run, as queues are virtual here */
#undef BPF_CORE_READ
#define BPF_CORE_READ(from, ...)	((from)->__VA_ARGS__)
#undef bpf_core_read
#define bpf_core_read(to, len, from)	__builtin_memcpy(to, from, len)
#undef bpf_core_type_size
#define bpf_core_type_size(type)	sizeof(type)
#undef bpf_core_field_offset
#define bpf_core_field_offset(field)	0
