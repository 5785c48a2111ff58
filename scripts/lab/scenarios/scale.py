# SPDX-License-Identifier: GPL-2.0
"""What a flow costs a host, by the number of flows."""

from claims import CHANCE, Claim
from scenario import Scenario


def many(about: str, metric: str, listed: float | None = None, why: str = "") -> Claim:
    """A claim that a flow among 10,000 costs what a flow among 1 or 100 costs"""
    return Claim(f"{about} with 10,000 flows, over that with 1 and with 100",
                 lambda r: max(r.over(metric, flows=flows) for flows in (1, 100)), "<=", 1.1,
                 lambda p: p.cc == "hpccpp" and p.flows == 10000, "", listed, why, CHANCE)


CLAIMS = (
    many("bytes of memory per flow", "bytes_per_flow"),
    many("instructions of the module per ACK", "instructions_per_ack", 1.195,
         "more of the ACKs bring a record: a quarter of one flow's, half of those of 10,000; with a record a call "
         "takes 945 instructions, without 245, however many flows there are"),
    many("instructions of tcp_ack() per ACK", "instructions_tcp_ack", 1.11, "as above; an interrupt counts as well"),
)
SCENARIO = Scenario(
    about="What a flow costs a host, by the number of flows: memory, and CPU instructions for an ACK",
    runs=lambda _: ((f"{cc}-{flows}", dict(cc=cc, flows=flows))
                    for flows in (10000, 100, 1) for cc in ("hpccpp", "reno")),
    program=lambda run: ["scale.sh", run.name, run.params.cc, str(run.params.flows)],
    claims=CLAIMS)
