// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of what the command's parts do without a kernel: arguments, prefixes,
 * output, and in command_netlink.c what netlink says of qdiscs and filters. The files of
 * tools/ are linked as they are; the maps are those below.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "command_test.h"

/* --- What is printed --------------------------------------------------------- */

static FILE *real;
static FILE **stream;
static char *text;
static size_t text_len;

void catch(FILE **what)
{
	stream = what;
	real = *what;
	*what = open_memstream(&text, &text_len);
	assert_non_null(*what);
}

const char *caught(void)
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
static bool bare;		/* the first may come without its keyword */
static char bare_text[32];

static void forget(void)
{
	const struct argument fresh[] = {
		[TEXT] = { ARG("text", arg_text, &to.text), .bare = bare },
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
	snprintf(bare_text, sizeof(bare_text), "%s", to.text ?: "");
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
	assert_says("texts x", "argument \"texts\" is unknown, did you mean \"text\": allowed are text, list, number, sums, colour, time, rate, rate-of-all, prefix, six, flag");
	assert_says("colour gre", "colour \"gre\" is ambiguous: allowed are red, green, grey");
	assert_says("colour ''", "colour \"\" is unknown: allowed are red, green, grey");
}

#define assert_begins(said, start)	assert_memory_equal(said, start, sizeof(start) - 1)
#define COLOURS(meant)	meant ": allowed are red, green, grey"

/* One letter more, less, other or swapped; a word that is far from all is not guessed */
static void typos_are_told(void **state)
{
	static const char *const near[] = { "colour reed", "colour rd", "colour rad", "colour erd",
					    "colour redd", "colour ed" };
	static const char *const far[] = { "colour reedd", "colour blue", "colour der",
					   "colour de", "colour ''" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(near); i++)
		assert_non_null(strstr(says(near[i]), COLOURS("is unknown, did you mean \"red\"")));
	for (i = 0; i < ARRAY_SIZE(far); i++)
		assert_non_null(strstr(says(far[i]), COLOURS("is unknown")));
	/* an ambiguous word is no typo */
	assert_says("colour gre", COLOURS("colour \"gre\" is ambiguous"));
}

/* As in iproute2: the first word that is no keyword is the value of the first of them. */
static void first_keyword_may_be_left_out(void **state)
{
	bare = true;
	assert_takes("swp1");
	assert_string_equal(bare_text, "swp1");
	assert_takes("number 5 swp1 flag");
	assert_string_equal(bare_text, "swp1");
	assert_int_equal(to.number, 5);
	assert_int_equal(args[FLAG].n, 1);
	/* what is named like a keyword, or short for one, takes it */
	assert_takes("text fl number 5");
	assert_string_equal(bare_text, "fl");
	assert_int_equal(args[FLAG].n, 0);
	assert_takes("fl");
	assert_int_equal(args[TEXT].n, 0);
	assert_begins(says("rat"), "Error: argument \"rat\" is ambiguous: ");
	/* once only, and then it is said what the first was taken for */
	assert_begins(says("swp1 numbr 5"), "Error: text \"swp1\", argument \"numbr\" is unknown, did you mean \"number\": ");
	assert_begins(says("text swp1 swp2"), "Error: argument \"swp2\" is unknown: ");
	assert_says("swp1 text swp2", "duplicate \"text\": \"swp2\" is the second value");
	bare = false;
	assert_begins(says("swp1"), "Error: argument \"swp1\" is unknown: ");
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
		{ "1us", 1 }, { "7usec", 7 }, { "7usecs", 7 }, { "1.5ms", 1500 },
		{ "2msec", 2000 }, { "2msecs", 2000 }, { "4s", 4000000 }, { "3sec", 3000000 },
		{ "3secs", 3000000 }, { "4000000us", 4000000 }, { "2.6us", 3 },
		{ "010us", 10 },
	};
	static const char *const wrong[] = {
		"0us", "0.9us", "4.1s", "4000001us", "1m", "-1s", "s", "''",
	};
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
	assert_says("time ''", "time \"\" is wrong: allowed are 1us to 4s, with us, ms, s");
	assert_says("time 100", "time \"100\" lacks its unit: allowed are 1us to 4s, with us, ms, s");
	assert_says("time 0.1", "time \"0.1\" lacks its unit: allowed are 1us to 4s, with us, ms, s");
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
			assert_string_equal(says(line), "Error: prefix \"::ffff:0:0/95\" is wrong: bits are set after the first 95, did you mean \"::fffe:0:0/95\".\n");
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
	assert_says("prefix 10.0.0.1/31", "prefix \"10.0.0.1/31\" is wrong: bits are set after the first 31, did you mean \"10.0.0.0/31\"");
	assert_takes("prefix 10.1.0.0/16 prefix fd00::/16");
	assert_true(in_prefix(&to.prefix[0], "10.1.255.255"));
	assert_false(in_prefix(&to.prefix[0], "10.2.0.0"));
	assert_true(in_prefix(&to.prefix[0], "::ffff:10.1.0.1"));
	assert_true(in_prefix(&to.prefix[1], "fd00:1::1"));
	assert_false(in_prefix(&to.prefix[1], "fd01::1"));
	assert_false(in_prefix(&to.prefix[1], "10.1.0.1"));
	assert_false(in_prefix(&to.prefix[1], "?"));
	assert_says("prefix 128.0.0.0/0", "prefix \"128.0.0.0/0\" is wrong: bits are set after the first 0, did you mean \"0.0.0.0/0\"");
	assert_says("prefix fd00::1/127", "prefix \"fd00::1/127\" is wrong: bits are set after the first 127, did you mean \"fd00::/127\"");
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
	{ "age", FORM_AGE, "age", NULL, "x_age_seconds", "Age." },
	{ "every", FORM_EVERY, "every", NULL, NULL, NULL },
	{ "txq", FORM_TXQ, "txq", NULL, NULL, NULL },
	{ "stale", FORM_ALARM, "\nstale:", NULL, "x_stale", "Stale." },
	{ "stats", FORM_COUNTS, "", NULL, "x_packets_total", "Packets." },
	{ .word = "no device" }
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
	assert_int_equal(show_rows(fields, rows, EXIT_DONE), EXIT_DONE);
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

/* FIELD of that value, alone in a row, in text */
static void assert_shown(const char *field, __u64 value, const char *as)
{
	struct json_object *row = json_object_new_object();
	char want[64];

	put_num(row, field, value);
	snprintf(want, sizeof(want), "%s %s\n", field, as);
	assert_string_equal(printed(OUTPUT_TEXT, row), want);
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
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		assert_shown("rate", list[i].value, list[i].rate);
		assert_shown("T", list[i].value, list[i].time);
	}
}

