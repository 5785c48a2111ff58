# SPDX-License-Identifier: GPL-2.0
"""The window computed by the sender, and by the receiver."""

import metrics as m
from scenario import Scenario
from setups import long

SCENARIO = Scenario(
    about="The window computed by the sender, and by the receiver",
    runs=lambda _: ((f"{mode}-{flows}flows", dict(mode=mode, flows=flows))
                    for flows in (200, 64, 16, 4, 2, 1) for mode in ("sender", "receiver")),
    setup=long,
    metrics=lambda t: m.link(t) | m.jain(t),
    panels={"law": lambda p: p.flows in (16, 64)})
