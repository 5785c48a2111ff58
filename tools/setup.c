// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp host setup: all agents that a host needs whose switches have none, by the commands that it
 * prints: the host agent, and the ports on egress and ingress of its NIC.
 */
#include <stdio.h>
#include <string.h>

#include "hpccpp.h"

/* The words of one of the commands, the first of which names its object */
struct step {
	int (*run)(int argc, char **argv);
	const char *word[10];
	int n;
};

static void add_words(struct step *s, const char *name, const char *value)
{
	if (!value)
		return;
	s->word[s->n++] = name;
	s->word[s->n++] = value;
}

/* Checks the command, or prints it and runs it. */
static int take(struct step *s, bool dry)
{
	int i, ret;

	if (!dry) {
		fputs("hpccpp", stdout);
		if (opt.netns && s->run != host_main)
			printf(" -n %s", opt.netns);
		for (i = 0; i < s->n; i++)
			printf(" %s", s->word[i]);
		putchar('\n');
	}
	opt.dry_run = dry;
	ret = run_apart(s->run, s->n - 1, (char **)s->word + 1, NULL);
	opt.dry_run = false;
	return ret;
}

/*
 * Returns true if there is an object of this kind at a place, or with NULL anywhere, whose first
 * row has this flag. Without a flag, any object counts.
 */
static bool has_any(int (*read)(const char *place, struct json_object *rows), const char *place,
		    const char *flag)
{
	struct json_object *rows = json_object_new_array(), *row;
	const bool quiet = opt.quiet;
	bool found;

	opt.quiet = true;
	read(place, rows);
	opt.quiet = quiet;
	row = json_object_array_get_idx(rows, 0);
	found = row && (!flag || json_object_get_boolean(json_object_object_get(row, flag)));
	json_object_put(rows);
	return found;
}

/* All commands are checked first. A host agent that is there stays as it is. */
static int set_up(const char *dev, const char *rate, const char *rtt)
{
	struct step steps[] = {
		{ port_main, { "port", "replace", "dev", dev, "edge" }, 5 },
		{ port_main, { "port", "replace", "dev", dev, "ingress" }, 5 },
		{ host_main, { "host", "add" }, 2 },
	};
	size_t n = ARRAY_SIZE(steps) - has_any(host_rows, NULL, NULL), i;
	int ret = EXIT_DONE;

	for (i = 0; i < 2; i++) {
		add_words(&steps[i], "rate", rate);
		add_words(&steps[i], "base-rtt", rtt);
	}
	for (i = 0; i < n && !ret; i++)
		ret = take(&steps[i], true);
	for (i = 0; i < n && !ret; i++)
		ret = take(&steps[i], false);
	return ret;
}

/* Deletes the ports. Other devices and namespaces may need the host agent. */
static int undo(const char *dev)
{
	struct step in = { port_main, { "port", "delete", "dev", dev, "ingress" }, 5 };
	struct step out = { port_main, { "port", "delete", "dev", dev }, 4 };
	bool ingress = has_any(ingress_rows, dev, NULL), egress = has_any(egress_rows, dev, "edge");
	int ret = EXIT_DONE;

	if (!ingress && !egress)
		return system_error("there is no port on %s that host setup adds", dev);
	if (ingress)
		ret = take(&in, false);
	if (egress)
		ret = take(&out, false) ?: ret;
	return ret;
}

int host_setup(int argc, char **argv)
{
	enum { DEV, RATE, BASE_RTT, NETNS, OFF };
	const char *dev = NULL, *rate = NULL, *rtt = NULL, *netns = NULL;
	struct argument args[] = {
		[DEV] = { ARG("dev", arg_text, &dev), .bare = true },
		[RATE] = { ARG("rate", arg_text, &rate) },
		[BASE_RTT] = { ARG("base-rtt", arg_text, &rtt) },
		[NETNS] = { ARG("netns", arg_text, &netns) },
		[OFF] = { .name = "off" },
	};
	int ifindex, ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && !dev)
		ret = usage_error("\"dev\" is missing, try \"hpccpp host help\"");
	if (!ret && args[OFF].n && (rate || rtt))
		ret = usage_error("\"%s\" is wrong with \"off\"", rate ? "rate" : "base-rtt");
	if (!ret)
		ret = find_dev(dev, netns, &ifindex);
	return ret ?: args[OFF].n ? undo(dev) : set_up(dev, rate, rtt);
}
