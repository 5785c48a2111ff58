// SPDX-License-Identifier: GPL-2.0
/*
 * Where the programs of an agent on a device are, on ingress and egress: on tcx, which
 * Linux has from 6.6 on, and before that in filters of a clsact.
 *
 * On tcx they are in front of all that is there when they come, so that no other's verdict
 * ends the chain before them. It takes no qdisc, and one program takes the place of another
 * in one step. Filters have their place by preference, and the clsact goes with the last of
 * them where one of our commands made it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/syscall.h>

#include "hpccpp.h"
#include "hpccpp_cnp.h"

/* Of linux/bpf.h since 6.6 */
#define TCX_INGRESS	46	/* BPF_TCX_INGRESS */
#define TCX_EGRESS	47	/* BPF_TCX_EGRESS */
#define TCX_BEFORE	8	/* BPF_F_BEFORE */
#define TCX_AFTER	16	/* BPF_F_AFTER */
#define TCX_MOST	64	/* programs on a hook: BPF_MPROG_MAX */

#define LOOPBACK	1	/* the index of lo in each namespace */

/* Agents, those that packets meet first at first */
static const struct {
	const char *name;	/* in errors */
	const char *prog;	/* how the names of its programs begin */
	__u32 priority;		/* preference of its filters */
} agents[] = {
	[DEV_PORT] = { "port", "hpccpp_port", HPCCPP_TC_PRIO },
	[DEV_CNP] = { "agent", "hpccpp_cnp", HPCCPP_CNP_PRIO },
	[DEV_EDGE] = { "port on ingress", "hpccpp_edge", HPCCPP_EDGE_PRIO },
};

/* A hook of a device, as an agent has it */
struct hook {
	enum dev_agent agent;
	int ifindex;
	enum bpf_tc_attach_point point;
};

static __u32 tcx_type(const struct hook *h)
{
	return h->point == BPF_TC_INGRESS ? TCX_INGRESS : TCX_EGRESS;
}

/* The programs on a hook, in the order in which packets meet them */
struct chain {
	__u32 ids[TCX_MOST], n;
};

/* 0, or -errno: -EINVAL when the kernel has no tcx */
static int tcx_read(const struct hook *h, struct chain *c)
{
	DECLARE_LIBBPF_OPTS(bpf_prog_query_opts, opts,
			    .prog_ids = c->ids, .prog_cnt = TCX_MOST);
	int err = bpf_prog_query_opts(h->ifindex, tcx_type(h), &opts);

	c->n = err ? 0 : opts.prog_cnt;
	/* there is none yet; the device is gone */
	return err == -ENOENT || err == -ENODEV ? 0 : err;
}

/* 1, 0 or -errno, which is asked of the kernel once */
static int has_tcx(void)
{
	const struct hook lo = { .ifindex = LOOPBACK, .point = BPF_TC_EGRESS };
	static int has = -EAGAIN;
	struct chain c;

	if (has == -EAGAIN) {
		has = tcx_read(&lo, &c) ?: 1;
		if (has == -EINVAL)
			has = 0;
	}
	return has;
}

int check_hooks(void)
{
	int has = has_tcx();

	return has < 0 ? errno_error(has, "cannot read which programs devices have") : EXIT_DONE;
}

bool uses_clsact(void)
{
	return !has_tcx();
}

/*
 * The programs that a new one has to heed on its hook: one of the same agent, and on tcx one
 * of another agent of ours that goes before it, as fds or -1.
 */
struct place {
	int old, behind;
	bool outrun;	/* a program that is none of ours is before them */
};

static void close_place(struct place *p)
{
	if (p->old >= 0)
		close(p->old);
	if (p->behind >= 0)
		close(p->behind);
	*p = (struct place) { .old = -1, .behind = -1 };
}

static int tcx_place(const struct hook *h, struct place *p)
{
	struct chain c;
	int a, ret, fd;
	__u32 i;

	ret = tcx_read(h, &c);
	if (ret)
		return errno_error(ret, "cannot read which programs the device has");
	for (i = 0; i < c.n && p->old < 0; i++) {
		for (fd = -1, a = 0; fd < 0 && a <= (int)h->agent && !ret; a++)
			ret = prog_open(c.ids[i], agents[a].prog, &fd);
		if (ret)
			return ret;
		if (fd < 0) {
			p->outrun = true;
		} else if (a - 1 == (int)h->agent) {
			p->old = fd;
		} else {
			if (p->behind >= 0)
				close(p->behind);
			p->behind = fd;
		}
	}
	return EXIT_DONE;
}

