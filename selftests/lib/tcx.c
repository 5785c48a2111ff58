// SPDX-License-Identifier: GPL-2.0
/*
 * Programs on a device's tcx, which the tc and bpftool of Debian 12 do not know:
 *
 *	tcx show DEV HOOK		their ids and names, in the order in which packets meet them
 *	tcx first|last DEV HOOK PIN	a pinned program comes before, or behind, all that is there
 *	tcx remove DEV HOOK NAME	the first whose name begins so goes
 *
 * HOOK is ingress or egress. Status 1: no such program; 4: this kernel has no tcx.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <sys/syscall.h>

#define BEFORE	8	/* BPF_F_BEFORE of Linux 6.6 */
#define AFTER	16	/* BPF_F_AFTER */

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int attach(int ifindex, int type, const char *pin, unsigned int flags)
{
	union bpf_attr attr = { .pathname = (unsigned long)pin };
	int prog = bpf(BPF_OBJ_GET, &attr);

	memset(&attr, 0, sizeof(attr));
	attr.target_fd = ifindex;
	attr.attach_bpf_fd = prog;
	attr.attach_type = type;
	attr.attach_flags = flags;
	if (prog >= 0 && !bpf(BPF_PROG_ATTACH, &attr))
		return 0;
	perror("tcx");
	return 1;
}

static int detach(int ifindex, int type, int prog)
{
	union bpf_attr attr = { .target_fd = ifindex, .attach_bpf_fd = prog, .attach_type = type };

	return bpf(BPF_PROG_DETACH, &attr) ? 1 : 0;
}

/* Names the programs of a hook, or with a name removes the first that it is of */
static int look(int ifindex, int type, const char *name)
{
	__u32 ids[64], i;
	union bpf_attr query = {
		.query.target_fd = ifindex, .query.attach_type = type,
		.query.prog_ids = (unsigned long)ids, .query.prog_cnt = 64,
	};

	if (bpf(BPF_PROG_QUERY, &query))
		return errno == EINVAL ? 4 : errno != ENOENT;
	for (i = 0; i < query.query.prog_cnt; i++) {
		union bpf_attr attr = { .prog_id = ids[i] };
		struct bpf_prog_info info = {};
		int prog = bpf(BPF_PROG_GET_FD_BY_ID, &attr);

		memset(&attr, 0, sizeof(attr));
		attr.info.bpf_fd = prog;
		attr.info.info = (unsigned long)&info;
		attr.info.info_len = sizeof(info);
		if (prog < 0 || bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
			continue;
		if (!name)
			printf("%u %s\n", info.id, info.name);
		else if (!strncmp(info.name, name, strlen(name)))
			return detach(ifindex, type, prog);
		close(prog);
	}
	return !!name;
}

int main(int argc, char **argv)
{
	int ifindex = argc > 3 ? if_nametoindex(argv[2]) : 0;
	/* BPF_TCX_INGRESS and BPF_TCX_EGRESS */
	int type = argc > 3 && !strcmp(argv[3], "ingress") ? 46 : 47;

	if (argc == 4 && ifindex && !strcmp(argv[1], "show"))
		return look(ifindex, type, NULL);
	if (argc == 5 && ifindex && !strcmp(argv[1], "remove"))
		return look(ifindex, type, argv[4]);
	if (argc == 5 && ifindex)
		return attach(ifindex, type, argv[4], strcmp(argv[1], "first") ? AFTER : BEFORE);
	fputs("usage: tcx show|first|last|remove DEV ingress|egress [PIN|NAME]\n", stderr);
	return 2;
}
