# SPDX-License-Identifier: GPL-2.0
"""One run: writes what the guest reads, starts the guest, and keeps the tables, the metrics and a stamp.

A run has a folder RESULTS/SCENARIO/NAME and RESULTS/SCENARIO/NAME.json. Its stamp is the hash of all
that the guest reads: while that stays the same, the run is not repeated.
"""

import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import metrics
import scenario
import units
from scenario import Run

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
LAB = TOP / ".build/lab"
FLENT = TOP / "scripts/flent.py"


class Failed(Exception):
    """A run that did not end well, with its exit status. The reason has been printed already."""
    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def output(*command: Any) -> str:
    """What a command prints on stdout, without the last newline"""
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.rstrip("\n")


@cache
def kernel() -> Path:
    """The directory of the lab's kernel"""
    return Path(output(HERE / "kernel.sh"))


@cache
def environment() -> dict[str, str]:
    """The environment of a guest: where it finds what was built for it, as lab_env of common.sh has it"""
    return dict(os.environ, HPCCPP_LAB=str(LAB), HPCCPP=str(TOP / ".build/6.1/tools/hpccpp"),
                HPCCPP_KO=str(LAB / "kmod/tcp_hpccpp.ko"),
                # the lab's kernel has no BTF of its own; except for "flow", the command needs none of it
                HPCCPP_BTF=output(TOP / "scripts/vm/kernel.sh", "6.1") + "/vmlinux")


@cache
def digest(*paths: Path) -> str:
    """The hash of the contents of these files"""
    sha = hashlib.sha256()
    for path in paths:
        try:
            sha.update(path.read_bytes())
        except FileNotFoundError:
            raise units.Error(f"{path} is not there: make lab") from None
    return sha.hexdigest()[:12]


@cache
def module(path: Path) -> str:
    """The version and the hash of a kernel module"""
    return f"{output('modinfo', '-F', 'version', path)} {digest(path)}"


@cache
def compiler(*paths: Path) -> str:
    """The compilers that these programs and modules name"""
    found = (re.search(rb"GCC: \([^)]*\) [\d.]+|clang version [^\0]+", path.read_bytes()) for path in paths)
    return "; ".join(sorted({match[0].decode() if match else "unknown" for match in found}))


