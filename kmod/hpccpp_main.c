// SPDX-License-Identifier: GPL-2.0
/*
 * HPCC++: Enhanced High Precision Congestion Control for TCP
 *
 * Every hop writes the load of its egress port into the packet (in-band
 * telemetry, INT), the receiver echoes it with the ACK, and the sender sets
 * window and pacing rate so that the most loaded link of the path carries eta
 * (99 %) of its bandwidth, in about one round trip:
 *
 *	U = max over links of  qlen / (B * T) + txRate / B
 *	W = W_c / (U / eta) + W_ai,	R = W / T
 *
 * The arithmetic is hpccpp_algo.h, lines 1-27 of the draft; this file is its
 * place in TCP. One record's way:
 *
 *	port agent	writes link, rate, qlen, tx_bytes, ts into the packet
 *	receiver	its host agent echoes them in the ACK
 *	sender		its host agent, a sock_ops program, parses the ACK's
 *			option just before tcp_ack(), under the socket lock
 *			and keeps it in its storage of the socket
 *	this module	reads it there in cong_control() of that same ACK, and
 *			when it begins to send
 *
 * The module finds this storage by a key that the module and the agent derive from the socket's
 * cookie. tcp_call_bpf(), which tcp_nv uses for BPF_SOCK_OPS_BASE_RTT, would return one 32-bit
 * word per call, and three calls cost more than all other work for an ACK.
 *
 * With Rx-HPCC (section 6.2) the receiver's host agent runs the same arithmetic and sends W four
 * times in T. The module applies it within the same bounds.
 *
 * A connection whose handshake brings no telemetry does not run hpccpp: the host agent gives it
 * the congestion control that it would otherwise have, and hpccpp with the first record
 * (stand_in() in tools/bpf/host_sender.h). Without an agent, and when telemetry ends for several
 * round trips, the flow runs Reno. As in tcp_dctcp, icsk_ca_ops is then a second set of operations,
 * "hpccpp-reno", until the first record that can be used.
 *
 * References
 *  draft-pan-tsvwg-hpccplus-02, "HPCC++: Enhanced High Precision Congestion
 *	Control", 2020
 *  Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019
 *
 * Differences from the draft; the reasons are at the functions. hpccpp_algo.h lists those of the
 * arithmetic.
 *  1. T is the flow's: minimum RTT, four packets, latency	hpccpp_base_rtt()
 *  2. cwnd is W in packets and one more, at least two	hpccpp_set_cwnd()
 *     W alone for the first ten, which TCP does not pace
 *  3. W may exceed min(B) * T by 1/8, and			hpccpp_get_params()
 *     by more where packets alternate among links		hpccpp_spread()
 *  4. T, min(B) and parameters change once in a round trip	hpccpp_path_changed()
 *  5. Loss, marks and timeouts halve W and W_c		hpccpp_decrease()
 *  6. Not all flows begin at line rate			hpccpp_enter(),
 *							hpccpp_start()
 *  7. Without telemetry of the bottleneck, Reno runs	hpccpp_fallback.c
 *  8. Telemetry without an ACK is used, too		hpccpp_tx_start()
 *  9. The probe of section 6.1 is data (net.hpccpp.probe)	hpccpp_has_idled()
 * 10. ack.seq is snd_una: no round trip ends in recovery	hpccpp_use()
 * 11. W after a pause is not W before it			hpccpp_start_anew()
 *
 * NOTE: pacing does the fine control. fq is not required, TCP's own pacing is
 * enabled. GSO packets are kept to a part of W: hpccpp_limit_burst().
 */

#include <linux/inet_diag.h>
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
 * Telemetry is lost after HPCCPP_SILENT_ACKS consecutive ACKs without a usable record, if the flow
 * has been sending for HPCCPP_STALE_T round trips. The number of ACKs keeps a flow that resumes
 * from falling back at once; the time tolerates sparse telemetry and lost ACKs. A flow that never
 * sends for as long without a pause falls back after HPCCPP_SILENT_ACKS_MANY such ACKs, or
 * 4 cwnd if that is more.
 */
#define HPCCPP_SILENT_ACKS	4
#define HPCCPP_SILENT_ACKS_MANY	256U

static unsigned long hpccpp_secret __read_mostly;	/* not 0 */
static struct tcp_congestion_ops tcp_hpccpp_reno_ops;
static struct tcp_congestion_ops tcp_hpccpp_ops;

