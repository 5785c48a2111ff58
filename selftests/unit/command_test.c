// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the parts of the command that need no kernel: arguments, prefixes, peers, output;
 * command_netlink.c tests qdiscs and filters. The files of tools/ are linked unchanged.
 */
#include <errno.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "command_test.h"

/* --- Maps and fields of other files ------------------------------------------------ */

static struct hpccpp_prefix prefixes[4];
static unsigned int n_prefixes;

STUB(int prog_map(int prog, const char *name, size_t value_size), prog)
STUB(int prog_map_error(const char *name), EXIT_SYSTEM)
STUB(int bpf_map__update_elem(const struct bpf_map *map, const void *key, size_t key_sz,
			      const void *value, size_t value_sz, __u64 flags), 0)

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

static struct {
	struct in6_addr addr;
	struct hpccpp_peer peer;
} peer;
static __u32 n_peers;
static int batch_errno;		/* ENOENT: the end of the map */
static time_t uptime;

int bpf_map_lookup_batch(int fd, void *from, void *end, void *keys, void *values, __u32 *n,
			 const struct bpf_map_batch_opts *opts)
{
	assert_null(from);
	assert_int_equal(*n, HPCCPP_PEERS);
	memcpy((char *)keys + offsetof(struct hpccpp_peer_key, addr), &peer.addr,
	       sizeof(peer.addr));
	memcpy(values, &peer.peer, sizeof(peer.peer));
	*n = n_peers;
	errno = batch_errno;
	return batch_errno ? -batch_errno : 0;
}

int bpf_map_lookup_and_delete_batch(int fd, void *from, void *end, void *keys, void *values,
				    __u32 *n, const struct bpf_map_batch_opts *opts)
{
	int ret = bpf_map_lookup_batch(fd, from, end, keys, values, n, opts);

	n_peers = 0;
	return ret;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	*t = (struct timespec){ uptime, 999999999 };
	return 0;
}

const struct field cnp_flow_fields[] = {
	{ "dst", FORM_TEXT, "", NULL, NULL, NULL },
	{ "rate", FORM_RATE, "rate", NULL, NULL, NULL },
	{ }
};

/* --- Arguments --------------------------------------------------------------------- */

static const char *const colours[] = { "red", "green", "grey" };

static struct {
	const char *text, *list[3];
	unsigned int number, numbers[2], word, time;
	__u64 rate;
	struct hpccpp_prefix prefix[2], prefix6;
} to;

#define NAMES	"text, list, number, sums, colour, time, rate, rate-of-all, prefix, six, flag"

static struct argument args[11];
static bool bare;		/* the keyword of the first argument may be omitted */
static char values[256];	/* of the arguments parsed last, in the order of the table */

/* Adds an argument that was given, with its values, to values. */
static void add_values(const struct argument *arg)
{
	char *end = values + strlen(values);
	unsigned int n;

	end += sprintf(end, "%s%s", *values ? " " : "", arg->name);
	for (n = 0; arg->parse && n < arg->n; n++) {
		if (arg->parse == arg_text)
			end += sprintf(end, "=%s", ((const char **)arg->to)[n]);
		else if (arg->parse == arg_rate)
			end += sprintf(end, "=%llu", to.rate);
		else if (arg->parse == arg_prefix || arg->parse == arg_prefix6)
			end += sprintf(end, "=%u", ((struct hpccpp_prefix *)arg->to)[n].prefixlen);
		else
			end += sprintf(end, "=%u", ((unsigned int *)arg->to)[n]);
	}
}

static int parse(int argc, char **argv)
{
	const struct argument fresh[] = {
		{ ARG("text", arg_text, &to.text), .bare = bare },
		{ ARG("list", arg_text, to.list), .max = 3 },
		{ ARG("number", arg_uint, &to.number), .low = 3, .high = 300 },
		{ ARG("sums", arg_uint, to.numbers), .high = -1, .max = 2 },
		{ ARG("colour", arg_word, &to.word), .words = colours, .high = 3 },
		{ ARG("time", arg_time, &to.time) },
		{ ARG("rate", arg_rate, &to.rate) },
		{ ARG("rate-of-all", arg_text, &to.text) },
		{ ARG("prefix", arg_prefix, to.prefix), .max = 2 },
		{ ARG("six", arg_prefix6, &to.prefix6) },
		{ .name = "flag" },
	};
	unsigned int i;
	int ret;

	memset(&to, 0, sizeof(to));
	memcpy(args, fresh, sizeof(args));
	*values = '\0';
	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	for (i = 0; i < ARRAY_SIZE(args); i++) {
		if (args[i].n)
			add_values(&args[i]);
	}
	return ret;
}

