# SPDX-License-Identifier: GPL-2.0
"""The page of all runs in a folder of results: claims, tables, plots. It is one file that needs no other.

Its content depends on the metrics and tables in the results, not on the scenarios' names, except for published
figures. The same results make the same bytes.
"""

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

import claims
import data
import params
import plot
import published
import scenario
import units
from claims import Result, Results, Verdict, show
from params import Params

HERE = Path(__file__).resolve().parent
# most metrics in a table. A scenario with more has those that MAIN matches, in its order, and a second table of all.
COLUMNS = 12
SIZES = "packet|to_10k|to_100k|to_1m|more"
MAIN = re.compile("|".join(f"({name})" for name in (
    "utilisation", "jain", "queue_mean", "queue_p99", "queue_peak", "completion_over_ideal", f"({SIZES}|largest)_p99",
    "share_.*", "join_queue_peaks", "leave_lows", "reaction_.*", "drops", "host_drops", "timeouts", "unfinished")))
LINES = 9       # most lines in a plot over time
BINS = 200      # bins of its x axis


def numbers(value: Any) -> list[float | None]:
    """The figures of a metric, as a flat list"""
    if isinstance(value, list):
        return [one for part in value for one in numbers(part)]
    if value is not None and not isinstance(value, (int, float)):
        raise ValueError(f"'{value}' is no number")
    return [value]


def load(results: Path, names: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """The JSON of all runs, or of these scenarios only; and a line with the reason for each file that is unreadable"""
    runs, broken = [], []
    for path in sorted(results.glob("*/*.json")):
        if names and path.parent.name not in names:
            continue
        try:
            run = json.loads(path.read_text())
            Results([run])
            for value in run["metrics"].values():
                numbers(value)
            if (run["scenario"], run["name"]) != (path.parent.name, path.stem):
                raise ValueError(f"is about {run['scenario']} {run['name']}")
            runs.append(run)
        except (OSError, LookupError, TypeError, ValueError, AttributeError, units.Error) as error:
            broken.append(f"{path.relative_to(results)}: {type(error).__name__}: {error}")
    return runs, broken


@dataclass(frozen=True)
class Cell:
    """The figures of a metric in the runs of a row: their mean, None if one is missing, the least and the largest"""
    mean: float | None
    least: float | None
    most: float | None
    text: str = ""      # shown in place of the figures

    def __str__(self) -> str:
        if self.text or self.least == self.most:
            return self.text or show(self.mean)
        return f"{show(self.mean)} ({show(self.least)} to {show(self.most)})"


def cell(group: list[Result], metric: str) -> Cell:
    """The cell of a metric in a group of runs. METRIC_over is the end of the histogram, beyond which it is null."""
    values = [one for run in group for one in numbers(run[metric])]
    known = [value for value in values if value is not None]
    ends = [run[f"{metric}_over"] for run in group if run[f"{metric}_over"] is not None]
    text = (f"{show(min(known))} to " if known else "") + f"> {show(min(ends))}" if ends else ""
    mean = sum(known) / len(known) if known and len(known) == len(values) else None
    return Cell(mean, min(known, default=None), max(known, default=None), text)


def published_cell(text: str) -> Cell:
    """The cell of a published number or range"""
    value = float(text) if text.replace(".", "").isdecimal() else None
    return Cell(value, value, value, text)


def metrics_of(runs: list[Result]) -> list[str]:
    """The names of all metrics, in the order of the first run that has them"""
    return [name for name in dict.fromkeys(name for run in runs for name in run.metrics) if not name.endswith("_over")]


@dataclass(frozen=True)
class Row:
    """Runs that differ by their seed alone, or published figures"""
    cc: str
    keys: tuple[Any, ...]           # values of the table's keys
    words: list[str]                # as a user writes them
    runs: list[Result]
    cells: dict[str, Cell]

    @property
    def names(self) -> str:
        """The runs"""
        return ", ".join(run.name for run in self.runs)


def varying(runs: list[Result]) -> list[str]:
    """The keys by which runs differ, but for seed, and those that follow from their congestion control"""
    given = {key for run in runs for key in params.given(run.params)}
    return [key for key in params.KEYS if key not in ("cc", "seed") and key in given
            and len({getattr(run.params, key) for run in runs}) > 1]


def rows_of(runs: list[Result], keys: list[str]) -> list[Row]:
    """The rows of a scenario's table, sorted by keys and then by congestion control"""
    groups: dict[Params, list[Result]] = {}
    for run in sorted(runs, key=lambda run: (run.params.seed, run.name)):
        groups.setdefault(dataclasses.replace(run.params, seed=1), []).append(run)
    rows = []
    for p, group in groups.items():
        values = tuple(getattr(p, key) for key in keys)
        rows.append(Row(p.cc, values, [params.show(*pair) for pair in zip(keys, values)], group,
                        {metric: cell(group, metric) for metric in metrics_of(group)}))
    return sorted(rows, key=lambda row: ([str(value).rjust(20) for value in row.keys], plot.by_cc(row.cc)))


def with_published(name: str, rows: list[Row], keys: list[str]) -> tuple[list[Row], list[str]]:
    """The rows of a scenario, with published ones after those of the same workload, and where these are from"""
    sources = []
    for about, source, workload, metrics, figures in published.FIGURES:
        same = [i for i, row in enumerate(rows) if row.runs and about == name
                and workload in (None, (row.runs[0].params.sizes, row.runs[0].params.load))]
        if not same:
            continue
        sources.append(f"{source}: {published.SOURCES[source]}")
        like = rows[same[-1]]
        words = [word if key in ("sizes", "load") else "" for key, word in zip(keys, like.words)]
        rows[same[-1] + 1:same[-1] + 1] = [
            Row(f"{cc}, {source}", like.keys, words, [], dict(zip(metrics.split(), map(published_cell, text.split()))))
            for cc, text in figures.items()]
    return rows, list(dict.fromkeys(sources))


def compared(rows: list[Row]) -> list[list[Row]]:
    """Groups of rows with equal keys that have runs, largest first; of equally large groups, the last in the table"""
    groups = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row.keys)]
    return sorted((group for group in reversed(groups) if group[0].runs), key=lambda group: -len(group))


