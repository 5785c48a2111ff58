// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of a port, from the command into the kernel and onto its device.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_ether.h>
#include <sys/wait.h>

#include "hpccpp.h"
#include "port.h"
#include "port.skel.h"
#include "port_typed.skel.h"

static int write_responses(const struct port_bpf *skel, const struct port_plan *p)
{
	__u32 zero = 0;
	int err;

	err = bpf_map__update_elem(skel->maps.port_response, &zero, sizeof(zero),
				   &p->response, sizeof(p->response), BPF_ANY);
	if (!err)
		err = write_prefixes(skel->maps.port_accept, p->accept,
				     p->response.accepts);
	if (!err)
		err = write_prefixes(skel->maps.port_capable, p->capable,
				     p->roce.capables);
	if (p->has_roce && !err)
		err = bpf_map__update_elem(skel->maps.port_roce, &zero, sizeof(zero),
					   &p->roce, sizeof(p->roce), BPF_ANY);
	return err;
}

/* All queues are told the same: the program adds the queue to the link id. */
static int write_cfg(int map, const struct hpccpp_port_cfg *cfg)
{
	const struct hpccpp_port port = { .cfg = *cfg };
	__u32 i;

	for (i = 0; i < cfg->queues; i++) {
		if (bpf_map_update_elem(map, &i, &port, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* The same in a map that programs write to: by one, which has their lock. */
static int set_cfg(int prog, const struct hpccpp_port_cfg *cfg)
{
	static const char frame[ETH_HLEN];
	struct __sk_buff skb = {};
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, run,
			    .data_in = frame, .data_size_in = sizeof(frame),
			    .ctx_in = &skb, .ctx_size_in = sizeof(skb));
	int err = 0;

	for (; skb.mark < cfg->queues && !err; skb.mark++)
		err = bpf_prog_test_run_opts(prog, &run);
	return err;
}

/* Whether it takes more than the smallest program */
static bool has_extras(const struct hpccpp_port_cfg *cfg)
{
	return cfg->above || cfg->subscribed || cfg->respond;
}

static struct bpf_program *egress_prog(const struct port_bpf *skel, const struct port_plan *p)
{
	if (p->cfg.on_ingress)
		return NULL;
	if (p->has_roce)
		return skel->progs.hpccpp_port_cnp;
	return has_extras(&p->cfg) ? skel->progs.hpccpp_port_ext : skel->progs.hpccpp_port;
}

static struct bpf_program *ingress_prog(const struct port_bpf *skel, const struct port_plan *p)
{
	if (p->cfg.on_ingress)
		return skel->progs.hpccpp_edge;
	if (!p->cfg.ingress)
		return NULL;
	return p->has_roce ? skel->progs.hpccpp_port_cin : skel->progs.hpccpp_port_in;
}

/* Returns the fd of a program that is loaded, or -1 if there is none. */
static int fd_of(const struct bpf_program *prog)
{
	return prog ? bpf_program__fd(prog) : -1;
}

/* Returns the program by which `port show` finds the maps of the port. */
static int main_prog(const struct port_bpf *skel, const struct port_plan *p)
{
	return fd_of(p->cfg.on_ingress ? ingress_prog(skel, p) : egress_prog(skel, p));
}

/*
 * A signal in between would leave a program that goes by what another was told: its words
 * are not those that its configuration is of, and so it is stale.
 */
static int attach(struct port_bpf *skel, const struct port_plan *p)
{
	sigset_t all, old;
	int ret, err = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	ret = attach_programs(p->cfg.on_ingress ? DEV_EDGE : DEV_PORT, p->dev, p->ifindex,
			      p->replace, fd_of(ingress_prog(skel, p)),
			      fd_of(egress_prog(skel, p)));
	if (!ret && p->keeps)
		err = set_cfg(bpf_program__fd(skel->progs.hpccpp_port_set), &p->cfg);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err ? errno_error(err, "cannot configure the port on %s", p->dev) : ret;
}

static int bind_maps(const struct port_bpf *skel, const struct port_plan *p)
{
	int prog = main_prog(skel, p), err = bind_words(prog);

	if (err || !p->cfg.ingress)
		return err;
	err = bind_words(bpf_program__fd(ingress_prog(skel, p)));
	if (err)
		return err;
	if (bpf_prog_bind_map(prog, bpf_map__fd(skel->maps.port_response), NULL) ||
	    bpf_prog_bind_map(prog, bpf_map__fd(skel->maps.port_accept), NULL))
		return -errno;
	return 0;
}

/* port_bpf__open_opts(), of either object: they have the same maps and programs. */
static struct port_bpf *open_skeleton(bool typed)
{
	/* types of a kernel that does not have its own with it */
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, opts,
			    .btf_custom_path = getenv("HPCCPP_BTF"));
	struct port_bpf *skel = calloc(1, sizeof(*skel));
	int err;

	if (!skel)
		return NULL;
	err = port_bpf__create_skeleton(skel);
	if (!err && typed)
		skel->skeleton->data =
			port_typed_bpf__elf_bytes(&skel->skeleton->data_sz);
	if (!err)
		err = bpf_object__open_skeleton(skel->skeleton, &opts);
	if (err) {
		port_bpf__destroy(skel);
		errno = -err;
		return NULL;
	}
	return skel;
}

/*
 * The limit of responses goes on where a port is replaced, and so does the mark: copies of
 * the old one that are on their way to ingress are known there. Not so where they may be to
 * become Fast CNPs, and the new one makes none.
 */
static void keep_response(struct port_plan *p)
{
	int map = prog_map(p->old, "port_response", sizeof(struct hpccpp_port_response));
	int roce = prog_map(p->old, "port_roce", sizeof(struct hpccpp_port_roce));
	struct hpccpp_port_response r = {};
	__u32 zero = 0;

	if (map >= 0 && !bpf_map_lookup_elem_flags(map, &zero, &r, BPF_F_LOCK)) {
		p->response.next = r.next;
		if (r.mark && p->cfg.mark && (roce < 0 || p->has_roce)) {
			p->response.mark = r.mark;
			p->cfg.mark = r.mark;
		}
	}
	if (map >= 0)
		close(map);
	if (roce >= 0)
		close(roce);
}

/* The first queue of the port that is replaced */
bool port_read_old(const struct port_plan *p, struct hpccpp_port *was)
{
	int map = p->old < 0 ? -1 : prog_map(p->old, "port", sizeof(*was));
	__u32 zero = 0;
	bool there;

	there = map >= 0 && !bpf_map_lookup_elem_flags(map, &zero, was, BPF_F_LOCK);
	if (map >= 0)
		close(map);
	return there;
}

/* Returns true if the port that is replaced has counted any packet. */
static bool has_counted(const struct port_plan *p)
{
	__u64 stats[HPCCPP_PS_MAX], sum = 0;
	size_t i;

	if (prog_stats(p->old, "port_stats", stats, HPCCPP_PS_MAX))
		return true;
	for (i = 0; i < HPCCPP_PS_MAX; i++)
		sum += stats[i];
	return sum;
}

/* What packets have left behind goes on with the port that is replaced. */
static void keep_maps(struct port_bpf *skel, struct port_plan *p)
{
	struct hpccpp_port was;

	p->keeps = p->old >= 0 && prog_keep_map(p->old, skel->maps.port);
	if (p->old < 0)
		return;
	/* keeps the sent counter of the replaced port, unless that port has counted no packet */
	if (prog_keep_map(p->old, skel->maps.port_stats) && port_read_old(p, &was) &&
	    has_counted(p))
		p->cfg.sent = was.cfg.sent;
	prog_keep_map(p->old, skel->maps.port_answered);
	prog_keep_map(p->old, skel->maps.port_seen);
}

/* The programs that this port needs, in the kernel; NULL and errno when it refuses. */
static struct port_bpf *load_skeleton(struct port_plan *p, bool typed)
{
	const struct hpccpp_port_cfg *cfg = &p->cfg;
	struct port_bpf *skel = open_skeleton(typed);
	struct bpf_program *prog;
	int err;

	if (!skel)
		return NULL;
	skel->rodata->reads_qdisc = cfg->queue == HPCCPP_QUEUE_QDISC;
	skel->rodata->several_queues = cfg->mq;
	bpf_map__set_autocreate(skel->maps.port_roce, p->has_roce);
	bpf_map__set_autocreate(skel->maps.port_space, p->has_roce);
	bpf_map__set_autocreate(skel->maps.port_capable, p->has_roce);
	err = bpf_map__set_max_entries(skel->maps.port, cfg->queues);
	if (!err && !cfg->mark)
		err = bpf_map__set_max_entries(skel->maps.port_answered, 1);
	if (!err)
		keep_maps(skel, p);
	skel->rodata->cfg_to_set = *cfg;
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, prog == egress_prog(skel, p) ||
					  prog == ingress_prog(skel, p) ||
					  (p->keeps && prog == skel->progs.hpccpp_port_set));
	if (!err)
		err = port_bpf__load(skel);
	if (err) {
		port_bpf__destroy(skel);
		errno = -err;
		return NULL;
	}
	return skel;
}

int port_load(struct port_plan *p)
{
	struct port_bpf *skel = NULL;
	int ret;

	p->cfg.told = hash_words(&given);
	if (p->old >= 0)
		keep_response(p);
	/* whether the kernel knows the types of pointers it says itself */
	if (p->cfg.queue == HPCCPP_QUEUE_QDISC && !getenv("HPCCPP_BTF"))
		skel = load_skeleton(p, true);
	if (!skel)
		skel = load_skeleton(p, false);
	if (!skel)
		return load_error(errno, "port");
	ret = bind_maps(skel, p);
	if (!ret && !p->keeps)
		ret = write_cfg(bpf_map__fd(skel->maps.port), &p->cfg);
	if (!ret)
		ret = write_responses(skel, p);
	ret = ret ? load_error(ret, "port") : attach(skel, p);
	port_bpf__destroy(skel);
	return ret;
}

/*
 * In a process and a namespace of its own, on loopback: nothing here is touched
 * and nothing is left. In lockdown "confidentiality" it tries a virtual queue.
 */
int port_probe(void)
{
	struct port_plan p = {
		.dev = "lo", .ifindex = 1, .old = -1,
		.cfg = { .rate = HPCCPP_RATE_MIN, .queues = 1, .base_rtt = PORT_BASE_RTT,
			 .queue = in_lockdown() ? HPCCPP_QUEUE_VIRTUAL : HPCCPP_QUEUE_QDISC },
	};
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		if (unshare(CLONE_NEWNET) || null < 0)
			_exit(errno);
		if (!opt.verbose)
			dup2(null, STDERR_FILENO);
		_exit(port_load(&p) ? EINVAL : 0);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}
