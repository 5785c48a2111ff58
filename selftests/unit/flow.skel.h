/* SPDX-License-Identifier: GPL-2.0 */
/* For objects_test.c and show_test.c: what flow.c uses of flow.bpf.c's skeleton */
struct flow_bpf {
	struct {
		struct bpf_link *flow_show;
	} links;
};

static inline struct flow_bpf *flow_bpf__open_and_load(void)
{
	static struct flow_bpf skel;

	return &skel;
}

extern int attach_error;	/* with which the kernel refuses the iterator, or 0 */

static inline int flow_bpf__attach(struct flow_bpf *skel)
{
	(void)skel;
	return attach_error;
}

static inline void flow_bpf__destroy(struct flow_bpf *skel)
{
	(void)skel;
}
