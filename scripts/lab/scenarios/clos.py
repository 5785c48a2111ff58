# SPDX-License-Identifier: GPL-2.0
"""Poisson arrivals between the 320 hosts of the HPCC paper's Clos."""

import metrics as m
from claims import Claim, lost
from scenario import BEST, Scenario, some
from setups import fabric_poisson

# With the paper's two loads and the best of the others: a run takes 10 to 30 CPU minutes.
CLAIMS = (
    Claim("flows that did not finish", "unfinished", "<=", 0),
    Claim("drops", lost, "<=", 0),
    Claim(f"p99 slowdown of flows above one packet, up to 10 KB, divided by that of {BEST}",
          lambda r: r.over("to_10k_p99", cc=BEST), "<=", 0.5),
    Claim(f"p99 slowdown of the largest 5 % of flows, divided by that of {BEST}",
          lambda r: r.over("largest_p99", cc=BEST), "<=", 2),
)
SCENARIO = Scenario(
    about="Poisson arrivals between the 320 hosts of the HPCC paper's Clos",
    runs=lambda ccs: ((f"{cc}-{sizes}-{load}", dict(cc=cc, shape="clos", load=load, sizes=sizes, rtt="13us",
                                                    time="10ms", host="fq"))
                      for load in (30, 50) for sizes in ("fb_hadoop", "websearch")
                      for cc in some(ccs, "hpccpp", BEST)),
    setup=fabric_poisson,
    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t),
    panels={"bench": lambda p: False, "all": lambda p: False, "paper": lambda p: True},
    claims=CLAIMS)
