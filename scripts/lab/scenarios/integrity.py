# SPDX-License-Identifier: GPL-2.0
"""Two flows, one of which receives false telemetry."""

import metrics as m
from claims import Claim
from scenario import Scenario
from setups import long

CLAIMS = (
    Claim("goodput of the honest flow against one whose echoes report a full path, divided by the link's rate",
          lambda r: r["shares_mbit"][0] / r.params.mbit, ">=", 0.85, lambda p: p.forged == "full" and p.key == 0),
    Claim("goodput of the honest flow against one with false telemetry, Mbit/s", lambda r: r["shares_mbit"][0], ">=", 1,
          lambda p: p.forged != "none"),
    Claim("p99 of the queue with false telemetry and without a key, BDPs", lambda r: r["queue_p99"] / r["bdp"], "<=", 1,
          lambda p: p.forged != "none" and p.key == 0, listed=4.257,
          why="without a key, a receiver may report an idle path. The sender measures a delay that this does not "
              "account for, and falls back to Reno, which fills the buffer"),
    Claim("utilisation with a key, minus that without", lambda r: r["utilisation"] - r.like(key=0)["utilisation"],
          ">=", -0.01, lambda p: p.forged == "none" and p.key == 1),
    Claim("Jain's index of two honest flows", "jain", ">=", 0.98, lambda p: p.forged == "none"),
)
SCENARIO = Scenario(
    about="Two flows, one of which receives false telemetry; also with a key, which the attacker does not have",
    runs=lambda _: ((f"{forged}-key{key}", dict(forged=forged, key=key, flows=2, rtt="20us", time="80ms", buffer="4m"))
                    for forged in ("none", "idle", "full") for key in (0, 1)),
    setup=long,
    metrics=lambda t: m.link(t) | m.jain(t) | m.shares(t),
    panels={"law": lambda p: p.key == 0},
    claims=CLAIMS)
