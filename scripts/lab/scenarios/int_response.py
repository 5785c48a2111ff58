# SPDX-License-Identifier: GPL-2.0
"""Incast with INT responses of the switch, and without."""

import metrics as m
from claims import Claim
from guest import Guest
from params import Params
from scenario import Plan, Scenario
from setups import incast


def runs(_: list[str]) -> Plan:
    """To the receiver also through queues with priorities. Responses are for flows that begin at line rate, as with
    share=0."""
    for flows in 60, 200:
        for mb in 32, 4:
            for respond in 0, 150:
                yield (f"{flows}x500k-{mb}mb-respond{respond}",
                       dict(flows=flows, size="500k", buffer=f"{mb}m", respond=respond, share=0))
    for mb in 32, 4:
        for respond, prio in (0, 0), (150, 0), (150, 1):
            yield (f"receiver-60x500k-{mb}mb-respond{respond}-prio{prio}",
                   dict(flows=60, size="500k", buffer=f"{mb}m", respond=respond, mode="receiver", prio=prio, share=0))


def setup(g: Guest) -> None:
    """An incast, with each update of the window"""
    g.updates = True
    incast(g)


WITHOUT: dict[str, int] = dict(respond=0, prio=0)


def responding(p: Params) -> bool:
    """Switches send responses"""
    return p.respond != 0


CLAIMS = (
    Claim("peak of the queue over that without responses", lambda r: r.over("queue_peak", **WITHOUT), "<=", 1,
          responding, listed=1.002,
          why="through a FIFO a response comes after the segment that it is about, and takes room; where "
              "control packets go first this holds"),
    Claim("drops more than without responses", lambda r: r["drops"] - r.like(**WITHOUT)["drops"], "<=", 0,
          responding, listed=18, why="through a FIFO, as above: 594 for 576"),
    Claim("completion over ideal, more than without responses",
          lambda r: r["completion_over_ideal"] - r.like(**WITHOUT)["completion_over_ideal"], "<=", 0.02, responding),
    Claim("time until the first flow reacts, RTTs more than without responses",
          lambda r: r["reaction_first"] - r.like(**WITHOUT)["reaction_first"], "<=", 0, responding),
    Claim("flows that did not end", "unfinished", "<=", 0),
)
SCENARIO = Scenario(about="Incast with INT responses of the switch, and without", runs=runs, setup=setup,
                    metrics=lambda t: m.link(t) | m.incast(t) | m.reaction(t),
                    claims=CLAIMS)
