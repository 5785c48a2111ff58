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
    size_claim("flows of one packet", "packet", 2.2, 1.2,
               "new flows begin with W = eta B T / (U + 1), which is half of a full link, and single packets wait in "
               "their queue", websearch=1.274),
    size_claim("flows above one packet, up to 10 KB", "to_10k", 2.3, 1.6),
    size_claim("flows of 10 to 100 KB", "to_100k", 3.2, 2.4,
               "new flows begin below line rate, as above. From line rate, as in the draft, it is 2.3, but 8.9 for the "
               "largest 5 % and 1.9 for flows of one packet", fb_hadoop=3.987, websearch=3.198),
    size_claim("flows of 100 KB to 1 MB", "to_1m", 8, 5.4,
               "new flows begin below line rate, as above. From line rate it is 6.0",
               fb_hadoop=8.191, websearch=7.185),
    size_claim("the largest 5 % of flows", "largest", 10, 7.5,
               "FB_Hadoop; with other random numbers of the kernel it is 9.7 at least", fb_hadoop=10.02),
)
SCENARIO = Scenario(about="Poisson arrivals between 16 hosts of a leaf-spine fabric", runs=runs, setup=fabric_poisson,
                    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t),
                    panels={"bench": bench, "law": lambda p: bench(p) and p.cc == "hpccpp" and p.seed <= 2},
                    claims=CLAIMS)
