# SPDX-License-Identifier: GPL-2.0
"""Flows of unequal base RTT."""

import metrics as m
from claims import Claim, lost
from guest import Guest
from params import Params
from scenario import Scenario


def setup(g: Guest) -> None:
    """Flows without end. The first host has the base RTT of the run, the others `far` times that."""
    p = g.p
    end = p.time
    far = g.star_delay() + (p.far - 1) * p.rtt // 2
    g.star(p.flows, links=[word for i in range(2, p.flows + 1) for word in ("link", f"h{i}", "s1", "delay_ns", far)])
    g.agents()
    for i in range(1, p.flows + 1):
        g.flow(i * 1700, f"h{i}", "r1", None, stop=end)
    g.run(start=end // 2, end=end)


def bench(p: Params) -> bool:
    """Of others what the README compares"""
    return p.cc == "hpccpp" or p.cc in ("dctcp", "bbr") and (p.flows, p.far, p.rate) == (2, 5, 10**11)


CLAIMS = (
    Claim("largest goodput of a flow, divided by the least",
          lambda r: max(r["shares_mbit"]) / min(r["shares_mbit"]), "<=", 1.3),
    Claim("utilisation of the bottleneck", "utilisation", ">=", 0.93),
    Claim("drops", lost, "<=", 0),
)
SCENARIO = Scenario(
    about="Flows with RTTs of 8 us and twice or five times that: two flows, or one and seven",
    runs=lambda ccs: ((f"{cc}-{flows}x{g}g-far{far}", dict(cc=cc, flows=flows, far=far, rate=f"{g}gbit", rtt="8us",
                                                           time="40ms"))
                      for cc in ccs for g in (25, 100) for flows, far in ((2, 2), (2, 5), (8, 5))),
    setup=setup,
    metrics=lambda t: m.link(t) | m.jain(t) | m.shares(t),
    panels={"bench": bench, "law": lambda p: p.cc == "hpccpp" and p.rate == 10**11},
    claims=CLAIMS)
