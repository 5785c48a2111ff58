# SPDX-License-Identifier: GPL-2.0
"""Networks and traffic that several scenarios have: each sets up a run in the guest."""

import units
from guest import Guest

TRACE = 8_000_000


def star(g: Guest) -> None:
    """Flows to one receiver: of `size`, one each 100 ns, as in incast, or without end, as in long"""
    (incast if g.p.size else long)(g)


def long(g: Guest) -> None:
    """Flows without end of at most 100 hosts, a start each 1.7 us. The second half is measured."""
    p, hosts = g.p, min(g.p.flows, 100)
    # 2000 round trips, and 20 ms at least, for flows to settle and be counted
    end = p.time or max(p.rtt * 2000, 20_000_000)
    g.star(hosts, trace=20000)
    g.agents()
    if p.lie != "none":
        g.lie("h2", "0" if p.lie == "idle" else "0xff", "0x123456")
    for i in range(p.flows):
        g.flow((i + 1) * 1700, f"h{i % hosts + 1}", "r1", None, stop=end)
    g.run(start=end // 2, end=end)


def step(g: Guest) -> None:
    """Flows join one by one, and leave one by one"""
    p, n = g.p, g.p.flows
    gap = p.time // 2 // n if p.time else p.rtt * (600 if n == 2 else 150)
    end = 2 * n * gap
    g.star(n, trace=TRACE)
    g.agents()
    for i in range(1, n + 1):
        start = g.flow(i * gap, f"h{i}", "r1", None, stop=(n + i) * gap)
        if i > 1:
            g.events.append(("join", start, i - 1))
        if i < n:
            g.events.append(("leave", (n + i) * gap, i - 1))
    g.run(start=p.rtt, end=end, rates=p.rtt)


def incast(g: Guest) -> None:
    """All send at once: a start each 100 ns"""
    p = g.p
    g.star(p.flows, trace=TRACE)
    g.agents()
    for i in range(1, p.flows + 1):
        g.flow(100_000 + i * 100, f"h{i}", "r1", p.size)
    g.run(start=1000, stop=3_000_000_000, rates=20_000)


def fabric(g: Guest) -> None:
    """leafspine: 4 leaves of 4 hosts, 2 spines, as much up as down. clos: the HPCC paper's 320 hosts, 20 ToR,
    20 aggregation and 16 core switches."""
    shapes = {"leafspine": ((4, 2, 4), 200), "clos": ((5, 4, 4, 4, 16), 400)}
    if g.p.shape not in shapes:
        raise units.Error(f"shape={g.p.shape}: one of {', '.join(shapes)}")
    sizes, core = shapes[g.p.shape]
    g.network(g.p.shape, *sizes, rate="100g", core_rate=f"{core}g", **g.mark(100_000),
              **g.mark(core * 1000, "core_mark"), buffer=g.p.buffer, delay_ns=1000)


def poisson(g: Guest) -> None:
    """Poisson arrivals between all hosts"""
    g.agents()
    g.generate("poisson", 0, measured=1000)


def fabric_poisson(g: Guest) -> None:
    """Poisson arrivals between all hosts of a fabric"""
    fabric(g)
    poisson(g)