/*
 * The flow's state; NULL before init, without memory, and when the socket has
 * another congestion control by now. Whenever an agent has been called this
 * may be new: other sock_ops programs of the cgroup ran too, and one
 * that calls bpf_setsockopt(TCP_CONGESTION) took the socket from us. check
 * distinguishes our pointer from data of a struct_ops congestion control, which
 * may write into ca_priv after such a call from its own init.
 */
static struct hpccpp_flow *hpccpp_flow(const struct sock *sk)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	const struct hpccpp_sock *ca = inet_csk_ca(sk);

	if (ops != &tcp_hpccpp_ops && ops != &tcp_hpccpp_reno_ops)
		return NULL;
	if (ca->check != ((unsigned long)ca->flow ^ hpccpp_secret))
		return NULL;
	return ca->flow;
}

/* For get_info, which may run at any time without the lock. */
static void hpccpp_publish(struct hpccpp_sock *ca, const struct hpccpp_flow *f, u64 R)
{
	WRITE_ONCE(ca->R, R);
	WRITE_ONCE(ca->T, f->T);
	WRITE_ONCE(ca->U, f->s.U);
	WRITE_ONCE(ca->W, f->s.W);
	WRITE_ONCE(ca->W_max, f->p.W_max);
}

/* R = W/T (line 27), where W is new; in fallback TCP paces, as for Reno. */
static void hpccpp_set_pacing(struct sock *sk, struct hpccpp_flow *f)
{
	struct hpccpp_sock *ca = inet_csk_ca(sk);
	u32 opt = HPCCPP_OPT_LEN(f->s.records);
	u32 mss = tcp_sk(sk)->mss_cache;
	u64 rate = hpccpp_rate(f->s.W, f->T);

	hpccpp_publish(ca, f, rate);
	if (ca->mode != HPCCPP_INT)
		return;
	/*
	 * TCP counts payload, for its own pacing and for the departure times that
	 * fq goes by. Data segments carry the option whose echo we got.
	 */
	rate = div_u64(rate * (mss > opt ? mss - opt : 1), f->p.packet);
	if (f->ceiling)		/* W rules, not R: as tcp_pacing_ca_ratio has it */
		rate += rate / 5;
	/* where long has 32 bits, 34 Gbit/s and more are not paced */
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/*
 * TCP does not pace the first ten data segments of a connection, and Linux acknowledges them at
 * once: as many as half of the receive window holds, 16 at most, unless it sends data
 * itself. False while that is so. A packet that is lost alone then takes a timeout.
 */
static bool hpccpp_is_paced(const struct sock *sk, struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (f->paced)
		return true;
	if (!tp->data_segs_out)
		f->data_in = tp->data_segs_in;
	f->paced = tp->data_segs_out >= TCP_INIT_CWND || f->data_in != (u8)tp->data_segs_in ||
		   tp->snd_wnd < 2 * TCP_INIT_CWND * tp->mss_cache;
	return f->paced;
}

/*
 * cwnd and bursts from W; acked is what this ACK delivered, packets. W counts bytes on the
 * wire, since qlen, tx_bytes and B do. Rounding and delayed ACKs must not cost what eta
 * leaves: one packet more. A window of one would wait for the receiver's delayed ACK: a
 * smaller W is kept by pacing. Until TCP paces, cwnd alone keeps W: it is W in packets, rounded
 * up, and may be one. While TCP recovers, cwnd grows by no more packets than were acknowledged.
 */
void hpccpp_set_cwnd(struct sock *sk, struct hpccpp_flow *f, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool paced = hpccpp_is_paced(sk, f);
	u32 cwnd = DIV_ROUND_UP(f->s.W, f->p.packet) + paced;

	if (f->conserving && (s32)(tp->delivered - f->conserve) >= 0)
		f->conserving = 0;
	if (f->conserving && acked)
		cwnd = min(cwnd, tcp_packets_in_flight(tp) + acked);
	else if (inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
		/* cwnd grows back with the ACKs */
		cwnd = min(cwnd, tcp_snd_cwnd(tp) + acked);
	if (f->probing)
		cwnd = HPCCPP_CWND_MIN;
	cwnd = max(cwnd, paced ? HPCCPP_CWND_MIN : 1U);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	hpccpp_limit_burst(sk, f, !tp->packets_out);
}

/*
 * Returns the feedback of the agent that has bound the flow, or NULL; under RCU. It takes 18
 * instructions on x86-64, and 11 for each storage of others before it, of about 1100 for
 * an ACK. A kfunc of ours that the agent calls, as kernels from 6.15 on allow, would save
 * no more, and the agent would need the module's BTF and be loaded after it.
 */
static struct hpccpp_feedback *hpccpp_feedback(const struct sock *sk)
{
	struct bpf_local_storage *storage = rcu_dereference(sk->sk_bpf_storage);
	u64 cookie = atomic64_read(&sk->sk_cookie);
	struct bpf_local_storage_elem *elem;

	if (!storage || !cookie)
		return NULL;
	hlist_for_each_entry_rcu(elem, &storage->list, snode) {
		struct bpf_local_storage_map *map;
		struct hpccpp_feedback *feedback;

		map = rcu_dereference(SDATA(elem)->smap);
		feedback = (struct hpccpp_feedback *)SDATA(elem)->data;
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

/* W is new, by telemetry of now. */
void hpccpp_updated(struct sock *sk, struct hpccpp_flow *f, bool loaded)
{
	f->last_int = tcp_sk(sk)->tcp_clock_cache;
	f->silent = 0;
	f->excused = 0;
	f->probing = 0;
	f->updates++;
	hpccpp_count(f->net, HPCCPP_S_UPDATES);
	f->loaded &= loaded;
	if (loaded && f->ceiling)
		hpccpp_end_ceiling(sk, f);
	hpccpp_set_pacing(sk, f);
}

/*
 * Is this more than the next record of links that we know? Else path and parameters stay
 * as they were when the round trip began.
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
	const struct hpccpp_sock *ca = inet_csk_ca(sk);
	u32 qlen;
	u64 queue_us;

	if (ca->mode != HPCCPP_INT || f->syn_queue) {
		qlen = hpccpp_longest_queue(rec, n, &queue_us);
		hpccpp_handshake_queue(sk, f, qlen, queue_us);
	}
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
static bool hpccpp_enter(struct sock *sk, struct hpccpp_flow *f,
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
	hpccpp_start(sk, f, rec);
	f->s.vain = 0;
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

	/* U includes the flows that N of data counts: the rest of the link is free */
	if (f->probing && f->s.W_f && f->s.U < p->eta)
		f->s.W_f = max_t(u64, f->s.W_f, hpccpp_bdp(B, p->T) *
			   (p->eta - f->s.U) >> HPCCPP_ONE_SHIFT);
	hpccpp_first_W(&f->s, p, idled ? B : 0);
	f->last_update_seq = tcp_sk(sk)->snd_nxt;
}

/* Lines 21-27 for n records. Returns false if none could be used. */
static bool hpccpp_use(struct sock *sk, struct hpccpp_flow *f,
		       const struct hpccpp_int *rec, int n)
{
	const struct hpccpp_sock *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct hpccpp_params *p = &f->p;
	u64 now = tp->tcp_clock_cache;
	unsigned long hit;
	bool round_ends, used, begins, idled = true;
	unsigned int g;
	u64 queue_us;

	/* line 22: SACK blocks do not count for ack.seq */
	round_ends = after(tp->snd_una, f->last_update_seq);
	if ((round_ends || ca->mode != HPCCPP_INT ||
	     hpccpp_path_changed(sk, f, rec, n)) &&
	    !hpccpp_learn_path(sk, f, rec, n, now))
		return false;
	/*
	 * A probe changes W only if a port reported its load (a bound is not a load) and more data
	 * than the probe waits to be sent.
	 */
	begins = ca->mode != HPCCPP_INT || (f->probing && rec->rate && tcp_send_head(sk));
	/* law draft begins at line rate */
	if (ca->mode != HPCCPP_INT)
		idled = hpccpp_enter(sk, f, rec, n) && p->law != HPCCPP_LAW_DRAFT;
	if (begins || f->probing)
		round_ends = false;
	used = hpccpp_measure_inflight(&f->s, p, rec, n, now);
	hit = f->s.hit;
	for_each_set_bit(g, &hit, HPCCPP_G_MAX)
		hpccpp_count(f->net, HPCCPP_S_GUARDS + g);
	if (used && begins)
		hpccpp_set_first_W(sk, f, idled);
	else if (used)
		hpccpp_compute_wind(&f->s, p, round_ends);
	if (used) {
		if (round_ends) {
			f->last_update_seq = tp->snd_nxt;	/* line 24 */
			hpccpp_longest_queue(rec, n, &queue_us);
			hpccpp_explain(sk, f, hpccpp_loaded(f, p, rec),
				       queue_us);
		}
		hpccpp_updated(sk, f, hpccpp_loaded(f, p, rec));
	} else if (ca->mode == HPCCPP_INT) {
		/* hpccpp_learn_path() may still have changed T and the bounds of W */
		f->s.W = hpccpp_bound(p, f->s.W);
		hpccpp_set_pacing(sk, f);
	}
	trace_hpccpp_update(sk, f, p, rec, round_ends, used);
	return used;
}

/* True if there is news since the last time, and it is of use. */
static bool hpccpp_read_feedback(struct sock *sk, struct hpccpp_flow *f,
				 struct hpccpp_feedback *feedback)
{
	feedback->unread = 0;
	f->rx = feedback->rx;
	if (feedback->gen == f->gen)
		return false;
	f->gen = feedback->gen;
	if (!feedback->gen)		/* a new agent, without an echo yet */
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
	struct hpccpp_feedback *feedback;
	bool used = false;

	rcu_read_lock();
	feedback = hpccpp_feedback(sk);
	*has_agent = !!feedback;
	f->agent |= *has_agent;
	/* a record cannot be used without a base RTT */
	if (feedback && (f->T || hpccpp_base_rtt(sk, f)))
		used = hpccpp_read_feedback(sk, f, feedback);
	rcu_read_unlock();
	return used;
}

/* Calls all sock_ops programs of the cgroup. The flow may not be ours afterwards. */
void hpccpp_call_agent(struct sock *sk, u32 what, u32 low, u32 high)
{
	u32 args[] = { 0, low, high, what };

	tcp_call_bpf(sk, BPF_SOCK_OPS_BASE_RTT, ARRAY_SIZE(args), args);
}

/*
 * Requests a call of the agent for a flow that no agent has bound: the flow selected hpccpp after
 * the handshake, or the agent is younger. TCP then calls the agent with the next segment, before
 * TCP computes the MSS.
 */
static void hpccpp_seek_agent(struct sock *sk, struct hpccpp_flow *f)
{
	struct tcp_sock *tp = tcp_sk(sk);

	f->sought = tcp_jiffies32;
	f->seek_segs = tp->segs_out;
#ifdef CONFIG_CGROUP_BPF
	if (!(tp->bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG))
		tp->bpf_sock_ops_cb_flags |= HPCCPP_CALL_FLAGS;
	tp->bpf_sock_ops_cb_flags |= HPCCPP_SEEK_FLAG;
#endif
}

/* With an ACK: a flow without an agent seeks one again, once in a tick. */
static bool hpccpp_update(struct sock *sk, struct hpccpp_flow *f)
{
	bool has_agent = true;
	bool used = hpccpp_read(sk, f, &has_agent);

	if (has_agent)
		return used;
	f->sent_params = 0;
	f->rx = 0;
	if (f->sought != (u8)tcp_jiffies32) {
		/* a segment has left since: an agent would have bound the flow */
		if (!f->agent && tcp_sk(sk)->segs_out != f->seek_segs) {
			f->agent = 1;
			hpccpp_count(f->net, HPCCPP_S_NO_AGENT);
		}
		hpccpp_seek_agent(sk, f);
	}
	return used;
}

/*
 * Clears the key of the feedback, so that an agent can bind the flow again. Called when the flow
 * ends, and when no telemetry arrives: the agent may be gone while another program still holds its
 * map.
 */
static void hpccpp_leave_agent(const struct sock *sk)
{
	struct hpccpp_feedback *feedback;

	rcu_read_lock();
	/* agents of two cgroups may have bound it */
	while ((feedback = hpccpp_feedback(sk)))
		feedback->key = 0;
	rcu_read_unlock();
}

/* A socket's operations follow its mode. */
void hpccpp_set_mode(struct sock *sk, enum hpccpp_mode mode)
{
	struct hpccpp_sock *ca = inet_csk_ca(sk);

	WRITE_ONCE(ca->mode, mode);
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops,
		   mode == HPCCPP_INT ? &tcp_hpccpp_ops : &tcp_hpccpp_reno_ops);
	if (mode == HPCCPP_INT) {
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE,
			SK_PACING_NEEDED);
		hpccpp_count(hpccpp_net(sk), HPCCPP_S_ENTER);
	} else {
		WRITE_ONCE(sk->sk_pacing_shift, HPCCPP_PACING_SHIFT);
	}
}

/* Telemetry has set W and controls it from now on. */
static void hpccpp_begin(struct sock *sk, struct hpccpp_flow *f)
{
	hpccpp_set_mode(sk, HPCCPP_INT);
	hpccpp_set_small_queue(sk, f);
	hpccpp_set_pacing(sk, f);
	hpccpp_set_cwnd(sk, f, 0);
}

static bool hpccpp_is_silent(const struct sock *sk, const struct hpccpp_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt = hpccpp_rtt(sk, f);

	/* ACKs full of SACK blocks have no room for an echo: not in recovery */
	if (f->silent < HPCCPP_SILENT_ACKS ||
	    inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
		return false;
	/*
	 * Not every ACK brings a window. With nothing in flight this may be the ACK of
	 * a FIN, which asked for nothing and may come long after the last data.
	 */
	return f->silent >= max(HPCCPP_SILENT_ACKS_MANY, 4 * tcp_snd_cwnd(tp)) ||
	       (tp->packets_out && tp->tcp_clock_cache - f->last_int >
				   (u64)rtt * HPCCPP_STALE_T * 1000);
}

/* Lost data has its one answer in the round trip that it is acked in. */
static void hpccpp_end_decrease(const struct sock *sk, struct hpccpp_flow *f)
{
	if (f->in_md && !before(tcp_sk(sk)->snd_una, f->md_seq))
		f->in_md = 0;
}

/* A packet alone waits for a delayed ACK; some hundred of the longest are a mean. */
static void hpccpp_sample_rtt(struct hpccpp_flow *f, const struct rate_sample *rs)
{
	u32 flight = f->looking ? HPCCPP_SLOW_FLIGHT / 2 : HPCCPP_SLOW_FLIGHT;

	if (rs->rtt_us > 0 && rs->prior_in_flight >= flight && !rs->is_app_limited &&
	    f->rtt_sum < 1U << 31) {
		f->rtt_sum += rs->rtt_us;
		f->rtt_n++;
	}
}

static void hpccpp_cong_control(HPCCPP_CONG_CONTROL_ARGS)
{
	const struct hpccpp_sock *ca = inet_csk_ca(sk);
	struct hpccpp_flow *f = hpccpp_flow(sk);
	bool silent = false;

	/* an active opener's SYN-ACK is acknowledged before init */
	if (!f)
		return;
	hpccpp_count(f->net, HPCCPP_S_ACKS);
	f->acks++;
	hpccpp_sample_rtt(f, rs);
	hpccpp_end_decrease(sk, f);
	if (!hpccpp_update(sk, f)) {
		/* the probe's own ACK has brought nothing */
		if (rs->acked_sacked > 0)
			f->probing = 0;
		f->silent++;
		silent = hpccpp_is_silent(sk, f);
		if (silent)
			hpccpp_fallback(sk, f);
	} else if (f->queue) {
		hpccpp_fallback_blind(sk, f);
	}
	if (ca->mode == HPCCPP_INT) {
		if (f->ceiling && rs->acked_sacked > 0) {
			hpccpp_raise_ceiling(sk, f, rs->acked_sacked);
			hpccpp_set_pacing(sk, f);
		}
		hpccpp_set_cwnd(sk, f, rs->acked_sacked);
	}
	if (f->rx)
		hpccpp_send_params(sk, f);
	if (silent)
		hpccpp_leave_agent(sk);
}

/* In fallback: looks whether INT has come, or come back. */
static void hpccpp_reno_in_ack_event(struct sock *sk, u32 flags)
{
	struct hpccpp_flow *f = hpccpp_flow(sk);

	if (f && hpccpp_update(sk, f) && hpccpp_sees_again(sk, f))
		hpccpp_begin(sk, f);
}

/*
 * Reacts to loss, a timeout or an ECN mark, which the draft leaves to the transport: once per round
 * trip, W becomes half of W_c. It stays if telemetry of this round trip has reduced it by as much
 * already (line 13 with U of twice eta).
 *
 * If a link that reports has been full since the last decrease (filled), W grows back to the W that
 * its load allows within two round trips, so that random loss costs no more. Otherwise a link
 * without telemetry may have lost the packet: from then on the window that Reno would have is an
 * upper bound of W (ceiling), until a link that reports is full or the ceiling is as large as T
 * allows.
 */
static void hpccpp_decrease(struct sock *sk, struct hpccpp_flow *f,
			    enum hpccpp_stat why)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rtt_ns = hpccpp_rtt(sk, f) * 1000ULL;
	u32 half;

	hpccpp_end_decrease(sk, f);
	if (f->in_md) {
		/* the loss before a timeout is real even if the timeout was spurious */
		if (why == HPCCPP_S_MD_RTO)
			f->prior_W = 0;
		return;
	}
	f->prior_W = 0;
	hpccpp_end_look(sk, f);
	hpccpp_get_params(sk, f, &f->p);
	if (f->s.U / 2 >= f->p.eta && tp->tcp_clock_cache - f->last_int <= rtt_ns) {
		hpccpp_count(f->net, HPCCPP_S_EXPLAINED);
		return;
	}
	hpccpp_count(f->net, why);
	/* TCP does not undo the reaction to a mark */
	f->prior_W = why == HPCCPP_S_MD_CWR ? 0 : f->s.W;
	f->in_md = 1;
	f->md_seq = tp->snd_nxt;
	/* two packets at least, as ssthresh of Reno */
	half = max(f->s.W_c / 2, 2 * hpccpp_wire_len(sk));
	hpccpp_begin_with(&f->s, min(f->s.W, half));
	f->prior_ceiling = f->ceiling;
	f->prior_filled = f->filled;
	f->prior_starting = f->starting;
	f->starting = 0;
	if (f->filled)
		hpccpp_end_stages(&f->s);
	else
		f->ceiling = half;
	f->filled = 0;
	hpccpp_get_params(sk, f, &f->p);
	f->last_update_seq = tp->snd_nxt;
	hpccpp_resend_params(f);
	hpccpp_set_pacing(sk, f);
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
		fallthrough;
	case TCP_CA_Loss:	/* CA_EVENT_LOSS is the event of a timeout */
		f->conserving = 0;
		break;
	case TCP_CA_CWR:	/* a mark, a loss that TLP has repaired, a full qdisc */
		hpccpp_decrease(sk, f, HPCCPP_S_MD_CWR);
		break;
	case TCP_CA_Recovery:
		hpccpp_decrease(sk, f, HPCCPP_S_MD_LOSS);
		f->conserving = 1;
		f->conserve = tp->delivered + tcp_packets_in_flight(tp);
		break;
	}
}

