# SPDX-License-Identifier: GPL-2.0
"""A scenario: its runs, what each does in the guest, and what is measured of it.

A scenario is one file in scenarios/, which has a SCENARIO. Only `runs` is needed: without the
others flows of `size` go to one receiver (star), and the metrics are those of any run.

    SCENARIO = Scenario(about="Flows of 300 KB that start at once",
                        runs=lambda ccs: ((f"{cc}-24", dict(cc=cc, flows=24, size=300_000)) for cc in ccs))
"""

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import params
import units
from guest import Guest
from params import Params

HERE = Path(__file__).resolve().parent
# in the order of a report
CCS = ["hpccpp", "dctcp", "dctcp-k20", "dctcp-dualpi2", "bbr", "cubic"]

Plan = Iterable[tuple[str, dict[str, Any]]]


def star(guest: Guest) -> None:
    """Flows of `size` from as many hosts to one receiver, one each 100 ns"""
    p = guest.p
    guest.star(p.flows, trace=8_000_000)
    guest.agents()
    for i in range(1, p.flows + 1):
        guest.flow(100_000 + i * 100, f"h{i}", "r1", p.size or None)
    guest.run(start=1000, end=p.time or 3_000_000_000, rates=20_000)


@dataclass(frozen=True)
class Scenario:
    """What `runs` gets are the congestion controls to compare; it yields names and keys."""
    about: str
    runs: Callable[[list[str]], Plan]
    setup: Callable[[Guest], None] = star
    metrics: Callable[..., dict[str, Any]] | None = None
    # runs only where it is named
    extra: bool = False
    name: str = field(default="", compare=False)


@dataclass(frozen=True)
class Run:
    """One run of a scenario"""
    scenario: str
    name: str
    params: Params

    def __str__(self) -> str:
        return f"{self.scenario} {self.name}"


def names() -> list[str]:
    """All scenarios"""
    return sorted(path.stem.replace("_", "-") for path in (HERE / "scenarios").glob("[a-z]*.py"))


def load(name: str) -> Scenario:
    """The scenario of this name"""
    if name not in names():
        raise units.Error(f"unknown scenario '{name}' (known: {' '.join(names())})")
    module = importlib.import_module("scenarios." + name.replace("-", "_"))
    scenario: Scenario = module.SCENARIO
    object.__setattr__(scenario, "name", name)
    return scenario


def plan(name: str, own: str = "") -> Iterator[Run]:
    """The runs of a scenario; own is one more congestion control, run where others are compared"""
    seen = set()
    for run, values in load(name).runs(CCS + ([own] if own else [])):
        if run in seen:
            raise units.Error(f"{name}: two runs have the name {run}")
        seen.add(run)
        yield Run(name, run, params.make(**values))


def script(run: Run) -> Guest:
    """What this run does in the guest"""
    guest = Guest(run.params)
    load(run.scenario).setup(guest)
    return guest
