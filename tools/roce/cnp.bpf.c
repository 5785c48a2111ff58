// SPDX-License-Identifier: GPL-2.0
/*
 * The reaction point of RoCEv2 (draft-xiao-rtgwg-rocev2-fast-cnp-02). It does at the
 * device of a host what a NIC's congestion control does, for hosts whose RDMA stack has
 * none.
 *
 * A flow is all data packets to one QP of one host, because that is what a Fast CNP names.
 * On egress the packets of a flow that is held back get departure times by its rate, and
 * fq keeps to these. On ingress the agent takes CNPs off the wire, before the stack sees
 * them. It heeds a CNP only if a listed source sent it about a flow that is really
 * sending. It drops and counts all others.
 *
 * A flow can also take another way, around a switch that has sent a Fast CNP: its packets
 * get another UDP source port, by which switches choose among ways.
 *
 * If configured, the agent adds an IOAM trace to data packets that leave, for ports to
 * write into, and takes it off packets that arrive, because rxe looks for UDP right behind
 * the IPv6 header. And it can be the notification point, which sends CNPs for data packets
 * that arrive with a congestion mark.
 */
#include "vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "hpccpp_answer.h"
#include "hpccpp_cnp.h"
#include "hpccpp_prefix.h"
#include "hpccpp_skb.h"
#include "hpccpp_verifier.h"

#define E2BIG		7	/* the error of a full hash map */

#define OPTIONS_MAX	8	/* the agent looks at so many in a Destination Options header */
#define TRACE_OPTIONS_MAX 6	/* ... and at so many in one with a trace: PadN, trace, padding */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hpccpp_cnp_cfg);
} cnp SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HPCCPP_CS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} cnp_stats SEC(".maps");

struct prefix_map cnp_accept SEC(".maps");
struct prefix_map cnp_detour SEC(".maps");
struct prefix_map cnp_trace_to SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HPCCPP_CNP_FLOWS);
	__type(key, struct hpccpp_cnp_key);
	__type(value, struct hpccpp_cnp_flow);
} cnp_flows SEC(".maps");

static __always_inline void count(__u32 stat)
{
	__u64 *c = bpf_map_lookup_elem(&cnp_stats, &stat);

	if (c)
		(*c)++;
}

static __always_inline bool same_address(const __be32 *a, const __be32 *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/* Loads the IPv6 header and returns its offset; 0 if there is none. */
static __always_inline __u32 ipv6_offset(struct __sk_buff *skb,
					 struct ipv6hdr *ip)
{
	__u16 proto;
	__u32 off = ip_offset(skb, &proto);

	if (!off || proto != bpf_htons(ETH_P_IPV6) ||
	    bpf_skb_load_bytes(skb, off, ip, sizeof(*ip)))
		return 0;
	return off;
}

/*
 * Loads the headers of a packet of RoCEv2; false for any other packet. *at is the offset
 * of the header behind IPv6's, and becomes that of UDP. Options may stand before UDP, as a
 * trace does.
 */
static __always_inline bool load_roce(struct __sk_buff *skb, __u8 next,
				      __u32 *at, struct roce *roce)
{
	struct ip6_ext h;
	int i;

	for (i = 0; i < 2; i++) {
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_DSTOPTS)
			break;
		if (bpf_skb_load_bytes(skb, *at, &h, sizeof(h)))
			return false;
		next = h.next;
		*at += ip6_ext_len(&h);
	}
	return next == IPPROTO_UDP &&
	       !bpf_skb_load_bytes(skb, *at, roce, sizeof(*roce)) &&
	       roce->udp.dest == bpf_htons(HPCCPP_ROCE_PORT);
}

static __always_inline bool listed(void *map, const void *source)
{
	struct hpccpp_prefix p = { .prefixlen = 128 };

	__builtin_memcpy(p.addr, source, sizeof(p.addr));
	/* the command takes no IPv4 prefix here, which ::ffff:a.b.c.d could match */
	return bpf_map_lookup_elem(map, &p);
}

#include "cnp_trace.h"
#include "cnp_pair.h"
#include "cnp_pace.h"
#include "cnp_react.h"
#include "cnp_answer.h"

/* --- Egress --------------------------------------------------------------------- */

