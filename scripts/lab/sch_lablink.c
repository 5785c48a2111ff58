// SPDX-License-Identifier: GPL-2.0
/*
 * lablink: a link of the lab, as a qdisc
 *
 * Tail-drop FIFO, transmitter of a fixed rate and propagation delay in one,
 * exact to the nanosecond of a clock that stands still while code runs (UML's
 * time-travel=inf-cpu). netem counts packets in flight as queued and cannot
 * mark; tbf gives an idle link's first packet away for free.
 *
 *	enqueue --> [ waiting: backlog, limit, mark ] --> (transmitter) --> delay
 *
 * Where it has priorities, packets of TC_PRIO_CONTROL go before others that wait.
 *
 * The packet in transmission does not wait. A packet that arrives at time t is
 * delivered at max(t, end of the one before) + length / rate + delay. CE is
 * set, on packets that may have it, when more than mark bytes wait as they
 * arrive: DCTCP's step.
 *
 * With an overhead each packet counts with so many bytes more, and with 60 of its own at
 * least: in the time that it takes, in the buffer and in what is reported.
 *
 * A GSO packet is cut into its segments, as the NIC that has the link would: each of them is
 * a packet here, and all arrive at the same moment. lablink has to be a root qdisc: it does not
 * correct the counters of parents for that.
 *
 * With another qdisc as its class 1:1 packets wait in that, as in a host that has fq for its
 * NIC; limit, mark and prio are not heeded then. The link asks it for a packet whenever the
 * transmitter is free, and cuts what it gets: the rest of a GSO packet in transmission is all
 * that waits here. In the child packets count without the overhead, and its marks not at all.
 *
 * /proc/lablink	one line a link of what happened since "reset" was
 *			written to it: packets, bytes, drops, marks; of the
 *			bytes waiting mean, p50, p99 (by time) and maximum; and
 *			bursts: packets as TCP built them, a GSO packet once
 * /proc/lablink_trace	netns, device, ns, bytes waiting, bytes sent, both since
 *			"reset": every change, for links with trace. A packet
 *			that leaves the queue counts as sent when its
 *			transmission begins. Says last how many changes did not
 *			fit. Reading costs no virtual time
 */
#include <linux/hrtimer.h>
#include <linux/if_ether.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pkt_sched.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/vmalloc.h>
#include <net/gso.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>

#include "lablink.h"

#define BIN_SHIFT	8		/* histogram in steps of 256 bytes */
#define BINS		8192		/* up to 2 MiB */
#define FRAC_SHIFT	16		/* end of transmission in 2^-16 ns */

struct lablink_event {
	u64 ns, bytes;
	u32 backlog;
};

struct lablink_stats {
	u64 since;			/* ns */
	u64 packets, bytes;		/* transmitted */
	u64 bursts;			/* packets, a GSO packet once */
	u64 drops, marks;
	u64 max;			/* bytes waiting */
	u64 last;			/* ns up to which time is in bin[] */
	u64 area;			/* bytes * ns */
	u64 bin[BINS + 1];		/* ns with so many bytes waiting */
	u64 lost;			/* events that did not fit */
	u32 events;
};

struct lablink {
	struct lablink_opt opt;
	struct sk_buff_head waiting;	/* not yet in transmission */
	struct sk_buff_head urgent;	/* ... and before these */
	struct sk_buff_head wire;	/* in transmission or propagation */
	u64 free_at;			/* transmitter's, ns << FRAC_SHIFT */
	struct qdisc_watchdog watchdog;
	struct list_head list;
	struct Qdisc *sch;
	struct Qdisc *child;		/* in which packets wait first, or NULL */
	struct lablink_stats *stats;
	struct lablink_event *trace;
};

/* When the packet is delivered, ns. */
static u64 *lablink_due(struct sk_buff *skb)
{
	return (u64 *)qdisc_skb_cb(skb)->data;
}

static LIST_HEAD(lablinks);
static DEFINE_SPINLOCK(lablinks_lock);

/* The time up to now belongs to what has been waiting. */
static void lablink_account(struct lablink *l, u64 now)
{
	u32 backlog = l->sch->qstats.backlog;
	struct lablink_stats *s = l->stats;
	u64 ns = now - s->last;

	if (now <= s->last)
		return;
	s->bin[min_t(u32, (backlog + (1 << BIN_SHIFT) - 1) >> BIN_SHIFT, BINS)] += ns;
	s->area += ns * backlog;
	s->last = now;
}

