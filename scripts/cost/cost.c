// SPDX-License-Identifier: GPL-2.0
/*
 * How long the agents' programs take, in ns; one object of JSON on stdout.
 *
 *	cost port PROG IFINDEX	a port's program on packets that are made up, by
 *				BPF_PROG_TEST_RUN: "passed", without an option, and
 *				one of one record, which was empty ("stamped"), less
 *				loaded ("replaced") or more ("kept"). Run it in the
 *				device's namespace. The least of ROUNDS means, less
 *				what the same takes without the port's program.
 *	cost host CGROUP [T]	a host's program in what traffic there is, from a
 *				line "timing" until a signal tells it to end. By
 *				callback the calls ("n") and their median ("ns"),
 *				less what the clock takes. With T, us, the flows that
 *				it opens ask for windows, as the module has them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "hpccpp_wire.h"
#include "cost.h"
#include "cost.skel.h"
#include "cost_tell.skel.h"

/* A round is shorter than a time slice, so that some rounds are not interrupted. */
#define ROUNDS		50
#define REPEAT		10000
#define PACKET		1514

static void die(const char *what)
{
	fprintf(stderr, "cost: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct cost_bpf *load_programs(void)
{
	struct cost_bpf *skel = cost_bpf__open_and_load();

	if (!skel)
		die("cannot load the programs");
	return skel;
}

/* The program of this id; what is known of it is said. */
static int prog_by_id(__u32 id)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		die("no such program");
	printf("{ \"instructions\": %u", info.xlated_prog_len / 8);
	return fd;
}

/* --- the port agent --- */

/* IPv4 and TCP, of a segment with timestamps and, if so asked, a collect option. */
static void packet(unsigned char *p, bool option)
{
	unsigned char *ip = p + 14, *tcp = ip + 20;

	memset(p, 0, PACKET);
	p[12] = 8;
	ip[0] = 0x45;
	ip[2] = (PACKET - 14) >> 8;
	ip[3] = (PACKET - 14) & 0xff;
	ip[8] = 64;
	ip[9] = IPPROTO_TCP;
	tcp[12] = (20 + 12 + (option ? HPCCPP_OPT_LEN(1) : 0)) << 2;
	tcp[13] = 0x10;
	memcpy(tcp + 20, "\x01\x01\x08\x0a", 4);
	if (option) {
		p[COST_OPTION_AT] = HPCCPP_OPT_KIND;
		p[COST_OPTION_AT + 1] = HPCCPP_OPT_LEN(1);
		p[COST_OPTION_AT + 2] = HPCCPP_EXID_COLLECT >> 8;
		p[COST_OPTION_AT + 3] = HPCCPP_EXID_COLLECT & 0xff;
	}
}

/* mean of REPEAT runs, ns */
static unsigned int mean_ns(int prog, const unsigned char *p, int ifindex)
{
	struct __sk_buff skb = { .ifindex = ifindex };
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts,
			    .data_in = p, .data_size_in = PACKET,
			    .ctx_in = &skb, .ctx_size_in = sizeof(skb),
			    .repeat = REPEAT);

	if (bpf_prog_test_run_opts(prog, &opts))
		die("cannot run a program");
	return opts.duration;
}

static int time_port(const char *id, const char *dev)
{
	static const struct {
		const char *name;
		bool option;
		struct hpccpp_int had;
	} kinds[] = {
		{ "passed", false, {} },
		{ "stamped", true, {} },
		{ "replaced", true, { .rate = 0xfff } },
		{ "kept", true, { .rate = 1, .U = HPCCPP_U_MAX } },
	};
	enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
	struct cost_bpf *skel = load_programs();
	unsigned int least[2][KINDS], ns, i, round;
	unsigned char p[PACKET];
	int fds[2], again, map, ifindex = atoi(dev);
	__u32 zero = 0;

	again = bpf_program__fd(skel->progs.cost_again);
	fds[0] = bpf_program__fd(skel->progs.cost_nothing);
	fds[1] = prog_by_id(strtoul(id, NULL, 0));
	map = bpf_map__fd(skel->maps.target);
	memset(least, 0xff, sizeof(least));
	/* All kinds in each round: a machine that slows down slows all of them. */
	for (round = 0; round < 2 * ROUNDS; round++) {
		if (bpf_map_update_elem(map, &zero, &fds[round & 1], BPF_ANY))
			die("cannot go on to the port's program");
		for (i = 0; i < KINDS; i++) {
			packet(p, kinds[i].option);
			skel->bss->record[0] =
				htonl(hpccpp_int_w0(&kinds[i].had));
			ns = mean_ns(again, p, ifindex);
			if (ns < least[round & 1][i])
				least[round & 1][i] = ns;
		}
	}
	for (i = 0; i < KINDS; i++)
		printf(", \"%s\": %u", kinds[i].name,
		       least[1][i] - least[0][i]);
	puts(" }");
	cost_bpf__destroy(skel);
	return 0;
}

