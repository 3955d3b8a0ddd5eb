"""How a run stands: what its tasks have used together, and what that means. Reads, never writes.

A holder first writes what it is about to use, then looks: so two tasks of a run that reserve at the
same moment see each other, and the sum never goes over the limit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings
from django.db.models import Sum

from runtime.core import amounts
from runtime.models import Artifact, Run, Task

from . import table
from .table import BUDGETS


class Line(NamedTuple):
    """One budget of a run, in its own unit. `reserved` is what may be used by what runs now;
    `estimated` how much of `used` nobody measured."""

    name: str
    used: int
    limit: int
    reserved: int = 0
    estimated: int = 0

    @property
    def percent(self) -> int:
        """How much of it is used."""
        return self.used * 100 // self.limit if self.limit else 100

    def text(self) -> str:
        """Used of limit, in words."""
        used, limit = table.shown(self.name, self.used), table.shown(self.name, self.limit)
        return f"{used} of {limit}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything that a run's tasks have used and reserved together."""

    limits: Mapping[str, int]
    used: Mapping[str, int]
    reserved: Mapping[str, int]

    def left(self, name: str) -> int:
        """What is left of a budget, in its amounts (milliseconds for times)."""
        budget = BUDGETS[name]
        return max(0, self.limits[name] * budget.per - self.used.get(budget.amount, 0))


@dataclass(frozen=True, slots=True)
class Verdict:
    """May it go on? `over`: no, this budget is exhausted. `near`: a person is asked first."""

    over: Line | None = None
    near: Line | None = None


def standing(run_id: str) -> Standing:
    """How a run stands now, in one query."""
    rows = Task.objects.filter(run=run_id).values_list(
        "steps", "spent", "reserved", "run__budgets", "run__max_steps", "run__max_attempts"
    )
    used: dict[str, int] = {}
    reserved: dict[str, int] = {}
    limits: dict[str, int] = {}
    for steps, spent, held, given, max_steps, max_attempts in rows:
        used = amounts.add(used, amounts.read(spent), {"steps": steps})
        reserved = amounts.add(reserved, amounts.read(held))
        limits = limits or table.limits(amounts.read(given), max_steps, max_attempts)
    return Standing(limits, used, reserved)


def judge(
    stand: Standing,
    passed: Collection[tuple[str, int]],
    *,
    calls: bool = True,
    asks: bool = True,
) -> Verdict:
    """Whether it may go on: with all that is reserved, nothing goes over its limit.

    `passed` are budgets and limits about which a person has answered; `calls`: the model is asked
    next, else something is done that it asked for; `asks`: whether somebody may be asked at all.
    """
    near = None
    for name, budget in BUDGETS.items():
        limit = stand.limits.get(name, 0) * budget.per
        if name in _ELSEWHERE or not limit or (name in _CALLS and not calls):
            continue
        used = stand.used.get(budget.amount, 0)
        ahead = stand.reserved.get(budget.amount, 0) if name in _AHEAD else 0
        if used >= limit or used + ahead > limit:
            return Verdict(over=_line(stand, name))
        soft = settings.M31A.BUDGET_PAUSE_PERCENT
        asked = asks and budget.pauses and near is None and (name, stand.limits[name]) not in passed
        if asked and used * 100 >= limit * soft:
            near = _line(stand, name)
    return Verdict(near=near)


_ELSEWHERE = frozenset({"attempts", "artifact_bytes", "memory_bytes"})
"""Kept where they are used up: by the claims, the store, and the cage."""
_CALLS = frozenset({"steps", "model_calls", "input_tokens", "output_tokens", "cost"})
"""Used by calls of the model alone."""
_AHEAD = _CALLS - {"steps"}
"""What is reserved for a call is a bound that it keeps; of time, it is only what a crash counts."""


def _line(stand: Standing, name: str) -> Line:
    budget = BUDGETS[name]
    return Line(
        name,
        _rounded(stand.used.get(budget.amount, 0), budget.per),
        stand.limits.get(name, 0),
        _rounded(stand.reserved.get(budget.amount, 0), budget.per),
        stand.used.get(f"estimated_{name}", 0),
    )


def _rounded(amount: int, per: int) -> int:
    return -(-amount // per)


def lines(run: Run, tasks: Collection[Task] | None = None) -> list[Line]:
    """Every budget of a run, for people. `tasks`: its tasks, where they were read already."""
    found = list(Task.objects.filter(run=run.pk)) if tasks is None else tasks
    kept = Artifact.objects.filter(run=run.pk).aggregate(total=Sum("size"))["total"] or 0
    used = amounts.add(
        *(amounts.read(task.spent) for task in found),
        {"artifact_bytes": int(kept), "steps": sum(task.steps for task in found)},
        {"attempts": max((task.attempt for task in found), default=0)},
    )
    reserved = amounts.add(*(amounts.read(task.reserved) for task in found))
    limits = table.limits(amounts.read(run.budgets), run.max_steps, run.max_attempts)
    return [_line(Standing(limits, used, reserved), name) for name in BUDGETS]
