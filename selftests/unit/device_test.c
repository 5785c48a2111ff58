// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of what the command makes of a port's device: whether a port can be on it, and
 * what is another than it was. The device, with its qdiscs and filters, is the one below.
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
static const char *foremost;	/* another's program that comes first on tcx; NULL: none */

int device_read(int ifindex, struct device *d)
{
	*d = device;
	return 0;
}

__u64 ethtool_rate(const char *dev)
{
	return 1000000000;
}

const struct qdisc *find_qdisc(const struct qdisc *list, size_t n, int ifindex, __u32 parent)
{
	size_t i;

	for (i = 0; i < n && list[i].parent != parent; i++)
		;
	return i < n ? &list[i] : NULL;
}

__u64 qdisc_rate(const struct qdisc *q)
{
	return q->rate;
}

int clsact_filters(int ifindex, struct filters *f)
{
	*f = filters;
	return EXIT_DONE;
}

bool uses_clsact(void)
{
	return !foremost;
}

bool find_before(int ifindex, char *names, size_t size)
{
	if (foremost)
		snprintf(names, size, "%s (id 5)", foremost);
	return foremost;
}

static FILE *real;
static char *text;
static size_t text_len;

void catch(FILE **what)
{
	real = *what;
	*what = open_memstream(&text, &text_len);
}

const char *caught(void)
{
	static char said[1024];

	fclose(stderr);
	stderr = real;
	snprintf(said, sizeof(said), "%s", text);
	free(text);
	return said;
}

static struct hpccpp_port_cfg cfg;
static struct port_now now;

/* A tbf of 50 Mbit/s, or two of them under mq, which the port reads */
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

static const char *stale(__u32 queue)
{
	static char said[128];

	port_read_now(&now, qdiscs, ARRAY_SIZE(qdiscs), 7, "d0");
	now.channels = 2;
	port_stale(&now, &cfg, queue, said, sizeof(said));
	return said;
}

static void what_has_changed(void **state)
{
	add(0);
	assert_string_equal(stale(0), "");
	qdiscs[0].rate = 20000000;
	assert_string_equal(stale(0), "tbf is 20Mbit, stamped 50Mbit");
	cfg.rate_given = 1;
	assert_string_equal(stale(0), "");
	strcpy(qdiscs[0].kind, "netem");
	assert_string_equal(stale(0), "the qdisc is netem, it was tbf");
	strcpy(qdiscs[0].kind, "mq");
	qdiscs[1].parent = qdiscs[0].handle | 1;
	assert_string_equal(stale(0), "the qdisc is mq, it was tbf");
	memset(qdiscs, 0, sizeof(qdiscs));
	assert_string_equal(stale(0), "the qdisc is noqueue, it was tbf");
	/* where the qdisc is not read its kind is nobody's */
	cfg.queue = HPCCPP_QUEUE_VIRTUAL;
	assert_string_equal(stale(0), "");
	cfg.rate_given = 0;
	assert_string_equal(stale(0), "ethtool is 1Gbit, stamped 50Mbit");
	cfg.rate = 1000000000;
	assert_string_equal(stale(0), "");
	cfg.ingress = 1;
	assert_string_equal(stale(0), "the program on ingress is gone");
}

static void what_has_changed_under_mq(void **state)
{
	add(2);
	assert_string_equal(stale(0), "");
	assert_string_equal(stale(1), "");
	qdiscs[2].rate = 20000000;
	assert_string_equal(stale(0), "");
	assert_string_equal(stale(1), "tbf is 20Mbit, stamped 50Mbit");
	strcpy(qdiscs[2].kind, "fq");
	assert_string_equal(stale(1), "the qdisc is fq, it was tbf");
	qdiscs[2].parent = 0;
	assert_string_equal(stale(0), "mq has 1 queues, it had 2");
	add(2);
	cfg.channels = 4;
	assert_string_equal(stale(0), "the device sends by 2 queues, it had 4");
	strcpy(qdiscs[0].kind, "tbf");
	assert_string_equal(stale(0), "the qdisc is tbf, it was mq");
	/* a virtual queue is that of the device, whose rate is that of all */
	add(2);
	cfg.queue = HPCCPP_QUEUE_VIRTUAL;
	cfg.mq = 0;
	cfg.rate = 100000000;
	assert_string_equal(stale(0), "");
}

static void devices_with_a_link(void **state)
{
	struct port_plan p = { .dev = "d0", .cfg.queue = HPCCPP_QUEUE_VIRTUAL,
			       .qdisc.kind = "fq" };
	struct device d;

	device = (struct device){ .type = ARPHRD_NONE, .kind = "wireguard" };
	catch(&stderr);
	assert_int_equal(port_check_device(&p, &d), EXIT_SYSTEM);
	assert_string_equal(caught(), "Error: packets of d0 have no Ethernet header, which a port needs, as it is of kind wireguard: stamp the device that they leave by.\n");
	device = (struct device){ .type = ARPHRD_ETHER, .kind = "bond", .sent = 5 };
	assert_int_equal(port_check_device(&p, &d), EXIT_DONE);
	catch(&stderr);
	port_note_device(&p, &d);
	assert_string_equal(caught(), "Warning: d0 has no link of its own, as it is of kind bond: stamp its members instead.\n");
	assert_int_equal(p.cfg.sent, 5);
	assert_string_equal(p.cfg.kind, "fq");
	/* with a shaper of its own it has, and a veth is no upper device */
	p.cfg.queue = HPCCPP_QUEUE_QDISC;
	catch(&stderr);
	port_note_device(&p, &d);
	p.cfg.queue = HPCCPP_QUEUE_VIRTUAL;
	strcpy(d.kind, "veth");
	port_note_device(&p, &d);
	assert_string_equal(caught(), "");
}

/* Those that "port add dev all" takes */
static void links_of_their_own(void **state)
{
	static const struct { unsigned int type; const char *kind; bool has; } list[] = {
		{ ARPHRD_ETHER, "", true }, { ARPHRD_ETHER, "veth", true },
		{ ARPHRD_ETHER, "dsa", true }, { ARPHRD_LOOPBACK, "", false },
		{ ARPHRD_NONE, "tun", false }, { ARPHRD_ETHER, "tun", true },
		{ ARPHRD_ETHER, "bond", false }, { ARPHRD_ETHER, "vlan", false },
		{ ARPHRD_ETHER, "vxlan", false }, { ARPHRD_ETHER, "dummy", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		device = (struct device){ .type = list[i].type };
		strcpy(device.kind, list[i].kind);
		assert_int_equal(port_has_link("lo"), list[i].has);
	}
}

static void who_is_in_front(void **state)
{
	static const struct qdisc clsact = { .ifindex = 1, .parent = TC_H_INGRESS };
	char said[256];

	filters = (struct filters){ .first = HPCCPP_TC_PRIO, .first_kind = "bpf",
				     .ours_first = true };
	port_in_front(&clsact, 1, "lo", said, sizeof(said));
	assert_non_null(strstr(said, "XDP"));
	filters.ours_first = false;
	port_in_front(&clsact, 1, "lo", said, sizeof(said));
	assert_non_null(strstr(said, "the bpf filter of preference 1 of lo"));
	foremost = "cil_to_netdev";
	port_in_front(&clsact, 1, "lo", said, sizeof(said));
	assert_non_null(strstr(said, "on tcx of lo comes before the agent: cil_to_netdev (id 5);"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_changed),
		cmocka_unit_test(what_has_changed_under_mq),
		cmocka_unit_test(devices_with_a_link),
		cmocka_unit_test(links_of_their_own),
		cmocka_unit_test(who_is_in_front),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
