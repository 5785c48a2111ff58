// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the agents' programs in the kernel. They cover what the tests in user space cannot:
 * the verifier, and the qdisc of a device.
 */
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "test.h"
#include "hpccpp_agent.h"
#include "frames.h"
/* of the build, not those beside this file */
#include <cnp.skel.h>
#include <flow.skel.h>
#include <host.skel.h>
#include <port.skel.h>
#include <port_typed.skel.h>

#define QUEUES		4

static struct port_bpf *load(bool reads_qdisc, bool several_queues)
{
	struct port_bpf *skel = port_bpf__open();

	assert_non_null(skel);
	skel->rodata->reads_qdisc = reads_qdisc;
	skel->rodata->several_queues = several_queues;
	assert_int_equal(bpf_map__set_max_entries(skel->maps.port, QUEUES), 0);
	assert_int_equal(port_bpf__load(skel), 0);
	return skel;
}

static __u64 counted(int fd, __u32 stat)
{
	__u64 v[libbpf_num_possible_cpus()], sum = 0;
	int cpu;

	assert_int_equal(bpf_map_lookup_elem(fd, &stat, v), 0);
	for (cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		sum += v[cpu];
	return sum;
}

/*
 * The kernel runs the program on lo, whose qdisc is a noqueue and holds nothing. The port
 * writes an empty queue only if that is the qdisc that it is configured for.
 */
TEST(reads_the_qdisc)
{
	static const struct { const char *why, *kind; bool mq; __u32 queues; int stat; } rows[] = {
		{ "The same qdisc.", "noqueue", false, QUEUES, HPCCPP_PS_STAMPED },
		{ "A qdisc of another kind.", "netem", false, QUEUES, HPCCPP_PS_STALE },
		{ "A qdisc that is the root, and not mq's.", "noqueue", true, 1, HPCCPP_PS_STALE },
		{ "A queue that the device does not have.",
		  "noqueue", true, QUEUES, HPCCPP_PS_STALE },
	};
	struct port_bpf *agent = load(true, true);
	struct bpf_test_run_opts opts = { .sz = sizeof(opts) };
	int fd = bpf_map__fd(agent->maps.port_stats);
	struct hpccpp_int r;
	struct frame f, out;
	size_t i, n;
	__be32 w[3];
	__u32 q;

	collect(&f, false, 1, 0);
	opts.data_in = f.b;
	opts.data_size_in = f.len;
	opts.data_out = out.b;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hpccpp_port p = { .v_qlen = 1 << 20, .v_in = 1 << 20, .cfg = {
			.rate = 200000000, .rate_code = hpccpp_rate_encode(200000000),
			.base_rtt = 100, .link = 0x123, .queue = HPCCPP_QUEUE_QDISC,
			.queues = rows[i].queues, .mq = rows[i].mq,
		} };

		strcpy(p.cfg.kind, rows[i].kind);
		for (q = 0; q < QUEUES; q++)
			assert_int_equal(bpf_map_update_elem(bpf_map__fd(agent->maps.port), &q,
							     &p, 0), 0);
		n = counted(fd, rows[i].stat);
		opts.data_size_out = sizeof(out.b);
		assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(agent->progs.hpccpp_port),
							&opts), 0);
		if (counted(fd, rows[i].stat) != n + 1)
			fail_msg("%s", rows[i].why);
		memcpy(w, out.b + f.tcp + TCP_LEN + HPCCPP_OPT_HDR, sizeof(w));
		hpccpp_int_decode(&r, ntohl(w[0]), ntohl(w[1]), ntohl(w[2]));
		assert_int_equal(r.link, rows[i].stat == HPCCPP_PS_STAMPED ? 0x123 : 0);
		assert_int_equal(r.qlen, 0);
		assert_int_equal(r.tx_bytes, 0);
	}
	port_bpf__destroy(agent);
}

/*
 * The number of instructions that the verifier walks differs between kernels by a factor of
 * three or more. All of them allow a million: the limit here is half of that.
 */
static void far_from_the_limit(struct bpf_object *agent)
{
	struct bpf_program *prog;

	assert_int_equal(bpf_object__load(agent), 0);
	bpf_object__for_each_program(prog, agent) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len), 0);
		assert_in_range(info.verified_insns, 1, 500000);
	}
	bpf_object__close(agent);
}

TEST(port_agent_is_verified)
{
	bool typed = btf__find_by_name_kind(btf__load_vmlinux_btf(), "bpf_rdonly_cast",
					    BTF_KIND_FUNC) > 0;
	int variant;

	for (variant = 0; variant < 4; variant++) {
		struct port_bpf *agent = port_bpf__open();
		struct port_typed_bpf *other = port_typed_bpf__open();

		agent->rodata->reads_qdisc = variant & 1;
		agent->rodata->several_queues = variant & 2;
		far_from_the_limit(agent->obj);
		other->rodata->reads_qdisc = variant & 1;
		other->rodata->several_queues = variant & 2;
		if (typed)
			far_from_the_limit(other->obj);
	}
}

/* Marks the instructions from i to the unlock, on all ways there. */
static void mark_locked(const struct bpf_insn *insn, size_t i, bool *locked)
{
	for (; !locked[i]; i++) {
		__u8 class = BPF_CLASS(insn[i].code), op = BPF_OP(insn[i].code);

		locked[i] = true;
		if ((class != BPF_JMP && class != BPF_JMP32) ||
		    (op == BPF_CALL && insn[i].imm != BPF_FUNC_spin_unlock))
			continue;
		if (op == BPF_CALL || op == BPF_EXIT)
			return;
		if (op != BPF_JA)
			mark_locked(insn, i + 1, locked);
		i += insn[i].off;
	}
}

/* Interrupts are off under the lock of a port, and each packet takes it. */
TEST(no_64_bit_division_under_the_lock_of_a_port)
{
	struct port_bpf *agent = port_bpf__open();
	size_t i, n = bpf_program__insn_cnt(agent->progs.hpccpp_port), locks = 0;
	const struct bpf_insn *insn = bpf_program__insns(agent->progs.hpccpp_port);
	bool locked[n];

	memset(locked, 0, sizeof(locked));
	for (i = 0; i < n; i++)
		if (insn[i].code == (BPF_JMP | BPF_CALL) && insn[i].imm == BPF_FUNC_spin_lock) {
			mark_locked(insn, i + 1, locked);
			locks++;
		}
	assert_in_range(locks, 1, 10);
	for (i = 0; i < n; i++) {
		__u8 class = BPF_CLASS(insn[i].code), op = BPF_OP(insn[i].code);

		if (locked[i] && class == BPF_ALU64 && (op == BPF_DIV || op == BPF_MOD))
			fail_msg("instruction %zu of %zu divides", i, n);
	}
	port_bpf__destroy(agent);
}

TEST(host_agent_is_verified)
{
	int variant;

	/* tags and windows exclude each other */
	for (variant = 0; variant < 3; variant++) {
		struct host_bpf *agent = host_bpf__open();

		agent->rodata->tags = variant == 1;
		agent->rodata->windows = variant == 2;
		far_from_the_limit(agent->obj);
	}
}

TEST(cnp_agent_and_iterator_are_verified)
{
	far_from_the_limit(cnp_bpf__open()->obj);
	far_from_the_limit(flow_bpf__open()->obj);
}

TEST_MAIN("progs", NULL, NULL)
