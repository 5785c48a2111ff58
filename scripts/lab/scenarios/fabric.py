# SPDX-License-Identifier: GPL-2.0
"""Poisson arrivals between 16 hosts of a leaf-spine fabric."""

import metrics as m
from claims import CHANCE, Claim
from params import Params
from scenario import BEST, Plan, Scenario
from setups import fabric_poisson


def runs(ccs: list[str]) -> Plan:
    """The runs have many flows each: fq serves them in turn. In runs named *-fifo a host's NIC is a FIFO, and those
    named *-seedN have other flows. A run takes as long as some thousand flows need."""
    for sizes, time in ("websearch", "60ms"), ("fb_hadoop", "12ms"):
        for load in 70, 50, 30:
            for cc in [*ccs, BEST, "hpccpp-draft", "hpccpp-full", "hpccpp-rx"]:
                if cc in ("hpccpp-draft", "hpccpp-rx") and load != 50:
                    continue
                name = f"{cc}-{sizes}-{load}"
                run = dict(cc=cc, shape="leafspine", load=load, sizes=sizes, rtt="9us", time=time, host="fq")
                yield name, run
                if load != 50 or cc in ("hpccpp-draft", "hpccpp-full", "hpccpp-rx"):
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


def size_claim(about: str, metric: str, fb_hadoop: float, websearch: float, why: str = "", /, **listed: float) -> Claim:
    """A claim of the mean over five seeds, for a class of sizes: bounds of both workloads, and listed figures"""
    bounds = {"fb_hadoop": fb_hadoop, "websearch": websearch}
    return Claim(f"p99 slowdown of {about}, mean of five seeds",
                 lambda r: r.mean(f"{metric}_p99"), "<=", lambda r: bounds[r.params.sizes],
                 lambda p: p.cc == "hpccpp" and p.load == 50 and p.host == "fq" and p.seed == 1,
                 "loads of 30 and 70 %, FIFO hosts, hpccpp-full and hpccpp-rx, which are there to compare",
                 (lambda r: listed.get(r.params.sizes)) if listed else None, why, CHANCE)


CLAIMS = (
    size_claim("flows of one packet", "packet", 1.9, 1.9),
    size_claim("flows above one packet, up to 10 KB", "to_10k", 2.3, 1.6),
    # 0.3 above what max-min fair shares of 0.95 of each link make of these flows without any queue
    size_claim("flows of 10 to 100 KB", "to_100k", 4.8, 4.7),
    size_claim("flows of 100 KB to 1 MB", "to_1m", 7.2, 7.6,
               "FB_Hadoop: 6.7 to 9.3, by the seed", fb_hadoop=7.595),
    size_claim("the largest 5 % of flows", "largest", 10, 8),
)
SCENARIO = Scenario(about="Poisson arrivals between 16 hosts of a leaf-spine fabric", runs=runs, setup=fabric_poisson,
                    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t),
                    panels={"bench": bench, "law": lambda p: bench(p) and p.cc == "hpccpp" and p.seed <= 2},
                    claims=CLAIMS)
