// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of `hpccpp cnp`: the configuration that it writes and shows. The device with its
 * qdiscs and filters, the agent's maps and the RDMA devices are those below.
 */
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/pkt_sched.h>

#include "command_test.h"
#include "hpccpp_cnp.h"
#include "cnp.skel.h"

/* --- The agent's maps and programs ----------------------------------------------- */

enum { CNP, ACCEPTS, DETOURS, TRACE_TO, HEARD, SENDERS, FLOW, STATS, OTHER, MAPS };

struct bpf_map {
	unsigned int most, n;
	bool bound, kept;
	struct hpccpp_prefix entry[4];
};

struct bpf_program {
	int fd;
};

#define IN_FD	100
#define OUT_FD	101

static const char *const map_names[MAPS] = {
	"cnp", "cnp_accept", "cnp_detour", "cnp_trace_to", "cnp_heard", "cnp_senders",
	"cnp_flows", "cnp_stats", "others",
};

static struct bpf_map maps[MAPS];
static struct bpf_program progs[] = { { IN_FD }, { OUT_FD } };
static struct hpccpp_cnp_cfg cfg;
static bool loaded;
static struct {
	struct hpccpp_cnp_key key;
	struct hpccpp_cnp_flow f;
} flow[3];
static int n_flows;

struct cnp_bpf *cnp_bpf__open_opts(const struct bpf_object_open_opts *opts)
{
	static struct cnp_bpf skel = {
		.maps = { &maps[CNP], &maps[ACCEPTS], &maps[DETOURS], &maps[TRACE_TO],
			  &maps[HEARD], &maps[SENDERS], &maps[FLOW], &maps[STATS],
			  &maps[OTHER], &maps[OTHER], &maps[OTHER], &maps[OTHER],
			  &maps[OTHER] },
		.progs = { &progs[0], &progs[1] },
	};

	memset(maps, 0, sizeof(maps));
	return &skel;
}

int cnp_bpf__load(struct cnp_bpf *skel)
{
	loaded = true;
	return 0;
}

void cnp_bpf__destroy(struct cnp_bpf *skel)
{
	loaded = false;
}

int bpf_map__set_max_entries(struct bpf_map *map, __u32 n)
{
	assert_false(loaded);
	map->most = n;
	return 0;
}

STUB(int bpf_map__fd(const struct bpf_map *map), map - maps)
STUB(int bpf_program__fd(const struct bpf_program *prog), prog->fd)

int bpf_prog_bind_map(int prog, int map, const struct bpf_prog_bind_opts *opts)
{
	assert_int_equal(prog, OUT_FD);
	maps[map].bound = true;
	return 0;
}

int bpf_map__update_elem(const struct bpf_map *to, const void *key, size_t key_sz,
			 const void *value, size_t value_sz, __u64 flags)
{
	struct bpf_map *map = &maps[to - maps];

	assert_true(loaded);
	if (to == &maps[CNP]) {
		assert_int_equal(value_sz, sizeof(cfg));
		memcpy(&cfg, value, value_sz);
		return 0;
	}
	assert_int_equal(key_sz, sizeof(map->entry[0]));
	assert_true(map->n < ARRAY_SIZE(map->entry));
	memcpy(&map->entry[map->n++], key, key_sz);
	return 0;
}

/* File descriptors that the command may close, and the maps that they refer to */
static int of_map[1024];

static int descriptor(int map)
{
	int fd = open("/dev/null", O_RDONLY);

	assert_in_range(fd, 0, ARRAY_SIZE(of_map) - 1);
	of_map[fd] = map;
	return fd;
}

int prog_map(int prog, const char *name, size_t value_size)
{
	int i;

	for (i = 0; i < MAPS && strcmp(name, map_names[i]); i++)
		;
	return i < MAPS && (maps[i].bound || i == FLOW || i == CNP) ? descriptor(i) : -1;
}

bool prog_keep_map(int prog, struct bpf_map *map)
{
	assert_false(loaded);
	map->kept = true;
	return true;
}

STUB(int prog_map_error(const char *name), system_error("no map %s", name))
STUB(int bind_words(int prog), 0)

void put_words(struct json_object *row, int prog)
{
}

STUB(int parse_kept(int prog, struct argument *args, size_t n, struct words *w), EXIT_DONE)

