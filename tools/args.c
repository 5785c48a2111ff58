// SPDX-License-Identifier: GPL-2.0
/*
 * The command line: words that may be abbreviated, keywords with a value, numbers with
 * a unit; and what is said when one is wrong.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <linux/capability.h>

#include "hpccpp.h"

const char *subject;
const char *lockdown_file = "/sys/kernel/security/lockdown";

/* Of a process that the kernel may have refused for that: what it lacks of what agents take */
static void print_lack(void)
{
	static const struct { unsigned int cap; const char *name; } caps[] = {
		{ CAP_NET_ADMIN, "CAP_NET_ADMIN" }, { CAP_BPF, "CAP_BPF" },
		{ CAP_PERFMON, "CAP_PERFMON" }, { CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	};
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = {};
	const char *lack[ARRAY_SIZE(caps)];
	size_t n = 0, i;

	if (syscall(SYS_capget, &head, have))
		return;
	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		if (!(have[CAP_TO_INDEX(caps[i].cap)].effective & CAP_TO_MASK(caps[i].cap)))
			lack[n++] = caps[i].name;
	}
	if (geteuid() && (!n || n == ARRAY_SIZE(caps))) {
		fputs(" (you are not root)", stderr);
		return;
	}
	for (i = 0; i < n; i++)
		fprintf(stderr, "%s%s", i ? ", " : " (you lack ", lack[i]);
	if (n)
		fputc(')', stderr);
}

/* Returns the limit of open files if it is too low to load an agent, else 0. */
unsigned int few_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= FILES_MIN)
		return 0;
	return files.rlim_cur;
}

static int complain(int status, int err, const char *fmt, va_list ap)
{
	if (opt.quiet)
		return status;
	fprintf(stderr, "Error: %s%s", subject ?: "", subject ? ": " : "");
	vfprintf(stderr, fmt, ap);
	if (err)
		fprintf(stderr, ": %s", strerror(err));
	if (err == EPERM || err == EACCES)
		print_lack();
	if (err == EMFILE)
		fputs(", try \"ulimit -n 1024\", or LimitNOFILE=1024 in the unit", stderr);
	fputs(".\n", stderr);
	return status;
}

int usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(EXIT_USAGE, 0, fmt, ap);
	va_end(ap);
	return EXIT_USAGE;
}

int system_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(EXIT_SYSTEM, 0, fmt, ap);
	va_end(ap);
	return EXIT_SYSTEM;
}

/* err may have either sign. */
int errno_error(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(EXIT_SYSTEM, abs(err), fmt, ap);
	va_end(ap);
	return EXIT_SYSTEM;
}

/* Every table has its names as the first member of what it is an array of. */
static const char *entry_name(const void *table, size_t size, size_t i)
{
	return *(const char *const *)((const char *)table + i * size);
}

/* How many entries of a table a word names or abbreviates, and the last of them */
static unsigned int match_word(const char *text, const void *table, size_t size,
			       size_t n, size_t *found)
{
	size_t len = strlen(text);
	unsigned int hits = 0;
	size_t i;

	*found = 0;
	for (i = 0; i < n; i++) {
		const char *name = entry_name(table, size, i);

		if (!strcmp(name, text)) {
			*found = i;
			return 1;
		}
		if (len && !strncmp(name, text, len)) {
			*found = i;
			hits++;
		}
	}
	return hits;
}

/* Whether a word becomes another by one letter more, less, other, or swapped with the next */
static bool is_typo(const char *text, const char *name)
{
	size_t same = 0, a = strlen(text), b = strlen(name);

	while (text[same] && text[same] == name[same])
		same++;
	text += same;
	name += same;
	if (a + 1 == b)
		return !strcmp(text, name + 1);
	if (a == b + 1)
		return !strcmp(text + 1, name);
	if (a != b || !*text)
		return false;
	return !strcmp(text + 1, name + 1) ||
	       (text[0] == name[1] && text[1] == name[0] && !strcmp(text + 2, name + 2));
}

