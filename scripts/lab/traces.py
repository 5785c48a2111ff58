# SPDX-License-Identifier: GPL-2.0
"""The traces of a run as tables: store() makes them of what the guest leaves, Traces reads them.

Tables are CSV with a line of column names. A field without a value is empty. Every time is in ns of
the run's clock, whose time 0 is the one from which the traffic's start times count. "The window" is the
measured part of a run.

meta.json: of a run; its JSON, NAME.json, has the same and metrics
    scenario, name, cc, seed: scenario and name of the run, congestion control, seed
    commit: commit of the lab's checkout; -dirty: with changes or new files
    kernel: release of the lab's kernel, and its hash
    compiler: compiler of the kernel and of tcp_hpccpp.ko; both if they differ
    module: version of tcp_hpccpp.ko, and its hash; null in NAME.json if no flow uses it
    own: name, hash and sysctls of a congestion control of the user's own; only in its runs
    params: keys of the run (`lab keys`); rates in bit/s, times in ns, sizes in bytes
    window [ns]: start and end of the window; the end is null if it is the end of the run

flows.csv.gz: a line for each flow, in the order of their numbers
    flow: number of the flow, from 0
    src, dst: names of the hosts that send and receive
    size_bytes [byte]: payload; empty: the flow has no end
    start_ns [ns]: time of connect(), or when a message is due
    fct_ns [ns]: from start_ns until the last byte has arrived; empty: it has not arrived
    ideal_ns [ns]: base RTT, and the time of all bytes with headers (66 per segment of MTU - 52 bytes) at the slowest
        link; empty if no generator made the flow
    received_bytes [byte]: payload that has arrived in the whole run
    window_bytes [byte]: payload that has arrived in the window
    cc: congestion control
    setup_ns [ns]: from start_ns until the sender is connected
    retransmissions: segments that the sender has sent again
    timeouts: expiries of the sender's retransmission timer
    src_port, dst_port: TCP ports
queue.csv.gz: a line for each change of a traced queue in the window; with the setup of `long` the first 20,000
    time_ns [ns]: time of the change
    link: number of the link in links.csv
    queue_bytes [byte]: bytes that wait after the change, with overhead= for each frame
    sent_bytes [byte]: bytes whose transmission has begun since the window's start
rates.csv.gz: a line for each flow and interval (20 us, or a base RTT) in which it received something
    time_ns [ns]: end of the interval
    flow: number of the flow
    received_bytes [byte]: payload that has arrived since the flow's start
links.csv: a line for each direction of a link, over the window
    link: number of the link, from 0
    netns, dev: host or switch, and its port
    bottleneck: 1 for the port whose queue is measured, 0 for others
    window_ns [ns]: length of the window
    packets: packets sent
    bytes [byte]: bytes sent, with overhead= for each frame
    drops: packets that found no room
    marks: packets marked with CE
    queue_mean_bytes [byte]: mean over time of the bytes that wait
    queue_p50_bytes, queue_p99_bytes [byte]: percentiles over time, in steps of 256 bytes; 2 MiB or more: 2097152
    queue_max_bytes [byte]: the longest queue
    bursts: packets as TCP built them; one of several segments (TSO, GSO) counts once
    trace_lost: changes of all traced queues for which the trace had no room
updates.csv.gz: a line for each update of hpccpp's window (key updates=1), with the first telemetry record
    time_ns [ns]: time of the update, in whole us
    src, dest: ADDRESS:PORT of sender and receiver
    sk: number of the socket
    link: id of the link that wrote the record
    rate, ts, tx_bytes, qlen, port_U, N: the record's fields as on the wire (tools/bpf/hpccpp_wire.rst)
    records: records of the echo
    bottleneck: id of the most loaded link
    used: 1 if the algorithm used the echo, 0 if it changed nothing
    update_wc: 1 if a round trip has ended: the algorithm was to update W_c (law draft) or W_p (law averaged)
    u, U, eta [2^-20]: load of the most loaded link in this echo, its average, and its goal
    tau [16 ns]: interval of which u is the load
    W, W_c [byte]: window and reference window, as bytes on the wire
    W_f [byte]: window that is the flow's fair share of the most loaded link; 0: unknown, or law draft
    W_ai, W_max [byte]: additive increase, and largest window
    inc_stage: round trips since W last followed line 13 (law draft), or since the start, up to 2 (law averaged);
        a decrease may set it to 5
    T [us]: base RTT
    R [byte/s]: pacing rate, as bytes on the wire
    cwnd [packet]: congestion window
    snd_una, snd_nxt: TCP's sequence numbers
ways.csv.gz: the links that the data of a generated flow pass
    flow: number of the flow
    hop: number of the link on the path, from 1
    link: NETNS/DEV
    rate_bit [bit/s]: rate of the link
events.csv: events of the scenario
    time_ns [ns]: time of the event
    event: join, leave or another word of the scenario
    flow: number of the flow; empty: all flows
counters.csv: /proc/net/hpccpp of hosts at the end (tcp_hpccpp(7))
    host: number of the host, from 1, in the order in which setup() names them
    counter, value: a counter and its value
real.csv: links that hold a sender back
    source: address of the sender
    link_id: id of the link
"""