@cache
def commit() -> str:
    """The commit of this tree, with -dirty if it was changed or has new files; nothing if it is no checkout"""
    commands = ["describe", "--always", "--abbrev=12", "--exclude=*"], ["status", "--porcelain"]
    try:
        name, changes = (subprocess.run(["git", "-C", TOP, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True).stdout.strip() for words in commands)
    except FileNotFoundError:
        return ""
    return f"{name}-dirty" if changes else name


@dataclass(frozen=True)
class Result:
    """A run and where its results are"""
    run: Run
    results: Path
    # a program that the guest runs at the end, in the folder
    after: Path | None = None

    @property
    def folder(self) -> Path:
        """Its tables"""
        return self.results / self.run.scenario / self.run.name

    @property
    def json(self) -> Path:
        """Its params and metrics"""
        return self.folder.with_name(self.run.name + ".json")

    @cached_property
    def program(self) -> list[str]:
        """The program of scripts/lab that makes the run in place of a guest, and its arguments"""
        make = scenario.load(self.run.scenario).program
        return make(self.run) if make else []

    @property
    def has_module(self) -> bool:
        """Whether flows of hpccpp are in it: other runs are not repeated for another module"""
        return "hpccpp" in (self.run.params.algorithm, self.run.params.other)

    @cached_property
    def seed(self) -> int:
        """The seed of the kernel's random numbers"""
        return self.run.params.kernel_seed or self.run.params.seed

    @cached_property
    def stamp(self) -> str:
        """A hash of all that the run depends on, and the run"""
        env = environment()
        if self.program:
            paths = [Path(env["HPCCPP"]), TOP / ".build/6.1/kmod/tcp_hpccpp.ko", HERE / self.program[0],
                     *(TOP / path for path in ("scripts/cost/many.py", "selftests/lib/lib.sh",
                                               "selftests/lib/wire.sh", "scripts/vm/vm.sh"))]
            inputs = [digest(*paths), *self.program[1:]]
        else:
            paths = [kernel() / "linux", LAB / "tgen", LAB / "testbed", LAB / "link/sch_lablink.ko", HERE / "uml.sh",
                     HERE / "guest.sh"]
            if self.has_module:
                paths += [Path(env["HPCCPP_KO"]), Path(env["HPCCPP"])]
            paths += [self.run.own.module] if self.run.own else []
            paths += [self.after] if self.after else []
            inputs = [digest(*paths), str(self.seed), *scenario.guest(self.run).files().values()]
        return hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:12] + f" {self.run}"

    @cached_property
    def measured(self) -> str:
        """A hash of all that the metrics depend on"""
        return digest(HERE / "traces.py", HERE / "metrics.py", scenario.path(self.run.scenario), FLENT)

    @property
    def is_made(self) -> bool:
        """Whether its tables are there, made from the same inputs as now"""
        path = self.folder / "stamp"
        return path.exists() and path.read_text() == self.stamp + "\n"

    @property
    def is_done(self) -> bool:
        """Whether its metrics are there, too, computed as now"""
        path = self.folder / "measured"
        return self.json.exists() and self.is_made and path.exists() and path.read_text() == self.measured + "\n"

    def make(self) -> None:
        """Makes the run. Its traces are stored when it has ended."""
        stamp = self.stamp      # fails if the run cannot be made
        shutil.rmtree(self.folder, ignore_errors=True)
        self.json.unlink(missing_ok=True)
        self.folder.mkdir(parents=True)
        env = environment() | {"RESULTS": str(self.folder.parent)}
        command: list[Any] = [HERE / word for word in self.program[:1]] + self.program[1:]
        if not command:
            self.write()
            command = [HERE / "uml.sh", *(["--tmp"] if self.after else []), "--seed", self.seed, "--mem", "8G",
                       "--timeout", 3600, "--log", self.folder / "kernel.log", "--", HERE / "guest.sh", self.folder,
                       *([self.after] if self.after else [])]
        status = subprocess.run([str(word) for word in command], env=env, stdin=subprocess.DEVNULL).returncode
        if status:
            raise Failed(f"{self.run}: ended with status {status}; its files are in {self.folder}", status)
        (self.folder / "stamp").write_text(stamp + "\n")

    def write(self) -> None:
        """Writes what the guest and the metrics read"""
        guest, ko, linux = scenario.guest(self.run), Path(environment()["HPCCPP_KO"]), kernel() / "linux"
        for name, text in guest.files().items():
            (self.folder / name).write_text(text)
        meta = self.meta(f"{(kernel() / 'release').read_text().strip()} {digest(linux)}", linux, ko)
        if own := self.run.own:
            meta["own"] = f"{own.name} {digest(own.module)} {' '.join(own.sysctls)}".rstrip()
        (self.folder / "meta.json").write_text(json.dumps(meta | {"window": guest.window}, indent=1) + "\n")

    def meta(self, kernel_: str, *built: Path) -> dict[str, Any]:
        """The keys of its JSON that are known before the run: parameters, kernel, built files (the module last)"""
        params = dataclasses.asdict(self.run.params)
        return {"scenario": self.run.scenario, "name": self.run.name,
                "cc": params.pop("cc"), "seed": params.pop("seed"), "commit": commit(), "kernel": kernel_,
                "compiler": compiler(*built), "module": module(built[-1]), "params": params}

    def measure(self) -> None:
        """Computes the metrics from the tables. A program has computed them, and names its kernel."""
        if self.program:
            made = json.loads(self.json.read_text())
            meta = self.meta(made["kernel"], TOP / ".build/6.1/kmod/tcp_hpccpp.ko")
            self.json.write_text(json.dumps(meta | {"metrics": made["metrics"]}, indent=2) + "\n")
        else:
            metrics.save(self.folder)
            if (self.folder / "rates.csv.gz").exists():
                output(FLENT, "-q", "-o", self.folder, self.folder)
        (self.folder / "measured").write_text(self.measured + "\n")

    @property
    def metrics(self) -> dict[str, Any]:
        """Its metrics by name"""
        values: dict[str, Any] = json.loads(self.json.read_text())["metrics"]
        return values

    def do(self, force: bool = False) -> None:
        """Makes the run unless it is there, and measures it unless its metrics are there"""
        if force or not self.is_made:
            self.make()
        if not self.is_done:
            self.measure()
