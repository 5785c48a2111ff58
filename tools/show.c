// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp show: all objects of a namespace, and the module's counters.
 */
#include <errno.h>
#include <stdio.h>

#include "hpccpp.h"

#define COUNTERS	"/proc/net/hpccpp"

static const char show_usage[] =
"Usage: hpccpp [ OPTIONS ] show [ netns NAME ]\n"
"\n"
"The ports, flows, host agents and agents for Fast CNPs; with -s their counters\n"
"and those of the module. -o prom prints samples for the textfile collector of\n"
"the node_exporter of Prometheus.\n"
"JSON: ports flows hosts cnps module: see hpccpp(8)\n";

/* The module's counters of this namespace; none when it is not loaded. */
static const struct field module_fields[] = {
	{ "name", FORM_TEXT, "", NULL, NULL, NULL },
	{ "counters", FORM_COUNTS, "", NULL, "hpccpp_events_total",
	  "Counters of the module in /proc/net/hpccpp." },
	{ }
};

int module_rows(struct json_object *rows)
{
	struct json_object *counts, *row;
	unsigned long long value;
	char name[32];
	FILE *in = fopen(COUNTERS, "r");

	if (!in && errno == ENOENT)
		return EXIT_DONE;
	if (!in)
		return errno_error(errno, "cannot read " COUNTERS);
	counts = json_object_new_object();
	while (fscanf(in, "%31s %llu", name, &value) == 2)
		put_num(counts, name, value);
	fclose(in);
	row = json_object_new_object();
	put_str(row, "name", "tcp_hpccpp");
	json_object_object_add(row, "counters", counts);
	json_object_array_add(rows, row);
	return EXIT_DONE;
}

static int all_ports(struct json_object *rows)
{
	return port_rows(NULL, rows);
}

static int all_hosts(struct json_object *rows)
{
	return host_rows(NULL, rows);
}

static int all_cnps(struct json_object *rows)
{
	return cnp_rows(NULL, rows);
}

static const struct object {
	const char *key;	/* in JSON */
	const struct field *fields;
	int (*read)(struct json_object *rows);	/* NULL: flows, printed as they are read */
} objects[] = {
	{ "ports", port_fields, all_ports },
	{ "flows", flow_fields, NULL },
	{ "hosts", host_fields, all_hosts },
	{ "cnps", cnp_fields, all_cnps },
	{ "module", module_fields, module_rows },
};

/* What show prints: the flows as they are read, the others before and after them */
struct shown {
	struct json_object *rows[ARRAY_SIZE(objects)];
	size_t next;		/* object to print */
	struct printer flows;
};

/* The objects in front of the flows; or when these are done, those behind them */
static void print_objects(struct shown *s)
{
	for (; s->next < ARRAY_SIZE(objects); s->next++) {
		struct printer p = { .fields = objects[s->next].fields, .depth = 1 };

		begin_member(objects[s->next].key, !s->next);
		if (!objects[s->next].read)
			break;
		print_rows(&p, s->rows[s->next]);
		end_rows(&p, EXIT_DONE);
	}
}

static void print_flow(void *shown, struct json_object *row)
{
	struct shown *s = shown;

	if (!s->flows.n)
		print_objects(s);
	print_row(&s->flows, row);
}

/* What cannot be read leaves the rest; nothing but the error is said when there is none. */
static int show_all(void)
{
	struct shown s = { .flows = { .fields = flow_fields, .totals = flow_totals, .depth = 1 } };
	bool any = false;
	int ret = EXIT_DONE;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		if (!objects[i].read)
			continue;
		s.rows[i] = json_object_new_array();
		ret = objects[i].read(s.rows[i]) ?: ret;
		any |= json_object_array_length(s.rows[i]);
	}
	ret = flow_rows(print_flow, &s) ?: ret;
	if (ret && !any && !s.flows.n) {
		for (i = 0; i < ARRAY_SIZE(objects); i++)
			json_object_put(s.rows[i]);
		return ret;
	}
	if (!s.flows.n)
		print_objects(&s);
	end_rows(&s.flows, EXIT_DONE);
	s.next++;
	print_objects(&s);
	end_members();
	return ret;
}

int show_main(int argc, char **argv)
{
	const char *netns = NULL;
	struct argument args[] = {
		{ ARG("netns", arg_text, &netns) },
	};
	int ret;

	ret = wants_help(argc, argv, show_usage);
	if (!ret)
		ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret)
		ret = netns_enter(netns);
	return ret ?: show_all();
}
