"""The shared collection of actions, where it lies beside the checkout. Nothing of it is executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.policy import DEFAULT_PROGRAMS, Decision, Verdict
from runtime.policy.programs import PROGRAMS
from runtime.policy.testing import Link, World, shell, tool

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "cases"
ROOT, HOME = "/srv/demo/ws", "/home/agent"
AFTERWARDS = {"T-007", "T-009"}
"""They change the world after the decision: `test_T007_…`, `test_T009_…` have them."""


def load() -> list[dict[str, Any]]:
    """Every case, or nothing where the collection is not there."""
    files = [FOLDER / "policy.jsonl", FOLDER / "policy_setup.jsonl"]
    if not all(file.is_file() for file in files):
        return []
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


CASES = load()
pytestmark = pytest.mark.skipif(not CASES, reason="the shared cases do not lie beside the checkout")


def placed(text: str) -> str:
    return text.replace("{WS}", ROOT).replace("{HOME}", HOME)


def action(case: dict[str, Any]) -> dict[str, Any]:
    kind = case["kind"]
    if kind in ("exec", "git"):
        return tool(case["program"], *map(placed, case["args"]))
    if kind == "shell":
        return shell(placed(case["command"]))
    if kind == "read":
        return {"kind": "read_file", "path": placed(case["path"])}
    if kind == "write":
        return {"kind": "write_file", "path": placed(case["path"]), "content": "x"}
    return {"kind": "network", "method": case["program"], "target": case["path"]}


def judge(case: dict[str, Any], allowed: frozenset[str]) -> Verdict:
    world = World(ROOT, HOME, {f"{ROOT}/README.md": "x"}, {f"{ROOT}/src", f"{ROOT}/docs"})
    known: dict[str, Any] = {"allowed": allowed}
    for step in case.get("setup") or ():
        path = placed(step["path"])
        if step["op"] == "symlink":
            world.files[path] = Link(placed(step["target"]))
        elif step["op"] == "file":
            world.files[path] = step["text"]
            if path.endswith("/.git/config"):
                from runtime.policy import settings_that_run

                known["repository_runs"] = settings_that_run(step["text"])
        else:
            world.folders.add(path)
    return world.decide(action(case), **known)


@pytest.mark.parametrize("allowed", ["preset", "everything"])
def test_every_case_is_decided_as_expected(allowed: str) -> None:
    names = DEFAULT_PROGRAMS if allowed == "preset" else DEFAULT_PROGRAMS | frozenset(PROGRAMS)
    wrong = []
    for case in CASES:
        verdict = judge(case, names)
        assert verdict.source != "error", case["id"]
        if verdict.decision not in case["expect"] and case["id"] not in AFTERWARDS:
            wrong.append((case["id"], str(verdict.decision), verdict.reason))
    assert wrong == []


def test_most_ordinary_work_needs_no_person() -> None:
    ordinary = [case for case in CASES if case["id"].startswith("B-")]
    allowed = [
        case for case in ordinary if judge(case, DEFAULT_PROGRAMS).decision is Decision.ALLOW
    ]
    assert len(allowed) >= 0.85 * len(ordinary)
