// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of `hpccpp monitor`: the values of an interval, and which rows it prints in which
 * order. The objects and the clock are those below.
 */
#include <errno.h>
#include <time.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "command_test.h"

/* --- The clock, which only the command's sleep advances ------------------------------ */

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
static bool restarted;			/* the port's counters begin again */
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

/* Port i sends i / 10 more than the first one, and has another U and queue in each reading. */
int port_rows(const char *dev, struct json_object *rows)
{
	/* 1.25 MB are 100 Mbit/s in 100 ms */
	long long periods = now_ns / 100000000;
	unsigned int i;

	if (bad_reading && reading == bad_reading) {
		reading++;
		return system_error("no port");
	}
	for (i = 0; i < n_ports; i++)
		add_row(rows, "{'dev':'d%u','txq':0,'mq':false,'rate':100000000,'U':%.3f,'qlen':%u,'sent':%lld,'drops':%u}",
			i, reading == 4 ? 2 : .1 * reading, reading == 7 ? 64000 : 1000,
			restarted && reading ? 5 : 1000000 + periods * (625000 + 62500 * i),
			100 + reading);
	reading++;
	return EXIT_DONE;
}

int flow_rows(void (*take)(void *to, struct json_object *row), void *to)
{
	unsigned int i;

	for (i = 0; i < n_flows; i++) {
		unsigned int at = (i * 7919) % n_flows;	/* not sorted */
		struct json_object *row;
		char dst[32];

		snprintf(dst, sizeof(dst), at % 2 ? "10.%u.%u.%u" : "fd00:%u:%u::%u", at >> 16,
			 at >> 8 & 255, at & 255);
		row = object("{'dst':'%s','mode':'%s','srtt':%u,'R':%u}", dst,
			     at % 3 ? "hpccpp" : "hpccpp-reno", 1000000 - at, at);
		if (at % 3)
			put_ratio(row, "U", at * .001);
		take(to, row);
	}
	return flow_ret ? system_error("no flows") : EXIT_DONE;
}

int host_rows(const char *cgroup, struct json_object *rows)
{
	add_row(rows, "{'cgroup':'/a','stats':{'asked':%llu,'echoed':%llu,'echo_short':%llu,'echoes':0}}",
		asked, 3 * asked, asked);
	asked += 50;
	return EXIT_DONE;
}

int cnp_rows(const char *dev, struct json_object *rows)
{
	add_row(rows, "{'dev':'ha','rate':600,'queue_pairs':[{'rate':400},{'rate':500},{'rate':600}],'stats':{'switch':%llu,'receiver':%llu,'ordinary':1}}",
		cnps, cnps);
	cnps += 10;
	return EXIT_DONE;
}

STUB(int netns_enter(const char *name), EXIT_DONE)
STUB(int prog_map(int prog, const char *name, size_t value_size), -1)
STUB(int prog_map_error(const char *name), EXIT_SYSTEM)
STUB(int bpf_map_get_next_key(int fd, const void *key, void *next), -1)
STUB(int bpf_map__update_elem(const struct bpf_map *map, const void *key, size_t key_sz,
			      const void *value, size_t value_sz, __u64 flags), 0)

/* --- The command --------------------------------------------------------------------- */

static struct json_object *lines;	/* output of JSON */

