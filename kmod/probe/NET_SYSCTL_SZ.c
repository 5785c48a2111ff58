// SPDX-License-Identifier: GPL-2.0
/* Tables of net sysctls are registered with their size (6.6) */
#include <net/net_namespace.h>
#include <linux/sysctl.h>

struct ctl_table_header *register_knobs(struct net *net, struct ctl_table *table);
struct ctl_table_header *register_knobs(struct net *net, struct ctl_table *table)
{
	return register_net_sysctl_sz(net, "net/hpccpp", table, 1);
}