/* Of a word that names no entry of a table, or several */
static int wrong_word(const char *what, const char *text, unsigned int hits,
		      const void *table, size_t size, size_t n)
{
	char allowed[256] = "", meant[64] = "";
	size_t at = 0, i;

	for (i = 0; i < n; i++) {
		const char *name = entry_name(table, size, i);

		if (!hits && !*meant && is_typo(text, name))
			snprintf(meant, sizeof(meant), ", did you mean \"%s\"", name);
		at += snprintf(allowed + at, sizeof(allowed) - at, "%s%s",
			       i ? ", " : "", name);
		if (at >= sizeof(allowed))
			at = sizeof(allowed) - 1;
	}
	return usage_error("%s \"%s\" is %s%s: allowed are %s", what, text,
			   hits ? "ambiguous" : "unknown", meant, allowed);
}

int find_word(const char *what, const char *text, const void *table, size_t size,
	      size_t n, size_t *found)
{
	unsigned int hits = match_word(text, table, size, n, found);

	return hits == 1 ? EXIT_DONE :
			   wrong_word(what, text, hits, table, size, n);
}

int run_command(const struct command *cmds, size_t n, const char *object,
		const char *help, int argc, char **argv)
{
	const char *text = argc > 0 ? argv[0] : "show";
	char what[32];
	size_t i;
	int ret;

	snprintf(what, sizeof(what), "%s command", object);
	ret = find_word(what, text, cmds, sizeof(*cmds), n, &i);
	if (ret)
		return ret;
	if (!cmds[i].run || (argc > 1 && !strcmp(argv[1], "help"))) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	return cmds[i].run(argc - 1, argv + 1);
}

int wants_help(int argc, char **argv, const char *usage)
{
	if (argc < 1 || strcmp(argv[0], "help"))
		return EXIT_DONE;
	fputs(usage, stderr);
	return EXIT_USAGE;
}

struct words given;

const char *next_word(const char *word)
{
	return word + strlen(word) + 1;
}

/* Adds a keyword and its value to the end, where there is room. */
bool append_word(struct words *w, const char *name, const char *value)
{
	size_t need = strlen(name) + 1 + strlen(value) + 1 + 1;
	const char *end = w->text;
	char *to;

	while (*end)
		end = next_word(next_word(end));
	if (need > (size_t)(w->text + sizeof(w->text) - end))
		return false;
	to = stpcpy(w->text + (end - w->text), name) + 1;
	to = stpcpy(to, value) + 1;
	*to = '\0';
	return true;
}

/* Of a keyword that was given, its value or NULL; a path goes on with the directory. */
static int keep_word(const struct argument *arg, const char *text)
{
	char *dir, *path = NULL;
	bool fits;

	if (arg->place)
		return EXIT_DONE;
	if (text && strpbrk(text, "\r\n"))
		return usage_error("%s is wrong: allowed are words without a line end", arg->name);
	if (arg->path && *text != '/') {
		dir = getcwd(NULL, 0);
		if (!dir || asprintf(&path, "%s/%s", dir, text) < 0)
			path = NULL;
		free(dir);
		if (!path)
			return errno_error(errno, "cannot tell where \"%s\" is", text);
	}
	fits = append_word(&given, arg->name, path ?: text ?: "");
	free(path);
	return fits ? EXIT_DONE :
		      usage_error("%s \"%s\" is one too many: allowed are %u bytes of words",
				  arg->name, text ?: "", WORDS_LEN);
}

static int parse_value(struct argument *arg, const char *text)
{
	unsigned int max = arg->max ?: 1;
	int ret;

	if (arg->n == max && max == 1)
		return usage_error("duplicate \"%s\": \"%s\" is the second value",
				   arg->name, text);
	if (arg->n == max)
		return usage_error("\"%s\" \"%s\" is one too many: allowed are %u",
				   arg->name, text, max);
	ret = arg->parse(arg, text);
	if (ret)
		return ret;
	if (arg->parse == arg_word)	/* not as it was shortened */
		text = arg->words[((unsigned int *)arg->to)[arg->n]];
	arg->n++;
	return keep_word(arg, text);
}

