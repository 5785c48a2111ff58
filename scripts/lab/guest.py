# SPDX-License-Identifier: GPL-2.0
"""What a run does in the guest: a script of calls of guest.sh's functions, and the traffic for tgen."""

import random
import shlex
from dataclasses import dataclass, field
from typing import Any

import units
from params import Params


@dataclass
class Guest:
    """A scenario's setup() calls these methods in their order."""
    p: Params
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
        """One line of the script"""
        self.lines.append(shlex.join(str(word) for word in words))

    @property
    def marks(self) -> bool:
        """Hosts ask for marks, and the bottleneck sets them."""
        return self.p.mark != 0

    def mark(self, mbit: int) -> int:
        """Bytes of a queue above which a port of this rate marks"""
        return self.p.mark * self.p.wire * mbit // 10000

    def star_delay(self) -> int:
        """Of a star's links, ns: four of these and a packet's and an ACK's time to go out twice make the RTT."""
        p = self.p
        delay = (p.rtt - 2 * 8000 * (p.wire + 66) // p.mbit) // 4
        if delay < 0:
            raise units.Error(f"rtt={p.rtt}ns: at {p.mbit} Mbit/s a packet and its ACK take longer")
        return delay

    def network(self, *topology: Any, **keys: Any) -> None:
        """The hosts and links, with what the congestion control asks for; keys are testbed's"""
        p = self.p
        args: list[Any] = ["mtu", p.mtu, "offloads", p.offloads, "rto_min_us", 5000, "prio", p.prio,
                           "overhead", p.overhead, "host_queue", p.host, "queue", p.queue]
        if p.mtu < 1280:	# the least MTU of IPv6
            args += ["ipv6", "no"]
        if self.marks:
            args += ["ecn", 3 if p.queue == "dualpi2" else 1]
        if p.is_hpccpp:
            for name, value in (("flows", p.n), ("max_stage", p.stage), ("eta", p.eta), ("probe", p.probe),
                                ("share", p.share)):
                args += ["sysctl", f"net.hpccpp.{name}={value}"]
        # the lab's own keys first, so that those of a link come last
        links = keys.pop("links", [])
        for name, value in keys.items():
            args += [name, value]
        self.call("network", *topology, *args, *links)
        if p.segs:
            self.call("ip", "-n", "h1", "link", "set", "dev", "eth0", "gso_max_segs", p.segs)

    def star(self, hosts: int, *, links: list[Any] | None = None, trace: int = 0, **keys: Any) -> None:
        """h1..hN send to r1 by s1; the queue is that of s1 towards r1"""
        p = self.p
        keys = {"rate": f"{p.mbit}m", "delay_ns": self.star_delay(), "buffer": p.buffer} | (
            {"mark": self.mark(p.mbit)} if self.marks else {}) | keys
        if trace:
            links = (links or []) + ["port", "s1", "r1", "trace", trace]
        self.network("star", hosts, links=links or [], **keys)
        self.port("s1", f"p{hosts + 1}")

    def port(self, netns: str, dev: str) -> None:
        """The bottleneck, whose queue is measured"""
        self.call("port", netns, dev)

    def agents(self, skip: str = "") -> None:
        """A host agent for all, and a port agent at each port but those whose "NETNS DEV" matches skip"""
        if self.p.is_hpccpp:
            self.call("agents", skip)

    def flow(self, start: int, src: str, dst: str, size: int | str | None, *, stop: int | None = None,
             cc: str | None = None) -> None:
        """A connection that sends size bytes, or until stop; starts are spread as the run says"""
        if self.p.spread:
            start += self.draw.randrange(self.p.spread)
        words = [str(start), src, dst, "-" if size is None else str(size)]
        if stop is not None:
            words.append(str(stop))
        self.traffic.append(" ".join(words + [cc or self.p.algorithm]))

    def run(self, *, start: int, end: int | None = None, stop: int | None = None, rates: int = 0,
            paths: bool = False) -> None:
        """Makes the traffic. What is between start and end is measured; the run ends at stop (or end)."""
        self.window = (start, end)
        words: list[Any] = ["traffic", "-w", f"{start}:{'-' if end is None else end}"]
        if stop or end:
            words += ["-e", stop or end]
        if rates:
            words += ["-i", rates]
        self.call(*words, *(["paths"] if paths else []))

    def text(self) -> str:
        """The script"""
        p = self.p
        values = {"cc": p.algorithm, "other": p.other, "records": 2 if p.cc.endswith("-full") else "",
                  "every": p.every, "mode": p.mode, "key": p.key, "told": p.told, "respond": p.respond,
                  "overhead": p.overhead, "base_rtt": f"{p.rtt}ns", "updates": int(self.updates)}
        return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in values.items()) + \
            "\n".join(self.lines) + "\n"
