# SPDX-License-Identifier: GPL-2.0
"""Flows that start at once, into buffers of three sizes."""

import metrics as m
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


SCENARIO = Scenario(
    about="Flows that start at once, into buffers of three sizes", runs=runs, setup=incast,
    metrics=lambda t: m.link(t) | m.incast(t),
    panels={"bench": lambda p: p.cc in ("hpccpp", "dctcp"), "law": law})