/* A keyword that was given, with its value or NULL where it has none */
int parse_entry(struct argument *arg, const char *text)
{
	if (arg->parse)
		return parse_value(arg, text);
	if (arg->n)
		return EXIT_DONE;
	arg->n = 1;
	return keep_word(arg, NULL);
}

int parse_arguments(struct argument *args, size_t n, int argc, char **argv)
{
	char what[96] = "argument";

	for (; argc > 0; argc--, argv++) {
		unsigned int hits;
		size_t i;
		int ret;

		hits = match_word(argv[0], args, sizeof(*args), n, &i);
		if (!hits && args[0].bare && !args[0].n) {
			i = 0;
			/* which may be a keyword that was misspelt */
			snprintf(what, sizeof(what), "%s \"%.64s\", argument",
				 args[0].name, argv[0]);
		} else if (hits != 1) {
			return wrong_word(what, argv[0], hits, args,
					  sizeof(*args), n);
		} else if (args[i].parse && argc < 2) {
			return usage_error("\"%s\" lacks its value, try \"help\"",
					   args[i].name);
		} else if (args[i].parse) {
			argc--;
			argv++;
		}
		ret = parse_entry(&args[i], argv[0]);
		if (ret)
			return ret;
	}
	return EXIT_DONE;
}

int parse_word(const char *name, const char *text, const char *const *words,
	       size_t n, unsigned int *value)
{
	size_t i;
	int ret = find_word(name, text, words, sizeof(*words), n, &i);

	if (!ret)
		*value = i;
	return ret;
}

/* "010" is octal to some and decimal to others: it is refused. */
static bool has_zero_in_front(const char *text)
{
	return text[0] == '0' && isdigit((unsigned char)text[1]);
}

/* The hint at a leading zero, which errors give behind the numbers that are allowed. */
const char *zero_hint(const char *text)
{
	return has_zero_in_front(text) ? ", with no zero in front" : "";
}

/* Whether a text is such a number, decimal or with 0x; nothing is said */
bool read_uint(const char *text, unsigned int min, unsigned int max, unsigned int *value)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 0);
	if (!isdigit((unsigned char)text[0]) || *end || errno || v < min ||
	    v > max || has_zero_in_front(text))
		return false;
	*value = v;
	return true;
}

int parse_uint(const char *name, const char *text, unsigned int min,
	       unsigned int max, unsigned int *value)
{
	if (!read_uint(text, min, max, value))
		return usage_error("%s \"%s\" is wrong: allowed are %u to %u%s",
				   name, text, min, max, zero_hint(text));
	return EXIT_DONE;
}

int arg_text(const struct argument *arg, const char *text)
{
	((const char **)arg->to)[arg->n] = text;
	return EXIT_DONE;
}

int arg_word(const struct argument *arg, const char *text)
{
	return parse_word(arg->name, text, arg->words, arg->high,
			  (unsigned int *)arg->to + arg->n);
}

int arg_uint(const struct argument *arg, const char *text)
{
	return parse_uint(arg->name, text, arg->low, arg->high,
			  (unsigned int *)arg->to + arg->n);
}

/* The destination options of Fast CNPs without a trace, and with one */
int check_option_types(const unsigned int type[2])
{
	if (type[0] == type[1])
		return usage_error("option-type \"0x%02x\" is wrong: the other is the same",
				   type[0]);
	return EXIT_DONE;
}

/* A number and a unit; the first unit of a table goes with a number alone. */
struct unit {
	const char *name;
	double scale;
};

static bool parse_unit(const char *text, const struct unit *units, size_t n,
		       double *value)
{
	char *end;
	size_t i;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	*value = strtod(text, &end);
	if (end == text || !isfinite(*value))
		return false;
	if (!*end) {
		*value *= units[0].scale;
		return true;
	}
	for (i = 0; i < n; i++) {
		if (!strcasecmp(end, units[i].name)) {
			*value *= units[i].scale;
			return true;
		}
	}
	return false;
}

