# SPDX-License-Identifier: GPL-2.0
"""Poisson arrivals between 32 hosts of one switch, as in Bolt's paper."""

import metrics as m
from claims import CHANCE, Claim
from guest import Guest
from scenario import BEST, Scenario
from setups import poisson


def setup(g: Guest) -> None:
    """Each of the 32 hosts sends to all others"""
    g.star(31)
    poisson(g)


CLAIMS = (
    Claim("flows that did not finish", "unfinished", "<=", 0),
    Claim("p99 slowdown of flows up to 7 KB (bound: HPCC in ns-3)", "to_7k_p99", "<=", 3.3,
          listed=3.372, margin=CHANCE, why="at 99 % eta leaves less room than at 95 % (2.8)"),
    Claim("p99 slowdown of flows of 46 to 120 KB (HPCC in ns-3: 12)", "from_46k_to_120k_p99", "<=", 6.2),
    Claim("p99 slowdown of the largest 5 % of flows", "largest_p99", "<=", 18, margin=CHANCE),
)
SCENARIO = Scenario(
    about="Poisson arrivals between 32 hosts of one switch, as in Bolt's paper",
    runs=lambda ccs: ((f"{cc}-fb_hadoop-80", dict(cc=cc, load=80, sizes="fb_hadoop", rtt="5us", mtu=5000, time="6ms",
                                                  host="fq")) for cc in [*ccs, BEST, "hpccpp-draft"]),
    setup=setup,
    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t),
    panels={"bench": lambda p: p.cc in ("hpccpp", "hpccpp-draft", "dctcp", BEST, "bbr"),
            "law": lambda p: p.cc == "hpccpp"},
    claims=CLAIMS)
