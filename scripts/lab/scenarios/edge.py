# SPDX-License-Identifier: GPL-2.0
"""Port agents on hosts alone, and none on switches."""

from typing import Any

import metrics as m
import setups
from claims import CHANCE, Claim, Result, lost
from guest import Guest
from params import Params
from scenario import Plan, Scenario, some
from traces import Traces

EDGES = "hpccpp-edges"
CLASSES = ("packet", "to_10k", "to_100k", "to_1m")


def runs(ccs: list[str]) -> Plan:
    """1to1: the core has the capacity of its hosts' links; 2to1: half of it. half-*: agents on half of the hosts."""
    seeds = range(1, 6)
    for core, name in ("200gbit", "1to1"), ("100gbit", "2to1"):
        run: dict[str, Any] = dict(shape="leafspine", load=50, rtt="9us", host="fq", core=core)
        for sizes, time in ("fb_hadoop", "6ms"), ("websearch", "12ms"):
            for cc in some(ccs, EDGES, "hpccpp", "dctcp", "dctcp-k20", "bbr", "cubic"):
                for seed in seeds:
                    yield f"{cc}-{sizes}-{name}-seed{seed}", dict(run, cc=cc, sizes=sizes, time=time, seed=seed)
        yield f"half-fb_hadoop-{name}", dict(run, cc="hpccpp", agents="edges50", sizes="fb_hadoop", time="6ms")
    for cc in EDGES, "hpccpp":
        for seed in seeds:
            yield f"{cc}-star32-seed{seed}", dict(cc=cc, load=80, sizes="fb_hadoop", rtt="5us", mtu=5000, time="6ms",
                                                  host="fq", seed=seed)
        for flows in 8, 32, 60, 200:
            for mb in 32, 4, 1:
                run = dict(cc=cc, flows=flows, size="500k", buffer=f"{mb}m")
                yield f"{cc}-{flows}x500k-{mb}mb", run
                for seed in seeds:
                    yield f"{cc}-{flows}x500k-{mb}mb-spread{seed}", dict(run, spread="8us", seed=seed)
        for flows in 1, 4, 16, 64:
            yield f"{cc}-{flows}flows", dict(cc=cc, flows=flows)
        for hops in 2, 4:
            yield f"{cc}-parking-{hops}hops", dict(cc=cc, rate="25gbit", rtt="20us", shape="parking", hops=hops)
        run = dict(cc=cc, rate="100gbit", rtt="8us", time="16ms")
        for jitter in "4us", "8us":
            for seed in seeds:
                yield f"{cc}-jitter{jitter}-seed{seed}", dict(run, lag=jitter, jitter=jitter, seed=seed)
        yield f"{cc}-tail", dict(run, lag="8us", jitter="4us", tail="pareto")
        for lag in "4us", "8us", "24us":
            yield f"{cc}-lag{lag}", dict(run, lag=lag, time="64ms")
        yield f"{cc}-cubic", dict(run, other="cubic", packets=200)


def setup(g: Guest) -> None:
    """Sets up the network and traffic that the run's keys describe"""
    p = g.p
    if p.shape == "leafspine":
        setups.fabric_poisson(g)
    elif p.shape == "parking":
        setups.parking(g)
    elif p.load:
        g.star(31)
        setups.poisson(g)
    elif p.lag or p.other != "none":
        setups.harm(g)
    else:
        setups.star(g)


def metrics(t: Traces) -> dict[str, Any]:
    """The metrics of the run's traffic"""
    p = t.p
    if p.load:
        return m.slowdown(t) | m.classes(t) | m.ports(t)
    if p.size:
        return m.link(t) | m.incast(t)
    if p.lag or p.other != "none":
        return m.link(t) | m.shares(t) | m.counters(t, "enter", "fallback")
    return m.parking(t) if p.shape == "parking" else m.link(t) | m.jain(t)


def bench(p: Params) -> bool:
    """30 runs: FB_Hadoop with both cores and in star32, an incast of each size, 16 long flows, latency, jitter"""
    if p.shape == "leafspine":
        return p.sizes == "fb_hadoop" and p.agents != "edges50" and (
            p.cc in (EDGES, "hpccpp") and (p.core == 100 * 10**9 or p.seed == 1)
            or p.cc in ("dctcp-k20", "cubic") and p.core == 100 * 10**9 and p.seed == 1)
    if p.shape == "parking" or p.other != "none" or p.tail != "none":
        return False
    if p.load:
        return p.seed == 1
    return p.cc == EDGES and p.seed == 1 and (bool(p.lag) or p.buffer == 10**6 or not p.size and p.flows == 16)


def fabric(p: Params) -> bool:
    """The first run of FB_Hadoop in each fabric, with agents on all hosts"""
    return p.cc == EDGES and p.shape == "leafspine" and p.sizes == "fb_hadoop" and p.seed == 1


def over_all(run: Result, *classes: str) -> float:
    """The p99 slowdown of the worst of these classes, divided by that with agents on all ports; with a core of half
    capacity, the mean of five seeds divided by such a mean"""
    def p99(of: Result, name: str) -> float:
        return of.mean(f"{name}_p99") if run.params.core == 100 * 10**9 else float(of[f"{name}_p99"])
    return max(p99(run, name) / p99(run.like(cc="hpccpp"), name) for name in classes)


def over_others(run: Result) -> float:
    """The p99 slowdown of the worst class, divided by DCTCP's (K = 20) or, up to 1 MB, by 1.2 times CUBIC's"""
    return max(max(run.over(f"{name}_p99", cc="dctcp-k20") for name in CLASSES[:3]),
               run.over("to_1m_p99", cc="cubic") / 1.2)


CLAIMS = (
    Claim("p99 slowdown in the worst class of sizes up to 1 MB, divided by that with agents on all ports",
          lambda r: over_all(r, *CLASSES), "<=", lambda r: 2.5 if r.params.core == 100 * 10**9 else 1.25, fabric,
          "WebSearch and single seeds", margin=CHANCE),
    Claim("p99 slowdown of the largest 5 % of flows, divided by that with agents on all ports",
          lambda r: over_all(r, "largest"), "<=", 1.4, fabric, "WebSearch and single seeds", margin=CHANCE),
    Claim("p99 slowdown in the worst class: up to 100 KB divided by that under DCTCP with a K of 20, from 100 KB to "
          "1 MB by 1.2 times that under CUBIC", over_others, "<=", 1, lambda p: fabric(p) and p.core == 100 * 10**9,
          "a core of full capacity", margin=CHANCE),
    Claim("drops, and flows that did not finish", lambda r: lost(r) + (r["unfinished"] or 0), "<=", 0,
          lambda p: p.cc == EDGES and (p.load != 0 or p.size != 0), "runs without end", listed=183,
          why="200 flows that begin at random within 8 us: their first windows make a queue that no port reports. The "
              "buffer has 660 packets, and the queue 652 where the flows begin one after another"),
    Claim("utilisation of the bottleneck, with latency that begins in the run, too", "utilisation", ">=", 0.9,
          lambda p: p.cc == EDGES and not p.load and not p.size and p.shape == "none" and p.other == "none",
          "runs with sizes, the parking lots, and competition with CUBIC", listed=0.308, margin=CHANCE,
          why="ACKs that begin to be late by 0 to 16 us over 8 us: their delay looks like a queue until 128 round trips "
              "have like delay; 0.77 in a run of 64 ms, at the end 0.95"),
)
SCENARIO = Scenario(about="Port agents on hosts alone, and none on switches", runs=runs, setup=setup, metrics=metrics,
                    panels={"bench": bench, "all": lambda p: p.seed <= 5}, claims=CLAIMS)
