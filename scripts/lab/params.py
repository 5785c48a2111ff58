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


def pattern(regex: str, what: str) -> Read:
    """A word that this matches"""
    def read(text: str) -> str:
        if not re.fullmatch(regex, text):
            raise units.Error(f"'{text}': {what}")
        return text
    return read


def word(*known: str) -> Read:
    """One of these words"""
    return pattern("|".join(known), f"one of {', '.join(known)}")


# with a variant, as dctcp-k20
name = pattern(r"[a-z0-9_]{1,15}(-[a-z0-9]{1,15}){0,2}", "a congestion control, as in tcp_available_congestion_control")
# sizes of flows, as tgen has them
distribution = pattern(r"websearch|fb_hadoop|alistorage|none|\d+|/.+",
                       "websearch, fb_hadoop, alistorage, a number of bytes or a file")
# ports that have an agent
agents = pattern(r"most|nics|edges([1-9]\d?|100)?|none|\d+",
                 "most, nics, edges, edgesPERCENT (1 to 100), none or a percentage of all ports")
# how often hosts ask
every = pattern(r"rtt|[1-9]\d*", "rtt, or a number of packets")


@dataclass(frozen=True)
class Params:
    """The keys of a run. Rates are in bit/s, times in ns, sizes in bytes."""
    cc: str = arg("hpccpp", name, "congestion control; hpccpp-full: two records in a packet; hpccpp-rx: mode=receiver; "
                  "hpccpp-edges: agents=edges; hpccpp-draft: law=draft; dctcp-kN: mark=N; "
                  "dctcp-dualpi2: queue=dualpi2 and AccECN; CC-bdp: offloads=no, and iw is a BDP")
    flows: int = arg(1, units.count, "flows, or senders", 1, 100000)
    rate: int = arg(10**11, units.rate, "rate of the links", 10**6, 10**12)
    rtt: int = arg(8000, units.time, "base round trip time: a full packet and its ACK through empty queues", 1, 10**10)
    mtu: int = arg(1500, units.size, "MTU of all links", 68, 65535)
    spread: int = arg(0, units.time, "a time below this, drawn from the seed, is added to each start", 0, 10**10)
    seed: int = arg(1, units.count, "selects what the lab draws: traffic, starts, jitter", 1, 10**9)
    kernel_seed: int = arg(0, units.count, "selects the kernel's random numbers; 0: the same as seed", 0, 10**9)
    size: int = arg(0, units.size, "bytes that a flow sends; 0: none given", 0, 10**12)
    buffer: int = arg(32_000_000, units.size, "buffer of a port of a switch", 1, 10**10)
    mark: int = arg(0, units.count, "K: switches mark above this many packets in the queue per 10 Gbit/s; "
                    "0: 65 for DCTCP, no marks for others", 0, 100000)
    queue: str = arg("fifo", word("fifo", "dualpi2", "fq", "fq_codel", "codel"),
                     "qdisc of switches")
    host: str = arg("fifo", word("fifo", "fq", "fq_codel"), "qdisc of hosts")
    time: int = arg(0, units.time, "length of the run; 0: the scenario's", 0, 10**12)
    iw: int = arg(0, units.count, "initial window, packets; 0: that of Linux (10)", 0, 10000)
    offloads: str = arg("yes", word("yes", "no"), "hosts use TSO, the default of Linux; no: they send single segments")
    segs: int = arg(0, units.count, "most segments in a GSO packet of the first host; 0: no limit", 0, 65535)
    overhead: int = arg(0, units.count, "bytes that the wire carries with each frame", 0, 1000)
    n: int = arg(64, units.count, "net.hpccpp.flows: the N of W_ai", 0, 65535)
    law: str = arg("averaged", word("averaged", "draft"), "net.hpccpp.law: how the window follows from the load")
    eta: int = arg(0, units.count, "net.hpccpp.eta, percent; 0: 99 with law averaged, 95 with draft", 0, 100)
    probe: int = arg(0, units.count, "net.hpccpp.probe", 0, 100)
    every: str = arg("rtt", every, "request telemetry once in a round trip (rtt), or in one of N packets as well")
    mode: str = arg("sender", word("sender", "receiver"), "which end computes the window and receives INT responses")
    respond: int = arg(0, units.count, "U from which switches send INT responses, percent; 0: never", 0, 10000)
    prio: int = arg(0, units.count, "1: links send control packets, such as INT responses, before others", 0, 1)
    key: int = arg(0, units.count, "1: hosts sign echoes, and reject those without a valid signature", 0, 1)
    updates: int = arg(0, units.count, "1: trace each update of hpccpp's window", 0, 1)
    busy: int = arg(0, units.count, "flows without end on the link of those that resume (probe)", 0, 10000)
    messages: int = arg(1, units.count, "messages of each sender (messages)", 1, 100000)
    other: str = arg("none", lambda text: text if text in ("none", "bare", "marks") else name(text),
                     "congestion control of competing flows; bare, marks: no such flows, but a port without an agent, "
                     "which drops or marks (blind-hop)")
    hop: int = arg(100, units.count, "rate of a last link without a port agent, percent of the others'", 1, 100)
    packets: int = arg(0, units.count, "buffer of the last link, packets; 0: buffer=", 0, 10**7)
    agents: str = arg("most", agents, "ports with an agent: all but the last link's (most), senders' (nics), both "
                      "hooks of hosts and none of switches (edges; edges50: of half of the hosts), none, or a "
                      "percentage of all")
    core: int = arg(200 * 10**9, units.rate, "rate of the links between switches (leafspine)", 10**6, 10**12)
    lag: int = arg(0, units.time, "delay that the receiver adds to its ACKs", 0, 10**10)
    steps: int = arg(1, units.count, "steps in which that delay is added", 1, 1000)
    jitter: int = arg(0, units.time, "variation of that delay, up or down", 0, 10**10)
    tail: str = arg("none", word("none", "normal", "pareto", "paretonormal"), "distribution of jitter; none: uniform")
    forged: str = arg("none", word("none", "idle", "full"), "path that false telemetry reports to the second flow")
    load: int = arg(0, units.count, "offered load of each host, percent of its link", 0, 100)
    sizes: str = arg("none", distribution, "distribution of flow sizes")
    conns: int = arg(4, units.count, "open connections from each host to each other (rpc)", 1, 1000)
    shape: str = arg("none", lambda text: text, "shape of the network, in scenarios that have several")
    hops: int = arg(4, units.count, "slow links of a parking lot", 1, 64)
    far: int = arg(1, units.count, "base RTT of all hosts but the first, as a multiple of rtt (rtts)", 1, 1000)

    @property
    def target(self) -> float:
        """eta of a run of hpccpp"""
        return (self.eta or (95 if self.law == "draft" else 99)) / 100

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

    @property
    def is_claimed(self) -> bool:
        """hpccpp, but not as drafted, which is there to compare"""
        return self.is_hpccpp and self.cc != "hpccpp-draft"


