# SPDX-License-Identifier: GPL-2.0
"""Poisson arrivals between 16 hosts of a leaf-spine fabric."""

import metrics as m
from scenario import Plan, Scenario
from setups import fabric_poisson


def runs(ccs: list[str]) -> Plan:
    """The runs have many flows each: fq serves them in turn. In runs named *-fifo a host's NIC is a FIFO, and those
    named *-seedN have other flows. A run takes as long as some thousand flows need."""
    for sizes, time in ("websearch", "60ms"), ("fb_hadoop", "12ms"):
        for load in 70, 50, 30:
            for cc in [*ccs, "hpccpp-full", "hpccpp-rx"]:
                if cc == "hpccpp-rx" and load != 50:
                    continue
                name = f"{cc}-{sizes}-{load}"
                run = dict(cc=cc, shape="leafspine", load=load, sizes=sizes, rtt="9us", time=time, host="fq")
                yield name, run
                if load != 50 or cc in ("hpccpp-full", "hpccpp-rx"):
                    continue
                if cc in ("hpccpp", "dctcp"):
                    yield f"{name}-fifo", dict(run, host="fifo")
                for seed in 2, 3, 4, 5:
                    yield f"{name}-seed{seed}", dict(run, seed=seed)


SCENARIO = Scenario(about="Poisson arrivals between 16 hosts of a leaf-spine fabric", runs=runs, setup=fabric_poisson,
                    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t))
