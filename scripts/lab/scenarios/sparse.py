# SPDX-License-Identifier: GPL-2.0
"""Telemetry requested in all packets, one in 4, one in 16, or once in a round trip."""

import metrics as m
from claims import Claim
from scenario import Scenario
from setups import long

CLAIMS = (
    Claim("utilisation lost, compared with requests in all packets",
          lambda r: r.like(every="1")["utilisation"] - r["utilisation"], "<=", 0.02,
          lambda p: p.every != "1"),
    Claim("p99 of the queue, packets, minus that with requests in all packets",
          lambda r: r["queue_p99"] - r.like(every="1")["queue_p99"], "<=", 8, lambda p: p.every != "1"),
    Claim("Jain's index", "jain", ">=", 0.98),
)
SCENARIO = Scenario(
    about="Telemetry requested in all packets, one in 4, one in 16, or once in a round trip",
    runs=lambda _: ((f"{flows}x{g}g-{rtt}us-every-{every}", dict(flows=flows, rate=f"{g}gbit", rtt=f"{rtt}us",
                                                                 every=every))
                    for g, rtt in ((25, 20), (100, 8), (100, 20)) for flows in (2, 16, 64)
                    for every in (1, 4, 16, "rtt")),
    setup=long,
    metrics=lambda t: m.link(t) | m.jain(t),
    panels={"bench": lambda p: p.rate == 10**11 and (p.rtt == 20_000 or p.flows == 64),
            "law": lambda p: p.every in ("4", "16") and p.rate == 10**11 and p.rtt == 20_000},
    claims=CLAIMS)