/*
 * The first packet leaves while nothing is in flight. Telemetry may have come since the
 * last ACK of data, with data of the peer. The time that nothing was sent is no silence.
 */
static void hpccpp_tx_start(struct sock *sk)
{
	struct hpccpp_flow *f = hpccpp_flow(sk);
	bool has_agent, was_paced;

	if (!f)
		return;
	was_paced = f->paced;
	if (hpccpp_read(sk, f, &has_agent)) {
		hpccpp_set_cwnd(sk, f, 0);
	} else {
		if (hpccpp_start_anew(sk, f)) {
			hpccpp_set_pacing(sk, f);
			hpccpp_set_cwnd(sk, f, 0);
		} else if (hpccpp_is_paced(sk, f) != was_paced) {
			hpccpp_set_cwnd(sk, f, 0);
		}
		if (hpccpp_has_idled(sk, f)) {
			f->probing = 1;
			hpccpp_count(f->net, HPCCPP_S_PROBES);
			tcp_snd_cwnd_set(tcp_sk(sk), HPCCPP_CWND_MIN);
		}
	}
	if (!f->probing)
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

/* The loss was spurious: restores W. */
static u32 hpccpp_undo_cwnd(struct sock *sk)
{
	struct hpccpp_flow *f = hpccpp_flow(sk);

	if (!f)
		return tcp_reno_undo_cwnd(sk);
	if (f->prior_W) {
		f->in_md = 0;
		f->filled |= f->prior_filled;
		f->starting = f->prior_starting;
		if (f->ceiling)
			f->ceiling = f->prior_ceiling ? max(f->ceiling, f->prior_ceiling) : 0;
		hpccpp_get_params(sk, f, &f->p);
		hpccpp_begin_with(&f->s, min(max(f->s.W, f->prior_W), f->p.W_max));
		f->prior_W = 0;
		hpccpp_set_pacing(sk, f);
		hpccpp_count(f->net, HPCCPP_S_UNDO);
	}
	f->conserving = 0;
	return max(tcp_snd_cwnd(tcp_sk(sk)),
		   DIV_ROUND_UP(f->s.W, hpccpp_wire_len(sk)) + 1);
}

/* W is ours, ssthresh is not used: keep what a fallback finds. */
static u32 hpccpp_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
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
		hpccpp_leave_agent(sk);
		hpccpp_count(hpccpp_net(sk), HPCCPP_S_NO_MEMORY);
		return NULL;
	}
	f->layout = HPCCPP_FLOW_LAYOUT;
	f->net = hpccpp_net(sk);
	return f;
}

