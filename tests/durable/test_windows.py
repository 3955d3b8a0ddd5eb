"""No moment and no fault point is without its test."""

from __future__ import annotations

import ast
import re
import timeit
from functools import cache
from pathlib import Path

import pytest

from runtime.core.errors import BadInput
from runtime.faults import POINTS, plan
from tests.durable import test_chaos, test_kills, test_zombies
from tests.durable.reports import REPORTS
from tests.durable.windows import WINDOWS, Window

ROOT = Path(__file__).resolve().parents[2]


@cache
def functions(folder: str) -> set[str]:
    """The tests of a folder below `tests/`."""
    found = (ast.FunctionDef, ast.AsyncFunctionDef)
    trees = [
        ast.parse(path.read_text("utf-8")) for path in (ROOT / "tests" / folder).glob("test_*")
    ]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, found)]
    return {node.name for node in nodes if node.name.startswith("test_")}


@pytest.mark.parametrize(("table", "count"), [(WINDOWS, 45), (REPORTS, 33)], ids=["windows", "B"])
def test_every_window_and_report_has_a_test_or_a_reason_and_every_test_exists(
    table: list[Window], count: int
):
    assert [window.number for window in table] == list(range(1, count + 1))
    for window in table:
        assert window.what and (window.tests or window.reason), window.number
        for name in window.tests:
            folder, _, function = name.partition("::")
            assert function in functions(folder), f"{window.number}: {name}"


def killed() -> set[str]:
    """Points at which a process is killed in a test."""
    return {kill.point for kill in test_kills.KILLS} | set(test_kills.OTHER_KILLS)


def frozen() -> set[str]:
    """Points at which a process is frozen in a test."""
    return {stop.point for stop in test_zombies.BETWEEN} | set(test_zombies.WITHIN)


def test_a_process_is_killed_at_every_fault_point():
    assert killed() == set(POINTS)


def test_a_process_is_frozen_where_a_lease_is_taken_kept_used_and_let_go():
    wanted = {p for p in POINTS if p.startswith(("claim.", "renew.", "step.", "complete."))}
    assert wanted <= frozen() <= set(POINTS)


def test_chance_knows_only_real_points():
    assert {*test_chaos.KILLED, *test_chaos.FROZEN} <= set(POINTS)


def passed() -> set[str]:
    """The points that the product passes: `faults.hit`, and `doing` of what commits."""
    found: set[str] = set()
    for path in (ROOT / "runtime").rglob("*.py"):
        if "faults" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        found.update(re.findall(r'faults\.hit\("([^"]+)"\)', text))
        names = re.findall(r'\bdoing="([^"]+)"', text)
        names += re.findall(r'faults\.commit\("([^"]+)"', text)
        found.update(f"{name}.{when}_commit" for name in names for when in ("before", "after"))
    return found


def test_every_point_is_passed_by_the_product_and_every_passed_one_is_known():
    assert passed() == set(POINTS)


@pytest.mark.parametrize(
    "text", ["claim.after_comit=kill", "claim.after_commit=die", "renew.before=sleep:x", "nothing"]
)
def test_a_plan_that_cannot_be_followed_is_refused(text: str):
    with pytest.raises(BadInput, match="M31A_FAULTS"):
        plan.parse(text)


def test_a_plan_without_permission_is_refused():
    with pytest.raises(BadInput, match="not allowed"):
        plan._from({"M31A_FAULTS": "claim.after_commit=kill"})
    assert plan._from({}) == {}


def test_without_a_plan_a_point_costs_next_to_nothing():
    assert plan._plan == {}
    took = timeit.repeat(lambda: plan.hit("claim.after_commit"), repeat=3, number=100_000)
    assert min(took) < 0.5
