# SPDX-License-Identifier: GPL-2.0
"""Checks what the lab's scenarios hand to the guest: scripts, traffic, and errors for wrong keys."""

import dataclasses
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/lab"))
import bench  # noqa: E402
import claims  # noqa: E402
import params  # noqa: E402
import scenario  # noqa: E402
import units  # noqa: E402
from claims import Claim, Results  # noqa: E402
from guest import Own  # noqa: E402

OWN = Own("gentle", Path("/gentle.ko"), ("net.ipv4.tcp_ecn=1",), 20)
results: list[bool] = []


def check(name: str, good: bool) -> None:
    """Prints the result of one case"""
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} {name}", flush=True)


def made(text: str) -> dict[str, str]:
    """The files of a run, of which the text has the scenario and keys"""
    name, *words = text.split()
    return scenario.guest(scenario.Run(name, "a-run", params.parse(words))).files()


def fails(text: str, why: str) -> None:
    """A case that holds if there is no such run, with an error that has these words"""
    try:
        made(text)
        check(f"{text}: refused", False)
    except units.Error as error:
        check(f"{text}: {error}", why in str(error))


def starts(text: str) -> list[int]:
    """When the flows of the run start, ns"""
    return [int(line.split()[0]) for line in made(text)["traffic"].splitlines()]


def broken(text: str, why: str) -> None:
    """A case that holds if a scenario's file with this text is refused, with an error that has these words"""
    name = f"broken{len(results)}"
    (scenario.HERE / f"scenarios/{name}.py").write_text(text)
    try:
        runs = {(run.name, run.params): {"x": 0} for run in scenario.plan(name)}
        made(f"{name} size=1")
        list(bench.judge([name], jsons(runs, name)))
        check(f"{text!r}: refused", False)
    except units.Error as error:
        check(f"a scenario {text!r}: refused:{why}", f"scenarios/{name}.py:{why}" in str(error))


def jsons(made: dict[Any, dict[str, Any]], of: str = "") -> list[dict[str, Any]]:
    """The JSON of these runs of a scenario, with these metrics"""
    return [{"scenario": of, "name": name, "cc": p.cc, "seed": p.seed, "params": {
        key: value for key, value in dataclasses.asdict(p).items() if key not in ("cc", "seed")}, "metrics": values}
        for (name, p), values in made.items()]


def judged(name: str, claim: Claim, word: str, *figures: Any) -> None:
    """A case that holds if a claim gets this word from runs that differ by seed, of which "x" has these figures"""
    made = {(f"seed{seed}", params.make(seed=seed)): {"x": figure} for seed, figure in enumerate(figures, 1)}
    [verdict] = claims.judge("", [claim], Results(jsons(made)), True)
    check(f"{name}: {word}", verdict.word == word and word in str(verdict))


for each in scenario.names():
    there = Results(jsons({(run.name, run.params): {} for run in scenario.plan(each)}))
    check(f"{each}: all runs that claims compare are planned", all(
        verdict.runs and len(verdict.runs) == sum(verdict.claim.runs(run.params) for run in there.runs)
        for verdict in claims.judge("", scenario.load(each).claims, there, True)))
    runs = list(scenario.plan(each, OWN))
    files = [scenario.guest(run).files() for run in runs if not scenario.load(each).program]
    check(f"{each}: each of {len(runs)} runs has a script and traffic", all(
        "\nnetwork " in one["script"] and one["traffic"] for one in files))
    check(f"{each}: its congestion controls are known", {run.params.cc for run in runs} <= {*scenario.KNOWN, "gentle"})
    check(f"{each}: no two runs have the same keys", len({run.params for run in runs}) == len(runs))
    check(f"{each}: one's own congestion control has its module, sysctls and K in its runs only", all(
        [run.own is OWN, "/gentle.ko" in one["script"], "sysctl net.ipv4.tcp_ecn=1 " in one["script"]] ==
        3 * ["gentle" in run.name] and (run.own is None or run.params.mark == 20)
        for run, one in zip(runs, files)))

small = made("incast flows=2 rate=10gbit rtt=12.5us size=300k")
check("times, rates and sizes are in the guest's units", all(words in small["script"] for words in (
    "base_rtt=12.5us\n", " rate 10000m delay_ns 2493 buffer 32000000 port s1 r1 trace 8000000\n", "\nagents ''\n",
    "\ntraffic -w 100000:- -e 3000000000 -i 20000 -s rates\n")))
check("a flow is a line of traffic", small["traffic"] == "100100 h1 r1 300000 hpccpp\n100200 h2 r1 300000 hpccpp\n")
spread = starts("incast flows=50 size=1k spread=12us seed=2")
check("starts are spread over the time given", all(0 <= start - 100_100 - i * 100 < 12_000
                                                   for i, start in enumerate(spread)) and len(set(spread)) > 40)
check("... drawn from the seed alone", spread == starts("incast cc=dctcp flows=50 size=1k spread=12us seed=2")
      != starts("incast flows=50 size=1k spread=12us seed=3"))
check("joins are events at the time of their flows", f"join {starts('step flows=2 spread=1ms seed=2')[1]} 1\n"
      in made("step flows=2 spread=1ms seed=2")["events"])
fails("incast flows=2 size=1k seed=2", "has no effect in this run of incast; give spread=")
fails("long flows=2 seed=2", "has no effect in this run of long; give spread=")
fails("fabric shape=leafspine load=50 sizes=websearch time=1ms spread=1us", "spread=1us: has no effect")
for words in ("incast load=50", "incast time=100us", "incast other=cubic", "incast cc=dctcp eta=90", "long shape=clos",
              "long size=200k", "incast cc=dctcp every=4", "incast kernel_seed=2 conns=5",
              "fabric load=50 sizes=fb_hadoop rate=25gbit"):
    name, *keys = words.split()
    needed = {"incast": "size=1k", "long": "", "fabric": "shape=leafspine time=1ms"}[name]
    fails(f"{name} {needed} {' '.join(keys)}", f"{keys[-1]}: has no effect in this run of {name}")