/* bpf_prog_attach_opts() of the libbpf of 2022 knows no other program to come behind. */
static int tcx_attach(const struct hook *h, int prog, __u32 flags, int replaced, int behind)
{
	const struct {
		__u32 ifindex, prog, type, flags, replaced, relative;
		__u64 revision;
	} attr = {
		h->ifindex, prog, tcx_type(h), flags,
		replaced < 0 ? 0 : replaced, behind < 0 ? 0 : behind, 0,
	};

	return syscall(SYS_bpf, BPF_PROG_ATTACH, &attr, sizeof(attr)) ? -errno : 0;
}

static int tcx_detach(const struct hook *h, int prog)
{
	int err = bpf_prog_detach2(prog, h->ifindex, tcx_type(h));

	return err == -ENOENT ? 0 : err;
}

/*
 * One that another has come before goes to the front again, where for a moment packets meet
 * the old program after the new one; else no packet meets both or none.
 */
static int tcx_put(const struct hook *h, int prog, const struct place *p)
{
	int err;

	if (p->old >= 0 && !p->outrun)
		return tcx_attach(h, prog, BPF_F_REPLACE, p->old, -1);
	err = tcx_attach(h, prog, p->behind < 0 ? TCX_BEFORE : TCX_AFTER, -1, p->behind);
	/* without room for both */
	if (err == -ERANGE && p->old >= 0)
		return tcx_attach(h, prog, BPF_F_REPLACE, p->old, -1);
	if (err || p->old < 0)
		return err;
	err = tcx_detach(h, p->old);
	if (err)
		tcx_detach(h, prog);
	return err;
}

/*
 * All programs on a clsact that one of our commands made have this map, whichever
 * agent came first: the last that is deleted takes the clsact with it. What it has for
 * a value is of no account, so that builds understand each other.
 */
#define CLSACT_MAP	"hpccpp_clsact"

static int find_filter(const struct hook *h, int *prog)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = h->ifindex, .attach_point = h->point);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = HPCCPP_TC_HANDLE,
			    .priority = agents[h->agent].priority);
	int err = bpf_tc_query(&hook, &opts);

	/* no such filter, or another's; no clsact; the device is gone */
	if (err == -ENOENT || err == -EINVAL || err == -ENODEV)
		return EXIT_DONE;
	return err ? errno_error(err, "cannot read which filters the device has") :
		     prog_open(opts.prog_id, agents[h->agent].prog, prog);
}

/* A program in the place of a filter: of the one that is there, or in a free one */
static int put_filter(const struct hook *h, int prog, bool replace)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = h->ifindex, .attach_point = h->point);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = HPCCPP_TC_HANDLE,
			    .priority = agents[h->agent].priority);

	opts.prog_fd = prog;
	opts.flags = replace ? BPF_TC_F_REPLACE : 0;
	return bpf_tc_attach(&hook, &opts);
}

static int remove_filter(const struct hook *h)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = h->ifindex, .attach_point = h->point);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = HPCCPP_TC_HANDLE,
			    .priority = agents[h->agent].priority);
	int err = bpf_tc_detach(&hook, &opts);

	return err == -ENOENT ? 0 : err;
}

/* The map of any of our filters on a device that says whose the clsact is, an fd or -1 */
static int clsact_map(int ifindex)
{
	static const enum bpf_tc_attach_point points[] = { BPF_TC_EGRESS, BPF_TC_INGRESS };
	int map = -1, prog;
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(agents) && map < 0; i++) {
		const struct hook h = { i / 2, ifindex, points[i % 2] };

		prog = -1;
		if (find_filter(&h, &prog) || prog < 0)
			continue;
		map = prog_map(prog, CLSACT_MAP, sizeof(__u32));
		close(prog);
	}
	return map;
}

/* Programs that are to be on a clsact that is made for them, or is there */
static int bind_clsact(int ifindex, bool made, int in, int out)
{
	int map = made ? bpf_map_create(BPF_MAP_TYPE_ARRAY, CLSACT_MAP, sizeof(__u32),
					sizeof(__u32), 1, NULL) :
			 clsact_map(ifindex);
	int err = made && map < 0 ? -errno : 0;

	if (map < 0)
		return err;
	if ((out >= 0 && bpf_prog_bind_map(out, map, NULL)) ||
	    (in >= 0 && bpf_prog_bind_map(in, map, NULL)))
		err = -errno;
	close(map);
	return err;
}

