"""The budgets of a run: their names, units, bounds and defaults, and how people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from django.conf import settings

from runtime.core.errors import BadInput

Unit = Literal["count", "money", "seconds", "bytes"]
_SIZE = re.compile(r"(\d{1,15})([kKMGT]?)(?:i?B)?", re.ASCII)
_MONEY = re.compile(r"(\d{1,9})(?:\.(\d{1,6}))?", re.ASCII)
_SPAN = re.compile(r"(\d{1,12})([smhd]?)", re.ASCII)
_SIZES = {"": 1, "k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SPANS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
MICRO = 1_000_000
"""Micro-units of money in one unit."""


@dataclass(frozen=True, slots=True)
class Budget:
    """One budget. `most` bounds what may be given; `pauses`: a person is asked before its end.

    `used` is the name of the amount that counts against it, of which `per` make one unit.
    """

    name: str
    title: str
    unit: Unit
    most: int
    pauses: bool = True
    used: str = ""
    per: int = 1

    @property
    def amount(self) -> str:
        """The name of the amount that counts against it."""
        return self.used or self.name


BUDGETS: dict[str, Budget] = {
    budget.name: budget
    for budget in (
        Budget("steps", "steps", "count", 10_000, pauses=False),
        Budget("model_calls", "model calls", "count", 1_000_000),
        Budget("input_tokens", "input tokens", "count", 10**12),
        Budget("output_tokens", "output tokens", "count", 10**12),
        Budget("cost", "cost", "money", 1_000_000 * MICRO),
        Budget("wall_seconds", "time", "seconds", 365 * 86_400, used="wall_ms", per=1000),
        Budget("cpu_seconds", "CPU time", "seconds", 10**9, used="cpu_ms", per=1000),
        Budget("memory_bytes", "memory of one command", "bytes", 1 << 40, pauses=False),
        Budget("output_bytes", "output of commands", "bytes", 1 << 50),
        Budget("artifact_bytes", "artifacts", "bytes", 1 << 50, pauses=False),
        Budget("attempts", "attempts", "count", 100, pauses=False),
    )
}
OWN = ("steps", "attempts")
"""Budgets that have options and columns of their own."""


def limits(given: Mapping[str, int], max_steps: int, max_attempts: int) -> dict[str, int]:
    """Every limit of a run: what was given, over the defaults of the settings."""
    found = {name: given.get(name) or settings.M31A.BUDGETS.get(name, 0) for name in BUDGETS}
    found["model_calls"] = found["model_calls"] or 2 * max_steps
    return {**found, "steps": max_steps, "attempts": max_attempts}


def parse(assignments: Iterable[str], field: str = "budget") -> dict[str, int]:
    """From `NAME=VALUE` each. Raises `BadInput` naming the first that cannot be used."""
    found = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise BadInput(
                f"{field}: {assignment[:80]!r} is no NAME=VALUE.",
                remedy=f"Names are {', '.join(BUDGETS)}.",
                field=field,
            )
        found[name.strip()] = value(name.strip(), text.strip(), field)
    return found


def value(name: str, text: str, field: str = "budget") -> int:
    """A limit as a person writes it: money in units with decimals, bytes with K, M, G, spans with
    s, m, h, d. Raises `BadInput`."""
    budget = _known(name, field)
    number = _number(budget.unit, text)
    if number is None:
        raise BadInput(
            f"{field}: {name}={text[:80]!r} is no {_WORDS[budget.unit]}.",
            remedy=f"Give {_EXAMPLES[budget.unit]}.",
            field=field,
        )
    return checked({name: number}, field)[name]


_WORDS = {"count": "number", "money": "amount of money", "seconds": "time", "bytes": "size"}
_EXAMPLES = {
    "count": "a whole number",
    "money": "units of the currency, such as 2.50",
    "seconds": "seconds, or 90m, 2h",
    "bytes": "bytes, or 512M, 2G",
}


def _number(unit: Unit, text: str) -> int | None:
    if unit == "money":
        return _money(text)
    if unit == "bytes":
        found = _SIZE.fullmatch(text)
        return int(found[1]) * _SIZES[found[2]] if found else None
    if unit == "seconds":
        found = _SPAN.fullmatch(text)
        return int(found[1]) * _SPANS[found[2]] if found else None
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 15 else None


def _money(text: str) -> int | None:
    found = _MONEY.fullmatch(text)
    return int(found[1]) * MICRO + int((found[2] or "").ljust(6, "0")) if found else None


def checked(given: Mapping[str, int], field: str = "budget") -> dict[str, int]:
    """Limits within their bounds. Raises `BadInput` naming one that is not."""
    for name, number in given.items():
        most = _known(name, field).most
        if type(number) is not int or not 1 <= number <= most:
            raise BadInput(
                f"{field}: {name}={number!r} is out of bounds.",
                remedy=f"Give {shown(name, 1)} to {shown(name, most)}.",
                field=field,
            )
    return dict(given)


def _known(name: str, field: str) -> Budget:
    if name not in BUDGETS:
        raise BadInput(
            f"{field}: there is no budget {name[:40]!r}.",
            remedy=f"Names are {', '.join(BUDGETS)}.",
            field=field,
        )
    return BUDGETS[name]


def shown(name: str, number: int) -> str:
    """A value in words and units."""
    unit = BUDGETS[name].unit
    if unit == "money":
        whole, rest = divmod(number, MICRO)
        return f"{whole:,}.{f'{rest:06}'.rstrip('0').ljust(2, '0')}"
    if unit == "bytes":
        return _largest(number, (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)), " B")
    if unit == "seconds":
        return _largest(number, (("h", 3600), ("min", 60)), " s")
    return f"{number:,}"


def _largest(number: int, steps: tuple[tuple[str, int], ...], rest: str) -> str:
    for word, size in steps:
        if number >= size:
            short = f"{number / size:.1f}".removesuffix(".0")
            return f"{short} {word}"
    return f"{number}{rest}"
