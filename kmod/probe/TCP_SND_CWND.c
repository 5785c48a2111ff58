// SPDX-License-Identifier: GPL-2.0
/* The window in packets is set by a function (5.19); older kernels lack more */
#include <net/tcp.h>

void set_cwnd(struct tcp_sock *tp);
void set_cwnd(struct tcp_sock *tp)
{
	tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp));
}
