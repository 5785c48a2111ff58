# SPDX-License-Identifier: GPL-2.0
"""Compares metrics of made-up traces with figures computed by hand.

Links have 1 Gbit/s and a base RTT of 100 us. A packet has 1250 bytes on the wire and takes 10 us."""

import gzip
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/lab"))
import data  # noqa: E402
import metrics  # noqa: E402
import traces  # noqa: E402
import units  # noqa: E402

TMP = Path(sys.argv[1])
WIRE = 1250
results: list[bool] = []
run = TMP
found: dict[str, Any] = {}
names: set[str] = set()


def check(name: str, good: bool, about: str = "") -> None:
    """Prints the result of one case."""
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} {name}" + ("" if good else f"\n# {about}"), flush=True)


def equal(name: str, got: Any, wanted: Any) -> None:
    """A case that holds if both are equal"""
    check(name, got == wanted, f"{got}, not {wanted}")


def is_(metric: str, wanted: Any) -> None:
    """A case that holds if the metric of the run measured last has this value"""
    equal(f"{run.name}: {metric}", found.get(metric), wanted)


def measured(scenario: str, start: int, end: int | None, files: Mapping[str, list[str]], **params: Any) -> None:
    """Makes the raw files of a run with this window, ns, and measures it."""
    global run, found
    run, found = TMP / f"{len(results)}-{scenario}", {}
    run.mkdir()
    links: dict[str, list[str]] = {"links": [], "port": ["42 p3"]}
    for name, lines in (links | dict(files)).items():
        (run / name).write_text("".join(f"{line}\n" for line in lines))
    keys = dict(rate=10**9, rtt=100_000, mtu=1236, time=20_000_000, flows=2) | params
    meta = dict(scenario=scenario, name="made-up", cc="hpccpp", seed=1, kernel="k", module="m", window=[start, end])
    (run / "meta.json").write_text(json.dumps(meta | dict(params=keys)))
    try:
        found = metrics.measure(run)["metrics"]
        names.update(found)
        check(f"{run.name} is measured", True)
    except Exception as error:  # whatever is wrong with it
        check(f"{run.name} is measured", False, repr(error))


def flow(number: int, size: Any, start: int, fct: Any, ideal: Any, received: int, cc: str, setup: int) -> str:
    """A line of tgen; "-" is an absent value"""
    return f"{number} h{number} r1 {size} {start} {fct} {ideal} {received} {received} {cc} {setup} 0 0 10000 5000"


def ways(flows: Iterable[str]) -> list[str]:
    """Of each flow, the first and the last link"""
    return [f"{number} {src} 1000000000 to-{dst} 1000000000" for number, src, dst, *_ in map(str.split, flows)]


def link(dev: str, queue: int, **values: int) -> str:
    """A line of /proc/lablink"""
    drops, marks, p50, most = (values.get(name, default) for name, default in
                               (("drops", 0), ("marks", 0), ("p50", 0), ("most", queue)))
    return (f"42 {dev} ns 1000000 packets 76 bytes 95000 drops {drops} marks {marks} mean {values.get('mean', queue)} "
            f"p50 {p50} p99 {queue} max {most} bursts 19")


