/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent of RoCEv2 hosts, part of cnp.bpf.c: what a CNP does to a flow, by DCQCN or by
 * HPCC++, and by another way.
 */

/* Of UDP in IPv6, over all */
static __always_inline bool checksum_ok(struct ipv6hdr *ip,
					struct hpccpp_cnp *c)
{
	__u64 sum = bpf_htonl(IPPROTO_UDP) + (__u64)bpf_htonl(sizeof(*c));

	sum += (__u64)bpf_csum_diff(NULL, 0, (__be32 *)&ip->saddr, 32, 0);
	sum += (__u64)bpf_csum_diff(NULL, 0, (__be32 *)c, sizeof(*c), 0);
	return fold16(sum) == 0xffff;
}

/* Not inline: a frame of its own, gone before HPCC++ needs the stack */
static __noinline bool icrc_ok(const struct ipv6hdr *ip,
			       const struct hpccpp_cnp *c)
{
	return hpccpp_cnp_icrc(&ip->saddr, &ip->daddr, c) == c->icrc;
}

/* What a CNP did to a flow; with its lock held */
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
 * Is a CNP without a trace about congestion that HPCC++ has reacted to? A switch whose
 * traces come has told how loaded it is. A receiver does not say which port has marked:
 * the one that a trace has just asked for less, if one has. With the flow's lock held.
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
 * Does the flow react to a CNP that does not say how much congestion there is? By DCQCN,
 * beside HPCC++: a switch that writes no traces may be fuller than those that do.
 * "plain": the CNP has no trace at all.
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
	/* HPCC++ does not raise the rate as if nobody had told of load */
	if (take(f)) {
		f->told = now;
		give_back(f);
	}
	return heeded;
}

/* What a node that fills in all that HPCC++ needs has written, in words */
enum { N_NODE, N_IFS, N_SEC, N_FRAC, N_DEPTH, N_TX, N_SPEED };
#define N_WORDS		HPCCPP_IOAM_HPCC_WORDS

/*
 * As a record of ours; false when the node did not know all. The U of a port is not in
 * a trace, and counts where there is no earlier record only: of a port with a queue it
 * is taken for full, and the queue.
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

/* What of an option is needed: where it is, and how long with all around it */
struct option {
	__u32 at;		/* of its data */
	__u32 end;		/* of the header */
	__u8 type;
	__u8 len;
};

/*
 * One record of a trace, that of its fullest port, as in a segment of TCP that has room
 * for one. False when there is none of use.
 */
static __noinline bool load_trace(struct __sk_buff *skb,
				  const struct hpccpp_cnp_cfg *cfg,
				  const struct option *o,
				  struct hpccpp_int *most)
{
	__u32 at = o->at + 2, end = o->at + o->len - 16, i;
	bool any = !cfg->n_namespaces, found = false;
	struct hpccpp_ioam_trace t;
	__be32 node[N_WORDS];
	struct hpccpp_int r;
	__u8 type;

	if (bpf_skb_load_bytes(skb, at - 1, &type, 1) ||
	    bpf_skb_load_bytes(skb, at, &t, sizeof(t)))
		return false;
	for (i = 0; i < HPCCPP_CNP_NAMESPACES; i++)
		any = any || (i < cfg->n_namespaces &&
			      cfg->namespaces[i] == bpf_ntohs(t.ns));
	/* who found no room for what it knows is the one that sends this */
	if (type != HPCCPP_IOAM_PREALLOC || !any ||
	    t.node_flags & HPCCPP_IOAM_OVERFLOW ||
	    (bpf_ntohl(t.type) & 0xffffff00) != HPCCPP_IOAM_HPCC ||
	    HPCCPP_IOAM_NODELEN(t.node_flags) != N_WORDS)
		return false;
	/* the last node, who sends this, is the first there */
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

/* Is the link's last record so near that a difference of both would be of no use? */
static __always_inline bool too_near(struct hpccpp_state *s,
				     const struct hpccpp_int *rec, __u32 T)
{
	const struct hpccpp_link *l = hpccpp_find_link(s, rec->link);
	__u32 dts = (rec->ts - l->ts) & HPCCPP_MASK24;

	return l->seen && l->id == rec->link &&
	       dts < (trace_span(T) * 1000) >> HPCCPP_TS_SHIFT;
}

/* Lines 1-27, and R = W / T into *rate; false when the record is not new. "busy" is ours. */
static __noinline bool told(struct hpccpp_cnp_flow *f,
			    const struct hpccpp_cnp_cfg *cfg,
			    const struct hpccpp_int *rec, __u64 now, __u64 *rate)
{
	__u64 T = cfg->hpcc.T * 1000ULL;
	struct hpccpp_params p = cfg->hpcc;
	struct hpccpp_state *s = &f->hpcc;
	bool commit;

	if (f->hpcc_rate >= cfg->dcqcn.line) {
		/* where DCQCN left it; what is known of links stays */
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
	/* less than what is sent, where DCQCN holds back more than W_c */
	if (s->U >= p.eta && f->rate < f->hpcc_rate &&
	    s->W_c > hpccpp_bdp(f->rate, p.T))
		s->W_c = hpccpp_bdp(f->rate, p.T);
	hpccpp_compute_wind(s, &p, commit);
	/* after a decrease half a T later, as difference 9 of the module */
	if (commit)
		f->commit = now + (s->U >= p.eta ? T + T / 2 : T);
	*rate = hpccpp_rate(s->W, p.T);
	return true;
}

/* A trace came: HPCC++. False when it says nothing new. */
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

/* The flow takes another way, if the switch that a Fast CNP is of is one to go around. */
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
	/* any but what it has, as nobody knows how switches choose */
	by = 1 + bpf_get_prandom_u32() % others;
	bpf_spin_lock(&f->lock);
	moved = !f->detours || (__s64)(now - f->detour_at) >
			       (__s64)(T * HPCCPP_CNP_DETOUR_T);
	if (moved) {
		f->port = HPCCPP_ROCE_SPORT +
			  ((f->port ?: f->sport) + by) % HPCCPP_ROCE_SPORTS;
		f->detours++;
		f->detour_at = now;
		/* what is on the old way is to be there first */
		f->next = (f->next > now ? f->next : now) + T;
		f->held = f->next < now + HPCCPP_CNP_HELD ? f->next :
							    now + HPCCPP_CNP_HELD;
	}
	bpf_spin_unlock(&f->lock);
	if (moved)
		count(HPCCPP_CS_DETOURED);
}
