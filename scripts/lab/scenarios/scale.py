# SPDX-License-Identifier: GPL-2.0
"""What a flow costs a host, by the number of flows."""

from scenario import Scenario

SCENARIO = Scenario(
    about="What a flow costs a host, by the number of flows: memory, and CPU instructions for an ACK",
    runs=lambda _: ((f"{cc}-{flows}", dict(cc=cc, flows=flows))
                    for flows in (10000, 100, 1) for cc in ("hpccpp", "reno")),
    program=lambda run: ["scale.sh", run.name, run.params.cc, str(run.params.flows)])