static void hpccpp_init(struct sock *sk)
{
	struct hpccpp_sock *ca = inet_csk_ca(sk);
	struct hpccpp_flow *f;
	bool has_agent;

	hpccpp_set_flow(ca, NULL);
	hpccpp_set_mode(sk, HPCCPP_RENO);
	f = hpccpp_alloc(sk);
	if (!f)
		return;
	hpccpp_set_flow(ca, f);
	/*
	 * The handshake has brought the path's load and B: by the SYN-ACK, or to a
	 * server by the third ACK.
	 */
	if (hpccpp_read(sk, f, &has_agent))
		hpccpp_begin(sk, f);
	else
		hpccpp_count(f->net, HPCCPP_S_NO_INT);
	if (!has_agent)
		hpccpp_seek_agent(sk, f);
}

static void hpccpp_release(struct sock *sk)
{
	struct hpccpp_sock *ca = inet_csk_ca(sk);
	struct hpccpp_flow *f = hpccpp_flow(sk);

	ca->flow = NULL;
	ca->check = 0;
	if (!f)
		return;
	hpccpp_leave_agent(sk);
	if (ca->mode == HPCCPP_INT)
		hpccpp_hand_over(sk, f);
	kfree(f);
	WRITE_ONCE(sk->sk_pacing_shift, HPCCPP_PACING_SHIFT);
}

