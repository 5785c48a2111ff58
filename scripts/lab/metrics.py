# SPDX-License-Identifier: GPL-2.0
"""Metrics of a run, computed from its traces.

Each function has the traces as its argument and returns metrics by name. Its docstring has a line for
each of them: "name [unit]: meaning"; `lab data` prints these as tables. Units are RTT (base RTTs of the
run), packet (of the run's MTU, with what the wire carries with each) and share (of a link's rate), beside
those of SI; a metric without a unit is a number. "The window" is the measured part of a run, of which its
meta.json has the limits. A percentile is the value at place (n - 1) * p, rounded down, of n values in
their order.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scenario
import traces
import units
from traces import Ints, Traces

Metrics = dict[str, Any]
Floats = NDArray[np.float64]
HEADERS = 66  # Ethernet, IPv4, and TCP with timestamps
END = 1 << 21  # of the histogram in links.csv, bytes (sch_lablink.c)


# --- what several metrics use --------------------------------------------------


def percentile(values: NDArray[Any], p: float) -> float | None:
    """The value at place (n - 1) * p of the sorted values. None if there are none."""
    return float(np.sort(values)[int((len(values) - 1) * p)]) if len(values) else None


def index(values: NDArray[Any]) -> float:
    """Jain's index. 0 if all values are 0."""
    squares = float((values * values).sum())
    return float(values.sum()) ** 2 / squares / len(values) if squares else 0.0


def with_headers(t: Traces, sizes: NDArray[Any]) -> Any:
    """Bytes on the wire of flows with these sizes."""
    payload = t.p.mtu - 52
    return sizes + (sizes + payload - 1) // payload * HEADERS


def share(t: Traces, sent: Any, ns: Any) -> Any:
    """The share of the links' rate that these bytes take in a time. They are of packets whose transmission began in
    it. That of the last ends up to a packet's time later: with this time the share is never over 1."""
    return sent * 8000 / (ns * t.p.mbit + t.p.wire * 8000)


def ideal(t: Traces, dst: NDArray[Any], sizes: NDArray[Any]) -> float:
    """A lower bound of the time, ns, in which flows of these sizes arrive: three small packets pass an empty star one
    after another, each in half of a base RTT less a full packet's time. Then all bytes with headers of the receiver
    that gets the most arrive at the links' rate."""
    packet = t.p.wire * 8000 / t.p.mbit
    bytes_ = np.bincount(np.unique(dst, return_inverse=True)[1], with_headers(t, sizes))
    return 3 * (t.p.rtt / 2 - packet) + float(bytes_.max(initial=0)) * 8000 / t.p.mbit


def queue_p99(t: Traces, bytes_: Any) -> Metrics:
    """The metrics queue_p99 and, at the end of the histogram, queue_p99_over"""
    return {"queue_p99": None, "queue_p99_over": END / t.p.wire} if bytes_ >= END else {"queue_p99": bytes_ / t.p.wire}


def first(condition: NDArray[np.bool_]) -> int | None:
    """The first place at which the condition holds. None if it holds nowhere."""
    return int(condition.argmax()) if condition.any() else None


def hosts(t: Traces) -> NDArray[np.bool_]:
    """Whether a row of links.csv is a port of a host"""
    at_host: NDArray[np.bool_] = np.char.startswith(t.links["dev"].astype(str), "eth")
    return at_host


def received(t: Traces, until: float, start: float = -1) -> Any:
    """Bytes that each flow has received from one time of the run until another, ns."""
    bytes_ = np.zeros((2, len(t.flows["flow"])))
    for row, time in zip(bytes_, (start, until)):
        n = int(np.searchsorted(t.rates["time_ns"], time, "right"))
        # of several values of a flow the last stays
        row[t.rates["flow"][:n]] = t.rates["received_bytes"][:n]
    return bytes_[1] - bytes_[0]


# --- any run -------------------------------------------------------------------


def bdp(t: Traces) -> Metrics:
    """Bandwidth-delay product, from the run's keys.

    bdp [packet]: rate of the links times base RTT
    """
    return {"bdp": t.p.rate * t.p.rtt / 8e9 / t.p.wire}


