# SPDX-License-Identifier: GPL-2.0
"""Figures of other implementations on the lab's workloads, which the report shows in its tables."""

# where they are from, and what differs from the lab
SOURCES = {
    "ns-3": "ns-3.39 of inet-tub/ns3-datacenter, which has the RDMA model of HPCC's authors, on this fabric with this "
            "list of flows (seed 1). It differs in packets of 1000 bytes of payload, PFC (which never paused a port), "
            "one T of 8.24 us for all flows, flows that start at line rate, and K of 300 KB for DCTCP. Its class "
            "packet_p99 has flows of up to 1000 bytes.",
    "repro": "UNOCourseDemo/hpcc-fs, examples/hpcc/repro-verification/RESULTS.md: the simulator of HPCC's authors in "
             "ns-3.45 on the same Clos, 100 ms of one draw of flows. It differs in RDMA, packets of 1000 bytes of "
             "payload, PFC, and K of 30 KB at 10 Gbit/s for DCTCP. Its queue is the largest of any port, here in "
             "packets of 1514 bytes.",
    "Bolt": "serhatarslan-hub/bolt_cc_ns3, the notebooks in analysis/: ns-3, with the same rate, base RTT, MTU, sizes "
            "and load. It differs in a transport of messages in place of TCP. Its p99 of sizes are those of bins of 5 "
            "% of the flows, from the least to the largest in a class. Its p99 of a queue is over packets that arrive; "
            "the lab's is over time."}

CLASSES = "packet_p99 to_10k_p99 to_100k_p99 to_1m_p99 more_p99 largest_p99"
SHORT = "short_p99 all_p99 queue_max"
STAR = "to_7k_p99 from_46k_to_120k_p99 largest_p99"
FLOOD = "goodput_gbit queue_p99_us"

# scenario, source, sizes and load (none: as in all its runs), metrics, their values for each implementation
FIGURES: list[tuple[str, str, tuple[str, int] | None, str, dict[str, str]]] = [
    ("fabric", "ns-3", ("fb_hadoop", 30), CLASSES, {"HPCC": "1.86 1.91 2.62 4.30 10.49 6.88"}),
    ("fabric", "ns-3", ("fb_hadoop", 50), CLASSES, {"HPCC": "2.27 2.30 3.85 9.94 27.08 25.39",
                                                    "PowerTCP": "1.92 2.04 22.17 19.69 16.77 17.57",
                                                    "DCTCP": "6.70 6.57 6.43 9.09 11.23 10.58"}),
    ("fabric", "ns-3", ("fb_hadoop", 70), CLASSES, {"HPCC": "2.58 2.62 5.88 20.15 41.76 39.34"}),
    ("fabric", "ns-3", ("websearch", 50), CLASSES, {"HPCC": "1.12 1.80 4.15 7.27 12.36 12.36",
                                                    "PowerTCP": "1.10 1.68 22.14 19.74 10.92 10.87",
                                                    "DCTCP": "4.36 5.64 5.75 9.32 9.18 6.90"}),
    ("fabric", "ns-3", ("websearch", 70), CLASSES, {"HPCC": "1.36 2.47 7.04 13.81 24.98 25.76"}),
    ("clos", "repro", ("websearch", 30), SHORT, {"HPCC": "1.62 4.79 217", "HPCC-PINT": "1.79 4.45 266",
                                                 "DCTCP": "3.84 5.09 771"}),
    ("clos", "repro", ("websearch", 50), SHORT, {"HPCC": "1.92 10.20 271", "HPCC-PINT": "2.08 9.06 317",
                                                 "DCTCP": "5.66 9.56 932"}),
    ("clos", "repro", ("fb_hadoop", 30), SHORT, {"HPCC": "2.27 3.10 325", "HPCC-PINT": "2.29 2.97 359",
                                                 "DCTCP": "3.55 3.75 764"}),
    ("clos", "repro", ("fb_hadoop", 50), SHORT, {"HPCC": "3.28 5.86 408", "HPCC-PINT": "3.20 5.20 431",
                                                 "DCTCP": "5.33 6.06 953"}),
    ("star32", "Bolt", ("fb_hadoop", 80), STAR, {"Bolt": "2.7 2.8-4.3 11", "HPCC": "3.3 12-20 45",
                                                 "Swift": "10 8.5-10 37"}),
    ("messages", "Bolt", None, FLOOD, {"Bolt": "99.18 13720", "HPCC": "98.44 23067", "Swift": "57.41 23543"}),
]
