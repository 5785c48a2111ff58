# SPDX-License-Identifier: GPL-2.0
"""Flows that idled resume beside others or alone, with a probe and without."""

import metrics as m
from guest import Guest
from scenario import Scenario
from setups import TRACE


def setup(g: Guest) -> None:
    """One by one the flows send to r1, alone. Then others start and stay. When these have settled, all resume at
    once."""
    p, again, end = g.p, 12_000_000, 20_000_000
    g.star(p.flows + p.busy, trace=TRACE)
    g.agents()
    g.events.append(("resume", again))
    for i in range(1, p.flows + 1):
        g.flow(i * 100_000, f"h{i}", "r1", f"{p.size}@{again}")
    for i in range(1, p.busy + 1):
        g.flow(4_000_000 + i * 1700, f"h{p.flows + i}", "r1", None, stop=end)
    g.run(start=1000, end=end, rates=p.rtt)


SCENARIO = Scenario(
    about="Flows that idled resume beside others or alone, with a probe and without",
    runs=lambda _: ((f"{flows}flows-busy{busy}-probe{probe}", dict(flows=flows, size="200k", busy=busy, probe=probe))
                    for flows in (16, 4, 1) for busy in (4, 0) for probe in (0, 8)),
    setup=setup,
    metrics=lambda t: m.link(t) | m.resume(t),
    panels={"law": lambda p: p.flows == 16})
