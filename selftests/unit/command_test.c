// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of what the command's parts do without a kernel: arguments, prefixes,
 * output, and what netlink says of qdiscs and filters. The files of tools/ are linked
 * as they are; libmnl's sockets and the maps are those below.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "hpccpp.h"

/* cmocka hands every test a state, and few want one */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* --- What is printed --------------------------------------------------------- */

static FILE *real;
static FILE **stream;
static char *text;
static size_t text_len;

static void catch(FILE **what)
{
	stream = what;
	real = *what;
	*what = open_memstream(&text, &text_len);
	assert_non_null(*what);
}

/* What was printed since; good until the next call */
static const char *caught(void)
{
	static char said[8192];

	fclose(*stream);
	*stream = real;
	assert_true(text_len < sizeof(said));
	strcpy(said, text);
	free(text);
	return said;
}

/* --- The maps ------------------------------------------------------------------ */

static struct hpccpp_prefix prefixes[4];
static unsigned int n_prefixes;

int prog_map(int prog, const char *name, size_t value_size)
{
	return prog;
}

int prog_map_error(const char *name)
{
	return EXIT_SYSTEM;
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	const struct hpccpp_prefix *prev = key;
	unsigned int i = 0;

	while (prev && i < n_prefixes && memcmp(&prefixes[i++], prev, sizeof(*prev)))
		;
	if (i == n_prefixes)
		return -1;
	memcpy(next, &prefixes[i], sizeof(prefixes[i]));
	return 0;
}

int bpf_map__update_elem(const struct bpf_map *map, const void *key, size_t key_sz,
			 const void *value, size_t value_sz, __u64 flags)
{
	return 0;
}

const struct field cnp_flow_fields[] = {
	{ "dst", FORM_TEXT, "", NULL, NULL, NULL },
	{ "rate", FORM_RATE, "rate", NULL, NULL, NULL },
	{ }
};

/* --- Arguments --------------------------------------------------------------- */

static const char *const colours[] = { "red", "green", "grey" };

static struct {
	const char *text, *list[3];
	unsigned int number, numbers[2], word, time;
	__u64 rate;
	struct hpccpp_prefix prefix[2], prefix6;
} to;

enum { TEXT, LIST, NUMBER, NUMBERS, COLOUR, TIME, RATE, RATES, PREFIX, PREFIX6, FLAG };

static struct argument args[11];

static void forget(void)
{
	const struct argument fresh[] = {
		[TEXT] = { ARG("text", arg_text, &to.text) },
		[LIST] = { ARG("list", arg_text, to.list), .max = 3 },
		[NUMBER] = { ARG("number", arg_uint, &to.number), .low = 3, .high = 300 },
		[NUMBERS] = { ARG("sums", arg_uint, to.numbers), .high = -1, .max = 2 },
		[COLOUR] = { ARG("colour", arg_word, &to.word), .words = colours,
			     .high = ARRAY_SIZE(colours) },
		[TIME] = { ARG("time", arg_time, &to.time) },
		[RATE] = { ARG("rate", arg_rate, &to.rate) },
		[RATES] = { ARG("rate-of-all", arg_text, &to.text) },
		[PREFIX] = { ARG("prefix", arg_prefix, to.prefix), .max = 2 },
		[PREFIX6] = { ARG("six", arg_prefix6, &to.prefix6) },
		[FLAG] = { .name = "flag" },
	};

	memset(&to, 0, sizeof(to));
	memcpy(args, fresh, sizeof(args));
}

/* The words of a line; what the command says of them, "" when it takes them */
static const char *says(const char *line)
{
	char copy[256], *argv[16], *save = NULL;
	const char *said;
	int argc = 0, ret;

	forget();
	assert_true(strlen(line) < sizeof(copy));
	strcpy(copy, line);
	while ((argv[argc] = strtok_r(argc ? NULL : copy, " ", &save))) {
		/* an empty word */
		if (!strcmp(argv[argc], "''"))
			*argv[argc] = '\0';
		argc++;
	}
	catch(&stderr);
	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	said = caught();
	assert_int_equal(ret, *said ? EXIT_USAGE : EXIT_DONE);
	/* those that were parsed point into the copy */
	to.text = NULL;
	return said;
}

#define assert_takes(line)		assert_string_equal(says(line), "")
#define assert_says(line, error)	assert_string_equal(says(line), "Error: " error ".\n")