int prog_entry(int prog, const char *name, void *value, size_t size)
{
	assert_int_equal(size, sizeof(cfg));
	memcpy(value, &cfg, size);
	return EXIT_DONE;
}

int prog_stats(int prog, const char *name, __u64 *sum, size_t n)
{
	while (n--)
		sum[n] = n;
	return EXIT_DONE;
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	const struct bpf_map *map = &maps[of_map[fd]];
	int i = 0, n = map->n;

	if (map == &maps[FLOW]) {
		for (n = n_flows; key && i < n && memcmp(&flow[i++].key, key, sizeof(flow[0].key));)
			;
		if (i < n)
			memcpy(next, &flow[i].key, sizeof(flow[0].key));
		return i < n ? 0 : -1;
	}
	while (key && i < n && memcmp(&map->entry[i++], key, sizeof(map->entry[0])))
		;
	if (i < n)
		memcpy(next, &map->entry[i], sizeof(map->entry[0]));
	return i < n ? 0 : -1;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	assert_int_equal(of_map[fd], CNP);
	memcpy(value, &cfg, sizeof(cfg));
	return 0;
}

int bpf_map_lookup_elem_flags(int fd, const void *key, void *value, __u64 flags)
{
	int i;

	assert_int_equal(flags, BPF_F_LOCK);
	for (i = 0; i < n_flows && memcmp(&flow[i].key, key, sizeof(flow[0].key)); i++)
		;
	if (i < n_flows)
		memcpy(value, &flow[i].f, sizeof(flow[0].f));
	return i < n_flows ? 0 : -1;
}

/* --- The clock and the device ------------------------------------------------------ */

#define NOW	1000000000000	/* ns */
#define IFINDEX	7

int clock_gettime(clockid_t clock, struct timespec *t)
{
	*t = (struct timespec){ .tv_sec = NOW / 1000000000 };
	return 0;
}

static struct qdisc qdiscs[4];
static size_t n_qdiscs;
static bool there[2];		/* programs of ours, by direction */
static bool clsact = true;	/* the kernel has no tcx */
static __u64 speed;
static int asked_rdma;

int qdisc_list(struct qdisc **list, size_t *n)
{
	*list = malloc(sizeof(qdiscs));
	assert_non_null(*list);
	memcpy(*list, qdiscs, sizeof(qdiscs));
	*n = n_qdiscs;
	return EXIT_DONE;
}

int find_dev(const char *dev, const char *netns, int *ifindex)
{
	*ifindex = IFINDEX;
	return EXIT_DONE;
}

int find_dev_to_clear(const char *object, int argc, char **argv, const char **dev,
		      int *ifindex)
{
	*dev = "ha";
	*ifindex = IFINDEX;
	return EXIT_DONE;
}

int draw_mark(__u32 *mark)
{
	*mark = 4711;
	return EXIT_DONE;
}

STUB(int netns_enter(const char *name), EXIT_DONE)
STUB(int lock_agents(void), EXIT_DONE)
STUB(__u64 ethtool_rate(const char *dev), speed)
STUB(bool uses_clsact(void), clsact)

int find_program(enum dev_agent agent, int ifindex, enum bpf_tc_attach_point point, int *prog)
{
	assert_int_equal(agent, DEV_CNP);
	assert_int_equal(ifindex, IFINDEX);
	*prog = there[point == BPF_TC_EGRESS] ? descriptor(MAPS) : -1;
	return EXIT_DONE;
}

STUB(int prog_finish_rows(int prog, const char *key, const char *where, int ret, size_t first,
			  struct json_object *rows), ret)

int attach_programs(enum dev_agent agent, const char *dev, int ifindex, bool replace, int in,
		    int out)
{
	assert_true(loaded && ifindex == IFINDEX && in == IN_FD && out == OUT_FD);
	assert_true(replace || (!there[0] && !there[1]));
	there[0] = true;
	there[1] = true;
	return EXIT_DONE;
}

int detach_programs(enum dev_agent agent, const char *dev, int ifindex)
{
	assert_true(there[0] || there[1]);
	memset(there, 0, sizeof(there));
	return EXIT_DONE;
}

