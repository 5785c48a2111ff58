// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp watch: a port whose device is no longer what it was told of is told anew, by
 * the words that it was added with.
 *
 * It looks, twice a second, and does not wait for messages: ethtool, XPS and a driver's
 * queues have none that all kernels send, and a look is a dump of qdiscs and a read of
 * one map for each port.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "hpccpp.h"

#define LOOK_NS		500000000	/* between two looks */
#define RETRY_S		10		/* after a look at which a port could not be told */

static const char usage[] =
"Usage: hpccpp [ OPTIONS ] watch\n"
"\n"
"Looks at the ports of this namespace twice a second, until it is ended. One that is\n"
"stale, as its device's rate, qdisc, queues or addresses are others now, is changed\n"
"to what they are, as by \"port change\" without a word. Prints a line for each. A port\n"
"that cannot be changed is tried again after 10 s. See hpccpp(8).\n";

/* Tells systemd, or who else started us so, that we work. */
static void notify_ready(void)
{
	const char *path = getenv("NOTIFY_SOCKET"), *ready = "READY=1";
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, len);
	if (*path == '@')	/* an abstract one */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, ready, strlen(ready), MSG_NOSIGNAL, (void *)&to,
	       offsetof(struct sockaddr_un, sun_path) + len);
	close(fd);
}

static int tell_anew(struct json_object *row)
{
	const char *dev = json_object_get_string(json_object_object_get(row, "dev"));
	const char *why = json_object_get_string(json_object_object_get(row, "stale"));
	int ret = run_at(port_main, "change", "dev", dev);

	if (!ret)
		printf("%s: %s: told anew\n", dev, why);
	return ret;
}

static int look(void)
{
	struct json_object *rows = json_object_new_array(), *row;
	int ret = port_rows(NULL, rows), err;
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		if (!is_stale(row) || !json_object_object_get(row, "words"))
			continue;
		err = tell_anew(row);
		ret = ret ?: err;
	}
	json_object_put(rows);
	return ret;
}

int watch_main(int argc, char **argv)
{
	struct timespec pause;
	int ret;

	if (argc > 0 && !strcmp(argv[0], "help")) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (argc > 0)
		return usage_error("argument \"%s\" is unknown: watch has none", argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = look();
	for (notify_ready(); !ferror(stdout); ret = look()) {
		pause.tv_sec = ret ? RETRY_S : 0;
		pause.tv_nsec = ret ? 0 : LOOK_NS;
		nanosleep(&pause, NULL);
	}
	return EXIT_SYSTEM;
}