static void alarms_are_silent_or_told(void **state)
{
	static const char *const alarms[] = { "", "all is lost" };
	static const char *const want[2][2] = {
		{ "d0\n", "x_stale{dev=\"d0\"} 0\n" },
		{ "d0\n    stale: all is lost\n", "x_stale{dev=\"d0\"} 1\n" },
	};
	struct json_object *row;
	int i, output;

	for (i = 0; i < 2; i++) {
		for (output = 0; output < 2; output++) {
			row = json_object_new_object();
			put_str(row, "dev", "d0");
			put_str(row, "stale", alarms[i]);
			/* below HELP and TYPE */
			assert_non_null(strstr(printed(output ? OUTPUT_PROM : OUTPUT_TEXT, row),
					       want[i][output]));
		}
	}
}

/* In JSON and for Prometheus the figure stays what it is. */
static void ages_are_for_humans(void **state)
{
	static const struct { __u64 us; const char *age; } list[] = {
		{ 0, "0us" }, { 999, "999us" }, { 1000, "1.0ms" }, { 999999, "999.9ms" },
		{ 1000000, "1.0s" }, { 8070398, "8.0s" }, { 59999999, "59.9s" },
		{ 60000000, "1m0s" }, { 3599999999, "59m59s" }, { 3600000000, "1h0m" },
		{ 86399999999, "23h59m" }, { 86400000000, "1d0h" }, { 8640000000000, "100d0h" },
	};
	struct json_object *row;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++)
		assert_shown("age", list[i].us, list[i].age);
	assert_shown("every", 0, "rtt");
	assert_shown("every", 7, "7");
	row = json_object_new_object();
	put_num(row, "age", 1500000);
	assert_non_null(strstr(printed(OUTPUT_PROM, row), "\nx_age_seconds 1.5\n"));
}

/* Text leaves out counters of 0, and the number of a queue that is the only one. */
static void nothing_is_left_out_of_text(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	static const __u64 none[3], some[3] = { 0, 2, 0 };
	struct json_object *row = json_object_new_object();

	opt.stats = true;
	put_counts(row, "stats", names, none, 3);
	assert_string_equal(printed(OUTPUT_TEXT, row), "\n");
	row = json_object_new_object();
	put_counts(row, "stats", names, some, 3);
	assert_string_equal(printed(OUTPUT_TEXT, row), "\n    b 2\n");
	opt.stats = false;
	row = json_object_new_object();
	put_num(row, "txq", 0);
	put_bool(row, "mq", false);
	assert_string_equal(printed(OUTPUT_TEXT, json_object_get(row)), "\n");
	put_bool(row, "mq", true);
	assert_string_equal(printed(OUTPUT_TEXT, json_object_get(row)), "txq 0\n");
	assert_string_equal(printed(OUTPUT_JSON, row), "[{\"txq\":0,\"mq\":true}]\n");
}

