/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a device's queues a packet is going to take. The stack chooses it after the
 * TC hook, by netdev_pick_tx(): what that will go by is read here.
 *
 *	1. the socket's queue, unless the packet may leave it (ooo_okay)
 *	2. XPS, by the receive queue of the socket, or else by the CPU
 *	3. what is in the packet's queue_mapping: the queue that it came by where it is
 *	   forwarded, else a hash of its flow, which is put there
 *
 * With traffic classes the third may be another one of the packet's class. A driver may
 * choose by itself (ndo_select_queue). Most then do the same for TCP; such packets are
 * counted.
 *
 * And whether the qdisc of that queue is still the one that the port was told of.
 */
#ifndef HPCCPP_PORT_QUEUE_H
#define HPCCPP_PORT_QUEUE_H

#define NO_QUEUE	0xffff	/* the kernel's NO_QUEUE_MAPPING */
#define TC_MAP_MASK	15	/* its TC_BITMASK */

#ifdef __bpf__

/* The queue that XPS has for this CPU or receive queue, or -1 */
static __always_inline __s32 xps_queue(struct __sk_buff *skb, struct net_device *dev,
				       const enum xps_map_type type, __u32 id)
{
	struct xps_dev_maps *maps = NULL;
	struct xps_map *map = NULL;
	__u32 tcs, tc, len, at = 0;
	__u16 queue = NO_QUEUE;
	__u8 tc8 = 0;

	if (bpf_core_field_exists(dev->xps_maps))
		maps = BPF_CORE_READ(dev, xps_maps[type]);
	if (!maps)
		return -1;
	bpf_core_read(&tc8, sizeof(tc8), &dev->prio_tc_map[skb->priority & TC_MAP_MASK]);
	tcs = BPF_CORE_READ(maps, num_tc);
	tc = tc8;
	if (id >= BPF_CORE_READ(maps, nr_ids)) {
		if (type != XPS_CPUS)
			return -1;
		id = bpf_get_smp_processor_id();
	}
	if (tc >= tcs)
		return -1;
	bpf_core_read(&map, sizeof(map), &maps->attr_map[id * tcs + tc]);
	if (!map)
		return -1;
	len = BPF_CORE_READ(map, len);
	if (len > 1)
		at = (__u64)bpf_get_hash_recalc(skb) * len >> 32;
	bpf_core_read(&queue, sizeof(queue), &map->queues[at]);
	return queue == NO_QUEUE ? -1 : queue;
}

/* The queue that the stack has for a packet before it looks at queue_mapping, or -1 */
static __always_inline __s32 stack_queue(struct __sk_buff *skb, __u32 queues)
{
	struct sk_buff *kskb = KERNEL_SKB(skb);
	__u32 cpu = 0, rx = NO_QUEUE;
	struct net_device *dev;
	struct sock *sk;
	__s32 q;

	dev = READ(kskb, dev);
	sk = READ(kskb, sk);
	if (BPF_CORE_READ(dev, netdev_ops, ndo_select_queue))
		count(HPCCPP_PS_GUESSED);
	if (sk) {
		q = BPF_CORE_READ(sk, __sk_common.skc_tx_queue_mapping);
		if (q < queues && !BPF_CORE_READ_BITFIELD_PROBED(kskb, ooo_okay))
			return q;
		/* absent where the kernel is built without what uses it, as sender_cpu is */
		if (bpf_core_field_exists(sk->__sk_common.skc_rx_queue_mapping))
			rx = BPF_CORE_READ(sk, __sk_common.skc_rx_queue_mapping);
		q = rx == NO_QUEUE ? -1 : xps_queue(skb, dev, XPS_RXQS, rx);
		if (q >= 0)
			return q;
	}
	/*
	 * Set by a device above this one. In a packet that is forwarded a NAPI id stands
	 * there, which is larger than any CPU.
	 */
	if (bpf_core_field_exists(kskb->sender_cpu))
		cpu = BPF_CORE_READ(kskb, sender_cpu);
	return xps_queue(skb, dev, XPS_CPUS, cpu - 1);
}

/*
 * Whether a qdisc is of the kind that was there when the port was added, and in its place:
 * under mq, or not. What it shapes to is not looked at: `port show` does that.
 */
static __always_inline bool same_qdisc(struct net_device *dev, struct Qdisc *q,
				       const struct hpccpp_port_cfg *cfg)
{
	const struct Qdisc_ops *ops = READ(q, ops);

	/* as many letters as tell the kinds that a port reads from all others */
	if (READ_U64(&ops->id) != *(const __u64 *)cfg->kind)
		return false;
	return !cfg->mq || (READ(q, parent) != TC_H_ROOT &&
			    READ(dev, real_num_tx_queues) >= cfg->queues);
}

#else

static bool same_qdisc(struct net_device *dev, struct Qdisc *q,
		       const struct hpccpp_port_cfg *cfg)
{
	(void)dev;
	(void)q;
	(void)cfg;
	return true;
}

/* the unit tests have no kernel to read */
static __s32 stack_queue(struct __sk_buff *skb, __u32 queues)
{
	(void)skb;
	(void)queues;
	return -1;
}

#endif

#endif /* HPCCPP_PORT_QUEUE_H */
