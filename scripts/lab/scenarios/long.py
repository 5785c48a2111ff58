# SPDX-License-Identifier: GPL-2.0
"""1 to 64 flows without end to one receiver."""

import metrics as m
from claims import Claim, lost
from params import Params
from scenario import Plan, Scenario, some
from setups import long


def runs(ccs: list[str]) -> Plan:
    """W_ai for 64 flows, and for as many as there are. In runs named *-notso the hosts cut their data themselves; in
    those named *-wire the links carry 24 bytes with each frame, which has 142 to 9014. A host has one flow, or few:
    that fq lets what it holds back go up to 10 us late (timer_slack) is all that runs named *-fq differ by."""
    def run(cc: str, flows: int, g: int, rtt: int, mtu: int, n: int, suffix: str = "",
            **more: object) -> tuple[str, dict[str, object]]:
        return (f"{cc}-{flows}x{g}g-{rtt}us-mtu{mtu}-n{n}{suffix}",
                dict(cc=cc, flows=flows, rate=f"{g}gbit", rtt=f"{rtt}us", mtu=mtu, n=n, **more))

    ours = some(ccs, "hpccpp", "dctcp")
    for mtu in 128, 242, 498, 1500, 9000:
        g, rtt, time = (25, 20, "20ms") if mtu <= 1500 else (100, 50, "0")
        for cc in ours:
            yield run(cc, 4, g, rtt, mtu, 64, "-wire", overhead=24, time=time)
    for flows in 64, 16, 4, 1:
        for g in 25, 100:
            for cc in ours:
                yield run(cc, flows, g, 20, 1500, 64, "-fq", host="fq")
                # at 25 Gbit/s and 8 us no bound would hold it to anything
                for rtt in (20, 50) if g == 25 else (8, 20, 50):
                    yield run(cc, flows, g, rtt, 1500, 64, "-notso", offloads="no")
    for flows in 64, 16, 4, 2, 1:
        for g in 10, 25, 100:
            for rtt in 8, 20, 50:
                for cc in [*ccs, "hpccpp-draft"]:
                    for mtu in (1500, 9000) if cc == "hpccpp" else (1500,):
                        # a full packet and its ACK have to fit into the RTT
                        if rtt * 1000 <= 16 * (mtu + 80) // g:
                            continue
                        for n in sorted({64, flows if cc == "hpccpp" else 64}):
                            yield run(cc, flows, g, rtt, mtu, n)


def bench(p: Params) -> bool:
    """A third of hpccpp's runs, and of the others what the README compares"""
    if p.cc == "hpccpp":
        return (p.rtt <= 20_000 and p.n == 64 and p.flows != 2 and (p.mtu <= 1500 or p.flows == 64)
                and (p.flows >= 16 or p.offloads == "yes" and p.host == "fifo"))
    return (p.cc in ("dctcp", "dctcp-k20", "hpccpp-draft") and p.rtt == 8000 and p.rate == 10**11
            and p.flows in (16, 64) and p.offloads == "yes")


def law(p: Params) -> bool:
    """4 to 64 flows at 25 and 100 Gbit/s, and 64 at 10 Gbit/s"""
    plain = (p.cc == "hpccpp" and p.offloads == "yes" and p.mtu == 1500 and p.n == 64 and p.overhead == 0
             and p.host == "fifo")
    if p.rate == 10**10:
        return plain and p.rtt == 8000 and p.flows == 64
    return plain and p.rtt == 20_000 and p.flows >= 4


SHORT = "paths with a BDP below 40 packets, where a window that is one packet short costs over 2.5 % of utilisation"


def full_pipe(p: Params) -> bool:
    """A BDP of 40 packets or more"""
    return p.is_claimed and p.rate * p.rtt >= 40 * 8 * 10**9 * p.wire


CLAIMS = (
    Claim("utilisation of the bottleneck", "utilisation", ">=",
          lambda r: r.params.target - 0.015 if full_pipe(r.params) else 0.95,
          lambda p: full_pipe(p) or law(p), SHORT, 0.9265,
          "fq sends a packet up to 10 us (timer_slack) later than pacing schedules it, half of the base RTT here. With "
          "a slack of 1 us, or paced by TCP, these 16 flows at 25 Gbit/s have 0.952"),
    Claim("mean queue, packets", "queue_mean", "<=", 5, full_pipe, SHORT, 9.73,
          "4 flows with an MTU of 128 bytes, whose bursts of W / 16 have 27 packets. 64 flows have up to 8.2 with fq "
          "on the hosts, as above, and 5.7 without: single packets of 64 flows"),
    Claim("p99 of the queue, packets", "queue_p99", "<=", 20, full_pipe, SHORT, 26.04,
          "64 flows with fq on the hosts, as above"),
    Claim("Jain's index", "jain", ">=", 0.99, listed=0.9737,
          why="each of 64 flows with packets of 9000 bytes sends 0.1 to 0.5 packets per base RTT, and receives "
              "telemetry once in several base RTTs"),
    Claim("drops", lost, "<=", 0),
)
SCENARIO = Scenario(about="1 to 64 flows without end to one receiver", runs=runs, setup=long,
                    metrics=lambda t: m.link(t) | m.jain(t) | m.bursts(t), panels={"bench": bench, "law": law},
                    claims=CLAIMS)