static void accepts(const char *line, const char *want)
{
	assert_int_equal(run(parse, line), EXIT_DONE);
	assert_string_equal(err, "");
	assert_string_equal(values, want);
}

/* The message is one line and contains the pattern. */
static void refuses(const char *line, const char *pattern)
{
	assert_int_equal(run(parse, line), EXIT_USAGE);
	assert_has(err, pattern);
	assert_ptr_equal(strchr(err, '\n'), err + strlen(err) - 1);
}

/* A row's purpose, a command line, and its values, or after "!" words of the message */
struct row {
	const char *shows, *line, *want;
};

static void check_rows(const struct row *rows, size_t n)
{
	for (; n; n--, rows++) {
		print_message("# %s: %s\n", rows->shows, rows->line);
		if (*rows->want == '!')
			refuses(rows->line, rows->want + 1);
		else
			accepts(rows->line, rows->want);
	}
}

TEST(keywords_and_values)
{
	static const struct row rows[] = {
		{ "words may be abbreviated", "num 5 te x fl colo gree",
		  "text=x number=5 colour=1 flag" },
		{ "a whole word wins", "rate 1mbit", "rate=1000000" },
		{ "the longer one can be abbreviated", "rate- x", "rate-of-all=x" },
		{ "an ambiguous keyword", "rat x", "!\"rat\"*ambiguous*" NAMES },
		{ "an unknown one too", "texts x", "!\"texts\"*unknown*\"text\"*" NAMES },
		{ "an ambiguous value", "colour gre",
		  "!colour \"gre\"*ambiguous*red, green, grey" },
		{ "an empty value abbreviates nothing", "colour ''", "!\"\"*unknown" },
		{ "a value may be missing", "text", "!\"text\" lacks" },
		{ "... after another keyword", "flag text", "!\"text\" lacks" },
		{ "a second value", "number 5 number 6", "!duplicate \"number\"*\"6\"" },
		{ "flags and lists repeat", "flag flag list a list b list c", "list=a=b=c flag" },
		{ "a list is bounded", "list a list b list c list d", "!\"d\"*one too many*3" },
		{ "a list of numbers", "sums 1 sums 2", "sums=1=2" },
	};

	check_rows(rows, ARRAY_SIZE(rows));
}

/* As in iproute2, the first word that is no keyword is the value of the first keyword. */
TEST(first_keyword_may_be_omitted)
{
	static const struct row rows[] = {
		{ "the value alone", "swp1", "text=swp1" },
		{ "between others", "number 5 swp1 flag", "text=swp1 number=5 flag" },
		{ "a value named like a keyword", "text fl number 5", "text=fl number=5" },
		{ "an abbreviated keyword is no value", "fl", "flag" },
		{ "nor is an ambiguous one", "rat", "!\"rat\"*ambiguous" },
		{ "the first word is in the message", "swp1 numbr 5",
		  "!text \"swp1\", *\"numbr\"*unknown*\"number\"" },
		{ "one value only", "text swp1 swp2", "!\"swp2\"*unknown" },
		{ "with the keyword too", "swp1 text swp2", "!duplicate \"text\"*\"swp2\"" },
	};

	bare = true;
	check_rows(rows, ARRAY_SIZE(rows));
	bare = false;
	refuses("swp1", "argument \"swp1\" is unknown");
}

