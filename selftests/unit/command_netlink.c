// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the command's netlink code: qdiscs, the rate of an htb, devices, filters.
 * A test fills the answers that the sockets below return.
 */
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "command_test.h"

static char answer[4][4096];	/* to one dump after the other */
static size_t answer_len[4];
static unsigned int dumps, interrupted;	/* dumps so far, and how many of them are */
static struct tcmsg asked[4];
static bool done;

struct mnl_socket *mnl_socket_open2(int bus, int flags)
{
	assert_int_equal(bus, NETLINK_ROUTE);
	return (struct mnl_socket *)answer;
}

STUB(int mnl_socket_close(struct mnl_socket *nl), 0)
STUB(int mnl_socket_bind(struct mnl_socket *nl, unsigned int groups, pid_t pid), 0)
STUB(unsigned int mnl_socket_get_portid(const struct mnl_socket *nl), 1)

ssize_t mnl_socket_sendto(const struct mnl_socket *nl, const void *req, size_t len)
{
	const struct nlmsghdr *nlh = req;

	assert_int_equal(nlh->nlmsg_flags, NLM_F_REQUEST |
			 (nlh->nlmsg_type == RTM_GETLINK ? NLM_F_ACK : NLM_F_DUMP));
	assert_true(dumps < ARRAY_SIZE(asked));
	memcpy(&asked[dumps], mnl_nlmsg_get_payload(nlh), sizeof(asked[0]));
	done = false;
	return len;
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t size)
{
	struct nlmsghdr *nlh;

	if (!done && answer_len[dumps]) {
		memcpy(buf, answer[dumps], answer_len[dumps]);
		done = true;
		return answer_len[dumps];
	}
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = NLMSG_DONE;
	nlh->nlmsg_seq = 1;
	if (dumps++ < interrupted)
		nlh->nlmsg_flags = NLM_F_DUMP_INTR;
	*(int *)mnl_nlmsg_put_extra_header(nlh, sizeof(int)) = 0;
	return nlh->nlmsg_len;
}

static void no_answers(void)
{
	memset(answer_len, 0, sizeof(answer_len));
	dumps = 0;
	interrupted = 0;
}

/* Begins a message in the answer to dump n; end() after its attributes */
static struct nlmsghdr *begin(unsigned int n, __u32 handle, __u32 parent, __u32 info,
			      const char *kind)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(answer[n] + answer_len[n]);
	struct tcmsg *tcm;

	nlh->nlmsg_seq = 1;
	nlh->nlmsg_type = RTM_NEWQDISC;
	tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));
	*tcm = (struct tcmsg){ .tcm_ifindex = 7, .tcm_handle = handle,
			       .tcm_parent = parent, .tcm_info = info };
	mnl_attr_put_strz(nlh, TCA_KIND, kind);
	return nlh;
}

static void end(unsigned int n, const struct nlmsghdr *nlh)
{
	answer_len[n] += MNL_ALIGN(nlh->nlmsg_len);
}

static void put_stats(struct nlmsghdr *nlh, __u32 backlog, __u32 drops)
{
	struct gnet_stats_queue queue = { .qlen = 1, .backlog = backlog, .drops = drops };
	struct gnet_stats_basic basic = { .bytes = 5ULL << 32, .packets = 9 };
	struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_STATS2);

	mnl_attr_put(nlh, TCA_STATS_BASIC, sizeof(basic), &basic);
	mnl_attr_put(nlh, TCA_STATS_QUEUE, sizeof(queue), &queue);
	mnl_attr_nest_end(nlh, nest);
}

static void put_netem(struct nlmsghdr *nlh, __u32 latency, __u32 rate, __u64 rate64, int overhead)
{
	struct { struct tc_netem_qopt q; char rest[128]; } o = { .q = { .latency = latency } };
	struct tc_netem_rate r = { .rate = rate, .packet_overhead = overhead };
	struct nlattr *nest = (struct nlattr *)mnl_nlmsg_get_payload_tail(nlh);
	size_t at = MNL_ALIGN(sizeof(o.q));

	mnl_attr_put(nlh, TCA_OPTIONS, at, &o);
	if (rate)
		mnl_attr_put(nlh, TCA_NETEM_RATE, sizeof(r), &r);
	if (rate64)
		mnl_attr_put_u64(nlh, TCA_NETEM_RATE64, rate64);
	mnl_attr_nest_end(nlh, nest);
}

static void put_tbf(struct nlmsghdr *nlh, __u32 rate, __u64 rate64, size_t cut, int overhead)
{
	struct tc_tbf_qopt q = { .rate.rate = rate, .rate.overhead = overhead };
	struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put(nlh, TCA_TBF_PARMS, sizeof(q) - cut, &q);
	if (rate64)
		mnl_attr_put_u64(nlh, TCA_TBF_RATE64, rate64);
	mnl_attr_nest_end(nlh, nest);
}

