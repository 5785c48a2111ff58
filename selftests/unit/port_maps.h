/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The maps of port.bpf.c for user-space tests. After bpf_shim.h and port.bpf.c.
 */
static struct hpccpp_port_roce the_roce;
static struct roce_space the_space;
static __u32 answered_bits[HPCCPP_ANSWERED];
static __u32 seen_epochs[HPCCPP_SEEN];

/* Entries of "port_accept" and of "port_capable": most that a test has */
#define PREFIXES	4
static struct hpccpp_prefix prefixes[PREFIXES];
static __u32 n_prefixes;

/* NULL also for what is no map of this agent */
static void *port_lookup(const void *map, const void *key)
{
	const __u32 *index = key;
	__u32 i;

	if (map == &port)
		return *index < the_port.cfg.queues ? &the_port : NULL;
	if (map == &port_stats)
		return &stats[*index];
	if (map == &port_response)
		return &the_response;
	if (map == &port_roce)
		return &the_roce;
	if (map == &port_space)
		return &the_space;
	if (map == &port_answered) {
		TRUE_OR_TRAP(*index < HPCCPP_ANSWERED);
		return &answered_bits[*index];
	}
	if (map == &port_seen) {
		TRUE_OR_TRAP(*index < HPCCPP_SEEN);
		return &seen_epochs[*index];
	}
	if (map != &port_accept && map != &port_capable)
		return NULL;
	for (i = 0; i < n_prefixes; i++) {
		if (prefix_matches(&prefixes[i], key))
			return &prefixes[i];
	}
	return NULL;
}
