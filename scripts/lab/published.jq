# SPDX-License-Identifier: GPL-2.0
# Figures of others on the workloads of the lab, in the form of its runs: "cc" is who has them,
# metrics are named as in metrics.py. What is a range, or read off a plot, is text.

# By source: where its figures are, and what differs from the lab.
def sources: {
	ns3: "ns-3.39 of inet-tub/ns3-datacenter, which has the HPCC authors’ RDMA model, on this fabric with this list of flows (seed 1). It differs in packets of 1000 bytes of payload, PFC (which never paused anybody), one T of 8.24 µs for all flows, flows that start at line rate, and K of 300 KB for DCTCP; its “1 packet” is up to 1000 bytes, and a point in a plot is of a column of the table. Its NICs serve flows in turn, as fq does here.",
	plots: "The HPCC authors’ page, hpcc-group.github.io/results.html: their simulator on the same Clos, read off the plots to within 5 %. It differs in RDMA, packets of 1000 bytes of payload, PFC, η of 99 %, maxStage of 0, and K of 30 KB at 10 Gbit/s for DCTCP (dctcp-k20 here).",
	repro: "UNOCourseDemo/hpcc-fs, examples/hpcc/repro-verification/RESULTS.md: the HPCC authors’ simulator in ns-3.45 on the same Clos, 100 ms of one draw of flows. It differs in RDMA, packets of 1000 bytes of payload, PFC, and K of 30 KB at 10 Gbit/s for DCTCP (dctcp-k20 here). Its queue is the largest of any port.",
	bolt: "serhatarslan-hub/bolt_cc_ns3, the notebooks in analysis/: ns-3, with the same rate, base RTT, MTU, sizes and load. It differs in a transport of messages in place of TCP. Its p99 of sizes are those of bins of 5 % of the flows, from the least to the largest in a class; those of the lab are of all flows in the class. Its p99 of a queue is of packets that arrive; the lab’s is over time."
};

