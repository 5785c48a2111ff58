# SPDX-License-Identifier: GPL-2.0
"""A prompt inside the lab, or a script of one's own."""

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import run

# shell.sh prints this and the status of a command when the next one may come.
READY = "\0"


def lab(folder: Path, *command: Any) -> list[str]:
    """The command line that runs a command in the guest. The guest sees this machine's /tmp."""
    return [str(word) for word in (run.HERE / "uml.sh", "--tmp", "--mem", "8G", "--timeout", 86400,
                                   "--log", folder / "kernel.log", "--", run.HERE / "shell.sh", *command)]


def script(folder: Path, words: list[str]) -> int:
    """Runs a script with its arguments, or the script on stdin. Returns its status."""
    if not words:
        (folder / "script").write_text(sys.stdin.read())
        words = [str(folder / "script")]
    file = Path(words[0]).absolute()
    interpreter = [] if os.access(file, os.X_OK) else ["bash"]
    return subprocess.run(lab(folder, *interpreter, file, *words[1:]), stdin=subprocess.DEVNULL,
                          env=run.environment() | {"RESULTS": str(folder)}).returncode


def clock(pid: int, number: int) -> None:
    """Sends a signal to the guest's kernel, of which this process is an ancestor"""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if Path(f"/proc/{child}/comm").read_text() == "linux\n":
            os.kill(int(child), number)
        else:
            clock(int(child), number)


def ask() -> str:
    """A command from the terminal, which may have several lines. At the end of input it is exit."""
    text = ""
    try:
        while True:
            text += input("> " if text else "lab# ") + "\n"
            checked = subprocess.run(["bash", "-n"], input=text, text=True, stderr=subprocess.PIPE)
            if "unexpected end of file" not in checked.stderr and "unexpected EOF" not in checked.stderr:
                return text
    except EOFError:
        print()
        return "exit\n"


def prompt(folder: Path) -> int:
    """Commands from the terminal, one at a time. While none runs, the guest is stopped and so is its clock."""
    importlib.import_module("readline")  # with which input() has editing
    for path in folder.glob("line.*"):
        path.unlink()
    guest = subprocess.Popen(lab(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                             env=run.environment() | {"RESULTS": str(folder)}, start_new_session=True)
    assert guest.stdout
    n = 0
    try:
        for line in guest.stdout:
            shown, ready, _ = line.partition(READY)
            print(shown, end="", flush=True)
            if not ready:
                continue
            clock(guest.pid, signal.SIGSTOP)
            text = ask()
            clock(guest.pid, signal.SIGCONT)
            n += 1
            (folder / "line").write_text(text)
            (folder / "line").rename(folder / f"line.{n}")
    except BaseException:
        os.killpg(guest.pid, signal.SIGTERM)
        clock(guest.pid, signal.SIGCONT)
        raise
    finally:
        guest.wait()
        for path in folder.glob("line.*"):
            path.unlink()
    return guest.returncode


def shell(words: list[str], folder: Path) -> int:
    """A prompt if stdin is a terminal and there is no script"""
    folder.mkdir(parents=True, exist_ok=True)
    return script(folder, words) if words or not sys.stdin.isatty() else prompt(folder)
