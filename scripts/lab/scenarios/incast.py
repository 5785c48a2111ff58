# SPDX-License-Identifier: GPL-2.0
"""Flows that start at once, into buffers of three sizes."""

import metrics as m
from scenario import Scenario
from setups import incast

SCENARIO = Scenario(
    about="Flows that start at once, into buffers of three sizes",
    runs=lambda ccs: ((f"{cc}-{flows}x{k}k-{mb}mb", dict(cc=cc, flows=flows, size=f"{k}k", buffer=f"{mb}m"))
                      for flows in (200, 60, 32, 8) for k in (500, 10) for mb in (32, 4, 1)
                      for cc in [*ccs, "hpccpp-rx"]),
    setup=incast,
    metrics=lambda t: m.link(t) | m.incast(t))
