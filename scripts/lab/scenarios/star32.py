# SPDX-License-Identifier: GPL-2.0
"""Poisson arrivals between 32 hosts of one switch, as in Bolt's paper."""

import metrics as m
from guest import Guest
from scenario import BEST, Scenario
from setups import poisson


def setup(g: Guest) -> None:
    """Each of the 32 hosts sends to all others"""
    g.star(31)
    poisson(g)


SCENARIO = Scenario(
    about="Poisson arrivals between 32 hosts of one switch, as in Bolt's paper",
    runs=lambda ccs: ((f"{cc}-fb_hadoop-80", dict(cc=cc, load=80, sizes="fb_hadoop", rtt="5us", mtu=5000, time="6ms",
                                                  host="fq")) for cc in [*ccs, BEST]),
    setup=setup,
    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t),
    panels={"law": lambda p: p.is_hpccpp})