/* A guess differs by one letter more, less, changed or swapped. */
TEST(typos_are_recognised)
{
	static const char *const near[] = { "reed", "rd", "rad", "erd", "redd", "ed" };
	static const char *const far[] = { "reedd", "blue", "der", "de", "''", "gre" };
	char line[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(near); i++) {
		snprintf(line, sizeof(line), "colour %s", near[i]);
		refuses(line, "\"red\"*: ");
	}
	for (i = 0; i < ARRAY_SIZE(far); i++) {
		snprintf(line, sizeof(line), "colour %s", far[i]);
		refuses(line, "colour*red, green, grey");
		assert_null(strstr(err, "mean"));
	}
}

TEST(numbers_have_ranges)
{
	static const struct row rows[] = {
		{ "the lowest", "number 3", "number=3" },
		{ "the highest", "number 300", "number=300" },
		{ "hexadecimal", "number 0x10", "number=16" },
		{ "with zeros", "number 0x010", "number=16" },
		{ "zero", "sums 0", "sums=0" },
		{ "the highest of all", "sums 4294967295", "sums=4294967295" },
		{ "beyond it", "sums 4294967296", "!\"4294967296\"*0 to 4294967295" },
		{ "octal or decimal", "number 010", "!\"010\"*3 to 300*zero" },
		{ "no octal number", "number 08", "!\"08\"*3 to 300*zero" },
		{ "a zero too many", "sums 00", "!\"00\"*0 to 4294967295*zero" },
	};
	static const char *const wrong[] = {
		"2", "301", "x", "5x", "-5", "+5", "''", "18446744073709551619", "0x",
	};
	char line[64];
	size_t i;

	check_rows(rows, ARRAY_SIZE(rows));
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(line, sizeof(line), "number %s", wrong[i]);
		refuses(line, "number \"*\"*3 to 300.");
	}
}

TEST(rates_and_times_have_units)
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
	static const struct { const char *text; unsigned int us; } times[] = {
		{ "1us", 1 }, { "7usec", 7 }, { "7usecs", 7 }, { "1.5ms", 1500 },
		{ "2msec", 2000 }, { "2msecs", 2000 }, { "4s", 4000000 }, { "3sec", 3000000 },
		{ "3secs", 3000000 }, { "4000000us", 4000000 }, { "2.6us", 3 }, { "010us", 10 },
	};
	static const char *const wrong[] = {
		"rate 9999", "rate 9.9kbit", "rate 4.001tbit", "rate 1e400", "rate inf",
		"rate nan", "rate -1mbit", "rate fast", "rate 1mb", "rate 1mbit/s",
		"rate 4000000000001", "time 0us", "time 0.9us", "time 4.1s", "time 4000001us",
		"time 1m", "time -1s", "time s", "time ''",
	};
	char line[64], want[64];
	size_t i;

	for_each_row(row, rates) {
		snprintf(line, sizeof(line), "rate %s", row->text);
		snprintf(want, sizeof(want), "rate=%llu", row->bps);
		accepts(line, want);
	}
	for_each_row(row, times) {
		snprintf(line, sizeof(line), "time %s", row->text);
		snprintf(want, sizeof(want), "time=%u", row->us);
		accepts(line, want);
	}
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		refuses(wrong[i], *wrong[i] == 'r' ? "wrong*10kbit to 4tbit" : "wrong*1us to 4s");
	refuses("time 100", "unit*1us to 4s");
	refuses("time 0.1", "unit*1us to 4s");
}

static int ran;

static int add(int argc, char **argv)
{
	ran = 100 + argc;
	return EXIT_MISSING;
}

static int thing(int argc, char **argv)
{
	static const struct command cmds[] = { { "add", add }, { "show", add }, { "help", NULL } };

	return run_command(cmds, 3, "thing", "Usage\n", argc, argv);
}

TEST(commands_run)
{
	assert_int_equal(run(thing, "sh dev x"), EXIT_MISSING);
	assert_int_equal(ran, 102);
	/* without a word it is "show" */
	capture();
	assert_int_equal(thing(0, NULL), EXIT_MISSING);
	release();
	assert_int_equal(ran, 99);
	assert_int_equal(run(thing, "sh help"), EXIT_USAGE);
	assert_string_equal(err, "Usage\n");
	assert_int_equal(run(thing, "help"), EXIT_USAGE);
	assert_string_equal(err, "Usage\n");
	assert_int_equal(run(thing, "frob"), EXIT_USAGE);
	assert_has(err, "thing command \"frob\" is unknown*add, show, help");
	assert_int_equal(ran, 99);
}

