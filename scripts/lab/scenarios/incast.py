# SPDX-License-Identifier: GPL-2.0
"""Flows that start at once, into buffers of three sizes."""

import metrics as m
from claims import Claim
from params import Params
from scenario import Plan, Scenario, some
from setups import incast


def runs(ccs: list[str]) -> Plan:
    """A start each 100 ns; or, in runs named *-spreadN, each drawn within one base RTT from the seed N"""
    for flows in 200, 60, 32, 8:
        for k in 500, 10:
            for mb in 32, 4, 1:
                for cc in [*ccs, "hpccpp-rx"]:
                    run = dict(cc=cc, flows=flows, size=f"{k}k", buffer=f"{mb}m")
                    yield f"{cc}-{flows}x{k}k-{mb}mb", run
                    if mb > 1 or cc not in some(ccs, "hpccpp", "dctcp"):
                        continue
                    for seed in 1, 2, 3, 4, 5:
                        yield f"{cc}-{flows}x{k}k-{mb}mb-spread{seed}", dict(run, spread="8us", seed=seed)


def law(p: Params) -> bool:
    """Large flows, with starts of both kinds"""
    return p.cc == "hpccpp" and p.size == 500_000 and p.seed == 1


CLAIMS = (
    Claim("flows that did not end", "unfinished", "<=", 0),
    Claim("timeouts", "timeouts", "<=", 0),
    Claim("drops", "drops", "<=", 0),
    Claim("completion over ideal", "completion_over_ideal", "<=", 1.1, listed=1.216,
          why="the least window of TCP is two packets: 200 flows keep 6 BDP in the queue, whatever their share is"),
    Claim("rate at which the queue shrinks, share of the link", "drain_net_rate", ">=", 0.97,
          lambda p: p.is_hpccpp and p.size == 500_000 and p.buffer == 32_000_000 and not p.spread,
          "flows of 10 KB, which end before, and small buffers", 0.3062,
          "data of flows that are down to two packets arrives meanwhile, and news takes a round trip"),
)
SCENARIO = Scenario(
    about="Flows that start at once, into buffers of three sizes", runs=runs, setup=incast,
    metrics=lambda t: m.link(t) | m.incast(t),
    panels={"bench": lambda p: p.cc in ("hpccpp", "dctcp"), "law": law},
    claims=CLAIMS)
