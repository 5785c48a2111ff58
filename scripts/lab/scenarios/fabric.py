# SPDX-License-Identifier: GPL-2.0
"""Poisson arrivals between 16 hosts of a leaf-spine fabric."""

import metrics as m
from params import Params
from scenario import BEST, Plan, Scenario
from setups import fabric_poisson


def runs(ccs: list[str]) -> Plan:
    """The runs have many flows each: fq serves them in turn. In runs named *-fifo a host's NIC is a FIFO, and those
    named *-seedN have other flows. A run takes as long as some thousand flows need."""
    for sizes, time in ("websearch", "60ms"), ("fb_hadoop", "12ms"):
        for load in 70, 50, 30:
            for cc in [*ccs, BEST, "hpccpp-full", "hpccpp-rx"]:
                if cc == "hpccpp-rx" and load != 50:
                    continue
                name = f"{cc}-{sizes}-{load}"
                run = dict(cc=cc, shape="leafspine", load=load, sizes=sizes, rtt="9us", time=time, host="fq")
                yield name, run
                if load != 50 or cc in ("hpccpp-full", "hpccpp-rx"):
                    continue
                # others at their best: hosts send single segments and begin with a BDP
                if cc in ("bbr", "cubic"):
                    yield f"{cc}-bdp-{sizes}-{load}", dict(run, cc=f"{cc}-bdp")
                if cc in ("hpccpp", "dctcp"):
                    yield f"{name}-fifo", dict(run, host="fifo")
                for seed in 2, 3, 4, 5:
                    yield f"{name}-seed{seed}", dict(run, seed=seed)


def bench(p: Params) -> bool:
    """What the README compares: 50 % load; five seeds of hpccpp and of DCTCP with its K of 20"""
    return (p.load == 50 and p.host == "fq" and p.cc not in ("hpccpp-full", "hpccpp-rx")
            and (p.seed == 1 or p.cc in ("hpccpp", "dctcp-k20", BEST)))


SCENARIO = Scenario(about="Poisson arrivals between 16 hosts of a leaf-spine fabric", runs=runs, setup=fabric_poisson,
                    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t),
                    panels={"bench": bench, "law": lambda p: bench(p) and p.cc == "hpccpp" and p.seed <= 2})