static void lablink_changed(struct lablink *l, u64 now)
{
	u32 backlog = l->sch->qstats.backlog;
	struct lablink_stats *s = l->stats;
	struct lablink_event *e;

	if (backlog > s->max)
		s->max = backlog;
	if (!l->trace)
		return;
	if (s->events == l->opt.trace) {
		s->lost++;
		return;
	}
	e = &l->trace[s->events++];
	e->ns = now;
	e->bytes = s->bytes;
	e->backlog = backlog;
}

/* Packets that have been cut, or that have no child to wait in */
static u32 lablink_waiting(const struct lablink *l)
{
	return skb_queue_len(&l->waiting) + skb_queue_len(&l->urgent);
}

static u32 lablink_qlen(const struct lablink *l)
{
	return lablink_waiting(l) + (l->child ? l->child->q.qlen : 0);
}

/* Who is transmitted next */
static struct sk_buff_head *lablink_next(struct lablink *l)
{
	return skb_queue_empty(&l->urgent) ? &l->waiting : &l->urgent;
}

/* Packets whose transmission began by now leave the queue for the wire. */
static void lablink_transmit(struct lablink *l, u64 now)
{
	struct sk_buff *skb;
	u64 start, begin, len;

	while ((skb = skb_peek(lablink_next(l)))) {
		start = max(l->free_at, *lablink_due(skb) << FRAC_SHIFT);
		begin = start >> FRAC_SHIFT;
		if (begin > now)
			return;
		__skb_unlink(skb, lablink_next(l));
		len = qdisc_pkt_len(skb);
		lablink_account(l, begin);
		l->sch->qstats.backlog -= len;
		l->sch->q.qlen = lablink_qlen(l);
		l->stats->packets++;
		l->stats->bytes += len;
		lablink_changed(l, begin);
		l->free_at = start + mul_u64_u64_div_u64(len << FRAC_SHIFT, 8 * NSEC_PER_SEC,
							 l->opt.rate);
		*lablink_due(skb) = (l->free_at >> FRAC_SHIFT) + l->opt.delay;
		qdisc_bstats_update(l->sch, skb);
		/* what is on the wire is no longer the sender's: small queues */
		skb_orphan(skb);
		__skb_queue_tail(&l->wire, skb);
	}
}

/* One packet as it is on the wire, at the time now */
static int lablink_arrive(struct sk_buff *skb, struct Qdisc *sch, u64 now, struct sk_buff **to_free)
{
	struct lablink *l = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);

	if (l->opt.overhead) {
		len = max_t(u32, len, ETH_ZLEN) + l->opt.overhead;
		qdisc_skb_cb(skb)->pkt_len = len;
	}
	lablink_transmit(l, now);
	lablink_account(l, now);
	if (!l->child && sch->qstats.backlog + len > l->opt.limit &&
	    (lablink_waiting(l) || l->free_at > now << FRAC_SHIFT)) {
		l->stats->drops++;
		return qdisc_drop(skb, sch, to_free);
	}
	if (!l->child && l->opt.mark && sch->qstats.backlog > l->opt.mark && INET_ECN_set_ce(skb))
		l->stats->marks++;
	*lablink_due(skb) = now;	/* until it is transmitted: arrival */
	__skb_queue_tail(!l->child && l->opt.prio && skb->priority == TC_PRIO_CONTROL ?
			 &l->urgent : &l->waiting, skb);
	sch->qstats.backlog += len;
	sch->q.qlen++;
	lablink_changed(l, now);
	lablink_transmit(l, now);
	return NET_XMIT_SUCCESS;
}

/* Each segment of a GSO packet arrives. It is dropped if all of them are. */
static int lablink_cut(struct sk_buff *skb, struct Qdisc *sch, u64 now, struct sk_buff **to_free)
{
	struct lablink *l = qdisc_priv(sch);
	struct sk_buff *segs, *next;
	int err = NET_XMIT_DROP;

	segs = skb_gso_segment(skb, netif_skb_features(skb) & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs)) {
		l->stats->drops++;
		return qdisc_drop(skb, sch, to_free);
	}
	skb_list_walk_safe(segs, segs, next) {
		skb_mark_not_on_list(segs);
		qdisc_skb_cb(segs)->pkt_len = segs->len;
		qdisc_skb_cb(segs)->pkt_segs = 1;
		if (lablink_arrive(segs, sch, now, to_free) == NET_XMIT_SUCCESS)
			err = NET_XMIT_SUCCESS;
	}
	consume_skb(skb);
	return err;
}

