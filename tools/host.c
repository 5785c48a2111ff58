// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp host: the agent that asks for telemetry in the segments of a cgroup's
 * sockets and echoes what comes. A sock_ops program, attached to the cgroup
 * without a link so that it stays when the command ends, and found by that.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "hpccpp.h"
#include "host.skel.h"

#define PROG_NAME	"hpccpp_host"
#define PROGS		64	/* the kernel's BPF_CGROUP_MAX_PROGS */
#define EVERY_MAX	65535

/* Of the network namespace that the command runs in */
#define CC_DEFAULT	IPV4 "tcp_congestion_control"
#define CC_AVAILABLE	IPV4 "tcp_available_congestion_control"

static const char usage[] =
"Usage: hpccpp host add [ [ cgroup ] PATH ] [ ask { auto | always | never } ]\n"
"                       [ records N ] [ every { rtt | N } ]\n"
"                       [ prefix PREFIX ]... [ mode { sender | receiver } ]\n"
"                       [ fallback NAME ]\n"
"                       [ key-file FILE [ key-file FILE ] [ require ] ]\n"
"       hpccpp host { replace | change } ...\n"
"       hpccpp host key [ [ cgroup ] PATH ] key-file FILE [ key-file FILE ]\n"
"                       [ require ]\n"
"       hpccpp host { delete | flush } [ [ cgroup ] PATH ]\n"
"       hpccpp host setup [ dev ] DEV [ rate RATE ] [ base-rtt TIME ]\n"
"                         [ netns NAME ] [ off ]\n"
"       hpccpp host [ show [ [ cgroup ] PATH ] ]\n"
"\n"
"add      where there is no agent yet; replace: as add, or in place of the one\n"
"         that is there, whose sockets and counters go on; change: what is given,\n"
"         and the rest as it was\n"
"PATH     a directory of cgroup2, whose sockets and those below it are served:\n"
"         the first word that is no keyword; behind \"cgroup\" it may be any.\n"
"         Default: the root of cgroup2, all processes; of show: all agents\n"
"ask      which flows ask for telemetry: those under hpccpp (auto, default), all\n"
"         (always), or none (never), so that the agent only echoes\n"
"records  hops that a segment has space for, 1 to 3, default 1; 2 fit beside TCP\n"
"         timestamps\n"
"every    how often to ask: once a round trip and eight times while a port is\n"
"         loaded (rtt, default), or in one packet of N, 1 to 65535\n"
"prefix   ask only these peers, ADDRESS[/LEN] of IPv4 or IPv6, up to 64\n"
"mode     who computes the window: sender (default); or receiver, which both ends\n"
"         must have, and which excludes keys\n"
"fallback congestion control of connections under hpccpp until telemetry comes,\n"
"         one of tcp_available_congestion_control. Default:\n"
"         tcp_congestion_control, or cubic where that is hpccpp\n"
"key-file 32 hexadecimal digits, the key of the tags of echoes; of two the first\n"
"         signs, and both are accepted\n"
"require  ignore echoes without a right tag\n"
"\n"
"setup makes a host complete whose switches have no agents: a host agent, if\n"
"there is none, and ports on egress and ingress of DEV. off deletes the ports.\n"
"Both print the commands that they run.\n"
"\n"
"key gives an agent that has keys others. flush makes an agent forget the paths\n"
"that it suspects to drop the option. -s adds counters, those that are not 0.\n"
"See hpccpp-host(8).\n";

