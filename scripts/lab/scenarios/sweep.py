# SPDX-License-Identifier: GPL-2.0
"""eta, and the number of flows, RTT and rate over orders of magnitude."""

import metrics as m
from claims import Claim, lost
from scenario import Plan, Scenario
from setups import long


def runs(_: list[str]) -> Plan:
    """One key at a time, with both laws"""
    for law in "averaged", "draft":
        for eta in 90, 93, 95, 97, 99, 100:
            for flows in 2, 16:
                yield f"eta{eta}-{law}-{flows}flows", dict(eta=eta, law=law, flows=flows)
        # 4 flows: as rtt20us
        for flows in 1, 16, 64, 256, 1000:
            yield f"{flows}flows-{law}", dict(flows=flows, law=law, rtt="20us")
        for rtt in 2, 5, 20, 100, 400:
            yield f"rtt{rtt}us-{law}", dict(rtt=f"{rtt}us", flows=4, law=law)
        for rtt in 1000, 4000, 10000:
            yield f"rtt{rtt}us-{law}", dict(rtt=f"{rtt}us", flows=4, rate="1gbit", law=law,
                                            time=f"{rtt * 3 // 10}ms")
        for mbit in 100, 1000, 10000, 40000, 200000, 400000:
            yield f"{mbit}mbit-{law}", dict(rate=f"{mbit}mbit", rtt="1ms" if mbit <= 1000 else "20us", flows=4,
                                            law=law)


CLAIMS = (
    Claim("drops", lost, "<=", 0),
    Claim("flows that received nothing", "without_bytes", "<=", 0),
    Claim("p99 of the queue, packets, minus a BDP and one packet for each flow",
          lambda r: (r["queue_p99"] or r["queue_max"]) - r["bdp"] - r.params.flows, "<=", 0, listed=1285,
          why="1000 flows start within 1.7 ms, and T of a later flow contains a part of the time that its SYN waited "
              "in the queue. Tried: flows that begin at line rate (5303), no share (3242)"),
    Claim("utilisation of the bottleneck", "utilisation", ">=", 0.8),
)
SCENARIO = Scenario(about="eta, and the number of flows, RTT and rate over orders of magnitude", runs=runs,
                    setup=long, metrics=lambda t: m.link(t) | m.jain(t),
                    panels={"bench": lambda p: p.law == "averaged" and p.flows < 1000 and p.eta in (0, 95)
                            and (p.rate <= 10**9 or p.rate <= 10**11 and p.rtt < 100_000)},
                    claims=CLAIMS)