/*
 * ss prints tcp_bbr_info: bw is R, mrtt is T, pacing_gain is U and cwnd_gain
 * is W / W_max, the last two in 1/256.
 */
static size_t hpccpp_get_info(struct sock *sk, u32 ext, int *attr,
			      union tcp_cc_info *info)
{
	struct hpccpp_sock *ca = inet_csk_ca(sk);
	u32 W_max = READ_ONCE(ca->W_max);
	u64 R = READ_ONCE(ca->R);

	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1) |
		     1 << (INET_DIAG_VEGASINFO - 1))) ||
	    READ_ONCE(ca->mode) != HPCCPP_INT)
		return 0;
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo = lower_32_bits(R);
	info->bbr.bbr_bw_hi = upper_32_bits(R);
	info->bbr.bbr_min_rtt = READ_ONCE(ca->T);
	info->bbr.bbr_pacing_gain = READ_ONCE(ca->U) >> (HPCCPP_ONE_SHIFT - 8);
	if (W_max)
		info->bbr.bbr_cwnd_gain =
			div_u64((u64)READ_ONCE(ca->W) << 8, W_max);
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static struct tcp_congestion_ops tcp_hpccpp_ops __read_mostly = {
	/*
	 * As BBR's, or who runs a namespace could not choose it there. A user who picks
	 * it gains nothing without an agent, which takes an administrator.
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
	.get_info	= hpccpp_get_info,
};

/* Not registered: sockets get here and back by hpccpp_set_mode() only. */
static struct tcp_congestion_ops tcp_hpccpp_reno_ops __read_mostly = {
	.name		= "hpccpp-reno",
	.owner		= THIS_MODULE,
	.init		= hpccpp_init,
	.release	= hpccpp_release,
	.in_ack_event	= hpccpp_reno_in_ack_event,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.ssthresh	= tcp_reno_ssthresh,
	.get_info	= hpccpp_get_info,
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