const struct field host_fields[] = {
	{ "cgroup", FORM_TEXT, "", "CGROUP", "", NULL },
	{ "version", FORM_VERSION, "version", NULL, NULL, NULL },
	{ "error", FORM_TEXT, "error", NULL, NULL, NULL },
	{ "ask", FORM_TEXT, "ask", "ASK", NULL, NULL },
	{ "records", FORM_NUM, "records", NULL,
	  "hpccpp_host_records", "Records that a segment has space for." },
	{ "every", FORM_EVERY, "every", NULL, NULL, NULL },
	{ "mode", FORM_TEXT, "mode", "MODE", NULL, NULL },
	{ "fallback", FORM_TEXT, "fallback", "FALLBACK", NULL, NULL },
	{ "keys", FORM_NUM, "keys", NULL, "hpccpp_host_keys",
	  "Keys that an echo's tag may be of." },
	{ "require", FORM_FLAG, "require", NULL, NULL, NULL },
	{ "prefix", FORM_LIST, "prefix", NULL, NULL, NULL },
	{ "known", FORM_SOME, "known", NULL, NULL, NULL },
	{ "suspected", FORM_SUSPECTS, "suspected", NULL, NULL, NULL },
	{ "asked_rate", FORM_NUM, NULL, "ASKED/S", NULL, NULL },
	{ "echoed_rate", FORM_NUM, NULL, "ECHOED/S", NULL, NULL },
	{ "echoes_rate", FORM_NUM, NULL, "ECHOES/S", NULL, NULL },
	{ "stats", FORM_COUNTS, "", NULL, "hpccpp_host_events_total",
	  "Options written, read and left out by the host agent." },
	{ .word = "no host agent" }
};

static const char *const asks[] = { "auto", "always", "never" };
static const char *const host_modes[] = { "sender", "receiver" };

/* Where a process has cgroup2, if it has */
static bool cgroup2_of(const char *process, char *path, size_t size)
{
	struct mntent *m = NULL;
	char file[32];
	FILE *mounts;

	snprintf(file, sizeof(file), "/proc/%s/mounts", process);
	mounts = setmntent(file, "r");
	while (mounts && (m = getmntent(mounts)) && strcmp(m->mnt_type, "cgroup2"))
		;
	if (m)
		snprintf(path, size, "%s", m->mnt_dir);
	if (mounts)
		endmntent(mounts);
	return m;
}

/*
 * Where cgroup2 is mounted. `ip netns exec` mounts another /sys, which is without it: this
 * process then goes to the mount namespace of process 1, if that has it.
 */
bool find_cgroup2(char *path, size_t size)
{
	bool there;
	int fd, cwd;

	if (cgroup2_of("self", path, size))
		return true;
	if (!cgroup2_of("1", path, size))
		return false;
	/* which takes the working directory to its root */
	cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);
	there = cwd >= 0 && fd >= 0 && !setns(fd, CLONE_NEWNS) && !fchdir(cwd);
	if (fd >= 0)
		close(fd);
	if (cwd >= 0)
		close(cwd);
	return there;
}

