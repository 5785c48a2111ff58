/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent of RoCEv2 hosts, part of cnp.bpf.c: the flows that leave, their rates, and the
 * times at which their packets may leave.
 */

/*
 * When the device will have sent, at its rate, what it got from flows that are not held
 * back
 */
struct wire {
	struct bpf_spin_lock lock;
	__u64 done;		/* ns */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire);
} cnp_wire SEC(".maps");

/* When the agent last looked for flows that may give way, ns */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} cnp_walks SEC(".maps");

/*
 * A new flow is built here, as it is too large for the stack. A per-CPU map may not have a
 * lock, which the flow has: so it is an array of bytes.
 */
struct new_flow {
	__u8 bytes[sizeof(struct hpccpp_cnp_flow)];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct new_flow);
} cnp_new SEC(".maps");

/*
 * True if the agent may go through all flows again. At most once in 10 ms, as that takes a
 * while.
 */
static __always_inline bool may_walk(__u64 now)
{
	__u32 zero = 0;
	__u64 *at = bpf_map_lookup_elem(&cnp_walks, &zero);

	if (!at || now - *at < 10000000)
		return false;
	*at = now;
	return true;
}

static long give_up_idle(struct bpf_map *map, struct hpccpp_cnp_key *key,
			 struct hpccpp_cnp_flow *f, __u64 *now)
{
	if (*now > f->seen && *now - f->seen > HPCCPP_CNP_IDLE)
		bpf_map_delete_elem(map, key);
	return 0;
}

/*
 * Adds a flow. Its rate is set before it is in the map, as another CPU may find it there
 * at once.
 */
static __always_inline struct hpccpp_cnp_flow *
add_flow(const struct hpccpp_cnp_cfg *cfg, const struct hpccpp_cnp_key *key,
	 const struct ipv6hdr *ip, __u64 now)
{
	__u32 zero = 0;
	struct hpccpp_cnp_flow *new = bpf_map_lookup_elem(&cnp_new, &zero);

	if (!new)
		return NULL;
	new->rate = cfg->dcqcn.line;
	new->hpcc_rate = cfg->dcqcn.line;
	new->seen = now;
	__builtin_memcpy(new->saddr, &ip->saddr, sizeof(new->saddr));
	if (bpf_map_update_elem(&cnp_flows, key, new, BPF_NOEXIST) == -E2BIG) {
		if (!may_walk(now))
			return NULL;
		bpf_for_each_map_elem(&cnp_flows, give_up_idle, &now, 0);
		bpf_map_update_elem(&cnp_flows, key, new, BPF_NOEXIST);
	}
	return bpf_map_lookup_elem(&cnp_flows, key);
}

/* Takes the fields behind "busy". False if another CPU has them: no CPU waits for them. */
static __always_inline bool take(struct hpccpp_cnp_flow *f)
{
	return !__sync_lock_test_and_set(&f->busy, 1);
}

static __always_inline void give_back(struct hpccpp_cnp_flow *f)
{
	__sync_lock_test_and_set(&f->busy, 0);
}

/*
 * Bounds W_max by the slowest link of which it heard lately, plus an eighth, as the module
 * does.
 */
static __noinline void set_bounds(struct hpccpp_cnp_flow *f,
				  struct hpccpp_params *p,
				  const struct hpccpp_int *rec, int n,
				  __u64 now)
{
	__u64 B = hpccpp_min_B(&f->hpcc, f->min_B, rec, n, p->T, now);
	__u64 W = hpccpp_bdp(B, p->T);

	f->min_B = B;
	W += W / 8;
	if (B && W < p->W_max)
		p->W_max = W > p->W_min ? W : p->W_min;
}

/*
 * Without a Fast CNP for T the load of every port is below the threshold of the ports.
 * HPCC++ then takes the threshold for the load, but eta at most, as the module does for a
 * record that was left empty (D-BOUND in hpccpp_main.c). Returns R = W / T.
 */
static __noinline __u64 untold(struct hpccpp_cnp_flow *f,
			       const struct hpccpp_cnp_cfg *cfg, __u64 now)
{
	struct hpccpp_int below = { .U = cfg->threshold };
	__u64 T = (__u64)cfg->hpcc.T * 1000;
	struct hpccpp_params p = cfg->hpcc;
	int i;

	set_bounds(f, &p, NULL, 0, now);
	for (i = 0; i < 4; i++) {
		if (now < f->told + T)
			break;
		f->told += T;
		hpccpp_measure_inflight(&f->hpcc, &p, &below, 1, now);
		hpccpp_compute_wind(&f->hpcc, &p, true);
	}
	if (now > f->told + T)
		f->told = now - T;
	return hpccpp_rate(f->hpcc.W, p.T);
}

/* Sets the rate of a flow to the lower of two. The caller holds its lock. */
static __always_inline void choose_rate(struct hpccpp_cnp_flow *f, __u64 line)
{
	__u64 dcqcn = f->dcqcn.timer_at ? f->dcqcn.R_C : line;

	f->algorithm = dcqcn <= f->hpcc_rate ? HPCCPP_CNP_DCQCN : HPCCPP_CNP_HPCC;
	f->rate = dcqcn <= f->hpcc_rate ? dcqcn : f->hpcc_rate;
}