static uid_t uid;

STUB(uid_t geteuid(void), uid)

/* An errno may have either sign; the message says if the cause may be that the user is not root. */
TEST(errors_give_the_cause)
{
	static const struct { uid_t uid; int err; const char *cause; } rows[] = {
		{ 0, EPERM, "Operation not permitted.\n" },
		{ 0, -ENOENT, "No such file or directory.\n" },
		{ 1000, -EPERM, "Operation not permitted (you are not root).\n" },
		{ 1000, EACCES, "Permission denied (you are not root).\n" },
		{ 1000, ENOENT, "No such file or directory.\n" },
	};

	for_each_row(row, rows) {
		uid = row->uid;
		capture();
		assert_int_equal(errno_error(row->err, "do \"%s\"", "it"), EXIT_SYSTEM);
		release();
		assert_string_equal(strstr(err, "it\": ") + 5, row->cause);
	}
	uid = 0;
}

/* Lockdown "confidentiality" is named where it may be the cause, with the way around it. */
TEST(load_errors_name_lockdown)
{
	static const struct { const char *modes, *agent, *said; } rows[] = {
		{ "none integrity [confidentiality]\n", "port",
		  "*port agent: lockdown \"confidentiality\" refuses *\"queue virtual\".\n" },
		{ "none integrity [confidentiality]\n", "flow",
		  "*flow agent: lockdown \"confidentiality\" refuses *memory.\n" },
		{ "none [integrity] confidentiality\n", "port",
		  "*port agent (-v says more): Invalid argument.\n" },
		{ "", "port", "*port agent (-v says more): Invalid argument.\n" },
	};
	char file[] = "/tmp/lockdownXXXXXX";
	int fd = mkstemp(file);

	assert_true(fd >= 0);
	lockdown_file = file;
	setenv("HPCCPP_BTF", file, 1);
	for_each_row(row, rows) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_true(pwrite(fd, row->modes, strlen(row->modes), 0) >= 0);
		capture();
		assert_int_equal(load_error(EINVAL, row->agent), EXIT_SYSTEM);
		release();
		assert_like(err, row->said);
	}
	unsetenv("HPCCPP_BTF");
	close(fd);
	unlink(file);
}

/* --- Prefixes ---------------------------------------------------------------------- */

TEST(prefixes_are_parsed_and_shown)
{
	static const struct { const char *in, *shown; unsigned int len; } rows[] = {
		{ "10.0.0.0/8", "10.0.0.0/8", 104 }, { "10.1.2.3", "10.1.2.3/32", 128 },
		{ "0.0.0.0/0", "0.0.0.0/0", 96 }, { "192.168.1.128/25", "192.168.1.128/25", 121 },
		{ "fd00::/16", "fd00::/16", 16 }, { "fd00::1", "fd00::1/128", 128 },
		{ "::/0", "::/0", 0 }, { "::ffff:1.2.3.4", "1.2.3.4/32", 128 },
		{ "2001:db8:8000::/33", "2001:db8:8000::/33", 33 },
	};
	struct json_object *row;
	char line[96], want[96];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(line, sizeof(line), "prefix fd99::/16 prefix %s", rows[i].in);
		snprintf(want, sizeof(want), "prefix=16=%u", rows[i].len);
		accepts(line, want);
		memcpy(prefixes, to.prefix, sizeof(to.prefix));
		n_prefixes = 2;
		row = json_object_new_object();
		assert_int_equal(put_prefixes(row, "prefix", 99, "map"), EXIT_DONE);
		snprintf(want, sizeof(want), "[\"fd99::/16\",\"%s\"]", rows[i].shown);
		assert_string_equal(entry(row, "prefix"), want);
		json_object_put(row);
	}
}