static void words_may_be_short(void **state)
{
	assert_takes("num 5 te x fl colo gree");
	assert_int_equal(to.number, 5);
	assert_int_equal(args[NUMBER].n, 1);
	assert_int_equal(args[TEXT].n, 1);
	assert_int_equal(args[FLAG].n, 1);
	assert_int_equal(args[TIME].n, 0);
	assert_int_equal(to.word, 1);
	/* a whole word is that, even if it begins another */
	assert_takes("rate 1mbit");
	assert_int_equal(args[RATE].n, 1);
	assert_int_equal(args[RATES].n, 0);
	assert_takes("rate- x");
	assert_int_equal(args[RATES].n, 1);
	assert_says("rat x", "argument \"rat\" is ambiguous: allowed are text, list, number, sums, colour, time, rate, rate-of-all, prefix, six, flag");
	assert_says("texts x", "argument \"texts\" is unknown: allowed are text, list, number, sums, colour, time, rate, rate-of-all, prefix, six, flag");
	assert_says("colour gre", "colour \"gre\" is ambiguous: allowed are red, green, grey");
	assert_says("colour ''", "colour \"\" is unknown: allowed are red, green, grey");
}

static void keywords_have_values(void **state)
{
	assert_says("text", "\"text\" lacks its value, try \"help\"");
	assert_says("flag text", "\"text\" lacks its value, try \"help\"");
	assert_says("number 5 number 6", "duplicate \"number\": \"6\" is the second value");
	assert_takes("flag flag list a list b list c");
	assert_int_equal(args[LIST].n, 3);
	assert_true(to.list[0] && to.list[1] && to.list[2]);
	assert_int_equal(args[FLAG].n, 1);
	assert_says("list a list b list c list d",
		    "\"list\" \"d\" is one too many: allowed are 3");
	assert_takes("sums 1 sums 2");
	assert_int_equal(to.numbers[0], 1);
	assert_int_equal(to.numbers[1], 2);
}

static void numbers_have_ranges(void **state)
{
	static const char *const wrong[] = {
		"2", "301", "x", "5x", "-5", "+5", "''", "18446744073709551619", "0x",
	};
	char line[64], error[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		const char *value = strcmp(wrong[i], "''") ? wrong[i] : "";

		snprintf(line, sizeof(line), "number %s", wrong[i]);
		snprintf(error, sizeof(error),
			 "Error: number \"%s\" is wrong: allowed are 3 to 300.\n", value);
		assert_string_equal(says(line), error);
	}
	assert_takes("number 3");
	assert_int_equal(to.number, 3);
	assert_takes("number 300");
	assert_int_equal(to.number, 300);
	assert_takes("number 0x10");
	assert_int_equal(to.number, 16);
	assert_takes("sums 4294967295");
	assert_int_equal(to.numbers[0], 4294967295U);
	assert_says("sums 4294967296", "sums \"4294967296\" is wrong: allowed are 0 to 4294967295");
}

/* Octal to some and decimal to others: neither is guessed. */
static void no_number_has_zeros_in_front(void **state)
{
	assert_says("number 010", "number \"010\" is wrong: allowed are 3 to 300, with no zero in front");
	assert_says("number 08", "number \"08\" is wrong: allowed are 3 to 300, with no zero in front");
	assert_says("sums 00", "sums \"00\" is wrong: allowed are 0 to 4294967295, with no zero in front");
	assert_says("prefix 10.0.0.0/010", "prefix length \"010\" is wrong: allowed are 0 to 32, with no zero in front");
	assert_takes("sums 0");
	assert_int_equal(to.numbers[0], 0);
	assert_takes("number 0x010");
	assert_int_equal(to.number, 16);
}

static void rates_are_those_of_tc(void **state)
{
	static const struct { const char *text; __u64 bps; } rates[] = {
		{ "10kbit", 10000 }, { "10000", 10000 }, { "10000bit", 10000 },
		{ "2.5gbit", 2500000000 }, { "4tbit", 4000000000000 }, { "1Mbit", 1000000 },
		{ "10kibit", 10240 }, { "1mibit", 1 << 20 }, { "3gibit", 3ULL << 30 },
		{ "1tibit", 1ULL << 40 }, { "1250bps", 10000 }, { "2kbps", 16000 },
		{ "1mbps", 8000000 }, { "1gbps", 8000000000 }, { "0.5tbps", 4000000000000 },
		{ "2kibps", 16384 }, { "1mibps", 1 << 23 }, { "1gibps", 1ULL << 33 },
		{ "0.25tibps", 1ULL << 41 }, { "10000.4", 10000 }, { "10000.6", 10001 },
		{ ".02mbit", 20000 }, { "010mbit", 10000000 },
	};
	static const char *const wrong[] = {
		"9999", "9.9kbit", "4.001tbit", "1e400", "inf", "nan", "-1mbit", "fast", "1mb",
		"1 mbit", "1mbit/s", "4000000000001",
	};
	char line[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		snprintf(line, sizeof(line), "rate %s", rates[i].text);
		assert_takes(line);
		assert_int_equal(to.rate, rates[i].bps);
	}
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(line, sizeof(line), "rate %s", wrong[i]);
		assert_memory_equal(says(line), "Error: ", 7);
	}
	assert_says("rate 9999", "rate \"9999\" is wrong: allowed are 10kbit to 4tbit, with bit, kbit, mbit, gbit, tbit (kibit..., bytes: bps, kbps...)");
}

