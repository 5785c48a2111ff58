// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of `hpccpp monitor`: what it makes of the readings of an interval, in which order
 * it shows what, and how much of it. The file is linked as it is; the objects and the clock
 * are those below.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "command_test.h"

/* --- The clock, which stands still but for the command's sleep ---------------------------- */

static long long now_ns;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	t->tv_sec = now_ns / 1000000000;
	t->tv_nsec = now_ns % 1000000000;
	return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
	long long until = t->tv_sec * 1000000000LL + t->tv_nsec;

	assert_int_equal(flags, TIMER_ABSTIME);
	if (until > now_ns)
		now_ns = until;
	return 0;
}

/* --- The objects -------------------------------------------------------------------------- */

static unsigned int reading;		/* of ports, from 0 */
static unsigned int bad_reading;	/* 0: none */
static unsigned int n_ports, n_flows;
static bool added_anew;			/* the port's counters begin again */
static int flow_ret;
static __u64 asked, cnps;

const struct field port_fields[] = {
	{ "dev", FORM_TEXT, "", "DEV", "", NULL },
	{ "txq", FORM_TXQ, "txq", "TXQ", "", NULL },
	{ "tx_rate", FORM_RATE, NULL, "TX", NULL, NULL },
	{ "qlen_max", FORM_BYTES, NULL, "Q MAX", NULL, NULL },
	{ .word = "no port agent" }
};

const struct field flow_fields[] = {
	{ "dst", FORM_TEXT, "", "DESTINATION", "", NULL },
	{ "mode", FORM_TEXT, "", "MODE", "", NULL },
	{ .word = "no flow under hpccpp" }
};

const struct field host_fields[] = { { .word = "no host agent" } };

const struct field cnp_fields[] = { { .word = "no agent for Fast CNPs" } };

const struct field cnp_flow_fields[] = { { } };

/* Port i has i / 10 of the rate more than the first, and another U and queue each time. */
int port_rows(const char *dev, struct json_object *rows)
{
	unsigned int i;

	if (bad_reading && reading == bad_reading) {
		reading++;
		return system_error("no port");
	}
	for (i = 0; i < n_ports; i++) {
		struct json_object *row = json_object_new_object();
		char name[16];

		snprintf(name, sizeof(name), "d%u", i);
		put_str(row, "dev", name);
		put_num(row, "txq", 0);
		put_bool(row, "mq", false);
		put_num(row, "rate", 100000000);
		put_ratio(row, "U", reading == 4 ? 2 : .1 * reading);
		put_num(row, "qlen", reading == 7 ? 64000 : 1000);
		/* 1.25 MB are 100 Mbit/s of 100 ms */
		put_num(row, "sent", added_anew && reading ? 5 :
			1000000 + now_ns / 100000000 * (625000 + 62500 * i));
		put_num(row, "drops", 100 + reading);
		json_object_array_add(rows, row);
	}
	reading++;
	return EXIT_DONE;
}

int flow_rows(void (*take)(void *to, struct json_object *row), void *to)
{
	unsigned int i;

	for (i = 0; i < n_flows; i++) {
		struct json_object *row = json_object_new_object();
		unsigned int at = (i * 7919) % n_flows;	/* in no order */
		char dst[32];

		snprintf(dst, sizeof(dst), at % 2 ? "10.%u.%u.%u" : "fd00:%u:%u::%u", at >> 16,
			 at >> 8 & 255, at & 255);
		put_str(row, "dst", dst);
		put_str(row, "mode", at % 3 ? "hpccpp" : "hpccpp-reno");
		put_num(row, "srtt", 1000000 - at);
		put_num(row, "R", at);
		if (at % 3)
			put_ratio(row, "U", at * .001);
		take(to, row);
	}
	return flow_ret ? system_error("no flows") : EXIT_DONE;
}

int host_rows(const char *cgroup, struct json_object *rows)
{
	static const char *const counters[] = { "asked", "echoed", "echo_short", "echoes" };
	__u64 counts[] = { asked, 3 * asked, asked, 0 };
	struct json_object *row = json_object_new_object();

	put_str(row, "cgroup", "/a");
	put_counts(row, "stats", counters, counts, ARRAY_SIZE(counts));
	json_object_array_add(rows, row);
	asked += 50;
	return EXIT_DONE;
}

int cnp_rows(const char *dev, struct json_object *rows)
{
	static const char *const counters[] = { "switch", "receiver", "ordinary" };
	struct json_object *row = json_object_new_object(), *flows = json_object_new_array();
	__u64 counts[] = { cnps, cnps, 1 };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct json_object *flow = json_object_new_object();

		put_num(flow, "rate", 400 + 100 * i);
		json_object_array_add(flows, flow);
	}
	put_str(row, "dev", "ha");
	put_num(row, "rate", 600);
	json_object_object_add(row, "queue_pairs", flows);
	put_counts(row, "stats", counters, counts, ARRAY_SIZE(counts));
	json_object_array_add(rows, row);
	cnps += 10;
	return EXIT_DONE;
}

