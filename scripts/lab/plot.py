# SPDX-License-Identifier: GPL-2.0
"""Plots of the tables of runs. The same tables make the same file, byte for byte."""

import io
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import matplotlib  # type: ignore[import]
import numpy as np
from matplotlib import colors, figure, ticker
from numpy.typing import NDArray

import traces
import units
from traces import Traces

# as in the report; in the order of the legend
COLOURS = {"hpccpp": "#009955", "hpccpp-full": "#55bb22", "hpccpp-rx": "#dd77aa", "dctcp": "#0077bb",
           "dctcp-k20": "#55aadd", "dctcp-dualpi2": "#005588", "bbr": "#ee9911", "cubic": "#cc3311", "reno": "#cc3311"}
OTHER = "#555555"
DASHES = ("-", "--", "-.", ":")
BINS = 1000  # of the x axis; each keeps at most 4 points of a line
MEANS = 500
FLOWS = 16  # lines of one panel
RUNS = 50
TABLE = "flows.csv.gz"
SUFFIXES = (".svg", ".png", ".pdf")


@dataclass(frozen=True)
class Line:
    """A line of a plot: points in the order of x"""
    cc: str
    label: str
    x: NDArray[Any]
    y: NDArray[Any]
    # the mean of y over about MEANS parts of the x axis, if there are more points
    mean: "Line | None" = None


def thin(line: Line, bins: int = BINS) -> Line:
    """The line with the first, the last, the least and the greatest point of each of these parts of the x axis"""
    if len(line.x) <= 4 * bins:
        return line
    edges = np.searchsorted(line.x, np.linspace(line.x[0], line.x[-1], bins + 1))
    keep = [len(line.x) - 1]
    for start, end in zip(edges[:-1], edges[1:]):
        if start < end:
            part = line.y[start:end]
            keep += [start, start + part.argmin(), start + part.argmax(), end - 1]
    kept = np.unique(keep)
    return replace(line, x=line.x[kept], y=line.y[kept])


def queue(t: Traces) -> list[Line]:
    """The queue of the bottleneck in packets, over time in ns"""
    time, bytes_ = t.bottleneck["time_ns"], t.bottleneck["queue_bytes"]
    label = " (trace ends early)" if t.links["trace_lost"].any() else ""
    return [Line(t.p.cc, label, time, bytes_ / t.p.wire)] if len(time) else []


def rates(t: Traces) -> list[Line]:
    """The payload that flows receive in Gbit/s, over time in ns: a line for each flow or, of more than FLOWS
    flows, for each congestion control"""
    time, flow, bytes_ = (t.rates[name] for name in ("time_ns", "flow", "received_bytes"))
    # of the samples, which tgen makes
    intervals = [int(words[words.index("-i") + 1]) for words in traces.lines(t.path / "script") if "-i" in words]
    if not len(time) or not intervals:
        return []
    interval = intervals[0]
    # bytes that arrived after the last sample, of flows whose last byte has arrived
    last = np.flatnonzero((t.flows["fct_ns"] >= 0) & (t.flows["start_ns"] + t.flows["fct_ns"] > time[-1]))
    time = np.append(time, np.full(len(last), time[-1] + interval)) // interval
    flow, bytes_ = np.append(flow, last), np.append(bytes_, t.flows["received_bytes"][last])
    order = np.argsort(flow, kind="stable")
    time, flow, bytes_ = time[order], flow[order], bytes_[order]
    added = np.where(np.diff(flow, prepend=-1) != 0, bytes_, np.diff(bytes_, prepend=0))
    ccs = np.where(t.flows["cc"] == t.p.algorithm, t.p.cc, t.flows["cc"])
    numbers = np.unique(flow)
    if len(numbers) > FLOWS:
        groups = [(cc, f"{cc}, {(ccs[numbers] == cc).sum()} flows", ccs[flow] == cc) for cc in np.unique(ccs[numbers])]
    else:
        groups = [(ccs[i], f"{ccs[i]}, flow {i}", flow == i) for i in numbers]
    lines = []
    for cc, label, mine in groups:
        # from the start of the first interval with a byte to the end of the interval after the last
        first, end = time[mine].min() - 1, time[mine].max() + 2
        gbit = np.bincount(time[mine] - first, added[mine], end - first) * 8 / interval
        line, every = Line(str(cc), label, np.arange(first, end) * interval, gbit), (end - first) // MEANS
        if every > 1:
            mean = np.add.reduceat(gbit, np.arange(0, end - first, every)) / every
            ends = first - 1 + np.arange(1, len(mean) + 1) * every
            line = replace(line, mean=replace(line, x=ends * interval, y=mean))
        lines.append(line)
    return lines