def incasts() -> None:
    """100 packets at 0; from 1 ms on the link sends 8 for each 2 that come."""
    queue = [f"42 p3 {1_000_000 + i * 10_000} {(100 if i < 10 else 100 - (i - 10) * 6 // 8) * WIRE} {i * WIRE}"
             for i in range(101)] + ["42 p3 2500000 6250 126250", "42 p3 2600000 0 127500"]
    files = {"queue": queue, "links": [link("p3", 0)],
             "flows": [flow(0, 1250, 100_000, 900_000, "-", 1250, "hpccpp", 1),
                       flow(1, 1250, 100_000, 1_100_000, "-", 1250, "hpccpp", 1)],
             "rates": ["200000 0 10", "900000 0 20", "200000 1 10", "600000 1 20", "1100000 1 20"]}
    measured("incast", 1000, None, files, size=1250)
    # bytes: two segments with 66 of headers each, 8 ns a byte; three ways of half a round trip less 10 us
    is_("ideal_us", 120 + 2 * (1250 + 2 * 66) * 8 / 1000)
    is_("fct_p50_us", 900)
    is_("fct_p99_us", 900)
    is_("completion_us", 1100)
    is_("unfinished", 0)
    is_("queue_peak", 100)
    # 95 packets in 1.41 ms, of the 141 that the link can send; the first at 1.09 ms
    is_("drain_us", 1500)
    is_("drain_net_rate", 0.633333)
    equal("... only tables stay", sorted(path.name for path in run.iterdir()),
          ["flows.csv.gz", "links.csv", "meta.json", "queue.csv.gz", "rates.csv.gz"])
    table = gzip.decompress((run / "queue.csv.gz").read_bytes()).decode().split("\n")
    equal("... times of the queue count from time 0 of the run", table[:2],
          ["time_ns,link,queue_bytes,sent_bytes", "1001000,0,125000,0"])
    equal("... a flow of which nothing is known but its start has empty fields",
          gzip.decompress((run / "flows.csv.gz").read_bytes()).decode().split("\n")[1],
          "0,h0,r1,1250,100000,900000,,1250,1250,hpccpp,1,0,0,10000,5000")
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    measured("incast", 1000, None, files, size=1250)
    equal("... the same run makes the same bytes", {path.name: path.read_bytes() for path in run.iterdir()}, before)
    files["links"] = [link("p1", 0), link("p3", 0)]
    files["queue"] = [f"42 p1 {i} 999999 0" for i in (5, 15)] + queue
    measured("incast", 1000, None, files, size=1250)
    is_("queue_peak", 100)
    files["flows"] = [flow(0, 1250, 100_000, "-", "-", 1250, "hpccpp", 1), *files["flows"][1:]]
    measured("incast", 1000, None, files, size=1250)
    is_("completion_over_ideal", None)
    is_("unfinished", 1)
    is_("fct_p99_us", 1100)
    try:
        (run / "links.csv").unlink()
        for name, lines in (files | {"queue": [*queue, "# 7 events lost"]}).items():
            (run / name).write_text("".join(f"{line}\n" for line in lines))
        metrics.measure(run)
        check("a trace that is not whole is refused", False)
    except units.Error as error:
        check("a trace that is not whole is refused", "not whole" in str(error), str(error))


def mixed() -> None:
    """Ours get 10 % with the other flow until that ends at 10 ms. Its last bytes come at 10.5 ms, and from 11 ms on
    ours have all."""
    rates = []
    for t in range(100, 20001, 100):
        rates.append(f"{t * 1000} 0 {t * 12 if t <= 11000 else 132000 + (t - 11000) * 125}")
        if t <= 10500:
            rates.append(f"{t * 1000} 1 {t * 112}")
    measured("mixed", 1000, 20_000_000, {
        "flows": [flow(0, "-", 1700, "-", "-", 1, "hpccpp", 1), flow(1, "-", 1700, "-", "-", 1, "dctcp", 1)],
        "rates": rates, "zero": ["5000"],
        "updates": ["time=0.001000 src=h used=1 U=1 R=500000", "time=0.002000 src=h used=1 U=1 R=250000",
                    "x-1 [000] .... 0.003000: hpccpp_update: src=h used=0 U=1 R=1"]})
    is_("share_ours", 0.096)
    is_("share_others", 0.896)
    is_("share_after", 1)
    is_("least_mbit", 96)
    is_("least_R_mbit", 2)
    # a mean over two round trips, which is over 0.95 * 0.95 * 0.93 when it is whole
    is_("leave_back", 7)
    equal("... updates have the run's clock", gzip.decompress((run / "updates.csv.gz").read_bytes()).decode(),
          "time_ns,src,used,U,R\n995000,h,1,1,500000\n1995000,h,1,1,250000\n2995000,h,0,1,1\n")


