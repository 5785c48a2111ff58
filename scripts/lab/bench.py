# SPDX-License-Identifier: GPL-2.0
"""Many runs: selects those that are due, makes one per CPU at a time, the longest first, and judges claims.

Variables of the environment select runs: `lab bench --help` lists them."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import claims
import params
import run as one_run
import scenario
import units
from claims import Results, Verdict
from guest import Own
from run import HERE, TOP, Result
from scenario import KNOWN, Run

PASSED = "RESULTS_LAB FORCE PANEL CCS CC_KO CC_SYSCTLS CC_QUEUE".split()


def environ(name: str) -> str:
    """A variable of the environment; one that is not set is empty"""
    return os.environ.get(name, "")


def results() -> Path:
    """The folder of all results"""
    return Path(environ("RESULTS_LAB") or TOP / "results/lab").absolute()


def own(name: str) -> Own:
    """The user's own congestion control"""
    path, sysctls, queue = Path(environ("CC_KO")), environ("CC_SYSCTLS").split(), environ("CC_QUEUE")
    if not environ("CC_KO"):
        raise units.Error(f"unknown congestion control '{name}' (known: {' '.join(KNOWN)}; "
                          "one of your own: CC_KO=FILE.ko)")
    if not path.is_file() or path.suffix != ".ko":
        raise units.Error(f"CC_KO '{path}': no such file, or not a FILE.ko")
    # a guest does not see files in /tmp
    path = one_run.LAB / f"own-{one_run.digest(path)}.ko"
    if not path.exists():
        temporary = path.with_suffix(f".{os.getpid()}")
        shutil.copy(environ("CC_KO"), temporary)
        temporary.rename(path)
    if not re.fullmatch(r"(mark=([1-9]\d{0,4}|100000))?", queue):
        raise units.Error(f"CC_QUEUE '{queue}': has to be mark=K, K from 1 to 100000 packets")
    for sysctl in sysctls:
        if not re.fullmatch(r"net\.[a-z0-9_.]+=.+", sysctl):
            raise units.Error(f"CC_SYSCTLS '{sysctl}': has to be net.KEY=VALUE")
    return Own(name, path, tuple(sysctls), int(queue[5:] or 0))


def selected_ccs() -> tuple[list[str], Own | None]:
    """The congestion controls of CCS, and the user's own if it is among them"""
    ccs = [cc for cc in environ("CCS").split(",") if cc]
    mine = [cc for cc in ccs if cc not in KNOWN]
    for cc in mine:
        if not re.fullmatch(r"[a-z0-9_]{1,15}", cc):
            raise units.Error(f"CC '{cc}': neither of {' '.join(KNOWN)}, nor a name of 1 to 15 characters of "
                              "a-z, 0-9 and _")
    if len(mine) > 1:
        raise units.Error(f"CC '{mine[0]}' and '{mine[1]}': only one of your own at a time (known: {' '.join(KNOWN)})")
    if mine:
        return ccs + ["hpccpp"], own(mine[0])
    if environ("CC_KO") + environ("CC_SYSCTLS") + environ("CC_QUEUE"):
        raise units.Error(f"CC_KO, CC_SYSCTLS, CC_QUEUE: need a CC that is none of {' '.join(KNOWN)}")
    return ccs, None


def plan(names: list[str]) -> list[Result]:
    """The selected runs of these scenarios, by default of all"""
    ccs, mine = selected_ccs()
    names, panel = names or scenario.names(), environ("PANEL") or ("all" if mine else "bench")
    if panel not in scenario.PANELS:
        raise units.Error(f"PANEL={panel}: one of {', '.join(scenario.PANELS)}")
    try:
        only = re.compile(environ("ONLY"))
    except re.error as error:
        raise units.Error(f"ONLY={environ('ONLY')}: {error}") from None
    runs: list[Run] = []
    for name in names:
        of_one = list(scenario.plan(name, mine))
        # a scenario that does not compare hpccpp with others has no run of the user's own: skip it
        if not mine or any(run.own for run in of_one):
            runs += [run for run in of_one if (not ccs or run.params.cc in ccs)
                     and only.search(f"{run} {' '.join(params.words(run.params))}")]
    by_panel = {each: [run for run in runs if scenario.load(run.scenario).is_in(each, run.params)]
                for each in (panel, "all", "paper")}
    if not by_panel[panel]:
        others = "".join(f"; make bench-{other} has some" for other, found in by_panel.items() if found)
        raise units.Error(f"no run of {' '.join(names)} matches PANEL={panel} CC={environ('CCS')} "
                          f"ONLY={environ('ONLY')}{others}")
    if mine and not any(run.own for run in by_panel[panel]):
        raise units.Error(f"no run of {mine.name} matches PANEL={panel} ONLY={environ('ONLY')}, only runs of others")
    return [Result(run, results()) for run in by_panel[panel]]