/* A packet as the stack or the child gives it, at the time now */
static int lablink_take(struct sk_buff *skb, struct Qdisc *sch, u64 now, struct sk_buff **to_free)
{
	struct lablink *l = qdisc_priv(sch);

	l->stats->bursts++;
	if (skb_is_gso(skb))
		return lablink_cut(skb, sch, now, to_free);
	return lablink_arrive(skb, sch, now, to_free);
}

/* To the qdisc that packets wait in */
static int lablink_enqueue_child(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	u32 segs = max_t(u32, skb_shinfo(skb)->gso_segs, 1);
	struct lablink *l = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb), drops = sch->qstats.drops;
	u64 now = ktime_get_ns();
	int err;

	lablink_transmit(l, now);
	lablink_account(l, now);
	err = qdisc_enqueue(skb, l->child, to_free);
	/* it may have dropped others for this one, which it counts for its parents */
	l->stats->drops += sch->qstats.drops - drops;
	if (err != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(err)) {
			qdisc_qstats_drop(sch);
			l->stats->drops += segs;
		}
		return err;
	}
	sch->qstats.backlog += len;
	sch->q.qlen++;
	lablink_changed(l, now);
	return NET_XMIT_SUCCESS;
}

static int lablink_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct lablink *l = qdisc_priv(sch);
	u64 now = ktime_get_ns();

	if (l->child)
		return lablink_enqueue_child(skb, sch, to_free);
	return lablink_take(skb, sch, now, to_free);
}

/* The transmitter is free: what the child has for it */
static void lablink_pull(struct lablink *l, u64 now)
{
	struct sk_buff *skb, *to_free = NULL;
	struct Qdisc *sch = l->sch;
	u32 drops;

	while (!lablink_waiting(l) && l->free_at >> FRAC_SHIFT <= now) {
		lablink_account(l, now);
		drops = sch->qstats.drops;
		skb = l->child->dequeue(l->child);
		/* those that it drops only now are counted for its parents */
		l->stats->drops += sch->qstats.drops - drops;
		if (!skb)
			break;
		sch->qstats.backlog -= qdisc_pkt_len(skb);
		sch->q.qlen--;
		lablink_take(skb, sch, now, &to_free);
	}
	kfree_skb_list(to_free);
}

static struct sk_buff *lablink_dequeue(struct Qdisc *sch)
{
	struct lablink *l = qdisc_priv(sch);
	u64 now = ktime_get_ns(), next = U64_MAX;
	struct sk_buff *skb;
	u64 free_at;

	lablink_transmit(l, now);
	if (l->child)
		lablink_pull(l, now);
	skb = skb_peek(&l->wire);
	if (skb && *lablink_due(skb) <= now) {
		__skb_unlink(skb, &l->wire);
		return skb;
	}
	if (skb)
		next = *lablink_due(skb);
	/* a child that has nothing for a free transmitter calls when it has */
	free_at = l->free_at >> FRAC_SHIFT;
	if (lablink_waiting(l) || (l->child && l->child->q.qlen && free_at > now))
		next = min(next, free_at);
	if (next != U64_MAX)
		qdisc_watchdog_schedule_ns(&l->watchdog, next);
	return NULL;
}

static void lablink_reset_stats(struct lablink *l, u64 now)
{
	memset(l->stats, 0, sizeof(*l->stats));
	l->stats->since = now;
	l->stats->last = now;
	lablink_changed(l, now);
}

static void lablink_reset(struct Qdisc *sch)
{
	struct lablink *l = qdisc_priv(sch);

	if (l->child)
		qdisc_reset(l->child);
	__skb_queue_purge(&l->urgent);
	__skb_queue_purge(&l->waiting);
	__skb_queue_purge(&l->wire);
	sch->qstats.backlog = 0;
	sch->q.qlen = 0;
	l->free_at = 0;
	qdisc_watchdog_cancel(&l->watchdog);
}

