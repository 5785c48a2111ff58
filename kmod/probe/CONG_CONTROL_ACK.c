// SPDX-License-Identifier: GPL-2.0
/* cong_control() gets ack and flag besides the rate sample (6.10) */
#include <net/tcp.h>

void probe(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
void probe(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
}

struct tcp_congestion_ops ops = { .cong_control = probe };

_Static_assert(__same_type(ops.cong_control, &probe), "other arguments");
