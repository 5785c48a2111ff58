// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of `hpccpp port` for several devices: "dev all", or a pattern such as
 * "dev swp*", which takes those that there are now.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hpccpp.h"
#include "port.h"

#define ALL	"all"

static struct qdisc *qdiscs;	/* all qdiscs, while is_wanted() needs them */
static size_t n_qdiscs;

/* Whether a text is one of these, and not the name of a device */
bool names_devs(const char *text)
{
	return text && (!strcmp(text, ALL) || strpbrk(text, "*?[")) && !if_nametoindex(text);
}

/* The names of those that a text takes, and that fit, if that is asked */
static int find_devs(const char *text, bool (*fits)(const char *dev), const char *with,
		     struct json_object *names)
{
	struct if_nameindex *all = if_nameindex(), *dev;

	if (!all)
		return errno_error(errno, "cannot list the devices");
	for (dev = all; dev->if_index; dev++) {
		if ((!strcmp(text, ALL) || !fnmatch(text, dev->if_name, 0)) &&
		    (!fits || fits(dev->if_name)))
			json_object_array_add(names, json_object_new_string(dev->if_name));
	}
	if_freenameindex(all);
	return json_object_array_length(names) ? EXIT_DONE :
	       system_error("cannot find a device like \"%s\"%s", text, with);
}

static bool is_wanted(const char *dev)
{
	bool has_rate;

	/* its port is to stay while it is down */
	return port_wanted(dev, true, qdiscs, n_qdiscs, &has_rate);
}

/* A pattern takes any device that it fits; "all" takes those that need a port agent. */
int port_new_devs(const char *text, struct json_object *names)
{
	int ret;

	if (strcmp(text, ALL))
		return find_devs(text, NULL, "", names);
	ret = qdisc_list(&qdiscs, &n_qdiscs) ?:
	      find_devs(text, is_wanted,
			" that has an Ethernet header and a link or shaper of its own",
			names);
	free(qdiscs);
	qdiscs = NULL;
	return ret;
}

static bool has_ingress(const char *dev)
{
	int prog, err = find_port(if_nametoindex(dev), true, &prog);

	if (prog >= 0)
		close(prog);
	return err || prog >= 0;
}

/* True for half a port too, and where it cannot be read: the command then says so. */
static bool has_port(const char *dev)
{
	int ifindex = if_nametoindex(dev), prog;
	bool in = false;

	if (find_port(ifindex, false, &prog))
		return true;
	if (prog >= 0)
		close(prog);
	return prog >= 0 || find_ingress(ifindex, &in) || in;
}

static const char *nth(struct json_object *list, size_t i)
{
	return json_object_get_string(json_object_array_get_idx(list, i));
}

/*
 * Runs a command with the words that were given for each device that a text takes: of those
 * that are there for a new port, else of those with a port. After an error it goes on with
 * the next.
 */
int port_each(const char *command, bool anew, bool on_ingress, const char *text)
{
	struct json_object *names = json_object_new_array(), *words = list_words(&given);
	size_t n = json_object_array_length(words), i;
	char **argv = calloc(n + 3, sizeof(*argv));
	int ret;

	if (!argv)
		return system_error("no memory for %zu words", n + 3);
	argv[0] = (char *)command;
	argv[1] = "dev";
	for (i = 0; i < n; i++)
		argv[i + 3] = (char *)nth(words, i);
	/* once, which those that it is run by have too */
	ret = lock_agents() ?: check_hooks();
	if (!ret)
		ret = anew ? port_new_devs(text, names) :
			     find_devs(text, on_ingress ? has_ingress : has_port, " with a port",
				       names);
	for (i = 0; i < json_object_array_length(names); i++) {
		argv[2] = (char *)nth(names, i);
		subject = argv[2];
		ret = run_apart(port_main, n + 3, argv, NULL) ?: ret;
	}
	subject = NULL;
	free(argv);
	json_object_put(words);
	json_object_put(names);
	return ret;
}

/* The ports of the device or of those that a text names, or with NULL all */
int port_rows_like(const char *text, struct json_object *rows)
{
	struct json_object *names;
	size_t i;
	int ret;

	if (!names_devs(text))
		return port_rows(text, rows);
	if (!strcmp(text, ALL))
		return port_rows(NULL, rows);
	names = json_object_new_array();
	ret = check_hooks() ?: find_devs(text, NULL, "", names);
	for (i = 0; i < json_object_array_length(names); i++)
		ret = port_rows(nth(names, i), rows) ?: ret;
	json_object_put(names);
	return ret;
}