int arg_rate(const struct argument *arg, const char *text)
{
	static const struct unit units[] = {
		{ "bit", 1 }, { "kbit", 1e3 }, { "mbit", 1e6 },
		{ "gbit", 1e9 }, { "tbit", 1e12 },
		{ "kibit", 0x1p10 }, { "mibit", 0x1p20 }, { "gibit", 0x1p30 },
		{ "tibit", 0x1p40 },
		{ "bps", 8 }, { "kbps", 8e3 }, { "mbps", 8e6 },
		{ "gbps", 8e9 }, { "tbps", 8e12 },
		{ "kibps", 0x1p13 }, { "mibps", 0x1p23 }, { "gibps", 0x1p33 },
		{ "tibps", 0x1p43 },
	};
	double v;

	if (!parse_unit(text, units, ARRAY_SIZE(units), &v) ||
	    v < HPCCPP_RATE_MIN || v > HPCCPP_RATE_MAX)
		return usage_error("%s \"%s\" is wrong: allowed are 10kbit to 4tbit, with bit, kbit, mbit, gbit, tbit (kibit..., bytes: bps, kbps...)",
				   arg->name, text);
	((__u64 *)arg->to)[arg->n] = v + 0.5;
	return EXIT_DONE;
}

int arg_time(const struct argument *arg, const char *text)
{
	static const struct unit units[] = {
		{ "us", 1 }, { "usec", 1 }, { "usecs", 1 },
		{ "ms", 1e3 }, { "msec", 1e3 }, { "msecs", 1e3 },
		{ "s", 1e6 }, { "sec", 1e6 }, { "secs", 1e6 },
	};
	char *end;
	double v = strtod(text, &end);
	bool alone = end != text && !*end;

	if (alone || !parse_unit(text, units, ARRAY_SIZE(units), &v) || v < 1 ||
	    v > HPCCPP_T_MAX)
		return usage_error("%s \"%s\" %s: allowed are 1us to 4s, with us, ms, s",
				   arg->name, text, alone ? "lacks its unit" : "is wrong");
	((unsigned int *)arg->to)[arg->n] = v + 0.5;
	return EXIT_DONE;
}

bool in_lockdown(void)
{
	char modes[64];

	return has_word(read_line(lockdown_file, modes, sizeof(modes)), "[confidentiality]");
}

int load_error(int err, const char *agent)
{
	if (abs(err) != EPERM && access(KERNEL_BTF, R_OK) && !getenv("HPCCPP_BTF"))
		return system_error("cannot load the %s agent: no %s, which a kernel with CONFIG_DEBUG_INFO_BTF has, and no file of that kind in HPCCPP_BTF",
				    agent, KERNEL_BTF);
	if (abs(err) != EPERM && !few_files() && strcmp(agent, "cnp") && in_lockdown())
		return system_error("cannot load the %s agent: lockdown \"confidentiality\" refuses programs that read kernel memory%s",
				    agent, strcmp(agent, "port") ? "" :
				    ", as \"queue qdisc\" does: give \"queue virtual\"");
	return untyped_load_error(err, agent);
}

int untyped_load_error(int err, const char *agent)
{
	/* libbpf returns another error if its own probes cannot open a file */
	if (abs(err) != EPERM && few_files())
		err = EMFILE;
	return errno_error(err, "cannot load the %s agent%s", agent,
			   abs(err) == EPERM || opt.verbose ? "" : " (-v says more)");
}

/* The first line of a file; empty when there is none. */
const char *read_line(const char *path, char *buf, int size)
{
	FILE *in = fopen(path, "re");

	*buf = '\0';
	if (in && fgets(buf, size, in))
		buf[strcspn(buf, "\n")] = '\0';
	if (in)
		fclose(in);
	return buf;
}

bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (; *text; text += strspn(text, " ")) {
		size_t n = strcspn(text, " ");

		if (n == len && !strncmp(text, word, len))
			return true;
		text += n;
	}
	return false;
}
