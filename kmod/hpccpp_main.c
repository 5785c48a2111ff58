// SPDX-License-Identifier: GPL-2.0
/*
 * HPCC++: Enhanced High Precision Congestion Control for TCP
 *
 * Every hop writes the load of its egress port into the packet (in-band telemetry, INT). The
 * receiver echoes it with the ACK. The sender computes the window and the pacing rate that bring
 * the most loaded link of the path to eta (99 %) of its bandwidth, in about one round trip:
 *
 *	U = max over links of  qlen / (B * T) + txRate / B
 *	W = W_c / (U / eta) + W_ai,	R = W / T
 *
 * U is the load that all flows put on the link, in units of its bandwidth-delay product. W_c is
 * this flow's window in that load. So W_c / U is the window with which this flow would have the
 * same part of a full link, and a part eta of it is what line 13 of the draft asks for.
 * hpccpp_algo.h has this arithmetic; this file is its place in TCP. A record travels this way:
 *
 *	port agent	writes link, rate, qlen, tx_bytes and ts into the packet
 *	receiver	its host agent echoes them in the ACK
 *	sender		its host agent, a sock_ops program, parses the option of the ACK before
 *			tcp_ack(), under the socket's lock, and keeps it in its socket storage
 *	this module	reads it there in cong_control() of the same ACK, and when the flow
 *			begins to send (hpccpp_feedback.rst)
 *
 * A flow is in one of three states, which hpccpp_state.c draws: in STEER telemetry sets W, in
 * PROBE_LATENCY W is half to find the cause of a delay, and in COEXIST the Reno window bounds W,
 * because the bottleneck, or the whole path, reports no telemetry or may report none.
 *
 * In mode receiver (section 6.2) the host agent of the receiver runs the same arithmetic and sends
 * W four times in T. The module applies it within the same bounds.
 *
 * References
 *  draft-pan-tsvwg-hpccplus-02, "HPCC++: Enhanced High Precision Congestion Control", 2020
 *  Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019
 *
 * Differences from the draft. The reasons are at the functions.
 *  D-T		T is the flow's minimum RTT, four packets and latency	hpccpp_base_rtt()
 *  D-CWND	cwnd is W in packets and one more, at least two;	hpccpp_set_cwnd()
 *		W alone for the first ten, which TCP does not pace
 *  D-BOUNDS	W is kept in W_min to W_max, which exceeds		hpccpp_get_params()
 *		min(B) * T by 1/8, and by more where packets		hpccpp_spread()
 *		alternate among links
 *  D-WAI	W_ai has a floor of 1.2 % of a packet			hpccpp_get_params()
 *  D-ROUND	T, min(B) and parameters change once in a round		hpccpp_path_changed()
 *		trip
 *  D-LOSS	loss, marks and timeouts halve W and W_c		hpccpp_decrease()
 *  D-COEXIST	without telemetry of the bottleneck, the Reno window	hpccpp_state.c
 *		bounds W
 *  D-START	law averaged: a flow does not begin at line rate	hpccpp_first_W(),
 *								hpccpp_enter_steer()
 *  D-IDLE	W after a pause is not W before it			hpccpp_start_anew()
 *  D-PROBE	the probe of section 6.1 is data			hpccpp_has_idled()
 *  D-NOACK	telemetry without an ACK is used, too			hpccpp_tx_start()
 *  D-SEQ	ack.seq is snd_una: no round trip ends in recovery	hpccpp_use()
 *  D-WC	law averaged: W_c is the average of windows		hpccpp_average_W()
 *  D-SHARE	law averaged: W also goes towards the fair share	hpccpp_fair_step()
 *  D-LINK	links are distinguished by id; one record gives	hpccpp_measure_link()
 *		the load that the port has measured
 *  D-RECORD	a record that cannot be right is left out		enum hpccpp_guard,
 *								hpccpp_min_B()
 *  D-BOUND	a record without a rate is a bound of the load		hpccpp_measure_inflight()
 *  D-TAU	if no link has a load, the first one sets tau		hpccpp_measure_inflight()
 *  D-EDGE	where only hosts have port agents, delay counts as	hpccpp_edge_us()
 *		a queue
 *  D-SLOW	the queue of a flow with less than two packets in T	hpccpp_drain()
 *		counts over tau
 *
 * Pacing does the fine control. fq is not required, TCP's own pacing is enabled. GSO packets are
 * kept to a part of W: hpccpp_limit_burst().
 */