def distribution(t: Traces, ideal: bool) -> list[Line]:
    """The share of all flows with a size whose completion time is at most x us, or x ideal times"""
    sized, fct, least = (t.flows[name] for name in ("size_bytes", "fct_ns", "ideal_ns"))
    done = (sized >= 0) & (fct > 0) & (not ideal or least > 0)
    total = ((sized >= 0) & (not ideal or least > 0)).sum()
    if not done.any():
        return []
    x = np.sort(fct[done] / (least[done] if ideal else 1000))
    label = f" ({total - len(x)} of {total} flows are unfinished)" if len(x) < total else ""
    # equal parts of a logarithmic axis are thinned
    line = thin(Line(t.p.cc, label, np.log(np.append(x[0], x)), np.arange(len(x) + 1) / total))
    return [replace(line, x=np.exp(line.x))]


# the lines of a run, the axes, how points are joined
KINDS: dict[str, tuple[Callable[[Traces], list[Line]], str, str, str]] = {
    "queue": (queue, "time", "queue, packets", "steps-post"),
    "rates": (rates, "time", "received, Gbit/s", "steps-pre"),
    "fct": (lambda t: distribution(t, False), "flow completion time, µs", "share of flows", "steps-post"),
    "fct --slowdown": (lambda t: distribution(t, True), "flow completion time over the ideal time", "share of flows",
                       "steps-post")}


def find(word: str, results: Path) -> list[Path]:
    """The folders of runs that an argument names: a folder, a JSON, or "SCENARIO NAME" with wildcards. Runs without
    tables, which were stopped, are not among those that wildcards name."""
    path = Path(word.removesuffix(".json"))
    if path.is_dir() or Path(word).exists():
        if not (path / TABLE).exists():
            raise units.Error(f"'{word}': no tables of a run are in {path}")
        return [path]
    known = {f"{meta.parts[-3]} {meta.parts[-2]}": meta.parent for meta in results.glob("*/*/meta.json")}
    stopped = {name for name, folder in known.items() if not (folder / TABLE).exists()}
    if skipped := sorted(name for name in stopped if fnmatchcase(name, word)):
        print(f"lab: without tables, left out: {', '.join(skipped)}", file=sys.stderr)
    known = {name: folder for name, folder in known.items() if name not in stopped}
    found = [name for name in known if name == word or fnmatchcase(name, word)]
    if not found:
        scenario = word.split(" ")[0]
        names = sorted(name for name in known if name.startswith(scenario + " "))
        names = [*names[:10], *(["..."] if names[10:] else [])] or sorted({f"{name.split(' ')[0]} *" for name in known})
        raise units.Error(f"no run '{word}': a folder, a JSON, or 'SCENARIO NAME' with wildcards; in {results} " +
                          (f"there are: {', '.join(names)}" if names else "there is none"))
    return [known[name] for name in sorted(found, key=lambda name: [
        int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])]


def load(path: Path, kind: str, *others: Path) -> tuple[str, str, list[Line]]:
    """The scenario, the name and the thinned lines of a run, with flows of others. Fails if it has none of this kind.
    """
    t = Traces(path)
    if others:
        all_ = [t.flows, *(Traces(other).flows for other in others)]
        t.__dict__["flows"] = {name: np.concatenate([flows[name] for flows in all_])
                               for name in ("size_bytes", "fct_ns", "ideal_ns")}
        t.meta["name"] += f", {len(all_)} seeds"
    lines = KINDS[kind][0](t)
    if not lines:
        kinds = [name for name, (make, *_) in KINDS.items() if make(t)]
        why = f"its tables have no data for '{kind}'"
        if kind == "fct --slowdown" and "fct" in kinds:
            why = "no flow has an ideal_ns, which only runs with load= have"
        raise units.Error(f"{t.meta['scenario']} {t.meta['name']}: {why}; it has {', '.join(kinds) or 'none'}")
    return t.meta["scenario"], t.meta["name"], [thin(line) for line in lines]


