# SPDX-License-Identifier: GPL-2.0
"""Flows that idled resume on a busy or an idle link, with a probe and without."""

import metrics as m
from claims import Claim, lost
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
    g.run(end=end, rates=p.rtt)


CLAIMS = (
    Claim("peak of the queue, divided by that without a probe", lambda r: r.over("queue_peak", probe=0), "<=", 0.6,
          lambda p: p.probe != 0 and p.busy != 0, "flows that resume on an idle link", 0.6212,
          "also without a probe, a flow resumes with only half of the link, which makes a peak of 558 packets instead "
          "of 905"),
    Claim("time until all flows that resumed have finished, RTTs, minus that without a probe",
          lambda r: (r["resumed_last_us"] - r.like(probe=0)["resumed_last_us"]) * 1000 / r.params.rtt, "<=", 5,
          lambda p: p.probe != 0),
    Claim("flows that did not finish", "unfinished", "<=", 0),
    Claim("drops", lost, "<=", 0),
)
SCENARIO = Scenario(
    about="Flows that idled resume on a busy or an idle link, with a probe and without",
    runs=lambda _: ((f"{flows}flows-busy{busy}-probe{probe}", dict(flows=flows, size="200k", busy=busy, probe=probe))
                    for flows in (16, 4, 1) for busy in (4, 0) for probe in (0, 8)),
    setup=setup,
    metrics=lambda t: m.link(t) | m.resume(t),
    panels={"bench": lambda p: p.flows != 4, "law": lambda p: p.flows == 16},
    claims=CLAIMS)
