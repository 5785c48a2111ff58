// SPDX-License-Identifier: GPL-2.0
/* CA_EVENT_TX_START comes by an operation of its own, not cwnd_event() (7.1) */
#include <net/tcp.h>

void probe(struct sock *sk);
void probe(struct sock *sk)
{
}

struct tcp_congestion_ops ops = { .cwnd_event_tx_start = probe };
