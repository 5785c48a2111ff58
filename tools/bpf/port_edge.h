/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A port agent on ingress, an edge: it writes the load of the link that its packets came by, from
 * the switch to this host. The port of the switch at the other end of that link needs no agent.
 * All that this port sends arrives here, a moment later: tx_bytes, N and the number of new flows
 * are as an agent there would count them. Its queue cannot be seen from here. In place of it
 * stands a phantom queue, which arrivals fill and slightly less than the rate of the link drains:
 * it shows how long the link has been full.
 */
#ifndef HPCCPP_PORT_EDGE_H
#define HPCCPP_PORT_EDGE_H

/*
 * Returns the bytes/s at which the phantom queue of a link of B bytes/s drains: between eta, at
 * which it would stand at the target load, and B, at which it would never fill.
 */
static __always_inline __u64 edge_drain(__u64 B)
{
	return B - B / 200;
}

/*
 * Returns the bytes of a packet's frames. GRO has merged segments and removed their headers but the
 * first. A device may have removed the VLAN tag. tcp is the offset of the TCP header, or 0.
 */
static __always_inline __u32 arrived_bytes(struct __sk_buff *skb, __u32 tcp, __u32 segs)
{
	__u32 len = skb->len;
	__u8 doff = 0;

	if (segs > 1 && tcp && !bpf_skb_load_bytes(skb, tcp + 12, &doff, 1))
		len += (segs - 1) * (tcp + (doff >> 4 << 2));
	if (skb->vlan_present)
		len += 4 * segs;
	return len;
}

/* Drains the phantom queue up to now, returns its state, then adds this packet. */
static __always_inline void phantom_queue(struct hpccpp_port *p, __u64 drain, __u64 now,
					  __u32 bytes, __u64 *tx, __u64 *qlen)
{
	drain_queue(p, drain, now);
	*tx = p->v_in >> 8;
	*qlen = p->v_qlen >> 8;
	p->v_in += (__u64)bytes << 8;
	p->v_qlen += (__u64)bytes << 8;
}

#endif /* HPCCPP_PORT_EDGE_H */
