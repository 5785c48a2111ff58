# SPDX-License-Identifier: GPL-2.0
"""Poisson arrivals between the 320 hosts of the HPCC paper's Clos."""

import metrics as m
from claims import Claim, lost
from scenario import Scenario, some
from setups import fabric_poisson

# With the paper's two loads. A run takes 20 to 40 CPU minutes: published.py has other congestion controls in the same
# Clos, and the scenario fabric compares with others in the lab.
CLAIMS = (
    Claim("flows that did not finish", "unfinished", "<=", 0),
    Claim("drops", lost, "<=", 0, listed=65,
          why="ACKs at the fq of seven hosts, which holds 100 packets of a flow. No switch drops a packet, and nothing "
              "is sent again"),
)
SCENARIO = Scenario(
    about="Poisson arrivals between the 320 hosts of the HPCC paper's Clos",
    runs=lambda ccs: ((f"{cc}-{sizes}-{load}", dict(cc=cc, shape="clos", load=load, sizes=sizes, rtt="13us",
                                                    time="10ms", host="fq"))
                      for load in (30, 50) for sizes in ("fb_hadoop", "websearch")
                      for cc in some(ccs, "hpccpp")),
    setup=fabric_poisson,
    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t),
    panels={"bench": lambda p: False, "all": lambda p: False, "paper": lambda p: True},
    claims=CLAIMS)