/* A clsact of ours goes with its last filter, which may be somebody's. */
static int remove_clsact(const char *dev, int ifindex)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
			    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	struct filters f;
	int err, ret;

	ret = clsact_filters(ifindex, &f);
	if (ret || f.count)
		return ret;
	err = bpf_tc_hook_destroy(&hook);
	return err ? errno_error(err, "cannot remove the clsact on %s", dev) :
		     EXIT_DONE;
}

/*
 * Finds our filter. Sets p->outrun if another filter of the same preference comes before a port's
 * filter on egress.
 */
static int filter_place(const struct hook *h, struct place *p)
{
	int ret = find_filter(h, &p->old);
	struct filters f;

	if (ret || p->old < 0 || h->agent != DEV_PORT || h->point != BPF_TC_EGRESS)
		return ret;
	ret = clsact_filters(h->ifindex, &f);
	p->outrun = !f.ours_first;
	return ret;
}

static int find_place(const struct hook *h, struct place *p)
{
	int ret;

	*p = (struct place) { .old = -1, .behind = -1 };
	ret = uses_clsact() ? filter_place(h, p) : tcx_place(h, p);
	if (ret)
		close_place(p);
	return ret;
}

/* Our program on a hook of a device: an fd, or -1 without one */
int find_program(enum dev_agent agent, int ifindex, enum bpf_tc_attach_point point, int *prog)
{
	const struct hook h = { agent, ifindex, point };
	struct place p;
	int ret;

	ret = find_place(&h, &p);
	*prog = p.old;
	p.old = -1;
	close_place(&p);
	return ret;
}

/* Whether a program has one of our names, which is then copied */
static bool is_ours(__u32 id, struct bpf_prog_info *info)
{
	__u32 len = sizeof(*info);
	int prog = bpf_prog_get_fd_by_id(id);
	size_t i;

	memset(info, 0, sizeof(*info));
	if (prog < 0)
		return false;
	bpf_obj_get_info_by_fd(prog, info, &len);
	close(prog);
	for (i = 0; i < ARRAY_SIZE(agents); i++) {
		if (!strncmp(info->name, agents[i].prog, strlen(agents[i].prog)))
			return true;
	}
	return false;
}

/* Names those on tcx that packets meet before ours as they leave; false: there is none */
bool find_before(int ifindex, bool on_ingress, char *names, size_t size)
{
	const struct hook h = { on_ingress ? DEV_EDGE : DEV_PORT, ifindex,
				on_ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS };
	struct bpf_prog_info info;
	size_t len = 0;
	struct chain c;
	__u32 i;

	tcx_read(&h, &c);
	for (i = 0; i < c.n && len < size && !is_ours(c.ids[i], &info); i++)
		len += snprintf(names + len, size - len, "%s%s (id %u)", i ? ", " : "",
				info.name, c.ids[i]);
	return i;
}

/*
 * Removes the second of two programs of an agent. A command that is killed between
 * tcx_attach() and tcx_detach() leaves two.
 */
static void tcx_drop_second(const struct hook *h)
{
	bool first = true;
	struct chain c;
	__u32 i;
	int fd;

	tcx_read(h, &c);
	for (i = 0; i < c.n; i++) {
		if (prog_open(c.ids[i], agents[h->agent].prog, &fd) || fd < 0)
			continue;
		if (!first)
			tcx_detach(h, fd);
		first = false;
		close(fd);
	}
}

/*
 * Puts the program in front. Only a new filter comes before all others of its preference, so ours
 * is removed and added again if another has come before it. Packets pass no agent for a moment.
 */
static int filter_put(const struct hook *h, int prog, const struct place *p)
{
	int err;

	if (p->old < 0 || !p->outrun)
		return put_filter(h, prog, p->old >= 0);
	err = remove_filter(h) ?: put_filter(h, prog, false);
	if (err)
		put_filter(h, p->old, false);
	return err;
}

static int put(const struct hook *h, int prog, const struct place *p)
{
	return uses_clsact() ? filter_put(h, prog, p) : tcx_put(h, prog, p);
}

static int take(const struct hook *h, int prog)
{
	return uses_clsact() ? remove_filter(h) : tcx_detach(h, prog);
}

/* As it was before put() */
static void undo(const struct hook *h, int prog, const struct place *p)
{
	if (p->old < 0)
		take(h, prog);
	else if (uses_clsact())
		put_filter(h, p->old, true);
	else
		tcx_attach(h, p->old, BPF_F_REPLACE, prog, -1);
}

