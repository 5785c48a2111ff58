/* SPDX-License-Identifier: GPL-2.0 */
/* The map of a list of prefixes, of each agent that is told one: keys only. */
#ifndef HPCCPP_PREFIX_H
#define HPCCPP_PREFIX_H

#include "hpccpp_agent.h"

struct prefix_map {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, HPCCPP_PREFIXES);
	__type(key, struct hpccpp_prefix);
	__type(value, __u8);
};

#endif /* HPCCPP_PREFIX_H */