#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "compat.h"
#include "tcp_hpccpp.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/*
 * Telemetry has ended after HPCCPP_NO_INT_ACKS consecutive ACKs without a usable record, if the
 * flow has been sending for HPCCPP_STALE_T round trips. The number of ACKs keeps a flow that
 * resumes from falling back at once; the time tolerates sparse telemetry and lost ACKs. A flow
 * that sends only in short bursts falls back after HPCCPP_NO_INT_ACKS_MANY such
 * ACKs, or 4 cwnd if that is more.
 */
#define HPCCPP_NO_INT_ACKS	4
#define HPCCPP_NO_INT_ACKS_MANY	256U

static unsigned long hpccpp_secret __read_mostly;	/* not 0 */

/*
 * Returns the flow's state, or NULL before init and without memory. check distinguishes our pointer
 * from data of a struct_ops congestion control, whose init may call bpf_setsockopt() to choose
 * hpccpp and then write into ca_priv.
 */
static struct hpccpp_flow *hpccpp_flow(const struct sock *sk)
{
	const struct hpccpp_sock *ca = inet_csk_ca(sk);

	if (ca->check != ((unsigned long)ca->flow ^ hpccpp_secret))
		return NULL;
	return ca->flow;
}

/*
 * Returns the feedback of the agent that has bound the flow, or NULL; under RCU. It takes 18
 * instructions on x86-64, and 11 for each storage of others before it, of about 1100 for
 * an ACK. A kfunc of ours that the agent calls, as kernels from 6.15 on allow, would save
 * no more, and the agent would need the module's BTF and be loaded after it.
 */
static const struct hpccpp_feedback *hpccpp_feedback(const struct sock *sk)
{
	struct bpf_local_storage *storage = rcu_dereference(sk->sk_bpf_storage);
	u64 cookie = atomic64_read(&sk->sk_cookie);
	struct bpf_local_storage_elem *elem;

	if (!storage || !cookie)
		return NULL;
	hlist_for_each_entry_rcu(elem, &storage->list, snode) {
		struct bpf_local_storage_map *map;
		const struct hpccpp_feedback *feedback;

		map = rcu_dereference(SDATA(elem)->smap);
		feedback = (const struct hpccpp_feedback *)SDATA(elem)->data;
		if (map && map->map.value_size >= sizeof(*feedback) &&
		    feedback->key == (cookie ^ HPCCPP_FEEDBACK_KEY))
			return feedback;
	}
	return NULL;
}

/* Returns true if a link that reports is full. A bound has no rate and belongs to no link. */
static bool hpccpp_loaded(const struct hpccpp_flow *f,
			  const struct hpccpp_params *p,
			  const struct hpccpp_int *rec)
{
	return f->s.U >= p->eta && rec->rate;
}

/*
 * Returns true if T, min(B) or the parameters may have changed. Otherwise they stay as they were
 * when the round trip began.
 */
static bool hpccpp_path_changed(const struct sock *sk,
				const struct hpccpp_flow *f,
				const struct hpccpp_int *rec, int n)
{
	int i;

	if (f->updates < HPCCPP_PATH_UPDATES || f->syn_queue ||
	    f->min_rtt != tcp_min_rtt(tcp_sk(sk)))
		return true;
	/* a known link that is slower than min(B) had aged out of min(B) */
	for (i = 0; i < n; i++)
		if (rec[i].rate && hpccpp_known_B(&f->s, &rec[i]) < f->min_B)
			return true;
	return false;
}