TEST(wrong_prefixes_are_refused)
{
	static const struct row rows[] = {
		{ "no address", "prefix 10.0.0.300", "!\"10.0.0.300\"*IPv4 and IPv6" },
		{ "too long for an address",
		  "prefix fd00:0000:0000:0000:0000:0000:0000:0000:0000:0000/8", "!wrong*IPv4" },
		{ "too many bits", "prefix 10.0.0.0/33", "!length \"33\"*0 to 32" },
		{ "too many bits of IPv6", "prefix fd00::/129", "!length \"129\"*0 to 128" },
		{ "no length", "prefix fd00::/", "!length \"\"*0 to 128" },
		{ "a zero in front", "prefix 10.0.0.0/010", "!length \"010\"*0 to 32*zero" },
		{ "bits after the prefix", "prefix 10.0.0.1/31", "!\"10.0.0.0/31\"" },
		{ "... of no bits", "prefix 128.0.0.0/0", "!first 0*\"0.0.0.0/0\"" },
		{ "... of IPv6", "prefix fd00::1/127", "!first 127*\"fd00::/127\"" },
		{ "... of IPv4", "prefix ::ffff:0:0/95", "!first 95*\"::fffe:0:0/95\"" },
		{ "IPv4 where it is to be IPv6", "six 10.0.0.0/8", "!\"10.0.0.0/8\"*IPv6" },
		{ "... in its mapped form", "six ::ffff:1.2.3.4", "!IPv6" },
		{ "... all of it", "six 0.0.0.0/0", "!IPv6" },
		{ "all of IPv6", "six ::/0", "six=0" },
		{ "a prefix that resembles IPv4's", "six ::ffff:0:0:0/96", "six=96" },
	};

	check_rows(rows, ARRAY_SIZE(rows));
}

TEST(addresses_match_prefixes)
{
	static const struct { unsigned int prefix; const char *address; bool in; } rows[] = {
		{ 0, "10.1.255.255", true }, { 0, "10.2.0.0", false },
		{ 0, "::ffff:10.1.0.1", true }, { 1, "fd00:1::1", true },
		{ 1, "fd01::1", false }, { 1, "10.1.0.1", false }, { 1, "?", false },
	};

	accepts("prefix 10.1.0.0/16 prefix fd00::/16", "prefix=112=16");
	for_each_row(row, rows)
		assert_int_equal(in_prefix(&to.prefix[row->prefix], row->address), row->in);
}

/* --- Peers ------------------------------------------------------------------------- */

/* The agent's second is the uptime + 1. */
TEST(peers_are_known_or_suspected)
{
	static const struct {
		const char *addr;
		time_t uptime;
		struct hpccpp_peer peer;
		const char *known, *suspected;
	} rows[] = {
		{ "::ffff:10.0.0.2", 9999, { .until = 10057 }, "0",
		  "[{\"address\":\"10.0.0.2\",\"left\":57}]" },
		{ "fd00::2", 0, { .until = 3841, .times = 6 }, "0",
		  "[{\"address\":\"fd00::2\",\"left\":3840}]" },
		{ "fd00::2", 9999, { .until = 10001 }, "0",
		  "[{\"address\":\"fd00::2\",\"left\":1}]" },
		{ "fd00::2", 9999, { .until = 10000 }, "0", "[]" },
		{ "fd00::2", 9999, { .until = 9000, .times = 1 }, "0", "[]" },
		{ "fd00::2", 9999, { .seen = 10000 }, "1", "[]" },
		{ "fd00::2", 9999, { .seen = 6401 }, "1", "[]" },
		{ "fd00::2", 9999, { .seen = 6400 }, "0", "[]" },
		{ "fd00::2", 0, { .seen = 1 }, "1", "[]" },
	};

	for_each_row(r, rows) {
		struct json_object *row = json_object_new_object();

		assert_int_equal(inet_pton(AF_INET6, r->addr, &peer.addr), 1);
		peer.peer = r->peer;
		uptime = r->uptime;
		n_peers = 1;
		batch_errno = ENOENT;
		assert_int_equal(put_peers(row, 99), EXIT_DONE);
		assert_entries(row, { "known", r->known }, { "suspected", r->suspected });
		assert_int_equal(flush_peers(99), EXIT_DONE);
		assert_int_equal(put_peers(row, 99), EXIT_DONE);
		assert_entries(row, { "known", "0" }, { "suspected", "[]" });
		json_object_put(row);
	}
}