int netns_enter(const char *name)
{
	return EXIT_DONE;
}

int prog_map(int prog, const char *name, size_t value_size)
{
	return -1;
}

int prog_map_error(const char *name)
{
	return EXIT_SYSTEM;
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	return -1;
}

int bpf_map__update_elem(const struct bpf_map *map, const void *key, size_t key_sz,
			 const void *value, size_t value_sz, __u64 flags)
{
	return 0;
}

/* --- What is printed ------------------------------------------------------------------------ */

static char *said, *error;
static struct json_object *lines;

/* The command with these words; its status, and what it says in said, error, and as lines */
static int run(const char *words)
{
	FILE *out = stdout, *err = stderr;
	char copy[128], *argv[16], *save = NULL, *line;
	size_t len, err_len;
	int argc = 0, ret;

	snprintf(copy, sizeof(copy), "%s", words);
	while ((argv[argc] = strtok_r(argc ? NULL : copy, " ", &save)))
		argc++;
	free(said);
	free(error);
	json_object_put(lines);
	lines = json_object_new_array();
	reading = 0;
	stdout = open_memstream(&said, &len);
	stderr = open_memstream(&error, &err_len);
	ret = monitor_main(argc, argv);
	fclose(stdout);
	fclose(stderr);
	stdout = out;
	stderr = err;
	if (opt.output == OUTPUT_JSON) {
		char *text = strdup(said);

		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			json_object_array_add(lines, json_tokener_parse(line));
		free(text);
	}
	return ret;
}

static size_t n_lines(void)
{
	return json_object_array_length(lines);
}

/* The value of a key in a line, as text; "none" */
static const char *value(size_t line, const char *key)
{
	struct json_object *row = json_object_array_get_idx(lines, line);

	return json_object_get_string(json_object_object_get(row, key)) ?: "none";
}

#define assert_value(line, key, want)	assert_string_equal(value(line, key), want)

static int reset(void **state)
{
	memset(&opt, 0, sizeof(opt));
	opt.output = OUTPUT_JSON;
	now_ns = 1000000000LL * 1000;
	n_ports = 1;
	n_flows = 0;
	bad_reading = 0;
	added_anew = false;
	flow_ret = 0;
	asked = 0;
	cnps = 0;
	return 0;
}

static void ports_over_an_interval(void **state)
{
	assert_int_equal(run("what port count 2"), EXIT_DONE);
	assert_int_equal(n_lines(), 2);
	assert_value(0, "object", "port");
	assert_value(0, "tx_rate", "50000000");
	assert_value(0, "load", "0.500");
	/* readings 1 to 10, the one at the interval's begin is the one before's */
	assert_value(0, "U_mean", "0.710");
	assert_value(0, "U_max", "2.000");
	assert_value(0, "qlen_mean", "7300");
	assert_value(0, "qlen_max", "64000");
	assert_value(0, "new_drops", "10");
	/* as show has them, at the end */
	assert_value(0, "U", "1.000");
	assert_value(0, "qlen", "1000");
	assert_value(0, "drops", "110");
	assert_value(0, "time", "1001.000000");
	assert_value(1, "time", "1002.000000");
	assert_value(1, "U_mean", "1.550");
	assert_value(1, "qlen_max", "1000");
	assert_value(1, "new_drops", "10");
}

