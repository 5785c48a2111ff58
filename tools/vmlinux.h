/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's types for the eBPF programs: contexts and headers from the UAPI, and of the
 * kernel's own structures the fields that the programs read. When libbpf loads a program, it
 * replaces the offsets of these fields with those of the running kernel (CO-RE). A pointer here
 * is never to const: BPF_CORE_READ() declares a variable of the type that it reads.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#ifndef NULL
#define NULL	((void *)0)
#endif
/* libc's headers do without these */
#define AF_INET		2
#define AF_INET6	10

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct hlist_node {
	struct hlist_node *next;
};

/* --- queueing disciplines: port.bpf.c --------------------------------------------- */

struct gnet_stats_basic_sync {
	struct {
		long v;
	} bytes, packets;	/* u64_stats_t */
};

struct gnet_stats_queue {
	__u32 backlog;
};

struct qdisc_skb_head {
	__u32 qlen;
};

struct Qdisc_ops {
	char id[16];
};

struct Qdisc {
	struct Qdisc_ops *ops;
	__u32 parent;
	struct qdisc_skb_head q;
	struct gnet_stats_basic_sync bstats;
	struct gnet_stats_queue qstats;
};

enum xps_map_type {
	XPS_CPUS,
	XPS_RXQS,
	XPS_MAPS_MAX
};

struct xps_map {
	unsigned int len;
	__u16 queues[];
};

struct xps_dev_maps {
	unsigned int nr_ids;
	__s16 num_tc;
	struct xps_map *attr_map[];
};

struct netdev_queue {
	struct Qdisc *qdisc;
};

struct net_device_ops {
	void *ndo_select_queue;
};

struct net_device {
	struct net_device_ops *netdev_ops;
	struct netdev_queue *_tx;
	unsigned int real_num_tx_queues;
	struct Qdisc *qdisc;
	struct xps_dev_maps *xps_maps[XPS_MAPS_MAX];
	__u8 prio_tc_map[TC_QOPT_MAX_QUEUE];
};

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	__u8 ooo_okay: 1;
	unsigned int sender_cpu;
};

/* --- sockets: flow.bpf.c and port.bpf.c ------------------------------------------ */

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	unsigned short skc_tx_queue_mapping;
	unsigned short skc_rx_queue_mapping;
};

struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	struct bpf_local_storage *sk_bpf_storage;
};

struct tcp_congestion_ops {
	char name[16];
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct tcp_congestion_ops *icsk_ca_ops;
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 srtt_us;
	__u32 snd_cwnd;
};

struct inode {
	unsigned long i_ino;
};

struct socket {
	struct sock *sk;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct bpf_map {
	__u32 value_size;
	char name[16];
};

struct bpf_local_storage_map {
	struct bpf_map map;
};

struct bpf_local_storage_data {
	struct bpf_local_storage_map *smap;
	__u8 data[8];		/* or more */
};

struct bpf_local_storage_elem {
	struct hlist_node snode;
	struct bpf_local_storage_data sdata;
};

struct hlist_head {
	struct hlist_node *first;
};

struct bpf_local_storage {
	struct hlist_head list;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

#endif /* __VMLINUX_H__ */