SEC("tc")
int hpccpp_cnp_out(struct __sk_buff *skb)
{
	struct hpccpp_cnp_key key = {};
	struct hpccpp_cnp_cfg *cfg;
	struct hpccpp_cnp_flow *f;
	__u32 zero = 0, ip_at, at, sequence;
	struct ipv6hdr ip;
	struct roce roce;
	bool data, answer;
	__u64 now;

	ip_at = ipv6_offset(skb, &ip);
	if (!ip_at)
		return TC_ACT_UNSPEC;
	at = ip_at + sizeof(ip);
	/* CNPs are never held back */
	if (!load_roce(skb, ip.nexthdr, &at, &roce) ||
	    roce.bth.opcode == HPCCPP_ROCE_CNP)
		return TC_ACT_UNSPEC;
	cfg = bpf_map_lookup_elem(&cnp, &zero);
	if (!cfg)
		return TC_ACT_UNSPEC;
	now = bpf_ktime_get_ns();
	data = hpccpp_roce_data(roce.bth.opcode);
	answer = is_answer(roce.bth.opcode);
	sequence = 1 << answer;
	__builtin_memcpy(key.daddr, &ip.daddr, sizeof(key.daddr));
	key.qpn = bpf_ntohl(roce.bth.qpn) & HPCCPP_QPN_MASK;
	f = bpf_map_lookup_elem(&cnp_flows, &key);
	if (!data) {
		if (cfg->answer == HPCCPP_ANSWER_CNP && is_ack(roce.bth.opcode))
			learn_sender(cfg, &ip, &roce.bth, now);
		if (f && f->data & sequence && f->held > now)
			skb->tstamp = f->held;
		if (f && f->data & sequence && f->port &&
		    !hpccpp_set_port(skb, at, f->port)) {
			count(HPCCPP_CS_ERROR);
			return TC_ACT_SHOT;
		}
		return TC_ACT_UNSPEC;
	}
	if (!f)
		f = add_flow(cfg, &key, &ip, now);
	if (!f) {
		count(HPCCPP_CS_UNTRACKED);
		return TC_ACT_UNSPEC;
	}
	if (!(f->data & sequence))
		__sync_fetch_and_or(&f->data, sequence);
	if (!answer) {
		f->psn = bpf_ntohl(roce.bth.psn) & PSN_MASK;
		ask(cfg, key.daddr, &roce.bth, false, key.qpn, f->lqpn, now);
	}
	f->sport = bpf_ntohs(roce.udp.source);
	if ((f->port && !hpccpp_set_port(skb, at, f->port)) ||
	    (cfg->hops && ip.nexthdr == IPPROTO_UDP && listed(&cnp_trace_to, key.daddr) &&
	     !hpccpp_add_trace(skb, ip_at, cfg->hops, cfg->trace))) {
		count(HPCCPP_CS_ERROR);
		return TC_ACT_SHOT;
	}
	pace(skb, cfg, f, now);
	return TC_ACT_UNSPEC;
}

/* --- Ingress -------------------------------------------------------------------- */

static __always_inline __u32 heeded_as(__u8 cause)
{
	return cause == HPCCPP_CNP_SWITCH ? HPCCPP_CS_SWITCH :
	       cause == HPCCPP_CNP_RECEIVER ? HPCCPP_CS_RECEIVER :
					      HPCCPP_CS_ORDINARY;
}

static __always_inline bool sending(const struct hpccpp_cnp_cfg *cfg,
				    const struct hpccpp_cnp_flow *f, __u64 now)
{
	return f->packets && recent(cfg, f->seen, now);
}

/*
 * Finds the option of a Fast CNP in a Destination Options header with UDP behind it. Other
 * options may stand beside it. A separate function, so that the verifier does not walk the code
 * after it once for each possible position of the option.
 */
SEPARATE int hpccpp_find_fast(struct __sk_buff *skb, __u32 at, struct option *o)
{
	struct hpccpp_cnp_cfg *cfg;
	struct ip6_option one;
	struct ip6_ext h;
	__u32 zero = 0;
	int i;

	cfg = bpf_map_lookup_elem(&cnp, &zero);
	if (!cfg || !o ||
	    bpf_skb_load_bytes(skb, at, &h, sizeof(h)) || h.next != IPPROTO_UDP)
		return false;
	o->end = at + ip6_ext_len(&h);
	at += IP6_OPTIONS;
	for (i = 0; i < OPTIONS_MAX; i++) {
		if (at + sizeof(one) > o->end ||
		    bpf_skb_load_bytes(skb, at, &one, sizeof(one)))
			return false;
		if (one.type == cfg->type1 || one.type == cfg->type2) {
			o->at = at + sizeof(one);
			o->type = one.type;
			o->len = one.len;
			return true;
		}
		at += ip6_option_len(&one);
	}
	return false;
}