STUB(int dev_rows(const char *dev, struct json_object *rows,
		  int (*add)(const struct qdisc *list, size_t n, int ifindex, const char *dev,
			     struct json_object *rows)), add(NULL, 0, IFINDEX, "ha", rows))
STUB(int show_devs(const struct field *fields, int (*read)(const char *, struct json_object *),
		   int argc, char **argv), EXIT_DONE)

void read_queue_pairs(int ifindex, struct queue_pairs *all)
{
	assert_int_equal(ifindex, IFINDEX);
	asked_rdma++;
}

const struct queue_pair *find_queue_pair(const struct queue_pairs *all, __u32 lqpn, __u32 rqpn)
{
	static const struct queue_pair qp = {
		.lqpn = 17, .rqpn = 18, .pid = 4711, .rdma = "rxe0", .comm = "ib_write_bw",
	};

	return lqpn == qp.lqpn && rqpn == qp.rqpn ? &qp : NULL;
}

/* --- Calls of the command ------------------------------------------------------------ */

static int reset(void **state)
{
	memset(&cfg, 0, sizeof(cfg));
	memset(maps, 0, sizeof(maps));
	memset(flow, 0, sizeof(flow));
	n_flows = 0;
	n_qdiscs = 1;
	qdiscs[0] = (struct qdisc){ IFINDEX, 0x10000, TC_H_ROOT, "fq" };
	memset(there, 0, sizeof(there));
	speed = 0;
	asked_rdma = 0;
	return 0;
}

#define ADD	"add dev ha accept fd00:5::/64 "

static void add(const char *words)
{
	char line[512];

	memset(there, 0, sizeof(there));
	snprintf(line, sizeof(line), ADD "%s", words);
	assert_int_equal(run(cnp_main, line), EXIT_DONE);
	assert_string_equal(err, "");
	assert_true(there[0] && there[1]);
}

static void refused(const char *line, const char *why)
{
	assert_int_equal(run(cnp_main, line), EXIT_SYSTEM);
	assert_has(err, why);
	assert_false(loaded);
}

/* --- Parameters ---------------------------------------------------------------------- */

/* Windows in bytes, rates in bytes/s, T in us, and their bounds */
TEST(parameters_follow_rate_and_base_rtt)
{
	static const struct {
		const char *words;
		__u64 line;
		__u32 T, W_max, W_ai, W_min;
	} is[] = {
		{ "rate 40gbit", 5000000000, 50, 250000, 195, 250 },
		{ "rate 40gbit flows 10", 5000000000, 50, 250000, 1250, 250 },
		{ "rate 100gbit base-rtt 10us flows 1", 12500000000, 10, 125000, 6250, 125 },
		/* at least 12/1000 and 1/16 of a packet of 1500 bytes */
		{ "rate 1gbit", 125000000, 50, 6250, 18, 93 },
		{ "rate 10kbit base-rtt 1us", 1250, 1, 93, 18, 93 },
		{ "rate 1tbit base-rtt 4s", 125000000000, 4000000, 1 << 30, 838860, 500000000 },
		/* at most what the algorithm accepts */
		{ "rate 4tbit base-rtt 4s", 500000000000, 4000000, 1 << 30, 838860, 1 << 30 },
	};

	for_each_row(row, is) {
		add(row->words);
		assert_int_equal(cfg.dcqcn.line, row->line);
		assert_int_equal(cfg.dcqcn.timer, row->T * 1100ULL);
		assert_int_equal(cfg.hpcc.T, row->T);
		assert_int_equal(cfg.hpcc.W_max, row->W_max);
		assert_int_equal(cfg.hpcc.W_ai, row->W_ai);
		assert_int_equal(cfg.hpcc.W_min, row->W_min);
		assert_int_equal(cfg.hpcc.law, HPCCPP_LAW_DRAFT);
		assert_int_equal(cfg.hpcc.share, 0);
		assert_int_equal(cfg.hpcc.eta, 95ULL * HPCCPP_ONE / 100);
		assert_true(cfg.rate_given);
	}
	/* the default is the rate of ethtool, which may be missing */
	speed = 40000000000;
	add("");
	assert_int_equal(cfg.dcqcn.line, 5000000000);
	assert_false(cfg.rate_given);
	assert_int_equal(cfg.expected, 64);
	speed = 0;
	memset(there, 0, sizeof(there));
	refused(ADD, "rate*ha");
}

