/* SPDX-License-Identifier: GPL-2.0 */
/* For objects_test.c: of what bpftool makes of flow.bpf.c, that which flow.c uses */
struct flow_bpf {
	struct {
		struct bpf_link *flow_show;
	} links;
};

struct flow_bpf *flow_bpf__open_and_load(void);
int flow_bpf__attach(struct flow_bpf *skel);
void flow_bpf__destroy(struct flow_bpf *skel);
