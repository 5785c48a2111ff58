// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp monitor: ports and flows of a namespace, again and again.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hpccpp.h"

#define INTERVAL_MIN	0.01	/* s */
#define INTERVAL_MAX	3600.

static const char monitor_usage[] =
"Usage: hpccpp [ OPTIONS ] monitor [ netns NAME ] [ interval SECONDS ]\n"
"                                  [ count N ] [ what { all | port | flow } ]\n"
"\n"
"A line for each port and flow every SECONDS, 0.01 to 3600, default 1; N times,\n"
"1 to 4294967295, default without end. -s adds the counters, below each line. -j\n"
"prints each as a JSON object, with \"time\" (seconds since 1970) and \"object\"\n"
"(\"port\" or \"flow\") beside the keys that show has.\n";

static int all_ports(struct json_object *rows)
{
	return port_rows(NULL, rows);
}

static int all_flows(struct json_object *rows)
{
	return flow_rows(keep_row, rows);
}

static const struct object {
	const char *name;
	const struct field *fields;
	int (*read)(struct json_object *rows);
} objects[] = {
	{ "port", port_fields, all_ports },
	{ "flow", flow_fields, all_flows },
};

static void print_lines(const char *object, struct json_object *rows)
{
	struct timespec now;
	char text[32];
	size_t i;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(text, sizeof(text), "%lld.%06ld", (long long)now.tv_sec,
		 now.tv_nsec / 1000);
	for (i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		put_str(row, "object", object);
		json_object_object_add(row, "time",
				       json_object_new_double_s(now.tv_sec, text));
		print_json(row);
	}
}

/* live: in place of what was there before. *any: whether there is something to be seen */
static int refresh(unsigned int what, bool live, bool *any)
{
	static const char clear[] = "\033[H\033[J";
	struct json_object *rows[ARRAY_SIZE(objects)] = {};
	int ret = EXIT_DONE;
	size_t i;

	*any = false;
	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		if (what && what != i + 1)
			continue;
		rows[i] = json_object_new_array();
		ret = objects[i].read(rows[i]) ?: ret;
		*any |= json_object_array_length(rows[i]);
	}
	/* what an error said is to stay */
	if (!ret && live)
		fputs(clear, stdout);
	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		bool worth = rows[i] && (!ret || json_object_array_length(rows[i]));

		if (worth && opt.output == OUTPUT_JSON)
			print_lines(objects[i].name, rows[i]);
		else if (worth)
			print_table(objects[i].fields, rows[i]);
		json_object_put(rows[i]);
	}
	fflush(stdout);
	return ret;
}

static int arg_interval(const struct argument *arg, const char *text)
{
	struct timespec *t = arg->to;
	char *end;
	double v = strtod(text, &end);

	if ((!isdigit((unsigned char)text[0]) && text[0] != '.') || *end ||
	    !(v >= INTERVAL_MIN && v <= INTERVAL_MAX))
		return usage_error("%s \"%s\" is wrong: allowed are %g to %g seconds",
				   arg->name, text, INTERVAL_MIN, INTERVAL_MAX);
	t->tv_sec = v;
	t->tv_nsec = (v - t->tv_sec) * 1e9;
	return EXIT_DONE;
}

int monitor_main(int argc, char **argv)
{
	static const char *const words[] = { "all", "port", "flow" };
	struct timespec pause = { .tv_sec = 1 };
	unsigned int count = 0, which = 0, i;
	const char *netns = NULL;
	bool any = false;
	struct argument args[] = {
		{ ARG("netns", arg_text, &netns) },
		{ ARG("interval", arg_interval, &pause) },
		{ ARG("count", arg_uint, &count),
		  .low = 1, .high = -1 },
		{ ARG("what", arg_word, &which),
		  .words = words, .high = ARRAY_SIZE(words) },
	};
	bool live;
	int ret;

	ret = wants_help(argc, argv, monitor_usage);
	if (!ret)
		ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && opt.output == OUTPUT_PROM)
		ret = usage_error("output \"prom\" is wrong: monitor has text and json");
	if (!ret)
		ret = netns_enter(netns);
	live = opt.output == OUTPUT_TEXT && isatty(STDOUT_FILENO) && count != 1;
	for (i = 0; !ret || any; nanosleep(&pause, NULL)) {
		ret = refresh(which, live, &any);
		if (ferror(stdout) || (count && ++i == count))
			break;
	}
	return ret;
}