def weight(run: Run) -> int:
    """An estimate of a run's CPU seconds: a constant, a part for each host (more with agents), one for each packet"""
    p, name = run.params, run.scenario
    if name == "scale":
        return 60
    ns, hosts = p.time or max(2000 * p.rtt, 20_000_000), min(p.flows, 100)

    def packets(ns: float) -> float:
        return ns * p.rate / 8e9 / p.mtu

    n = packets(ns)
    if name == "step":
        n = packets(p.time or 2 * p.flows * p.rtt * (600 if p.flows == 2 else 150))
    elif name in ("incast", "int-response", "messages"):
        hosts, n = p.flows, p.flows * p.size / p.mtu * p.messages
    elif p.shape == "incast":
        hosts, n = p.flows + 1, packets(24_000_000)
    elif name == "probe":
        hosts += p.busy
    elif p.load:
        hosts = {"clos": 320, "star32": 32}.get(name, 16)
        n *= hosts * p.load / 100 * (2 if name == "clos" else 1.2)
    elif name in ("parking", "layout"):
        hosts, n = 12, packets(4000 * p.rtt) * 2
    return round(1 + (0.16 if p.is_hpccpp else 0.012) * hosts + (18e-6 if p.is_hpccpp else 8e-6) * n)


def judge(names: Iterable[str], runs: Iterable[dict[str, Any]]) -> Iterator[Verdict]:
    """Judges all claims of these scenarios by the JSON of runs. Ignores runs that are not in the scenario's plan."""
    by_name = {(run["scenario"], run["name"]): run for run in runs}
    for name in names:
        planned, asked = list(scenario.plan(name)), scenario.load(name)
        made = {run: by_name[name, run.name] for run in planned if (name, run.name) in by_name}
        all_ = [run for run in planned if asked.is_in("all", run.params)] or planned
        with scenario.file_of(name):
            yield from claims.judge(name, asked.claims, Results(made.values()), all(run in made for run in all_))


def write_page(names: list[str]) -> list[Verdict]:
    """Makes the page of all runs in the results, made with any module, or of these scenarios only"""
    try:
        # matplotlib takes time to start
        import report as page
    except ModuleNotFoundError as error:
        raise units.Error(f"report: needs python3-{error.name}") from None
    runs, broken = page.load(results(), names)
    for line in broken:
        print(f"lab: {line}", file=sys.stderr)
    verdicts = list(judge(sorted({run["scenario"] for run in runs} & {*scenario.names()}), runs))
    print(f"{page.write(results(), runs, broken, verdicts)}: report of {len(runs)} runs")
    return verdicts


def report(names: list[str]) -> int:
    """Makes the page, and prints how many claims hold"""
    for name in names or ["*"]:
        if not any(results().glob(f"{name}/*.json")):
            raise units.Error(f"no run {f'of {name} ' if names else ''}is in {results()}: run make bench first")
    print(claims.summary(write_page(names)))
    return 0


def one(weight_: str, name: str, run: str) -> None:
    """Makes one run of the plan, for GNU parallel. Prints only its begin and its end on stdout."""
    [result] = [result for result in plan([name]) if result.run.name == run]
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print("begin", weight_, result.run, file=said, flush=True)
    result.do(force=bool(environ("FORCE")))
    print("end", weight_, result.run, file=said, flush=True)


