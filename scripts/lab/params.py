# SPDX-License-Identifier: GPL-2.0
"""The keys of a run: units, ranges and defaults."""

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import units

Read = Callable[[str], Any]


def arg(default: Any, read: Read, about: str, least: int | None = None, most: int | None = None) -> Any:
    """A field of Params: its default, how it is read, and a line for `lab keys`."""
    return dataclasses.field(default=default, metadata={"read": read, "about": about, "least": least, "most": most})


def word(*known: str) -> Read:
    """One of these words"""
    def read(text: str) -> str:
        if text not in known:
            raise units.Error(f"'{text}': one of {', '.join(known)}")
        return text
    return read


def pattern(regex: str, what: str) -> Read:
    """A word that this matches"""
    def read(text: str) -> str:
        if not re.fullmatch(regex, text):
            raise units.Error(f"'{text}': {what}")
        return text
    return read


# with a variant, as dctcp-k20
name = pattern(r"[a-z0-9_]{1,15}(-[a-z0-9]{1,15}){0,2}", "a congestion control, as in tcp_available_congestion_control")
# sizes of flows, as tgen has them
distribution = pattern(r"websearch|fb_hadoop|alistorage|none|\d+|/.+",
                       "websearch, fb_hadoop, alistorage, a number of bytes or a file")
# ports that have an agent
agents = pattern(r"most|nics|none|\d+", "most, nics, none or a percentage of all ports")
# how often hosts ask
every = pattern(r"rtt|[1-9]\d*", "rtt, or a number of packets")


@dataclass(frozen=True)
class Params:
    """The keys of a run. Rates are in bit/s, times in ns, sizes in bytes."""
    cc: str = arg("hpccpp", name, "congestion control; hpccpp-full: two records; hpccpp-rx: mode=receiver; "
                  "dctcp-kN: mark=N; dctcp-dualpi2: queue=dualpi2 and AccECN; "
                  "CC-bdp: offloads=no, and iw is a BDP")
    flows: int = arg(1, units.count, "flows, or senders", 1, 100000)
    rate: int = arg(10**11, units.rate, "of the links", 10**6, 10**12)
    rtt: int = arg(8000, units.time, "base round trip time: a full packet and its ACK through empty queues", 1, 10**10)
    mtu: int = arg(1500, units.size, "of all links", 68, 65535)
    spread: int = arg(0, units.time, "listed flows start up to so much later, each as drawn from the seed", 0, 10**10)
    seed: int = arg(1, units.count, "of the random numbers of the run: traffic, starts, jitter", 1, 10**9)
    kernel_seed: int = arg(0, units.count, "of the kernel's random numbers; 0: the same as seed", 0, 10**9)
    size: int = arg(0, units.size, "of a flow", 0, 10**12)
    buffer: int = arg(32_000_000, units.size, "that may wait at a port of a switch", 1, 10**10)
    mark: int = arg(0, units.count, "K: packets in a queue of 10 Gbit/s above which it marks, more at a higher rate; "
                    "0: 65 for DCTCP, none for others", 0, 100000)
    queue: str = arg("fifo", word("fifo", "dualpi2", "fq", "fq_codel", "codel"),
                     "what packets wait in at switches")
    host: str = arg("fifo", word("fifo", "fq", "fq_codel"), "what packets wait in at hosts")
    time: int = arg(0, units.time, "how long the run is; 0: as long as the scenario takes", 0, 10**12)
    iw: int = arg(0, units.count, "packets that a flow begins with; 0: as Linux does", 0, 10000)
    offloads: str = arg("yes", word("yes", "no"), "hosts have TSO, as Linux' have; no: they send single segments")
    segs: int = arg(0, units.count, "of a packet of the first host, at most; 0: no such limit", 0, 65535)
    overhead: int = arg(0, units.count, "bytes that the wire carries with each frame", 0, 1000)
    n: int = arg(64, units.count, "net.hpccpp.flows: the N of W_ai", 0, 65535)
    stage: int = arg(5, units.count, "net.hpccpp.max_stage", 0, 100)
    eta: int = arg(95, units.count, "net.hpccpp.eta, percent", 1, 110)
    share: int = arg(1, units.count, "net.hpccpp.share", 0, 1)
    probe: int = arg(0, units.count, "net.hpccpp.probe", 0, 100)
    every: str = arg("rtt", every, "hosts ask once in a round trip, or in one of so many packets")
    mode: str = arg("sender", word("sender", "receiver"), "who computes the window, and gets responses")
    respond: int = arg(0, units.count, "percent of load from which switches send INT responses; 0: never", 0, 10000)
    prio: int = arg(0, units.count, "1: links let control packets, as responses are, pass the others", 0, 1)
    key: int = arg(0, units.count, "1: echoes are signed, and have to be", 0, 1)
    updates: int = arg(0, units.count, "1: trace each update of hpccpp", 0, 1)
    busy: int = arg(0, units.count, "flows without end beside those that resume", 0, 10000)
    messages: int = arg(1, units.count, "of each sender", 1, 100000)
    other: str = arg("none", lambda text: text if text in ("none", "bare", "marks") else name(text),
                     "congestion control that shares the port; bare, marks: none does, and the port has no agent")
    hop: int = arg(100, units.count, "rate of a last link without a port agent, percent of the others'", 1, 100)
    packets: int = arg(0, units.count, "that may wait there; 0: as many as elsewhere", 0, 10**7)
    agents: str = arg("most", agents, "ports with an agent: all but the last link's (most), senders' (nics), none, or "
                      "a percentage of all")
    lag: int = arg(0, units.time, "by which the receiver's ACKs are later", 0, 10**10)
    steps: int = arg(1, units.count, "... after so many steps", 1, 1000)
    jitter: int = arg(0, units.time, "... and by so much more or less, evenly", 0, 10**10)
    tail: str = arg("none", word("none", "normal", "pareto", "paretonormal"), "... or by that distribution of netem's")
    forged: str = arg("none", word("none", "idle", "full"), "load of the path in the echoes that the second flow gets")
    load: int = arg(0, units.count, "of hosts, percent", 0, 100)
    sizes: str = arg("none", distribution, "distribution of flow sizes")
    conns: int = arg(4, units.count, "that a host keeps to each other, of rpc", 1, 1000)
    shape: str = arg("none", lambda text: text, "of the network")
    hops: int = arg(4, units.count, "slow links of a parking lot", 1, 64)
    far: int = arg(1, units.count, "base RTT of all hosts but the first, times rtt", 1, 1000)

    @property
    def mbit(self) -> int:
        """The rate in Mbit/s, in which the lab's arithmetic is exact."""
        return self.rate // 10**6

    @property
    def wire(self) -> int:
        """Bytes that a full packet takes on the link."""
        return self.mtu + 14 + self.overhead

    @property
    def algorithm(self) -> str:
        """The congestion control without its variant."""
        return self.cc.split("-")[0]

    @property
    def is_hpccpp(self) -> bool:
        """Hosts and ports have agents."""
        return self.algorithm == "hpccpp"