TEST(arguments_become_configuration)
{
	static const struct { const char *words; __u8 percent, load; } thresholds[] = {
		{ "rate 1gbit", 80, 52 }, { "rate 1gbit threshold 50", 50, 32 },
		{ "rate 1gbit threshold 51", 51, 33 }, { "rate 1gbit threshold 1", 1, 1 },
		{ "rate 1gbit threshold 100", 100, 64 },
	};

	for_each_row(row, thresholds) {
		add(row->words);
		assert_int_equal(cfg.threshold_percent, row->percent);
		assert_int_equal(cfg.threshold, row->load);
	}
	/* agents_are_shown() tests the values that are also shown */
	add("rate 1gbit");
	assert_int_equal(cfg.mark, 0);
	assert_int_equal(cfg.trace, 0);
	add("rate 1gbit trace 3 to fd00:1::/64 to fd00:2::/64 detour fd00:5:0:0:1::/80 ioam-namespace 258 answer cnp");
	assert_int_equal(cfg.accepts, 1);
	assert_int_equal(cfg.trace_to, 2);
	assert_int_equal(cfg.detours, 1);
	assert_int_equal(ntohs(cfg.trace), 258);
	assert_int_not_equal(cfg.mark, 0);
	assert_int_equal(cfg.limit, HPCCPP_LIMIT);
}

/* "cnp show" needs the maps bound; without answers two large maps have one entry. */
TEST(maps_are_filled_and_bound)
{
	int i;

	add("rate 1gbit detour fd00:5:0:0:1::/80 trace 1 to fd00:1::/64 to fd00:2::/64");
	for (i = 0; i < MAPS; i++) {
		assert_int_equal(maps[i].bound, i == ACCEPTS || i == DETOURS || i == TRACE_TO);
		assert_int_equal(maps[i].most, i == HEARD || i == SENDERS);
	}
	assert_int_equal(maps[ACCEPTS].n, 1);
	assert_int_equal(maps[DETOURS].n, 1);
	assert_int_equal(maps[TRACE_TO].n, 2);
	assert_int_equal(maps[ACCEPTS].entry[0].prefixlen, 64);
	assert_int_equal(maps[DETOURS].entry[0].prefixlen, 80);
	add("rate 1gbit answer cnp");
	for (i = 0; i < MAPS; i++)
		assert_int_equal(maps[i].most, 0);
}

/* --- The qdiscs of the device ---------------------------------------------------------- */

TEST(qdiscs_must_be_fq)
{
	static const struct { struct qdisc list[3]; const char *error; } rows[] = {
		/* other devices do not matter */
		{ { { IFINDEX + 1, 0x10000, TC_H_ROOT, "pfifo" },
		    { IFINDEX, 0x10000, TC_H_ROOT, "fq" },
		    { IFINDEX + 1, 0xffff0000, TC_H_INGRESS, "ingress" } } },
		{ { }, "ha*noqueue" },
		{ { { IFINDEX + 1, 0x10000, TC_H_ROOT, "fq" },
		    { IFINDEX, 0x10000, TC_H_ROOT, "fq_codel" } }, "ha*fq_codel" },
		/* every queue of mq, which has handle 0 by default */
		{ { { IFINDEX, 0x10000, TC_H_ROOT, "mq" }, { IFINDEX, 0x20000, 0x10001, "fq" },
		    { IFINDEX, 0x30000, 0x10002, "pfifo" } }, "ha*pfifo" },
		{ { { IFINDEX, 0x10000, TC_H_ROOT, "mq" }, { IFINDEX, 0x20000, 0x10001, "fq" },
		    { IFINDEX, 0x30000, 0x10002, "fq" } } },
		{ { { IFINDEX, 0, TC_H_ROOT, "mq" }, { IFINDEX, 0, 1, "fq" },
		    { IFINDEX, 0, 2, "fq" } } },
		{ { { IFINDEX, 0, TC_H_ROOT, "mq" }, { IFINDEX, 0, 1, "fq" },
		    { IFINDEX, 0, 2, "fq_codel" } }, "ha*fq_codel" },
		/* packets wait in the lowest qdisc, and a clsact needs its place */
		{ { { IFINDEX, 0x10000, TC_H_ROOT, "prio" }, { IFINDEX, 0x20000, 0x10001, "fq" },
		    { IFINDEX, 0xffff0000, TC_H_INGRESS, "clsact" } } },
		{ { { IFINDEX, 0x10000, TC_H_ROOT, "prio" }, { IFINDEX, 0x20000, 0x10001, "fq" },
		    { IFINDEX, 0xffff0000, TC_H_INGRESS, "ingress" } }, "ha*ingress*clsact" },
	};

	for_each_row(row, rows) {
		memset(there, 0, sizeof(there));
		memcpy(qdiscs, row->list, sizeof(row->list));
		for (n_qdiscs = 0; n_qdiscs < 3 && *qdiscs[n_qdiscs].kind;)
			n_qdiscs++;
		if (row->error)
			refused(ADD "rate 1gbit", row->error);
		else
			add("rate 1gbit");
	}
	clsact = false;
	add("rate 1gbit");
	clsact = true;
}

