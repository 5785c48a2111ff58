# SPDX-License-Identifier: GPL-2.0
"""The join of a second flow, then the leave of the first; 16 or 64 join and leave one by one."""

import metrics as m
from claims import Claim
from scenario import Plan, Scenario, some
from setups import step


def runs(ccs: list[str]) -> Plan:
    """With max_stage 5, and for hpccpp 0 as well"""
    for g, rtt in (10, 8), (10, 20), (25, 20), (100, 8), (100, 20):
        link = dict(rate=f"{g}gbit", rtt=f"{rtt}us")
        for cc in some(ccs, "hpccpp", "hpccpp-rx", "dctcp"):
            for stage in (5, 0) if cc == "hpccpp" else (5,):
                run = dict(cc=cc, stage=stage, **link)
                yield f"{cc}-pair-{g}g-{rtt}us-stage{stage}", dict(run, flows=2)
                if g == 10:
                    continue
                for n in (16, 64) if cc == "hpccpp" else (64,):
                    yield f"{cc}-sixteen-{g}g-{rtt}us-stage{stage}-n{n}", dict(run, flows=16, n=n)
            if g != 10 and cc != "hpccpp-rx":
                yield (f"{cc}-sixtyfour-{g}g-{rtt}us-stage5-n64",
                       dict(link, cc=cc, flows=64, time=f"{64 * 2 * rtt // 20}ms"))


CLAIMS = (
    Claim("time from a join until the queue is back under 5 packets, RTTs", "join_queue_back", "<=", 5, listed=9.116,
          why="a flow that joins begins with half of a full link; 64 at 25 Gbit/s make a queue of packets "
              "themselves, as each has .6 of a packet in a round trip"),
    Claim("time from a join until the flow stays within 1.25 of its share, RTTs", "join_fair", "<=", 20, listed=49,
          why="a flow goes half of the way to its share in a round trip while the link is full; with less than 3 "
              "packets in a round trip one packet more is over the bound. Tried: a pull of a quarter (30), of an "
              "eighth (56)"),
    Claim("time from a leave until the load is back at .95 of eta, RTTs", "leave_back", "<=", 10, listed=19.06,
          why="max_stage additive steps come before a multiplicative one"),
    Claim("least load from the fourth round trip after a leave on, share", "leave_lows_late", ">=", 0.85, listed=0.4516,
          why="the other flow adds W_ai for five round trips (max_stage). Tried: max_stage 0 (.92, but 60 x 500 KB "
              "into 1 MB take 3.3 times ideal); as many stages as U is near eta (.86, but 200 flows take 1.48 times "
              "ideal)"),
)
SCENARIO = Scenario(about="Flows that join and leave one by one", runs=runs, setup=step,
                    metrics=lambda t: m.link(t) | m.events(t) | m.fair(t),
                    panels={"bench": lambda p: p.stage == 5,
                            "law": lambda p: p.cc == "hpccpp" and p.stage == 5 and p.n == 64},
                    claims=CLAIMS)
