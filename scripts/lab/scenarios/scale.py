# SPDX-License-Identifier: GPL-2.0
"""What a flow costs a host, by the number of flows."""

from claims import CHANCE, Claim
from scenario import Scenario


def many(about: str, metric: str, listed: float | None = None, why: str = "") -> Claim:
    """A claim that a flow among 10,000 costs what a flow among 1 or 100 costs"""
    return Claim(f"{about} with 10,000 flows, divided by that with 1 or 100 flows",
                 lambda r: max(r.over(metric, flows=flows) for flows in (1, 100)), "<=", 1.1,
                 lambda p: p.cc == "hpccpp" and p.flows == 10000, "", listed, why, CHANCE)


CLAIMS = (
    many("bytes of memory per flow", "bytes_per_flow"),
    many("instructions of the module per ACK", "instructions_per_ack", 1.195,
         "more ACKs carry a record: a quarter of them with one flow, half with 10,000. A call takes 945 instructions "
         "with a record and 245 without, for any number of flows"),
    many("instructions of tcp_ack() per ACK", "instructions_tcp_ack", 1.11,
         "more ACKs carry a record, as above; interrupts during tcp_ack() are counted as well"),
)
SCENARIO = Scenario(
    about="What a flow costs a host, by the number of flows: memory, and CPU instructions for an ACK",
    runs=lambda _: ((f"{cc}-{flows}", dict(cc=cc, flows=flows))
                    for flows in (10000, 100, 1) for cc in ("hpccpp", "reno")),
    program=lambda run: ["../cost/scale.sh", run.name, run.params.cc, str(run.params.flows)],
    panels={"bench": lambda p: p.is_hpccpp},
    claims=CLAIMS)