def losses(t: Traces) -> Metrics:
    """Losses of all links in the window, and of all flows in the run.

    drops: packets that found no room at switches
    host_drops: packets that found no room at hosts
    retransmissions: segments sent again
    timeouts: expiries of the retransmission timer
    """
    drops, at_host = t.links["drops"], hosts(t)
    return {"drops": drops[~at_host].sum(), "host_drops": drops[at_host].sum(),
            "retransmissions": t.flows["retransmissions"].sum(), "timeouts": t.flows["timeouts"].sum()}


def link(t: Traces) -> Metrics:
    """The bottleneck over the window. Empty if no port is the bottleneck.

    utilisation [share]: bytes with headers of packets whose transmission began in the window; never over 1, as the
        time is the window and that of a full packet
    queue_mean [packet]: mean over time of what waits
    queue_p99 [packet]: the queue is longer for 1 % of the time; null beyond 2 MiB, the end of the link's histogram
    queue_p99_over [packet]: that end, if queue_p99 is null
    queue_max [packet]: the longest queue
    marks: packets marked with CE (only of queue=fifo, as another qdisc does not report them to the link)
    """
    if (i := first(t.links["bottleneck"] == 1)) is None:
        return {}
    row = {name: t.links[name][i] for name in t.links.names if name not in ("netns", "dev")}
    return {"utilisation": share(t, row["bytes"], row["window_ns"]),
            "queue_mean": row["queue_mean_bytes"] / t.p.wire, **queue_p99(t, row["queue_p99_bytes"]),
            "queue_max": row["queue_max_bytes"] / t.p.wire,
            **({"marks": row["marks"]} if t.p.queue == "fifo" else {})}


def bursts(t: Traces) -> Metrics:
    """Packets of the hosts that send data, over the window.

    segments_per_packet: segments in a packet as TCP builds it, mean
    """
    senders = hosts(t) & np.isin(t.links["netns"].astype(str), t.flows["src"].astype(str))
    given = t.links["bursts"][senders].sum()
    return {"segments_per_packet": t.links["packets"][senders].sum() / given if given else None}


def jain(t: Traces) -> Metrics:
    """Fairness of all flows by the bytes received in the window.

    jain: Jain's index, 1 if all have the same
    without_bytes: flows that received nothing
    """
    bytes_ = t.flows["window_bytes"].astype(float)
    return {"jain": index(bytes_), "without_bytes": (bytes_ == 0).sum()}


def shares(t: Traces) -> Metrics:
    """Rates of flows over the window.

    shares_mbit [Mbit/s]: a list, of each flow: payload received
    """
    start, end = t.window
    if end is None:
        raise units.Error("shares: the window has no end")
    return {"shares_mbit": list(t.flows["window_bytes"] * 8000 / (end - start))}


def ports(t: Traces) -> Metrics:
    """All ports over the window; without those of hosts if packets wait there for their pacing (host=fq).

    queue_mean [packet]: mean of all ports' means over time
    queue_p99, queue_p99_over [packet]: of the port where it is the largest, as of link()
    queue_max [packet]: of the port where it is the largest
    """
    use = ~hosts(t) | (t.p.host == "fifo")
    return {"queue_mean": t.links["queue_mean_bytes"][use].mean() / t.p.wire,
            **queue_p99(t, t.links["queue_p99_bytes"][use].max()),
            "queue_max": t.links["queue_max_bytes"][use].max() / t.p.wire}


def counters(t: Traces, *names: str) -> Metrics:
    """Counters of /proc/net/hpccpp (tcp_hpccpp(7)) at the end of the run, all senders together.

    enter: times that a flow began, or went on, with telemetry
    fallback: times that a flow fell back to another congestion control
    blind: times that a flow fell back because telemetry did not report its bottleneck
    """
    return {name: t.counters["value"][t.counters["counter"] == name].sum() for name in names}


# --- flows with a size ---------------------------------------------------------


