/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the kernels this module builds for, 6.1 and later.
 * The HPCCPP_HAVE_ macros come from compile probes, see Makefile.
 */
#ifndef HPCCPP_COMPAT_H
#define HPCCPP_COMPAT_H

/* The module needs these. */
#ifndef CONFIG_CGROUP_BPF
#error "tcp_hpccpp: this kernel lacks CONFIG_CGROUP_BPF, for the host agent"
#endif
#ifndef CONFIG_SYSCTL
#error "tcp_hpccpp: this kernel lacks CONFIG_SYSCTL, for net.hpccpp.*"
#endif
#ifndef HPCCPP_HAVE_TCP_SND_CWND
#error "tcp_hpccpp: this kernel lacks tcp_snd_cwnd_set(): it is older than 6.1"
#endif

#include <linux/bpf.h>
#include <linux/bpf_local_storage.h>
#include <net/tcp.h>

/* Arguments of cong_control() */
#ifdef HPCCPP_HAVE_CONG_CONTROL_ACK
#define HPCCPP_CONG_CONTROL_ARGS \
	struct sock *sk, u32 ack, int flag, const struct rate_sample *rs
#else
#define HPCCPP_CONG_CONTROL_ARGS \
	struct sock *sk, const struct rate_sample *rs
#endif

/* Registration of a sysctl table of n entries, followed by an empty one */
#ifdef HPCCPP_HAVE_NET_SYSCTL_SZ
#define hpccpp_register_sysctl(net, path, table, n) \
	register_net_sysctl_sz(net, path, table, n)
#else
#define hpccpp_register_sysctl(net, path, table, n) \
	register_net_sysctl(net, path, table)
#endif

/* Type of the table that the kernel passes to a sysctl's handler */
#ifdef HPCCPP_HAVE_CONST_CTL_TABLE
#define hpccpp_ctl_table	const struct ctl_table
#else
#define hpccpp_ctl_table	struct ctl_table
#endif

/* The operation that TCP calls when a flow begins to send with nothing in flight */
#ifdef HPCCPP_HAVE_CWND_EVENT_TX_START
#define HPCCPP_TX_START_OP(op)		.cwnd_event_tx_start = op,
#define HPCCPP_IS_TX_START(event)	false
#else
#define HPCCPP_TX_START_OP(op)
#define HPCCPP_IS_TX_START(event)	((event) == CA_EVENT_TX_START)
#endif

#endif /* HPCCPP_COMPAT_H */
