# SPDX-License-Identifier: GPL-2.0
"""The join of a second flow, then the leave of the first; 16 or 64 join and leave one by one."""

import metrics as m
from scenario import Plan, Scenario, some
from setups import step


def runs(ccs: list[str]) -> Plan:
    """With max_stage 5, and for hpccpp 0 as well"""
    for g, rtt in (10, 8), (10, 20), (25, 20), (100, 8), (100, 20):
        link = dict(rate=f"{g}gbit", rtt=f"{rtt}us")
        for cc in some(ccs, "hpccpp", "hpccpp-rx", "dctcp"):
            for stage in (5, 0) if cc == "hpccpp" else (5,):
                run = dict(cc=cc, stage=stage, **link)
                yield f"{cc}-pair-{g}g-{rtt}us-stage{stage}", dict(run, flows=2)
                if g == 10:
                    continue
                for n in (16, 64) if cc == "hpccpp" else (64,):
                    yield f"{cc}-sixteen-{g}g-{rtt}us-stage{stage}-n{n}", dict(run, flows=16, n=n)
            if g != 10 and cc != "hpccpp-rx":
                yield (f"{cc}-sixtyfour-{g}g-{rtt}us-stage5-n64",
                       dict(link, cc=cc, flows=64, time=f"{64 * 2 * rtt // 20}ms"))


SCENARIO = Scenario(about="Flows that join and leave one by one", runs=runs, setup=step,
                    metrics=lambda t: m.link(t) | m.events(t) | m.fair(t),
                    panels={"bench": lambda p: p.stage == 5,
                            "law": lambda p: p.cc == "hpccpp" and p.stage == 5 and p.n == 64})