def completion(t: Traces) -> Metrics:
    """All flows with a size together, over the whole run. Empty if there are none. Those about the completion are null
    if a flow has not arrived.

    goodput_gbit [Gbit/s]: payload over completion_us
    completion_us [us]: from the first start until the last byte has arrived
    completion_over_ideal: completion_us over ideal_us; never under 1
    ideal_us [us]: a lower bound of completion_us: handshake and first byte through an empty star (1.5 base RTTs
        less three full packets' time), then all bytes with headers of one receiver at the links' rate
    unfinished: flows whose last byte has not arrived
    fct_p50_us, fct_p99_us [us]: percentiles of completion times of the flows that have finished
    """
    sized = t.flows["size_bytes"] >= 0
    sizes, start, fct, dst = (t.flows[name][sized] for name in ("size_bytes", "start_ns", "fct_ns", "dst"))
    if not sizes.sum():
        return {}
    done = fct >= 0
    least = ideal(t, dst, sizes)
    ns = (start + fct).max() - start.min() if done.all() else None
    return {"goodput_gbit": ns and sizes.sum() * 8 / ns, "completion_us": ns and ns / 1000, "ideal_us": least / 1000,
            "completion_over_ideal": ns and ns / least, "unfinished": (~done).sum(),
            "fct_p50_us": percentile(fct[done] / 1000, .5), "fct_p99_us": percentile(fct[done] / 1000, .99)}


def incast(t: Traces) -> Metrics:
    """completion() of flows that start together, and their queue, from the trace of the bottleneck.

    queue_peak [packet]: the longest queue
    drain_us [us]: from the peak until the queue is at most 5 packets
    drain_net_rate [share]: by which the queue shrinks in that time
    """
    time, queue = t.queue["time_ns"], t.queue["queue_bytes"]
    result = completion(t) | {"queue_peak": 0, "drain_us": 0, "drain_net_rate": 0}
    if len(time):
        top = int(queue.argmax())
        low = first(queue[top:] <= 5 * t.p.wire)
        end = len(time) - 1 if low is None else top + low
        ns = time[end] - time[top]
        result |= {"queue_peak": queue[top] / t.p.wire, "drain_us": ns / 1000,
                   "drain_net_rate": (queue[top] - queue[end]) * 8000 / ns / t.p.mbit if ns else 0}
    return result


def messages(t: Traces) -> Metrics:
    """completion() of messages to one receiver, and what waits for it.

    queue_p99_us [us]: the queue takes longer for 1 % of the time, from the trace, to 1 us
    queue_max_us [us]: the longest queue
    """
    time, queue = t.queue["time_ns"], t.queue["queue_bytes"]
    # the queue is empty at the start of the window
    ns = np.diff(time, prepend=t.window[0])
    us = np.append(0, queue)[:-1] * 8 / t.p.mbit
    total = np.cumsum(np.bincount(us.astype(np.int64), ns)) if len(time) else np.zeros(1)
    return completion(t) | {
        "queue_p99_us": int(np.searchsorted(total, total[-1] * .99)) + 1,
        "queue_max_us": queue.max(initial=0) * 8 / t.p.mbit}


# --- joining and leaving -------------------------------------------------------


def join(t: Traces, at: int, begin: int, end: int) -> tuple[float, ...]:
    """A join at this time, followed by these rows of the trace: the metrics of events(), in their order."""
    rtt = t.p.rtt
    if begin == len(t.queue["time_ns"]) or t.queue["time_ns"][begin] >= at + 5 * rtt:
        return 1e6, 40.0
    time, queue = t.queue["time_ns"][begin:end], t.queue["queue_bytes"][begin:end] / t.p.wire
    soon = queue[time < at + 5 * rtt]
    peak, back = soon.max(initial=0), 0.0
    if peak > 5:
        top = int(soon.argmax())
        low = first(queue[top:] <= 5)
        back = 40.0 * rtt if low is None else time[top + low] - at
    return peak, back / rtt