/* T, min(B) and the parameters that follow. False: no link is known. */
static bool hpccpp_learn_path(struct sock *sk, struct hpccpp_flow *f,
			      const struct hpccpp_int *rec, int n, u64 now)
{
	if (!hpccpp_has_int(f) || f->syn_queue)
		hpccpp_handshake_queue(sk, f, rec, n);
	hpccpp_learn_T(sk, f);
	/* a flow that is new to its path uses each record */
	f->min_B = hpccpp_min_B(&f->s, f->updates < HPCCPP_PATH_UPDATES ? 0 :
				f->min_B, rec, n, f->T, now) ?: f->min_B;
	if (!f->T || !f->min_B)
		return false;
	hpccpp_set_params(sk, f);
	return true;
}

/*
 * Sets W for the flow's first record, or the first after a time without telemetry, before
 * hpccpp_first_W() reduces it by the load. For a new flow, W is line rate, min(B) T. A flow is new
 * if its first flight is not delivered yet and nothing was lost. Otherwise the flow comes from a
 * fallback or from another congestion control: W is its cwnd, and min(B) T at most. Returns true
 * if U does not include data of this flow.
 */
static bool hpccpp_begin(struct sock *sk, struct hpccpp_flow *f,
			 const struct hpccpp_int *rec, int n)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 w_init = hpccpp_w_init(f);
	u64 queue_us;
	/*
	 * The threshold may be cached from an earlier connection (tcp_no_ssthresh_metrics_save is
	 * 0). A queue beyond the range of a record leaves T unknown, and the flow is not new.
	 */
	bool new = !f->updates && tp->delivered <= hpccpp_first_flight(sk) &&
		   (tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH || !tp->lost) &&
		   hpccpp_longest_queue(rec, n, &queue_us) != HPCCPP_QLEN_MAX;

	if (!new)
		w_init = min_t(u64, w_init, hpccpp_cwnd_bytes(sk));
	f->s.W = w_init;
	hpccpp_enter_steer(sk, f, rec);
	return new || !tp->data_segs_out;
}

/*
 * Computes the first window of a flow that begins, or resumes with a probe, from records that have
 * been measured. idled: U does not include data of this flow.
 */
static void hpccpp_set_first_W(struct sock *sk, struct hpccpp_flow *f, bool idled)
{
	u64 B = hpccpp_bottleneck_B(&f->s) ?: f->min_B;
	const struct hpccpp_params *p = &f->p;

	/* law draft begins at line rate */
	idled &= p->law != HPCCPP_LAW_DRAFT || f->probing;
	/* U includes the N flows that are sending: this flow may take what U leaves free */
	if (f->probing && f->s.W_f && f->s.U < p->eta)
		f->s.W_f = clamp_t(u64, hpccpp_bdp(B, p->T) * (p->eta - f->s.U) >> HPCCPP_ONE_SHIFT,
				   f->s.W_f, HPCCPP_W_LIMIT);
	hpccpp_first_W(&f->s, p, idled ? B : 0);
	f->last_update_seq = tcp_sk(sk)->snd_nxt;
}

/*
 * D-EDGE. Where only hosts have port agents, no record reports the queues between switches.
 * Returns the time that packets spend there, us: the RTT beyond T, if each of the last RTT samples,
 * eight at most, is beyond T by more than an eighth. All of it counts, because the queue has to
 * become empty. Returns 0 if a switch has written one of the flow's records, as agents there report
 * more; and if T is configured. The record of a SYN has no link id.
 */
static u32 hpccpp_edge_us(struct hpccpp_flow *f, const struct hpccpp_int *rec, int n)
{
	u32 rtt = min(f->rtt_least, f->rtt_before), T = f->T + f->T / 8 + HPCCPP_DEV_MIN;
	int i;

	if (f->by_switch)
		return 0;
	for (i = 0; i < n; i++)
		f->by_switch |= rec[i].rate && rec[i].link && !(rec[i].link & HPCCPP_LINK_EDGE);
	if (f->by_switch || rtt == ~0U || rtt <= T || READ_ONCE(f->net->base_rtt_us))
		return 0;
	/* over a WAN Reno takes its share of queues */
	if (f->T > HPCCPP_WAN_T)
		return 0;
	/* not while half a window shows whether the delay is latency */
	if (f->mode != HPCCPP_STEER && (f->mode != HPCCPP_COEXIST || f->cause != HPCCPP_C_LOSS))
		return 0;
	return rtt - f->T - HPCCPP_DEV_MIN;
}