def queues(rows: list[Row], results: Path) -> Iterator[Markup]:
    """The queue over time, for the congestion controls that are compared"""
    def folder(row: Row) -> Path:
        return results / row.runs[0].scenario / row.runs[0].name

    traced = [row for row in rows if row.runs and (folder(row) / "queue.csv.gz").exists()]
    groups = compared(traced)
    panels = []
    for row in (groups[0] if groups and len(groups[0]) > 1 else traced)[:LINES]:
        try:
            _, name, lines = plot.load(folder(row), "queue")
            panels.append((name, [plot.thin(line, BINS) for line in lines]))
        except (OSError, EOFError, LookupError, ValueError, units.Error):
            pass    # the run is being repeated
    if panels:
        whole = plot.picture("queue", panels, "queue of the bottleneck")
        whole.axes[0].set_yscale("symlog", linthresh=1)
        yield Markup(plot.svg(whole, f"{traced[0].runs[0].scenario} queue"))


def by_size(rows: list[Row], keys: list[str]) -> Iterator[Markup]:
    """p99 of the slowdown by size class, for at most two groups of congestion controls that are compared"""
    names = [f"{size}_p99" for size in SIZES.split("|")]
    for group in compared([row for row in rows if any(name in row.cells for name in names)])[:2]:
        whole = plot.blank(4.5)
        axes = whole.subplots()
        for i, row in enumerate(group):
            found = [(x, cell.mean, cell.least, cell.most) for x, name in enumerate(names)
                     if (cell := row.cells.get(name)) and cell.mean is not None]
            x, y, least, most = np.array(found).reshape(-1, 4).T
            errors = np.maximum((y - least, most - y), 0)   # not under 0, as a rounded mean may make them
            axes.errorbar(x, y, errors, fmt="os^vD"[i % 5] + ("-" if row.runs else ":"), linewidth=1, capsize=3,
                          color=plot.COLOURS.get(row.cc, plot.OTHER), label=row.cc)
        title = " ".join(f"{key}={word}" for key, word in zip(keys, group[0].words))
        axes.set(yscale="log", ylabel="slowdown, p99", title=title)
        axes.set_xticks(range(len(names)), [name.removesuffix("_p99").replace("_", " ") for name in names])
        axes.grid(color="#dddddd", linewidth=0.5)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small", frameon=False)
        yield Markup(plot.svg(whole, f"{group[0].runs[0].scenario} {title}"))


def judged(verdicts: list[Verdict]) -> dict[str, list[tuple[str, bool]]]:
    """For each run its figures, and whether these miss their bounds, in the order of a scenario's claims"""
    table: dict[str, list[tuple[str, bool]]] = {}
    for i, verdict in enumerate(verdicts):
        for one in verdict.runs:
            bound = f" ({one.op} {show(one.bound)})" if callable(verdict.claim.bound) else ""
            row = table.setdefault(one.run.name, [("", False)] * len(verdicts))
            row[i] = show(one.figure) + bound, one.excess > 0
    return table


def section(name: str, runs: list[Result], verdicts: list[Verdict], results: Path) -> dict[str, Any]:
    """The template's values for a scenario"""
    keys = varying(runs)
    rows, sources = with_published(name, rows_of(runs, keys), keys)
    metrics = main = metrics_of(runs)
    if len(metrics) > COLUMNS:
        places = {metric: match.lastindex or 0 for metric in metrics if (match := MAIN.fullmatch(metric))}
        main = sorted(places, key=lambda metric: places[metric]) or metrics[:COLUMNS]
    first = runs[0].params
    common = [f"{key}={params.show(key, getattr(first, key))}" for key, field in params.KEYS.items()
              if key not in ("cc", "seed") and getattr(first, key) != field.default
              and all(getattr(run.params, key) == getattr(first, key) for run in runs)]
    return {"name": name, "about": scenario.load(name).about if name in scenario.names() else
            "Its file is gone from scenarios/: no claim is judged.", "common": " ".join(common), "runs": len(runs),
            "columns": keys, "rows": rows, "main": [data.about(name, metric) for metric in main],
            "metrics": [data.about(name, metric) for metric in metrics],
            "figures": [*queues(rows, results), *by_size(rows, keys)], "sources": sources, "verdicts": verdicts,
            "judged": judged(verdicts)}


def write(results: Path, runs: list[dict[str, Any]], broken: list[str], verdicts: list[Verdict]) -> Path:
    """Writes the page of these runs. Returns its file."""
    made = Results(runs)
    sections = [section(name, made.of(name), [verdict for verdict in verdicts if verdict.scenario == name], results)
                for name in sorted({run.scenario for run in made.runs})]
    facts = {fact: sorted({str(run[fact]) for run in runs if run.get(fact)}) for fact in ("commit", "module", "kernel")}
    page = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True, undefined=jinja2.StrictUndefined).get_template("report.html.j2")
    temporary = results / "report.new"
    temporary.write_text(page.render(sections=sections, facts=facts, broken=broken, verdicts=verdicts, runs=len(runs),
                                     summary=claims.summary(verdicts), show=show, callable=callable))
    return temporary.replace(results / "report.html")
