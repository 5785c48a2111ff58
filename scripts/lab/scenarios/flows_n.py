# SPDX-License-Identifier: GPL-2.0
"""The number of flows, by which W_ai is divided: fixed at 64, or counted by the receiver."""

import metrics as m
from claims import Claim, lost
from scenario import Scenario
from setups import long


CLAIMS = (
    Claim("Jain's index, minus that with the number fixed at 64", lambda r: r["jain"] - r.like(n=64)["jain"], ">=",
          -0.002, lambda p: p.n == 0),
    Claim("mean queue of more than 64 flows, divided by that with the number fixed at 64",
          lambda r: r.over("queue_mean", n=64), "<=", 1, lambda p: p.n == 0 and p.flows > 64),
    Claim("drops", lost, "<=", 0),
)
SCENARIO = Scenario(
    about="The number of flows, by which W_ai is divided: fixed at 64, or counted by the receiver",
    runs=lambda _: ((f"{flows}flows-{n}", dict(mode="receiver", flows=flows, n=0 if n == "counted" else 64))
                    for flows in (200, 64, 16, 4, 2) for n in ("fixed", "counted")),
    setup=long,
    metrics=lambda t: m.link(t) | m.jain(t),
    panels={"bench": lambda p: p.flows in (2, 64, 200)},
    claims=CLAIMS)