/* Copies n records. The queue of each is at least what its link sends in us. */
static void hpccpp_add_delay(struct hpccpp_int *to, const struct hpccpp_int *rec, int n, u32 us)
{
	int i;

	for (i = 0; i < n; i++) {
		u64 bps = hpccpp_rate_decode(rec[i].rate), queue;

		to[i] = rec[i];
		if (!hpccpp_rate_ok(bps))
			continue;
		queue = div_u64(bps / 8 * us, USEC_PER_SEC) >> HPCCPP_QLEN_SHIFT;
		to[i].qlen = clamp_t(u64, queue, rec[i].qlen, HPCCPP_QLEN_MAX);
	}
}

/*
 * The links that report their load are not the bottleneck of a flow with delay. Without a bound, W
 * would grow in one round trip as far as these links allow, when the delay ends: by a factor of
 * five, if they have five times the rate of the bottleneck. Returns the bound of W:
 *
 *	edge_W + W_f / 4 * 2^edge_rounds
 *
 * edge_W is W when the last round trip with delay ended. The growth does not depend on W, so that
 * flows which share the bottleneck come to equal windows. Where there is no W_f (law draft, and
 * after a loss), it is a quarter of min(B) T. us is the delay, 0 if there is none.
 */
static u32 hpccpp_edge_most(struct hpccpp_flow *f, u32 us)
{
	u64 W;

	if (us && !f->edge_W)
		f->edge_W = f->s.W;
	if (!f->edge_W)
		return f->p.W_max;
	W = f->s.W_f ?: hpccpp_bdp(f->min_B, f->T) / 4;
	return min_t(u64, f->edge_W + (W << f->edge_rounds) / 4, f->p.W_max);
}

/* Lines 11-20, and that bound */
static void hpccpp_compute_W(struct hpccpp_flow *f, u32 us, bool round_ends)
{
	u32 W_max = f->p.W_max;

	f->p.W_max = hpccpp_edge_most(f, us);
	hpccpp_compute_wind(&f->s, &f->p, round_ends);
	f->p.W_max = W_max;
}

/* A round trip has ended, with delay or without. */
static void hpccpp_edge_round(struct hpccpp_flow *f, u32 us)
{
	if (us) {
		f->edge_W = f->s.W;
		f->edge_rounds = 0;
	} else if (f->edge_W && ++f->edge_rounds == HPCCPP_EDGE_GROWTH) {
		f->edge_W = 0;
		f->edge_rounds = 0;
	}
	if (f->rtt_age++ == HPCCPP_EDGE_AGE)
		hpccpp_forget_rtts(f);
}

