/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent of RoCEv2 hosts, part of cnp.bpf.c: what a CNP does to a flow. DCQCN or HPCC++
 * slows it down, and a detour leads it another way.
 */

/* The checksum of UDP, with the pseudo-header of IPv6 */
static __always_inline bool checksum_ok(struct ipv6hdr *ip,
					struct hpccpp_cnp *c)
{
	__u64 sum = bpf_htonl(IPPROTO_UDP) + (__u64)bpf_htonl(sizeof(*c));

	sum += (__u64)bpf_csum_diff(NULL, 0, (__be32 *)&ip->saddr, 32, 0);
	sum += (__u64)bpf_csum_diff(NULL, 0, (__be32 *)c, sizeof(*c), 0);
	return fold16(sum) == 0xffff;
}

/* Returns true if the ICRC of a CNP is right. */
SEPARATE int hpccpp_icrc_ok(const struct ipv6hdr *ip, const struct hpccpp_cnp *c)
{
	return ip && c && hpccpp_cnp_icrc(&ip->saddr, &ip->daddr, c) == c->icrc;
}

/* Notes a CNP that the flow heeds, and chooses the rate. The caller holds the lock. */
static __always_inline void heed(struct hpccpp_cnp_flow *f, __u64 line,
				 __u8 cause, const __be32 *from, __u64 now)
{
	choose_rate(f, line);
	f->cause = cause;
	f->cnps++;
	f->cnp_at = now;
	if (cause != HPCCPP_CNP_SWITCH)
		return;
	f->from[0] = from[0];
	f->from[1] = from[1];
	f->from[2] = from[2];
	f->from[3] = from[3];
}

/*
 * True if HPCC++ has already reacted to the congestion of a CNP without a trace. A switch
 * has told its load by its traces, if these come. A receiver does not say which port has
 * marked its packets: the agent takes it for the one whose trace has just asked for less,
 * if there is one. The caller holds the flow's lock.
 */
static __always_inline bool is_known(const struct hpccpp_cnp_cfg *cfg,
				     const struct hpccpp_cnp_flow *f, __u8 cause,
				     const __be32 *from, __u64 now)
{
	__s64 T = cfg->hpcc.T * 1000LL;

	if (f->hpcc_rate >= cfg->dcqcn.line)
		return false;
	if (cause == HPCCPP_CNP_SWITCH)
		return same_address(from, f->traced) &&
		       (__s64)(now - f->traced_at) <= HPCCPP_STALE_T * T;
	return f->cut_at && (__s64)(now - f->cut_at) <= HPCCPP_CNP_SAME_T * T;
}

/*
 * Slows a flow down after a CNP that does not say how much congestion there is; false if
 * the flow ignores it. This is DCQCN's task, also in a flow under HPCC++: a switch that
 * writes no traces may be fuller than those that do. "plain": the CNP has no trace at all.
 */
static __always_inline bool slow_down(const struct hpccpp_cnp_cfg *cfg,
				      struct hpccpp_cnp_flow *f,
				      const struct ipv6hdr *ip, __u8 cause,
				      bool plain, __u64 now)
{
	bool heeded = false, known;
	__be32 from[4];

	__builtin_memcpy(from, &ip->saddr, sizeof(from));
	bpf_spin_lock(&f->lock);
	known = plain && is_known(cfg, f, cause, from, now);
	if (!known) {
		if (!f->dcqcn.timer_at)
			hpccpp_dcqcn_start(&f->dcqcn, f->rate);
		heeded = hpccpp_dcqcn_cnp(&f->dcqcn, &cfg->dcqcn, f->rate, now);
	}
	if (heeded)
		heed(f, cfg->dcqcn.line, cause, from, now);
	bpf_spin_unlock(&f->lock);
	/* a CNP came: HPCC++ must not raise the rate as it does in silence */
	if (take(f)) {
		f->told = now;
		give_back(f);
	}
	return heeded;
}

/* The words of a node that has written all that HPCC++ needs */
enum { N_NODE, N_IFS, N_SEC, N_FRAC, N_DEPTH, N_TX, N_SPEED };
#define N_WORDS		HPCCPP_IOAM_HPCC_WORDS

/*
 * Makes a record of a node's words; false if the node did not know all of them. A trace
 * does not have the U of the port, which counts only where there is no earlier record of
 * the link. Then a port with a queue counts as full, plus its queue.
 */
