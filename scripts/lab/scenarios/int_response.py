# SPDX-License-Identifier: GPL-2.0
"""Incast with INT responses of the switch, and without."""

import metrics as m
from guest import Guest
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


SCENARIO = Scenario(about="Incast with INT responses of the switch, and without", runs=runs, setup=setup,
                    metrics=lambda t: m.link(t) | m.incast(t) | m.reaction(t))
