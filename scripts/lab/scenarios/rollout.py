# SPDX-License-Identifier: GPL-2.0
"""The fabric of `fabric`, where only a part of the ports has an agent."""

import metrics as m
from claims import CHANCE, Claim, Result, lost
from scenario import Scenario
from setups import fabric_poisson

CLASSES = ["packet", "to_10k", "to_100k", "to_1m", "largest"]


def worst(run: Result, last: str) -> float:
    """The largest ratio to the run without agents, of the classes of sizes up to this one"""
    return max(run.over(f"{name}_p99", agents="0") for name in CLASSES[:CLASSES.index(last) + 1])


CLAIMS = (
    Claim("p99 slowdown, divided by that without agents, in the worst class of sizes up to 1 MB",
          lambda r: worst(r, "to_1m"), "<=", 1, lambda p: p.agents not in ("0", "25"),
          "the run with agents on a quarter of the ports"),
    Claim("p99 slowdown, divided by that without agents, in the worst class of all sizes",
          lambda r: worst(r, "largest"), "<=", 1, lambda p: p.agents != "0", listed=1.321, margin=CHANCE,
          why="with agents on a quarter of the ports, a flow seldom receives telemetry from its bottleneck. Its first "
              "record from another port moves it from CUBIC to hpccpp, which falls back to Reno if telemetry does not "
              "account for the queue, and then competes with flows of CUBIC"),
    Claim("flows that did not finish", "unfinished", "<=", 0),
    Claim("drops", lost, "<=", 0, lambda p: p.agents != "0", listed=21, margin=CHANCE,
          why="hosts with agents on half of the ports drop packets of flows that receive no telemetry and use CUBIC"),
)
SCENARIO = Scenario(
    about="Poisson arrivals in a fabric where only a part of the ports has an agent",
    runs=lambda _: ((f"hpccpp-{agents}", dict(shape="leafspine", load=50, sizes="fb_hadoop", rtt="9us", time="12ms",
                                              host="fq", agents=str(agents))) for agents in (0, 25, 50, 75, 100)),
    setup=fabric_poisson,
    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t),
    panels={"bench": lambda p: p.agents in ("0", "25", "50")},
    claims=CLAIMS)
