# SPDX-License-Identifier: GPL-2.0
"""What a run does in the guest: a script of calls of guest.sh's functions, and the traffic for tgen."""

import random
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import units
from params import Params, pair

# Time 0 of the traffic is so long after tgen begins (WAIT_NS in tgen.h), s
WAIT_S = 0.01


@dataclass(frozen=True)
class Own:
    """A congestion control of the user's own: its module, the sysctls of its hosts and switches, and its K"""
    name: str
    module: Path
    sysctls: tuple[str, ...] = ()
    mark: int = 0


@dataclass
class Guest:
    """A scenario's setup() calls these methods in their order."""
    p: Params
    own: Own | None = None
    lines: list[str] = field(default_factory=list)
    traffic: list[str] = field(default_factory=list)
    # "join" or "leave" or another word, time, flow
    events: list[tuple[Any, ...]] = field(default_factory=list)
    # of all that is measured, ns of the run; None: to its end
    window: tuple[int, int | None] = (0, None)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.p.seed)
        self.updates = bool(self.p.updates)

    def call(self, *words: Any) -> None:
        """One line of the script: a function of guest.sh, or another command, with its arguments"""
        self.lines.append(shlex.join(str(word) for word in words))

    def mark(self, mbit: int, name: str = "mark") -> dict[str, int]:
        """testbed's key for the bytes of a queue above which a port of this rate marks; none if it does not mark"""
        return {name: self.p.mark * self.p.wire * mbit // 10000} if self.p.mark else {}

    def star_delay(self) -> int:
        """Of a star's links, ns: four of these and a packet's and an ACK's time to go out twice make the RTT."""
        p = self.p
        delay = (p.rtt - 2 * 8000 * (p.wire + 66) // p.mbit) // 4
        if delay < 0:
            raise units.Error(f"{pair('rtt', p.rtt)}: with {pair('rate', p.rate)} a packet and its ACK take longer")
        return delay

    def network(self, *topology: Any, **keys: Any) -> None:
        """Makes hosts and links, with the settings of the congestion control; keys are testbed's."""
        p = self.p
        args: list[Any] = ["mtu", p.mtu, "offloads", p.offloads, "rto_min_us", 5000, "prio", p.prio,
                           "overhead", p.overhead, "host_queue", p.host, "queue", p.queue]
        if p.mtu < 1280:  # the least MTU of IPv6
            args += ["ipv6", "no"]
        if p.mark:
            args += ["ecn", 3 if p.queue == "dualpi2" else 1]
        if p.is_hpccpp:
            for name, value in (("flows", p.n), ("eta", p.eta), ("probe", p.probe), ("law", p.law)):
                args += ["sysctl", f"net.hpccpp.{name}={value}"]
        for sysctl in self.own.sysctls if self.own else ():
            args += ["sysctl", sysctl]
        # testbed reads the keys of a link after those of all links
        links = keys.pop("links", [])
        for name, value in keys.items():
            args += [name, value]
        self.call("network", *topology, *args, *links)
        if p.iw:
            self.call("routes", p.iw)
        if p.segs:
            self.call("ip", "-n", "h1", "link", "set", "dev", "eth0", "gso_max_segs", p.segs)

    def star(self, hosts: int, *, links: Iterable[Any] = (), trace: int = 0, **keys: Any) -> None:
        """h1..hN send to r1 by s1. The queue is that of s1 towards r1, of which the first `trace` changes are kept."""
        p = self.p
        traced = ["port", "s1", "r1", "trace", trace] if trace else []
        self.network("star", hosts, rate=f"{p.mbit}m", delay_ns=self.star_delay(), buffer=p.buffer,
                     **self.mark(p.mbit), **keys, links=[*links, *traced])
        self.call("port", "s1", f"p{hosts + 1}")

    def agents(self, skip: str = "") -> None:
        """A host agent for all, and a port agent at each port but those whose "NETNS DEV" matches skip"""
        if self.p.is_hpccpp:
            self.call("agents", skip)

    def later(self, commands: Iterable[tuple[float, Iterable[Any]]]) -> None:
        """Commands that run beside the traffic, each so many ns after the one before, the first after time 0"""
        words = (f"sleep {ns / 1e9:g}; {shlex.join(str(word) for word in command)}" for ns, command in commands)
        self.lines.append("{ " + "; ".join([f"sleep {WAIT_S}", *words]) + "; } &")

    def flow(self, start: int, src: str, dst: str, size: int | str | None, *, stop: int | None = None,
             cc: str | None = None) -> int:
        """A connection that sends size bytes, or until stop. Returns its start, to which spread is added."""
        if str(size).split("@")[0] == "0":
            raise units.Error("size=: needed, the bytes of a flow, as size=300k")
        if self.p.spread:
            start += self.draw.randrange(self.p.spread)
        if stop is not None and stop <= start:
            raise units.Error(f"{pair('time', self.p.time)}: ends before {src} begins to send, at {units.us(start)}")
        words = [start, src, dst, "-" if size is None else size, *([] if stop is None else [stop])]
        self.traffic.append(" ".join(map(str, [*words, cc or self.p.algorithm])))
        return start

    def generate(self, kind: str, start: int, *words: Any, measured: int) -> None:
        """Makes the flows that tgen's generator draws from the seed, for as long as the run takes, and those begun"""
        p = self.p
        if not p.load or not p.time or p.sizes == "none":
            raise units.Error("load=, sizes= and time=: needed, as load=50 sizes=websearch time=10ms")
        self.traffic.append(" ".join(map(str, [kind, start, start + p.time, p.load, p.sizes, p.seed, p.algorithm,
                                               *words])))
        self.run(start=measured, stop=3_000_000_000, command="generated")

    def run(self, *, start: int | None = None, end: int | None = None, stop: int | None = None, rates: int = 0,
            command: str = "traffic") -> None:
        """Makes the traffic. The time from start, by default that of the first flow, to end is measured; the run ends
        at stop (or end)."""
        if start is None:
            # 100 ns earlier, so that the window includes the SYN: window and flow have timers of their own
            start = min(int(line.split()[0]) for line in self.traffic) - 100
        self.window = (start, end)
        words: list[Any] = ["-w", f"{start}:{'-' if end is None else end}"]
        if stop or end:
            words += ["-e", stop or end]
        if rates:
            words += ["-i", rates, "-s", "rates"]
        self.call(command, *words)

    def text(self) -> str:
        """The script"""
        p = self.p
        values = {"cc": p.algorithm, "other": p.other, "own_ko": self.own.module if self.own else "",
                  "records": 2 if p.cc.endswith("-full") else "", "every": p.every, "mode": p.mode, "key": p.key,
                  "with_agent": p.agents, "respond": p.respond, "overhead": p.overhead, "base_rtt": units.us(p.rtt),
                  "updates": int(self.updates and p.is_hpccpp)}
        return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in values.items()) + \
            "\n".join(self.lines) + "\n"

    def files(self) -> dict[str, str]:
        """What guest.sh and the metrics read: script, traffic and, if there are any, events in the order of time"""
        files = {"script": self.text(), "traffic": "".join(f"{line}\n" for line in self.traffic)}
        if self.events:
            events = sorted(self.events, key=lambda event: int(event[1]))
            files["events"] = "".join(" ".join(map(str, event)) + "\n" for event in events)
        return files
