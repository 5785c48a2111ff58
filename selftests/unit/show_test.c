// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the commands that read the flows of a host, which may be very many: `hpccpp
 * flow show`, `hpccpp show` and `hpccpp check`. The other objects and the iterator are below.
 */
#include <errno.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "check.h"
#include "command_test.h"
#include "flow.skel.h"
#include "flow_reason.h"
#include "hpccpp_flow.h"

#ifdef __SANITIZE_ADDRESS__	/* delays the release of memory */
#define MANY		1000
#else
#define MANY		20000		/* 130 MB as an array of rows */
#endif
#define MEMORY_MAX	(20 << 10)	/* KB, more than for a single flow */

/* --- The objects ----------------------------------------------------------------- */

static unsigned int n_flows, n_ports;
static unsigned int bad_flow;	/* number of the flow from another module; 0: none */
static unsigned int n_peers;	/* used by the flows in turn */
static int port_ret;
static bool no_iter;		/* the kernel refuses to read flows */

const struct field port_fields[] = {
	{ "dev", FORM_TEXT, "", "DEV", "", NULL },
	{ "U", FORM_RATIO, "U", "U", "hpccpp_port_utilization_ratio", "Load." },
	{ .word = "no port agent" }
};

const struct field host_fields[] = { { .word = "no host agent" } };

const struct field cnp_fields[] = { { .word = "no agent for Fast CNPs" } };

const struct field cnp_flow_fields[] = { { } };

int port_rows(const char *dev, struct json_object *rows)
{
	unsigned int i;

	for (i = 0; i < n_ports; i++)
		add_row(rows, "{'dev':'d%u','id':7,'stale':'','U':0.5}", i);
	return port_ret;
}

STUB(int egress_rows(const char *dev, struct json_object *rows), EXIT_DONE)
STUB(int ingress_rows(const char *dev, struct json_object *rows), EXIT_DONE)
STUB(int host_rows(const char *cgroup, struct json_object *rows), EXIT_DONE)
STUB(int cnp_rows(const char *dev, struct json_object *rows), EXIT_DONE)
STUB(int netns_enter(const char *name), EXIT_DONE)

/* For check: it runs as root, agents can be loaded, and there are no qdiscs. */
STUB(uid_t geteuid(void), 0)
STUB(int bpf_prog_get_next_id(__u32 id, __u32 *next), 0)
STUB(int port_probe(void), 0)
STUB(int host_probe(void), 0)
STUB(bool find_cgroup2(char *path, size_t size), false)

int qdisc_list(struct qdisc **list, size_t *n)
{
	*list = NULL;
	*n = 0;
	return EXIT_DONE;
}

static int leftover;	/* remains of a port on d9: -1 none, 0 a clsact, 1 a filter */

int port_leftovers(struct json_object *rows)
{
	if (leftover >= 0)
		add_row(rows, "{'dev':'d9','found':'it','sure':%s}", leftover ? "true" : "false");
	return EXIT_DONE;
}

STUB(bool port_in_front(const struct qdisc *list, size_t n, const char *dev, bool in, char *text,
			size_t size), false)
STUB(bool port_wanted(const char *dev, bool down, const struct qdisc *list, size_t n,
		      bool *has_rate), false)
STUB(int device_read(int ifindex, struct device *d), -ENODEV)
STUB(int route_dev(const char *addr), 0)
STUB(bool is_tunnel(const struct device *d), false)
STUB(int port_main(int argc, char **argv), EXIT_DONE)
STUB(int ingress_main(int argc, char **argv), EXIT_DONE)
STUB(int run_at(int (*run)(int argc, char **argv), const char *command, const char *keyword,
		const char *place), EXIT_DONE)

STUB(int bpf_link__fd(const struct bpf_link *link), 0)

static const struct hpccpp_flow_rec a_flow = {
	.family = AF_INET, .state = 1, .mode = HPCCPP_SHOWN_INT, .links = 3,
	.sport = 10000, .dport = 5001, .saddr = { 10, 0, 0, 1 }, .daddr = { 10, 0, 0, 2 },
	.cwnd = 12, .srtt_us = 345, .layout = HPCCPP_FLOW_LAYOUT, .T = 50,
	.U = HPCCPP_ONE / 2, .W = 20000, .W_c = 19000, .W_f = 18500, .inc_stage = 2,
	.acks = 100, .updates = 90, .fallbacks = 1, .R = 400000000, .min_B = 1250000000,
	.ino = 1234567, .bottleneck = 7, .records = 2,
	.guards = { 11, 12, 13, 14, 15, 16, 17 },
};

static const struct hpccpp_flow_rec *only_flow;	/* the only one; NULL: n_flows of them */

int attach_error;

/* The kernel's side of the iterator */
static void write_flows(int fd)
{
	struct hpccpp_flow_rec rec = a_flow;
	FILE *to = fdopen(fd, "w");
	unsigned int i;

	for (i = 0; i < n_flows && !only_flow; i++) {
		rec.layout = HPCCPP_FLOW_LAYOUT + (i + 1 == bad_flow);
		rec.sport = i;
		rec.mode = i % 4 ? HPCCPP_SHOWN_INT : HPCCPP_SHOWN_RENO;
		rec.reason = i % 4 ? HPCCPP_R_NONE : HPCCPP_R_NO_ECHO;
		memcpy(rec.daddr, &(__u32){ htonl(0x0b000000 + i % n_peers) }, 4);
		fwrite(&rec, sizeof(rec), 1, to);
	}
	if (only_flow)
		fwrite(only_flow, sizeof(rec), 1, to);
	fclose(to);
	_exit(0);
}

int bpf_iter_create(int link)
{
	int ends[2];

	if (no_iter)
		return -EPERM;
	assert_int_equal(pipe(ends), 0);
	if (!fork()) {
		close(ends[0]);
		write_flows(ends[1]);
	}
	close(ends[1]);
	return ends[0];
}

/* --- The commands ------------------------------------------------------------------- */

static int show(int (*command)(int argc, char **argv))
{
	int ret = run(command, "");

	while (wait(NULL) > 0)
		;
	return ret;
}

static struct json_object *parsed(void)
{
	struct json_object *value = json_tokener_parse(out);

	assert_non_null(value);
	return value;
}

static size_t len_of(struct json_object *all, const char *key)
{
	return json_object_array_length(json_object_object_get(all, key));
}

static int reset(void **state)
{
	memset(&opt, 0, sizeof(opt));
	n_flows = 0;
	n_peers = 1;
	n_ports = 0;
	leftover = -1;
	bad_flow = 0;
	no_iter = false;
	only_flow = NULL;
	port_ret = EXIT_DONE;
	return 0;
}

static long memory(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return used.ru_maxrss;
}

TEST(many_flows_take_no_memory)
{
	int (*const commands[])(int argc, char **argv) = { flow_main, show_main, check_main };
	long first = 0;
	size_t i;

	discard = true;
	for (n_flows = 1; n_flows <= MANY; n_flows += MANY - 1) {
		n_peers = n_flows;
		for (i = 0; i < ARRAY_SIZE(commands); i++) {
			for (opt.output = OUTPUT_TEXT; opt.output <= OUTPUT_PROM; opt.output++)
				assert_int_not_equal(show(commands[i]), EXIT_SYSTEM);
		}
		first = first ?: memory();
	}
	discard = false;
	print_message("# %u flows: %ld KB more than one\n", MANY, memory() - first);
#ifndef __SANITIZE_ADDRESS__
	assert_in_range(memory() - first, 0, MEMORY_MAX);
#endif
}

/* Rows printed one by one look like all of them printed at once by json-c. */
TEST(pretty_json_is_indented)
{
	struct json_object *all;

	opt.output = OUTPUT_JSON;
	opt.pretty = true;
	n_flows = 2;
	n_ports = 1;
	assert_int_equal(show(show_main), EXIT_DONE);
	all = parsed();
	out[strlen(out) - 1] = '\0';
	assert_string_equal(out, json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY));
	json_object_put(all);
}

TEST(flows_are_an_array_and_show_is_an_object)
{
	struct json_object *all;

	opt.output = OUTPUT_JSON;
	n_ports = 2;
	for (n_flows = 0; n_flows < 4; n_flows++) {
		assert_int_equal(show(flow_main), EXIT_DONE);
		assert_string_equal(err, "");
		all = parsed();
		assert_int_equal(json_object_array_length(all), n_flows);
		json_object_put(all);
		assert_int_equal(show(show_main), EXIT_DONE);
		all = parsed();
		assert_int_equal(len_of(all, "ports"), 2);
		assert_int_equal(len_of(all, "flows"), n_flows);
		assert_int_equal(len_of(all, "hosts"), 0);
		json_object_put(all);
	}
	opt.output = OUTPUT_TEXT;
	n_ports = 0;
	n_flows = 0;
	assert_int_equal(show(show_main), EXIT_DONE);
	assert_string_equal(out, "no port agent\nno flow under hpccpp\nno host agent\nno agent for Fast CNPs\n");
}

/* A flow that cannot be read leaves the others, an error before all flows leaves nothing. */
TEST(errors_leave_what_can_be_read)
{
	int (*const commands[])(int argc, char **argv) = { flow_main, show_main };
	struct json_object *all;
	size_t i;

	n_flows = 3;
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		opt.output = OUTPUT_JSON;
		bad_flow = 2;
		assert_int_equal(show(commands[i]), EXIT_SYSTEM);
		all = parsed();
		assert_int_equal(i ? len_of(all, "flows") : json_object_array_length(all), 3);
		json_object_put(all);
		assert_has(err, "module*differ");
		bad_flow = 0;
		no_iter = true;
		for (opt.output = OUTPUT_TEXT; opt.output <= OUTPUT_PROM; opt.output++) {
			assert_int_equal(show(commands[i]), EXIT_SYSTEM);
			assert_string_equal(out, "");
		}
		no_iter = false;
	}
	n_ports = 1;
	no_iter = true;
	opt.output = OUTPUT_JSON;
	assert_int_equal(show(show_main), EXIT_SYSTEM);
	assert_non_null(strstr(out, "\"ports\":[{\"dev\":\"d0\""));
	assert_non_null(strstr(out, "\"flows\":[]"));
	port_ret = EXIT_SYSTEM;
	no_iter = false;
	n_flows = 0;
	assert_int_equal(show(show_main), EXIT_SYSTEM);
	json_object_put(parsed());
}

/* Prometheus gets the number of flows instead of more series than it can take. */
TEST(flows_are_counted_for_prometheus)
{
	opt.output = OUTPUT_PROM;
	n_flows = 1000;
	assert_int_equal(show(flow_main), EXIT_DONE);
	assert_non_null(strstr(out, "\nhpccpp_flow_cwnd_packets{src=\"10.0.0.1\",sport=\"999\","));
	/* a label that differs where addresses and ports do not, as in two VRFs */
	assert_non_null(strstr(out, ",mode=\"hpccpp\",ino=\"1234567\",law=\"averaged\"} 12\n"));
	/* flows without telemetry have no law */
	assert_non_null(strstr(out, ",mode=\"hpccpp-reno\",ino=\"1234567\"} 12\n"));
	assert_non_null(strstr(out, "\nhpccpp_flows{mode=\"hpccpp-reno\"} 250\n"));
	assert_non_null(strstr(out, "\nhpccpp_flows{mode=\"hpccpp\"} 750\n"));
	n_flows = 1001;
	assert_int_equal(show(flow_main), EXIT_DONE);
	assert_has(out, "# *1000*\n# HELP hpccpp_flows Flows by mode.\n# TYPE hpccpp_flows gauge\n"
		   "hpccpp_flows{mode=\"hpccpp-reno\"} 251\nhpccpp_flows{mode=\"hpccpp\"} 750\n");
	assert_null(strstr(out, "hpccpp_flow_"));
}

/* --- Flows and their reasons ------------------------------------------------------- */

static void check_flow(struct hpccpp_flow_rec rec, int status, const struct entry *want)
{
	struct json_object *all;

	only_flow = &rec;
	opt.output = OUTPUT_JSON;
	assert_int_equal(show(flow_main), status);
	all = parsed();
	check_entries(json_object_array_get_idx(all, 0), want);
	json_object_put(all);
}

#define assert_flow(rec, status, ...)	check_flow(rec, status, ENTRIES(__VA_ARGS__))

TEST(text_has_the_law_of_a_flow)
{
	n_flows = 2;
	assert_int_equal(show(flow_main), EXIT_DONE);
	assert_non_null(strstr(out, " reason no-echo\n    cwnd 12 "));
	assert_non_null(strstr(out, " B 10Gbit law averaged\n    cwnd 12 "));
}

TEST(flows_have_values_of_tcp_and_telemetry)
{
	static const __u8 addr6[16] = { 0xfd, [15] = 9 };
	struct hpccpp_flow_rec rec = a_flow;

	assert_flow(rec, EXIT_DONE, { "src", "\"10.0.0.1\"" }, { "sport", "10000" },
		    { "dst", "\"10.0.0.2\"" }, { "dport", "5001" }, { "state", "\"ESTAB\"" },
		    { "ino", "1234567" }, { "mode", "\"hpccpp\"" }, { "cwnd", "12" },
		    { "srtt", "345" }, { "U", "0.500" }, { "W", "20000" }, { "W_c", "19000" },
		    { "W_f", "18500" }, { "inc_stage", "2" }, { "law", "\"averaged\"" },
		    { "T", "50" }, { "R", "3200000000" }, { "B", "10000000000" },
		    { "bottleneck", "7" }, { "records", "2" }, { "links", "3" }, { "acks", "100" },
		    { "updates", "90" }, { "fallbacks", "1" }, { "reason", "none" });
	assert_has(out,
		   "{\"first\":11,\"not_new\":12,\"wrap\":13,\"stale\":14,\"rate\":15,\"changed\":16,\"range\":17}");
	rec.reason = HPCCPP_R_BLIND_LOSS;
	rec.law = HPCCPP_LAW_DRAFT;
	assert_flow(rec, EXIT_DONE, { "mode", "\"hpccpp\"" }, { "U", "0.500" },
		    { "law", "\"draft\"" }, { "reason", "\"blind-loss\"" });
	/* without telemetry */
	rec.family = AF_INET6;
	memcpy(rec.daddr, addr6, sizeof(addr6));
	rec.mode = HPCCPP_SHOWN_RENO;
	rec.state = 8;
	assert_flow(rec, EXIT_DONE, { "dst", "\"fd00::9\"" }, { "state", "\"CLOSE-WAIT\"" },
		    { "cwnd", "12" }, { "mode", "\"hpccpp-reno\"" }, { "U", "none" },
		    { "law", "none" }, { "records", "none" });
	/* with another congestion control */
	rec.mode = HPCCPP_SHOWN_OFF;
	rec.layout = 0;
	strcpy(rec.fallback, "cubic");
	rec.reason = HPCCPP_R_NO_ECHO;
	assert_flow(rec, EXIT_DONE, { "mode", "\"cubic\"" }, { "reason", "\"no-echo\"" },
		    { "fallbacks", "none" });
	/* of a newer module, before it initialises the flow */
	rec.mode = 3;
	rec.state = 12;
	*rec.fallback = '\0';
	assert_flow(rec, EXIT_DONE, { "state", "\"?\"" }, { "mode", "\"?\"" }, { "cwnd", "12" },
		    { "acks", "none" }, { "guards", "none" });
}

/* A flow of another module has another size or other fields: only the values of TCP are known. */
TEST(flows_of_another_module_are_errors)
{
	static const int more[] = { -8, 8, -(1 << 16), 1 << 16 };
	struct hpccpp_flow_rec rec = a_flow;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(more); i++) {
		rec.layout = HPCCPP_FLOW_LAYOUT + more[i];
		assert_flow(rec, EXIT_SYSTEM, { "dst", "\"10.0.0.2\"" }, { "U", "none" },
			    { "error", "\"the module and this command differ\"" });
	}
}

TEST(agents_know_reasons)
{
	static const struct { struct flow f; enum hpccpp_reason why; } rows[] = {
		{ { .heard = 1, .feedback.gen = 1 }, HPCCPP_R_NOT_ASKED },
		{ { .wanted = 1, .proven = 1, .heard = 1, .feedback.gen = 1 }, HPCCPP_R_UNUSED },
		{ { .wanted = 1, .proven = 1, .heard = 1, .asked_end = 9 }, HPCCPP_R_EMPTY },
		{ { .wanted = 1, .proven = 1 }, HPCCPP_R_EMPTY },
		{ { .wanted = 1, .proven = 1, .passive = 1 }, HPCCPP_R_NO_DATA },
		{ { .wanted = 1, .passive = 1 }, HPCCPP_R_NO_ECHO },
		{ { .wanted = 1 }, HPCCPP_R_NO_ECHO },
		{ { .wanted = 1, .tries = 4, .asked_end = 9 }, HPCCPP_R_NO_ECHO },
		/* requested, but so far the peer has only shown that it has an agent */
		{ { .wanted = 1, .proven = 1, .asked_end = 9 }, HPCCPP_R_NO_ECHO },
	};

	for_each_row(row, rows)
		assert_int_equal(agent_reason(&row->f), row->why);
}

TEST(modules_know_reasons)
{
	static const struct flow unheard = { .wanted = 1 }, other;
	static const struct flow empty = { .wanted = 1, .heard = 1 };
	static const struct hpccpp_flow plain, fallen = { .fallbacks = 1 };
	static const struct hpccpp_flow blind = {
		.fallbacks = 1, .mode = HPCCPP_COEXIST, .cause = HPCCPP_C_BLIND,
	};
	static const struct hpccpp_flow capped = {
		.fallbacks = 1, .mode = HPCCPP_COEXIST, .cause = HPCCPP_C_LOSS,
	};
	static const struct hpccpp_flow wan = {
		.mode = HPCCPP_COEXIST, .cause = HPCCPP_C_WAN,
	};
	static const struct {
		unsigned int mode;
		int agent;
		const struct hpccpp_flow *f;
		const struct flow *kept;
		enum hpccpp_reason why;
	} rows[] = {
		/* a module of another build, and a mode of a newer one */
		{ HPCCPP_SHOWN_RENO, AGENT_READ, NULL, &empty, HPCCPP_R_NONE },
		{ 3, AGENT_READ, &plain, &empty, HPCCPP_R_NONE },
		{ HPCCPP_SHOWN_INT, AGENT_NONE, &plain, &other, HPCCPP_R_NONE },
		{ HPCCPP_SHOWN_RENO, AGENT_NONE, &plain, &empty, HPCCPP_R_NO_AGENT },
		{ HPCCPP_SHOWN_RENO, AGENT_OTHER, &plain, &empty, HPCCPP_R_NONE },
		{ HPCCPP_SHOWN_RENO, AGENT_READ, &plain, &empty, HPCCPP_R_EMPTY },
		{ HPCCPP_SHOWN_RENO, AGENT_READ, &fallen, &empty, HPCCPP_R_LOST_RECORDS },
		{ HPCCPP_SHOWN_RENO, AGENT_READ, &fallen, &unheard, HPCCPP_R_LOST_ECHO },
		{ HPCCPP_SHOWN_RENO, AGENT_READ, &fallen, &other, HPCCPP_R_NOT_ASKED },
		{ HPCCPP_SHOWN_RENO, AGENT_NONE, &fallen, &empty, HPCCPP_R_NO_AGENT },
		{ HPCCPP_SHOWN_RENO, AGENT_READ, &blind, &empty, HPCCPP_R_BLIND_DELAY },
		{ HPCCPP_SHOWN_RENO, AGENT_OTHER, &blind, &empty, HPCCPP_R_BLIND_DELAY },
		{ HPCCPP_SHOWN_RENO, AGENT_NONE, &blind, &empty, HPCCPP_R_NO_AGENT },
		{ HPCCPP_SHOWN_INT, AGENT_READ, &capped, &other, HPCCPP_R_BLIND_LOSS },
		{ HPCCPP_SHOWN_INT, AGENT_READ, &wan, &other, HPCCPP_R_NONE },
	};

	for_each_row(row, rows)
		assert_int_equal(flow_reason(row->mode, true, row->agent, row->f,
					     row->kept), row->why);
	assert_int_equal(flow_reason(HPCCPP_SHOWN_OFF, false, AGENT_NONE, NULL, &other),
			 HPCCPP_R_NONE);
	assert_int_equal(flow_reason(HPCCPP_SHOWN_RENO, false, AGENT_NONE, NULL, &other),
			 HPCCPP_R_NO_MEMORY);
}

/* --- Check ------------------------------------------------------------------------- */

/* Returns the row of the last report with this check, or NULL. */
static struct json_object *checked(struct json_object *report, const char *check)
{
	size_t i;

	for (i = 0; i < json_object_array_length(report); i++) {
		struct json_object *row = json_object_array_get_idx(report, i);

		if (!strcmp(string(row, "check"), check))
			return row;
	}
	return NULL;
}

/* Every fourth flow has a reason; peers are counted up to a bound. */
TEST(check_names_a_few_peers)
{
	static const struct {
		unsigned int flows, peers;
		const char *telemetry, *no_echo;
	} rows[] = {
		{ 4, 4, "3 of 4 *", "1 of 4*11.0.0.0" },
		{ 12, 4, "9 of 12 *", "3 of 12*11.0.0.0" },
		{ 12, 12, "9 of 12 *", "3 of 12*11.0.0.0, 11.0.0.4, 11.0.0.8" },
		{ 20, 16, "15 of 20 *", "5 of 20*11.0.0.0, 11.0.0.4, 11.0.0.8 and 1 more" },
		{ 4000, 4000, "3000 of 4000 *", "1000 of 4000*11.0.0.8 and 997 more" },
		{ 4004, 4000, "3003 of 4004 *", "1001 of 4004*11.0.0.8 and 997 more" },
		{ 4004, 4004, "3003 of 4004 *", "1001 of 4004*11.0.0.8 and more than 997 more" },
	};
	struct json_object *report;

	opt.output = OUTPUT_JSON;
	for_each_row(row, rows) {
		n_flows = row->flows;
		n_peers = row->peers;
		assert_int_equal(show(check_main), EXIT_MISSING);
		report = parsed();
		assert_like(string(checked(report, "peers"), "found"), row->telemetry);
		assert_like(string(checked(report, "flows no-echo"), "found"), row->no_echo);
		assert_null(checked(report, "flows empty"));
		json_object_put(report);
	}
}

/* In lockdown "confidentiality" ports work with a virtual queue, and flows cannot be read. */
TEST(check_names_lockdown)
{
	static const struct { const char *modes, *port; bool flow; } rows[] = {
		{ "none integrity [confidentiality]", "note", true },
		{ "none [integrity] confidentiality", "ok", false },
		{ "", "ok", false },
	};
	struct json_object *report, *row;
	char file[] = "/tmp/lockdownXXXXXX";
	int fd = mkstemp(file);
	size_t i;

	assert_true(fd >= 0);
	lockdown_file = file;
	opt.output = OUTPUT_JSON;
	attach_error = -EINVAL;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_true(pwrite(fd, rows[i].modes, strlen(rows[i].modes), 0) >= 0);
		show(check_main);
		report = parsed();
		row = checked(report, "port agent loads");
		assert_string_equal(string(row, "status"), rows[i].port);
		if (!strcmp(rows[i].port, "note"))
			assert_like(string(row, "advice"), "*queue virtual*lockdown*");
		row = checked(report, "flow show loads");
		assert_string_equal(string(row, "status"), "note");
		assert_int_equal(!!strstr(string(row, "advice"), "lockdown"), rows[i].flow);
		json_object_put(report);
	}
	attach_error = 0;
	close(fd);
	unlink(file);
}

/* Advice is a command that can be run as printed. selftests/host/advice.sh runs it. */
TEST(advice_names_the_device)
{
	static const struct { int leftover; const char *check, *status, *advice; } rows[] = {
		{ -1, "id of d1", "note", "hpccpp port change dev d1 id 1\t# *" },
		{ 1, "port d9", "missing", "hpccpp port change dev d9\t# *hpccpp port del dev d9" },
		{ 0, "port d9", "note", "tc qdisc del dev d9 clsact\t# *" },
	};
	struct json_object *report, *row;
	size_t i;

	opt.output = OUTPUT_JSON;
	n_ports = 2;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		leftover = rows[i].leftover;
		show(check_main);
		report = parsed();
		row = checked(report, rows[i].check);
		assert_string_equal(string(row, "status"), rows[i].status);
		assert_like(string(row, "advice"), rows[i].advice);
		json_object_put(report);
	}
}

/* Only a missing item makes check end with status 1. */
TEST(notes_are_not_missing)
{
	struct state s = { .report = json_object_new_array() };

	say(&s, OK, "a", NULL, "there");
	say(&s, NOTE, "b", advise(&s, "look"), "there, but");
	assert_false(s.missing);
	say(&s, MISSING, "c", advise(&s, "get it"), "none");
	assert_true(s.missing);
	json_object_put(s.report);
}

TEST_MAIN("show", reset, NULL)
