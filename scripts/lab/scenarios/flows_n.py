# SPDX-License-Identifier: GPL-2.0
"""N of W_ai fixed, and as the receiver counts."""

import metrics as m
from scenario import Scenario
from setups import long

SCENARIO = Scenario(
    about="N of W_ai fixed, and as the receiver counts",
    runs=lambda _: ((f"{flows}flows-{n}", dict(mode="receiver", flows=flows, n=0 if n == "counted" else 64))
                    for flows in (200, 64, 16, 4, 2) for n in ("fixed", "counted")),
    setup=long,
    metrics=lambda t: m.link(t) | m.jain(t))
