# SPDX-License-Identifier: GPL-2.0
"""Which link is the bottleneck, and how flows share it."""

import metrics as m
from claims import Claim, lost
from scenario import Plan, Scenario, some
from setups import parking


def runs(ccs: list[str]) -> Plan:
    """Four shapes, and parking lots of 2 and 8 slow links"""
    for cc in some(ccs, "hpccpp", "hpccpp-full", "dctcp"):
        run = dict(cc=cc, rate="25gbit", rtt="20us")
        for shape in "parking", "asymmetric", "receiver", "nic":
            yield f"{cc}-{shape}", dict(run, shape=shape)
        for hops in 2, 8:
            yield f"{cc}-parking-{hops}hops", dict(run, shape="parking", hops=hops)


CLAIMS = (
    Claim("share of window updates that name the real bottleneck", "real_bottleneck", ">=", 0.99),
    Claim("largest goodput of a flow, divided by the least",
          lambda r: max(r["shares_mbit"]) / min(r["shares_mbit"]), "<=", 1.15, listed=1.299,
          why="a flow over 8 full links follows the largest of 8 loads, each of which varies. With eta 0.95 it is "
              "1.09"),
    Claim("drops", lost, "<=", 0),
)
SCENARIO = Scenario(about="Which link is the bottleneck, and how flows share it", runs=runs, setup=parking,
                    metrics=m.parking,
                    panels={"bench": lambda p: p.is_hpccpp or p.hops == 8,
                            "law": lambda p: p.cc == "hpccpp" and p.shape == "parking"},
                    claims=CLAIMS)
