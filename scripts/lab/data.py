# SPDX-License-Identifier: GPL-2.0
"""The data dictionary as Markdown, from the docstrings of traces.py (tables) and metrics.py."""

import inspect
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache

import metrics
import scenario
import traces
import units

Entry = tuple[str, str, str]
ENTRY = re.compile(r"([\w*]+(?:, [\w*]+)*)(?: \[(.+?)\])?: (.*)")


def entries(lines: Iterable[str]) -> tuple[str, list[Entry]]:
    """The text of a docstring, and its lines "NAME, NAME [UNIT]: MEANING", which other lines, indented, continue."""
    text, found = "", list[Entry]()
    for line in lines:
        match = ENTRY.fullmatch(line)
        if match:
            found.append((match[1], match[2] or "", match[3]))
        elif found and line.startswith(" "):
            found[-1] = (*found[-1][:2], f"{found[-1][2]} {line.strip()}")
        else:
            text += f"{line}\n"
    return text.strip(), found


def tables() -> Iterator[tuple[str, str, list[Entry]]]:
    """The files of a run: name, meaning, columns"""
    for part in re.split(r"\n(?=\S+\.(?:csv|json))", inspect.getdoc(traces) or "")[1:]:
        head, *lines = part.split("\n")
        name, _, meaning = head.partition(": ")
        yield name, meaning, entries(line[4:] for line in lines)[1]


def functions() -> Iterator[tuple[str, str, list[Entry]]]:
    """The functions that compute metrics: name, meaning, metrics"""
    for name, function in vars(metrics).items():
        if inspect.isfunction(function) and function.__annotations__.get("return") == metrics.Metrics:
            text, found = entries((inspect.getdoc(function) or "").split("\n"))
            if found:
                yield name, text, found


def names(found: Iterable[tuple[str, str, list[Entry]]]) -> set[str]:
    """All names in a part of the dictionary; * in a name is any text"""
    return {name for _, _, part in found for words, _, _ in part for name in words.split(", ")}


def unknown(metrics_: Iterable[str]) -> list[str]:
    """Those of these metrics that the dictionary lacks"""
    known = names(functions())
    return [metric for metric in metrics_ if not any(fnmatchcase(metric, name) for name in known)]


@cache
def users(function: str) -> list[str]:
    """Scenarios whose metrics a function computes. One with an error has none."""
    found = []
    for name in scenario.names():
        with suppress(units.Error):
            chosen = scenario.load(name).metrics or metrics.default
            if not scenario.load(name).program and function in (chosen.__name__, *chosen.__code__.co_names):
                found.append(name)
    return found


@cache
def computed(scenario_: str) -> list[tuple[str, str, str]]:
    """Name, unit and meaning of all metrics; those that a scenario computes are the first"""
    found = sorted(functions(), key=lambda function: scenario_ not in users(function[0]))
    return [(name, unit, meaning) for *_, part in found for words, unit, meaning in part for name in words.split(", ")]


def about(scenario_: str, metric: str) -> tuple[str, str, str]:
    """Name, unit and meaning of a scenario's metric; empty if the dictionary lacks it"""
    found = (entry[1:] for entry in computed(scenario_) if fnmatchcase(metric, entry[0]))
    return metric, *next(found, ("", ""))


def markdown(column: str, found: list[Entry]) -> None:
    """Prints a table"""
    print(f"\n| {column} | unit | meaning |\n|---|---|---|")
    for words, unit, meaning in found:
        print(f"| {', '.join(f'`{name}`' for name in words.split(', '))} | {unit} | {meaning} |")


def data() -> None:
    """Prints the dictionary"""
    start = (inspect.getdoc(traces) or "").split("\n\n")[1]
    print(f"# Data of the virtual-time lab\n\n## Files of a run\n\n{start}")
    for name, meaning, found in tables():
        print(f"\n### {name}\n\n{meaning[0].upper()}{meaning[1:]}.")
        markdown("column" if ".csv" in name else "key", found)
    about = (inspect.getdoc(metrics) or "").partition("Units are")[2]
    print(f"\n## Metrics\n\nIn NAME.json and `lab export`. Units are{about}\n"
          "The head of scripts/cost/scale.sh describes the metrics of the scenario scale.")
    for name, meaning, found in functions():
        scenarios = "all" if name in ("bdp", "losses") else ", ".join(users(name)) or "none"
        print(f"\n### {name}()\n\n{meaning}\n\nScenarios: {scenarios}.")
        markdown("metric", found)