KEYS = {field.name: field for field in dataclasses.fields(Params)}


# keys that may follow from the name of a congestion control
IMPLIED = ("mark", "queue", "iw", "offloads", "mode", "law", "agents")


def implied(values: dict[str, Any]) -> dict[str, Any]:
    """What the name of a congestion control stands for"""
    cc = values.get("cc", "hpccpp")
    match = re.search(r"-k(\d+)", cc)
    for name_, value in (("mode", "receiver" if cc.endswith("-rx") else None),
                         ("agents", "edges" if cc == "hpccpp-edges" else None),
                         ("law", "draft" if cc == "hpccpp-draft" else None),
                         ("queue", "dualpi2" if cc.endswith("-dualpi2") else None),
                         ("mark", int(match[1]) if match else None)):
        if value and values.get(name_) not in (None, KEYS[name_].default, value):
            raise units.Error(f"{pair(name_, values[name_])}: cc={cc} stands for {pair(name_, value)}")
        values[name_] = value or values.get(name_, KEYS[name_].default)
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


def given(params: Params) -> dict[str, Any]:
    """The keys and values that do not follow from the name of the congestion control"""
    values = dataclasses.asdict(params)
    plain = make(**{name_: value for name_, value in values.items() if name_ not in IMPLIED})
    return {name_: value for name_, value in values.items() if name_ not in IMPLIED or value != getattr(plain, name_)}


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