static void times_are_those_of_tc(void **state)
{
	static const struct { const char *text; unsigned int us; } times[] = {
		{ "1", 1 }, { "1us", 1 }, { "7usec", 7 }, { "7usecs", 7 }, { "1.5ms", 1500 },
		{ "2msec", 2000 }, { "2msecs", 2000 }, { "4s", 4000000 }, { "3sec", 3000000 },
		{ "3secs", 3000000 }, { "4000000us", 4000000 }, { "2.6us", 3 },
		{ "010us", 10 },
	};
	static const char *const wrong[] = { "0", "0.9us", "4.1s", "4000001", "1m", "-1s", "s" };
	char line[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		snprintf(line, sizeof(line), "time %s", times[i].text);
		assert_takes(line);
		assert_int_equal(to.time, times[i].us);
	}
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(line, sizeof(line), "time %s", wrong[i]);
		assert_memory_equal(says(line), "Error: ", 7);
	}
	assert_says("time 1m", "time \"1m\" is wrong: allowed are 1us to 4s, with us, ms, s");
}

static int runs;

static int run(int argc, char **argv)
{
	runs = 100 + argc;
	return EXIT_MISSING;
}

static void commands_run(void **state)
{
	static const struct command cmds[] = { { "add", run }, { "show", run }, { "help", NULL } };
	char *argv[3] = { "sh", "help", "x" };

	assert_int_equal(run_command(cmds, 3, "thing", "Usage\n", 0, NULL), EXIT_MISSING);
	assert_int_equal(runs, 99);
	argv[1] = "dev";
	assert_int_equal(run_command(cmds, 3, "thing", "Usage\n", 3, argv), EXIT_MISSING);
	assert_int_equal(runs, 102);
	argv[1] = "help";
	catch(&stderr);
	assert_int_equal(run_command(cmds, 3, "thing", "Usage\n", 2, argv), EXIT_USAGE);
	assert_string_equal(caught(), "Usage\n");
	argv[0] = "help";
	catch(&stderr);
	assert_int_equal(run_command(cmds, 3, "thing", "Usage\n", 1, argv), EXIT_USAGE);
	assert_string_equal(caught(), "Usage\n");
	argv[0] = "frob";
	catch(&stderr);
	assert_int_equal(run_command(cmds, 3, "thing", "Usage\n", 1, argv), EXIT_USAGE);
	assert_string_equal(caught(), "Error: thing command \"frob\" is unknown: allowed are add, show, help.\n");
	assert_int_equal(runs, 102);
}

static uid_t uid;

uid_t geteuid(void)
{
	return uid;
}

static const char *error_of(int err)
{
	catch(&stderr);
	assert_int_equal(errno_error(err, "cannot do \"%s\"", "it"), EXIT_SYSTEM);
	return caught();
}

/* Of either sign; whoever is not root is told so where it may be why */
static void errors_say_why(void **state)
{
	assert_string_equal(error_of(EPERM), "Error: cannot do \"it\": Operation not permitted.\n");
	assert_string_equal(error_of(-ENOENT), "Error: cannot do \"it\": No such file or directory.\n");
	uid = 1000;
	assert_string_equal(error_of(-EPERM), "Error: cannot do \"it\": Operation not permitted (you are not root).\n");
	assert_string_equal(error_of(EACCES), "Error: cannot do \"it\": Permission denied (you are not root).\n");
	assert_string_equal(error_of(ENOENT), "Error: cannot do \"it\": No such file or directory.\n");
	uid = 0;
}

/* --- Prefixes ---------------------------------------------------------------- */

