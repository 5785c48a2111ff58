# SPDX-License-Identifier: GPL-2.0
"""A second flow joins, then the first leaves; 16 or 64 flows join and leave one by one."""

import metrics as m
from claims import Claim
from scenario import Plan, Scenario, some
from setups import step


def runs(ccs: list[str]) -> Plan:
    """Pairs of flows, 16 and 64"""
    for g, rtt in (10, 8), (10, 20), (25, 20), (100, 8), (100, 20):
        link = dict(rate=f"{g}gbit", rtt=f"{rtt}us")
        for cc in some(ccs, "hpccpp", "hpccpp-draft", "hpccpp-rx", "dctcp"):
            run = dict(cc=cc, **link)
            yield f"{cc}-pair-{g}g-{rtt}us", dict(run, flows=2)
            if g == 10:
                continue
            for n in (16, 64) if cc == "hpccpp" else (64,):
                yield f"{cc}-sixteen-{g}g-{rtt}us-n{n}", dict(run, flows=16, n=n)
            if cc in ("hpccpp", "dctcp"):
                yield f"{cc}-sixtyfour-{g}g-{rtt}us-n64", dict(run, flows=64, time=f"{64 * 2 * rtt // 20}ms")


CLAIMS = (
    Claim("time from a join until the queue is back at 5 packets, RTTs", "join_queue_back", "<=", 5, listed=10.65,
          why="a flow that joins a full link begins with half of its rate. Each of 64 flows at 25 Gbit/s sends 0.6 "
              "packets per round trip, so that single packets make a queue"),
    Claim("time from a join until the flow stays below 1.25 times its fair share, RTTs", "join_fair", "<=", 20,
          listed=48,
          why="W goes 5/8 of the way to the fair share in each round trip while the link is full. At less than 3 "
              "packets per round trip, one packet more is over the limit: 64 flows. 16 flows take 15, 17 and 22. "
              "Tried with an eta of 95 %: half of the way (20 and 22 with 16 flows, in place of 17 and 20)"),
    Claim("time from a leave until utilisation is back at 0.95 of eta, RTTs", "leave_back", "<=",
          10, listed=15.32,
          why="each of 64 flows sends 0.6 to 1 packet per base RTT, and receives telemetry no more often"),
    Claim("least utilisation over two round trips, from the fourth after a leave on", "leave_lows_late", ">=",
          # a packet is 1/7 of the BDP at 10 Gbit/s and 8 us
          lambda r: 0.82 if r.params.rate == 10**10 and r.params.rtt == 8000 else 0.85),
)
SCENARIO = Scenario(about="Flows that join and leave one by one", runs=runs, setup=step,
                    metrics=lambda t: m.link(t) | m.events(t) | m.fair(t),
                    panels={"bench": lambda p: p.is_hpccpp and p.mode == "sender" and p.n == 64,
                            "law": lambda p: p.cc == "hpccpp" and p.n == 64},
                    claims=CLAIMS)
