/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host agent at a receiver that computes W (mode receiver): lines 28-34 of the
 * draft, section 6.2.
 */
#ifndef HPCCPP_HOST_WINDOW_H
#define HPCCPP_HOST_WINDOW_H

#include "host_sender.h"

/* Bytes of a segment beside its payload, about: Ethernet, IP and TCP */
#define HPCCPP_HEADERS	66

/*
 * The receiver sends a window so many times in a T, if ACKs leave that often. Once in
 * a T, W would follow a queue up to a T late; in each ACK, few flows with a large W_ai
 * would not come to equal shares.
 */
#define HPCCPP_TELL_T	4

/*
 * A link counts its flows anew in an epoch of so many T. In that time each of them
 * sends a packet.
 */
#define HPCCPP_EPOCH_T	16

struct link_flows {
	struct bpf_spin_lock lock;
	__u32 epoch;
	__u32 now, last;	/* flows in this epoch, and in the one before */
	__u64 ends;		/* ns */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, HPCCPP_LINK_MAX + 1);
	__type(key, __u16);
	__type(value, struct link_flows);
} host_links SEC(".maps");

static __always_inline struct rx *find_rx(struct bpf_sock_ops *skops, bool add)
{
	struct bpf_sock *sk = POINTER(skops, sk);
	struct rx *rx;

	if (!sk)
		return NULL;
	rx = bpf_sk_storage_get(&host_rx, sk, NULL,
				add ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!rx)
		count(HPCCPP_HS_ERROR);
	return rx;
}

/* The collect has a load: that of a port, or a bound where all ports have less. */
static __always_inline bool has_load(const struct opt *o)
{
	return bpf_ntohl(o->rec[0][0]) & 0xfffff;
}

/* MeasureInflight of lines 30 and 34, for each collect that arrives */
static __always_inline void measure(struct bpf_sock_ops *skops, struct flow *f)
{
	const struct opt *o = &f->collected;
	int n = written(o->rec, records_of(o)), i;
	struct hpccpp_int rec[HPCCPP_REC_MAX] = {};
	struct rx *rx;
	__u64 now;

	f->unmeasured = 0;
	if (!has_load(o))
		return;
	rx = find_rx(skops, false);
	if (!rx)
		return;
#pragma unroll
	for (i = 0; i < HPCCPP_REC_MAX; i++)
		hpccpp_int_decode(&rec[i], bpf_ntohl(o->rec[i][0]),
				  bpf_ntohl(o->rec[i][1]),
				  bpf_ntohl(o->rec[i][2]));
	now = bpf_ktime_get_ns();
	if (!hpccpp_measure_inflight(&rx->s, &rx->p, rec, n ? n : 1, now) || !n)
		return;
	f->rx_knows_link = 1;
	/* not only in compute(): the next ACK may leave much later */
	if (!rx->min_B)
		rx->min_B = hpccpp_min_B(&rx->s, 0, NULL, 0, rx->p.T, now);
}

/*
 * Continues with the W that the sender has reduced. For a T, W does not go towards the fair
 * share, which would undo the decrease before it has its effect.
 */
static __always_inline void reduce(struct rx *rx, __u32 W)
{
	hpccpp_begin_with(&rx->s, W);
	rx->s.W_f = 0;
	rx->p.share = 0;
	rx->share_at = bpf_ktime_get_ns() + (__u64)rx->p.T * 1000;
}

/*
 * A sender requests windows: start to compute them with its parameters, or go on with
 * new ones. An eta of 0 asks for echoes instead.
 */
static __always_inline void take_request(struct bpf_sock_ops *skops,
					 struct flow *f, __u32 w0, __u32 w1)
{
	__u64 T = hpccpp_num_decode(HPCCPP_REQUEST_T(w0));
	__u64 W = hpccpp_num_decode(w1 >> 16);
	__u64 W_ai = hpccpp_num_decode(w1);
	__u32 eta = w0 & HPCCPP_WINDOW_ETA;
	__u32 serial = HPCCPP_WINDOW_SERIAL(w0);
	struct rx *rx;
	__u32 W_sent;

	if (!eta) {
		f->rx = 0;
		return;
	}
	if (!T || T > HPCCPP_T_MAX || eta > HPCCPP_ETA_MAX || !W ||
	    W > HPCCPP_W_LIMIT || W_ai > HPCCPP_W_LIMIT ||
	    HPCCPP_REQUEST_LAW(w0) >= HPCCPP_LAWS) {
		count(HPCCPP_HS_BAD);
		return;
	}
	rx = find_rx(skops, true);
	if (!rx)
		return;
	if (!f->rx) {
		__builtin_memset(rx, 0, sizeof(*rx));
		f->rx_knows_link = 0;
	}
	rx->p.T = T;
	rx->p.eta = eta * HPCCPP_ONE / 100;
	rx->p.law = HPCCPP_REQUEST_LAW(w0);
	rx->p.W_ai = W_ai;
	rx->next = 0;		/* the sender waits for the answer */
	/*
	 * The sender has the W that we sent last. If it has reduced that since, continue with
	 * its W. This happens once per serial: a request arrives more than once.
	 */
	W_sent = hpccpp_num_decode(hpccpp_num_encode(rx->s.W));
	if (!rx->s.W_c) {
		hpccpp_begin_with(&rx->s, W);
		rx->round = bpf_ktime_get_ns();
	} else if (rx->serial != serial && W < W_sent) {
		reduce(rx, W);
	}
	rx->serial = serial;
	f->rx = 1;
	f->unmeasured = 0;
}

static __always_inline void parse_window(struct bpf_sock_ops *skops,
					 struct flow *f, struct opt *o)
{
	bool asks, ours;
	__u32 word;
	int len;

