// SPDX-License-Identifier: GPL-2.0
/* A sock_ops program of somebody else's that answers whatever it is asked. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("sockops")
int foreign(struct bpf_sock_ops *skops)
{
	skops->reply = 10;
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