/* As they are written, and as show says them */
static void prefixes_come_back(void **state)
{
	static const struct { const char *in, *out; unsigned int len; } list[] = {
		{ "10.0.0.0/8", "10.0.0.0/8", 104 }, { "10.1.2.3", "10.1.2.3/32", 128 },
		{ "0.0.0.0/0", "0.0.0.0/0", 96 }, { "192.168.1.128/25", "192.168.1.128/25", 121 },
		{ "fd00::/16", "fd00::/16", 16 }, { "fd00::1", "fd00::1/128", 128 },
		{ "::/0", "::/0", 0 }, { "::ffff:1.2.3.4", "1.2.3.4/32", 128 },
		{ "::ffff:0:0/95", NULL, 0 }, { "2001:db8:8000::/33", "2001:db8:8000::/33", 33 },
	};
	struct json_object *row;
	const char *said;
	char line[96];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		snprintf(line, sizeof(line), "prefix fd99::/16 prefix %s", list[i].in);
		if (!list[i].out) {
			assert_string_equal(says(line), "Error: prefix \"::ffff:0:0/95\" is wrong: allowed are no bits set after the first 95.\n");
			continue;
		}
		assert_takes(line);
		assert_int_equal(to.prefix[1].prefixlen, list[i].len);
		memcpy(prefixes, to.prefix, sizeof(to.prefix));
		n_prefixes = 2;
		row = json_object_new_object();
		assert_int_equal(put_prefixes(row, "prefix", 99, "map"), EXIT_DONE);
		snprintf(line, sizeof(line), "{\"prefix\":[\"fd99::/16\",\"%s\"]}", list[i].out);
		said = json_object_to_json_string_ext(row, JSON_C_TO_STRING_NOSLASHESCAPE);
		assert_string_equal(said, line);
		json_object_put(row);
	}
}

static void prefixes_are_refused(void **state)
{
	assert_says("prefix 10.0.0.300", "prefix \"10.0.0.300\" is wrong: allowed are IPv4 and IPv6 addresses with /LEN");
	assert_says("prefix fd00:0000:0000:0000:0000:0000:0000:0000:0000:0000/8", "prefix \"fd00:0000:0000:0000:0000:0000:0000:0000:0000:0000/8\" is wrong: allowed are IPv4 and IPv6 addresses with /LEN");
	assert_says("prefix 10.0.0.0/33", "prefix length \"33\" is wrong: allowed are 0 to 32");
	assert_says("prefix fd00::/129", "prefix length \"129\" is wrong: allowed are 0 to 128");
	assert_says("prefix fd00::/", "prefix length \"\" is wrong: allowed are 0 to 128");
	assert_says("prefix 10.0.0.1/31", "prefix \"10.0.0.1/31\" is wrong: allowed are no bits set after the first 31");
	assert_says("prefix 128.0.0.0/0", "prefix \"128.0.0.0/0\" is wrong: allowed are no bits set after the first 0");
	assert_says("prefix fd00::1/127", "prefix \"fd00::1/127\" is wrong: allowed are no bits set after the first 127");
	assert_says("six 10.0.0.0/8", "six \"10.0.0.0/8\" is wrong: allowed are prefixes of IPv6");
	assert_says("six ::ffff:1.2.3.4", "six \"::ffff:1.2.3.4\" is wrong: allowed are prefixes of IPv6");
	assert_says("six 0.0.0.0/0", "six \"0.0.0.0/0\" is wrong: allowed are prefixes of IPv6");
	assert_takes("six ::/0");
	assert_takes("six ::ffff:0:0:0/96");
	assert_int_equal(to.prefix6.prefixlen, 96);
}

/* --- Output -------------------------------------------------------------------- */

static const struct field fields[] = {
	{ "dev", FORM_TEXT, "", "DEV", "", NULL },
	{ "src", FORM_ADDRESS, "from", "SOURCE", NULL, NULL },
	{ "sport", FORM_NUM, NULL, NULL, "", NULL },
	{ "id", FORM_NUM, "id", "ID", NULL, NULL },
	{ "rate", FORM_RATE, "rate", "RATE", "x_rate_bytes_per_second", "Rate." },
	{ "given", FORM_FLAG, "given", NULL, NULL, NULL },
	{ "list", FORM_LIST, "item", NULL, NULL, NULL },
	{ "U", FORM_RATIO, "\nU", "U", "x_ratio", "Load." },
	{ "T", FORM_TIME, "T", NULL, "x_seconds", "Time." },
	{ "qlen", FORM_BYTES, "qlen", NULL, "x_bytes", "Queue." },
	{ "flows", FORM_CNP_FLOWS, "", NULL, NULL, NULL },
	{ "stats", FORM_COUNTS, "", NULL, "x_packets_total", "Packets." },
	{ }
};

static struct json_object *row_of(const char *dev, const char *src, __u64 rate, __u64 T)
{
	static const char *const names[] = { "good", "bad" };
	static const __u64 counts[] = { 7, 1ULL << 63 };
	struct json_object *row = json_object_new_object();

