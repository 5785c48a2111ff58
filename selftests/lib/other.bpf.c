// SPDX-License-Identifier: GPL-2.0
/*
 * Programs on devices that this build did not make: agents of another, with our names and a
 * map "port" whose values have another size, and somebody else's, one of which ends the chain.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, char[999]);
} port SEC(".maps");

/* What says that a clsact is the command's */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, int);
	__type(value, int);
} hpccpp_clsact SEC(".maps");

SEC("of/hpccpp_port")
int hpccpp_port(struct __sk_buff *skb)
{
	int zero = 0;

	return bpf_map_lookup_elem(&port, &zero) ? -1 : 0;
}

SEC("of/hpccpp_port_in")
int hpccpp_port_in(struct __sk_buff *skb)
{
	int zero = 0;

	return bpf_map_lookup_elem(&port, &zero) ? -1 : 0;
}

SEC("of/hpccpp_cnp_out")
int hpccpp_cnp_out(struct __sk_buff *skb)
{
	int zero = 0;

	return bpf_map_lookup_elem(&hpccpp_clsact, &zero) ? -1 : 0;
}

SEC("of/hpccpp_cnp_in")
int hpccpp_cnp_in(struct __sk_buff *skb)
{
	return -1;
}

SEC("of/bystander")
int bystander(struct __sk_buff *skb)
{
	return -1;
}

SEC("of/ends_chain")
int ends_chain(struct __sk_buff *skb)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