def published:
	def of($scenario; $source; $sizes; $load; rows):
		rows | { $scenario, $source, params: { $sizes, $load }, cc: "\(.[0]), \(if $source | IN("ns3", "repro") then "ns-3" else "published" end)", metrics: .[1] };
	def classes: {
		sizes: [1e3, 10e3, 100e3, 1e6, 10e6], S_p99: .[:5],
		packet_S_p99: .[0], to_10k_S_p99: .[1], to_100k_S_p99: .[2], to_1m_S_p99: .[3], more_S_p99: .[4],
		smallest_S_p99: .[5], largest_S_p99: .[6] };
	def short: { short_S_p99: .[0], all_S_p99: .[1], queue_kb: .[2] };
	def curve($sizes): { sizes: $sizes, S_p99: . };
	[
		of("fabric"; "ns3"; "fb_hadoop"; 30; (
			["HPCC", ([1.86, 1.91, 2.62, 4.30, 10.49, 1.93, 6.88] | classes)])),
		of("fabric"; "ns3"; "fb_hadoop"; 50; (
			["HPCC", ([2.27, 2.30, 3.85, 9.94, 27.08, 2.25, 25.39] | classes)],
			["PowerTCP", ([1.92, 2.04, 22.17, 19.69, 16.77, 1.88, 17.57] | classes)],
			["DCTCP", ([6.70, 6.57, 6.43, 9.09, 11.23, 6.98, 10.58] | classes)])),
		of("fabric"; "ns3"; "fb_hadoop"; 70; (
			["HPCC", ([2.58, 2.62, 5.88, 20.15, 41.76, 2.53, 39.34] | classes)])),
		of("fabric"; "ns3"; "websearch"; 50; (
			["HPCC", ([1.12, 1.80, 4.15, 7.27, 12.36, 2.10, 12.36] | classes)],
			["PowerTCP", ([1.10, 1.68, 22.14, 19.74, 10.92, 7.64, 10.87] | classes)],
			["DCTCP", ([4.36, 5.64, 5.75, 9.32, 9.18, 5.76, 6.90] | classes)])),
		of("fabric"; "ns3"; "websearch"; 70; (
			["HPCC", ([1.36, 2.47, 7.04, 13.81, 24.98, 3.17, 25.76] | classes)])),
		of("clos"; "plots"; "websearch"; 30; (
			["HPCC", ([1.7, 2.5, 3.6, 5.1, 5.1] | curve([10e3, 50e3, 200e3, 1e6, 30e6]))],
			["HPCC-PINT", ([1.75, 2.3, 3.3, 4.6, 4.8] | curve([10e3, 50e3, 200e3, 1e6, 30e6]))],
			["DCTCP", ([3.8, 3.4, 3.9, 6.8, 3.9] | curve([10e3, 50e3, 200e3, 1e6, 30e6]))])),
		of("clos"; "plots"; "websearch"; 50; (
			["HPCC", ([1.95, 3.9, 6.5, 10, 11.5] | curve([10e3, 50e3, 200e3, 1e6, 30e6]))],
			["HPCC-PINT", ([2.05, 3.4, 5.5, 8.4, 10.8] | curve([10e3, 50e3, 200e3, 1e6, 30e6]))],
			["DCTCP", ([5.6, 5.1, 6.2, 13, 7.6] | curve([10e3, 50e3, 200e3, 1e6, 30e6]))])),
		of("clos"; "plots"; "fb_hadoop"; 30; (
			["HPCC", ([2.1, 2.1, 3.2, 5.9] | curve([300, 7e3, 120e3, 10e6]))],
			["HPCC-PINT", ([2.1, 2.1, 2.9, 5.6] | curve([300, 7e3, 120e3, 10e6]))],
			["DCTCP", ([3.6, 3.5, 3.3, 4.2] | curve([300, 7e3, 120e3, 10e6]))])),
		of("clos"; "plots"; "fb_hadoop"; 50; (
			["HPCC", ([2.6, 2.7, 5.5, 15] | curve([300, 7e3, 120e3, 10e6]))],
			["HPCC-PINT", ([2.7, 2.85, 4.7, 14] | curve([300, 7e3, 120e3, 10e6]))],
			["DCTCP", ([5.3, 5.1, 5.4, 7.9] | curve([300, 7e3, 120e3, 10e6]))])),
		of("clos"; "repro"; "websearch"; 30; (
			["HPCC", ([1.62, 4.79, 328] | short)], ["HPCC-PINT", ([1.79, 4.45, 402] | short)], ["DCTCP", ([3.84, 5.09, 1167] | short)])),
		of("clos"; "repro"; "websearch"; 50; (
			["HPCC", ([1.92, 10.20, 410] | short)], ["HPCC-PINT", ([2.08, 9.06, 480] | short)], ["DCTCP", ([5.66, 9.56, 1411] | short)])),
		of("clos"; "repro"; "websearch"; 70; (
			["HPCC", ([2.00, 26.62, 395] | short)], ["HPCC-PINT", ([2.32, 22.38, 497] | short)], ["DCTCP", ([7.69, 19.97, 1588] | short)])),
		of("clos"; "repro"; "fb_hadoop"; 30; (
			["HPCC", ([2.27, 3.10, 492] | short)], ["HPCC-PINT", ([2.29, 2.97, 544] | short)], ["DCTCP", ([3.55, 3.75, 1156] | short)])),
		of("clos"; "repro"; "fb_hadoop"; 50; (
			["HPCC", ([3.28, 5.86, 617] | short)], ["HPCC-PINT", ([3.20, 5.20, 653] | short)], ["DCTCP", ([5.33, 6.06, 1443] | short)])),
		of("clos"; "repro"; "fb_hadoop"; 70; (
			["HPCC", ([6.06, 21.53, 634] | short)], ["HPCC-PINT", ([5.00, 13.53, 828] | short)], ["DCTCP", ([8.44, 12.00, 1864] | short)])),
		of("star32"; "bolt"; "fb_hadoop"; 80; (
			["Bolt", { to_7k_S_p99: { n: "2.7" }, from_46k_to_120k_S_p99: { n: "2.8 to 4.3" }, largest_S_p99: { n: "11" } }],
			["HPCC", { to_7k_S_p99: { n: "3.3" }, from_46k_to_120k_S_p99: { n: "12 to 20" }, largest_S_p99: { n: "45" } }],
			["Swift", { to_7k_S_p99: { n: "10" }, from_46k_to_120k_S_p99: { n: "8.5 to 10" }, largest_S_p99: { n: "37" } }])),
		of("messages"; "bolt"; null; null; (
			["Bolt", { goodput_gbit: 99.18, queue_p99_us: 13720 }],
			["HPCC", { goodput_gbit: 98.44, queue_p99_us: 23067 }],
			["Swift", { goodput_gbit: 57.41, queue_p99_us: 23543 }]))
	];