/*
 * The counter of the reason for which a CNP about this flow is not heeded, or
 * HPCCPP_CS_MAX if it may be heeded.
 */
static __always_inline __u32 judge(const struct hpccpp_cnp_cfg *cfg,
				   const struct hpccpp_cnp_flow *f,
				   struct ipv6hdr *ip, struct hpccpp_cnp *c,
				   bool fast, __u64 now)
{
	__be32 addr[4];

	__builtin_memcpy(addr, &ip->daddr, sizeof(addr));
	if (!f || !same_address(addr, f->saddr))
		return HPCCPP_CS_UNKNOWN;
	if (!sending(cfg, f, now))
		return HPCCPP_CS_IDLE;
	/* RoCEv2 may leave out the checksum of UDP, as it has the ICRC (RFC 6936) */
	if (c->check && !checksum_ok(ip, c))
		return HPCCPP_CS_CHECKSUM;
	/* no standard says what the ICRC of a packet with extension headers covers */
	if (c->check && fast)
		return HPCCPP_CS_MAX;
	return hpccpp_icrc_ok(ip, c) ? HPCCPP_CS_MAX : HPCCPP_CS_ICRC;
}

/* Returns the buffer for a CNP, which does not fit on the stack. */
static __always_inline struct hpccpp_cnp *room_for_cnp(void)
{
	__u32 zero = 0;
	struct cnp_space *s = bpf_map_lookup_elem(&cnp_space, &zero);

	return s ? &s->cnp : NULL;
}

/* Handles a Fast CNP. Returns the counter of what became of it. */
static __always_inline __u32 take_fast(struct __sk_buff *skb,
				       const struct hpccpp_cnp_cfg *cfg,
				       struct ipv6hdr *ip, __u32 ext,
				       const struct option *o)
{
	struct hpccpp_int rec = {};
	struct hpccpp_cnp_key key = {};
	struct hpccpp_cnp_flow *f;
	__u64 now = bpf_ktime_get_ns();
	struct hpccpp_cnp *c = room_for_cnp();
	__be32 addr[4];
	__u32 fixed = 16;	/* bytes of the option's data that are always there */
	__u32 wrong;
	__u8 cause;

	if (!c)
		return HPCCPP_CS_ERROR;
	if (!listed(&cnp_accept, &ip->saddr))
		return HPCCPP_CS_DENIED;
	if (o->type == cfg->type2)
		fixed = HPCCPP_FCNP2_LEN(0);
	if (o->len < fixed || (o->type == cfg->type1 && o->len != fixed) ||
	    o->at + o->len > o->end ||
	    bpf_ntohs(ip->payload_len) != o->end - ext + sizeof(*c) ||
	    bpf_skb_load_bytes(skb, o->at + o->len - 16, key.daddr, 16) ||
	    bpf_skb_load_bytes(skb, o->end, c, sizeof(*c)) ||
	    c->dport != bpf_htons(HPCCPP_ROCE_PORT) ||
	    c->len != bpf_htons(sizeof(*c)) || c->bth.opcode != HPCCPP_ROCE_CNP)
		return HPCCPP_CS_MALFORMED;

	key.qpn = bpf_ntohl(c->bth.qpn) & HPCCPP_QPN_MASK;
	f = bpf_map_lookup_elem(&cnp_flows, &key);
	wrong = judge(cfg, f, ip, c, true, now);
	if (!f || wrong != HPCCPP_CS_MAX)
		return wrong;

	__builtin_memcpy(addr, &ip->saddr, sizeof(addr));
	cause = same_address(addr, key.daddr) ? HPCCPP_CNP_RECEIVER :
						HPCCPP_CNP_SWITCH;
	if (o->type == cfg->type2 && cfg->algorithm == HPCCPP_CNP_AUTO) {
		if (hpccpp_load_trace(skb, o->at, o->len, &rec)) {
			if (!follow(cfg, f, ip, cause, &rec, now))
				return HPCCPP_CS_REPEATED;
			count(HPCCPP_CS_TRACED);
			goto heeded;
		}
		count(HPCCPP_CS_TRACE_BAD);
	}
	if (!slow_down(cfg, f, ip, cause, o->type == cfg->type1, now))
		return HPCCPP_CS_REPEATED;
heeded:
	if (cause == HPCCPP_CNP_SWITCH)
		detour(cfg, f, ip, now);
	return heeded_as(cause);
}