/* Lines 21-27 for n records. Returns false if none could be used. */
static bool hpccpp_use(struct sock *sk, struct hpccpp_flow *f,
		       const struct hpccpp_int *rec, int n)
{
	bool round_ends, used, first = !hpccpp_has_int(f), begins, loaded;
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct hpccpp_params *p = &f->p;
	u64 now = tp->tcp_clock_cache, queue_us;
	const struct hpccpp_int *reported = rec;
	struct hpccpp_int edge[HPCCPP_REC_MAX];
	unsigned long hit;
	unsigned int g;
	u32 us;

	/* line 22: SACK blocks do not count for ack.seq */
	round_ends = after(tp->snd_una, f->last_update_seq);
	if ((round_ends || first || hpccpp_path_changed(sk, f, rec, n)) &&
	    !hpccpp_learn_path(sk, f, rec, n, now))
		return false;
	us = hpccpp_edge_us(f, rec, n);
	if (us) {
		hpccpp_add_delay(edge, rec, n, us);
		rec = edge;
	}
	/*
	 * A probe changes W only if a port reported its load (a bound is not a load) and more data
	 * than the probe waits to be sent.
	 */
	begins = first || (f->probing && rec->rate && tcp_send_head(sk));
	if (begins || f->probing)
		round_ends = false;
	used = hpccpp_measure_inflight(&f->s, p, rec, n, now);
	hit = f->s.hit;
	for_each_set_bit(g, &hit, HPCCPP_G_MAX)
		hpccpp_count(f->net, HPCCPP_S_GUARDS + g);
	if (used && begins)
		hpccpp_set_first_W(sk, f, !first || hpccpp_begin(sk, f, rec, n));
	else if (used)
		hpccpp_compute_W(f, us, round_ends);
	else if (!first)
		/* hpccpp_learn_path() may have changed T and the bounds of W */
		f->s.W = hpccpp_bound(p, f->s.W);
	if (used) {
		loaded = hpccpp_loaded(f, p, rec);
		hpccpp_updated(sk, f, loaded, round_ends);
		if (round_ends) {
			f->last_update_seq = tp->snd_nxt;	/* line 24 */
			hpccpp_edge_round(f, us);
			hpccpp_longest_queue(reported, n, &queue_us);
			hpccpp_check_delay(sk, f, loaded, max(queue_us, us),
					   us > queue_us ? us : 0);
		}
	}
	if (hpccpp_has_int(f))
		hpccpp_set_pacing(sk, f);
	trace_hpccpp_update(sk, f, p, rec, round_ends, used);
	return used;
}

/* True if there is news since the last time, and it is of use. */
static bool hpccpp_read_feedback(struct sock *sk, struct hpccpp_flow *f,
				 const struct hpccpp_feedback *feedback)
{
	f->rx = feedback->rx;
	if (feedback->gen == f->gen)
		return false;
	f->gen = feedback->gen;
	/* a new agent, without an echo yet; or init() of a flow that is under way */
	if (!feedback->gen || (!f->acks && tcp_sk(sk)->data_segs_out > TCP_INIT_CWND))
		return false;
	hpccpp_count(f->net, HPCCPP_S_INT);
	if (feedback->window)
		return hpccpp_apply_window(sk, f, feedback->window);
	return hpccpp_use(sk, f, feedback->rec,
			  min_t(int, feedback->n, HPCCPP_REC_MAX));
}

/* Use what is new from the agent that has the flow, if there is one. */
static bool hpccpp_read(struct sock *sk, struct hpccpp_flow *f, bool *has_agent)
{
	const struct hpccpp_feedback *feedback;
	bool used = false;

	rcu_read_lock();
	feedback = hpccpp_feedback(sk);
	*has_agent = !!feedback;
	/* a record cannot be used without a base RTT */
	if (feedback && (f->T || hpccpp_base_rtt(sk, f)))
		used = hpccpp_read_feedback(sk, f, feedback);
	rcu_read_unlock();
	return used;
}

/*
 * Requests a call of the agent for a flow that no agent has bound, once in a tick: the flow
 * selected hpccpp after the handshake, or the agent is younger. TCP then calls the agent with the
 * next segment, before TCP computes the MSS. Also if telemetry ends: the agent may be gone, and a
 * younger one in its place.
 */
static void hpccpp_seek_agent(struct sock *sk, struct hpccpp_flow *f)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (f->sought == (u8)tcp_jiffies32)
		return;
	f->sought = tcp_jiffies32;
	/* a segment has left since: an agent would have bound the flow */
	if (f->seeks == 1 && f->seek_segs != (u8)tp->segs_out)
		hpccpp_count(f->net, HPCCPP_S_NO_AGENT);
	if (!f->seeks || f->seek_segs != (u8)tp->segs_out)
		f->seeks += f->seeks < 2;
	f->seek_segs = tp->segs_out;
	if (!(tp->bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG))
		tp->bpf_sock_ops_cb_flags |= HPCCPP_CALL_FLAGS;
	tp->bpf_sock_ops_cb_flags |= HPCCPP_SEEK_FLAG;
}

