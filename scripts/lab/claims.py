# SPDX-License-Identifier: GPL-2.0
"""Claims of scenarios about hpccpp, and their verdicts.

A claim is a bound that all runs of hpccpp in a scenario have to keep. A scenario makes at most five. The run that
misses the bound by most, or keeps it with the least margin, decides the verdict:

    holds     all runs keep the bound
    listed    a run misses it, and the claim lists this with the worst figure and a reason
    fails     a run misses it, and the claim does not list this, or lists a better figure
    outdated  the claim lists a miss, but all runs have been made and keep the bound, and
              not by chance
    unjudged  no run of the claim, or none to compare it with, has been made
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import params
from params import Params

# Share by which a figure may be worse than the listed one. MARGIN is for runs that repeat to the byte, CHANCE for those
# that depend on the kernel's random numbers, which another build changes (README.md, "What repeats").
MARGIN = 0.01
CHANCE = 0.15


class Missing(Exception):
    """The run to compare with has not been made."""


@dataclass(frozen=True)
class Result:
    """A run that was made"""
    scenario: str
    name: str
    params: Params
    metrics: dict[str, Any]
    results: "Results" = field(repr=False, compare=False)

    def __getitem__(self, metric: str) -> Any:
        """A metric; None if the run has no such figure"""
        return self.metrics.get(metric)

    def like(self, **changes: Any) -> "Result":
        """The run of the same scenario that differs in these keys alone, and in those that follow from cc"""
        values = params.given(self.params) if "cc" in changes else asdict(self.params)
        other = self.results.by_params.get((self.scenario, params.make(**values | changes)))
        if other is None:
            raise Missing
        return other

    def over(self, metric: str, **changes: Any) -> float:
        """The metric divided by that of like(changes)"""
        mine, other = self[metric], self.like(**changes)[metric]
        return float(mine) / float(other) if other != 0 else math.inf

    def mean(self, metric: str) -> float:
        """The mean over the runs with seeds 1 to 5"""
        values = [self.like(seed=seed)[metric] for seed in range(1, 6)]
        return float(sum(values)) / len(values)


class Results:
    """All runs that were made"""

    def __init__(self, runs: Iterable[dict[str, Any]]) -> None:
        """Reads the parsed JSON files of runs"""
        self.runs = []
        for run in runs:
            # a run that draws nothing has seed 0
            values = run["params"] | {"cc": run["cc"], "seed": run["seed"] or 1}
            self.runs.append(Result(run["scenario"], run["name"], params.make(**values), run["metrics"], self))
        self.by_params = {(run.scenario, run.params): run for run in self.runs}

    def of(self, scenario: str) -> list[Result]:
        """The runs of a scenario"""
        return [run for run in self.runs if run.scenario == scenario]


def lost(run: Result) -> Any:
    """Packets dropped at switches and at hosts"""
    return run["drops"] + run["host_drops"]


@dataclass(frozen=True)
class Claim:
    """A bound that all runs of hpccpp in a scenario keep"""
    text: str                                   # the figure, and its unit
    figure: str | Callable[[Result], Any]       # a metric, or computed from some
    op: str                                     # "<=" or ">="
    bound: float | Callable[[Result], float]
    # selects the runs of the claim
    runs: Callable[[Params], bool] = lambda p: p.is_claimed
    # runs of hpccpp that the claim leaves out, and why: completes the sentence "left out: ..."
    without: str = ""
    # for a claim that does not hold: the worst figure; its reason, and the attempts to repair it
    listed: float | None | Callable[[Result], float | None] = None
    why: str = ""
    margin: float = MARGIN

    def judge(self, run: Result) -> "Judged":
        """A run's figure and its bound. There is no figure if one of those that either is computed from is None."""
        bound = math.nan
        listed = self.listed(run) if callable(self.listed) else self.listed
        try:
            bound = self.bound(run) if callable(self.bound) else self.bound
            value = run[self.figure] if isinstance(self.figure, str) else self.figure(run)
            if isinstance(value, list):
                value = (max if self.op == "<=" else min)(value, default=None)
            return Judged(run, float(value), bound, listed, self.op)
        except TypeError:
            return Judged(run, None, bound, listed, self.op)


@dataclass(frozen=True)
class Judged:
    """A run's figure and the bound of a claim"""
    run: Result
    figure: float | None
    bound: float
    listed: float | None
    op: str

    def is_listed(self, margin: float) -> bool:
        """Whether the figure is at most by this margin worse than is listed"""
        if self.figure is None or self.listed is None:
            return False
        worse = self.figure - self.listed
        return (worse if self.op == "<=" else -worse) <= margin * abs(self.listed)

    @property
    def excess(self) -> float:
        """By how much the figure misses the bound; at most 0 if it keeps it; a missing figure misses by any"""
        excess = math.nan if self.figure is None else self.figure - self.bound
        return math.inf if math.isnan(excess) else excess if self.op == "<=" else -excess


@dataclass(frozen=True)
class Verdict:
    """A claim, judged by all of its runs"""
    scenario: str
    claim: Claim
    runs: list[Judged]
    complete: bool                              # all runs of the scenario have been made

    @property
    def worst(self) -> Judged:
        """The run with the largest excess"""
        return max(self.runs, key=lambda judged: judged.excess)

    @property
    def missed(self) -> list[Judged]:
        """The runs that miss the bound"""
        return [judged for judged in self.runs if judged.excess > 0]

    @property
    def word(self) -> str:
        """One of the words at the head of this file"""
        if not self.runs:
            return "unjudged"
        if not self.missed:
            by_chance = self.claim.margin > MARGIN
            return "outdated" if self.claim.listed is not None and self.complete and not by_chance else "holds"
        return "listed" if all(judged.is_listed(self.claim.margin) for judged in self.missed) else "fails"

    def __str__(self) -> str:
        claim = self.claim
        text = f"{self.word:8}  {self.scenario}: {claim.text} {claim.op} "
        if not self.runs:
            return text + "?"
        worst = self.worst
        text += f"{show(worst.bound)}: {show(worst.figure)} in {worst.run.name}, the worst of {len(self.runs)} runs"
        if self.missed:
            text += f", of which {len(self.missed)} miss it"
        return text + (f" (listed: {show(worst.listed)})" if worst.listed is not None else "")


def show(value: float | None) -> str:
    """A figure with four digits; a dash if there is none"""
    return "–" if value is None else f"{value:.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"


def judge(scenario: str, claims: Iterable[Claim], results: Results, complete: bool) -> Iterator[Verdict]:
    """Judges all claims of a scenario"""
    for claim in claims:
        judged = []
        for run in results.of(scenario):
            try:
                if claim.runs(run.params):
                    judged.append(claim.judge(run))
            except Missing:
                pass
        yield Verdict(scenario, claim, judged, complete)


def summary(verdicts: Iterable[Verdict]) -> str:
    """The numbers of claims by verdict"""
    words = Counter(verdict.word for verdict in verdicts)
    text = f"{words.total()} claims: {words['holds']} hold, {words['listed']} listed, {words['fails']} fail"
    return text + "".join(f", {words[word]} {word}" for word in ("outdated", "unjudged") if words[word])
