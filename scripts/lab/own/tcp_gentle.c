// SPDX-License-Identifier: GPL-2.0
/*
 * An example of a congestion control to bring to the lab (../OWN.md): Reno that keeps 7/8 of
 * its window, not half, when packets are lost or marked.
 */
#include <linux/module.h>
#include <net/tcp.h>

/* Packets. At least two, as RFC 5681 has it. */
static u32 gentle_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * 7 / 8, 2U);
}

static struct tcp_congestion_ops gentle __read_mostly = {
	.ssthresh	= gentle_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "gentle",
};

static int __init gentle_register(void)
{
	return tcp_register_congestion_control(&gentle);
}

static void __exit gentle_unregister(void)
{
	tcp_unregister_congestion_control(&gentle);
}

module_init(gentle_register);
module_exit(gentle_unregister);

MODULE_DESCRIPTION("Example of a congestion control for the lab");
MODULE_LICENSE("GPL");
