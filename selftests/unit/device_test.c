// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the checks of a port's device: that it can have a port, and that it is unchanged
 * since the port was added. The device, its qdiscs and filters are those below.
 */
#include <bpf/bpf.h>
#include <linux/pkt_sched.h>
#include <net/if_arp.h>

#include "command_test.h"
#include "port.h"

const struct field cnp_flow_fields[1];

static struct qdisc qdiscs[3];
static struct device device;
static struct filters filters;
static const char *foremost;	/* program of others that is first on tcx; NULL: none */

int device_read(int ifindex, struct device *d)
{
	*d = device;
	return 0;
}

STUB(__u64 ethtool_rate(const char *dev), 1000000000)

const struct qdisc *find_qdisc(const struct qdisc *list, size_t n, int ifindex, __u32 parent)
{
	size_t i;

	for (i = 0; i < n && list[i].parent != parent; i++)
		;
	return i < n ? &list[i] : NULL;
}

STUB(__u64 qdisc_rate(const struct qdisc *q), q->rate)

int clsact_filters(int ifindex, struct filters *f)
{
	*f = filters;
	return EXIT_DONE;
}

STUB(bool uses_clsact(void), !foremost)

bool find_before(int ifindex, bool on_ingress, char *names, size_t size)
{
	if (foremost)
		snprintf(names, size, "%s (id 5)", foremost);
	return foremost;
}

static struct hpccpp_port_cfg cfg;

/* Adds a port that reads a tbf of 50 Mbit/s, or several of them under mq. */
static void add(unsigned int queues)
{
	unsigned int i;

	memset(qdiscs, 0, sizeof(qdiscs));
	for (i = 0; i <= queues; i++) {
		qdiscs[i] = (struct qdisc){ .handle = (i + 1) << 16, .rate = 50000000,
					    .parent = i ? 0x10000 | i : TC_H_ROOT };
		strcpy(qdiscs[i].kind, queues && !i ? "mq" : "tbf");
	}
	qdiscs[0].rate = queues ? 0 : 50000000;
	cfg = (struct hpccpp_port_cfg){ .rate = 50000000, .queue = HPCCPP_QUEUE_QDISC,
					.mq = !!queues, .queues = queues ?: 1,
					.channels = 2, .kind = "tbf" };
}

/* Fails unless the queue's port is up to date, or outdated for a reason like the pattern. */
static void assert_stale(__u32 queue, const char *pattern)
{
	struct port_now now;
	char said[128];

	port_read_now(&now, qdiscs, ARRAY_SIZE(qdiscs), 7, "d0");
	now.channels = 2;
	port_stale(&now, &cfg, queue, said, sizeof(said));
	if (*pattern)
		assert_has(said, pattern);
	else
		assert_string_equal(said, "");
}

TEST(changes_are_found)
{
	add(0);
	assert_stale(0, "");
	qdiscs[0].rate = 20000000;
	assert_stale(0, "tbf*20Mbit*50Mbit");
	cfg.rate_given = 1;
	assert_stale(0, "");
	strcpy(qdiscs[0].kind, "netem");
	assert_stale(0, "qdisc*netem*tbf");
	strcpy(qdiscs[0].kind, "mq");
	qdiscs[1].parent = qdiscs[0].handle | 1;
	assert_stale(0, "qdisc*mq*tbf");
	memset(qdiscs, 0, sizeof(qdiscs));
	assert_stale(0, "qdisc*noqueue*tbf");
	/* the kind does not matter to a port that does not read the qdisc */
	cfg.queue = HPCCPP_QUEUE_VIRTUAL;
	assert_stale(0, "");
	cfg.rate_given = 0;
	assert_stale(0, "ethtool*1Gbit*50Mbit");
	cfg.rate = 1000000000;
	assert_stale(0, "");
	cfg.ingress = 1;
	assert_stale(0, "ingress*gone");
}

TEST(changes_under_mq_are_found)
{
	add(2);
	assert_stale(0, "");
	assert_stale(1, "");
	qdiscs[2].rate = 20000000;
	assert_stale(0, "");
	assert_stale(1, "tbf*20Mbit*50Mbit");
	strcpy(qdiscs[2].kind, "fq");
	assert_stale(1, "qdisc*fq*tbf");
	qdiscs[2].parent = 0;
	assert_stale(0, "mq*1 queue*2");
	add(2);
	cfg.channels = 4;
	assert_stale(0, "2 queues*4");
	strcpy(qdiscs[0].kind, "tbf");
	assert_stale(0, "qdisc*tbf*mq");
	/* a device has one virtual queue, with the rate of all its queues */
	add(2);
	cfg.queue = HPCCPP_QUEUE_VIRTUAL;
	cfg.mq = 0;
	cfg.rate = 100000000;
	assert_stale(0, "");
}

/* Checks a device for a port; messages are in err. */
static const char *root = "fq";
static bool rate_given;

