// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp: load, configure and show the HPCC++ agents of ports and hosts, and
 * show the flows that the kernel module tcp_hpccpp governs.
 *
 * The agents are inside this binary, and stay in the kernel attached to a
 * device or a cgroup; what is shown is found through these. Nothing is pinned,
 * so the command works wherever the caller's /sys/fs/bpf is not mounted.
 *
 * Grammar, words and exit statuses follow iproute2. This file has what the
 * objects port, host and flow share.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "hpccpp.h"

#define NETNS_DIR	"/run/netns"

#ifndef HPCCPP_VERSION
#define HPCCPP_VERSION	"0.1"
#endif

struct options opt;

static const char usage[] =
"Usage: hpccpp [ OPTIONS ] OBJECT { COMMAND | help }\n"
"       hpccpp [ OPTIONS ] { show | monitor | check } [ ARGUMENTS | help ]\n"
"where  OBJECT := { port | host | flow | cnp }\n"
"       OPTIONS := { -j[son] | -p[retty] | -o[utput] { text | json | prom } |\n"
"                    -s[tatistics] | -v[erbose] | -V[ersion] | -h[elp] }\n"
"\n"
"       port     the agent that writes a device's load into passing packets\n"
"       host     the agent that asks for telemetry and echoes it, for a cgroup\n"
"       flow     the connections under the congestion control hpccpp\n"
"       cnp      the agent that slows RoCEv2 flows down by Fast CNPs\n"
"       show     all of these\n"
"       monitor  flows and ports, again and again\n"
"       check    what this host lacks to use HPCC++\n"
"\n"
"JSON has the statistics in any case; rates in it are in bit/s, times in us.\n"
"-v prints what libbpf and the kernel say about loading an agent.\n"
"Exit status: 0 done; 1 \"check\" found something missing; 2 the kernel refused,\n"
"or what was named is not there; 255 wrong arguments, or help. See hpccpp(8).\n";

static int complain(int status, int err, const char *fmt, va_list ap)
{
	fputs("Error: ", stderr);
	vfprintf(stderr, fmt, ap);
	if (err)
		fprintf(stderr, ": %s", strerror(err));
	if ((err == EPERM || err == EACCES) && geteuid())
		fputs(" (you are not root)", stderr);
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

int load_error(int err, const char *agent)
{
	if (abs(err) != EPERM && access(KERNEL_BTF, R_OK) && !getenv("HPCCPP_BTF"))
		return system_error("cannot load the %s agent: no %s, which a kernel with CONFIG_DEBUG_INFO_BTF has, and no file of that kind in HPCCPP_BTF",
				    agent, KERNEL_BTF);
	return untyped_load_error(err, agent);
}

int untyped_load_error(int err, const char *agent)
{
	return errno_error(err, "cannot load the %s agent%s", agent,
			   abs(err) == EPERM || opt.verbose ? "" : " (-v says more)");
}

/*
 * The entry of a table that a word names or abbreviates. Every table has its
 * names as the first member of what it is an array of.
 */
static const char *entry_name(const void *table, size_t size, size_t i)
{
	return *(const char *const *)((const char *)table + i * size);
}

static int find_word(const char *what, const char *text, const void *table,
		     size_t size, size_t n, size_t *found)
{
	size_t len = strlen(text);
	unsigned int hits = 0;
	char allowed[256] = "";
	size_t at = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const char *name = entry_name(table, size, i);

		if (!strcmp(name, text)) {
			*found = i;
			return EXIT_DONE;
		}
		if (len && !strncmp(name, text, len)) {
			*found = i;
			hits++;
		}
		at += snprintf(allowed + at, sizeof(allowed) - at, "%s%s",
			       i ? ", " : "", name);
		if (at >= sizeof(allowed))
			at = sizeof(allowed) - 1;
	}
	if (hits == 1)
		return EXIT_DONE;
	return usage_error("%s \"%s\" is %s: allowed are %s", what, text,
			   hits ? "ambiguous" : "unknown", allowed);
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

int parse_arguments(struct argument *args, size_t n, int argc, char **argv)
{
	for (; argc > 0; argc--, argv++) {
		struct argument *arg;
		size_t i;
		int ret;

		ret = find_word("argument", argv[0], args, sizeof(*args), n,
				&i);
		if (ret)
			return ret;
		arg = &args[i];
		if (!arg->max) {
			arg->n = 1;
			continue;
		}
		if (argc < 2)
			return usage_error("\"%s\" lacks its value, try \"help\"",
					   arg->name);
		if (arg->n == arg->max && arg->max == 1)
			return usage_error("duplicate \"%s\": \"%s\" is the second value",
					   arg->name, argv[1]);
		if (arg->n == arg->max)
			return usage_error("\"%s\" \"%s\" is one too many: allowed are %u",
					   arg->name, argv[1], arg->max);
		arg->value[arg->n++] = argv[1];
		argc--;
		argv++;
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

int parse_uint(const char *name, const char *text, unsigned int min,
	       unsigned int max, unsigned int *value)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 0);
	if (!isdigit((unsigned char)text[0]) || *end || errno || v < min ||
	    v > max)
		return usage_error("%s \"%s\" is wrong: allowed are %u to %u",
				   name, text, min, max);
	*value = v;
	return EXIT_DONE;
}

/* A number and a unit; the first unit of a table goes with a bare number. */
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

int parse_rate(const char *name, const char *text, __u64 *bps)
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
				   name, text);
	*bps = v + 0.5;
	return EXIT_DONE;
}