import gzip
import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import units
from params import KEYS, Params

Ints = NDArray[np.int64]
Columns = Mapping[str, NDArray[Any]]
# in the order of tgen's lines
FLOWS = ("flow,src,dst,size_bytes,start_ns,fct_ns,ideal_ns,received_bytes,window_bytes,cc,setup_ns,"
         "retransmissions,timeouts,src_port,dst_port")
# in the order of /proc/lablink's numbers
LINKS = ("link,netns,dev,bottleneck,window_ns,packets,bytes,drops,marks,"
         "queue_mean_bytes,queue_p50_bytes,queue_p99_bytes,queue_max_bytes,bursts,trace_lost")
RAW = ("port", "netns", "flows", "ways", "links", "queue", "rates", "updates", "zero", "events", "counters", "real")


def write(path: Path, header: str, body: bytes) -> None:
    """Writes a table, packed if its name ends with .gz. The same table makes the same bytes."""
    text = header.encode() + b"\n" + body
    path.write_bytes(gzip.compress(text, 4, mtime=0) if path.suffix == ".gz" else text)


def write_rows(path: Path, header: str, rows: Iterable[Iterable[Any]]) -> None:
    """Writes a table of rows of words. A word "-" becomes an empty field."""
    write(path, header, "".join(",".join("" if word == "-" else str(word) for word in row) + "\n"
                                for row in rows).encode())


