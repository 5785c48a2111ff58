// SPDX-License-Identifier: GPL-2.0
/*
 * HPCC++, mode receiver (section 6.2 of the draft): the receiver computes W. The sender sends it
 * the parameters for that, and applies its windows.
 */

#include <net/tcp.h>

#include "tcp_hpccpp.h"
#include "trace.h"

/*
 * Sends the agent the parameters with which the receiver computes W, if they have changed, or in
 * fallback 0, which ends that. The receiver goes on from a W that is smaller than its own. The
 * socket may have another congestion control afterwards.
 */
void hpccpp_send_params(struct sock *sk, struct hpccpp_flow *f)
{
	u32 args[4] = {};
	u32 what = 0, windows = 0, W_ai = 0;

	if (hpccpp_has_int(f)) {
		W_ai = f->p.W_ai;
		what = hpccpp_num_encode(f->p.T) << 12 | f->p.law << 8 |
		       hpccpp_eta(f->net, f->p.law);
	}
	/* N varies: a change of W_ai by less than an eighth does not matter */
	if (f->sent_params == what && abs((s64)f->sent_ai - W_ai) <= W_ai / 8)
		return;
	if (what)
		windows = (u32)hpccpp_num_encode(f->s.W) << 16 |
			  hpccpp_num_encode(W_ai);
	f->sent_params = what;
	f->sent_ai = W_ai;
	args[1] = what;
	args[2] = windows;
	args[3] = HPCCPP_CALL_SET_PARAMS;
	tcp_call_bpf(sk, BPF_SOCK_OPS_BASE_RTT, ARRAY_SIZE(args), args);
}

/*
 * Applies a window of the receiver, within the bounds of any window. A window that the receiver
 * computed before it received the last decrease does not raise W. Nor does the first one, because
 * the receiver does not know the flow's W yet.
 */
bool hpccpp_apply_window(struct sock *sk, struct hpccpp_flow *f, u32 word)
{
	static const struct hpccpp_int none;
	u32 value = HPCCPP_WINDOW_VALUE(word);
	u64 W = hpccpp_num_decode(HPCCPP_WINDOW_NUM(word));
	const struct tcp_sock *tp = tcp_sk(sk);
	bool loaded, round_ends;
	u64 B;

	switch (HPCCPP_WINDOW_KIND(word)) {
	case HPCCPP_WINDOW_B:
		B = hpccpp_rate_decode(value);
		/* one alone does not change a path that is known */
		if (hpccpp_rate_ok(B) && (!f->min_B || value == f->window_B))
			f->min_B = B / 8;
		f->window_B = value;
		break;
	case HPCCPP_WINDOW_U:
		f->s.U = value << (HPCCPP_ONE_SHIFT - HPCCPP_WINDOW_U_SHIFT);
		/* the RTT exceeds 1.5 T and the queue of now, which U bounds: T is too short */
		if (value < HPCCPP_WINDOW_VALUE(~0U) &&
		    tcp_min_rtt(tp) > f->T + f->T / 2 +
				      ((u64)f->T * f->s.U >> HPCCPP_ONE_SHIFT))
			f->syn_queue = 0;	/* it was not there */
		break;
	case HPCCPP_WINDOW_N:
		f->N = value;
		break;
	}
	f->by_switch = 1;
	f->edge_W = 0;
	hpccpp_learn_T(sk, f);
	if (!f->T || !f->min_B)
		return false;
	hpccpp_set_params(sk, f);
	if (!hpccpp_has_int(f)) {
		f->s.W = min_t(u64, hpccpp_cwnd_bytes(sk), HPCCPP_W_LIMIT);
		hpccpp_enter_steer(sk, f, NULL);
		f->sent_params = 0;
		f->last_update_seq = tp->snd_nxt;
	}
	if (!f->sent_params || f->sent_params == HPCCPP_PARAMS_RESEND ||
	    !HPCCPP_WINDOW_SERIAL(word))
		W = min_t(u64, W, f->s.W);
	hpccpp_begin_with(&f->s, clamp_t(u64, W, f->p.W_min, f->p.W_max));
	/* what echoes would go on from */
	f->s.W_f = 0;
	f->s.inc_stage = 0;
	f->s.records = f->s.records ?: 1;
	/* more than eta, because U of a bound, which belongs to no link, may be eta */
	loaded = f->s.U > f->p.eta;
	round_ends = after(tp->snd_una, f->last_update_seq);
	hpccpp_count(f->net, HPCCPP_S_WINDOWS);
	hpccpp_updated(sk, f, loaded, round_ends);
	if (round_ends) {
		f->last_update_seq = tp->snd_nxt;
		/* queues at links below eta drain: they do not count */
		hpccpp_check_delay(sk, f, loaded, 0, 0);
	}
	hpccpp_set_pacing(sk, f);
	trace_hpccpp_update(sk, f, &f->p, &none, round_ends, true);
	return true;
}
