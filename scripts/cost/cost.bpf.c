// SPDX-License-Identifier: GPL-2.0
/*
 * What cost.c runs around an agent's program to take its time: before a port's one
 * that readies the packet and goes on to it, and programs before and after a host's,
 * which only the kernel can call.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "cost.h"

/* --- the port agent --- */

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

__u32 record[3];		/* put back before each run, in network order */
const volatile __u32 record_at = COST_RECORD_AT;

/* The packet stays from one run to the next, and with it what a port wrote. */
SEC("tc")
int cost_again(struct __sk_buff *skb)
{
	bpf_skb_store_bytes(skb, record_at, record, sizeof(record), 0);
	bpf_tail_call(skb, &target, 0);
	return -1;
}

SEC("tc")
int cost_nothing(struct __sk_buff *skb)
{
	return -1;
}

/*
 * --- the host agent ---
 *
 * Three programs of its cgroup, one before the other, and the agent's between the
 * last two: what passes between the first two is the timers' own.
 */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} begun SEC(".maps");

__u32 calls[COST_OPS][COST_NS];

static __always_inline __u64 *clock(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&begun, &zero);
}

static __always_inline void count(__u32 op, __u64 ns)
{
	if (op < COST_OPS && ns < COST_NS)
		__sync_fetch_and_add(&calls[op][ns], 1);
}

SEC("sockops")
int cost_begin(struct bpf_sock_ops *skops)
{
	__u64 *t = clock();

	if (t)
		*t = bpf_ktime_get_ns();
	return 1;
}

SEC("sockops")
int cost_own(struct bpf_sock_ops *skops)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 *t = clock();

	if (t) {
		count(COST_OP_NONE, now - *t);
		*t = bpf_ktime_get_ns();
	}
	return 1;
}

SEC("sockops")
int cost_end(struct bpf_sock_ops *skops)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 *t = clock();
	__u32 op = skops->op;

	if (op == BPF_SOCK_OPS_HDR_OPT_LEN_CB &&
	    skops->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS)
		op = COST_OP_MSS;
	if (t)
		count(op, now - *t);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