/* --- Agents that are there already --------------------------------------------------- */

/* A program in one direction counts as an agent. */
TEST(a_device_has_one_agent)
{
	int i;

	for (i = 1; i < 4; i++) {
		there[0] = i & 1;
		there[1] = i & 2;
		refused(ADD "rate 1gbit", "exists*ha");
		assert_int_equal(run(cnp_main, "delete dev ha"), EXIT_DONE);
		assert_false(there[0] || there[1]);
	}
	refused("delete dev ha", "no agent*ha");
}

/*
 * Flows are kept if the agent is replaced, unless rate, T or algorithm change. The other maps
 * and the mark of copies in flight are always kept.
 */
TEST(replacing_keeps_flows)
{
	static const struct {
		const char *words;
		bool flows;
	} by[] = {
		{ "rate 1gbit answer cnp threshold 50", true },
		{ "rate 2gbit answer cnp", false },
		{ "rate 1gbit answer cnp base-rtt 51us", false },
		{ "rate 1gbit answer cnp algorithm dcqcn", false },
	};
	char line[512];

	for_each_row(row, by) {
		add("rate 1gbit answer cnp");
		cfg.mark = 17;
		snprintf(line, sizeof(line), "replace dev ha accept fd00:5::/64 %s", row->words);
		assert_int_equal(run(cnp_main, line), EXIT_DONE);
		assert_true(maps[STATS].kept && maps[HEARD].kept && maps[OTHER].kept);
		assert_int_equal(maps[FLOW].kept, row->flows);
		assert_false(maps[CNP].kept || maps[ACCEPTS].kept);
		assert_int_equal(cfg.mark, 17);
	}
	memset(there, 0, sizeof(there));
	assert_int_equal(run(cnp_main, "replace dev ha accept fd00:5::/64 rate 1gbit"), EXIT_DONE);
	assert_false(maps[STATS].kept);
	assert_true(there[0] && there[1]);
}

/* --- Output ---------------------------------------------------------------------------- */

static struct json_object *row(void)
{
	static struct json_object *rows;

	json_object_put(rows);
	rows = json_object_new_array();
	assert_int_equal(cnp_rows(NULL, rows), EXIT_DONE);
	return json_object_array_get_idx(rows, 0);
}

TEST(agents_are_shown)
{
	struct json_object *r;

	add("rate 40gbit base-rtt 20us");
	r = row();
	assert_entries(r, { "dev", "\"ha\"" }, { "rate", "40000000000" }, { "rate_given", "true" },
		       { "base_rtt", "20" }, { "algorithm", "\"auto\"" }, { "threshold", "80" },
		       { "flows", "64" }, { "accept", "[\"fd00:5::/64\"]" }, { "trace", "none" },
		       { "to", "none" }, { "answer", "none" }, { "limit", "none" },
		       { "detour", "none" }, { "ioam_namespace", "none" },
		       { "option_type", "[158,157]" }, { "queue_pairs", "[]" });
	assert_entries(json_object_object_get(r, "stats"), { "detoured", "24" });
	add("rate 1gbit algorithm dcqcn trace 3 to fd00:1::/64 detour fd00:6::/80 ioam-namespace 258 ioam-namespace 7 answer fast-cnp limit 20 option-type 0x9b");
	r = row();
	assert_entries(r, { "algorithm", "\"dcqcn\"" }, { "trace", "3" },
		       { "to", "[\"fd00:1::/64\"]" }, { "answer", "\"fast-cnp\"" },
		       { "limit", "20" }, { "detour", "[\"fd00:6::/80\"]" },
		       { "ioam_namespace", "[258,7]" }, { "option_type", "[155,157]" });
}