	/* windows have no tags: with a key we want none and grant none */
	ours = !tags && windows;
	len = load_any(skops, o, HPCCPP_EXID_WINDOW, 0);
	if (len <= 0)
		return;
	word = bpf_ntohl(o->rec[0][0]);
	asks = HPCCPP_WINDOW_KIND(word) == HPCCPP_WINDOW_REQUEST;
	if (len == HPCCPP_WINDOW_LEN && !asks &&
	    hpccpp_num_decode(HPCCPP_WINDOW_NUM(word))) {
		if (ours && wants_windows(f))
			take_window(skops, f, word);
		else
			refuse_window(f);
	} else if (len == HPCCPP_REQUEST_LEN && asks) {
		if (ours)
			take_request(skops, f, word, bpf_ntohl(o->rec[0][1]));
	} else {
		count(HPCCPP_HS_BAD);
	}
}

/* A window is due: T / HPCCPP_TELL_T has passed since the last one. */
static __always_inline bool window_due(struct bpf_sock_ops *skops)
{
	struct rx *rx = find_rx(skops, false);

	return rx && bpf_ktime_get_ns() >= rx->next;
}

/*
 * N of section 6.2: how many flows have this flow's bottleneck and end here. That is
 * all flows of the link if it is the last hop. Each flow counts once in an epoch, and
 * on one link, also where two links take turns as its bottleneck.
 */
static __always_inline __u32 count_flows(struct rx *rx, __u64 now)
{
	__u64 epoch_ns = (__u64)rx->p.T * (HPCCPP_EPOCH_T * 1000);
	__u16 link = now < rx->stays ? rx->link : rx->s.bottleneck;
	struct link_flows *l = bpf_map_lookup_elem(&host_links, &link);
	__u32 N;

	if (!l) {
		struct link_flows none = {};

		bpf_map_update_elem(&host_links, &link, &none, BPF_NOEXIST);
		l = bpf_map_lookup_elem(&host_links, &link);
	}
	if (!l) {
		count(HPCCPP_HS_ERROR);
		return 0;
	}
	bpf_spin_lock(&l->lock);
	if (now >= l->ends) {
		l->last = now < l->ends + epoch_ns ? l->now : 0;
		l->now = 0;
		l->epoch++;
		l->ends = now + epoch_ns;
	}
	if (rx->link != link || rx->epoch != l->epoch) {
		rx->link = link;
		rx->epoch = l->epoch;
		rx->stays = now + epoch_ns;
		l->now++;
	}
	N = l->now > l->last ? l->now : l->last;
	bpf_spin_unlock(&l->lock);
	return N;
}

/*
 * Line 29: true if a round trip has passed, T without a queue and U T with one. Section 6.1
 * allows one update of the reference window per round trip, so the first window after that
 * time ends the round trip.
 */
static __always_inline bool round_ends(const struct rx *rx, __u64 now)
{
	__u64 wait = (__u64)rx->p.T * 1000;

	if (rx->s.U > HPCCPP_ONE)
		wait = wait * rx->s.U >> HPCCPP_ONE_SHIFT;
	return now - rx->round >= wait;
}

/* Lines 29-32, when an ACK can carry W. Within a round trip W follows U, as in line 26. */
static __always_inline void compute(struct bpf_sock_ops *skops, struct rx *rx,
				    struct opt *o)
{
	__u32 wire = skops->mss_cache + HPCCPP_HEADERS;
	__u64 now = bpf_ktime_get_ns();
	__u32 T = rx->p.T, value, kind, N;
	bool ends = round_ends(rx, now);
	__u64 B = hpccpp_min_B(&rx->s, rx->min_B, NULL, 0, T, now);
	__u64 W;

	if (B)
		rx->min_B = B;
	W = hpccpp_bdp(rx->min_B, T);
	W += W / 8;
	rx->p.packet = wire;
	rx->p.W_min = wire / 16 + 1;
	if (W < rx->p.W_min)
		W = rx->p.W_min;
	rx->p.W_max = W < HPCCPP_W_LIMIT ? W : HPCCPP_W_LIMIT;
	hpccpp_compute_wind(&rx->s, &rx->p, ends);
	if (ends)
		rx->round = now;
	rx->p.share = rx->p.law == HPCCPP_LAW_AVERAGED && now >= rx->share_at;
	rx->next = now + T * (1000ULL / HPCCPP_TELL_T);

	N = count_flows(rx, now);
	kind = rx->value;
	rx->value = (kind + 1) % HPCCPP_WINDOW_REQUEST;
	if (kind == HPCCPP_WINDOW_B)
		value = hpccpp_rate_encode(rx->min_B * 8);
	else if (kind == HPCCPP_WINDOW_U)
		value = rx->s.U >> (HPCCPP_ONE_SHIFT - HPCCPP_WINDOW_U_SHIFT);
	else
		value = N;
	if (value > 0xfff)
		value = 0xfff;
	o->rec[0][0] = bpf_htonl(HPCCPP_WINDOW(kind, rx->serial,
					       hpccpp_num_encode(rx->s.W),
					       value));
}

static __always_inline void write_window(struct bpf_sock_ops *skops,
					 struct flow *f, struct opt *o)
{
	struct rx *rx = find_rx(skops, false);

	if (!rx)
		return;
	compute(skops, rx, o);
	store_window(skops, o, HPCCPP_WINDOW_LEN, HPCCPP_HS_COMPUTED);
	f->echo_due = 0;
}

static __always_inline void plan_window(struct bpf_sock_ops *skops,
					struct flow *f)
{
	if (bpf_reserve_hdr_opt(skops, HPCCPP_WINDOW_LEN, 0))
		count(HPCCPP_HS_ECHO_NONE);
	else
		f->plan = PLAN_WINDOW;
}

#endif /* HPCCPP_HOST_WINDOW_H */
