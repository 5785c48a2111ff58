// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that are loaded, and their maps; who may load one, and why it cannot be
 * loaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "hpccpp.h"

#define LOCK		"/run/hpccpp.lock"
#define LOCK_WAIT	10	/* s */

static long long seconds(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000000;
}

/*
 * The id of the process that took it, or of the last that it has started, is in the file: who
 * waits does so for one of them.
 */
static int wait_for_lock(int fd)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	char holder[16] = "unknown", now[16] = "";
	long long since = seconds();

	while (seconds() - since <= LOCK_WAIT) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return EXIT_DONE;
		if (errno != EWOULDBLOCK)
			return errno_error(errno, "cannot lock \"" LOCK "\"");
		if (pread(fd, now, sizeof(now) - 1, 0) > 0)
			now[strspn(now, "0123456789")] = '\0';
		if (*now && strcmp(now, holder)) {
			strcpy(holder, now);
			since = seconds();
		}
		memset(now, 0, sizeof(now));
		nanosleep(&pause, NULL);
	}
	return system_error("process %s has held the lock \"" LOCK "\" for %u s",
			    holder, LOCK_WAIT);
}

/*
 * One command at a time adds or removes agents, of those that share /run: else one could take
 * away the clsact that another found there, or two could serve one socket. The lock is
 * held until the process ends, and is that of all processes that it starts from then on. It
 * is on a file that root alone can open, because whoever can open a file can keep it locked
 * for ever.
 */
int lock_agents(void)
{
	static bool held;
	static int fd = -1;
	struct stat st;
	int ret = EXIT_DONE;

	if (!held) {
		fd = open(LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 || fstat(fd, &st))
			return errno_error(errno, "cannot open the lock \"" LOCK "\"");
		if (st.st_uid || st.st_mode & 077)
			return system_error("lock \"" LOCK "\" is wrong: allowed is a file that root alone may read or write");
		ret = wait_for_lock(fd);
	}
	held = !ret;
	/* for those who wait only: on a full file system there is no room */
	if (held && !ftruncate(fd, 0) && !lseek(fd, 0, SEEK_SET))
		dprintf(fd, "%d", getpid());
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

/*
 * The map of that name, if the program has one with values of that size; else -1 and errno, ENOENT
 * if it has none.
 */
int prog_map(int prog, const char *name, size_t value_size)
{
	int err = ENOENT;
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	__u32 ids[64] = {};	/* as many as a program can have */
	__u32 i;

	info.nr_map_ids = ARRAY_SIZE(ids);
	info.map_ids = (unsigned long)ids;
	if (bpf_obj_get_info_by_fd(prog, &info, &len))
		return -1;
	for (i = 0; i < info.nr_map_ids && i < ARRAY_SIZE(ids); i++) {
		struct bpf_map_info map = {};
		int fd = bpf_map_get_fd_by_id(ids[i]);

		if (fd < 0) {
			err = errno;
			continue;
		}
		len = sizeof(map);
		if (!bpf_obj_get_info_by_fd(fd, &map, &len) &&
		    !strcmp(map.name, name) && map.value_size == value_size)
			return fd;
		close(fd);
	}
	errno = err;
	return -1;
}

static int map_errno;	/* why the last map could not be read */

/* Says why a map cannot be read, from errno. */
int prog_map_error(const char *name)
{
	map_errno = errno;
	if (errno != ENOENT)
		return errno_error(errno, "cannot read the map \"%s\" of the agent", name);
	return system_error("cannot read the map \"%s\" of the agent, which is of another version: run \"replace\" with the arguments it was added with",
			    name);
}

/* The one entry of a map; false: there is no such map */
bool prog_find_entry(int prog, const char *name, void *value, size_t size)
{
	int map = prog_map(prog, name, size);
	__u32 zero = 0;
	bool found;

	found = map >= 0 && !bpf_map_lookup_elem(map, &zero, value);
	if (map >= 0)
		close(map);
	return found;
}

int prog_entry(int prog, const char *name, void *value, size_t size)
{
	return prog_find_entry(prog, name, value, size) ? EXIT_DONE : prog_map_error(name);
}

/* Gives a program that is about to be attached a map with this as its one entry. */
int prog_add_entry(int prog, const char *name, const void *value, size_t size)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(__u32), size, 1, NULL);
	__u32 zero = 0;
	int err = 0;

	if (map < 0)
		return -errno;
	if (bpf_map_update_elem(map, &zero, value, BPF_ANY) || bpf_prog_bind_map(prog, map, NULL))
		err = -errno;
	close(map);
	return err;
}

