# SPDX-License-Identifier: GPL-2.0
"""N of W_ai fixed, and as the receiver counts."""

import metrics as m
from claims import Claim
from params import Params
from scenario import Scenario
from setups import long


def counted(p: Params) -> bool:
    """The receiver counts"""
    return p.n == 0


CLAIMS = (
    Claim("Jain's index less that with N fixed", lambda r: r["jain"] - r.like(n=64)["jain"], ">=", -0.002, counted),
    Claim("mean queue over that with N fixed, which is too small", lambda r: r.over("queue_mean", n=64), "<=", 1,
          lambda p: p.n == 0 and p.flows > 64),
    Claim("drops", "drops", "<=", 0),
)
SCENARIO = Scenario(
    about="N of W_ai fixed, and as the receiver counts",
    runs=lambda _: ((f"{flows}flows-{n}", dict(mode="receiver", flows=flows, n=0 if n == "counted" else 64))
                    for flows in (200, 64, 16, 4, 2) for n in ("fixed", "counted")),
    setup=long,
    metrics=lambda t: m.link(t) | m.jain(t),
    claims=CLAIMS)