/*
 * Handles a receiver's CNP without the option. Returns the counter of what became of it.
 */
static __always_inline __u32 take_ordinary(struct __sk_buff *skb,
					   const struct hpccpp_cnp_cfg *cfg,
					   struct ipv6hdr *ip, __u32 at)
{
	struct hpccpp_cnp_key key = {};
	__u64 now = bpf_ktime_get_ns();
	struct hpccpp_cnp_qp qp = {};
	struct hpccpp_cnp *c = room_for_cnp();
	struct hpccpp_cnp_flow *f;
	__u32 *qpn, wrong;

	if (!c)
		return HPCCPP_CS_ERROR;
	if (bpf_ntohs(ip->payload_len) != sizeof(*c) ||
	    bpf_skb_load_bytes(skb, at, c, sizeof(*c)) ||
	    c->len != bpf_htons(sizeof(*c)))
		return HPCCPP_CS_MALFORMED;
	__builtin_memcpy(qp.peer, &ip->saddr, sizeof(qp.peer));
	qp.qpn = bpf_ntohl(c->bth.qpn) & HPCCPP_QPN_MASK;
	qpn = bpf_map_lookup_elem(&cnp_qps, &qp);
	if (!qpn)
		return HPCCPP_CS_UNKNOWN;
	__builtin_memcpy(key.daddr, qp.peer, sizeof(key.daddr));
	key.qpn = *qpn;
	f = bpf_map_lookup_elem(&cnp_flows, &key);
	/* the QP may belong to another flow by now */
	if (f && f->lqpn != qp.qpn)
		return HPCCPP_CS_UNKNOWN;
	wrong = judge(cfg, f, ip, c, false, now);
	if (!f || wrong != HPCCPP_CS_MAX)
		return wrong;
	return slow_down(cfg, f, ip, HPCCPP_CNP_ORDINARY, true, now) ?
	       HPCCPP_CS_ORDINARY : HPCCPP_CS_REPEATED;
}

SEC("tc")
int hpccpp_cnp_in(struct __sk_buff *skb)
{
	struct hpccpp_cnp_cfg *cfg;
	struct option o = {};
	__u32 zero = 0, at;
	struct ipv6hdr ip;
	struct roce roce;

	at = ipv6_offset(skb, &ip);
	cfg = bpf_map_lookup_elem(&cnp, &zero);
	if (!at || !cfg)
		return TC_ACT_UNSPEC;
	if (cfg->answer) {
		if (skb->mark == cfg->mark)
			return hpccpp_answer(skb);
		hpccpp_hear(skb);
	}
	if (cfg->hops && ip.nexthdr == IPPROTO_HOPOPTS) {
		if (!hpccpp_remove_trace(skb))
			return TC_ACT_SHOT;
		if (!ipv6_offset(skb, &ip))
			return TC_ACT_UNSPEC;
	}
	at += sizeof(ip);
	if (ip.nexthdr == IPPROTO_DSTOPTS && hpccpp_find_fast(skb, at, &o)) {
		count(take_fast(skb, cfg, &ip, at, &o));
		return TC_ACT_SHOT;
	}
	if (ip.nexthdr != IPPROTO_UDP || !load_roce(skb, IPPROTO_UDP, &at, &roce))
		return TC_ACT_UNSPEC;
	if (is_ack(roce.bth.opcode)) {
		learn_qp(cfg, &ip, &roce.bth, bpf_ktime_get_ns());
	} else if (roce.bth.opcode == HPCCPP_ROCE_CNP) {
		count(take_ordinary(skb, cfg, &ip, at));
		return TC_ACT_SHOT;
	}
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