	put_str(row, "dev", dev);
	put_str(row, "src", src);
	put_num(row, "sport", 80);
	put_num(row, "id", 12);
	put_num(row, "rate", rate);
	put_bool(row, "given", rate == 1);
	put_fixed(row, "U", HPCCPP_ONE + HPCCPP_ONE / 2);
	put_num(row, "T", T);
	put_num(row, "qlen", 1514);
	put_counts(row, "stats", names, counts, 2);
	return row;
}

static const char *printed(enum output output, struct json_object *row)
{
	struct json_object *rows = json_object_new_array();

	json_object_array_add(rows, row);
	opt.output = output;
	catch(&stdout);
	print_rows(fields, rows);
	json_object_put(rows);
	return caught();
}

static void text_has_words_and_units(void **state)
{
	struct json_object *row, *list = json_object_new_array(), *flows, *flow;

	assert_string_equal(printed(OUTPUT_TEXT, row_of("d0", "10.0.0.1", 1, 1)),
			    "d0 from 10.0.0.1:80 id 12 rate 1bit given\n    U 1.500 T 1us qlen 1514b\n");
	row = row_of("d0", "fd00::1", 12345, 1000);
	json_object_array_add(list, json_object_new_string("a"));
	json_object_array_add(list, json_object_new_string("b"));
	json_object_object_add(row, "list", list);
	flows = json_object_new_array();
	flow = json_object_new_object();
	put_str(flow, "dst", "fd00::2");
	put_num(flow, "rate", 1000);
	json_object_array_add(flows, flow);
	json_object_object_add(row, "flows", flows);
	opt.stats = true;
	assert_string_equal(printed(OUTPUT_TEXT, row),
			    "d0 from [fd00::1]:80 id 12 rate 12345bit item a item b\n    U 1.500 T 1ms qlen 1514b\n    fd00::2 rate 1Kbit\n    good 7 bad 9223372036854775808\n");
	opt.stats = false;
}

static void rates_and_times_are_short(void **state)
{
	static const struct { __u64 value; const char *rate, *time; } list[] = {
		{ 0, "0bit", "0us" }, { 999, "999bit", "999us" }, { 1000, "1Kbit", "1ms" },
		{ 1001, "1001bit", "1001us" }, { 2000000, "2Mbit", "2s" },
		{ 999999, "999999bit", "999999us" }, { 1500000, "1500Kbit", "1500ms" },
		{ 1500001, "1500Kbit", "1500001us" }, { 2500000000, "2500Mbit", "2500s" },
		{ 4000000000000, "4Tbit", "4000000s" },
	};
	struct json_object *row;
	char want[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		row = json_object_new_object();
		put_num(row, "rate", list[i].value);
		put_num(row, "T", list[i].value);
		snprintf(want, sizeof(want), "rate %s T %s\n", list[i].rate, list[i].time);
		assert_string_equal(printed(OUTPUT_TEXT, row), want);
	}
}

static void json_is_the_row(void **state)
{
	opt.pretty = false;
	assert_string_equal(printed(OUTPUT_JSON, row_of("d/0", "::1", 2, 3)),
			    "[{\"dev\":\"d/0\",\"src\":\"::1\",\"sport\":80,\"id\":12,\"rate\":2,\"given\":false,\"U\":1.500,\"T\":3,\"qlen\":1514,\"stats\":{\"good\":7,\"bad\":9223372036854775808}}]\n");
	opt.pretty = true;
	assert_non_null(strstr(printed(OUTPUT_JSON, row_of("d0", "::1", 2, 3)),
			       "    \"rate\":2,\n"));
	opt.pretty = false;
}

/* What an output with a character set has of each name, which is bytes to the kernel */
static void names_become_utf8(void **state)
{
	static const struct { const char *name, *utf8; } list[] = {
		{ "a\xffz", "a#xffz" }, { "\x80", "#x80" }, { "\xc3", "#xc3" },
		{ "\xc3z", "#xc3z" }, { "\xc3\xc3\xa4", "#xc3\xc3\xa4" },
		{ "\xc2\x80 \xc3\xa4 \xdf\xbf", NULL }, { "\xe0\xa0\x80\xef\xbf\xbf", NULL },
		{ "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", NULL }, { "\xed\x9f\xbf\xee\x80\x80", NULL },
		/* longer than it has to be, a surrogate, too large, cut off */
		{ "\xc1\xbf", "#xc1#xbf" }, { "\xe0\x9f\xbf", "#xe0#x9f#xbf" },
		{ "\xf0\x8f\xbf\xbf", "#xf0#x8f#xbf#xbf" }, { "\xed\xa0\x80", "#xed#xa0#x80" },
		{ "\xf4\x90\x80\x80", "#xf4#x90#x80#x80" },
		{ "\xf5\x80\x80\x80", "#xf5#x80#x80#x80" },
		{ "\xe2\x82", "#xe2#x82" }, { "\xe2\x82z", "#xe2#x82z" },
		{ "\xf0\x9f\x98", "#xf0#x9f#x98" },
	};
	char want[128], end[] = "\"}]\n", *p = want;
	struct json_object *row;
	const char *from;
	size_t i;

	opt.pretty = false;
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		p = stpcpy(want, "[{\"dev\":\"");
		/* the backslash is itself escaped */
		for (from = list[i].utf8 ?: list[i].name; *from; from++)
			p = *from == '#' ? stpcpy(p, "\\\\") : (*p = *from, p + 1);
		strcpy(p, end);
		row = json_object_new_object();
		put_str(row, "dev", list[i].name);
		assert_string_equal(printed(OUTPUT_JSON, row), want);
	}
	assert_non_null(strstr(printed(OUTPUT_PROM, row_of("\xc3\xa4\xff", "::1", 8, 1)),
			       "{dev=\"\xc3\xa4\\\\xff\","));
	row = json_object_new_object();
	put_str(row, "dev", "a\xff");
	assert_string_equal(printed(OUTPUT_TEXT, row), "a\xff\n");
}