/* A cgroup, by default the root, whose path is then in *path. */
static int open_cgroup(const char **path, int *fd)
{
	static char root[HPCCPP_CGROUP_LEN];
	struct statfs fs;

	if (!find_cgroup2(root, sizeof(root)))
		return system_error("cgroup2 is not mounted, try \"hpccpp check\"");
	if (!*path)
		*path = root;
	*fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return errno_error(errno, "cannot open cgroup \"%s\"", *path);
	if (fstatfs(*fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC) {
		close(*fd);
		return system_error("cgroup \"%s\" is wrong: allowed are directories of cgroup2, which is mounted on \"%s\"",
				    *path, root);
	}
	return EXIT_DONE;
}

/*
 * Our program on a cgroup, an fd or -1; with BPF_F_QUERY_EFFECTIVE also one
 * that it has from a parent.
 */
static int find_host(int cgroup, const char *path, __u32 flags, __u32 *id, int *prog)
{
	__u32 ids[PROGS], n = PROGS, i;
	int ret = EXIT_DONE;

	*prog = -1;
	/* a cgroup that is gone meanwhile has none */
	if (bpf_prog_query(cgroup, BPF_CGROUP_SOCK_OPS, flags, NULL, ids, &n))
		return errno == ENOENT ? EXIT_DONE :
		       errno_error(errno, "cannot query the programs of cgroup \"%s\"", path);
	for (i = 0; i < n && *prog < 0 && !ret; i++) {
		*id = ids[i];
		ret = prog_open(ids[i], PROG_NAME, prog);
	}
	return ret;
}

/* A key's bytes in hexadecimal digits; nothing of them is ever printed. */
static int read_key(const char *path, struct hpccpp_key *key)
{
	char text[2 * HPCCPP_KEY_LEN + 3] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0, len, i;
	struct stat st;
	ssize_t got;
	bool done;

	if (fd < 0 || fstat(fd, &st)) {
		if (fd >= 0)
			close(fd);
		return errno_error(errno, "cannot open key-file \"%s\"", path);
	}
	if (S_ISREG(st.st_mode) && st.st_mode & 077) {
		close(fd);
		return system_error("key-file \"%s\" is wrong: allowed are files that none but their owner may read or write",
				    path);
	}
	while (have < sizeof(text) - 1 &&
	       (got = read(fd, text + have, sizeof(text) - 1 - have)) > 0)
		have += got;
	if (have < sizeof(text) - 1 && got < 0) {
		close(fd);
		return errno_error(errno, "cannot read key-file \"%s\"", path);
	}
	close(fd);
	text[have] = '\0';
	len = strspn(text, "0123456789abcdefABCDEF");
	if (text[len] == '\n')
		have--;
	done = len == 2 * HPCCPP_KEY_LEN && have == len;
	for (i = 0; i < HPCCPP_KEY_LEN && done; i++)
		done = sscanf(text + 2 * i, "%2hhx", (__u8 *)key + i) == 1;
	explicit_bzero(text, sizeof(text));
	if (!done)
		return system_error("key-file \"%s\" is wrong: allowed are %u hexadecimal digits and a line end",
				    path, 2 * HPCCPP_KEY_LEN);
	return EXIT_DONE;
}

static int read_keys(const char **path, unsigned int n, bool require,
		     struct hpccpp_host_keys *keys)
{
	int ret = EXIT_DONE;

	memset(keys, 0, sizeof(*keys));
	if (require && !n)
		return usage_error("\"require\" is wrong without a \"key-file\"");
	keys->require = require;
	for (; keys->n < n && !ret; keys->n++)
		ret = read_key(path[keys->n], &keys->key[keys->n]);
	return ret;
}

static int write_maps(struct host_bpf *skel, const struct hpccpp_host_cfg *cfg,
		      const struct hpccpp_prefix *prefixes,
		      const struct hpccpp_host_keys *keys)
{
	__u32 zero = 0;
	int err;

	err = bpf_map__update_elem(skel->maps.host, &zero, sizeof(zero), cfg,
				   sizeof(*cfg), BPF_ANY);
	if (!err)
		err = bpf_map__update_elem(skel->maps.host_keys, &zero, sizeof(zero),
					   keys, sizeof(*keys), BPF_ANY);
	if (!err)
		err = write_prefixes(skel->maps.host_prefix, prefixes, cfg->prefixes);
	return err;
}

/* In the place of an old program, unless that is -1: each packet passes one of them. */
static int put_program(int cgroup, int prog, int old, const char *path)
{
	DECLARE_LIBBPF_OPTS(bpf_prog_attach_opts, opts, .flags = BPF_F_ALLOW_MULTI);
	int err;

	if (old >= 0) {
		opts.flags |= BPF_F_REPLACE;
		opts.replace_prog_fd = old;
	}
	err = bpf_prog_attach_opts(prog, cgroup, BPF_CGROUP_SOCK_OPS, &opts);
	if (!err)
		return EXIT_DONE;
	return errno_error(err, "cannot attach to cgroup \"%s\"%s", path, err == -EPERM ?
			   " beside an exclusive program, there or above" : "");
}

/* What sockets have, and the counters, go on with the agent that is replaced. */
static void keep_maps(struct host_bpf *skel, int old)
{
	prog_keep_map(old, skel->maps.host_stats);
	prog_keep_map(old, skel->maps.host_sk);
	prog_keep_map(old, skel->maps.host_rx);
	prog_keep_map(old, skel->maps.host_links);
	prog_keep_map(old, skel->maps.host_peers);
	prog_keep_map(old, skel->maps.host_answers);
	prog_keep_map(old, skel->maps.host_listeners);
}

static int load(int cgroup, int old, const struct hpccpp_host_cfg *cfg,
		const struct hpccpp_prefix *prefixes,
		const struct hpccpp_host_keys *keys)
{
	struct host_bpf *skel = host_bpf__open();
	int err, ret = EXIT_DONE;

	if (!skel)
		return untyped_load_error(errno, "host");
	skel->rodata->tags = keys->n;
	skel->rodata->windows = cfg->mode == HPCCPP_MODE_RECEIVER;
	if (old >= 0)
		keep_maps(skel, old);
	err = host_bpf__load(skel);
	if (err)
		ret = untyped_load_error(err, "host");
	if (!ret) {
		err = write_maps(skel, cfg, prefixes, keys) ?:
		      bind_words(bpf_program__fd(skel->progs.hpccpp_host)) ?:
		      prog_set_version(bpf_program__fd(skel->progs.hpccpp_host), cfg->cgroup);
		if (err)
			ret = errno_error(err, "cannot configure the host agent");
	}
	if (!ret)
		ret = put_program(cgroup, bpf_program__fd(skel->progs.hpccpp_host), old,
				  cfg->cgroup);
	host_bpf__destroy(skel);
	return ret;
}

/* Whether a directory is the root of what is mounted there */
static bool is_mount(int fd)
{
	struct statx st;

	return !statx(fd, "", AT_EMPTY_PATH, 0, &st) &&
	       st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* One child, which may be gone meanwhile, for a parent that is to have an agent */
static int check_child(const char *path, const char *parent)
{
	int fd, prog, ret;
	__u32 id;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? EXIT_DONE :
		       errno_error(errno, "cannot open cgroup \"%s\"", path);
	if (is_mount(fd)) {
		close(fd);
		return system_error("cannot look for host agents in cgroup \"%s\": something is mounted over it",
				    path);
	}
	ret = find_host(fd, path, 0, &id, &prog);
	close(fd);
	if (ret || prog < 0)
		return ret;
	close(prog);
	return system_error("a host agent exists already on cgroup \"%s\", below \"%s\"",
			    path, parent);
}

static int check_children(const char *path)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	int ret = EXIT_DONE;
	FTSENT *entry;

	if (!tree)
		return errno_error(errno, "cannot read cgroup \"%s\"", path);
	errno = 0;
	while (!ret && (entry = fts_read(tree))) {
		if (entry->fts_info == FTS_D && entry->fts_level > FTS_ROOTLEVEL)
			ret = check_child(entry->fts_path, path);
		else if ((entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) &&
			 entry->fts_errno != ENOENT)
			ret = errno_error(entry->fts_errno, "cannot read cgroup \"%s\"",
					  entry->fts_path);
		errno = 0;
	}
	if (!ret && errno)
		ret = errno_error(errno, "cannot read cgroup \"%s\"", path);
	fts_close(tree);
	return ret;
}

/*
 * Two agents would both serve one socket: none is above or below another. *old is that of
 * the cgroup itself, with replace, or else -1.
 */
static int check_place(int cgroup, const char *path, bool replace, int *old)
{
	int prog, ret;
	__u32 id;

	*old = -1;
	if (replace) {
		ret = find_host(cgroup, path, 0, &id, old);
		if (ret || *old >= 0)
			return ret;
	}
	ret = find_host(cgroup, path, BPF_F_QUERY_EFFECTIVE, &id, &prog);
	if (ret)
		return ret;
	if (prog >= 0) {
		close(prog);
		return system_error("a host agent exists already on cgroup \"%s\" or above it",
				    path);
	}
	return check_children(path);
}

static int put_on(int cgroup, bool replace, const struct hpccpp_host_cfg *cfg,
		  const struct hpccpp_prefix *prefixes,
		  const struct hpccpp_host_keys *keys)
{
	int old, ret;

	/* agents above and below may be about to go */
	if (opt.dry_run)
		return EXIT_DONE;
	ret = check_place(cgroup, cfg->cgroup, replace, &old);
	if (!ret)
		ret = load(cgroup, old, cfg, prefixes, keys);
	if (old >= 0)
		close(old);
	return ret;
}

/* Whether a text is a word or abbreviates it */
static bool begins(const char *text, const char *word)
{
	return *text && !strncmp(word, text, strlen(text));
}

static int arg_every(const struct argument *arg, const char *text)
{
	struct hpccpp_host_cfg *cfg = arg->to;
	unsigned int every = 0;

	if (!begins(text, "rtt") && !read_uint(text, 1, EVERY_MAX, &every))
		return usage_error("%s \"%s\" is wrong: allowed are 1 to %u, rtt%s",
				   arg->name, text, EVERY_MAX, zero_hint(text));
	cfg->every = every;
	return EXIT_DONE;
}

/* cdg is refused to eBPF programs by the kernel. */
static bool can_stand_in(const char *name)
{
	return strcmp(name, "hpccpp") && strcmp(name, "cdg");
}

/*
 * What a flow would have without hpccpp: what was asked for, else the default of this
 * network namespace, or if that is hpccpp the kernel's own.
 */
static int find_fallback(const char *name, struct hpccpp_host_cfg *cfg)
{
	char available[1024], by_default[sizeof(cfg->fallback)];

	if (!*read_line(CC_AVAILABLE, available, sizeof(available)))
		return errno_error(errno, "cannot read \"%s\"", CC_AVAILABLE);
	if (!*read_line(CC_DEFAULT, by_default, sizeof(by_default)))
		return errno_error(errno, "cannot read \"%s\"", CC_DEFAULT);
	if (name && (!has_word(available, name) || !can_stand_in(name)))
		return usage_error("fallback \"%s\" is wrong: allowed are those of \"%s\" but hpccpp and cdg",
				   name, available);
	if (!name)
		name = can_stand_in(by_default) ? by_default :
		       has_word(available, "cubic") ? "cubic" : "reno";
	strcpy(cfg->fallback, name);
	return EXIT_DONE;
}

/* The path of a cgroup below this mount of cgroup2, or NULL */
static char *path_below(const char *mount, int cgroup)
{
	union {
		struct file_handle handle;
		char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { .handle.handle_bytes = MAX_HANDLE_SZ };
	int fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -1, id;
	char link[32], *path = NULL;
	struct stat there, st;

	if (fd >= 0 && !name_to_handle_at(cgroup, "", &h.handle, &id, AT_EMPTY_PATH))
		found = open_by_handle_at(fd, &h.handle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (found >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
		path = realpath(link, NULL);
		close(found);
	}
	if (fd >= 0)
		close(fd);
	if (path && (stat(path, &there) || fstat(cgroup, &st) ||
		     there.st_dev != st.st_dev || there.st_ino != st.st_ino)) {
		free(path);
		path = NULL;
	}
	return path;
}

/*
 * The path of a cgroup below the first mount that has it: the one that it was given by
 * may be a bind mount, which is gone when show looks.
 */
static char *mounted_path(int cgroup)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	char *path = NULL;

	while (mounts && !path && (m = getmntent(mounts))) {
		if (!strcmp(m->mnt_type, "cgroup2"))
			path = path_below(m->mnt_dir, cgroup);
	}
	if (mounts)
		endmntent(mounts);
	return path;
}

/* The cgroup's path as show says it, who may run elsewhere */
static int absolute_path(const char *path, int cgroup, struct hpccpp_host_cfg *cfg)
{
	char *full = mounted_path(cgroup) ?: realpath(path, NULL);
	int ret = EXIT_DONE;

	if (!full)
		return errno_error(errno, "cannot resolve cgroup \"%s\"", path);
	if (strlen(full) < sizeof(cfg->cgroup))
		strcpy(cfg->cgroup, full);
	else
		ret = system_error("cgroup \"%s\" is wrong: allowed are paths of up to %u characters",
				   full, HPCCPP_CGROUP_LEN - 1);
	free(full);
	return ret;
}

/* In /run of where the search for cgroup2 leads */
static int lock_hosts(void)
{
	char root[HPCCPP_CGROUP_LEN];

	find_cgroup2(root, sizeof(root));
	return lock_agents();
}

/* The agent of a cgroup that has one: both as descriptors, the caller's to close */
static int open_host(const char **path, int *fd, int *prog)
{
	int ret = open_cgroup(path, fd);
	__u32 id;

	if (ret)
		return ret;
	ret = find_host(*fd, *path, 0, &id, prog);
	if (!ret && *prog < 0)
		ret = system_error("there is no host agent on cgroup \"%s\"", *path);
	if (ret)
		close(*fd);
	return ret;
}

static int read_cfg(int prog, struct hpccpp_host_cfg *cfg)
{
	int ret = prog_entry(prog, "host", cfg, sizeof(*cfg));

	cfg->cgroup[sizeof(cfg->cgroup) - 1] = '\0';
	cfg->fallback[sizeof(cfg->fallback) - 1] = '\0';
	return ret;
}

/* What the agent was told stands for what is not given, and the fallback that it has. */
static int read_back(const char *path, struct argument *args, size_t n, struct words *w,
		     struct hpccpp_host_cfg *was)
{
	int fd, prog, ret;

	ret = open_host(&path, &fd, &prog);
	if (ret)
		return ret;
	ret = parse_kept(prog, args, n, w) ?: read_cfg(prog, was);
	close(prog);
	close(fd);
	return ret;
}

static int put_host(enum put how, int argc, char **argv)
{
	enum { CGROUP, ASK, RECORDS, EVERY, PREFIX, MODE, FALLBACK, KEY_FILE, REQUIRE };
	unsigned int ask = HPCCPP_ASK_AUTO, mode = HPCCPP_MODE_SENDER, records = 1;
	const char *path = NULL, *fallback = NULL, *key[HPCCPP_KEYS];
	struct hpccpp_prefix prefixes[HPCCPP_PREFIXES];
	struct hpccpp_host_cfg cfg = {}, was;
	struct hpccpp_host_keys keys;
	struct words kept;
	struct argument args[] = {
		[CGROUP] = { ARG("cgroup", arg_text, &path), .bare = true, .place = true },
		[ASK] = { ARG("ask", arg_word, &ask),
			  .words = asks, .high = ARRAY_SIZE(asks) },
		[RECORDS] = { ARG("records", arg_uint, &records),
			      .low = 1, .high = HPCCPP_REC_MAX },
		[EVERY] = { ARG("every", arg_every, &cfg) },
		[PREFIX] = { ARG("prefix", arg_prefix, prefixes),
			     .max = HPCCPP_PREFIXES },
		[MODE] = { ARG("mode", arg_word, &mode),
			   .words = host_modes, .high = ARRAY_SIZE(host_modes) },
		[FALLBACK] = { ARG("fallback", arg_text, &fallback) },
		[KEY_FILE] = { ARG("key-file", arg_text, key), .path = true,
			       .max = HPCCPP_KEYS },
		[REQUIRE] = { .name = "require" },
	};
	int fd, ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret)
		ret = lock_hosts();
	if (!ret && how == PUT_CHANGE)
		ret = read_back(path, args, ARRAY_SIZE(args), &kept, &was);
	if (!ret && how == PUT_CHANGE && !fallback)
		fallback = was.fallback;
	if (!ret && mode == HPCCPP_MODE_RECEIVER && args[KEY_FILE].n)
		ret = usage_error("\"key-file\" is wrong with mode receiver: windows have no tags");
	if (!ret)
		ret = find_fallback(fallback, &cfg);
	if (!ret)
		ret = read_keys(key, args[KEY_FILE].n, args[REQUIRE].n, &keys);
	if (!ret)
		ret = open_cgroup(&path, &fd);
	if (ret)
		return ret;
	cfg.ask = ask;
	cfg.mode = mode;
	cfg.records = records;
	cfg.prefixes = args[PREFIX].n;
	ret = absolute_path(path, fd, &cfg);
	if (!ret)
		ret = put_on(fd, how != PUT_ADD, &cfg, prefixes, &keys);
	explicit_bzero(&keys, sizeof(keys));
	close(fd);
	return ret;
}

static int host_add(int argc, char **argv)
{
	return put_host(PUT_ADD, argc, argv);
}

static int host_replace(int argc, char **argv)
{
	return put_host(PUT_REPLACE, argc, argv);
}

static int host_change(int argc, char **argv)
{
	return put_host(PUT_CHANGE, argc, argv);
}

static int set_keys(int prog, const char *path, const struct hpccpp_host_keys *keys)
{
	int map = prog_map(prog, "host_keys", sizeof(*keys));
	struct hpccpp_host_keys old;
	int ret = EXIT_DONE;
	__u32 zero = 0;

	if (map < 0 || bpf_map_lookup_elem(map, &zero, &old))
		ret = prog_map_error("host_keys");
	else if (!old.n)
		ret = system_error("the host agent on cgroup \"%s\" was added without a key: delete and add it",
				   path);
	else if (bpf_map_update_elem(map, &zero, keys, BPF_ANY))
		ret = errno_error(errno, "cannot set the keys of the host agent");
	explicit_bzero(&old, sizeof(old));
	if (map >= 0)
		close(map);
	return ret;
}

/* New keys, and whether tags are required, for an agent that looks at tags */
static int host_key(int argc, char **argv)
{
	enum { CGROUP, KEY_FILE, REQUIRE };
	const char *path = NULL, *key[HPCCPP_KEYS];
	struct argument args[] = {
		[CGROUP] = { ARG("cgroup", arg_text, &path), .bare = true, .place = true },
		[KEY_FILE] = { ARG("key-file", arg_text, key), .path = true,
			       .max = HPCCPP_KEYS },
		[REQUIRE] = { .name = "require" },
	};
	struct hpccpp_host_keys keys;
	int fd, prog, ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && !args[KEY_FILE].n)
		ret = usage_error("\"key-file\" is missing, try \"hpccpp host help\"");
	if (!ret)
		ret = read_keys(key, args[KEY_FILE].n, args[REQUIRE].n, &keys);
	if (!ret)
		ret = lock_hosts();
	if (!ret)
		ret = open_host(&path, &fd, &prog);
	if (!ret) {
		ret = set_keys(prog, path, &keys) ?:
		      keep_words(prog, args, ARRAY_SIZE(args));
		close(prog);
		close(fd);
	}
	explicit_bzero(&keys, sizeof(keys));
	return ret;
}