/* Ports are read each 100 ms, and at the end of what is shorter. */
static void readings_in_an_interval(void **state)
{
	static const struct { const char *words; unsigned int readings; } list[] = {
		{ "what port count 1 interval 0.01", 2 }, { "what port count 1 interval 0.19", 2 },
		{ "what port count 1 interval 0.2", 3 }, { "count 1 interval 60", 601 },
		{ "what flow count 3", 0 }, { "what host count 3", 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		assert_int_equal(run(list[i].words), EXIT_DONE);
		assert_int_equal(reading, list[i].readings);
	}
}

static void a_port_that_begins_anew(void **state)
{
	added_anew = true;
	assert_int_equal(run("what port count 2"), EXIT_DONE);
	assert_value(0, "tx_rate", "none");
	assert_value(0, "load", "none");
	assert_value(0, "U_mean", "0.710");
	assert_value(1, "tx_rate", "0");
}

static void agents_by_the_second(void **state)
{
	assert_int_equal(run("interval 2 count 2"), EXIT_DONE);
	assert_int_equal(n_lines(), 6);
	assert_value(0, "object", "port");
	assert_value(1, "object", "host");
	assert_value(1, "asked_rate", "25");
	assert_value(1, "echoed_rate", "100");
	assert_value(1, "echoes_rate", "0");
	assert_value(2, "object", "cnp");
	assert_value(2, "cnp_rate", "10");
	assert_value(2, "known", "3");
	assert_value(2, "held", "2");
	assert_value(4, "asked_rate", "25");
}

static void what_is_shown(void **state)
{
	n_flows = 6;
	assert_int_equal(run("count 1"), EXIT_DONE);
	assert_int_equal(n_lines(), 9);
	assert_value(1, "object", "flow");
	run("what all count 1");
	assert_int_equal(n_lines(), 9);
	run("what flow count 1");
	assert_int_equal(n_lines(), 6);
	run("what cnp count 1");
	assert_int_equal(n_lines(), 1);
	/* what chooses among flows leaves the other objects out */
	run("mode hpccpp-reno count 1");
	assert_int_equal(n_lines(), 2);
	assert_value(0, "mode", "hpccpp-reno");
	run("mode hpccpp count 1");
	assert_int_equal(n_lines(), 4);
	run("dst 10.0.0.0/8 count 1");
	assert_int_equal(n_lines(), 3);
	run("dst 10.0.0.5 count 1");
	assert_int_equal(n_lines(), 1);
	assert_value(0, "dst", "10.0.0.5");
	run("dst fd00:0:0::/48 mode hpccpp count 1");
	assert_int_equal(n_lines(), 2);
	run("dst ::/0 what flow count 1");
	assert_int_equal(n_lines(), 6);
	assert_int_equal(run("dst ::/0 what port"), EXIT_USAGE);
	assert_string_equal(error, "Error: \"dst\" is wrong with what \"port\": it chooses among flows.\n");
	assert_int_equal(run("mode hpccpp what cnp"), EXIT_USAGE);
}

static void rows_are_sorted(void **state)
{
	n_flows = 10;
	n_ports = 3;
	run("what flow count 1");
	assert_value(0, "R", "8");
	assert_value(1, "R", "7");
	assert_value(5, "R", "1");
	/* without U, in the order that they came in */
	assert_value(6, "R", "0");
	assert_value(9, "R", "3");
	run("what flow sort rate count 1");
	assert_value(0, "R", "9");
	assert_value(9, "R", "0");
	run("what flow sort queue count 1");
	assert_value(0, "srtt", "1000000");
	/* all are equal in U */
	run("what port count 1");
	assert_value(0, "dev", "d0");
	assert_value(2, "dev", "d2");
	run("what port sort rate count 1");
	assert_value(0, "dev", "d2");
	assert_value(2, "dev", "d0");
}

static void the_first_of_many(void **state)
{
	n_flows = 100003;
	run("what flow sort rate count 1");
	assert_int_equal(n_lines(), 1000);
	assert_value(0, "R", "100002");
	assert_value(999, "R", "99003");
	opt.output = OUTPUT_TEXT;
	run("what flow sort rate count 1");
	assert_non_null(strstr(said, "\nand 99003 more\n"));
	n_flows = 1000;
	run("what flow count 1");
	assert_null(strstr(said, "more"));
}

static void tables_of_all(void **state)
{
	opt.output = OUTPUT_TEXT;
	n_ports = 2;
	assert_int_equal(run("count 1 sort rate"), EXIT_DONE);
	/* no queue has a number, as there is one each */
	assert_string_equal(said, "DEV      TX   Q MAX\n"
			    "d1   55Mbit  62.5Kb\nd0   50Mbit  62.5Kb\n"
			    "no flow under hpccpp\n\n\n\n\n");
}

/* An error is said once in an interval, and the rest is shown. */
static void what_cannot_be_read(void **state)
{
	bad_reading = 3;
	assert_int_equal(run("what port count 1"), EXIT_DONE);
	assert_string_equal(error, "Error: no port.\n");
	assert_int_equal(reading, 5);
	assert_value(0, "tx_rate", "50000000");
	bad_reading = 0;
	flow_ret = 1;
	assert_int_equal(run("count 1"), EXIT_SYSTEM);
	assert_int_equal(n_lines(), 3);
	assert_int_equal(run("what flow"), EXIT_SYSTEM);
	assert_int_equal(n_lines(), 0);
	assert_string_equal(error, "Error: no flows.\n");
	opt.output = OUTPUT_TEXT;
	assert_int_equal(run("what flow"), EXIT_SYSTEM);
	assert_string_equal(said, "");
}

static int forget(void **state)
{
	free(said);
	free(error);
	json_object_put(lines);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ports_over_an_interval, reset),
		cmocka_unit_test_setup(readings_in_an_interval, reset),
		cmocka_unit_test_setup(a_port_that_begins_anew, reset),
		cmocka_unit_test_setup(agents_by_the_second, reset),
		cmocka_unit_test_setup(what_is_shown, reset),
		cmocka_unit_test_setup(rows_are_sorted, reset),
		cmocka_unit_test_setup(the_first_of_many, reset),
		cmocka_unit_test_setup(tables_of_all, reset),
		cmocka_unit_test_setup(what_cannot_be_read, reset),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, forget);
}
