#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Makes data files for flent (flent.org) from measurements of the demo and the lab.

demo.sh makes them of all of its runs, in results/flent, and bench of the lab's runs that follow rates, in the
directory of each.

SOURCE is one of results/queue-*.csv of the demo, or the directory of a run of the lab, results/lab/SCENARIO/NAME.
For each, in STEPS steps of time, DIR gets

    NAME-queue.flent.gz     the link's queue, as flent's test qdisc-stats
    NAME-flows.flent.gz     rates and round trips, as flent's test tcp_nup

A queue is its mean over the step, drops are per second. The demo knows no rates but the link's, headers and telemetry
included; the lab has no round trips. Then, for instance:

    flent -i results/flent/*-queue.flent.gz -p backlog -o queue.png
"""

import argparse
import csv
import gzip
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

TOP = Path(__file__).resolve().parents[1]
STEPS = 999_999


class Failure(Exception):
    """A source that cannot be used. The text names it."""


class Series:
    """Values over time, in steps.

    Of a level, each value is there until the next one: a step has the mean over time. A count has all so far: a step
    has what came per second. A step of samples has their mean. A count without a value for longer than `every`
    seconds has stood still. Nothing is known about steps after the last value."""

    def __init__(self, kind: str, steps: int, seconds: float, every: float = 0) -> None:
        self.kind, self.steps, self.seconds, self.every = kind, steps, seconds, every
        self.step = seconds / steps
        self.sums: dict[int, float] = {}
        self.numbers: dict[int, int] = {}
        self.at, self.last = (0.0, 0.0) if kind == "count" and every else (None, 0.0)

    def spread(self, start: float, end: float, rate: float) -> None:
        """Adds this rate per second from one time to another."""
        sums, step = self.sums, self.step
        i = int(start / step)
        while start < end and i < self.steps:
            until = min(end, (i + 1) * step)
            sums[i] = sums.get(i, 0) + rate * (until - start) / step
            i += 1
            start = i * step

    def add(self, at: float, value: float) -> None:
        """Adds the next value."""
        at = min(max(at, 0), self.seconds)
        start = self.at
        if self.kind == "sample":
            i = int(at / self.step)
            n = self.numbers.get(i, 0)
            self.sums[i] = (self.sums.get(i, 0) * n + value) / (n + 1)
            self.numbers[i] = n + 1
        elif start is not None and at > start:
            if self.kind == "level":
                self.spread(start, at, self.last)
            else:
                if self.every and at - start > self.every:
                    self.spread(start, at - self.every, 0)
                    start = at - self.every
                self.spread(start, at, (value - self.last) / (at - start))
        self.at, self.last = at, value

    def values(self, scale: float = 1) -> list[float | None]:
        """The values of all steps, None where nothing is known."""
        return [float(f"{self.sums[i] * scale:.6g}") if i in self.sums else None for i in range(self.steps)]


class Writer:
    """Writes data files into a directory."""

    def __init__(self, to: Path, steps: int, quiet: bool) -> None:
        self.to, self.steps, self.quiet = to, steps, quiet

    def write(self, name: str, test: str, title: str, source: Path, seconds: float,
              results: dict[str, list[float | None]], **parameters: str) -> None:
        """Writes one data file, with the date of the source."""
        begun = int(source.stat().st_mtime)
        date = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(begun))
        x = [i * seconds / self.steps for i in range(self.steps)]
        results = dict(sorted(results.items()))
        file = self.to / f"{name}.flent.gz"
        metadata = {"NAME": test, "TITLE": title, "TIME": date, "T0": date, "HOST": "r", "HOSTS": ["r"],
                    "LOCAL_HOST": "h1", "LENGTH": seconds, "TOTAL_LENGTH": seconds, "STEP_SIZE": seconds / self.steps,
                    "TEST_PARAMETERS": parameters, "DATA_FILENAME": file.name, "NOTE": None,
                    "SERIES_META": {series: {} for series in results}}
        raw = {series: [{"t": begun + t, "val": value} for t, value in zip(x, values) if value is not None]
               for series, values in results.items()}
        text = json.dumps({"version": 4, "metadata": metadata, "x_values": x, "results": results, "raw_values": raw})
        new = file.with_suffix(".tmp")
        new.write_bytes(gzip.compress(text.encode(), mtime=0))
        new.replace(file)
        if not self.quiet:
            print(f"  FLENT   {file}", file=sys.stderr)

    def demo(self, queue: Path) -> None:
        """Of a queue-*.csv of the demo."""
        name = queue.name.removeprefix("queue-").removesuffix(".csv")
        rtt = queue.with_name(f"rtt-{name}.csv")
        if not rtt.exists():
            raise Failure(f"{queue}: no {rtt.name} beside it")
        rows = [[float(word) for word in row.values()] for row in csv.DictReader(queue.open())]
        seconds = rows[-1][0]
        series = {key: Series(kind, self.steps, seconds) for key, kind in (
            ("bytes", "level"), ("packets", "level"), ("drops", "count"), ("sent", "count"), ("rtt", "sample"))}
        for at, waiting, packets, sent, _, drops in rows:
            for key, value in ("bytes", waiting), ("packets", packets), ("drops", drops), ("sent", sent * 8 / 1e6):
                series[key].add(at, value)
        for row in csv.DictReader(rtt.open()):
            if float(row["rtt_us"]) >= 0:  # -1: no reply
                series["rtt"].add(float(row["t"]), float(row["rtt_us"]) / 1e3)
        self.write(f"{name}-queue", "qdisc-stats", name, queue, seconds, {
            "qdisc-stats::backlog_bytes": series["bytes"].values(),
            "qdisc-stats::backlog_pkts": series["packets"].values(),
            "qdisc-stats::dropped": series["drops"].values()})
        self.write(f"{name}-flows", "tcp_nup", name, queue, seconds, {
            "TCP upload sum": series["sent"].values(), "Ping (ms) ICMP": series["rtt"].values()}, upload_streams="4")

    def lab(self, run: Path) -> None:
        """Of the directory of a run of the lab."""
        if not (run / "meta.json").exists():
            raise Failure(f"{run}: no run of the lab, and no queue-*.csv of the demo")
        meta = json.loads((run / "meta.json").read_text())
        name, params = f"{meta['scenario']}-{meta['name']}", meta["params"]
        # a run may be too short for a line of rates
        queue, rates = ([run / f"{table}.csv.gz"] if any(rows(run / f"{table}.csv.gz")) else []
                        for table in ("queue", "rates"))
        if not queue and not rates:
            raise Failure(f"{run}: no trace of a queue or of rates in it")
        seconds = max(at for file in queue + rates for at, *_ in rows(file)) / 1e9
        if queue:
            links = list(csv.DictReader((run / "links.csv").open()))
            others = {int(link["link"]) for link in links if link["bottleneck"] != "1"}
            waiting = Series("level", self.steps, seconds)
            for at, link, bytes_, _ in rows(queue[0]):
                if link not in others:
                    waiting.add(at / 1e9, bytes_)
            self.write(f"{name}-queue", "qdisc-stats", name, queue[0], seconds, {
                "qdisc-stats::backlog_bytes": waiting.values(),
                "qdisc-stats::backlog_pkts": waiting.values(1 / (params["mtu"] + 14 + params.get("overhead", 0)))})
        if rates:
            flows: dict[str, Series] = {}
            had: dict[int, int] = {}
            total = flows["TCP upload sum"] = Series("count", self.steps, seconds, params["rtt"] / 1e9)
            everything, before = 0, -1
            for at, flow, bytes_ in rows(rates[0]):
                if before not in (-1, at):
                    total.add(before / 1e9, everything * 8 / 1e6)
                key = f"TCP upload::{flow + 1}"
                if key not in flows:
                    flows[key] = Series("count", self.steps, seconds, params["rtt"] / 1e9)
                flows[key].add(at / 1e9, bytes_ * 8 / 1e6)
                everything += bytes_ - had.get(flow, 0)
                had[flow], before = bytes_, at
            total.add(before / 1e9, everything * 8 / 1e6)
            self.write(f"{name}-flows", "tcp_nup", name, rates[0], seconds,
                       {key: series.values() for key, series in flows.items()}, upload_streams=str(len(flows) - 1))


def rows(path: Path) -> Iterator[list[int]]:
    """The rows of a table of the lab. One that is not there has none."""
    if path.exists():
        with gzip.open(path, "rt") as file:
            yield from (list(map(int, line.split(","))) for line in file if line[0].isdigit())


class Parser(argparse.ArgumentParser):
    """Reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        """Ends the program."""
        self.exit(2, f"{self.prog}: {message}\n")


def steps(text: str) -> int:
    """A number of steps"""
    if not text.isdigit() or not 1 <= int(text) <= STEPS:
        raise argparse.ArgumentTypeError(f"'{text}': a number of steps from 1 to {STEPS}")
    return int(text)


def main() -> None:
    """Reads the arguments and writes the files."""
    about, _, more = (__doc__ or "").partition("\n")
    parser = Parser(description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-q", dest="quiet", action="store_true", help="do not name the files")
    parser.add_argument("-o", dest="to", metavar="DIR", type=Path, default=TOP / "results/flent", help="results/flent")
    parser.add_argument("-s", dest="steps", type=steps, default=1000, help="1000")
    parser.add_argument("source", metavar="SOURCE", nargs="+", type=Path)
    args = parser.parse_args()
    args.to.mkdir(parents=True, exist_ok=True)
    writer = Writer(args.to, args.steps, args.quiet)
    try:
        for source in args.source:
            if source.is_dir():
                writer.lab(source)
            elif source.match("queue-*.csv") and source.exists():
                writer.demo(source.resolve())
            else:
                parser.error(f"'{source}': no directory and no queue-*.csv")
    except Failure as failure:
        parser.exit(1, f"{parser.prog}: {failure}\n")


if __name__ == "__main__":
    main()