/* Uses what is new with an ACK. A flow without an agent seeks one. */
static bool hpccpp_update(struct sock *sk, struct hpccpp_flow *f)
{
	bool has_agent;
	bool used = hpccpp_read(sk, f, &has_agent);

	if (has_agent) {
		f->seeks = 2;
	} else {
		f->sent_params = 0;
		f->rx = 0;
		hpccpp_seek_agent(sk, f);
	}
	return used;
}

/* Returns true if telemetry has ended. */
static bool hpccpp_int_ends(const struct sock *sk, const struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt = hpccpp_rtt(sk, f);

	/* ACKs full of SACK blocks have no room for an echo: not in recovery */
	if (!hpccpp_has_int(f) || f->no_int < HPCCPP_NO_INT_ACKS ||
	    inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
		return false;
	/*
	 * Not every ACK brings a window. With nothing in flight this may be the ACK of
	 * a FIN, which asked for nothing and may come long after the last data.
	 */
	return f->no_int >= max(HPCCPP_NO_INT_ACKS_MANY, 4 * tcp_snd_cwnd(tp)) ||
	       (tp->packets_out && tp->tcp_clock_cache - f->last_int >
				   (u64)rtt * HPCCPP_STALE_T * 1000);
}

/*
 * A packet alone waits for a delayed ACK. Summing stops at 2^31 us, after at least 500 samples, so
 * that rtt_sum cannot wrap.
 */
static void hpccpp_sample_rtt(struct hpccpp_flow *f, const struct rate_sample *rs)
{
	u32 flight = f->mode == HPCCPP_PROBE_LATENCY ? HPCCPP_SLOW_FLIGHT / 2 : HPCCPP_SLOW_FLIGHT;

	if (rs->rtt_us > 0 && rs->prior_in_flight >= HPCCPP_EDGE_FLIGHT) {
		f->rtt_age = 0;
		if (f->rtt_acks++ == HPCCPP_EDGE_ACKS) {
			f->rtt_acks = 1;
			f->rtt_before = f->rtt_least;
			f->rtt_least = ~0U;
		}
		f->rtt_least = min_t(u32, f->rtt_least, rs->rtt_us);
	}
	if (rs->rtt_us > 0 && rs->prior_in_flight >= flight && !rs->is_app_limited &&
	    f->rtt_sum < 1U << 31 && f->rtt_n < 0xffff) {
		f->rtt_sum += rs->rtt_us;
		f->rtt_n++;
	}
}

/* Without memory for a flow's state: Reno, without packet conservation, pacing and idle restart */
static void hpccpp_reno(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		tcp_snd_cwnd_set(tp, clamp(tp->snd_ssthresh, 1U, tcp_snd_cwnd(tp)));
	else if (rs->acked_sacked > 0)
		tcp_reno_cong_avoid(sk, tp->snd_una, rs->acked_sacked);
}

static void hpccpp_cong_control(HPCCPP_CONG_CONTROL_ARGS)
{
	struct hpccpp_flow *f = hpccpp_flow(sk);
	bool acked = rs->acked_sacked > 0;

	/* also an active opener's SYN-ACK, which is acknowledged before init */
	if (!f) {
		hpccpp_reno(sk, rs);
		return;
	}
	hpccpp_count(f->net, HPCCPP_S_ACKS);
	f->acks++;
	hpccpp_sample_rtt(f, rs);
	hpccpp_end_decrease(sk, f);
	if (!hpccpp_update(sk, f)) {
		/* the probe's own ACK has brought nothing */
		if (acked)
			f->probing = 0;
		f->no_int += inet_csk(sk)->icsk_ca_state < TCP_CA_CWR;
		if (hpccpp_int_ends(sk, f)) {
			hpccpp_lose_int(sk, f);
			hpccpp_seek_agent(sk, f);
		}
	}
	if (f->mode == HPCCPP_COEXIST) {
		if (acked)
			hpccpp_grow_reno(sk, f, rs->acked_sacked);
		hpccpp_set_pacing(sk, f);
	}
	hpccpp_set_cwnd(sk, f, acked ? rs->acked_sacked : 0);
	/* last, as it calls eBPF programs, which may choose another congestion control */
	if (f->rx)
		hpccpp_send_params(sk, f);
}

static void hpccpp_set_state(struct sock *sk, u8 new_state)
{
	struct hpccpp_flow *f = hpccpp_flow(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!f)
		return;
	switch (new_state) {
	case TCP_CA_Open: case TCP_CA_Disorder:
		hpccpp_end_recovery(sk, f);
		break;
	case TCP_CA_CWR:	/* a mark, a loss that TLP has repaired, a full qdisc */
		hpccpp_decrease(sk, f, HPCCPP_S_MD_CWR);
		break;
	case TCP_CA_Recovery:
		hpccpp_decrease(sk, f, HPCCPP_S_MD_LOSS);
		f->conserve = tp->delivered + tcp_packets_in_flight(tp);
		break;
	}
}

/*
 * The first packet leaves while nothing is in flight. Telemetry may have come since the
 * last ACK of data, with data of the peer. An idle flow receives no telemetry; the time without
 * telemetry starts now.
 */
static void hpccpp_tx_start(struct sock *sk)
{
	struct hpccpp_flow *f = hpccpp_flow(sk);
	bool has_agent;

	if (!f)
		return;
	if (hpccpp_has_int(f) && hpccpp_paused(sk, f, HPCCPP_STALE_T))
		hpccpp_forget_edge(f);
	if (hpccpp_read(sk, f, &has_agent)) {
		hpccpp_set_cwnd(sk, f, 0);
	} else if (!hpccpp_has_int(f)) {
		hpccpp_restart_reno(sk, f);
		hpccpp_set_cwnd(sk, f, 0);
	} else {
		/* data of the peer may have changed whether TCP paces */
		if (hpccpp_start_anew(sk, f) || tcp_sk(sk)->data_segs_out < TCP_INIT_CWND) {
			hpccpp_set_pacing(sk, f);
			hpccpp_set_cwnd(sk, f, 0);
		}
		if (hpccpp_has_idled(sk, f)) {
			f->probing = 1;
			hpccpp_forget_edge(f);
			hpccpp_count(f->net, HPCCPP_S_PROBES);
			tcp_snd_cwnd_set(tcp_sk(sk), HPCCPP_CWND_MIN);
		}
	}
	if (hpccpp_has_int(f) && !f->probing)
		hpccpp_limit_burst(sk, f, false);
	f->last_int = tcp_sk(sk)->tcp_clock_cache;
}

static void hpccpp_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct hpccpp_flow *f = hpccpp_flow(sk);

	if (HPCCPP_IS_TX_START(event))
		hpccpp_tx_start(sk);
	else if (f && event == CA_EVENT_LOSS)
		hpccpp_decrease(sk, f, HPCCPP_S_MD_RTO);
}