static int monitor(const char *words)
{
	int ret;

	json_object_put(lines);
	lines = json_object_new_array();
	reading = 0;
	ret = run(monitor_main, words);
	if (opt.output == OUTPUT_JSON) {
		char *line, *save, *text = strdup(out);

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

static void check_line(size_t line, const struct entry *want)
{
	check_entries(json_object_array_get_idx(lines, line), want);
}

#define assert_line(line, ...)	check_line(line, ENTRIES(__VA_ARGS__))

static int reset(void **state)
{
	memset(&opt, 0, sizeof(opt));
	opt.output = OUTPUT_JSON;
	now_ns = 1000000000LL * 1000;
	n_ports = 1;
	n_flows = 0;
	bad_reading = 0;
	restarted = false;
	flow_ret = 0;
	asked = 0;
	cnps = 0;
	return 0;
}

TEST(ports_have_values_of_an_interval)
{
	assert_int_equal(monitor("what port count 2"), EXIT_DONE);
	assert_int_equal(n_lines(), 2);
	/* over readings 1 to 10; reading 0, at the start, belongs to the interval before */
	assert_line(0, { "object", "\"port\"" }, { "tx_rate", "50000000" }, { "load", "0.500" },
		    { "U_mean", "0.710" }, { "U_max", "2.000" }, { "qlen_mean", "7300" },
		    { "qlen_max", "64000" }, { "new_drops", "10" });
	/* the values of show at the end */
	assert_line(0, { "U", "1.000" }, { "qlen", "1000" }, { "drops", "110" },
		    { "time", "1001.000000" });
	assert_line(1, { "time", "1002.000000" }, { "U_mean", "1.550" }, { "qlen_max", "1000" },
		    { "new_drops", "10" });
}

/* Ports are read every 100 ms and at the end of the interval. */
TEST(intervals_have_several_readings)
{
	static const struct { const char *words; unsigned int readings; } list[] = {
		{ "what port count 1 interval 0.01", 2 }, { "what port count 1 interval 0.19", 2 },
		{ "what port count 1 interval 0.2", 3 }, { "count 1 interval 60", 601 },
		{ "what flow count 3", 0 }, { "what host count 3", 0 },
	};

	for_each_row(row, list) {
		assert_int_equal(monitor(row->words), EXIT_DONE);
		assert_int_equal(reading, row->readings);
	}
}

TEST(counters_that_restart_give_no_rate)
{
	restarted = true;
	assert_int_equal(monitor("what port count 2"), EXIT_DONE);
	assert_line(0, { "tx_rate", "none" }, { "load", "none" }, { "U_mean", "0.710" });
	assert_line(1, { "tx_rate", "0" });
}

TEST(agents_have_rates_per_second)
{
	assert_int_equal(monitor("interval 2 count 2"), EXIT_DONE);
	assert_int_equal(n_lines(), 6);
	assert_line(0, { "object", "\"port\"" });
	assert_line(1, { "object", "\"host\"" }, { "asked_rate", "25" }, { "echoed_rate", "100" },
		    { "echoes_rate", "0" });
	assert_line(2, { "object", "\"cnp\"" }, { "cnp_rate", "10" }, { "known", "3" },
		    { "held", "2" });
	assert_line(4, { "asked_rate", "25" });
}

/* A selection of flows excludes the other objects. */
TEST(objects_and_flows_are_selected)
{
	static const struct { const char *words; size_t lines; struct entry first[2]; } list[] = {
		{ "", 9, { { "object", "\"port\"" } } },
		{ "what all", 9, { { "object", "\"port\"" } } },
		{ "what flow", 6, { { "object", "\"flow\"" } } },
		{ "what cnp", 1, { { "object", "\"cnp\"" } } },
		{ "mode hpccpp-reno", 2, { { "mode", "\"hpccpp-reno\"" } } },
		{ "mode hpccpp", 4, { { "mode", "\"hpccpp\"" } } },
		{ "dst 10.0.0.0/8", 3, { { "object", "\"flow\"" } } },
		{ "dst 10.0.0.5", 1, { { "dst", "\"10.0.0.5\"" } } },
		{ "dst fd00:0:0::/48 mode hpccpp", 2, { { "mode", "\"hpccpp\"" } } },
		{ "dst ::/0 what flow", 6, { { "object", "\"flow\"" } } },
	};
	char words[64];

	n_flows = 6;
	for_each_row(row, list) {
		snprintf(words, sizeof(words), "%s count 1", row->words);
		assert_int_equal(monitor(words), EXIT_DONE);
		assert_int_equal(n_lines(), row->lines);
		check_line(0, row->first);
	}
}

TEST(wrong_arguments_are_refused)
{
	static const char *const list[][2] = {
		{ "interval 0", "0.01 to 3600" }, { "interval -1", "0.01 to 3600" },
		{ "interval 0.009", "0.01 to 3600" }, { "interval 3601", "0.01 to 3600" },
		{ "interval x", "0.01 to 3600" }, { "interval 1s", "0.01 to 3600" },
		{ "interval nan", "0.01 to 3600" }, { "count 0", "1 to 4294967295" },
		{ "count 4294967296", "1 to 4294967295" },
		{ "what module", "what \"module\"*all, port, flow, host, cnp" },
		{ "sort age", "sort \"age\"*U, rate, queue" },
		{ "dev d0", "\"dev\"*netns, interval, count, what, sort, dst, mode" },
		{ "dst 10.0.0.1/8", "prefix \"10.0.0.1/8\"" },
		{ "dst ::/0 what port", "\"dst\"*\"port\"" },
		{ "mode hpccpp what cnp", "\"mode\"*\"cnp\"" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		assert_int_equal(monitor(list[i][0]), EXIT_USAGE);
		assert_has(err, list[i][1]);
	}
}

/* Flows without U come last, in their order; rows that are equal keep theirs. */
TEST(rows_are_sorted)
{
	static const struct { const char *words; size_t line; struct entry has[2]; } list[] = {
		{ "what flow", 0, { { "R", "8" } } }, { "what flow", 1, { { "R", "7" } } },
		{ "what flow", 5, { { "R", "1" } } }, { "what flow", 6, { { "R", "0" } } },
		{ "what flow", 9, { { "R", "3" } } },
		{ "what flow sort rate", 0, { { "R", "9" } } },
		{ "what flow sort rate", 9, { { "R", "0" } } },
		{ "what flow sort queue", 0, { { "srtt", "1000000" } } },
		{ "what port", 0, { { "dev", "\"d0\"" } } },
		{ "what port", 2, { { "dev", "\"d2\"" } } },
		{ "what port sort rate", 0, { { "dev", "\"d2\"" } } },
		{ "what port sort rate", 2, { { "dev", "\"d0\"" } } },
	};
	char words[64];

	n_flows = 10;
	n_ports = 3;
	for_each_row(row, list) {
		snprintf(words, sizeof(words), "%s count 1", row->words);
		monitor(words);
		check_line(row->line, row->has);
	}
}

TEST(rows_are_bounded)
{
	n_flows = 100003;
	monitor("what flow sort rate count 1");
	assert_int_equal(n_lines(), 1000);
	assert_line(0, { "R", "100002" });
	assert_line(999, { "R", "99003" });
	opt.output = OUTPUT_TEXT;
	monitor("what flow sort rate count 1");
	assert_has(out, "\n*99003 more\n");
	n_flows = 1000;
	monitor("what flow count 1");
	assert_null(strstr(out, "more"));
}

/* The number of the only queue is omitted. */
TEST(text_has_a_table_per_object)
{
	opt.output = OUTPUT_TEXT;
	n_ports = 2;
	assert_int_equal(monitor("count 1 sort rate"), EXIT_DONE);
	assert_string_equal(out, "DEV      TX   Q MAX\n"
			    "d1   55Mbit  62.5Kb\nd0   50Mbit  62.5Kb\n"
			    "no flow under hpccpp\n\n\n\n\n");
}

/* An error is printed once in an interval, with the rows that could be read. */
TEST(errors_leave_the_other_rows)
{
	bad_reading = 3;
	assert_int_equal(monitor("what port count 1"), EXIT_DONE);
	assert_string_equal(err, "Error: no port.\n");
	assert_int_equal(reading, 5);
	assert_line(0, { "tx_rate", "50000000" });
	bad_reading = 0;
	flow_ret = 1;
	assert_int_equal(monitor("count 1"), EXIT_SYSTEM);
	assert_int_equal(n_lines(), 3);
	assert_int_equal(monitor("what flow"), EXIT_SYSTEM);
	assert_int_equal(n_lines(), 0);
	assert_string_equal(err, "Error: no flows.\n");
	opt.output = OUTPUT_TEXT;
	assert_int_equal(monitor("what flow"), EXIT_SYSTEM);
	assert_string_equal(out, "");
}

TEST_MAIN("monitor", reset, NULL)
