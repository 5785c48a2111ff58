# SPDX-License-Identifier: GPL-2.0
"""A bottleneck without a port agent, which drops, or marks at DCTCP's K."""

import metrics as m
from claims import Claim
from guest import Guest
from scenario import Scenario
from setups import TRACE


def setup(g: Guest) -> None:
    """Only the hosts' own ports report their load"""
    p = g.p
    end, hosts = p.time, [f"h{i}" for i in range(1, p.flows + 1)]
    g.star(p.flows, trace=TRACE)
    g.agents("^s1 ")
    for i, host in enumerate(hosts, 1):
        g.flow(i * 1700, host, "r1", None, stop=end)
    g.run(start=end // 2, end=end)
    g.call("counters", *hosts)


CLAIMS = (
    Claim("utilisation of the bottleneck", "utilisation", ">=", 0.9),
    Claim("flows that received nothing", "without_bytes", "<=", 0),
)
SCENARIO = Scenario(
    about="A bottleneck without a port agent, which drops, or marks at DCTCP's K",
    runs=lambda _: ((other, dict(other=other, flows=4, rate="10gbit", rtt="20us", time="100ms", buffer="1m"))
                    for other in ("bare", "marks")),
    setup=setup,
    metrics=lambda t: m.link(t) | m.jain(t) | m.counters(t, "blind"),
    panels={"law": lambda p: True},
    claims=CLAIMS)