/* The loss was spurious. */
static u32 hpccpp_undo_cwnd(struct sock *sk)
{
	struct hpccpp_flow *f = hpccpp_flow(sk);

	if (!f)
		return tcp_reno_undo_cwnd(sk);
	hpccpp_undo(sk, f);
	f->conserve = tcp_sk(sk)->delivered;
	return max(tcp_snd_cwnd(tcp_sk(sk)),
		   DIV_ROUND_UP(f->s.W, hpccpp_wire_len(sk)) + 1);
}

/*
 * Counts in COEXIST. With telemetry, it changes once for each decrease. The ACK that ends one may
 * begin the next, before cong_control() clears md_seq.
 */
static u32 hpccpp_ssthresh(struct sock *sk)
{
	const struct hpccpp_flow *f = hpccpp_flow(sk);

	if (!f || !hpccpp_has_int(f))
		return tcp_reno_ssthresh(sk);
	if (f->md_seq && before(tcp_sk(sk)->snd_una, f->md_seq))
		return tcp_sk(sk)->snd_ssthresh;
	return hpccpp_half(sk, f) / hpccpp_wire_len(sk);
}

static void hpccpp_set_flow(struct hpccpp_sock *ca, struct hpccpp_flow *f)
{
	ca->flow = f;
	ca->check = (unsigned long)f ^ hpccpp_secret;
}