static __always_inline bool to_record(struct hpccpp_int *r, const __be32 *node,
				      __u32 T)
{
	__u32 ifs = bpf_ntohl(node[N_IFS]), depth = bpf_ntohl(node[N_DEPTH]);
	__u64 bps = hpccpp_ioam_speed(bpf_ntohl(node[N_SPEED]) >> 26), U = 0;
	__u32 id = (bpf_ntohl(node[N_NODE]) & 0xffffff) ^ ifs << 24;
	int i;

#pragma unroll
	for (i = N_SEC; i < N_SPEED; i++) {
		if (node[i] == 0xffffffff)
			return false;
	}
	if (!hpccpp_rate_ok(bps))
		return false;
	id = (id ^ ifs << 8) * 0x9e3779b1;
	if (depth)
		U = 64 + hpccpp_div((__u64)depth << HPCCPP_U_SHIFT,
				    hpccpp_bdp(bps / 8, T));
	depth >>= HPCCPP_QLEN_SHIFT;
	*r = (struct hpccpp_int) {
		.link = id >> 20,
		.rate = hpccpp_rate_encode(bps),
		.ts = (bpf_ntohl(node[N_SEC]) * 1000000000ULL +
		       bpf_ntohl(node[N_FRAC]) * 1000ULL) >> HPCCPP_TS_SHIFT &
		      HPCCPP_MASK24,
		.tx_bytes = bpf_ntohl(node[N_TX]) >> HPCCPP_TX_SHIFT &
			    HPCCPP_MASK24,
		.qlen = depth < HPCCPP_QLEN_MAX ? depth : HPCCPP_QLEN_MAX,
		.U = U < HPCCPP_U_MAX ? U : HPCCPP_U_MAX - 1,
	};
	return true;
}

/* Where the option of a Fast CNP is, and the end of its header */
struct option {
	__u32 at;		/* of its data */
	__u32 end;		/* of the header */
	__u32 type;
	__u32 len;
};

/*
 * Loads one record of a trace, that of the fullest port, as if it came in a TCP segment
 * with room for one. "at" and "len" are of the option's data. False if there is none of
 * use. Not static, as hpccpp_remove_trace().
 */
SEPARATE int hpccpp_load_trace(struct __sk_buff *skb, __u32 at, __u32 len,
			       struct hpccpp_int *most)
{
	__u32 end = at + len - 16, zero = 0, i;
	struct hpccpp_ioam_trace t;
	struct hpccpp_cnp_cfg *cfg;
	bool any, found = false;
	__be32 node[N_WORDS];
	struct hpccpp_int r;
	__u8 type;

	cfg = bpf_map_lookup_elem(&cnp, &zero);
	if (!cfg || !most)
		return false;
	any = !cfg->n_namespaces;
	at += 2;
	if (bpf_skb_load_bytes(skb, at - 1, &type, 1) ||
	    bpf_skb_load_bytes(skb, at, &t, sizeof(t)))
		return false;
	for (i = 0; i < HPCCPP_CNP_NAMESPACES; i++)
		any = any || (i < cfg->n_namespaces &&
			      cfg->namespaces[i] == bpf_ntohs(t.ns));
	/* a port found no room for its node, and that may be the congested one */
	if (type != HPCCPP_IOAM_PREALLOC || !any ||
	    t.node_flags & HPCCPP_IOAM_OVERFLOW ||
	    (bpf_ntohl(t.type) & 0xffffff00) != HPCCPP_IOAM_HPCC ||
	    HPCCPP_IOAM_NODELEN(t.node_flags) != N_WORDS)
		return false;
	/* the last node, which sent this, comes first */
	at += sizeof(t) + (t.rem & HPCCPP_IOAM_REM) * 4;
	for (i = 0; i < HPCCPP_CNP_NODES; i++) {
		if (at + sizeof(node) > end ||
		    bpf_skb_load_bytes(skb, at, node, sizeof(node)))
			break;
		at += sizeof(node);
		if (!to_record(&r, node, cfg->hpcc.T) ||
		    (found && r.U <= most->U))
			continue;
		*most = r;
		found = true;
	}
	return found;
}

/*
 * True if the last record of the link is so recent that the difference of both gives no
 * load.
 */
static __always_inline bool too_near(struct hpccpp_state *s,
				     const struct hpccpp_int *rec, __u32 T)
{
	const struct hpccpp_link *l = hpccpp_find_link(s, rec->link);
	__u32 dts = (rec->ts - l->ts) & HPCCPP_MASK24;

	return l->seen && l->id == rec->link &&
	       dts < (trace_span(T) * 1000) >> HPCCPP_TS_SHIFT;
}