static void samples_have_base_units(void **state)
{
#define LABELS	"{dev=\"d\\\"\\\\\\n0\",sport=\"80\""
	assert_string_equal(printed(OUTPUT_PROM, row_of("d\"\\\n0", "::1", 12, 1500)),
			    "# HELP x_rate_bytes_per_second Rate.\n# TYPE x_rate_bytes_per_second gauge\n"
			    "x_rate_bytes_per_second" LABELS "} 1.5\n"
			    "# HELP x_ratio Load.\n# TYPE x_ratio gauge\n"
			    "x_ratio" LABELS "} 1.500\n"
			    "# HELP x_seconds Time.\n# TYPE x_seconds gauge\n"
			    "x_seconds" LABELS "} 0.0015\n"
			    "# HELP x_bytes Queue.\n# TYPE x_bytes gauge\n"
			    "x_bytes" LABELS "} 1514\n"
			    "# HELP x_packets_total Packets.\n# TYPE x_packets_total counter\n"
			    "x_packets_total" LABELS ",kind=\"good\"} 7\n"
			    "x_packets_total" LABELS ",kind=\"bad\"} 9223372036854775808\n");
	opt.netns = "box";
	assert_non_null(strstr(printed(OUTPUT_PROM, row_of("d0", "::1", 8, 1)),
			       "\nx_rate_bytes_per_second{netns=\"box\",dev=\"d0\","));
	opt.netns = NULL;
}

static void a_metric_has_one_head(void **state)
{
	struct json_object *rows = json_object_new_array();
	const char *said, *head;

	json_object_array_add(rows, row_of("d0", "::1", 8, 1));
	json_object_array_add(rows, row_of("d1", "::1", 8, 1));
	opt.output = OUTPUT_PROM;
	catch(&stdout);
	print_rows(fields, rows);
	json_object_put(rows);
	said = caught();
	head = strstr(said, "# HELP x_ratio ");
	assert_non_null(head);
	assert_null(strstr(head + 1, "# HELP x_ratio "));
	assert_non_null(strstr(head, "x_ratio{dev=\"d0\",sport=\"80\"} 1.500\n"
				     "x_ratio{dev=\"d1\",sport=\"80\"} 1.500\n"));
}

static void tables_are_aligned(void **state)
{
	struct json_object *rows = json_object_new_array();

	json_object_array_add(rows, row_of("d0", "10.0.0.1", 1000, 1));
	json_object_array_add(rows, row_of("long", "::1", 2000000, 1));
	json_object_object_del(json_object_array_get_idx(rows, 1), "id");
	opt.stats = true;
	catch(&stdout);
	print_table(fields, rows);
	opt.stats = false;
	assert_string_equal(caught(),
			    "DEV   SOURCE       ID   RATE      U\n"
			    "d0    10.0.0.1:80  12  1Kbit  1.500\n"
			    "    good 7 bad 9223372036854775808\n"
			    "long  [::1]:80         2Mbit  1.500\n"
			    "    good 7 bad 9223372036854775808\n");
	json_object_put(rows);
}

/* --- What netlink says --------------------------------------------------------- */

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

int mnl_socket_close(struct mnl_socket *nl)
{
	return 0;
}

int mnl_socket_bind(struct mnl_socket *nl, unsigned int groups, pid_t pid)
{
	return 0;
}

unsigned int mnl_socket_get_portid(const struct mnl_socket *nl)
{
	return 1;
}

