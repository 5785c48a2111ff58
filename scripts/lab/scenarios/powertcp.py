# SPDX-License-Identifier: GPL-2.0
"""The experiments of PowerTCP's authors (inet-tub/ns3-datacenter, examples/PowerTCP)."""

from typing import Any

import metrics as m
from claims import Claim, lost
from guest import Guest
from scenario import Plan, Scenario
from setups import TRACE, fabric_poisson, step
from traces import Traces


def runs(ccs: list[str]) -> Plan:
    """With their rates, buffer and times. With a flow of 20 ms 10 begin at once, and stay, or 256 that have 2800 bytes
    each. 4 begin and then end one by one, 100 ms apart. WebSearch runs on our fabric."""
    link = dict(rate="25gbit", rtt="30us", buffer="4m")
    for cc in ccs:
        yield f"{cc}-incast-256", dict(link, cc=cc, shape="incast", flows=256, size=2800)
        yield f"{cc}-incast-10", dict(link, cc=cc, shape="incast", flows=10)
        yield f"{cc}-staggered-4", dict(link, cc=cc, shape="staggered", flows=4, time="800ms")
        for load in 95, 80, 60, 40, 20:
            yield f"{cc}-websearch-{load}", dict(cc=cc, shape="leafspine", load=load, sizes="websearch", rtt="9us",
                                                 time="30ms", host="fq")


def incast(g: Guest) -> None:
    """A flow has the link for 20 ms. Then the others begin at once, and the run goes on for 4 ms."""
    p, begin, end = g.p, 20_000_000, 24_000_000
    g.star(p.flows + 1, trace=TRACE)
    g.agents()
    g.events.append(("begin", begin))
    g.flow(1700, "h1", "r1", None, stop=end)
    for i in range(1, p.flows + 1):
        g.flow(begin, f"h{i + 1}", "r1", p.size or None, stop=None if p.size else end)
    g.run(start=p.rtt, end=end, rates=p.rtt)


def metrics(t: Traces) -> dict[str, Any]:
    """By the shape"""
    if t.p.shape == "incast":
        return m.link(t) | m.completion(t) | m.begun(t)
    if t.p.shape == "staggered":
        return m.link(t) | m.events(t) | m.fair(t) | m.jains(t)
    return m.slowdown(t) | m.classes(t) | m.ports(t)


CLAIMS = (
    Claim("drops", lost, "<=", 0),
    Claim("utilisation of the bottleneck from the burst on", "load", ">=", 0.93,
          lambda p: p.is_hpccpp and p.shape == "incast"),
    Claim("time from the start of ten flows until the queue is back at 5 packets, RTTs", "queue_back", "<=", 5,
          lambda p: p.is_hpccpp and p.shape == "incast" and p.size == 0, listed=6.738,
          why="the first windows of ten flows add up to 3 BDP, and telemetry of their queue arrives when it drains"),
    Claim("Jain's index between joins and leaves", "jains", ">=", 0.98,
          lambda p: p.is_hpccpp and p.shape == "staggered"),
    Claim("least utilisation over two round trips, from the fourth after a leave on", "leave_lows_late", ">=", 0.85,
          lambda p: p.is_hpccpp and p.shape == "staggered"),
)
SCENARIO = Scenario(about="The experiments of PowerTCP's authors", runs=runs, metrics=metrics,
                    panels={"bench": lambda p: p.cc == "hpccpp" and p.load == 0},
                    setup=lambda g: {"incast": incast, "staggered": step}.get(g.p.shape, fabric_poisson)(g),
                    claims=CLAIMS)