def powertcp() -> None:
    """Others begin at 1 ms, and make 50 packets. The link is full, but for 0.1 ms, and the trace is from 0.1 ms on."""
    sent = [i - (0 if i < 150 else i - 149 if i < 160 else 10) for i in range(201)]
    queue = [f"42 p3 {i * 10_000} {(2 if i < 90 else 140 - i if i < 138 else 2) * WIRE} {sent[i] * WIRE}"
             for i in range(201)]
    one = flow(0, "-", 1700, "-", "-", 1, "hpccpp", 1)
    files = {"queue": queue, "flows": [one], "events": ["begin 1000000"]}
    measured("powertcp", 100_000, 24_000_000, files, shape="incast")
    is_("queue_peak", 50)
    is_("queue_back", 4.5)
    is_("load", 0.900901)
    # From 1 to 3 ms there are two; the first receives three times what the second does, at last.
    rates = []
    for t in range(100, 4001, 100):
        rates.append(f"{t * 1000} 0 {t * 3}")
        if t > 1000:
            rates.append(f"{t * 1000} 1 {t * 3 if t < 2000 else 4000 + t}")
    measured("powertcp", 100_000, 4_000_000, {
        "queue": ["42 p3 0 0 0", "42 p3 5000000 0 0"], "rates": rates, "events": ["join 1000000 1", "leave 3000000 0"],
        "flows": [one, flow(1, "-", 1700, "-", "-", 1, "hpccpp", 1)]}, shape="staggered")
    is_("jains", 0.8)


def steps() -> None:
    """After a leave at 1 ms the link is half full for 0.4 ms: so is a half of the fourth round trip and the one after
    it. The trace begins a round trip after the run."""
    queue = [f"42 p3 {t * 1000} 0 {125 * (t if t <= 900 else (t + 900) // 2 if t <= 1300 else t - 200)}"
             for t in range(0, 3001, 10)]
    measured("step", 100_000, 4_000_000, {
        "queue": queue, "rates": ["3000000 0 1"], "events": ["leave 1000000 0"],
        "flows": [flow(0, "-", 1700, "-", "-", 1, "hpccpp", 1)]})
    is_("leave_lows", 0.5)
    is_("leave_lows_late", 0.75)
    # 27 us of two round trips may be half full: from 1.573 ms on, of which the trace has 1.58
    is_("leave_back", 5.8)
    # Flow 1 joins at 1 ms. For 1 ms it receives 100 bytes/us, then 50, of a share of 58: over 4 RTTs it is below 1.25
    # times its share from 1.3 ms after the join on.
    queue = [f"42 p3 {time * 1000} {packets * WIRE} 0" for time, packets in
             ((0, 0), (950, 10), (1100, 3), (1400, 12), (1500, 2), (2800, 7), (2850, 1))]
    measured("step", 100_000, 4_000_000, {
        "queue": queue, "events": ["join 1000000 1", "leave 5000000 0"],
        "rates": [f"{t * 1000} 1 {min(t - 1000, 1000) * 100 + max(t - 2000, 0) * 50}" for t in range(1100, 6001, 100)],
        "flows": [flow(i, "-", 1700, "-", "-", 1, "hpccpp", 1) for i in range(2)]})
    is_("join_queue_peaks", 10)
    is_("join_queue_back", 2)
    is_("join_fair", 12)


def messages() -> None:
    """1 ms waits for half a percent of the time, and then a tenth of that."""
    measured("messages", 1000, None, {
        "queue": ["42 p3 0 125000 0", "42 p3 500000 12500 0", "42 p3 98000000 0 0", "42 p3 100000000 0 0"],
        "flows": [flow(i, 1184, 0, i * 50_000, "-", 1184, "hpccpp", 1) for i in (1, 2)]})
    is_("goodput_gbit", 0.18944)
    is_("completion_us", 100)
    is_("fct_p99_us", 50)
    is_("queue_p99_us", 101)
    is_("queue_max_us", 1000)


