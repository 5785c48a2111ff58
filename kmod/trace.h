/* SPDX-License-Identifier: GPL-2.0 */
/* hpccpp:hpccpp_update: every variable of one update of the algorithm. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hpccpp

#if !defined(HPCCPP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define HPCCPP_TRACE_H

#include <linux/tracepoint.h>
#include <net/tcp.h>
#include <trace/events/net_probe_common.h>
#include "hpccpp_flow.h"

TRACE_EVENT(hpccpp_update,

	TP_PROTO(const struct sock *sk, const struct hpccpp_flow *f,
		 const struct hpccpp_params *p, const struct hpccpp_int *rec,
		 bool update_wc, bool used),

	TP_ARGS(sk, f, p, rec, update_wc, used),

	TP_STRUCT__entry(
		__field(const void *, sk)
		__array(u8, saddr, sizeof(struct sockaddr_in6))
		__array(u8, daddr, sizeof(struct sockaddr_in6))
		__field(u16, link)
		__field(u16, rec_rate)
		__field(u32, rec_ts)
		__field(u32, rec_tx_bytes)
		__field(u32, rec_qlen)
		__field(u8, rec_U)
		__field(u8, rec_N)
		__field(u8, records)
		__field(u16, bottleneck)
		__field(bool, used)
		__field(bool, update_wc)
		__field(u32, u)
		__field(u32, tau)
		__field(u32, U)
		__field(u32, W)
		__field(u32, W_c)
		__field(u32, W_f)
		__field(u32, inc_stage)
		__field(u32, T)
		__field(u32, eta)
		__field(u32, W_ai)
		__field(u32, W_max)
		__field(u64, R)
		__field(u32, cwnd)
		__field(u32, snd_una)
		__field(u32, snd_nxt)
	),

	TP_fast_assign(
		__entry->sk = sk;
		memset(__entry->saddr, 0, sizeof(struct sockaddr_in6));
		memset(__entry->daddr, 0, sizeof(struct sockaddr_in6));
		TP_STORE_ADDR_PORTS(__entry, inet_sk(sk), sk);
		__entry->link = rec->link;
		__entry->rec_rate = rec->rate;
		__entry->rec_ts = rec->ts;
		__entry->rec_tx_bytes = rec->tx_bytes;
		__entry->rec_qlen = rec->qlen;
		__entry->rec_U = rec->U;
		__entry->rec_N = rec->N;
		__entry->records = f->s.records;
		__entry->bottleneck = f->s.bottleneck;
		__entry->used = used;
		__entry->update_wc = update_wc;
		__entry->u = f->s.u;
		__entry->tau = f->s.tau;
		__entry->U = f->s.U;
		__entry->W = f->s.W;
		__entry->W_c = f->s.W_c;
		__entry->W_f = f->s.W_f;
		__entry->inc_stage = f->s.inc_stage;
		__entry->T = p->T;
		__entry->eta = p->eta;
		__entry->W_ai = p->W_ai;
		__entry->W_max = p->W_max;
		__entry->R = hpccpp_rate(f->s.W, f->T);
		__entry->cwnd = tcp_snd_cwnd(tcp_sk(sk));
		__entry->snd_una = tcp_sk(sk)->snd_una;
		__entry->snd_nxt = tcp_sk(sk)->snd_nxt;
	),

	/* first record in wire units; u, U, eta in 2^-20; tau in 16 ns */
	TP_printk("src=%pISpc dest=%pISpc sk=%p link=%u rate=%#x ts=%u tx_bytes=%u qlen=%u port_U=%u N=%u records=%u bottleneck=%u used=%d update_wc=%d u=%u tau=%u U=%u W=%u W_c=%u W_f=%u inc_stage=%u T=%u eta=%u W_ai=%u W_max=%u R=%llu cwnd=%u snd_una=%u snd_nxt=%u",
		  __entry->saddr, __entry->daddr, __entry->sk, __entry->link,
		  __entry->rec_rate, __entry->rec_ts, __entry->rec_tx_bytes,
		  __entry->rec_qlen, __entry->rec_U, __entry->rec_N, __entry->records,
		  __entry->bottleneck, __entry->used, __entry->update_wc,
		  __entry->u, __entry->tau, __entry->U, __entry->W,
		  __entry->W_c, __entry->W_f, __entry->inc_stage, __entry->T, __entry->eta,
		  __entry->W_ai, __entry->W_max, __entry->R, __entry->cwnd,
		  __entry->snd_una, __entry->snd_nxt)
);

#endif /* HPCCPP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