/* The time at which the device begins to send a packet that it gets now */
static __always_inline __u64 wire_begins(__u32 len, __u64 line, __u64 now)
{
	__u64 begins = now, takes = len * 1000000000ULL / (line ? line : 1);
	__u32 zero = 0;
	struct wire *d = bpf_map_lookup_elem(&cnp_wire, &zero);

	if (!d)
		return now;
	bpf_spin_lock(&d->lock);
	if (d->done > begins)
		begins = d->done;
	d->done = begins + takes;
	bpf_spin_unlock(&d->lock);
	return begins;
}

/*
 * How far apart, in us, two records of a link have to be for their difference to give a
 * load: HPCCPP_CNP_SPAN, or half of the time after which the first is stale.
 */
static __always_inline __u32 trace_span(__u32 T)
{
	__u32 fresh = T * HPCCPP_STALE_T / 2;

	return fresh < HPCCPP_CNP_SPAN ? fresh : HPCCPP_CNP_SPAN;
}

/*
 * After so many us without a CNP the load counts as low. A congested port answers the
 * first packet of a flow after T, and a trace that follows another too closely says
 * nothing new: so this is more than T.
 */
static __always_inline __u32 untold_after(__u32 T)
{
	__u32 span = trace_span(T);

	return T + (T / 4 > span ? T / 4 : span);
}

/*
 * Sets the departure time of a packet. Packets of a flow leave in order, also when the
 * flow is no longer held back, because the receiver takes an overtaken packet for lost.
 * For a flow that is not held back "next" is when the device will have sent what it got,
 * so that a first CNP does not add to that.
 */
static __always_inline void pace(struct __sk_buff *skb,
				 const struct hpccpp_cnp_cfg *cfg,
				 struct hpccpp_cnp_flow *f, __u64 now)
{
	__u64 rate = 0, at, begins, line = cfg->dcqcn.line;
	__u32 len = skb->len;
	bool held, busy = false;

	if (f->hpcc_rate < line && now > f->told &&
	    now - f->told >= untold_after(cfg->hpcc.T) * 1000ULL && take(f)) {
		rate = untold(f, cfg, now);
		busy = true;
	}
	begins = f->rate < line ? now : wire_begins(len, line, now);
	bpf_spin_lock(&f->lock);
	at = f->next > now ? f->next : now;
	held = f->held > now;
	if (f->rate < line) {
		hpccpp_dcqcn_advance(&f->dcqcn, &cfg->dcqcn, now, len);
		if (rate)
			f->hpcc_rate = rate < line ? rate : line;
		choose_rate(f, line);
		if (at > now + HPCCPP_CNP_HELD)
			at = now + HPCCPP_CNP_HELD;
		f->next = at + len * 1000000000ULL / (f->rate ? f->rate : 1);
		f->held = at;
		held = at > now;
	} else {
		at = f->held;
		if (f->next < begins)
			f->next = begins;
	}
	f->seen = now;
	f->packets++;
	f->bytes += len;
	bpf_spin_unlock(&f->lock);
	/* not before: another CPU may set a lower rate once it is free */
	if (busy)
		give_back(f);
	if (held) {
		skb->tstamp = at;
		count(HPCCPP_CS_PACED);
	}
	count(HPCCPP_CS_DATA);
}

/*
 * Gives the packet whose UDP header is at "at" that source port, and mends the checksum
 * and the ICRC. False: the packet is damaged, drop it. Not static, as
 * hpccpp_remove_trace().
 */
SEPARATE int hpccpp_set_port(struct __sk_buff *skb, __u32 at, __u32 port)
{
	__be16 new = bpf_htons(port);
	struct udphdr udp;
	__u32 len, end, old, icrc;

	if (bpf_skb_load_bytes(skb, at, &udp, sizeof(udp)))
		return true;
	len = bpf_ntohs(udp.len) - HPCCPP_ICRC_LEN;
	end = at + len;
	/* RoCEv2 pads to multiples of 4, and to mend a checksum by words relies on that */
	if (len < sizeof(struct roce) || len > 0xffff || len % 4 ||
	    bpf_skb_load_bytes(skb, end, &old, sizeof(old)))
		return true;
	icrc = old ^ hpccpp_icrc_change(udp.source ^ new, len);
	at += __builtin_offsetof(struct udphdr, check);
	/*
	 * A packet without a checksum stays so. The kernel has to compute the hash again:
	 * ECMP goes by it, and it is of the old port.
	 */
	return !bpf_l4_csum_replace(skb, at, udp.source, new,
				    sizeof(new) | BPF_F_MARK_MANGLED_0) &&
	       !bpf_l4_csum_replace(skb, at, old, icrc,
				    sizeof(icrc) | BPF_F_MARK_MANGLED_0) &&
	       !bpf_skb_store_bytes(skb, end, &icrc, sizeof(icrc), 0) &&
	       !bpf_skb_store_bytes(skb, at - __builtin_offsetof(struct udphdr, check),
				    &new, sizeof(new), BPF_F_INVALIDATE_HASH);
}
