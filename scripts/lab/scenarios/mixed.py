# SPDX-License-Identifier: GPL-2.0
"""Half of the flows have another congestion control and leave after half of the time."""

import metrics as m
from claims import Claim
from guest import Guest
from scenario import Scenario, some
from setups import TRACE


def setup(g: Guest) -> None:
    """Pairs of flows start one by one"""
    p = g.p
    end = p.time
    g.updates = True
    g.star(2 * p.flows, trace=TRACE)
    g.agents()
    for i in range(1, p.flows + 1):
        g.flow(i * 1700, f"h{i}", "r1", None, stop=end)
        g.flow(i * 1700, f"h{p.flows + i}", "r1", None, stop=end // 2, cc=p.other)
    g.run(start=1000, end=end, rates=p.rtt)


CLAIMS = (
    Claim("least pacing rate of a flow, Mbit/s", "least_R_mbit", ">=", 1),
    Claim("least goodput of a flow while it competes with the others, Mbit/s", "least_mbit", ">=", 1),
    Claim("time after the others left until utilisation is back at 0.95 of eta, RTTs", "leave_back", "<=", 20,
          listed=40,
          why="flows that fill the queue push W down to its minimum, a packet in 16 base RTTs: telemetry of the empty "
              "link arrives that late"),
)
SCENARIO = Scenario(
    about="hpccpp shares a link with another congestion control, which leaves after half of the time",
    runs=lambda ccs: ((f"with-{other}", dict(other=other, flows=4, rate="10gbit", rtt="20us", time="100ms",
                                             buffer="1m")) for other in some(ccs, "cubic", "dctcp")),
    setup=setup,
    metrics=lambda t: m.link(t) | m.mixed(t),
    panels={"law": lambda p: True},
    claims=CLAIMS)