/* An agent of an older version has no such map: it is shown without, and cannot be flushed. */
TEST(peers_may_be_missing)
{
	struct json_object *row = json_object_new_object();

	assert_int_equal(put_peers(row, -1), EXIT_DONE);
	assert_int_equal(flush_peers(-1), EXIT_SYSTEM);
	batch_errno = EPERM;
	capture();
	assert_int_equal(put_peers(row, 99), EXIT_SYSTEM);
	assert_int_equal(flush_peers(99), EXIT_SYSTEM);
	release();
	assert_like(err, "*cannot read *\"host_peers\"*cannot empty *\"host_peers\"*");
	assert_entries(row, { "known", "none" }, { "suspected", "none" });
	json_object_put(row);
}

/* --- Output ------------------------------------------------------------------------ */

static const struct field fields[] = {
	{ "dev", FORM_TEXT, "", "DEV", "", NULL },
	{ "src", FORM_ADDRESS, "from", "SOURCE", NULL, NULL },
	{ "sport", FORM_NUM, NULL, NULL, "", NULL },
	{ "id", FORM_NUM, "id", "ID", NULL, NULL },
	{ "rate", FORM_RATE, "rate", "RATE", "x_rate_bytes_per_second", "Rate." },
	{ "given", FORM_FLAG, "given", NULL, NULL, NULL },
	{ "list", FORM_LIST, "item", NULL, NULL, NULL },
	{ "known", FORM_SOME, "known", NULL, NULL, NULL },
	{ "suspected", FORM_SUSPECTS, "suspected", NULL, NULL, NULL },
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
	struct json_object *row;

	row = object("{'src':'%s','sport':80,'id':12,'rate':%llu,'T':%llu,'qlen':1514}",
		     src, rate, T);
	put_str(row, "dev", dev);
	put_fixed(row, "U", HPCCPP_ONE + HPCCPP_ONE / 2);
	put_counts(row, "stats", names, counts, 2);
	return row;
}

/* Returns the output for rows, which it releases. */
static const char *printed_rows(enum output output, struct json_object *rows, int status)
{
	opt.output = output;
	capture();
	assert_int_equal(show_rows(fields, rows, status), status);
	release();
	return out;
}

/* Returns the output for the row, which it releases. */
static const char *printed(enum output output, struct json_object *row)
{
	struct json_object *rows = json_object_new_array();

	json_object_array_add(rows, row);
	return printed_rows(output, rows, EXIT_DONE);
}

/* Returns the output for a row that is written as JSON. */
static const char *printed_json(enum output output, const char *row)
{
	return printed(output, object("%s", row));
}

static const char *table_of(const struct field *of, struct json_object *rows)
{
	capture();
	print_table(of, rows);
	release();
	return out;
}