class Progress:
    """Prints progress, at most every 20 s. A run in progress counts as half done."""

    def __init__(self, runs: int, total: int) -> None:
        self.runs, self.total = runs, total
        self.start = time.monotonic()
        self.said = -20.0
        self.done, self.sum = 0, 0
        self.now: dict[str, int] = {}

    def line(self, line: str) -> None:
        """Reads a line that one() prints: begin or end, weight, name"""
        what, weight_, run = line.rstrip("\n").split(" ", 2)
        if what == "begin":
            self.now[run] = int(weight_)
        else:
            del self.now[run]
            self.done, self.sum = self.done + 1, self.sum + int(weight_)
        seconds = time.monotonic() - self.start
        if seconds - self.said < 20:
            return
        self.said = seconds
        at = sum(self.now.values())
        left = seconds * (2 * (self.total - self.sum) - at) / (2 * self.sum + at) if self.sum else 0
        print(f"  {self.done} of {self.runs} runs in {seconds:.0f} s" + (f", about {left:.0f} s to go" if left else "")
              + f"; now {', '.join(sorted(self.now))}", flush=True)


def distribute(due: list[Result]) -> None:
    """Makes the runs that are due. If it fails or is killed, ends those in progress."""
    weights = {result: weight(result.run) for result in due}
    jobs = sorted(due, key=lambda result: -weights[result])
    command: list[Any] = ["parallel", "--plain", "--will-cite", "--line-buffer", "--colsep", " "]
    if environ("HOSTS"):
        command += ["-S", ",".join(environ("HOSTS").split()), "--env", ",".join(PASSED),
                    "--return", f"{results()}/{{2}}/{{3}}", "--return", f"{results()}/{{2}}/{{3}}.json"]
        if environ("CC_KO"):
            command += ["--basefile", str(Path(environ("CC_KO")).absolute())]
    job = [str(HERE / "lab"), "one", "{1}", "{2}", "{3}"]
    env = os.environ | {name: environ(name) for name in PASSED} | {"RESULTS_LAB": str(results())}
    if environ("CC_KO"):
        env["CC_KO"] = str(Path(environ("CC_KO")).absolute())
    progress = Progress(len(due), sum(weights.values()))
    with tempfile.NamedTemporaryFile("w") as file:
        file.writelines(f"{weights[result]} {result.run}\n" for result in jobs)
        file.flush()
        # a session of its own: a signal to it reaches all processes of the runs
        parallel = subprocess.Popen([*command, "-a", file.name, *job], env=env, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, text=True, start_new_session=True)
        # ends the runs if this process ends, even by SIGKILL: the kernel then closes its end of the pipe
        guard = subprocess.Popen(["sh", "-c", 'read _; kill -- "-$1"', "-", str(parallel.pid)],
                                 stdin=subprocess.PIPE, start_new_session=True)
        try:
            for line in parallel.stdout or ():
                progress.line(line)
            guard.kill()
        finally:
            guard.communicate()
            parallel.wait()


def stop(number: int, _: Any) -> NoReturn:
    """Ends with the status of a process that a signal ends"""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(128 + number)


def bench(names: list[str]) -> int:
    """Makes the runs that are due and judges the claims of their scenarios. Returns 1 if a run or a claim failed."""
    runs = plan(names)
    results().mkdir(parents=True, exist_ok=True)
    with open(results() / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"lab: another bench is running in {results()}", file=sys.stderr)
            return 1
        if environ("FORCE"):
            for result in runs:
                (result.folder / "stamp").unlink(missing_ok=True)
        due = [result for result in runs if not result.is_done]
        print(f"{len(runs)} runs, {len(due)} to do", flush=True)
        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGTERM, stop)
        try:
            if due:
                distribute(due)
        except SystemExit:
            print("lab: stopped; the same command goes on from here", file=sys.stderr)
            write_page([])
            raise
        write_page([])
        ran = list(dict.fromkeys(result.run.scenario for result in runs))
        of_all = (Result(run, results()) for name in ran for run in scenario.plan(name))
        verdicts = list(judge(ran, [json.loads(result.json.read_text()) for result in of_all if result.is_done]))
        # print those that need attention last
        words = ("holds", "listed", "unjudged", "outdated", "fails")
        for verdict in sorted(verdicts, key=lambda verdict: words.index(verdict.word)):
            print(verdict)
        print(claims.summary(verdicts))
        failed = [result.run for result in due if not result.is_done]
        for run in failed:
            print(f"failed: {run} {' '.join(params.words(run.params))}", file=sys.stderr)
        if failed:
            print("lab: runs failed (above); the results of the others are kept", file=sys.stderr)
        return int(bool(failed) or any(verdict.word in ("fails", "outdated") for verdict in verdicts))