static struct json_object *flow_of(struct json_object *r, int i)
{
	return json_object_array_get_idx(json_object_object_get(r, "queue_pairs"), i);
}

/* Not held back; by HPCC++ after a switch, elsewhere; by DCQCN after a receiver */
static void three_flows(void)
{
	const __be32 daddr[4] = { htonl(0xfd000001), 0, 0, htonl(2) };
	const __be32 a_switch[4] = { htonl(0xfd000005), 0, 0, htonl(1) };
	int i;

	n_flows = 3;
	for (i = 0; i < n_flows; i++) {
		memcpy(flow[i].key.daddr, daddr, sizeof(daddr));
		flow[i].key.qpn = 18 + i;
		flow[i].f = (struct hpccpp_cnp_flow) {
			.sport = 50000, .rate = 5000000000, .packets = 10, .bytes = 10240,
		};
	}
	flow[1].f.rate = 2500000000;
	flow[1].f.algorithm = HPCCPP_CNP_HPCC;
	flow[1].f.hpcc.U = HPCCPP_ONE / 4 * 5;
	flow[1].f.cause = HPCCPP_CNP_SWITCH;
	memcpy(flow[1].f.from, a_switch, sizeof(a_switch));
	flow[1].f.port = 50001;
	flow[1].f.detours = 1;
	flow[1].f.cnps = 3;
	flow[1].f.cnp_at = NOW - 5000000000;
	flow[2].f.rate = 1250000000;
	flow[2].f.algorithm = HPCCPP_CNP_DCQCN;
	flow[2].f.dcqcn.alpha = HPCCPP_ONE / 2;
	flow[2].f.cause = HPCCPP_CNP_RECEIVER;
	flow[2].f.cnps = 1;
}

TEST(flows_are_shown)
{
	struct json_object *f;

	add("rate 40gbit");
	three_flows();
	f = flow_of(row(), 0);
	assert_int_equal(asked_rdma, 0);
	assert_entries(f, { "dst", "\"fd00:1::2\"" }, { "dqpn", "18" }, { "sport", "50000" },
		       { "lqpn", "none" }, { "rdma", "none" }, { "rate", "40000000000" },
		       { "algorithm", "\"none\"" }, { "U", "none" }, { "alpha", "none" },
		       { "cause", "\"none\"" }, { "switch", "none" }, { "cnp_age", "none" },
		       { "packets", "10" }, { "bytes", "10240" });
	f = flow_of(row(), 1);
	assert_entries(f, { "sport", "50001" }, { "rate", "20000000000" },
		       { "algorithm", "\"hpccpp\"" }, { "U", "1.250" }, { "alpha", "none" },
		       { "cause", "\"switch\"" }, { "switch", "\"fd00:5::1\"" },
		       { "cnp_age", "5000000" }, { "cnps", "3" }, { "detours", "none" });
	f = flow_of(row(), 2);
	assert_entries(f, { "algorithm", "\"dcqcn\"" }, { "U", "none" }, { "alpha", "0.500" },
		       { "cause", "\"receiver\"" });
	cfg.detours = 1;
	assert_entries(flow_of(row(), 1), { "detours", "1" });
}

/* RDMA devices are read once, if the queue pair of a flow is known. */
TEST(flows_have_rdma_devices)
{
	struct json_object *f;

	add("rate 40gbit");
	three_flows();
	flow[0].f.lqpn = 17;
	flow[2].f.lqpn = 19;
	f = flow_of(row(), 0);
	assert_int_equal(asked_rdma, 1);
	assert_entries(f, { "lqpn", "17" }, { "rdma", "\"rxe0\"" }, { "pid", "4711" },
		       { "comm", "\"ib_write_bw\"" });
	f = flow_of(row(), 2);
	assert_entries(f, { "lqpn", "19" }, { "rdma", "none" });
}

TEST_MAIN("objects", reset, NULL)