static void put_cake(struct nlmsghdr *nlh, __u64 rate64, int overhead, bool raw)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put_u64(nlh, TCA_CAKE_BASE_RATE64, rate64);
	mnl_attr_put_u32(nlh, TCA_CAKE_OVERHEAD, overhead);
	if (raw)
		mnl_attr_put_u32(nlh, TCA_CAKE_RAW, 0);
	mnl_attr_nest_end(nlh, nest);
}

TEST(qdiscs_are_read)
{
	static const struct {
		struct qdisc is;
		__u32 rate;		/* attributes of its options */
		__u64 rate64;
		size_t cut;
		int overhead;
		bool raw;
	} list[] = {
		{ { 7, 0x10000, TC_H_ROOT, "netem", 16000, true, 5ULL << 32, 3000, 4 }, 2000 },
		{ { 7, 0x20000, 0x10001, "netem", 80000000000 }, -1, 10000000000 },
		{ { 7, 0x30000, 0x10002, "tbf", 24000 }, 3000 },
		{ { 7, 0x40000, 0x10003, "tbf", 64000000000 }, -1, 8000000000 },
		/* options that are too short, and a qdisc without a rate */
		{ { 7, 0x50000, 0x10004, "tbf", 0 }, 3000, 0, 4 },
		{ { 7, 0x60000, 0x10005, "pfifo", 0 }, 3000 },
		/* bytes that shapers add to each frame; cake adds its own to the IP packet */
		{ { 7, 0x70000, 0x10006, "netem", 24000, .overhead = 24 }, 3000, 0, 0, 24 },
		{ { 7, 0x80000, 0x10007, "netem", 24000 }, 3000, 0, 0, -14 },
		{ { 7, 0x90000, 0x10008, "tbf", 24000, .overhead = 255 }, 3000, 0, 0, 300 },
		{ { 7, 0xa0000, 0x10009, "cake", 24000, .overhead = 24 }, 0, 3000, 0, 38 },
		{ { 7, 0xb0000, 0x1000a, "cake", 24000 }, 0, 3000, 0, 0, true },
		{ { 7, 0xc0000, 0x1000b, "cake", 24000 }, 0, 3000, 0, -4 },
	};
	struct nlmsghdr *nlh;
	struct qdisc *read;
	size_t n, i, dump;

	no_answers();
	interrupted = 1;
	for (dump = 0; dump < 2; dump++) {
		for_each_row(row, list) {
			const struct qdisc *q = &row->is;

			nlh = begin(dump, q->handle, q->parent, 0, q->kind);
			if (!strcmp(q->kind, "netem"))
				put_netem(nlh, q->delay ? 5 : 0, row->rate, row->rate64,
					  row->overhead);
			else if (!strcmp(q->kind, "cake"))
				put_cake(nlh, row->rate64, row->overhead, row->raw);
			else
				put_tbf(nlh, row->rate, row->rate64, row->cut, row->overhead);
			if (q->backlog)
				put_stats(nlh, q->backlog, q->drops);
			end(dump, nlh);
		}
	}
	assert_int_equal(qdisc_list(&read, &n), EXIT_DONE);
	/* the first dump was interrupted and is read again */
	assert_int_equal(dumps, 2);
	assert_int_equal(n, ARRAY_SIZE(list));
	for (i = 0; i < n; i++) {
		const struct qdisc *q = &list[i].is;

		assert_int_equal(read[i].ifindex, q->ifindex);
		assert_int_equal(read[i].handle, q->handle);
		assert_int_equal(read[i].parent, q->parent);
		assert_string_equal(read[i].kind, q->kind);
		assert_int_equal(read[i].rate, q->rate);
		assert_int_equal(read[i].overhead, q->overhead);
		assert_int_equal(read[i].delay, q->delay);
		assert_int_equal(read[i].bytes, q->bytes);
		assert_int_equal(read[i].backlog, q->backlog);
		assert_int_equal(read[i].drops, q->drops);
		assert_ptr_equal(find_qdisc(read, n, 7, q->parent), &read[i]);
	}
	assert_null(find_qdisc(read, n, 8, TC_H_ROOT));
	assert_null(find_qdisc(read, n, 7, TC_H_INGRESS));
	free(read);
}

static void put_class(unsigned int n, __u32 handle, __u32 parent, __u32 rate, __u32 ceil)
{
	struct tc_htb_opt o = { .rate.rate = rate, .rate.overhead = 24, .ceil.rate = ceil };
	struct nlmsghdr *nlh = begin(n, handle, parent, 0, "htb");
	struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put(nlh, TCA_HTB_PARMS, sizeof(o), &o);
	mnl_attr_nest_end(nlh, nest);
	end(n, nlh);
}

/*
 * The rate is the smaller of the rate and the ceiling of the root class of this htb alone.
 * `show` reports no error if there are several root classes.
 */
