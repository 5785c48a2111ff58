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
    if p.forged != "none":
        g.call("forge", "h2", "0" if p.forged == "idle" else "0xff", "0x123456")
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
    g.run(end=end, rates=p.rtt)


def incast(g: Guest) -> None:
    """All send at once: a start each 100 ns"""
    p = g.p
    g.star(p.flows, trace=TRACE)
    g.agents()
    for i in range(1, p.flows + 1):
        g.flow(100_000 + i * 100, f"h{i}", "r1", p.size)
    g.run(stop=3_000_000_000, rates=20_000)


def fabric(g: Guest) -> None:
    """leafspine: 4 leaves of 4 hosts, 2 spines, as much up as down. clos: the HPCC paper's 320 hosts, 20 ToR,
    20 aggregation and 16 core switches."""
    shapes = {"leafspine": ((4, 2, 4), g.p.core // 10**9), "clos": ((5, 4, 4, 4, 16), 400)}
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


def parking(g: Guest) -> None:
    """Who the bottleneck is, and who gets what of it. Slow links have 2/5 of the rate.

    parking: h0 passes the slow links s1-s2-...-s5 to r0, hI-rI the link I of these; there may be more than these 4.
    asymmetric: the same path; s1-s2 is slow, s2-s3 has half of that, and only h0 and h2 share it.
    receiver: two leaves and a spine; the port of h5, which receives, is slow.
    nic: 8 flows of one host, whose NIC is slow, to 8 others."""
    p = g.p
    end, slow = p.rtt * 4000, p.mbit * 2 // 5
    keys = g.mark(slow) | dict(rate=f"{p.mbit}m", delay_ns=1000, buffer=p.buffer)
    if p.shape == "parking":
        g.network("parking", p.hops, **keys, core_rate=f"{slow}m")
        ports = [(f"s{i}", "p1" if i == 1 else "p2") for i in range(1, p.hops + 1)]
        g.call("real", "h0", *(word for port in ports for word in port))
        for i, port in enumerate(ports, 1):
            g.call("real", f"h{i}", *port)
        pairs = [(f"h{i}", f"r{i}") for i in range(p.hops + 1)]
    elif p.shape == "asymmetric":
        g.network("parking", 4, **keys, links=["link", "s1", "s2", "rate", f"{slow}m",
                                               "link", "s2", "s3", "rate", f"{slow // 2}m"])
        pairs = [("h0", "r0"), ("h2", "r2")]
        for host, _ in pairs:
            g.call("real", host, "s2", "p2")
    elif p.shape == "receiver":
        g.network("leafspine", 2, 1, 4, **keys, core_rate=f"{p.mbit * 4}m",
                  links=["link", "l2", "h5", "rate", f"{slow}m"])
        pairs = [(f"h{i}", "h5") for i in range(1, 5)]
        for host, _ in pairs:
            g.call("real", host, "l2", "p1")
    elif p.shape == "nic":
        g.network("star", 8, **keys, links=["link", "s1", "r1", "rate", f"{slow}m"])
        pairs = [("r1", f"h{i}") for i in range(1, 9)]
        g.call("real", "r1", "r1", "eth0")
    else:
        raise units.Error(f"shape={p.shape}: one of parking, asymmetric, receiver, nic")
    g.agents()
    g.updates = True
    for i, (src, dst) in enumerate(pairs, 1):
        g.flow(i * 1700, src, dst, None, stop=end)
    g.run(start=end // 2, end=end)


def harm(g: Guest) -> None:
    """h1 and h2 send by s1 and s2 to r1, over what telemetry does not report: a last link without a port agent, with a
    rate and buffer of its own, or latency of the receiver from an eighth of the time on. The first flow is alone, or
    with one of `other` that was there before."""
    p = g.p
    end, hop = p.time, p.mbit * p.hop // 100
    agents = {"most": "^s2 p2" if p.hop != 100 else "", "nics": "^[sr]", "none": ".", "edges": ""}
    if p.agents not in agents:
        raise units.Error(f"agents={p.agents}: one of {', '.join(agents)} with this network")
    last = {"rate": f"{hop}m", "buffer": p.packets * p.wire or p.buffer} | g.mark(hop)
    g.network("graph", rate=f"{p.mbit}m", delay_ns=p.rtt // 6, buffer=p.buffer,
              links=["link", "h1", "s1", "link", "h2", "s1", "link", "s1", "s2", "port", "s2", "r1",
                     *(word for item in last.items() for word in item), "link", "s2", "r1"])
    g.call("port", "s2", "p2")
    g.agents(agents[p.agents])
    if p.lag or p.jitter:
        # before the last step, whole microseconds; with a rate packets keep their order
        delays = [p.lag * i // p.steps // 1000 * 1000 for i in range(1, p.steps)] + [p.lag]
        tail = [] if p.tail == "none" else ["distribution", p.tail]
        netem = "tc -n r1 qdisc replace dev eth0 root netem limit 100000 rate 1tbit".split()
        g.later((end // 4 / (p.steps if i else 2), [*netem, "delay", units.us(delay), units.us(p.jitter), *tail])
                for i, delay in enumerate(delays))
    g.flow(p.rtt * 2, "h1", "r1", None, stop=end)
    if p.other != "none":
        g.flow(1000, "h2", "r1", None, stop=end, cc=p.other)
    g.run(start=end // 2, end=end)
    g.call("counters", "h1")