/* Sums of a per-CPU array of counters; 0 of those that an older agent does not have */
int prog_stats(int prog, const char *name, __u64 *sum, size_t n)
{
	int fd = prog_map(prog, name, sizeof(__u64));
	int cpus = libbpf_num_possible_cpus();
	struct bpf_map_info map = {};
	__u32 len = sizeof(map), i;
	__u64 *value = NULL;
	int ret = EXIT_DONE;
	int c;

	if (cpus > 0)
		value = calloc(cpus, sizeof(*value));
	if (fd < 0 || !value || bpf_obj_get_info_by_fd(fd, &map, &len))
		ret = prog_map_error(name);
	memset(sum, 0, n * sizeof(*sum));
	for (i = 0; !ret && i < n && i < map.max_entries; i++) {
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

int prog_set_version(int prog, const char *cgroup)
{
	struct hpccpp_version about = { .version = HPCCPP_VERSION };

	snprintf(about.cgroup, sizeof(about.cgroup), "%s", cgroup);
	return prog_add_entry(prog, HPCCPP_VERSION_MAP, &about, sizeof(about));
}

/* False: the program has no such map, as it is no agent, or not attached yet. */
bool prog_version(int prog, struct hpccpp_version *about)
{
	bool there = prog_find_entry(prog, HPCCPP_VERSION_MAP, about, sizeof(*about));

	about->version[sizeof(about->version) - 1] = '\0';
	about->cgroup[sizeof(about->cgroup) - 1] = '\0';
	return there;
}

/*
 * Has the map of a program stand for one that is to be created, where it is one of the same
 * kind, sizes and version: what a program takes over from the one before. False: begun anew.
 */
bool prog_keep_map(int prog, struct bpf_map *map)
{
	struct bpf_map_info info = {};
	struct hpccpp_version about;
	__u32 len = sizeof(info);
	bool fits;
	int fd;

	if (!prog_version(prog, &about) || strcmp(about.version, HPCCPP_VERSION))
		return false;
	fd = prog_map(prog, bpf_map__name(map), bpf_map__value_size(map));
	if (fd < 0)
		return false;
	fits = !bpf_obj_get_info_by_fd(fd, &info, &len) && info.type == bpf_map__type(map) &&
	       info.key_size == bpf_map__key_size(map) &&
	       info.max_entries == bpf_map__max_entries(map) &&
	       info.map_flags == bpf_map__map_flags(map) && !bpf_map__reuse_fd(map, fd);
	close(fd);
	return fits;
}

/*
 * Adds to all rows of an agent, from the first on, its place, its version, and an error if it
 * was not read. An agent without a row gets one.
 */
int prog_finish_rows(int prog, const char *key, const char *where, int ret, size_t first,
		     struct json_object *rows)
{
	struct hpccpp_version about;
	char error[128] = "cannot be read";
	struct json_object *row;
	size_t i;

	if (map_errno && map_errno != ENOENT)
		snprintf(error, sizeof(error), "cannot be read: %s", strerror(map_errno));
	if (!prog_version(prog, &about))
		about = (struct hpccpp_version){ .version = "unknown" };
	if (json_object_array_length(rows) == first)
		json_object_array_add(rows, json_object_new_object());
	for (i = first; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		put_str(row, key, *about.cgroup ? about.cgroup : where);
		put_str(row, "version", about.version);
		if (ret)
			put_str(row, "error", error);
	}
	return ret;
}