static void no_rows_are_said(void **state)
{
	static const struct { enum output output; const char *said; } list[] = {
		{ OUTPUT_TEXT, "no device\n" }, { OUTPUT_JSON, "[]\n" }, { OUTPUT_PROM, "" },
	};
	struct json_object *rows = json_object_new_array();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		opt.output = list[i].output;
		catch(&stdout);
		show_rows(fields, json_object_get(rows), EXIT_DONE);
		assert_string_equal(caught(), list[i].said);
		/* after an error it is not said that there is none */
		catch(&stdout);
		assert_int_equal(show_rows(fields, json_object_get(rows), EXIT_SYSTEM),
				 EXIT_SYSTEM);
		assert_string_equal(caught(), "");
	}
	catch(&stdout);
	print_table(fields, rows);
	assert_string_equal(caught(), "no device\n");
	catch(&stdout);
	print_table(cnp_flow_fields, rows);
	assert_string_equal(caught(), "");
	json_object_put(rows);
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
	show_rows(fields, rows, EXIT_DONE);
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

/* Rates and sizes of a table are rounded, and a column that no row fills is left out. */
static void tables_are_narrow(void **state)
{
	static const struct field narrow[] = {
		{ "rate", FORM_RATE, NULL, "R", NULL, NULL },
		{ "none", FORM_NUM, NULL, "NONE", NULL, NULL },
		{ "txq", FORM_TXQ, NULL, "Q", NULL, NULL },
		{ "qlen", FORM_BYTES, NULL, "SIZE", NULL, NULL },
		{ }
	};
	static const struct { __u64 value; const char *rate, *size; } list[] = {
		{ 0, "0bit", "0b" }, { 999, "999bit", "999b" }, { 1000, "1Kbit", "1000b" },
		{ 1023, "1.02Kbit", "1023b" }, { 1024, "1.02Kbit", "1Kb" },
		{ 191671234, "192Mbit", "183Mb" }, { 9529000000, "9.53Gbit", "8.87Gb" },
		{ 99960000, "100Mbit", "95.3Mb" }, { 999600000, "1Gbit", "953Mb" },
		{ 4000000000000000, "4000Tbit", "3725290Gb" },
	};
	char want[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		struct json_object *rows = json_object_new_array();
		struct json_object *row = json_object_new_object();

		put_num(row, "rate", list[i].value);
		put_num(row, "qlen", list[i].value);
		put_num(row, "txq", 0);
		put_bool(row, "mq", false);
		json_object_array_add(rows, row);
		snprintf(want, sizeof(want), "\n%s  %*s\n", list[i].rate, 4, list[i].size);
		catch(&stdout);
		print_table(narrow, rows);
		assert_non_null(strstr(caught(), want));
		put_bool(row, "mq", true);
		snprintf(want, sizeof(want), "\n%s  0  %*s\n", list[i].rate, 4, list[i].size);
		catch(&stdout);
		print_table(narrow, rows);
		assert_non_null(strstr(caught(), want));
		json_object_put(rows);
	}
}

static void tables_are_of_any_width(void **state)
{
	struct field many[101] = {};
	struct json_object *rows = json_object_new_array();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(many) - 1; i++)
		many[i] = (struct field){ "T", FORM_NUM, "", "T", NULL, NULL };
	json_object_array_add(rows, row_of("d0", "::1", 1, 1));
	catch(&stdout);
	print_table(many, rows);
	/* the names and the values, a cell of one character each and two blanks between them */
	assert_int_equal(strlen(caught()), 2 * (100 + 99 * 2 + 1));
	json_object_put(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_may_be_short),
		cmocka_unit_test(typos_are_told),
		cmocka_unit_test(first_keyword_may_be_left_out),
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
		cmocka_unit_test(alarms_are_silent_or_told),
		cmocka_unit_test(ages_are_for_humans),
		cmocka_unit_test(nothing_is_left_out_of_text),
		cmocka_unit_test(no_rows_are_said),
		cmocka_unit_test(json_is_the_row),
		cmocka_unit_test(names_become_utf8),
		cmocka_unit_test(samples_have_base_units),
		cmocka_unit_test(a_metric_has_one_head),
		cmocka_unit_test(tables_are_aligned),
		cmocka_unit_test(tables_are_narrow),
		cmocka_unit_test(tables_are_of_any_width),
		cmocka_unit_test(qdiscs_are_read),
		cmocka_unit_test(rate_of_htb),
		cmocka_unit_test(rate_of_any_qdisc),
		cmocka_unit_test(devices_are_read),
		cmocka_unit_test(filters_are_ours_by_their_place),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