/* Both hooks of a device */
struct hooks {
	struct hook in, out;
	struct place at_in, at_out;
};

static int find_places(struct hooks *b, enum dev_agent agent, int ifindex)
{
	int ret;

	b->in = (struct hook) { agent, ifindex, BPF_TC_INGRESS };
	b->out = (struct hook) { agent, ifindex, BPF_TC_EGRESS };
	if (!uses_clsact()) {
		tcx_drop_second(&b->in);
		tcx_drop_second(&b->out);
	}
	ret = find_place(&b->in, &b->at_in);
	if (ret)
		return ret;
	ret = find_place(&b->out, &b->at_out);
	if (ret)
		close_place(&b->at_in);
	return ret;
}

/*
 * Ingress first, for the copies that egress sends there, and what was there until egress
 * sends no more of them.
 */
static int put_both(const struct hooks *b, int in, int out)
{
	int err = 0;

	if (in >= 0)
		err = put(&b->in, in, &b->at_in);
	if (err || out < 0)
		return err;
	err = put(&b->out, out, &b->at_out);
	if (!err && in < 0 && b->at_in.old >= 0)
		return take(&b->in, b->at_in.old);
	if (err && in >= 0)
		undo(&b->in, in, &b->at_in);
	return err;
}

static int put_on_clsact(const char *dev, const struct hooks *b, int in, int out)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = b->out.ifindex,
			    .attach_point = BPF_TC_EGRESS);
	bool own;
	int err;

	err = bpf_tc_hook_create(&hook);
	own = !err;
	if (err && err != -EEXIST)
		return err;
	err = bind_clsact(b->out.ifindex, own, in, out);
	if (!err)
		err = put_both(b, in, out);
	if (err && own)
		remove_clsact(dev, b->out.ifindex);
	return err;
}

/*
 * Attaches programs to both hooks of a device, or to one alone when the other is -1. With replace
 * they replace our programs. Every packet passes the old or the new program, unless a filter of
 * another program has come before ours: packets then pass none for a moment.
 *
 * From making a clsact to attaching no signal is to end us: nobody would
 * remember that the clsact was ours.
 */
int attach_programs(enum dev_agent agent, const char *dev, int ifindex, bool replace, int in,
		    int out)
{
	const char *name = agents[agent].name;
	sigset_t all, old;
	struct hooks b;
	int ret, err;

	ret = find_places(&b, agent, ifindex);
	if (ret)
		return ret;
	if (!replace && (b.at_in.old >= 0 || b.at_out.old >= 0))
		ret = system_error("%s has the %s of another command already", dev, name);
	err = ret ? 0 : prog_set_version(out < 0 ? in : out, "");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	if (!ret && !err)
		err = uses_clsact() ? put_on_clsact(dev, &b, in, out) : put_both(&b, in, out);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close_place(&b.at_in);
	close_place(&b.at_out);
	if (err == -EEXIST)
		return system_error("%s has another's filter at preference %u, where the %s's goes",
				    dev, agents[agent].priority, name);
	if (err == -ERANGE)
		return system_error("%s has %u programs on a hook of tcx, which is as many as there can be",
				    dev, TCX_MOST - 1);
	return err ? errno_error(err, "cannot attach to %s", dev) : ret;
}

/* Removes all programs of an agent from a hook: a killed command may have left two. */
static int take_all(const struct hook *h)
{
	struct place p;
	int err = 0;

	while (!err && !find_place(h, &p) && p.old >= 0) {
		err = take(h, p.old);
		close_place(&p);
	}
	return err;
}

/*
 * Removes the programs of an agent from both hooks, and the clsact if it is ours. No signal
 * comes between: without a filter nothing tells whose it is.
 */
int detach_programs(enum dev_agent agent, const char *dev, int ifindex)
{
	const struct hook ingress = { agent, ifindex, BPF_TC_INGRESS };
	const struct hook egress = { agent, ifindex, BPF_TC_EGRESS };
	int map = uses_clsact() ? clsact_map(ifindex) : -1, err, ret = EXIT_DONE;
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	err = take_all(&egress) ?: take_all(&ingress);
	if (map >= 0)
		close(map);
	if (err)
		ret = errno_error(err, "cannot remove the %s on %s", agents[agent].name, dev);
	else if (map >= 0)
		ret = remove_clsact(dev, ifindex);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ret;
}