/* The flow's state, in softirq maybe. Telemetry needs it, Reno does not. */
static struct hpccpp_flow *hpccpp_alloc(struct sock *sk)
{
	struct hpccpp_flow *f;

	f = kzalloc(sizeof(*f), GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!f) {
		hpccpp_count(hpccpp_net(sk), HPCCPP_S_NO_MEMORY);
		return NULL;
	}
	f->layout = HPCCPP_FLOW_LAYOUT;
	f->net = hpccpp_net(sk);
	hpccpp_forget_rtts(f);
	return f;
}

static void hpccpp_init(struct sock *sk)
{
	struct hpccpp_sock *ca = inet_csk_ca(sk);
	struct hpccpp_flow *f;
	bool has_agent;

	hpccpp_set_flow(ca, NULL);
	f = hpccpp_alloc(sk);
	if (!f) {
		/* cwnd is the limit then: TCP does not pace for a cong_control() */
		WRITE_ONCE(sk->sk_pacing_rate, READ_ONCE(sk->sk_max_pacing_rate));
		return;
	}
	hpccpp_set_flow(ca, f);
	hpccpp_enter_coexist(sk, f, HPCCPP_C_NO_INT, hpccpp_cwnd_bytes(sk));
	/*
	 * The handshake has brought the path's load and B: by the SYN-ACK, or to a server by the
	 * third ACK. Later, feedback may be of the time before another congestion control.
	 */
	if (hpccpp_read(sk, f, &has_agent))
		hpccpp_set_cwnd(sk, f, 0);
	else
		hpccpp_count(f->net, HPCCPP_S_NO_INT);
	f->sought = tcp_jiffies32 - 1;
	if (!has_agent)
		hpccpp_seek_agent(sk, f);
}

/*
 * Another congestion control may follow. After STEER, it does not begin with slow start, unless
 * the socket is disconnected.
 */
static void hpccpp_release(struct sock *sk)
{
	struct hpccpp_sock *ca = inet_csk_ca(sk);
	struct hpccpp_flow *f = hpccpp_flow(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->flow = NULL;
	ca->check = 0;
	if (!f)
		return;
	if (f->mode != HPCCPP_COEXIST && inet_csk(sk)->icsk_ca_state < TCP_CA_CWR &&
	    sk->sk_state != TCP_CLOSE)
		WRITE_ONCE(tp->snd_ssthresh, max(tcp_snd_cwnd(tp), HPCCPP_CWND_MIN));
	hpccpp_unlimit_burst(sk, f);
	kfree(f);
}

static struct tcp_congestion_ops tcp_hpccpp_ops __read_mostly = {
	/*
	 * Not restricted, as BBR is not: otherwise root of a namespace could not choose it there. A
	 * user who chooses it gains nothing without an agent, which takes an administrator.
	 */
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "hpccpp",
	.owner		= THIS_MODULE,
	.init		= hpccpp_init,
	.release	= hpccpp_release,
	.cong_control	= hpccpp_cong_control,
	.set_state	= hpccpp_set_state,
	.cwnd_event	= hpccpp_cwnd_event,
	HPCCPP_TX_START_OP(hpccpp_tx_start)
	.undo_cwnd	= hpccpp_undo_cwnd,
	.ssthresh	= hpccpp_ssthresh,
};

static int __init hpccpp_register(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct hpccpp_sock) > ICSK_CA_PRIV_SIZE);

	hpccpp_secret = get_random_long() | 1;

	err = register_pernet_subsys(&hpccpp_net_ops);
	if (err)
		return err;
	err = tcp_register_congestion_control(&tcp_hpccpp_ops);
	if (err)
		unregister_pernet_subsys(&hpccpp_net_ops);
	return err;
}

static void __exit hpccpp_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_hpccpp_ops);
	unregister_pernet_subsys(&hpccpp_net_ops);
}

module_init(hpccpp_register);
module_exit(hpccpp_unregister);

MODULE_AUTHOR("The tcp_hpccpp authors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("HPCC++: high precision congestion control from in-band telemetry");
MODULE_VERSION("0.1");