ssize_t mnl_socket_sendto(const struct mnl_socket *nl, const void *req, size_t len)
{
	const struct nlmsghdr *nlh = req;

	assert_int_equal(nlh->nlmsg_flags, NLM_F_REQUEST | NLM_F_DUMP);
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
	struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_STATS2);

	mnl_attr_put(nlh, TCA_STATS_QUEUE, sizeof(queue), &queue);
	mnl_attr_nest_end(nlh, nest);
}

static void put_netem(struct nlmsghdr *nlh, __u32 latency, __u32 rate, __u64 rate64)
{
	struct { struct tc_netem_qopt q; char rest[128]; } o = { .q = { .latency = latency } };
	struct tc_netem_rate r = { .rate = rate };
	struct nlattr *nest = (struct nlattr *)mnl_nlmsg_get_payload_tail(nlh);
	size_t at = MNL_ALIGN(sizeof(o.q));

	mnl_attr_put(nlh, TCA_OPTIONS, at, &o);
	if (rate)
		mnl_attr_put(nlh, TCA_NETEM_RATE, sizeof(r), &r);
	if (rate64)
		mnl_attr_put_u64(nlh, TCA_NETEM_RATE64, rate64);
	mnl_attr_nest_end(nlh, nest);
}

static void put_tbf(struct nlmsghdr *nlh, __u32 rate, __u64 rate64, size_t cut)
{
	struct tc_tbf_qopt q = { .rate.rate = rate };
	struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put(nlh, TCA_TBF_PARMS, sizeof(q) - cut, &q);
	if (rate64)
		mnl_attr_put_u64(nlh, TCA_TBF_RATE64, rate64);
	mnl_attr_nest_end(nlh, nest);
}

static void qdiscs_are_read(void **state)
{
	static const struct qdisc want[] = {
		{ 7, 0x10000, TC_H_ROOT, "netem", 16000, true, 3000, 4 },
		{ 7, 0x20000, 0x10001, "netem", 80000000000, false, 0, 0 },
		{ 7, 0x30000, 0x10002, "tbf", 24000, false, 0, 0 },
		{ 7, 0x40000, 0x10003, "tbf", 64000000000, false, 0, 0 },
		{ 7, 0x50000, 0x10004, "tbf", 0, false, 0, 0 },
		{ 7, 0x60000, 0x10005, "pfifo", 0, false, 0, 0 },
	};
	struct nlmsghdr *nlh;
	struct qdisc *list;
	size_t n, i;

	no_answers();
	interrupted = 1;
	for (i = 0; i < 2; i++) {
		nlh = begin(i, want[0].handle, want[0].parent, 0, "netem");
		put_netem(nlh, 5, 2000, 0);
		put_stats(nlh, 3000, 4);
		end(i, nlh);
		nlh = begin(i, want[1].handle, want[1].parent, 0, "netem");
		put_netem(nlh, 0, ~0U, 10000000000);
		end(i, nlh);
		nlh = begin(i, want[2].handle, want[2].parent, 0, "tbf");
		put_tbf(nlh, 3000, 0, 0);
		end(i, nlh);
		nlh = begin(i, want[3].handle, want[3].parent, 0, "tbf");
		put_tbf(nlh, ~0U, 8000000000, 0);
		end(i, nlh);
		nlh = begin(i, want[4].handle, want[4].parent, 0, "tbf");
		put_tbf(nlh, 3000, 0, 4);
		end(i, nlh);
		nlh = begin(i, want[5].handle, want[5].parent, 0, "pfifo");
		put_tbf(nlh, 3000, 0, 0);
		end(i, nlh);
	}
	assert_int_equal(qdisc_list(&list, &n), EXIT_DONE);
	/* the first was interrupted: it counts for nothing */
	assert_int_equal(dumps, 2);
	assert_int_equal(n, ARRAY_SIZE(want));
	for (i = 0; i < n; i++) {
		assert_int_equal(list[i].ifindex, want[i].ifindex);
		assert_int_equal(list[i].handle, want[i].handle);
		assert_int_equal(list[i].parent, want[i].parent);
		assert_string_equal(list[i].kind, want[i].kind);
		assert_int_equal(list[i].rate, want[i].rate);
		assert_int_equal(list[i].delay, want[i].delay);
		assert_int_equal(list[i].backlog, want[i].backlog);
		assert_int_equal(list[i].drops, want[i].drops);
		assert_ptr_equal(find_qdisc(list, n, 7, want[i].parent), &list[i]);
	}
	assert_null(find_qdisc(list, n, 8, TC_H_ROOT));
	assert_null(find_qdisc(list, n, 7, TC_H_INGRESS));
	free(list);
}