def leave(t: Traces, at: int, begin: int, end: int) -> tuple[float, ...]:
    """The same of a leave."""
    rtt, enough = t.p.rtt, 0.95 * t.p.target
    time, sent = t.queue["time_ns"][begin:end], t.queue["sent_bytes"]
    # two round trips before each
    before = np.maximum(np.searchsorted(t.queue["time_ns"], time - 2 * rtt, "right") - 1, 0)
    load = (sent[begin:end] - sent[before]) * 8000 / t.p.mbit / (2 * rtt)
    late = load[(time >= at + 5 * rtt) & (time < at + 15 * rtt)]
    time, load = time[time >= at + rtt], load[time >= at + rtt]
    soon = load[time < at + 15 * rtt]
    low, back = min(1.0, soon.min(initial=1)), 0.0
    if low < enough:
        bottom = int(soon.argmin())
        again = first(load[bottom:] >= enough)
        back = 40.0 if again is None else (time[bottom + again] - at) / rtt
    return low, late.min() if len(late) else 0.0, back


def events(t: Traces) -> Metrics:
    """The bottleneck after each join and leave of a flow, from its trace: lists, until the next event.

    join_queue_peaks [packet]: the longest queue in 5 RTTs (1000000: no trace)
    join_queue_back [RTT]: from the join until the queue is back at 5 packets (40: not at all)
    leave_lows [share]: the least load over two round trips, from 1 to 15 RTTs after the leave
    leave_lows_late [share]: the same from 5 RTTs on (0: no trace)
    leave_back [RTT]: from the leave until the load is back at 0.95 of eta (40: not at all)
    """
    at = t.events["time_ns"]
    until = np.minimum(at + 40 * t.p.rtt, np.append(at[1:], np.iinfo(np.int64).max))
    begin, end = np.searchsorted(t.queue["time_ns"], (at, until))
    found: dict[str, list[tuple[float, ...]]] = {"join": [], "leave": []}
    for kind, *place in zip(t.events["event"], at, begin, end):
        found[kind].append((join if kind == "join" else leave)(t, *place))
    names = {"join": ["join_queue_peaks", "join_queue_back"],
             "leave": ["leave_lows", "leave_lows_late", "leave_back"]}
    return {name: [values[i] for values in found[kind]] for kind in found if found[kind] or kind == "leave"
            for i, name in enumerate(names[kind])}


