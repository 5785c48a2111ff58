# SPDX-License-Identifier: GPL-2.0
"""Numbers with units, as a user writes them: 40gbit, 12.5us, 300k, 10ms."""

import re
from fractions import Fraction

RATES = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
SIZES = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9}


class Error(Exception):
    """Wrong input. The text names the value and the allowed values."""


def number(text: str, units: dict[str, int], what: str) -> int:
    """The value of text in the smallest of these units, as a whole number."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]*)", text.lower())
    if not match or match[2] not in units:
        raise Error(f"'{text}': {what}")
    value = Fraction(match[1]) * units[match[2]]
    if value.denominator != 1:
        raise Error(f"'{text}': {what}; it is not a whole number of the smallest unit")
    return int(value)


def rate(text: str) -> int:
    """bit/s"""
    return number(text, RATES, "a rate with a unit, as 40gbit (bit, kbit, mbit, gbit, tbit)")


def time(text: str) -> int:
    """ns"""
    return number(text, TIMES | {"": 0} if text == "0" else TIMES, "a time with a unit, as 12.5us (ns, us, ms, s)")


def size(text: str) -> int:
    """bytes"""
    return number(text, SIZES, "bytes, as 300k (k, m and g are powers of 1000)")


def count(text: str) -> int:
    """A whole number"""
    return number(text, {"": 1}, "a whole number")


def us(ns: int) -> str:
    """Microseconds, as tc and hpccpp read them"""
    return f"{ns / 1000:.12g}us"


def show(value: int, units: dict[str, int]) -> str:
    """The value in the largest unit that leaves a whole number."""
    if value == 0:
        return "0"
    name, unit = max(((n, u) for n, u in units.items() if value % u == 0 and n), key=lambda u: u[1])
    return f"{value // unit}{name}"