def write_numbers(path: Path, header: str, table: Ints) -> None:
    """Writes a table of whole numbers, which may have millions of rows."""
    line = ",".join(["%d"] * table.shape[1]) + "\n"
    # parts of the table: a list of Python's numbers takes several times its memory
    parts = (line * len(part) % tuple(part.ravel().tolist()) for part in np.array_split(table, len(table) // 50000 + 1))
    write(path, header, "".join(parts).encode())


def numbers(text: bytes, columns: int) -> Ints:
    """The whole numbers of lines, between which are single spaces or commas."""
    text = text.strip().replace(b" ", b",").replace(b"\n", b",")
    table: Ints = np.fromstring(text, dtype=np.int64, sep=",") if text else np.empty(0, np.int64)
    return table.reshape(-1, columns)


def lines(path: Path) -> list[list[str]]:
    """The words of a raw file's lines but for comments. A file that is not there has no lines."""
    if not path.exists():
        return []
    return [line.split() for line in path.read_text().splitlines() if line and line[0] != "#"]


def store_links(raw: Path, lost: int) -> dict[str, int]:
    """Makes links.csv of /proc/lablink. Returns the numbers of links by "NETNS DEV" as the kernel has them."""
    names = {inum: name for inum, name in lines(raw / "netns")}
    port = (lines(raw / "port") or [[]])[0]
    known: dict[str, int] = {}
    rows: list[list[Any]] = []
    for words in lines(raw / "links"):
        known[" ".join(words[:2])] = len(rows)
        netns = names.get(words[0], words[0])
        rows.append([len(rows), netns, words[1], int(port in (words[:2], [netns, words[1]])), *words[3::2], lost])
    write_rows(raw / "links.csv", LINKS, rows)
    return known


def store_queue(raw: Path, text: bytes, links: dict[str, int], start: int) -> None:
    """Makes queue.csv.gz of /proc/lablink_trace, which has all lines of a link before those of the next."""
    parts = []
    while text:
        prefix = b" ".join(text.split(b" ", 2)[:2]) + b" "
        end = text.find(b"\n", text.rfind(b"\n" + prefix) + 1)
        part, text = text[:end + 1], text[end + 1:]
        table = numbers(part.replace(prefix, b""), 3)
        link = np.full(len(table), links.get(prefix.decode().strip(), len(links)))
        parts.append(np.column_stack((table[:, 0] + start, link, table[:, 1:])))
    if parts:
        write_numbers(raw / "queue.csv.gz", "time_ns,link,queue_bytes,sent_bytes", np.concatenate(parts))


def store_updates(raw: Path, zero: int) -> None:
    """Makes updates.csv.gz of lines "... SECONDS: hpccpp_update: KEY=VALUE ..." or "time=SECONDS KEY=VALUE ..."."""
    found = re.findall(r"^.*?(\d+)\.(\d{6})(?:: hpccpp_update:)? (.*)$", (raw / "updates").read_text(), re.M)
    # lines of several CPUs are not in the order of their times
    found.sort(key=lambda update: (int(update[0]), update[1]))
    keys = re.findall(r"(\w+)=", found[0][2]) if found else []
    body = "".join(f"{int(seconds) * 10**9 + int(us) * 1000 - zero} {rest}\n" for seconds, us, rest in found)
    write(raw / "updates.csv.gz", ",".join(["time_ns", *keys]), re.sub(r" \w+=", ",", body).encode())


def store_counters(raw: Path) -> None:
    """Makes counters.csv of /proc/net/hpccpp of one host after another."""
    host, seen, rows = 1, set[str](), []
    for counter, value in lines(raw / "counters"):
        if counter in seen:
            host, seen = host + 1, set[str]()
        seen.add(counter)
        rows.append([host, counter, value])
    write_rows(raw / "counters.csv", "host,counter,value", rows)


def store(path: Path) -> None:
    """Makes tables of the raw files in the directory of a run, and removes these. Tables that are there stay."""
    if not (path / "flows").exists():
        if not (path / "flows.csv.gz").exists():
            raise units.Error(f"{path}: no run is there")
        return
    start = json.loads((path / "meta.json").read_text())["window"][0]
    trace = (path / "queue").read_bytes() if (path / "queue").exists() else b""
    trace, _, comment = trace.partition(b"#")
    links = store_links(path, int(comment.split()[0]) if comment else 0)
    store_queue(path, trace, links, start)
    write_rows(path / "flows.csv.gz", FLOWS, lines(path / "flows"))
    if (path / "rates").exists():
        write_numbers(path / "rates.csv.gz", "time_ns,flow,received_bytes", numbers((path / "rates").read_bytes(), 3))
    if (path / "updates").exists():
        store_updates(path, int((path / "zero").read_text()))
    if (path / "ways").exists():
        write_rows(path / "ways.csv.gz", "flow,hop,link,rate_bit", (
            (words[0], i // 2 + 1, words[i + 1], words[i + 2])
            for words in lines(path / "ways") for i in range(0, len(words) - 2, 2)))
    if (path / "events").exists():
        write_rows(path / "events.csv", "time_ns,event,flow",
                   ((words[1], words[0], *(words[2:] or [""])) for words in lines(path / "events")))
    if (path / "counters").exists():
        store_counters(path)
    if (path / "real").exists():
        write_rows(path / "real.csv", "source,link_id",
                   ((words[0], link) for words in lines(path / "real") for link in words[1:]))
    for name in RAW:
        (path / name).unlink(missing_ok=True)


class Table(dict[str, NDArray[Any]]):
    """The columns of a table, made when they are asked for: int64 (-1 for an empty field), or else text."""

    def __init__(self, names: list[str], body: bytes) -> None:
        self.names = names
        self.rows = [line.split(",") for line in body.decode().splitlines()]
        if any(len(row) != len(names) for row in self.rows):
            raise units.Error(f"a table with columns {','.join(names)} has lines of another number of fields")

    def __missing__(self, name: str) -> NDArray[Any]:
        i = self.names.index(name)
        words = [row[i] for row in self.rows]
        try:
            self[name] = np.array([int(word or -1) for word in words], np.int64)
        except ValueError:
            self[name] = np.array([word or "-1" for word in words])
        return self[name]


def read(path: Path) -> tuple[str, bytes]:
    """The column names and the text of a table; both are empty if it is not there"""
    text = path.read_bytes() if path.exists() else b""
    if path.suffix == ".gz" and text:
        text = gzip.decompress(text)
    header, _, body = text.partition(b"\n")
    return header.decode(), body


# tables of words and numbers, and of whole numbers; their columns if they are not there
TABLES = {"flows": ("flows.csv.gz", FLOWS), "links": ("links.csv", LINKS),
          "ways": ("ways.csv.gz", "flow,hop,link,rate_bit"),
          "updates": ("updates.csv.gz", "time_ns,src,bottleneck,used,W,R"), "real": ("real.csv", "source,link_id"),
          "events": ("events.csv", "time_ns,event,flow"), "counters": ("counters.csv", "host,counter,value")}
NUMBERS = {"queues": ("queue.csv.gz", "time_ns,link,queue_bytes,sent_bytes"),
           "rates": ("rates.csv.gz", "time_ns,flow,received_bytes")}


class Traces:
    """The tables of a run, as attributes. Each is read when it is asked for; one that is not there has no rows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.meta: dict[str, Any] = json.loads((path / "meta.json").read_text())
        values = self.meta["params"] | {key: self.meta[key] for key in ("cc", "seed")}
        self.p = Params(**{key: value for key, value in values.items() if key in KEYS})
        # ns; None: the window ends with the run
        self.window: tuple[int, int | None] = (self.meta["window"][0], self.meta["window"][1])

    def __getattr__(self, name: str) -> Any:
        """A table of TABLES or NUMBERS"""
        if name not in TABLES | NUMBERS:
            raise AttributeError(f"a run has no table '{name}'")
        file, columns = (TABLES | NUMBERS)[name]
        header, body = read(self.path / file)
        names = (header or columns).split(",")
        if name in TABLES:
            table: Any = Table(names, body)
        else:
            table = dict(zip(names, np.ascontiguousarray(numbers(body, len(names)).T)))
        setattr(self, name, table)
        return table

    @property
    def queue(self) -> dict[str, Ints]:
        """The part of queue.csv.gz that is about the bottleneck. Fails if the trace is not whole."""
        if self.links["trace_lost"].any():
            raise units.Error(f"{self.path}: the trace of the queue is not whole")
        return self.bottleneck

    @cached_property
    def bottleneck(self) -> dict[str, Ints]:
        """The part of queue.csv.gz that is about the bottleneck. The last changes may be missing."""
        links = np.unique(self.queues["link"])
        if len(links) < 2:
            return dict(self.queues)
        mine = np.isin(self.queues["link"], self.links["link"][self.links["bottleneck"] == 1])
        return {name: column[mine] for name, column in self.queues.items()}