TEST(text_has_names_and_units)
{
	static const struct { const char *shows, *row, *text; } rows[] = {
		{ "a flag, and lines begun by fields",
		  "{'dev':'d0','src':'10.0.0.1','sport':80,'id':12,'rate':1,'given':true,'U':1.500,'T':1,'qlen':1514,'stats':{'good':7}}",
		  "d0 from 10.0.0.1:80 id 12 rate 1bit given\n    U 1.500 T 1us qlen 1514b\n" },
		{ "an address of IPv6, no flag, a list",
		  "{'dev':'d0','src':'fd00::1','sport':80,'given':false,'list':['a','b']}",
		  "d0 from [fd00::1]:80 item a item b\n" },
		{ "queue pairs, a line each", "{'flows':[{'dst':'fd00::2','rate':1000}]}",
		  "\n    fd00::2 rate 1Kbit\n" },
		{ "no peers", "{'dev':'d0','known':0,'suspected':[]}", "d0\n" },
		{ "peers, those that are suspected on a line each",
		  "{'known':3,'suspected':[{'address':'::1','left':57},{'address':'::2','left':1}]}",
		  "known 3\n    suspected ::1 left 57s\n    suspected ::2 left 1s\n" },
		{ "an interval of a round trip", "{'every':0}", "every rtt\n" },
		{ "an interval in packets", "{'every':7}", "every 7\n" },
		{ "the only queue has no number", "{'txq':0,'mq':false}", "\n" },
		{ "one of several has one", "{'txq':0,'mq':true}", "txq 0\n" },
		{ "no alarm", "{'dev':'d0','stale':''}", "d0\n" },
		{ "an alarm", "{'stale':'all is lost'}", "\n    stale: all is lost\n" },
	};
	static const char *const counters[][2] = {
		{ "{'stats':{'a':0,'b':0}}", "\n" }, { "{'stats':{'a':0,'b':2}}", "\n    b 2\n" },
		{ "{'stats':{'a':1,'b':922337203685477580}}", "\n    a 1 b 922337203685477580\n" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("# %s\n", rows[i].shows);
		assert_string_equal(printed_json(OUTPUT_TEXT, rows[i].row), rows[i].text);
	}
	/* with -s also the counters that are not 0 */
	opt.stats = true;
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		assert_string_equal(printed_json(OUTPUT_TEXT, counters[i][0]), counters[i][1]);
	opt.stats = false;
}

/* Text has rates and times as short as they are exact, and ages as short as is useful. */
TEST(rates_times_and_ages_are_short)
{
	static const struct { const char *field; __u64 value; const char *text; } rows[] = {
		{ "rate", 0, "0bit" }, { "rate", 999, "999bit" }, { "rate", 1000, "1Kbit" },
		{ "rate", 1001, "1001bit" }, { "rate", 2000000, "2Mbit" },
		{ "rate", 999999, "999999bit" }, { "rate", 1500000, "1500Kbit" },
		{ "rate", 1500001, "1500Kbit" }, { "rate", 2500000000, "2500Mbit" },
		{ "rate", 4000000000000, "4Tbit" },
		{ "T", 0, "0us" }, { "T", 999, "999us" }, { "T", 1000, "1ms" },
		{ "T", 1001, "1001us" }, { "T", 2000000, "2s" }, { "T", 1500000, "1500ms" },
		{ "T", 1500001, "1500001us" },
		{ "age", 0, "0us" }, { "age", 999, "999us" }, { "age", 1000, "1.0ms" },
		{ "age", 999999, "999.9ms" }, { "age", 1000000, "1.0s" },
		{ "age", 59999999, "59.9s" }, { "age", 60000000, "1m0s" },
		{ "age", 3599999999, "59m59s" }, { "age", 3600000000, "1h0m" },
		{ "age", 86399999999, "23h59m" }, { "age", 86400000000, "1d0h" },
		{ "age", 8640000000000, "100d0h" },
	};
	char want[64];

	for_each_row(row, rows) {
		snprintf(want, sizeof(want), "%s %s\n", row->field, row->text);
		assert_string_equal(printed(OUTPUT_TEXT, object("{'%s':%llu}", row->field,
								row->value)), want);
	}
}

TEST(no_rows_are_reported)
{
	static const char *const want[] = {
		[OUTPUT_TEXT] = "no device\n", [OUTPUT_JSON] = "[]\n", [OUTPUT_PROM] = "",
	};
	struct json_object *rows = json_object_new_array();
	enum output output;

	for (output = OUTPUT_TEXT; output <= OUTPUT_PROM; output++) {
		assert_string_equal(printed_rows(output, json_object_get(rows), EXIT_DONE),
				    want[output]);
		/* after an error nothing is claimed */
		assert_string_equal(printed_rows(output, json_object_get(rows), EXIT_SYSTEM), "");
	}
	assert_string_equal(table_of(fields, rows), "no device\n");
	assert_string_equal(table_of(cnp_flow_fields, rows), "");
	json_object_put(rows);
}

TEST(json_is_the_row)
{
	assert_string_equal(printed(OUTPUT_JSON, row_of("d/0", "::1", 2, 3)),
			    "[{\"src\":\"::1\",\"sport\":80,\"id\":12,\"rate\":2,\"T\":3,\"qlen\":1514,\"dev\":\"d/0\",\"U\":1.500,\"stats\":{\"good\":7,\"bad\":9223372036854775808}}]\n");
	opt.pretty = true;
	assert_has(printed(OUTPUT_JSON, row_of("d0", "::1", 2, 3)), "\n    \"rate\":2,\n");
	opt.pretty = false;
}

/* JSON and Prometheus take UTF-8; names are any bytes to the kernel. */
TEST(names_become_utf8)
{
	static const struct { const char *name, *utf8; } list[] = {
		{ "a\xffz", "a#xffz" }, { "\x80", "#x80" }, { "\xc3", "#xc3" },
		{ "\xc3z", "#xc3z" }, { "\xc3\xc3\xa4", "#xc3\xc3\xa4" },
		{ "\xc2\x80 \xc3\xa4 \xdf\xbf", NULL }, { "\xe0\xa0\x80\xef\xbf\xbf", NULL },
		{ "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", NULL }, { "\xed\x9f\xbf\xee\x80\x80", NULL },
		/* longer than necessary, a surrogate, too large, cut off */
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

TEST(prometheus_has_base_units)
{
#define LABELS	"{dev=\"d\\\"\\\\\\n0\",sport=\"80\""
	struct json_object *rows = json_object_new_array();

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
	assert_non_null(strstr(printed_json(OUTPUT_PROM, "{'age':1500000}"),
			       "\nx_age_seconds 1.5\n"));
	assert_non_null(strstr(printed_json(OUTPUT_PROM, "{'dev':'d0','stale':''}"),
			       "\nx_stale{dev=\"d0\"} 0\n"));
	assert_non_null(strstr(printed_json(OUTPUT_PROM, "{'dev':'d0','stale':'lost'}"),
			       "\nx_stale{dev=\"d0\"} 1\n"));
	/* a metric has one head */
	json_object_array_add(rows, row_of("d0", "::1", 8, 1));
	json_object_array_add(rows, row_of("d1", "::1", 8, 1));
	printed_rows(OUTPUT_PROM, rows, EXIT_DONE);
	assert_non_null(strstr(out, "x_ratio{dev=\"d0\",sport=\"80\"} 1.500\n"
				    "x_ratio{dev=\"d1\",sport=\"80\"} 1.500\n"));
	assert_null(strstr(strstr(out, "# HELP x_ratio ") + 1, "# HELP x_ratio "));
}

TEST(tables_are_aligned)
{
	struct json_object *rows = json_object_new_array();

	json_object_array_add(rows, row_of("d0", "10.0.0.1", 1000, 1));
	json_object_array_add(rows, row_of("long", "::1", 2000000, 1));
	json_object_object_del(json_object_array_get_idx(rows, 1), "id");
	opt.stats = true;
	assert_string_equal(table_of(fields, rows),
			    "DEV   SOURCE       ID   RATE      U\n"
			    "d0    10.0.0.1:80  12  1Kbit  1.500\n"
			    "    good 7 bad 9223372036854775808\n"
			    "long  [::1]:80         2Mbit  1.500\n"
			    "    good 7 bad 9223372036854775808\n");
	opt.stats = false;
	json_object_put(rows);
}

/* Tables round rates and sizes, and omit a column that no row fills. */
TEST(tables_are_narrow)
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

	for_each_row(row, list) {
		struct json_object *rows = object("[{'rate':%llu,'qlen':%llu,'txq':0,'mq':false}]",
						  row->value, row->value);

		snprintf(want, sizeof(want), "\n%s  %*s\n", row->rate, 4, row->size);
		assert_non_null(strstr(table_of(narrow, rows), want));
		put_bool(json_object_array_get_idx(rows, 0), "mq", true);
		snprintf(want, sizeof(want), "\n%s  0  %*s\n", row->rate, 4, row->size);
		assert_non_null(strstr(table_of(narrow, rows), want));
		json_object_put(rows);
	}
}

TEST(tables_may_have_many_columns)
{
	struct field many[101] = {};
	struct json_object *rows = json_object_new_array();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(many) - 1; i++)
		many[i] = (struct field){ "T", FORM_NUM, "", "T", NULL, NULL };
	json_object_array_add(rows, row_of("d0", "::1", 1, 1));
	/* two lines of cells of one character each and two blanks between them */
	assert_int_equal(strlen(table_of(many, rows)), 2 * (100 + 99 * 2 + 1));
	json_object_put(rows);
}

TEST_MAIN("command", NULL, NULL)
