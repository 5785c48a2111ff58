// SPDX-License-Identifier: GPL-2.0
/*
 * What the module does for a sender whose agent has mode receiver, for kernels that
 * cannot load it: binds each flow, tells what W depends on, and reads what comes.
 * It is the agent's own code, on the maps of the agent in the cgroup; cost.c attaches
 * it before that.
 */
#include "host.bpf.c"

const volatile __u32 tell_T = 1;	/* us */

#define TELL_W		1000000
#define TELL_W_AI	100

SEC("sockops")
int cost_tell(struct bpf_sock_ops *skops)
{
	struct hpccpp_host_cfg *cfg = configuration();
	struct flow *f;

	if (skops->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB) {
		f = find(skops, true);
		if (f && cfg)
			bind_flow(skops, f, cfg);
		if (f)
			request(f, HPCCPP_WINDOW(0, 0, hpccpp_num_encode(tell_T),
						 HPCCPP_LAW_AVERAGED << 8 | 99),
				(__u32)hpccpp_num_encode(TELL_W) << 16 |
				hpccpp_num_encode(TELL_W_AI));
	} else if (skops->op == BPF_SOCK_OPS_PARSE_HDR_OPT_CB) {
		f = find(skops, false);
		if (f)
			f->answers = 0;		/* the flow runs cubic */
	}
	return 1;
}
