# SPDX-License-Identifier: GPL-2.0
"""Latency of the receiver that begins in the run: in one step or four, or as jitter."""

import metrics as m
from claims import Claim
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
    Claim("load of the link, share", "utilisation", ">=", 0.93, lambda p: p.cc == "hpccpp" and p.jitter == 0, "jitter"),
    Claim("load of the link under jitter, mean of five seeds, share", lambda r: r.mean("utilisation"), ">=", 0.93,
          lambda p: p.cc == "hpccpp" and p.jitter != 0 and p.seed == 1, listed=0.8407, margin=0.02,
          why="ACKs in bunches make U of one round trip differ from that of the next, and W follows the largest: .91 "
              "to .93; with a long tail the window is used up while ACKs wait: .84 to .85. Tried: T of the longest "
              "round trip (.82)"),
    Claim("mean queue, packets", "queue_mean", "<=", 5),
    Claim("switches to Reno and back", lambda r: r["enter"] - 1 + r["fallback"], "<=", 2, listed=4,
          why="one of five seeds of a long tail at 200 Mbit/s"),
    Claim("drops", "drops", "<=", 0),
)
SCENARIO = Scenario(about="Latency of the receiver that begins in the run: in one step or four, or as jitter",
                    runs=runs, setup=harm, metrics=lambda t: m.link(t) | m.counters(t, "enter", "fallback"),
                    panels={"bench": lambda p: p.cc == "hpccpp",
                            "law": lambda p: (p.cc == "hpccpp" and p.seed == 1
                                              and (p.jitter == p.rtt or p.tail != "none"))},
                    claims=CLAIMS)
