# SPDX-License-Identifier: GPL-2.0
"""A last link without a port agent, alone and with flows of other congestion controls."""

import metrics as m
from collections.abc import Iterator
from typing import Any

from claims import Claim, Result, lost
from params import Params
from scenario import Plan, Scenario, some
from setups import harm


def runs(ccs: list[str]) -> Plan:
    """What Reno and CUBIC make of the same link is there to compare. The last link is slower than the others, or only
    the senders' NICs have agents, or no port has one. A WAN has a fast link with an agent and a slow one without."""
    own = some(ccs)
    pairs = [("hpccpp", other) for other in ["none", "reno", "cubic", *own]] + [
        (cc, other) for cc in ["reno", "cubic", *own] for other in ("none", cc)]

    def link(mbit: int, rtt: int, ms: int, hop: int, packets: int, agents: str = "") -> Iterator[tuple[str, Any]]:
        for cc, other in pairs:
            # other congestion controls do not read telemetry
            if agents and cc != "hpccpp":
                continue
            yield (f"{cc}-{other}-{mbit}m-{rtt}us-hop{hop}-buffer{packets}" + (f"-{agents}" if agents else ""),
                   dict(cc=cc, other=other, rate=f"{mbit}mbit", rtt=f"{rtt}us", time=f"{ms}ms", hop=hop,
                        packets=packets, agents=agents or "most"))

    for mbit, rtt, ms in (200, 20000, 8000), (10000, 100, 60), (100000, 30, 16):
        for hop in 85, 50:
            for packets in 4, 30, 2 * mbit * rtt // 8 // 1514:
                yield from link(mbit, rtt, ms, hop, packets)
        for hop in 100, 40:
            yield from link(mbit, rtt, ms, hop, 30)
        for agents in "nics", "none":
            yield from link(mbit, rtt, ms, 85, 30, agents)
    for packets in 30, 200:
        yield from link(1000, 50000, 40000, 5, packets)


def bench(p: Params) -> bool:
    """The buffers of 4 and 30 packets behind a link of 85 %"""
    return p.packets <= 30 and p.hop == 85


def law(p: Params) -> bool:
    """hpccpp at 10 Gbit/s, where the last link alone has no agent"""
    return bench(p) and p.cc == "hpccpp" and p.packets == 30 and p.agents == "most" and p.rate == 10**10


def alone(p: Params) -> bool:
    """One flow"""
    return p.cc == "hpccpp" and p.other == "none"


def beside(p: Params) -> bool:
    """A flow in competition with one of another congestion control"""
    return p.cc == "hpccpp" and p.other != "none"


def stands_for(run: Result) -> str:
    """The congestion control that a flow falls back to"""
    return "cubic" if run.params.agents == "none" else "reno"


def twin(run: Result) -> float:
    """Mean goodput of two flows of the other congestion control that share the link"""
    return float(sum(run.like(cc=run.params.other, agents="most")["shares_mbit"])) / 2


CLAIMS = (
    Claim("goodput alone, divided by that of Reno (of CUBIC if no port has an agent)",
          lambda r: r["shares_mbit"] / r.like(cc=stands_for(r), agents="most")["shares_mbit"], ">=", 0.95, alone),
    Claim("drops alone, minus twice those of Reno (of CUBIC if no port has an agent)",
          lambda r: lost(r) - 2 * lost(r.like(cc=stands_for(r), agents="most")), "<=", 0, alone, listed=4,
          why="a flow begins at the rate of the links that report telemetry; the slower one, which does not, drops "
              "the excess once: 5 or 6 packets, where Reno loses 1 or 2"),
    Claim("goodput in competition with another congestion control, divided by the mean of two flows of that one",
          lambda r: r["shares_mbit"][0] / twin(r), "<=", 1.5, beside, listed=1.716,
          why="a buffer of 4 packets drops from the bursts of Reno and CUBIC, but has room for paced packets"),
    Claim("goodput of the other congestion control, divided by the mean of two flows of that one",
          lambda r: r["shares_mbit"][1] / twin(r), ">=", 0.67, beside),
)
SCENARIO = Scenario(about="A last link without a port agent, alone and with flows of other congestion controls",
                    runs=runs, setup=harm, metrics=lambda t: m.shares(t) | m.counters(t, "blind", "enter"),
                    panels={"bench": bench, "law": law},
                    claims=CLAIMS)
