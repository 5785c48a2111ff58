# SPDX-License-Identifier: GPL-2.0
"""A path of 8 ports, 6 of them slow and shared."""

import metrics as m
from claims import Claim, lost
from scenario import Scenario
from setups import parking

# hpccpp: a record of the most loaded port; hpccpp-full: two records
CLAIMS = (
    Claim("share of window updates that name the real bottleneck", "real_bottleneck", ">=", 0.99),
    Claim("drops", lost, "<=", 0),
)
SCENARIO = Scenario(
    about="A path of 8 ports, 6 of them slow and shared, with one record and with two",
    runs=lambda _: ((f"{cc}-8ports", dict(cc=cc, shape="parking", hops=6, rate="25gbit", rtt="20us"))
                    for cc in ("hpccpp", "hpccpp-full")),
    setup=parking,
    metrics=lambda t: m.parking(t) | m.ports(t),
    claims=CLAIMS)
