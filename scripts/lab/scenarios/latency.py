# SPDX-License-Identifier: GPL-2.0
"""Latency of the receiver that begins in the run: in one step or four, or as jitter."""

import metrics as m
from claims import CHANCE, Claim, lost
from scenario import Plan, Scenario, some
from setups import harm


def runs(ccs: list[str]) -> Plan:
    """Jitter is drawn: hpccpp has five seeds"""
    for mbit, rtt, ms in (200, 2000, 4000), (10000, 30, 60), (100000, 8, 16):
        for cc in some(ccs, "hpccpp", "dctcp", "bbr", "cubic"):
            name = f"{cc}-{mbit}m-{rtt}us"
            run = dict(cc=cc, rate=f"{mbit}mbit", rtt=f"{rtt}us", time=f"{ms}ms")
            for lag in 10, rtt // 2, rtt, 3 * rtt:
                yield f"{name}-lag{lag}", dict(run, lag=f"{lag}us")
            yield f"{name}-steps", dict(run, lag=f"{3 * rtt}us", steps=4)
            for seed in (1, 2, 3, 4, 5) if cc == "hpccpp" else (1,):
                suffix = f"-seed{seed}" if seed > 1 else ""
                for lag in rtt // 4, rtt // 2, rtt:
                    yield (f"{name}-jitter{lag}{suffix}",
                           dict(run, seed=seed, lag=f"{lag}us", jitter=f"{lag}us"))
                yield (f"{name}-tail{rtt}{suffix}",
                       dict(run, seed=seed, lag=f"{rtt}us", jitter=f"{rtt // 2}us", tail="pareto"))


CLAIMS = (
    Claim("utilisation of the bottleneck", "utilisation", ">=", 0.93, lambda p: p.cc == "hpccpp" and p.jitter == 0,
          "runs with jitter, which the next claim is about"),
    Claim("utilisation of the bottleneck under jitter, mean of five seeds", lambda r: r.mean("utilisation"), ">=",
          lambda r: 0.93 if r.params.tail == "none" else 0.87,
          lambda p: p.cc == "hpccpp" and p.jitter != 0 and p.seed == 1, listed=0.913, margin=CHANCE,
          why="ACKs that arrive in bunches make U vary between round trips, and W follows the largest: 0.913 where the "
              "jitter is a quarter of 8 us, 0.919 where it is half of 2 ms"),
    Claim("mean queue, packets", "queue_mean", "<=", 5),
    Claim("switches to the fallback (Reno) and back", lambda r: r["enter"] - 1 + r["fallback"], "<=", 2),
    Claim("drops", lost, "<=", 0),
)
SCENARIO = Scenario(about="Latency of the receiver that begins in the run: in one step or four, or as jitter",
                    runs=runs, setup=harm, metrics=lambda t: m.link(t) | m.counters(t, "enter", "fallback"),
                    panels={"bench": lambda p: p.cc == "hpccpp",
                            "law": lambda p: (p.cc == "hpccpp" and p.seed == 1
                                              and (p.jitter == p.rtt or p.tail != "none"))},
                    claims=CLAIMS)