fails("fabric shape=ring load=50", "one of leafspine, clos")
fails("incast size=1k cc=dctcp-k20 mark=65", "mark=65: cc=dctcp-k20 stands for mark=20")
fails("long rate=40", "a rate with a unit")
fails("long rate=1.5mbit", "rate=1500kbit: a whole number of Mbit/s")
fails("long rate=100kbit", "rate=100kbit: from 1mbit to 1tbit")
fails("long rtt=0", "rtt=0: from 1ns to 10s")
fails("long flows=2 flows=3", "'flows=3': flows=2 is there already")
fails("incast flows=2", "size=: needed")
fails("probe flows=2", "size=: needed")
fails("fabric shape=leafspine load=50 time=1ms", "sizes= and time=: needed")
fails("long cc=vegas", "cc=vegas: one of hpccpp, dctcp, bbr, cubic, reno;")
fails("mixed other=vegas time=1ms", "cc=vegas: one of")
fails("long rate=10gbit rtt=2us", "rtt=2us: with rate=10gbit a packet and its ACK take longer")
fails("long time=1us", "time=1us: ends before h1 begins to send, at 1.7us")
fails("long flow=2", "unknown key")
fails("long flows", "KEY=VALUE")
os.environ["PANEL"] = "bench"
try:
    check("no run of clos in bench", not bench.plan(["clos"]))
except units.Error as refused:
    check(f"clos: {refused}", str(refused).endswith("; make bench-paper has some"))
for op in "<=", ">=":
    judged(f"no figure, {op}", Claim("x", "x", op, 1), "fails", 1, None)
    judged(f"no number, {op}", Claim("x", "x", op, 1), "fails", 1, float("nan"))
    judged(f"a bound that is no number, {op}", Claim("x", "x", op, lambda r: float("nan")), "fails", 1)
    judged(f"a list without one of its figures, {op}", Claim("x", "x", op, 1), "fails", [1, None])
    judged(f"computed from none, {op}", Claim("x", lambda r: r["x"] - 1, op, 1), "fails", None)
    judged(f"over none, {op}", Claim("x", lambda r: r.over("x", seed=2), op, 1), "fails", 1, None)
    judged(f"a mean with none, {op}", Claim("x", lambda r: r.mean("x"), op, 1), "fails", 1, 1, 1, 1, None)
judged("the mean of five", Claim("x", lambda r: r.mean("x"), "<=", 3), "holds", 1, 2, 3, 4, 5)
judged("a list", Claim("x", "x", ">=", 2), "fails", [3, 2], [2, 1])
judged("as listed", Claim("x", "x", "<=", 1, listed=2), "listed", 1, 2.01)
judged("worse than listed", Claim("x", "x", "<=", 1, listed=2), "fails", 1, 2.03)
judged("worse than listed, but by less than another run, of another bound",
       Claim("x", "x", "<=", lambda r: 1 if r.params.seed == 1 else 2.9, listed=2), "fails", 2, 3)
judged("only runs to compare with are missing", Claim("x", lambda r: r.over("x", cc="dctcp"), "<=", 1), "unjudged", 1)
check("the kernel has a seed of its own", params.parse(["kernel_seed=2"]).seed == 1)
with tempfile.TemporaryDirectory() as directory:
    sys.path.insert(0, directory)
    scenario.HERE = Path(directory)
    (scenario.HERE / "scenarios").mkdir()
    HEAD = "from scenario import Scenario\nSCENARIO = Scenario('x', "
    broken("X = (\n", "1: '(' was never closed")
    broken("\nimport nosuch\n", "2: ModuleNotFoundError")
    broken("X = 1\n", " has no SCENARIO")
    broken(f"{HEAD}run=1)\n", "2: TypeError")
    broken(f"{HEAD}lambda ccs: nosuch)\n", "2: NameError")
    broken(f"{HEAD}lambda ccs: [('a', dict(flow=1))])\n", " a: 'flow': unknown key")
    broken(f"{HEAD}lambda ccs: [('a', dict(cc='dctpc'))])\n", " a: cc=dctpc: one of")
    broken(f"{HEAD}lambda ccs: [('a b', {{}})])\n", " a b: 'a b': a run's name has no spaces")
    broken(f"{HEAD}lambda ccs: [('a/b', {{}})])\n", " a/b: 'a/b': a run's name has no spaces")
    broken(f"{HEAD}lambda ccs: [dict(cc='dctcp')])\n", " a run is a name and a dict")
    broken(f"{HEAD}[('a', {{}})])\n", " runs= is not a function")
    broken(f"{HEAD}lambda ccs: [('a', {{}})],\nsetup=lambda g: nosuch)\n", "3: NameError")
    broken(f"from claims import Claim\n{HEAD}lambda ccs: [('a', {{}})],\n"
           "claims=[Claim('x', lambda r: 1 / r['x'], '<=', 1)])\n", "4: ZeroDivisionError")
    for file in "my_test", "my-other":
        (scenario.HERE / f"scenarios/{file}.py").write_text(f"{HEAD}lambda ccs: ())\n")
        check(f"scenarios/{file}.py is loaded", not list(scenario.plan(file.replace("_", "-"))))
print(f"1..{len(results)}")
sys.exit(not all(results))
