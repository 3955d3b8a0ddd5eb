"""`submit --budget`, `budget RUN`, and what a workspace allows after a failed call."""

from __future__ import annotations

import pytest

from tests.cli.conftest import M31A
from tests.kit import FINISH

pytestmark = pytest.mark.thorough
USED = {"input_tokens": 100_000, "output_tokens": 20_000}


def step(number: int) -> dict[str, object]:
    return {"kind": "run_tool", "program": "echo", "args": [str(number)], "usage": USED}


def test_a_run_pauses_near_the_end_of_its_money_and_more_is_granted(m31a: M31A):
    steps = [step(number) for number in range(6)]
    done = m31a.submit(*steps, FINISH, more=("--budget", "cost=5.00", "--wait"))
    assert done.code == 4, done.err
    run = done.json["run"]
    found = {row["name"]: row for row in m31a("budget", run, "--json").json["budgets"]}
    assert (found["cost"]["used"], found["cost"]["limit"]) == (4_000_000, 5_000_000)
    assert found["cost"]["estimated"] == 4_000_000
    assert found["steps"]["used"] == 4
    told = m31a("budget", run)
    assert "4.00 of 5.00" in told.out and "80 %" in told.out
    bad = m31a("budget", run, "--add", "cost=lots")
    assert bad.code == 2 and "cost" in bad.err
    more = m31a(
        "budget", run, "--add", "cost=5", "--add", "steps=3", "--comment", "Go on.", "--json"
    )
    assert more.code == 0, more.err
    limits = {row["name"]: row["limit"] for row in more.json["budgets"]}
    assert (limits["cost"], limits["steps"]) == (10_000_000, 103)
    assert m31a("work", "--until-idle").code == 0
    assert m31a("status", run, "--json").json["state"] == "succeeded"
    assert m31a("budget", run, "--add", "cost=1").code == 1, "it has ended"
    assert m31a("replay", run, "--check").code == 0


def test_a_run_without_money_left_fails_by_name(m31a: M31A):
    steps = [step(number) for number in range(6)]
    more = ("--budget", "cost=2", "--mode", "unattended", "--wait")
    done = m31a.submit(*steps, FINISH, more=more)
    assert (done.code, done.json["reason"]) == (1, "budget_exhausted")


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("--budget", "cost"), "budget"),
        (("--budget", "steps=5"), "budget"),
        (("--provider-retries", "99"), "provider_retries"),
        (("--fallback", "scripted:x"), "fallback"),
        (("--fallback", "nothing"), "fallback"),
    ],
)
def test_a_workspace_that_cannot_be_is_bad_input(m31a: M31A, words: tuple[str, ...], field: str):
    root = m31a.place / "bare"
    root.mkdir(exist_ok=True)
    done = m31a("workspace", "add", "other", str(root), *words)
    assert done.code == 2 and field in done.err