def fabrics() -> None:
    """Slowdowns 1 to 100 of flows of 100 to 10000 bytes: the largest is the slowest. There are two links."""
    flows = []
    for i in range(1, 101):
        packets = -(-i * 100 // 1184)
        bits, packet = (i * 100 + packets * 66) * 8, min(i * 800 + 528, 10_000)
        # half a base RTT, propagation, the first packet on both links, the others; each link rounds down to 1 ns
        least = 50_000 + (100_000 - 2 * 10_000 - 2 * 528) // 2 + 2 * packet + bits - packet - 2
        flows.append(flow(i - 1, i * 100, 1000, i * least - 50_000, 100_000 + bits, i * 100, "hpccpp", 0))
    flows.append(flow(100, 5, 1000, "-", 1000, 0, "hpccpp", 0))
    # two ports of a switch, and one of a host
    files = {"flows": flows, "ways": ways(flows),
             "links": [link("p1", 1250), link("p2", 2500), link("eth0", 37500)]}
    measured("fabric", 1000, None, files)
    is_("queue_mean", 11)
    is_("queue_p99", 30)
    is_("packet_flows", 11)
    is_("packet_p50", 6)
    is_("largest_p50", 98)
    is_("all_p99", 99)
    is_("p99", list(range(4, 100, 5)))
    is_("unfinished", 1)
    is_("flows", 100)
    is_("sizes", list(range(500, 10001, 500)))
    measured("fabric", 1000, None, files, host="fq")
    is_("queue_mean", 1.5)
    is_("queue_p99", 2)
    is_("queue_max", 2)


def hosts() -> None:
    """What flows and the module leave"""
    # two flows of which the second halves arrive 100 and 300 us after 12 ms; each has a packet
    measured("probe", 1000, 20_000_000, {
        "queue": [f"42 p3 {time * 1000} {packets * WIRE} 0" for time, packets in ((5000, 9), (7000, 3), (12500, 20))],
        "events": ["resume 12000000"], "flows": [
            flow(0, 2368, 100_000, 12_000_000, "-", 1, "hpccpp", 1), flow(2, "-", 1, "-", "-", 1, "hpccpp", 1),
            flow(1, 2368, 200_000, 12_100_000, "-", 1, "hpccpp", 1)]})
    is_("queue_peak", 20)
    is_("resumed_last_us", 300)
    # half a BDP waits at 1 ms, when the clock is at 6 ms
    updates = [("a", 5.9, 100), ("a", 5.95, 90), ("a", 6.05, 95), ("a", 6.1, 80), ("b", 5.5, 100), ("b", 6.3, 50),
               ("c", 5.1, 100), ("c", 6.2, 60), ("d", 6.05, 70)]
    measured("int-response", 1000, None, {
        "queue": ["42 p3 0 6249 0", "42 p3 999000 6250 0"], "flows": [flow(0, 1250, 1, 9, "-", 1, "hpccpp", 1)],
        "zero": ["5000000"], "updates": [f"time={ms / 1000:.6f} src={src}:1 used=1 W={W}" for src, ms, W in updates]})
    is_("reaction_first", 1)
    measured("parking", 10_000_000, 20_000_000, {
        "flows": [flow(0, "-", 1, "-", "-", 1_250_000, "hpccpp", 1)], "zero": ["0"], "real": ["10.0.0.1 2 4"],
        "updates": [f"time=0.000001 src=10.0.0.{host}:1 bottleneck={link_id} used={used}"
                    for host, link_id, used in ((1, 2, 1), (1, 3, 1), (1, 4, 1), (1, 3, 0), (2, 2, 1))]})
    is_("shares_mbit", 1000)
    is_("samples", 4)
    is_("real_bottleneck", 0.5)
    measured("blind-hop", 10_000_000, 20_000_000, {
        "flows": [flow(0, "-", 1, "-", "-", 1, "hpccpp", 1)], "counters": ["blind 2", "enter 1", "blind 3", "enter 1"]})
    is_("blind", 5)
    equal("... of each host", (run / "counters.csv").read_text(),
          "host,counter,value\n1,blind,2\n1,enter,1\n2,blind,3\n2,enter,1\n")


def opened() -> None:
    """Flows that wait for their handshakes"""
    # the time has no handshake, but the last ACK's way; ideal_ns: 10 packets of 10 us, and the base RTT
    flows = [f"{i} h{i} r1 11840 0 600000 200000 0 0 cc 100000 0 0 0 0" for i in range(2)]
    measured("fabric", 1000, None, {"flows": flows, "ways": ways(flows), "links": [link("p1", 0)]})
    # 550 us; alone 199.47, of which ideal_ns has 0.53 more
    is_("to_100k_p99", 2.75731)
    is_("p99", [2.75731, 2.75731])
    is_("short_p99", 2.75731)
    is_("all_p99", 2.75731)
    equal("... the table of links has a line for each hop",
          gzip.decompress((run / "ways.csv.gz").read_bytes()).decode().split("\n")[:3],
          ["flow,hop,link,rate_bit", "0,1,h0,1000000000", "0,2,to-r1,1000000000"])


def longs() -> None:
    """A flow of 3/4 and one of 1/4: Jain's index is 1 / (2 (9/16 + 1/16))."""
    measured("long", 10_000_000, 20_000_000, {
        "links": [link("p3", 12500, drops=2, marks=1, mean=2500, p50=1250, most=25000), link("eth0", 0, drops=4)],
        "netns": ["42 h0"],
        "flows": [flow(0, "-", 1, "-", "-", 300, "hpccpp", 1), flow(1, "-", 1, "-", "-", 100, "hpccpp", 1)]})
    is_("jain", 0.8)
    is_("segments_per_packet", 4)
    # 76 packets in the time of 101
    is_("utilisation", 0.752475)
    is_("queue_p99", 10)
    is_("queue_max", 20)
    is_("drops", 2)
    is_("host_drops", 4)
    is_("queue_p99_over", None)
    for scenario in "long", "fabric":
        measured(scenario, 10_000_000, 20_000_000, {
            "links": [link("p3", 1 << 21, most=1 << 22)], "flows": [flow(0, 1, 1, 9, 9, 1, "hpccpp", 1)],
            "ways": ["0 h0 1000000000"]})
        is_("queue_p99", None)
        is_("queue_p99_over", 1677.72)
        is_("queue_max", 3355.44)
    try:
        (run / "flows.csv.gz").unlink()
        metrics.measure(run)
        check("a run that is not there is refused", False)
    except units.Error as error:
        check("a run that is not there is refused", "no run" in str(error), str(error))


def dictionary() -> None:
    """The metrics and tables of all runs above are in what `lab data` prints."""
    equal("lab data lacks no metric", data.unknown(sorted(names)), [])
    equal("... as it would notice", data.unknown(["queue"]), ["queue"])
    known = {name: set(data.names([(name, about, found)])) for name, about, found in data.tables()}
    lacks = {f"{path.name}: {column}" for path in TMP.glob("*/*.csv*")
             for column in traces.read(path)[0].split(",") if column not in known[path.name]}
    equal("... nor a column", lacks, set())


print("TAP version 13")
for part in (incasts, mixed, powertcp, steps, messages, fabrics, hosts, opened, longs, dictionary):
    part()
print(f"1..{len(results)}")
print(f"# Totals: pass:{sum(results)} fail:{len(results) - sum(results)} xfail:0 xpass:0 skip:0 error:0")
sys.exit(not all(results))
