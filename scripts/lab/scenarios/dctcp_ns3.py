# SPDX-License-Identifier: GPL-2.0
"""DCTCP of Linux, started as the DCTCP of ns-3."""

import metrics as m
from guest import Guest
from scenario import Scenario
from setups import fabric, poisson


def setup(g: Guest) -> None:
    """On the fabric of `fabric` flows begin with one BDP, 66 packets, and hosts send packet by packet"""
    fabric(g)
    g.initial_window(g.p.iw)
    poisson(g)


SCENARIO = Scenario(
    about="DCTCP of Linux, started as the DCTCP of ns-3",
    runs=lambda _: ((f"dctcp-k20-{sizes}-50", dict(cc="dctcp-k20", shape="leafspine", load=50, sizes=sizes, rtt="9us",
                                                   time=time, host="fq", iw=66, offloads="no"))
                    for sizes, time in (("fb_hadoop", "12ms"), ("websearch", "60ms"))),
    setup=setup,
    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t))