static int checked(struct device is, __u32 queue)
{
	struct port_plan p = { .dev = "d0", .cfg.queue = queue, .cfg.rate_given = rate_given };
	struct device d;
	int ret;

	device = is;
	strcpy(p.qdisc.kind, root);
	capture();
	ret = port_check_device(&p, &d);
	if (!ret)
		port_note_device(&p, &d);
	release();
	if (!ret) {
		assert_int_equal(p.cfg.sent, is.sent);
		assert_string_equal(p.cfg.kind, root);
	}
	return ret;
}

TEST(devices_need_ethernet_and_a_link)
{
	struct device bond = { .type = ARPHRD_ETHER, .kind = "bond", .sent = 5 };
	struct device veth = { .type = ARPHRD_ETHER, .kind = "veth" };
	struct device vxlan = { .type = ARPHRD_ETHER, .kind = "vxlan" };
	struct device ppp = { .type = ARPHRD_PPP, .kind = "ppp" };
	struct device wireguard = { .type = ARPHRD_NONE, .kind = "wireguard" };
	static const char *const shapers[] = { "hfsc", "taprio", "cbs" };

	assert_int_equal(checked(wireguard, HPCCPP_QUEUE_VIRTUAL), EXIT_SYSTEM);
	assert_has(err, "d0*tunnel*wireguard*Ethernet*no port sees TCP");
	assert_int_equal(checked(ppp, HPCCPP_QUEUE_VIRTUAL), EXIT_SYSTEM);
	assert_has(err, "d0*Ethernet*ppp*leave by");
	assert_int_equal(checked(vxlan, HPCCPP_QUEUE_VIRTUAL), EXIT_DONE);
	assert_has(err, "Warning: d0*tunnel*vxlan*slowest link");
	assert_int_equal(checked(bond, HPCCPP_QUEUE_VIRTUAL), EXIT_DONE);
	assert_has(err, "Warning: d0*link*bond*members");
	/* a shaper is a link, and a veth is no upper device */
	assert_int_equal(checked(bond, HPCCPP_QUEUE_QDISC), EXIT_DONE);
	assert_string_equal(err, "");
	assert_int_equal(checked(veth, HPCCPP_QUEUE_VIRTUAL), EXIT_DONE);
	assert_string_equal(err, "");
	/* these shape, and the rate of the link is no default for them */
	for_each_row(kind, shapers) {
		root = *kind;
		rate_given = false;
		assert_int_equal(checked(veth, HPCCPP_QUEUE_VIRTUAL), EXIT_DONE);
		assert_has(err, "Warning*d0*less*rate RATE");
		rate_given = true;
		assert_int_equal(checked(veth, HPCCPP_QUEUE_VIRTUAL), EXIT_DONE);
		assert_string_equal(err, "");
	}
	root = "fq";
}

/* "port add dev all" and the advice of "check" select the devices that need a port. */
TEST(some_devices_need_a_port)
{
	static const struct { unsigned int type; const char *kind; bool plain, shaped; } list[] = {
		{ ARPHRD_ETHER, "", true, true }, { ARPHRD_ETHER, "dsa", true, true },
		{ ARPHRD_ETHER, "veth", false, true }, { ARPHRD_ETHER, "netkit", false, true },
		{ ARPHRD_ETHER, "tun", false, true }, { ARPHRD_NONE, "tun" },
		{ ARPHRD_LOOPBACK, "" }, { ARPHRD_ETHER, "bond" }, { ARPHRD_ETHER, "vlan" },
		{ ARPHRD_ETHER, "vxlan" }, { ARPHRD_ETHER, "dummy" },
	};
	bool has_rate;

	add(0);
	for_each_row(row, list) {
		device = (struct device){ .type = row->type };
		strcpy(device.kind, row->kind);
		assert_false(port_wanted("lo", false, qdiscs, 1, &has_rate));
		assert_int_equal(port_wanted("lo", true, qdiscs, 1, &has_rate), row->shaped);
		device.up = true;
		assert_int_equal(port_wanted("lo", false, qdiscs, 0, &has_rate), row->plain);
		assert_int_equal(port_wanted("lo", false, qdiscs, 1, &has_rate), row->shaped);
	}
}

TEST(programs_in_front_are_named)
{
	static const struct { bool ours_first; const char *foremost, *named; } rows[] = {
		{ true, NULL, NULL }, { false, NULL, "bpf*preference 1" },
		{ false, "cil_to_netdev", "cil_to_netdev (id 5)" },
	};
	static const struct qdisc clsact = { .ifindex = 1, .parent = TC_H_INGRESS };
	char said[256];

	for_each_row(row, rows) {
		filters = (struct filters){ .first = HPCCPP_TC_PRIO, .first_kind = "bpf",
					    .ours_first = row->ours_first };
		foremost = row->foremost;
		assert_int_equal(port_in_front(&clsact, 1, "lo", false, said,
					       sizeof(said)),
				 !!row->named);
		if (row->named)
			assert_has(said, row->named);
	}
}

TEST_MAIN("device", NULL, NULL)