int parse_time(const char *name, const char *text, unsigned int *us)
{
	static const struct unit units[] = {
		{ "us", 1 }, { "usec", 1 }, { "usecs", 1 },
		{ "ms", 1e3 }, { "msec", 1e3 }, { "msecs", 1e3 },
		{ "s", 1e6 }, { "sec", 1e6 }, { "secs", 1e6 },
	};
	double v;

	if (!parse_unit(text, units, ARRAY_SIZE(units), &v) || v < 1 ||
	    v > HPCCPP_T_MAX)
		return usage_error("%s \"%s\" is wrong: allowed are 1us to 4s, with us, ms, s",
				   name, text);
	*us = v + 0.5;
	return EXIT_DONE;
}

int netns_enter(const char *name)
{
	char path[256];
	int fd, ret;

	if (!name)
		return EXIT_DONE;
	if (!*name || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return usage_error("netns \"%s\" is wrong: allowed are the names that `ip netns` shows",
				   name);
	ret = snprintf(path, sizeof(path), NETNS_DIR "/%s", name);
	if (ret >= (int)sizeof(path))
		return errno_error(ENAMETOOLONG, "cannot open netns \"%s\"",
				   name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno_error(errno, "cannot open netns \"%s\"", name);
	ret = setns(fd, CLONE_NEWNET) ?
	      errno_error(errno, "cannot enter netns \"%s\"", name) :
	      EXIT_DONE;
	close(fd);
	opt.netns = name;
	return ret;
}

/* *fd is -1 when the program's name does not begin so, or it is gone. */
int prog_open(__u32 id, const char *name, int *fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int ret;

	*fd = bpf_prog_get_fd_by_id(id);
	if (*fd < 0) {
		ret = errno;
		*fd = -1;
		if (ret == ENOENT)
			return EXIT_DONE;
		return errno_error(ret, "cannot open eBPF program %u", id);
	}
	if (bpf_obj_get_info_by_fd(*fd, &info, &len))
		ret = errno_error(errno, "cannot query eBPF program %u", id);
	else if (strncmp(info.name, name, strlen(name)))
		ret = EXIT_DONE;
	else
		return EXIT_DONE;
	close(*fd);
	*fd = -1;
	return ret;
}

/* The map of that name, if the program has one with values of that size. */
int prog_map(int prog, const char *name, size_t value_size)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	__u32 ids[16] = {};
	__u32 i;

	info.nr_map_ids = ARRAY_SIZE(ids);
	info.map_ids = (unsigned long)ids;
	if (bpf_obj_get_info_by_fd(prog, &info, &len))
		return -1;
	for (i = 0; i < info.nr_map_ids && i < ARRAY_SIZE(ids); i++) {
		struct bpf_map_info map = {};
		int fd = bpf_map_get_fd_by_id(ids[i]);

		if (fd < 0)
			continue;
		len = sizeof(map);
		if (!bpf_obj_get_info_by_fd(fd, &map, &len) &&
		    !strcmp(map.name, name) && map.value_size == value_size)
			return fd;
		close(fd);
	}
	return -1;
}

int prog_map_error(const char *name)
{
	return system_error("cannot read the map \"%s\" of the agent: is it of another version of hpccpp?",
			    name);
}

/* The one entry of a map */
int prog_entry(int prog, const char *name, void *value, size_t size)
{
	int map = prog_map(prog, name, size);
	__u32 zero = 0;
	int err;

	if (map < 0)
		return prog_map_error(name);
	err = bpf_map_lookup_elem(map, &zero, value);
	close(map);
	return err ? prog_map_error(name) : EXIT_DONE;
}

/* Sums of a per-CPU array of counters. */
int prog_stats(int prog, const char *name, __u64 *sum, size_t n)
{
	int fd = prog_map(prog, name, sizeof(__u64));
	int cpus = libbpf_num_possible_cpus();
	__u64 *value = NULL;
	int ret = EXIT_DONE;
	__u32 i;
	int c;

	if (cpus > 0)
		value = calloc(cpus, sizeof(*value));
	if (fd < 0 || !value)
		ret = prog_map_error(name);
	for (i = 0; !ret && i < n; i++) {
		sum[i] = 0;
		if (bpf_map_lookup_elem(fd, &i, value))
			ret = prog_map_error(name);
		for (c = 0; !ret && c < cpus; c++)
			sum[i] += value[c];
	}
	free(value);
	if (fd >= 0)
		close(fd);
	return ret;
}

static int libbpf_says(enum libbpf_print_level level, const char *fmt,
		       va_list ap)
{
	if (!opt.verbose || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, ap);
}

/* Options go before the object, with one dash or two. */
static int parse_options(int *argc, char ***argv)
{
	static const char *const outputs[] = { "text", "json", "prom" };
	static const struct {
		const char *name;
		bool *flag;
	} options[] = {
		{ "json", &opt.json },
		{ "pretty", &opt.pretty },
		{ "statistics", &opt.stats },
		{ "verbose", &opt.verbose },
		{ "output", NULL },
		{ "Version", NULL },
		{ "help", NULL },
	};
	bool help = false;

	for (; *argc > 0 && (*argv)[0][0] == '-' && !help; --*argc, ++*argv) {
		const char *text = (*argv)[0] + 1;
		size_t i;
		int ret;

		if (*text == '-')
			text++;
		if (!strcmp(text, "version"))
			text = "Version";
		ret = find_word("option", text, options, sizeof(options[0]),
				ARRAY_SIZE(options), &i);
		if (ret)
			return ret;
		switch (options[i].name[0]) {
		case 'o':
			if (*argc < 2)
				return usage_error("\"-output\" lacks its value, try \"help\"");
			ret = parse_word("output", (*argv)[1], outputs,
					 ARRAY_SIZE(outputs), &opt.output);
			if (ret)
				return ret;
			--*argc;
			++*argv;
			break;
		case 'V':
			puts("hpccpp utility, " HPCCPP_VERSION);
			exit(EXIT_DONE);
		case 'h':
			help = true;
			break;
		default:
			*options[i].flag = true;
		}
	}
	if (help)
		*argc = 0;
	if (opt.json && opt.output == OUTPUT_TEXT)
		opt.output = OUTPUT_JSON;
	if (opt.json && opt.output == OUTPUT_PROM)
		return usage_error("output \"prom\" is wrong: allowed beside -json is json");
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	static const struct command objects[] = {
		{ "port", port_main },
		{ "host", host_main },
		{ "flow", flow_main },
		{ "cnp", cnp_main },
		{ "show", show_main },
		{ "monitor", monitor_main },
		{ "check", check_main },
		{ "help", NULL },
	};
	size_t i;
	int ret;

	argc--;
	argv++;
	ret = parse_options(&argc, &argv);
	if (ret)
		return ret;
	libbpf_set_print(libbpf_says);

	i = ARRAY_SIZE(objects) - 1;
	if (argc > 0) {
		ret = find_word("object", argv[0], objects, sizeof(objects[0]),
				ARRAY_SIZE(objects), &i);
		if (ret)
			return ret;
	}
	if (!objects[i].run) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	ret = objects[i].run(argc - 1, argv + 1);
	if (fflush(stdout) || ferror(stdout))
		return errno_error(errno, "cannot write the output");
	return ret;
}