static int lablink_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct lablink *l = qdisc_priv(sch);
	const struct lablink_opt *o;

	__skb_queue_head_init(&l->waiting);
	__skb_queue_head_init(&l->urgent);
	__skb_queue_head_init(&l->wire);
	INIT_LIST_HEAD(&l->list);
	l->sch = sch;
	qdisc_watchdog_init(&l->watchdog, sch);
	if (!opt || nla_len(opt) < (int)sizeof(*o)) {
		NL_SET_ERR_MSG(extack, "lablink: struct lablink_opt expected");
		return -EINVAL;
	}
	o = nla_data(opt);
	if (!o->rate) {
		NL_SET_ERR_MSG(extack, "lablink: rate must not be 0");
		return -EINVAL;
	}
	l->opt = *o;
	l->stats = vzalloc(sizeof(*l->stats));
	if (!l->stats)
		return -ENOMEM;
	if (o->trace) {
		l->trace = __vmalloc_array(o->trace, sizeof(*l->trace), GFP_KERNEL | __GFP_NOWARN);
		if (!l->trace)
			return -ENOMEM;
	}
	lablink_reset_stats(l, ktime_get_ns());
	spin_lock_bh(&lablinks_lock);
	list_add_tail(&l->list, &lablinks);
	spin_unlock_bh(&lablinks_lock);
	return 0;
}

/* Also after an init that failed half-way. */
static void lablink_destroy(struct Qdisc *sch)
{
	struct lablink *l = qdisc_priv(sch);

	qdisc_watchdog_cancel(&l->watchdog);
	spin_lock_bh(&lablinks_lock);
	list_del_init(&l->list);
	spin_unlock_bh(&lablinks_lock);
	qdisc_put(l->child);
	vfree(l->trace);
	vfree(l->stats);
}

static int lablink_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct lablink *l = qdisc_priv(sch);

	if (nla_put(skb, TCA_OPTIONS, sizeof(l->opt), &l->opt))
		return -EMSGSIZE;
	return skb->len;
}

static int lablink_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new,
			 struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct lablink *l = qdisc_priv(sch);

	*old = qdisc_replace(sch, new, &l->child);
	return 0;
}

static struct Qdisc *lablink_leaf(struct Qdisc *sch, unsigned long arg)
{
	struct lablink *l = qdisc_priv(sch);

	return l->child;
}

static unsigned long lablink_find(struct Qdisc *sch, u32 classid)
{
	return TC_H_MIN(classid) == 1;
}

static void lablink_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static int lablink_dump_class(struct Qdisc *sch, unsigned long cl,
			      struct sk_buff *skb, struct tcmsg *tcm)
{
	struct lablink *l = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = l->child ? l->child->handle : 0;
	return 0;
}

static const struct Qdisc_class_ops lablink_class_ops = {
	.graft	= lablink_graft,
	.leaf	= lablink_leaf,
	.find	= lablink_find,
	.walk	= lablink_walk,
	.dump	= lablink_dump_class,
};

static struct Qdisc_ops lablink_ops = {
	.id		= "lablink",
	.cl_ops		= &lablink_class_ops,
	.priv_size	= sizeof(struct lablink),
	.owner		= THIS_MODULE,
	.enqueue	= lablink_enqueue,
	.dequeue	= lablink_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= lablink_init,
	.reset		= lablink_reset,
	.destroy	= lablink_destroy,
	.dump		= lablink_dump,
};

/* Bytes that wait no longer than for this fraction of the time, 1/1000. */
static u64 lablink_percentile(const struct lablink_stats *s, u64 ns, unsigned int permille)
{
	u64 sum = 0, want = div_u64(ns * permille, 1000);
	unsigned int i;

	for (i = 0; i < BINS; i++) {
		sum += s->bin[i];
		if (sum >= want)
			break;
	}
	return (u64)i << BIN_SHIFT;
}

static int lablink_show(struct seq_file *seq, void *v)
{
	struct lablink *l;
	u64 now, ns;

	spin_lock_bh(&lablinks_lock);
	list_for_each_entry(l, &lablinks, list) {
		const struct lablink_stats *s = l->stats;

		/* time stands still meanwhile: no lock of the qdisc's */
		now = ktime_get_ns();
		lablink_account(l, now);
		ns = now - s->since;
		seq_printf(seq, "%u %s ns %llu packets %llu bytes %llu drops %llu marks %llu mean %llu p50 %llu p99 %llu max %llu bursts %llu\n",
			   qdisc_dev(l->sch)->nd_net.net->ns.inum,
			   qdisc_dev(l->sch)->name, ns, s->packets, s->bytes,
			   s->drops, s->marks,
			   ns ? div64_u64(s->area, ns) : 0,
			   lablink_percentile(s, ns, 500),
			   lablink_percentile(s, ns, 990), s->max, s->bursts);
	}
	spin_unlock_bh(&lablinks_lock);
	return 0;
}

