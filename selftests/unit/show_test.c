// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of what reads the flows of a host, of which there may be a million: `hpccpp
 * flow show`, `hpccpp show` and `hpccpp check`, whose files are linked as they are. The
 * other objects and the iterator are those below.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "check.h"
#include "command_test.h"
#include "flow.skel.h"
#include "hpccpp_flow.h"

#ifdef __SANITIZE_ADDRESS__	/* which keeps for a while what was freed */
#define MANY		1000
#else
#define MANY		1000000
#endif
#define MEMORY_MAX	(100 << 10)	/* KB, of the whole program */

/* --- The objects ----------------------------------------------------------------- */

static unsigned int n_flows, n_ports, bad_flow;	/* bad_flow: from 1, of another module */
static unsigned int n_peers;	/* that the flows have in turn */
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

	for (i = 0; i < n_ports; i++) {
		struct json_object *row = json_object_new_object();
		char name[16];

		snprintf(name, sizeof(name), "d%u", i);
		put_str(row, "dev", name);
		put_num(row, "id", 7);
		put_str(row, "stale", "");
		put_fixed(row, "U", HPCCPP_ONE / 2);
		json_object_array_add(rows, row);
	}
	return port_ret;
}

int host_rows(const char *cgroup, struct json_object *rows)
{
	return EXIT_DONE;
}

int cnp_rows(const char *dev, struct json_object *rows)
{
	return EXIT_DONE;
}

int netns_enter(const char *name)
{
	return EXIT_DONE;
}

int untyped_load_error(int err, const char *agent)
{
	return EXIT_SYSTEM;
}

/* What check looks at besides: it is root, agents can be loaded, and there is no qdisc. */
uid_t geteuid(void)
{
	return 0;
}

int port_probe(void)
{
	return 0;
}

int host_probe(void)
{
	return 0;
}

bool find_cgroup2(char *path, size_t size)
{
	return false;
}

int qdisc_list(struct qdisc **list, size_t *n)
{
	*list = NULL;
	*n = 0;
	return EXIT_DONE;
}

static int leftover;	/* of a port on d9: -1 none, 0 a clsact, 1 a filter on ingress */

int port_leftovers(struct json_object *rows)
{
	struct json_object *row = json_object_new_object();

	put_str(row, "dev", "d9");
	put_str(row, "found", "something");
	put_bool(row, "sure", leftover > 0);
	if (leftover >= 0)
		json_object_array_add(rows, row);
	else
		json_object_put(row);
	return EXIT_DONE;
}

void port_in_front(const struct qdisc *list, size_t n, const char *dev, char *text,
		   size_t size)
{
}

int bpf_link__fd(const struct bpf_link *link)
{
	return 0;
}

/* The kernel's side of the iterator */
static void write_flows(int fd)
{
	struct hpccpp_flow_rec rec = {
		.family = AF_INET, .state = 1, .saddr = { 10, 0, 0, 1 }, .daddr = { 10, 0, 0, 2 },
		.dport = 5001, .cwnd = 12, .srtt_us = 345, .T = 50, .U = HPCCPP_ONE / 2,
		.W = 20000, .R = 400000000, .min_B = 1250000000,
	};
	FILE *out = fdopen(fd, "w");
	unsigned int i;

	for (i = 0; i < n_flows; i++) {
		rec.layout = HPCCPP_FLOW_LAYOUT + (i + 1 == bad_flow);
		rec.sport = i;
		rec.mode = i % 4 ? HPCCPP_INT : HPCCPP_RENO;
		rec.reason = i % 4 ? HPCCPP_R_NONE : HPCCPP_R_NO_ECHO;
		memcpy(rec.daddr, &(__u32){ htonl(0x0b000000 + i % n_peers) }, 4);
		fwrite(&rec, sizeof(rec), 1, out);
	}
	fclose(out);
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

/* --- What is printed --------------------------------------------------------------- */

static char *said, *error;

/* The command, which keeps in said and error what it prints, or in said nothing */
static int run(int (*command)(int argc, char **argv), bool keep)
{
	FILE *out = stdout, *err = stderr;
	static size_t len, err_len;
	int ret;

	free(said);
	free(error);
	said = NULL;
	stdout = keep ? open_memstream(&said, &len) : fopen("/dev/null", "w");
	stderr = open_memstream(&error, &err_len);
	ret = command(0, NULL);
	fclose(stdout);
	fclose(stderr);
	stdout = out;
	stderr = err;
	while (wait(NULL) > 0)
		;
	return ret;
}

static struct json_object *parsed(void)
{
	struct json_object *value = json_tokener_parse(said);

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
	port_ret = EXIT_DONE;
	return 0;
}

static void a_million_flows_need_no_memory(void **state)
{
	int (*const commands[])(int argc, char **argv) = { flow_main, show_main };
	struct rusage used;
	size_t i;

	n_flows = MANY;
	n_peers = MANY;
	opt.output = OUTPUT_JSON;
	assert_int_equal(run(flow_main, false), EXIT_DONE);
	assert_int_equal(run(check_main, false), EXIT_MISSING);
	/* as arrays of rows these would take 130 MB */
	n_flows = MANY / 50;
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		for (opt.output = OUTPUT_TEXT; opt.output <= OUTPUT_PROM; opt.output++)
			assert_int_equal(run(commands[i], false), EXIT_DONE);
	}
	getrusage(RUSAGE_SELF, &used);
	print_message("# %u flows: %ld KB\n", MANY, used.ru_maxrss);
#ifndef __SANITIZE_ADDRESS__
	assert_in_range(used.ru_maxrss, 0, MEMORY_MAX);
#endif
}

static void flows_are_an_array(void **state)
{
	struct json_object *all;

	opt.output = OUTPUT_JSON;
	for (n_flows = 0; n_flows < 4; n_flows++) {
		for (int pretty = 0; pretty < 2; pretty++) {
			opt.pretty = pretty;
			assert_int_equal(run(flow_main, true), EXIT_DONE);
			all = parsed();
			assert_int_equal(json_object_array_length(all), n_flows);
			json_object_put(all);
		}
	}
	assert_string_equal(error, "");
}

/* As json-c prints all of it at once */
static void pretty_json_is_indented(void **state)
{
	struct json_object *all;

	opt.output = OUTPUT_JSON;
	opt.pretty = true;
	n_flows = 2;
	n_ports = 1;
	assert_int_equal(run(show_main, true), EXIT_DONE);
	all = parsed();
	said[strlen(said) - 1] = '\0';
	assert_string_equal(said, json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY));
	json_object_put(all);
}

static void show_is_one_object(void **state)
{
	struct json_object *all;

	opt.output = OUTPUT_JSON;
	n_ports = 2;
	for (n_flows = 0; n_flows < 3; n_flows++) {
		assert_int_equal(run(show_main, true), EXIT_DONE);
		all = parsed();
		assert_int_equal(len_of(all, "ports"), 2);
		assert_int_equal(len_of(all, "flows"), n_flows);
		assert_int_equal(len_of(all, "hosts"), 0);
		json_object_put(all);
	}
	opt.output = OUTPUT_TEXT;
	n_ports = 0;
	n_flows = 0;
	assert_int_equal(run(show_main, true), EXIT_DONE);
	assert_string_equal(said, "no port agent\nno flow under hpccpp\nno host agent\nno agent for Fast CNPs\n");
}

/* It is a row as any, and the rest is printed; the status tells of it. */
static void an_error_in_the_middle(void **state)
{
	int (*const commands[])(int argc, char **argv) = { flow_main, show_main };
	struct json_object *all;
	size_t i;

	opt.output = OUTPUT_JSON;
	n_flows = 3;
	bad_flow = 2;
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		assert_int_equal(run(commands[i], true), EXIT_SYSTEM);
		all = parsed();
		assert_int_equal(i ? len_of(all, "flows") : json_object_array_length(all), 3);
		json_object_put(all);
		assert_non_null(strstr(error, "the module and this command differ"));
	}
}

/* Nothing is no answer after an error. */
static void an_error_before_all(void **state)
{
	n_flows = 3;
	no_iter = true;
	for (opt.output = OUTPUT_TEXT; opt.output <= OUTPUT_PROM; opt.output++) {
		assert_int_equal(run(flow_main, true), EXIT_SYSTEM);
		assert_string_equal(said, "");
		assert_int_equal(run(show_main, true), EXIT_SYSTEM);
		assert_string_equal(said, "");
	}
	n_ports = 1;
	opt.output = OUTPUT_JSON;
	assert_int_equal(run(show_main, true), EXIT_SYSTEM);
	assert_non_null(strstr(said, "\"ports\":[{\"dev\":\"d0\""));
	assert_non_null(strstr(said, "\"flows\":[]"));
	port_ret = EXIT_SYSTEM;
	no_iter = false;
	n_flows = 0;
	assert_int_equal(run(show_main, true), EXIT_SYSTEM);
	json_object_put(parsed());
}

/* Prometheus takes no million of series: of more flows than it can take it has their number. */
static void flows_are_counted_for_prometheus(void **state)
{
	opt.output = OUTPUT_PROM;
	n_flows = 1000;
	assert_int_equal(run(flow_main, true), EXIT_DONE);
	assert_non_null(strstr(said, "\nhpccpp_flow_cwnd_packets{src=\"10.0.0.1\",sport=\"999\","));
	assert_non_null(strstr(said, "\nhpccpp_flows{mode=\"hpccpp-reno\"} 250\n"));
	assert_non_null(strstr(said, "\nhpccpp_flows{mode=\"hpccpp\"} 750\n"));
	n_flows = 1001;
	assert_int_equal(run(flow_main, true), EXIT_DONE);
	assert_string_equal(said, "# more than 1000 rows of hpccpp_flows, which are only counted\n"
			    "# HELP hpccpp_flows Flows by mode.\n# TYPE hpccpp_flows gauge\n"
			    "hpccpp_flows{mode=\"hpccpp-reno\"} 251\n"
			    "hpccpp_flows{mode=\"hpccpp\"} 750\n");
}

/* What check found of that name, or "" */
static const char *found(struct json_object *report, const char *check)
{
	size_t i;

	for (i = 0; i < json_object_array_length(report); i++) {
		struct json_object *row = json_object_array_get_idx(report, i);

		if (!strcmp(string(row, "check"), check))
			return string(row, "found");
	}
	return "";
}

static void assert_peers(unsigned int flows, unsigned int peers, const char *no_echo)
{
	struct json_object *report;
	char text[64];

	n_flows = flows;
	n_peers = peers;
	assert_int_equal(run(check_main, true), EXIT_MISSING);
	report = parsed();
	snprintf(text, sizeof(text), "%u of %u flows have telemetry", flows - (flows + 3) / 4,
		 flows);
	assert_string_equal(found(report, "peers"), text);
	assert_string_equal(found(report, "flows no-echo"), no_echo);
	assert_string_equal(found(report, "flows empty"), "");
	json_object_put(report);
}

/* One flow of four has a reason; peers are counted as far as a bound */
static void check_names_a_few_peers(void **state)
{
	opt.output = OUTPUT_JSON;
	assert_peers(4, 4, "1 of 4, to 11.0.0.0");
	assert_peers(12, 4, "3 of 12, to 11.0.0.0");
	assert_peers(12, 12, "3 of 12, to 11.0.0.0, 11.0.0.4, 11.0.0.8");
	assert_peers(20, 16, "5 of 20, to 11.0.0.0, 11.0.0.4, 11.0.0.8 and 1 more");
	assert_peers(4000, 4000, "1000 of 4000, to 11.0.0.0, 11.0.0.4, 11.0.0.8 and 997 more");
	assert_peers(4004, 4000, "1001 of 4004, to 11.0.0.0, 11.0.0.4, 11.0.0.8 and 997 more");
	assert_peers(4004, 4004,
		     "1001 of 4004, to 11.0.0.0, 11.0.0.4, 11.0.0.8 and more than 997 more");
}

static void assert_line(const char *check, const char *status, const char *advice)
{
	struct json_object *report, *row;
	size_t i;

	run(check_main, true);
	report = parsed();
	for (i = 0; i < json_object_array_length(report); i++) {
		row = json_object_array_get_idx(report, i);
		if (strcmp(string(row, "check"), check))
			continue;
		assert_string_equal(string(row, "status"), status);
		assert_string_equal(string(row, "advice"), advice);
		json_object_put(report);
		return;
	}
	fail_msg("nothing is said of %s", check);
}

/* What to do can be done as it stands there, but for what only an operator knows. */
static void advice_names_the_device(void **state)
{
	opt.output = OUTPUT_JSON;
	n_ports = 2;
	assert_line("id of d1", "note",
		    "hpccpp port replace dev d1 id ID, with one that is unique on each path");
	leftover = 1;
	assert_line("port d9", "missing",
		    "hpccpp port replace dev d9, or hpccpp port del dev d9 if there is to be none");
	leftover = 0;
	assert_line("port d9", "note",
		    "hpccpp port add dev d9 if there is to be one; else nothing, or tc qdisc del dev d9 clsact if it is nobody's");
}

/* check ends with 1 for what is missing, and with 0 for what is only noted. */
static void a_note_is_nothing_missing(void **state)
{
	struct state s = { .report = json_object_new_array() };

	say(&s, OK, "a", "", "there");
	say(&s, NOTE, "b", "look", "there, but");
	assert_false(s.missing);
	say(&s, MISSING, "c", "get it", "none");
	assert_true(s.missing);
	json_object_put(s.report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_million_flows_need_no_memory, reset),
		cmocka_unit_test_setup(flows_are_an_array, reset),
		cmocka_unit_test_setup(pretty_json_is_indented, reset),
		cmocka_unit_test_setup(show_is_one_object, reset),
		cmocka_unit_test_setup(an_error_in_the_middle, reset),
		cmocka_unit_test_setup(an_error_before_all, reset),
		cmocka_unit_test_setup(flows_are_counted_for_prometheus, reset),
		cmocka_unit_test_setup(check_names_a_few_peers, reset),
		cmocka_unit_test_setup(advice_names_the_device, reset),
		cmocka_unit_test_setup(a_note_is_nothing_missing, reset),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