def fair(t: Traces) -> Metrics:
    """Convergence of flows that join, by the bytes received.

    join_fair [RTT]: a list, of each join: from it until the flow is over 1.25 times its share (of eta of the
        link, less headers) for the last time, over 4 RTTs, before another flow joins or leaves
    """
    joins = t.events["event"] == "join"
    leaves = t.events["time_ns"][t.events["event"] == "leave"]
    at = t.events["time_ns"][joins]
    until = np.append(at[1:], leaves[:1] if len(leaves) else 0)
    end = t.rates["time_ns"].max(initial=0)
    rtt = t.p.rtt
    result = []
    for n, (start, stop, flow) in enumerate(zip(at, until, t.events["flow"][joins])):
        share = t.p.mbit / 8000 / (n + 2) * t.p.target * (t.p.wire - 66) / t.p.wire
        # the bytes that it had received by each round trip
        grid = np.arange(start // rtt * rtt, min(stop, end + 1), rtt)
        mine = t.rates["flow"] == flow
        time, got = t.rates["time_ns"][mine], t.rates["received_bytes"][mine]
        place = np.minimum(np.searchsorted(time, grid), max(len(time) - 1, 0))
        had = np.maximum.accumulate(np.where(time[place] == grid, got[place], 0)) if len(time) else grid * 0
        over = np.flatnonzero(had - np.append([0] * 4, had[:-4])[:len(had)] > 1.25 * share * 4 * rtt)
        result.append((grid[over[-1]] - start) / rtt if len(over) else 0)
    return {"join_fair": result}


def jains(t: Traces) -> Metrics:
    """Fairness while flows join and leave.

    jains: a list, of each time between two events in which there are several flows: Jain's index of
        the bytes that these receive in its second half
    """
    there, result, since = {0}, [], 0
    end = t.rates["time_ns"].max(initial=0)
    for at, kind, flow in zip(*(t.events[name].tolist() for name in ("time_ns", "event", "flow"))):
        if at >= end:
            break
        if len(there) > 1:
            result.append(index(received(t, at, (since + at) / 2)[sorted(there)]))
        there ^= {flow}
        since = at
    return {"jains": result}


def begun(t: Traces) -> Metrics:
    """The bottleneck when others begin at once beside a flow, from its trace.

    queue_peak [packet]: the longest queue after it
    queue_back [RTT]: from the begin until the queue, after its peak, is at most 5 packets
    load [share]: as utilisation, from the begin to the end
    """
    time, queue, sent = t.queue["time_ns"], t.queue["queue_bytes"] / t.p.wire, t.queue["sent_bytes"]
    at, rtt = t.events["time_ns"][-1], t.p.rtt
    start = int(np.searchsorted(time, at))
    top = start + int(queue[start:].argmax())
    low = first((queue[top:] <= 5) & (time[top:] > at))
    back = time[-1] if low is None else time[top + low]
    # bytes sent by each round trip
    grid = np.arange(at, time[-1] + 1, rtt)
    x = np.append(0, sent)[np.searchsorted(time, grid)]
    return {"queue_peak": queue[top], "queue_back": (back - at) / rtt,
            "load": share(t, x[-1] - x[0], (len(x) - 1) * rtt)}


def resume(t: Traces) -> Metrics:
    """Flows that have sent half of their bytes, paused, and resume at once.

    queue_peak [packet]: the longest queue after that
    unfinished: flows whose last byte has not arrived
    resumed_last_us [us]: from then until the last byte of all has arrived
    """
    again = t.events["time_ns"][0]
    sized = t.flows["size_bytes"] >= 0
    start, fct = t.flows["start_ns"][sized], t.flows["fct_ns"][sized]
    return {"queue_peak": t.queue["queue_bytes"][t.queue["time_ns"] >= again].max(initial=0) / t.p.wire,
            "unfinished": (fct < 0).sum(), "resumed_last_us": ((start + fct)[fct >= 0] - again).max(initial=0) / 1000}


# --- by size -------------------------------------------------------------------


def finished(t: Traces) -> tuple[Ints, Floats]:
    """Sizes and slowdowns of flows that have finished, in the order of sizes. A slowdown is the time after the
    handshake, with half a base RTT for the last ACK, over the least such time, which a flow has if it is alone.

    The least time has half a base RTT, the way of the first packet through all links, and the rest at the slowest.
    ideal_ns has a full packet's way and an ACK's instead, and all bytes."""
    done = np.flatnonzero(t.flows["fct_ns"] >= 0)
    done = done[np.argsort(t.flows["size_bytes"][done], kind="stable")]
    flow, size, fct, alone, setup = (t.flows[name][done]
                                     for name in ("flow", "size_bytes", "fct_ns", "ideal_ns", "setup_ns"))
    # ns that a byte takes on all links of the way, and on the slowest
    ns = 8e9 / t.ways["rate_bit"]
    links, slowest = np.zeros((2, len(t.flows["flow"])))
    np.add.at(links, t.ways["flow"], ns)
    np.maximum.at(slowest, t.ways["flow"], ns)
    rtt = alone - with_headers(t, size) * slowest[flow]
    packet = np.minimum(size + HEADERS, t.p.mtu + 14)
    least = alone + links[flow] * (packet - (t.p.mtu + 14 + HEADERS) / 2) - packet * slowest[flow]
    # each link delivers at a whole ns, rounded down
    least -= np.bincount(t.ways["flow"], minlength=len(t.flows["flow"]))[flow]
    time = fct - setup + rtt / 2
    return size, time / least


def slowdown(t: Traces) -> Metrics:
    """Slowdowns of flows that have finished, over the whole run. A slowdown is a flow's time after its handshake, and
    half a base RTT for the last ACK, over the least such time: base RTT, and size with headers / rate, where nothing
    waits. It is never under 1: the base RTT of a flow shorter than a packet is that of its own packet.

    From flows.csv.gz and ways.csv.gz: a byte takes s ns on the slowest and L ns on all of the K links of a flow. H is
    its size with 66 bytes of headers for each segment of MTU - 52 bytes. P is the smaller of its size + 66 and MTU +
    14. The base RTT is R = ideal_ns - H s. The slowdown is (fct_ns - setup_ns + R / 2) / (ideal_ns - P s +
    (P - (MTU + 80) / 2) L - K).

    unfinished: flows whose last byte has not arrived
    bytes [byte]: sizes of all flows
    flows: flows that have finished
    sizes [byte]: a list, of 20 classes of sizes with as many flows each: the largest size
    p50, p95, p99: lists, of these classes: percentiles of the slowdown
    all_p99: of all flows
    short_p99: of flows shorter than 3 KB (websearch) or 120 KB (others)
    """
    size, slow = finished(t)
    n = len(size)
    classes_ = np.split(np.arange(n), np.flatnonzero(np.diff(np.arange(n) * 20 // n)) + 1) if n else []
    short = size < (3000 if t.p.sizes == "websearch" else 120_000)
    return {"unfinished": (t.flows["fct_ns"] < 0).sum(), "flows": n,
            "bytes": np.maximum(t.flows["size_bytes"], 0).sum(), "sizes": [size[part].max() for part in classes_],
            **{f"p{p}": [percentile(slow[part], p / 100) for part in classes_] for p in (50, 95, 99)},
            "all_p99": percentile(slow, .99), "short_p99": percentile(slow[short], .99)}


def classes(t: Traces) -> Metrics:
    """Slowdowns of flows that have finished, as of slowdown(), by their sizes.

    packet_*: flows of one packet
    to_10k_*, to_100k_*, to_1m_*: larger ones up to 10 KB, 100 KB, 1 MB
    more_*: flows of more than 1 MB
    largest_*: the largest 5 % of flows
    to_7k_*, from_46k_to_120k_*: flows up to 7 KB, and from 46 to 120 KB, as in Bolt's paper
    *_flows: number of flows
    *_p50, *_p99: percentiles of the slowdown
    """
    size, slow = finished(t)
    class_ = np.searchsorted([t.p.mtu - 52, 1e4, 1e5, 1e6], size)
    parts = {name: class_ == i for i, name in enumerate(("packet", "to_10k", "to_100k", "to_1m", "more"))} | {
        "largest": np.arange(1, len(size) + 1) > .95 * len(size), "to_7k": size <= 7000,
        "from_46k_to_120k": (size >= 46_000) & (size <= 120_000)}
    result: Metrics = {}
    for name, part in parts.items():
        if part.any():
            result |= {f"{name}_flows": part.sum(), f"{name}_p50": percentile(slow[part], .5),
                       f"{name}_p99": percentile(slow[part], .99)}
    return result


# --- hpccpp's updates ----------------------------------------------------------


def reaction(t: Traces) -> Metrics:
    """How soon flows reduce W when the queue is half a BDP, a load of 150 %: from then on. Empty if that never happens.

    reaction_first [RTT]: of the flow that does it first
    """
    full = first(t.queue["queue_bytes"] >= t.p.rate * t.p.rtt / 16e9)
    used = t.updates["used"] == 1
    if full is None or not used.any():
        return {}
    _, flow = np.unique(t.updates["src"][used], return_inverse=True)
    order = np.argsort(flow, kind="stable")
    flow, time, W = flow[order], t.updates["time_ns"][used][order], t.updates["W"][used][order]
    less = np.append(False, (flow[1:] == flow[:-1]) & (W[1:] < W[:-1])) & (time > t.queue["time_ns"][full])
    return {"reaction_first": (time[less].min() - t.queue["time_ns"][full]) / t.p.rtt} if less.any() else {}


def parking(t: Traces) -> Metrics:
    """jain() and shares(), and what hpccpp takes for the bottleneck, over the whole run.

    samples: updates of a flow's window
    real_bottleneck: the part of these that names a link that holds the flow back
    """
    result = jain(t) | shares(t)
    if not (t.path / "updates.csv.gz").exists():
        return result
    used = t.updates["used"] == 1
    sources = np.char.partition(t.updates["src"][used], ":")[:, 0] if used.any() else np.empty(0, str)
    real = np.zeros(len(sources), bool)
    for source, link_id in zip(t.real["source"], t.real["link_id"]):
        real |= (sources == source) & (t.updates["bottleneck"][used] == link_id)
    return result | {"samples": len(real), "real_bottleneck": real.mean() if len(real) else 0}


def mixed(t: Traces) -> Metrics:
    """hpccpp's flows share a link with others, which leave after half of the run.

    share_ours, share_others [share]: of the link, from 0.2 to 1 of the first half: payload received
    share_after [share]: hpccpp's flows from 0.2 to 1 of the second half
    least_mbit [Mbit/s]: the least rate of one of hpccpp's flows in the first of these times
    leave_back [RTT]: from the others' last byte until hpccpp's flows have 0.95 of eta of the link over two
        round trips; null: not at all
    least_R_mbit [Mbit/s]: the least pacing rate of hpccpp, over the whole run
    """
    time, flow = t.rates["time_ns"], t.rates["flow"]
    half, rtt = (t.window[1] or 0) / 2, t.p.rtt
    ours = np.char.startswith(t.flows["cc"], "hpccpp")
    there = np.isin(t.flows["flow"], flow)
    during, after = received(t, half, half * .2), received(t, float("inf"), half * 1.2)

    def rate(bytes_: NDArray[Any]) -> float:
        return float(bytes_.sum()) * 8000 / (half * .8)

    left = time[~ours[flow]].max(initial=0)
    # what each row adds to the bytes of its flow
    order = np.argsort(flow, kind="stable")
    bytes_ = t.rates["received_bytes"][order]
    added = np.empty(len(time))
    added[order] = np.where(np.diff(flow[order], prepend=-1) != 0, bytes_, np.diff(bytes_, prepend=0))
    # from half of the run on: what ours have received by each time, and two round trips before
    mine = ours[flow]
    T = np.unique(time[mine & (time > half)])
    had = np.cumsum(added[mine])[np.searchsorted(time[mine], T, "right") - 1]
    before = np.searchsorted(T, T - 2 * rtt, "right") - 1
    enough = 0.95 * t.p.target * (t.p.wire - 82) / t.p.wire
    load = (had - had[before]) * 8000 / t.p.mbit / np.maximum(T - T[before], 1)
    back = first((before >= 0) & (load >= enough))
    used = t.updates["used"] == 1
    return {"share_ours": rate(during[ours & there]) / t.p.mbit, "share_others": rate(during[~ours & there]) / t.p.mbit,
            "share_after": rate(after[ours & there]) / t.p.mbit,
            "least_mbit": rate(during[ours & there].min(initial=np.inf)),
            "leave_back": None if back is None else (T[back] - max(left, half)) / rtt,
            "least_R_mbit": t.updates["R"][used].min() * 8 / 1e6 if used.any() else 0}


# --- the JSON of a run ---------------------------------------------------------


def default(t: Traces) -> Metrics:
    """The metrics of a scenario that names none: link(), jain() and completion()."""
    return link(t) | jain(t) | completion(t)


def six(value: Any) -> Any:
    """The value with six significant digits; lists of one value become that value."""
    if isinstance(value, Iterable):
        values = [six(one) for one in value]
        return values[0] if len(values) == 1 else values
    if value is None:
        return None
    text = f"{value:.6g}"
    return int(float(text)) if float(text).is_integer() else float(text)


def measure(path: Path) -> dict[str, Any]:
    """What is in the JSON of the run in this directory: its tables are made, and its metrics computed."""
    traces.store(path)
    t = Traces(path)
    chosen = scenario.load(t.meta["scenario"]).metrics or default
    with scenario.file_of(t.meta["scenario"]):
        metrics = bdp(t) | losses(t) | chosen(t)
    # others do not depend on the module, and are not run again for another
    module = t.meta["module"] if t.meta["cc"].startswith("hpccpp") else None
    return {**t.meta, "module": module, "metrics": {name: six(value) for name, value in metrics.items()}}


def save(path: Path) -> None:
    """Writes the JSON of the run in the directory PATH to PATH.json."""
    path.with_name(path.name + ".json").write_text(json.dumps(measure(path), indent=2) + "\n")
