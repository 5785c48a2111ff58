# SPDX-License-Identifier: GPL-2.0
"""Incast with INT responses of the switch, and without."""

import metrics as m
from claims import Claim, lost
from guest import Guest
from params import Params
from scenario import Plan, Scenario
from setups import incast


def runs(_: list[str]) -> Plan:
    """To the receiver also through queues with priorities. Responses are for flows that begin at line rate, as with
    law=draft."""
    for flows in 60, 200:
        for mb in 32, 4:
            for respond in 0, 150:
                yield (f"{flows}x500k-{mb}mb-respond{respond}",
                       dict(flows=flows, size="500k", buffer=f"{mb}m", respond=respond, law="draft"))
    for mb in 32, 4:
        for respond, prio in (0, 0), (150, 0), (150, 1):
            yield (f"receiver-60x500k-{mb}mb-respond{respond}-prio{prio}",
                   dict(flows=60, size="500k", buffer=f"{mb}m", respond=respond, mode="receiver", prio=prio,
                        law="draft"))


def setup(g: Guest) -> None:
    """An incast, with each update of the window"""
    g.updates = True
    incast(g)


WITHOUT: dict[str, int] = dict(respond=0, prio=0)


def responding(p: Params) -> bool:
    """Switches send responses"""
    return p.respond != 0


CLAIMS = (
    Claim("peak of the queue, divided by that without INT responses", lambda r: r.over("queue_peak", **WITHOUT), "<=",
          1, responding, listed=1.002,
          why="in a FIFO, a response follows the segment that it is about, and takes room in the buffer; the bound "
              "holds where links send control packets first (prio=1)"),
    Claim("drops, minus those without INT responses", lambda r: lost(r) - lost(r.like(**WITHOUT)), "<=", 0,
          responding, listed=24, why="in a FIFO, as above: 600 drops, 576 without responses"),
    Claim("completion time, divided by the ideal time, minus that without INT responses",
          lambda r: r["completion_over_ideal"] - r.like(**WITHOUT)["completion_over_ideal"], "<=", 0.02, responding,
          listed=0.05609, why="into 4 MB: more flows lose packets, as above"),
    Claim("time until a flow reduces its window, RTTs, minus that without INT responses",
          lambda r: r["reaction_first"] - r.like(**WITHOUT)["reaction_first"], "<=", 0, responding),
    Claim("flows that did not finish", "unfinished", "<=", 0),
)
SCENARIO = Scenario(about="Incast with INT responses of the switch, and without", runs=runs, setup=setup,
                    metrics=lambda t: m.link(t) | m.incast(t) | m.reaction(t),
                    panels={"bench": lambda p: p.flows == 60},
                    claims=CLAIMS)