/* --- the host agent --- */

/* of n calls, ns */
static unsigned int median(const __u32 *calls, unsigned int *n)
{
	unsigned int ns, sum = 0;

	*n = 0;
	for (ns = 0; ns < COST_NS; ns++)
		*n += calls[ns];
	for (ns = 0; ns < COST_NS - 1; ns++) {
		sum += calls[ns];
		if (2 * sum >= *n)
			break;
	}
	return ns;
}

static void attach_prog(struct bpf_program *prog, int cgroup)
{
	if (!bpf_program__attach_cgroup(prog, cgroup))
		die("cannot attach to the cgroup");
}

/* One of the agent's maps, for a program of this object */
static void share_map(struct bpf_object *obj, __u32 id)
{
	struct bpf_map_info info = {};
	int fd = bpf_map_get_fd_by_id(id);
	__u32 len = sizeof(info);
	struct bpf_map *map;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		die("no such map");
	map = bpf_object__find_map_by_name(obj, info.name);
	if (map && bpf_map__reuse_fd(map, fd))
		die("cannot share the agent's maps");
	close(fd);
}

/* Tells the agent of this program what the module would, before it runs. */
static struct cost_tell_bpf *tell(int agent, int cgroup, __u32 T)
{
	struct cost_tell_bpf *skel = cost_tell_bpf__open();
	__u32 maps[16], i, len = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {
		.nr_map_ids = sizeof(maps) / sizeof(maps[0]),
		.map_ids = (__u64)(unsigned long)maps,
	};

	if (!skel || bpf_obj_get_info_by_fd(agent, &info, &len))
		die("cannot open a program");
	for (i = 0; i < info.nr_map_ids; i++)
		share_map(skel->obj, maps[i]);
	skel->rodata->tell_T = T;
	bpf_program__set_autoload(skel->progs.hpccpp_host, false);
	if (cost_tell_bpf__load(skel))
		die("cannot load a program");
	attach_prog(skel->progs.cost_tell, cgroup);
	return skel;
}

static int time_host(const char *path, __u32 T)
{
	static const struct {
		const char *name;
		int op;
	} ops[] = {
		{ "mss", COST_OP_MSS },
		{ "reserve", BPF_SOCK_OPS_HDR_OPT_LEN_CB },
		{ "write", BPF_SOCK_OPS_WRITE_HDR_OPT_CB },
		{ "parse", BPF_SOCK_OPS_PARSE_HDR_OPT_CB },
	};
	struct cost_bpf *skel = load_programs();
	struct cost_tell_bpf *module = NULL;
	unsigned int own, n, ns, i;
	int prog, sig, cgroup = open(path, O_RDONLY | O_DIRECTORY);
	__u32 id = 0, ids = 1;
	sigset_t ends;

	if (cgroup < 0 || bpf_prog_query(cgroup, BPF_CGROUP_SOCK_OPS, 0, NULL,
					 &id, &ids) || ids != 1)
		die("no cgroup with one program");
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	puts("timing");
	prog = prog_by_id(id);
	/* programs run in the order in which they came: the agent's comes again */
	if (T)
		module = tell(prog, cgroup, T);
	attach_prog(skel->progs.cost_begin, cgroup);
	attach_prog(skel->progs.cost_own, cgroup);
	if (bpf_prog_detach2(prog, cgroup, BPF_CGROUP_SOCK_OPS) ||
	    bpf_prog_attach(prog, cgroup, BPF_CGROUP_SOCK_OPS,
			    BPF_F_ALLOW_MULTI))
		die("cannot attach the agent again");
	attach_prog(skel->progs.cost_end, cgroup);
	fflush(stdout);
	sigwait(&ends, &sig);
	own = median(skel->bss->calls[COST_OP_NONE], &n);
	printf(", \"clock\": %u", own);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		ns = median(skel->bss->calls[ops[i].op], &n);
		if (n)
			printf(", \"%s\": { \"n\": %u, \"ns\": %d }",
			       ops[i].name, n, (int)(ns - own));
	}
	puts(" }");
	cost_tell_bpf__destroy(module);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "port"))
		return time_port(argv[2], argv[3]);
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "host"))
		return time_host(argv[2], argc == 4 ? strtoul(argv[3], NULL, 0) : 0);
	fputs("usage: cost { port PROG IFINDEX | host CGROUP [T] }\n", stderr);
	return 2;
}
