/* SPDX-License-Identifier: GPL-2.0 */
/* For objects_test.c: of what bpftool makes of cnp.bpf.c, that which cnp.c uses */
struct cnp_bpf {
	struct {
		struct bpf_map *cnp, *cnp_accept, *cnp_detour, *cnp_trace_to, *cnp_heard,
			       *cnp_senders, *cnp_flows, *cnp_stats, *cnp_qps, *cnp_asked,
			       *cnp_answers, *cnp_wire, *cnp_walks;
	} maps;
	struct {
		struct bpf_program *hpccpp_cnp_in, *hpccpp_cnp_out;
	} progs;
};

struct cnp_bpf *cnp_bpf__open_opts(const struct bpf_object_open_opts *opts);
int cnp_bpf__load(struct cnp_bpf *skel);
void cnp_bpf__destroy(struct cnp_bpf *skel);
