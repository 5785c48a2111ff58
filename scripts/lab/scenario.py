# SPDX-License-Identifier: GPL-2.0
"""A scenario: its runs, the work of each in the guest, and their metrics.

A scenario is one file in scenarios/, which has a SCENARIO. Only `runs` is needed: without the
others flows of `size` go to one receiver (star), and the metrics are those of any run.

    SCENARIO = Scenario(about="Flows of 300 KB that start at once",
                        runs=lambda ccs: ((f"{cc}-24", dict(cc=cc, flows=24, size=300_000)) for cc in ccs))
"""

import importlib
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import params
import setups
import units
from claims import Claim
from guest import Guest, Own
from params import Params

HERE = Path(__file__).resolve().parent
# in the order of a report
CCS = ["hpccpp", "dctcp", "dctcp-k20", "dctcp-dualpi2", "bbr", "cubic"]
# that the lab's kernel has
ALGORITHMS = ["hpccpp", "dctcp", "bbr", "cubic", "reno"]
PANELS = ["bench", "law", "all", "paper"]
# DCTCP at its best: single segments, and a BDP at the start
BEST = "dctcp-k20-bdp"
# congestion controls that at least one scenario runs
KNOWN = [*CCS, "hpccpp-draft", "hpccpp-edges", "hpccpp-full", "hpccpp-rx", BEST, "bbr-bdp", "cubic-bdp", "reno"]
# keys that have an effect, but change neither script nor traffic: in all runs, and in runs of hpccpp
OUTSIDE = {"cc", "rtt", "kernel_seed"}
OF_AGENTS = {"every", "mode", "key", "agents", "respond", "updates"}

Plan = Iterable[tuple[str, dict[str, Any]]]


def some(ccs: list[str], *names: str) -> list[str]:
    """These congestion controls, and the user's own if there is one"""
    return [*names, *(cc for cc in ccs if cc not in CCS)]


@dataclass(frozen=True)
class Scenario:
    """A scenario. `runs` is called with the congestion controls to compare, and yields names and keys of runs."""
    about: str
    runs: Callable[[list[str]], Plan]
    setup: Callable[[Guest], None] = setups.star
    metrics: Callable[..., dict[str, Any]] | None = None
    claims: Sequence[Claim] = ()
    # a program, as a path from scripts/lab, and its arguments. It makes the run in place of setup, and writes kernel
    # and metrics to $RESULTS/NAME.json.
    program: Callable[["Run"], list[str]] | None = None
    # which runs belong to a panel; default: all belong to "bench" and "all", none to others
    panels: dict[str, Callable[[Params], bool]] = field(default_factory=dict)

    def is_in(self, panel: str, p: Params) -> bool:
        """Whether a run belongs to this panel"""
        return self.panels.get(panel, lambda _: panel in ("bench", "all"))(p)


@dataclass(frozen=True)
class Run:
    """One run of a scenario"""
    scenario: str
    name: str
    params: Params
    own: Own | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[^\s/]+", self.name):
            raise units.Error(f"'{self.name}': a run's name has no spaces and no '/'")
        known = [*ALGORITHMS, *([self.own.name] if self.own else [])]
        for cc in {self.params.algorithm, self.params.other} - {*known, "none", "bare", "marks"}:
            raise units.Error(f"cc={cc}: one of {', '.join(known)}; CC_KO=FILE.ko: one of your own")

    def __str__(self) -> str:
        return f"{self.scenario} {self.name}"


def names() -> list[str]:
    """All scenarios"""
    return sorted(path.stem.replace("_", "-") for path in (HERE / "scenarios").glob("[a-z]*.py"))


def path(name: str) -> Path:
    """The file of a scenario, my_test.py or my-test.py of my-test"""
    plain = HERE / f"scenarios/{name}.py"
    return plain if plain.exists() else plain.with_name(plain.name.replace("-", "_"))


@contextmanager
def file_of(name: str) -> Iterator[None]:
    """Turns an exception from a scenario's code into an error with file and line"""
    try:
        yield
    except SyntaxError as error:
        raise units.Error(f"{error.filename}:{error.lineno}: {error.msg}") from None
    except units.Error:
        raise
    except Exception as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
        if frames[-1].filename != str(path(name)):
            raise
        raise units.Error(f"{path(name)}:{frames[-1].lineno}: {type(error).__name__}: {error}") from None


def load(name: str) -> Scenario:
    """The scenario of this name"""
    if name not in names():
        raise units.Error(f"unknown scenario '{name}' (known: {' '.join(names())})")
    with file_of(name):
        module = importlib.import_module(f"scenarios.{path(name).stem}")
    scenario: Scenario | None = getattr(module, "SCENARIO", None)
    if not scenario:
        raise units.Error(f"{path(name)}: has no SCENARIO")
    return scenario


def plan(name: str, own: Own | None = None) -> Iterator[Run]:
    """The runs of a scenario. If it compares congestion controls, own is one of them."""
    seen = set()
    make = load(name).runs
    if not callable(make):
        raise units.Error(f"{path(name)}: runs= is not a function of a list of congestion controls (lambda ccs: ...)")
    with file_of(name):
        runs = list(make(CCS + ([own.name] if own else [])))
    for one in runs:
        if not isinstance(one, tuple) or [type(part) for part in one] != [str, dict]:
            raise units.Error(f"{path(name)}: a run is a name and a dict of its keys, not {one!r}")
        run, values = one
        if run in seen:
            raise units.Error(f"{path(name)}: two runs have the name {run}")
        seen.add(run)
        with_own = own if own and own.name in (values.get("cc"), values.get("other")) else None
        if with_own and with_own.mark:
            values = {"mark": with_own.mark} | values
        try:
            yield Run(name, run, params.make(**values), with_own)
        except units.Error as error:
            raise units.Error(f"{path(name)}: {run}: {error}") from None


def set_up(run: Run) -> Guest:
    """The work of a run in the guest, unchecked"""
    made = Guest(run.params, run.own)
    with file_of(run.scenario):
        load(run.scenario).setup(made)
    return made


def guest(run: Run) -> Guest:
    """The work of a run in the guest. Fails if a key has no effect."""
    made, p = set_up(run), run.params
    for key, field_ in params.KEYS.items():
        value, default = getattr(p, key), field_.default
        if value in (default, "bare", "marks") or key in OUTSIDE or p.is_hpccpp and key in OF_AGENTS or \
                key == "seed" and p.jitter:
            continue
        try:
            other = set_up(replace(run, params=replace(p, **{key: default})))
        except units.Error:
            continue    # the run needs this key
        if (other.lines, other.traffic) == (made.lines, made.traffic):
            raise units.Error(f"{params.pair(key, value)}: has no effect in this run of {run.scenario}" + (
                "; give spread=, or kernel_seed= for the kernel's own random numbers" if key == "seed" else ""))
    return made