def draw(axes: Any, lines: list[Line], kind: str, scale: float) -> None:
    """Draws lines over x / scale. Of several of one colour, later ones are lighter. All points of a line with a mean
    are pale."""
    full = [COLOURS.get(line.cc, OTHER) for line in lines]
    for i, (line, colour) in enumerate(zip(lines, full)):
        before = full[:i].count(colour)
        white = 0.6 * before / max(full.count(colour) - 1, 1)
        style = {"color": [part + (1 - part) * white for part in colors.to_rgb(colour)], "drawstyle": KINDS[kind][3]}
        if line.mean:
            axes.plot(line.x / scale, line.y, linewidth=0.5, alpha=0.2, **style)
            line = line.mean
        axes.plot(line.x / scale, line.y, DASHES[before % len(DASHES)], linewidth=1, label=line.label, **style)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.set_ylabel(KINDS[kind][2])
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small", frameon=False)


def by_cc(cc: str) -> tuple[int, str]:
    """Sorts congestion controls as COLOURS does, others after these"""
    order = [*COLOURS]
    return order.index(cc) if cc in order else len(order), cc


def blank(height: float) -> figure.Figure:
    """A figure to draw on"""
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({"svg.hashsalt": "lab", "svg.fonttype": "none"})
    return figure.Figure(figsize=(10, height), layout="constrained")


def picture(kind: str, panels: list[tuple[str, list[Line]]], title: str) -> figure.Figure:
    """A plot of a kind of KINDS: a panel for each run, whose names these are, or one for all but for rates"""
    if kind != "rates":
        lines = [replace(line, label=name + line.label) for name, lines in panels for line in lines]
        panels = [("", sorted(lines, key=lambda line: by_cc(line.cc)))]
    least = 0.2 * max(len(lines) for _, lines in panels) + 0.5
    whole = blank(max(4.5, least) if len(panels) == 1 else max(2.5, least) * len(panels) + 0.5)
    all_axes = whole.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    ends = [x for _, lines in panels for line in lines for x in (line.x[0], line.x[-1])]
    unit, scale = ("", 1) if kind.startswith("fct") else (", µs", 1e3) if max(ends) - min(ends) < 2e6 else (", ms", 1e6)
    for axes, (name, lines) in zip(all_axes, panels):
        draw(axes, lines, kind, scale)
        axes.set_title(name or title, fontsize="medium")
        axes.set_ylim(bottom=0)
    all_axes[-1].set_xlabel(KINDS[kind][1] + unit)
    if scale == 1:
        all_axes[-1].set_xscale("log")
        for which in "major", "minor":
            getattr(all_axes[-1].xaxis, f"set_{which}_formatter")(ticker.LogFormatter())
    return whole


def svg(whole: figure.Figure, name: str) -> str:
    """A figure as a part of a page, in which no other has this name"""
    matplotlib.rcParams["svg.hashsalt"] = name
    file = io.StringIO()
    whole.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = file.getvalue()
    # without ids that each figure has, and as wide as the page
    return re.sub(r' id="[a-zA-Z0-9.]+_\d+"| (width|height)="[\d.]+pt"', "", text[text.index("<svg"):])


def plot(kind: str, words: list[str], file: Path, results: Path) -> None:
    """Writes a plot of a kind of KINDS of these runs, in the format that the file's suffix names."""
    if file.suffix not in SUFFIXES:
        raise units.Error(f"'{file}': a file that ends with {', '.join(SUFFIXES)}")
    paths = list(dict.fromkeys(path.resolve() for word in words for path in find(word, results)))
    if len(paths) > RUNS:
        raise units.Error(f"{len(paths)} runs: a plot has at most {RUNS}")
    groups: dict[Any, list[Path]] = {}
    for path in paths:
        t = Traces(path)
        like = (t.meta["scenario"], replace(t.p, seed=1, kernel_seed=0)) if kind.startswith("fct") else path
        groups.setdefault(like, []).append(path)
    runs = [load(path, kind, *others) for path, *others in groups.values()]
    # names that differ
    scenarios = sorted({scenario for scenario, *_ in runs})
    names = [name if len(scenarios) == 1 and kind != "rates" else f"{scenario} {name}" for scenario, name, _ in runs]
    if len(set(names)) < len(names):
        names = [str(path) for path, *_ in groups.values()]
    whole = picture(kind, [(name, lines) for name, (*_, lines) in zip(names, runs)], ", ".join(scenarios))
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    try:
        whole.savefig(file, dpi=150, metadata=dates.get(file.suffix))
    except OSError as error:
        raise units.Error(f"{file}: {error.strerror}") from None