KEYS = {field.name: field for field in dataclasses.fields(Params)}


# keys that may follow from the name of a congestion control
IMPLIED = ("mark", "queue", "iw", "offloads", "mode")


def implied(values: dict[str, Any]) -> dict[str, Any]:
    """What the name of a congestion control stands for"""
    cc = values.get("cc", "hpccpp")
    if cc.endswith("-rx"):
        values["mode"] = "receiver"
    if cc.endswith("-dualpi2"):
        values["queue"] = "dualpi2"
    if match := re.search(r"-k(\d+)", cc):
        values["mark"] = int(match[1])
    if not values.get("mark") and {cc.split("-")[0], values.get("other")} & {"dctcp", "marks"}:
        values["mark"] = 65
    return values


def make(**values: Any) -> Params:
    """Params of these values, which are in range; a string is read as a user writes it, with its unit"""
    for name_, value in values.items():
        if name_ not in KEYS:
            raise units.Error(f"'{name_}': unknown key; a run has {' '.join(KEYS)}")
        try:
            if isinstance(value, str) or isinstance(KEYS[name_].default, str):
                values[name_] = KEYS[name_].metadata["read"](str(value))
        except units.Error as error:
            raise units.Error(f"{name_}={error}") from None
    params = Params(**implied(values))
    if params.cc.endswith("-bdp"):
        bdp = -(-params.rate * params.rtt // (8 * 10**9 * params.wire))
        params = dataclasses.replace(params, offloads="no", iw=params.iw or bdp)
    for name_, field in KEYS.items():
        value, least, most = getattr(params, name_), field.metadata["least"], field.metadata["most"]
        if least is not None and not least <= value <= most:
            raise units.Error(f"{pair(name_, value)}: from {show(name_, least)} to {show(name_, most)}")
    if params.rate % 10**6:
        raise units.Error(f"{pair('rate', params.rate)}: a whole number of Mbit/s")
    if params.segs and params.offloads == "no":
        raise units.Error("segs needs offloads=yes")
    return params


def values(params: Params) -> dict[str, Any]:
    """All keys and their values"""
    return {name_: getattr(params, name_) for name_ in KEYS}


def given(params: Params) -> dict[str, Any]:
    """The keys and values that do not follow from the name of the congestion control"""
    plain = values(make(**{name_: value for name_, value in values(params).items() if name_ not in IMPLIED}))
    return {name_: value for name_, value in values(params).items() if name_ not in IMPLIED or value != plain[name_]}


def parse(words: Iterable[str]) -> Params:
    """Params of words KEY=VALUE"""
    values: dict[str, str] = {}
    for text in words:
        name_, equals, value = text.partition("=")
        if not equals:
            raise units.Error(f"'{text}': KEY=VALUE; keys are {' '.join(KEYS)}")
        if name_ in values:
            raise units.Error(f"'{text}': {name_}={values[name_]} is there already")
        values[name_] = value
    return make(**values)


def show(name_: str, value: Any) -> str:
    """A value as parse() reads it"""
    of = {units.rate: units.RATES, units.time: units.TIMES, units.size: units.SIZES}
    unit = of.get(KEYS[name_].metadata["read"])
    return units.show(value, unit) if unit else str(value)


def pair(name_: str, value: Any) -> str:
    """KEY=VALUE as parse() reads it"""
    return f"{name_}={show(name_, value)}"


def words(params: Params) -> list[str]:
    """KEY=VALUE of all that is not as by default"""
    return [pair(name_, getattr(params, name_)) for name_, field in KEYS.items()
            if getattr(params, name_) != field.default]