/*
 * Hands a record to lines 1-27, and sets *rate to R = W / T. False if the record is not
 * new. The caller has taken "busy".
 */
static __noinline bool told(struct hpccpp_cnp_flow *f,
			    const struct hpccpp_cnp_cfg *cfg,
			    const struct hpccpp_int *rec, __u64 now, __u64 *rate)
{
	__u64 T = cfg->hpcc.T * 1000ULL;
	struct hpccpp_params p = cfg->hpcc;
	struct hpccpp_state *s = &f->hpcc;
	bool commit;

	if (f->hpcc_rate >= cfg->dcqcn.line) {
		/* begin with the rate that DCQCN left; what is known of links stays */
		s->U = 0;
		s->inc_stage = 0;
		s->W_c = hpccpp_bdp(f->rate, p.T);
		s->W = s->W_c;
		f->min_B = 0;
		f->commit = 0;
	}
	commit = now >= f->commit;
	set_bounds(f, &p, rec, 1, now);
	f->told = now;
	if (too_near(s, rec, p.T) || !hpccpp_measure_inflight(s, &p, rec, 1, now))
		return false;
	/* where DCQCN holds back more than W_c does, decrease what is really sent */
	if (s->U >= p.eta && f->rate < f->hpcc_rate &&
	    s->W_c > hpccpp_bdp(f->rate, p.T))
		s->W_c = hpccpp_bdp(f->rate, p.T);
	hpccpp_compute_wind(s, &p, commit);
	/*
	 * Wait for half a T more after a decrease. With the first record of the new W, U still
	 * describes mostly the old one: to act on it would be to act twice.
	 */
	if (commit)
		f->commit = now + (s->U >= p.eta ? T + T / 2 : T);
	*rate = hpccpp_rate(s->W, p.T);
	return true;
}

/* HPCC++ reacts to a trace. False if the trace says nothing new. */
static __always_inline bool follow(const struct hpccpp_cnp_cfg *cfg,
				   struct hpccpp_cnp_flow *f,
				   const struct ipv6hdr *ip, __u8 cause,
				   const struct hpccpp_int *rec, __u64 now)
{
	__u64 line = cfg->dcqcn.line, rate = 0;
	__be32 from[4];
	bool news;

	if (!take(f))
		return false;
	news = told(f, cfg, rec, now, &rate);
	if (news) {
		__builtin_memcpy(from, &ip->saddr, sizeof(from));
		bpf_spin_lock(&f->lock);
		f->hpcc_rate = rate < line ? rate : line;
		f->traced[0] = from[0];
		f->traced[1] = from[1];
		f->traced[2] = from[2];
		f->traced[3] = from[3];
		f->traced_at = now;
		if (f->hpcc.U >= cfg->hpcc.eta)
			f->cut_at = now;
		heed(f, line, cause, from, now);
		bpf_spin_unlock(&f->lock);
	}
	give_back(f);
	return news;
}

/* Leads the flow another way, if the switch that sent a Fast CNP is one to go around. */
static __always_inline void detour(const struct hpccpp_cnp_cfg *cfg,
				   struct hpccpp_cnp_flow *f,
				   const struct ipv6hdr *ip, __u64 now)
{
	__u32 others = HPCCPP_ROCE_SPORTS - 1;
	__u64 T = cfg->hpcc.T * 1000ULL;
	bool moved;
	__u32 by;

	if (!cfg->detours || !listed(&cnp_detour, &ip->saddr))
		return;
	/* any other port may help: how switches choose is not known */
	by = 1 + bpf_get_prandom_u32() % others;
	bpf_spin_lock(&f->lock);
	moved = !f->detours || (__s64)(now - f->detour_at) >
			       (__s64)(T * HPCCPP_CNP_DETOUR_T);
	if (moved) {
		f->port = HPCCPP_ROCE_SPORT +
			  ((f->port ?: f->sport) + by) % HPCCPP_ROCE_SPORTS;
		f->detours++;
		f->detour_at = now;
		/* packets on the old way have to arrive first */
		f->next = (f->next > now ? f->next : now) + T;
		f->held = f->next < now + HPCCPP_CNP_HELD ? f->next :
							    now + HPCCPP_CNP_HELD;
	}
	bpf_spin_unlock(&f->lock);
	if (moved)
		count(HPCCPP_CS_DETOURED);
}
