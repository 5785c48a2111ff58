# SPDX-License-Identifier: GPL-2.0
"""50 senders of 100 messages each at once, as Bolt's authors run."""

import metrics as m
from claims import Claim, lost
from guest import Guest
from scenario import Scenario
from setups import TRACE


def setup(g: Guest) -> None:
    """Each message has a connection of its own, a start each 10 ns. No flow may run into a timeout in their queue: the
    least RTO is the 200 ms of Linux. Sizes, rate, MTU, link delays and buffer are those of
    serhatarslan-hub/bolt_cc_ns3, scratch/bolt-star-topo-incast.cc."""
    p = g.p
    g.star(p.flows, rto_min_us=200_000, trace=TRACE)
    g.agents()
    for i in range(p.flows * p.messages):
        g.flow(100_000 + i * 10, f"h{i % p.flows + 1}", "r1", p.size)
    g.run(stop=3_000_000_000)


CLAIMS = (
    Claim("messages that did not finish", "unfinished", "<=", 0),
    Claim("drops", lost, "<=", 0),
    Claim("completion time, divided by the ideal time (bound: HPCC in ns-3)", "completion_over_ideal", "<=", 1 / 0.984),
    Claim("p99 of the queue, us (bound: Bolt in ns-3)", "queue_p99_us", "<=", 13720),
)
SCENARIO = Scenario(
    about="50 senders of 100 messages each at once, as in Bolt's paper",
    runs=lambda ccs: ((f"{cc}-50x100", dict(cc=cc, flows=50, messages=100, size=495_900, mtu=5000, rtt="5us",
                                            buffer="320m", host="fq")) for cc in ccs),
    setup=setup,
    metrics=lambda t: m.link(t) | m.messages(t),
    panels={"bench": lambda p: p.is_hpccpp},
    claims=CLAIMS)