/* Opens, under the lock, the agent of the cgroup that the arguments name. */
static int open_named(int argc, char **argv, const char **path, int *fd, int *prog)
{
	struct argument args[] = {
		{ ARG("cgroup", arg_text, path), .bare = true },
	};

	*path = NULL;
	return parse_arguments(args, ARRAY_SIZE(args), argc, argv) ?: lock_hosts() ?:
	       open_host(path, fd, prog);
}

static int host_flush(int argc, char **argv)
{
	const char *path;
	int fd, prog, ret;

	ret = open_named(argc, argv, &path, &fd, &prog);
	if (ret)
		return ret;
	ret = flush_peers(prog);
	close(prog);
	close(fd);
	return ret;
}

static int host_delete(int argc, char **argv)
{
	const char *path;
	int fd, prog, ret;

	ret = open_named(argc, argv, &path, &fd, &prog);
	if (ret)
		return ret;
	if (bpf_prog_detach2(prog, fd, BPF_CGROUP_SOCK_OPS))
		ret = errno_error(errno, "cannot remove the host agent of cgroup \"%s\"",
				  path);
	close(prog);
	close(fd);
	return ret;
}

static struct json_object *host_row(const struct hpccpp_host_cfg *cfg,
				    const struct hpccpp_host_keys *keys)
{
	struct json_object *row = json_object_new_object();

	put_str(row, "cgroup", cfg->cgroup);
	put_str(row, "ask", asks[cfg->ask % ARRAY_SIZE(asks)]);
	put_num(row, "records", cfg->records);
	put_num(row, "every", cfg->every);
	put_str(row, "mode", host_modes[cfg->mode % ARRAY_SIZE(host_modes)]);
	put_str(row, "fallback", cfg->fallback);
	put_num(row, "keys", keys->n);
	put_bool(row, "require", keys->require);
	return row;
}

