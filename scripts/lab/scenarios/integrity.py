# SPDX-License-Identifier: GPL-2.0
"""Two flows, of which one gets false telemetry."""

import metrics as m
from scenario import Scenario
from setups import long

SCENARIO = Scenario(
    about="Two flows, of which one gets false telemetry; also with a key, which the attacker does not have",
    runs=lambda _: ((f"{forged}-key{key}", dict(forged=forged, key=key, flows=2, rtt="20us", time="80ms", buffer="4m"))
                    for forged in ("none", "idle", "full") for key in (0, 1)),
    setup=long,
    metrics=lambda t: m.link(t) | m.jain(t) | m.shares(t),
    panels={"law": lambda p: p.key == 0})
