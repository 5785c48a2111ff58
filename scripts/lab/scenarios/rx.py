# SPDX-License-Identifier: GPL-2.0
"""The window computed by the sender, and by the receiver."""

import metrics as m
from claims import Claim, lost
from params import Params
from scenario import Scenario
from setups import long

MANY = "200 flows, whose fair share is a third of a packet per base RTT"


def up_to_64(p: Params) -> bool:
    """The fair share is at least a packet per base RTT"""
    return p.flows <= 64


CLAIMS = (
    Claim("utilisation of the bottleneck", "utilisation", ">=", 0.93, up_to_64, MANY),
    Claim("mean queue, packets", "queue_mean", "<=", 5, up_to_64, MANY),
    Claim("p99 of the queue, packets", "queue_p99", "<=", 16, up_to_64, MANY),
    Claim("Jain's index", "jain", ">=", 0.98, up_to_64, MANY),
    Claim("drops", lost, "<=", 0),
)
SCENARIO = Scenario(
    about="The window computed by the sender, and by the receiver",
    runs=lambda _: ((f"{mode}-{flows}flows", dict(mode=mode, flows=flows))
                    for flows in (200, 64, 16, 4, 2, 1) for mode in ("sender", "receiver")),
    setup=long,
    metrics=lambda t: m.link(t) | m.jain(t),
    panels={"bench": lambda p: p.flows not in (2, 4), "law": lambda p: p.flows in (16, 64)},
    claims=CLAIMS)