/* How many there are, and no more */
static int count_keys(int prog, struct hpccpp_host_keys *keys)
{
	int ret = prog_entry(prog, "host_keys", keys, sizeof(*keys));

	explicit_bzero(keys->key, sizeof(keys->key));
	return ret;
}

static int add_row(int prog, struct json_object *rows)
{
	static const char *const names[] = HPCCPP_HOST_STAT_NAMES;
	__u64 stats[HPCCPP_HS_MAX];
	struct hpccpp_host_keys keys;
	struct json_object *row;
	struct hpccpp_host_cfg cfg;
	int ret;

	ret = read_cfg(prog, &cfg);
	if (!ret)
		ret = prog_stats(prog, "host_stats", stats, HPCCPP_HS_MAX);
	if (!ret)
		ret = count_keys(prog, &keys);
	if (ret)
		return ret;
	row = host_row(&cfg, &keys);
	ret = put_prefixes(row, "prefix", prog, "host_prefix") ?: put_peers(row, prog);
	put_words(row, prog);
	put_counts(row, "stats", names, stats, HPCCPP_HS_MAX);
	json_object_array_add(rows, row);
	return ret;
}

/* Whether a program is at that path, as its map says; it may be out of sight. */
static bool attached(const char *path, __u32 id)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -1;
	struct statfs fs;
	__u32 there = 0;

	if (fd >= 0 && (fstatfs(fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		return false;
	if (find_host(fd, path, 0, &there, &found))
		there = 0;
	if (found >= 0)
		close(found);
	close(fd);
	return there == id;
}

/* A program of ours, if it is attached. Of which cgroup is in its map alone. */
static int add_host(int prog, __u32 id, bool seen, struct json_object *rows)
{
	size_t first = json_object_array_length(rows);
	struct hpccpp_version about;
	int ret = EXIT_DONE;

	/* a program that is about to be attached, or is only tried, has none yet */
	if (!prog_version(prog, &about))
		return EXIT_DONE;
	if (!seen)
		return system_error("cannot look for the host agent of cgroup \"%s\": cgroup2 is not mounted here",
				    about.cgroup);
	subject = about.cgroup;
	if (attached(about.cgroup, id))
		ret = prog_finish_rows(prog, "cgroup", about.cgroup, add_row(prog, rows),
				       first, rows);
	subject = NULL;
	return ret;
}

static int one_host(const char *path, struct json_object *rows)
{
	size_t first = json_object_array_length(rows);
	int fd, prog, ret;
	__u32 id;

	ret = open_cgroup(&path, &fd);
	if (ret)
		return ret;
	ret = find_host(fd, path, 0, &id, &prog);
	if (prog >= 0) {
		ret = prog_finish_rows(prog, "cgroup", path, add_row(prog, rows), first, rows);
		close(prog);
	}
	close(fd);
	return ret;
}

/* The agents of one cgroup, or of all with NULL. It goes on after one that cannot be read. */
int host_rows(const char *path, struct json_object *rows)
{
	int ret = EXIT_DONE, err, prog;
	char root[HPCCPP_CGROUP_LEN];
	__u32 id = 0;
	bool seen;

	if (path)
		return one_host(path, rows);
	/* the paths in the agents' maps are those of that mount */
	seen = find_cgroup2(root, sizeof(root));
	while (!bpf_prog_get_next_id(id, &id)) {
		err = prog_open(id, PROG_NAME, &prog);
		if (err)
			return err;
		if (prog < 0)
			continue;
		ret = add_host(prog, id, seen, rows) ?: ret;
		close(prog);
	}
	if (errno != ENOENT)
		ret = errno_error(errno, "cannot list eBPF programs");
	return ret;
}

int host_probe(void)
{
	struct host_bpf *skel = host_bpf__open_and_load();
	int err = skel ? 0 : -errno;

	host_bpf__destroy(skel);
	return err;
}

static int host_show(int argc, char **argv)
{
	const char *path = NULL;
	struct argument args[] = {
		{ ARG("cgroup", arg_text, &path), .bare = true },
	};
	struct json_object *rows;
	int ret;

	ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (ret)
		return ret;
	rows = json_object_new_array();
	return show_rows(host_fields, rows, host_rows(path, rows));
}

int host_main(int argc, char **argv)
{
	static const struct command cmds[] = {
		{ "add", host_add },
		{ "replace", host_replace },
		{ "change", host_change },
		{ "delete", host_delete },
		{ "flush", host_flush },
		{ "key", host_key },
		{ "setup", host_setup },
		{ "show", host_show },
		{ "list", host_show },
		{ "help", NULL },
	};

	return run_command(cmds, ARRAY_SIZE(cmds), "host", usage, argc, argv);
}
