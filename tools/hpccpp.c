// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp: load, configure and show the HPCC++ agents of ports and hosts, and
 * show the flows that the kernel module tcp_hpccpp governs.
 *
 * The agents are inside this binary, and stay in the kernel attached to a
 * device or a cgroup; what is shown is found through these. Nothing is pinned,
 * so the command works wherever the caller's /sys/fs/bpf is not mounted.
 *
 * Grammar, words and exit statuses follow iproute2.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "hpccpp.h"

static const char usage[] =
"Usage: hpccpp [ OPTIONS ] OBJECT { COMMAND | help }\n"
"       hpccpp [ OPTIONS ] { show | monitor | check | save | apply | watch }\n"
"              [ ARGUMENTS | help ]\n"
"where  OBJECT := { port | host | flow | cnp }\n"
"       OPTIONS := { -j[son] | -p[retty] | -o[utput] { text | json | prom } |\n"
"                    -s[tatistics] | -n[etns] NETNS | -v[erbose] | -V[ersion] |\n"
"                    -h[elp] }\n"
"\n"
"       port     the agent that writes a device's load into passing packets\n"
"       host     the agent that asks for telemetry and echoes it, for a cgroup\n"
"       flow     the connections under the congestion control hpccpp\n"
"       cnp      the agent that slows RoCEv2 flows down by Fast CNPs\n"
"       show     all of these\n"
"       monitor  what they do in each second, again and again\n"
"       check    what this host lacks to use HPCC++\n"
"       save     the agents as lines, of which apply makes agents\n"
"       watch    tell ports anew what has changed on their devices\n"
"\n"
"JSON has the statistics in any case; rates in it are in bit/s, times in us.\n"
"NETNS is a name of ip-netns(8), a path, or the PID of a process in it.\n"
"-v prints what libbpf and the kernel say about loading an agent.\n"
"Exit status: 0 done; 1 \"check\" found something missing; 2 the kernel refused,\n"
"or what was named is not there; 255 wrong arguments, or help. See hpccpp(8).\n";

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
		{ "netns", NULL },
		{ "output", NULL },
		{ "Version", NULL },
		{ "help", NULL },
	};
	bool help = false, has_output = false;

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
		case 'n':
		case 'o':
			if (*argc < 2)
				return usage_error("\"-%s\" lacks its value, try \"help\"",
						   options[i].name);
			ret = options[i].name[0] == 'n' ? netns_enter((*argv)[1]) :
			      parse_word("output", (*argv)[1], outputs,
					 ARRAY_SIZE(outputs), &opt.output);
			if (ret)
				return ret;
			has_output |= options[i].name[0] == 'o';
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
	if (opt.json && has_output && opt.output != OUTPUT_JSON)
		return usage_error("output \"%s\" is wrong: allowed beside -json is json",
				   outputs[opt.output]);
	if (opt.json)
		opt.output = OUTPUT_JSON;
	return EXIT_DONE;
}

/*
 * Descriptors that were closed, so that nothing else gets them, like the lock: what is read
 * or written there fails as before.
 */
static void keep_standard(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
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
		{ "save", save_main },
		{ "apply", apply_main },
		{ "watch", watch_main },
		{ "help", NULL },
	};
	size_t i;
	int ret;

	keep_standard();
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
