# SPDX-License-Identifier: GPL-2.0
"""The fabric of `fabric`, where only a part of the ports has an agent."""

import metrics as m
from scenario import Scenario
from setups import fabric_poisson

SCENARIO = Scenario(
    about="Poisson arrivals in a fabric where only a part of the ports has an agent",
    runs=lambda _: ((f"hpccpp-{agents}", dict(shape="leafspine", load=50, sizes="fb_hadoop", rtt="9us", time="12ms",
                                              host="fq", agents=str(agents))) for agents in (0, 25, 50, 75, 100)),
    setup=fabric_poisson,
    metrics=lambda t: m.slowdown(t) | m.classes(t) | m.ports(t))