static int lablink_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, lablink_show, NULL, 1 << 20);
}

static ssize_t lablink_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct lablink *l;

	spin_lock_bh(&lablinks_lock);
	list_for_each_entry(l, &lablinks, list)
		lablink_reset_stats(l, ktime_get_ns());
	spin_unlock_bh(&lablinks_lock);
	return len;
}

static const struct proc_ops lablink_proc = {
	.proc_open	= lablink_open,
	.proc_read	= seq_read,
	.proc_write	= lablink_write,
	.proc_lseek	= seq_lseek,
	.proc_release	= single_release,
};

/* One event of a link; behind the last link: the line about what was lost. */
struct lablink_iter {
	struct lablink *l;
	u64 i;
};

/* On to the next link while there is no such event of this one. */
static void *lablink_trace_find(struct lablink_iter *it)
{
	while (!list_entry_is_head(it->l, &lablinks, list) && it->i >= it->l->stats->events) {
		it->i -= it->l->stats->events;
		it->l = list_next_entry(it->l, list);
	}
	return it;
}

static void *lablink_trace_start(struct seq_file *seq, loff_t *pos)
{
	struct lablink_iter *it = seq->private;

	spin_lock_bh(&lablinks_lock);
	it->l = list_first_entry(&lablinks, struct lablink, list);
	it->i = *pos;
	lablink_trace_find(it);
	return list_entry_is_head(it->l, &lablinks, list) && it->i ? NULL : it;
}

static void *lablink_trace_next(struct seq_file *seq, void *v, loff_t *pos)
{
	struct lablink_iter *it = v;

	++*pos;
	if (list_entry_is_head(it->l, &lablinks, list))
		return NULL;
	it->i++;
	return lablink_trace_find(it);
}

static void lablink_trace_stop(struct seq_file *seq, void *v)
{
	spin_unlock_bh(&lablinks_lock);
}

static int lablink_trace_show(struct seq_file *seq, void *v)
{
	struct lablink_iter *it = v;
	struct lablink *l = it->l;
	u64 lost = 0;

	if (!list_entry_is_head(l, &lablinks, list)) {
		seq_printf(seq, "%u %s %llu %u %llu\n",
			   qdisc_dev(l->sch)->nd_net.net->ns.inum, qdisc_dev(l->sch)->name,
			   l->trace[it->i].ns - l->stats->since,
			   l->trace[it->i].backlog, l->trace[it->i].bytes);
		return 0;
	}
	list_for_each_entry(l, &lablinks, list)
		lost += l->stats->lost;
	if (lost)
		seq_printf(seq, "# %llu events lost\n", lost);
	return 0;
}

static const struct seq_operations lablink_trace_ops = {
	.start	= lablink_trace_start,
	.next	= lablink_trace_next,
	.stop	= lablink_trace_stop,
	.show	= lablink_trace_show,
};

static int __init lablink_module_init(void)
{
	int err;

	if (!proc_create("lablink", 0644, NULL, &lablink_proc) ||
	    !proc_create_seq_private("lablink_trace", 0444, NULL, &lablink_trace_ops,
				     sizeof(struct lablink_iter), NULL)) {
		err = -ENOMEM;
		goto err;
	}
	err = register_qdisc(&lablink_ops);
	if (!err)
		return 0;
err:
	remove_proc_subtree("lablink", NULL);
	remove_proc_subtree("lablink_trace", NULL);
	return err;
}

static void __exit lablink_module_exit(void)
{
	unregister_qdisc(&lablink_ops);
	remove_proc_subtree("lablink", NULL);
	remove_proc_subtree("lablink_trace", NULL);
}

module_init(lablink_module_init);
module_exit(lablink_module_exit);

MODULE_AUTHOR("The tcp_hpccpp authors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A link with exact rate, delay, buffer and mark, for the lab");