static void put_class(unsigned int n, __u32 handle, __u32 parent, __u32 rate, __u32 ceil)
{
	struct tc_htb_opt o = { .rate.rate = rate, .ceil.rate = ceil };
	struct nlmsghdr *nlh = begin(n, handle, parent, 0, "htb");
	struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put(nlh, TCA_HTB_PARMS, sizeof(o), &o);
	mnl_attr_nest_end(nlh, nest);
	end(n, nlh);
}

/* Of the root class of this htb alone, and the less of its rate and ceiling */
static void rate_of_htb(void **state)
{
	struct qdisc q = { .ifindex = 7, .handle = 0x10000 };

	no_answers();
	put_class(0, 0x10001, TC_H_ROOT, 5000, 9000);
	put_class(0, 0x10002, 0x10001, 100, 100);
	put_class(0, 0x20001, TC_H_ROOT, 300, 300);
	assert_int_equal(qdisc_htb_rate("d0", &q), EXIT_DONE);
	assert_int_equal(q.rate, 40000);
	assert_int_equal(asked[0].tcm_ifindex, 7);
	no_answers();
	put_class(0, 0x10001, TC_H_ROOT, 5000, 4000);
	assert_int_equal(qdisc_htb_rate("d0", &q), EXIT_DONE);
	assert_int_equal(q.rate, 32000);
	no_answers();
	put_class(0, 0x10001, TC_H_ROOT, 5000, 4000);
	put_class(0, 0x10002, TC_H_ROOT, 5000, 4000);
	catch(&stderr);
	assert_int_equal(qdisc_htb_rate("d0", &q), EXIT_SYSTEM);
	assert_string_equal(caught(), "Error: htb on d0 has 2 root classes: for its rate to be known it must be one.\n");
}

static void put_filter(unsigned int n, bool egress, __u32 prio, __u32 handle,
		       const char *kind, __u32 prog)
{
	struct nlmsghdr *nlh = begin(n, handle, TC_H_MAKE(TC_H_CLSACT, egress ?
				     TC_H_MIN_EGRESS : TC_H_MIN_INGRESS), prio << 16, kind);
	struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	if (prog)
		mnl_attr_put_u32(nlh, TCA_BPF_ID, prog);
	mnl_attr_nest_end(nlh, nest);
	end(n, nlh);
}

static void filters_are_ours_by_their_place(void **state)
{
	struct filters f;

	no_answers();
	put_filter(0, false, HPCCPP_TC_PRIO, 1, "bpf", 11);
	put_filter(0, false, HPCCPP_TC_PRIO, 2, "bpf", 12);
	put_filter(1, true, HPCCPP_TC_PRIO, 1, "bpf", 14);
	put_filter(1, true, HPCCPP_TC_PRIO + 1, 1, "bpf", 13);
	assert_int_equal(clsact_filters(7, &f), EXIT_DONE);
	assert_int_equal(asked[0].tcm_parent, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS));
	assert_int_equal(asked[1].tcm_parent, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS));
	assert_int_equal(f.count, 4);
	assert_true(f.taken && f.taken_in);
	assert_int_equal(f.prog, 14);
	assert_int_equal(f.prog_in, 11);
	/* beside another eBPF filter of that preference there is room, but not beside u32 */
	no_answers();
	put_filter(0, false, HPCCPP_TC_PRIO, 2, "bpf", 12);
	put_filter(1, true, HPCCPP_TC_PRIO, 0x80000000, "u32", 0);
	assert_int_equal(clsact_filters(7, &f), EXIT_DONE);
	assert_true(f.taken && !f.taken_in);
	assert_int_equal(f.prog, 0);
	assert_int_equal(f.prog_in, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_may_be_short),
		cmocka_unit_test(keywords_have_values),
		cmocka_unit_test(numbers_have_ranges),
		cmocka_unit_test(no_number_has_zeros_in_front),
		cmocka_unit_test(rates_are_those_of_tc),
		cmocka_unit_test(times_are_those_of_tc),
		cmocka_unit_test(commands_run),
		cmocka_unit_test(errors_say_why),
		cmocka_unit_test(prefixes_come_back),
		cmocka_unit_test(prefixes_are_refused),
		cmocka_unit_test(text_has_words_and_units),
		cmocka_unit_test(rates_and_times_are_short),
		cmocka_unit_test(json_is_the_row),
		cmocka_unit_test(names_become_utf8),
		cmocka_unit_test(samples_have_base_units),
		cmocka_unit_test(a_metric_has_one_head),
		cmocka_unit_test(tables_are_aligned),
		cmocka_unit_test(qdiscs_are_read),
		cmocka_unit_test(rate_of_htb),
		cmocka_unit_test(filters_are_ours_by_their_place),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
