/* SPDX-License-Identifier: GPL-2.0 */
/* What cost.c and cost.bpf.c have in common. */
#ifndef HPCCPP_COST_H
#define HPCCPP_COST_H

/* offset in the packet: Ethernet, IPv4, TCP with timestamps, then the option */
#define COST_OPTION_AT	(14 + 20 + 20 + 12)
#define COST_RECORD_AT	(COST_OPTION_AT + 4)

#define COST_OPS	32	/* BPF_SOCK_OPS_... and: */
#define COST_OP_MSS	31	/* HDR_OPT_LEN that is only about the MSS */
#define COST_OP_NONE	30	/* no program at all */
#define COST_NS		8192	/* calls are counted by their ns, up to this */

#endif /* HPCCPP_COST_H */