TEST(rate_of_htb_is_that_of_its_root_class)
{
	struct qdisc q = { .ifindex = 7, .handle = 0x10000, .kind = "tbf", .rate = 24000 };

	no_answers();
	assert_int_equal(qdisc_rate(&q), 24000);
	assert_int_equal(dumps, 0);
	strcpy(q.kind, "htb");
	q.rate = 0;
	put_class(0, 0x10001, TC_H_ROOT, 5000, 9000);
	put_class(0, 0x10002, 0x10001, 100, 100);
	put_class(0, 0x20001, TC_H_ROOT, 300, 300);
	assert_int_equal(qdisc_rate(&q), 40000);
	assert_int_equal(asked[0].tcm_ifindex, 7);
	no_answers();
	put_class(0, 0x10001, TC_H_ROOT, 5000, 4000);
	assert_int_equal(qdisc_htb_rate("d0", &q), EXIT_DONE);
	assert_int_equal(q.rate, 32000);
	assert_int_equal(q.overhead, 24);
	q.rate = 0;
	put_class(0, 0x10002, TC_H_ROOT, 5000, 4000);
	dumps = 0;
	capture();
	assert_int_equal(qdisc_htb_rate("d0", &q), EXIT_SYSTEM);
	release();
	assert_has(err, "htb on d0 has 2 root classes");
	dumps = 0;
	capture();
	assert_int_equal(qdisc_rate(&q), 0);
	release();
	assert_string_equal(err, "");
}

TEST(devices_are_read)
{
	struct rtnl_link_stats64 stats = { .rx_packets = 3, .tx_packets = 1ULL << 33 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(answer[0]);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	struct nlattr *nest;
	struct device d;

	no_answers();
	nlh->nlmsg_seq = 1;
	nlh->nlmsg_type = RTM_NEWLINK;
	ifi->ifi_type = 1;
	mnl_attr_put_u32(nlh, IFLA_LINK, 5);
	mnl_attr_put(nlh, IFLA_STATS64, sizeof(stats), &stats);
	nest = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "vlan");
	mnl_attr_nest_end(nlh, nest);
	end(0, nlh);
	assert_int_equal(device_read(7, &d), 0);
	assert_int_equal(d.type, 1);
	assert_string_equal(d.kind, "vlan");
	assert_int_equal(d.lower, 5);
	assert_false(d.far);
	assert_true(d.sent == 1ULL << 33);
	no_answers();
	mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, 0);
	end(0, nlh);
	assert_int_equal(device_read(7, &d), 0);
	assert_true(d.far);
}

static void put_filter(unsigned int n, bool egress, __u32 prio, __u32 handle,
		       const char *kind)
{
	struct nlmsghdr *nlh = begin(n, handle, TC_H_MAKE(TC_H_CLSACT, egress ?
				     TC_H_MIN_EGRESS : TC_H_MIN_INGRESS), prio << 16, kind);

	end(n, nlh);
}

TEST(filters_in_our_place_are_found)
{
	struct filters f;

	no_answers();
	put_filter(0, false, HPCCPP_TC_PRIO, HPCCPP_TC_HANDLE, "bpf");
	put_filter(0, false, HPCCPP_TC_PRIO, 2, "bpf");
	put_filter(1, true, HPCCPP_TC_PRIO, HPCCPP_TC_HANDLE, "bpf");
	put_filter(1, true, HPCCPP_TC_PRIO + 1, HPCCPP_TC_HANDLE, "bpf");
	assert_int_equal(clsact_filters(7, &f), EXIT_DONE);
	assert_int_equal(asked[0].tcm_parent, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS));
	assert_int_equal(asked[1].tcm_parent, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS));
	assert_int_equal(f.count, 4);
	assert_true(f.taken && f.taken_in);
	assert_int_equal(f.first, HPCCPP_TC_PRIO);
	assert_true(f.ours_first);
	no_answers();
	put_filter(0, false, HPCCPP_TC_PRIO + 1, HPCCPP_TC_HANDLE, "bpf");
	assert_int_equal(clsact_filters(7, &f), EXIT_DONE);
	assert_int_equal(f.count, 1);
	assert_false(f.taken || f.taken_in);
	/* another eBPF filter may have that preference, a u32 filter leaves no room there */
	no_answers();
	put_filter(0, false, HPCCPP_TC_PRIO, 2, "bpf");
	put_filter(1, true, HPCCPP_TC_PRIO, 0x80000000, "u32");
	put_filter(1, true, 3, 1, "flower");
	put_filter(1, true, 4, 1, "bpf");
	assert_int_equal(clsact_filters(7, &f), EXIT_DONE);
	assert_true(f.taken && !f.taken_in);
	assert_int_equal(f.first, HPCCPP_TC_PRIO);
	assert_string_equal(f.first_kind, "u32");
	assert_false(f.ours_first);
}
