"""A collection of actions, each with the decisions that are right. None of them is executed.

Every line of `data/judged_actions.jsonl` is a case. `may`: the decisions that are right. `tree`:
what lies there besides. `then`: what that becomes between a person's answer and the execution.
`{WS}` is the workspace, `{HOME}` the home of the run's user. Ids begin with `D-` where an action is
dangerous, `S-` where it is worth a question at most, `B-` where it is ordinary, `T-` where the
tree decides.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runtime.policy import (
    DEFAULT_PROGRAMS,
    ApprovalFact,
    Decision,
    Verdict,
    settings_that_run,
)
from runtime.policy.programs import PROGRAMS
from runtime.policy.testing import Link, World
from runtime.sandbox import CageSpec, Mount
from runtime.workspaces.sight import Sight

FILE = Path(__file__).with_name("data") / "judged_actions.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text().splitlines()]
BY_TREE = [case for case in CASES if "tree" in case]
CHANGING = [case for case in CASES if "then" in case]
EVERYTHING = DEFAULT_PROGRAMS | frozenset(PROGRAMS)
USUAL = {
    "{WS}/README.md": {"text": "x"},
    "{WS}/src": {"folder": True},
    "{WS}/docs": {"folder": True},
}


class Described:
    """A world in memory."""

    root, home = "/srv/demo/ws", "/home/agent"

    def __init__(self) -> None:
        self.world = World(self.root, self.home)

    def put(self, path: str, what: dict[str, Any]) -> None:
        """Make `path` a link, a text or a folder."""
        self.world.folders.discard(path)
        if "folder" in what:
            self.world.folders.add(path)
        else:
            self.world.files[path] = Link(what["link"]) if "link" in what else what["text"]

    def decide(self, action: dict[str, Any], mode: str, **known: Any) -> Verdict:
        """The verdict of the gate here."""
        return self.world.decide(action, mode, **known)


class OnDisk(Described):
    """The same in real folders, seen as a worktree is."""

    def __init__(self, base: Path) -> None:
        self.root, self.home = str(base / "ws"), str(base / "home")
        super().__init__()
        os.mkdir(self.root)
        os.mkdir(self.home)
        spec = CageSpec(root=self.root, mounts=(Mount(self.root, self.root),))
        self.sight = Sight(self.root, spec)

    def put(self, path: str, what: dict[str, Any]) -> None:
        """Make `path` a link, a text or a folder."""
        place = Path(path)
        if place.is_dir():
            place.rmdir()
        if "folder" in what:
            return place.mkdir(parents=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        if "link" in what:
            place.symlink_to(what["link"])
        else:
            place.write_text(what["text"])

    def decide(self, action: dict[str, Any], mode: str, **known: Any) -> Verdict:
        """The verdict of the gate here."""
        return self.world.decide(
            action, mode, look=self.sight.facts, links=self.sight.links, **known
        )


class Case:
    """A case in a place of its own."""

    def __init__(self, case: dict[str, Any], place: Described) -> None:
        self.case, self.place = case, place
        self.known: dict[str, Any] = {}
        self.action = self._placed(case["action"])
        self.put(USUAL)
        self.put(case.get("tree", {}))

    def put(self, tree: dict[str, Any]) -> None:
        """What lies there."""
        for path, what in self._placed(tree).items():
            self.place.put(path, what)
            if path.endswith("/.git/config"):
                self.known["repository_runs"] = settings_that_run(what["text"])

    def decide(self, mode: str = "assisted", **known: Any) -> Verdict:
        """The verdict on the case's action."""
        verdict = self.place.decide(self.action, mode, **self.known, **known)
        assert verdict.source != "error", verdict
        return verdict

    def _placed(self, value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("{WS}", self.place.root).replace("{HOME}", self.place.home)
        if isinstance(value, list):
            return [self._placed(one) for one in value]
        if isinstance(value, dict):
            return {self._placed(name): self._placed(one) for name, one in value.items()}
        return value


def named(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in cases]


def group_of(case: dict[str, Any]) -> str:
    return str(case["id"].rpartition("-")[0])


def test_the_collection_is_whole() -> None:
    assert Counter(case["id"][0] for case in CASES) == {"D": 211, "S": 13, "B": 61, "T": 8}
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert len(BY_TREE) == 8 and [case["id"] for case in CHANGING] == ["T-007", "T-009"]
    for case in CASES:
        assert case["may"] and not (case["id"][0] == "D" and "ALLOW" in case["may"]), case["id"]


@pytest.mark.parametrize("group", sorted({group_of(case) for case in CASES}))
def test_every_action_is_decided_rightly(group: str) -> None:
    wrong = []
    for case in CASES:
        if group_of(case) == group and "then" not in case:
            for allowed in (DEFAULT_PROGRAMS, EVERYTHING):
                verdict = Case(case, Described()).decide(allowed=allowed)
                if verdict.decision not in case["may"]:
                    wrong.append((case["id"], str(verdict.decision), verdict.reason))
    assert wrong == []


@pytest.mark.parametrize("case", named([case for case in BY_TREE if "then" not in case]))
def test_a_real_tree_decides_like_the_described_one(case: dict[str, Any], tmp_path: Path) -> None:
    verdict = Case(case, OnDisk(tmp_path)).decide()
    assert verdict.decision in case["may"], verdict
    assert verdict.decision is Case(case, Described()).decide().decision


@pytest.mark.parametrize("real", [False, True], ids=["described", "real"])
@pytest.mark.parametrize("case", named(CHANGING))
def test_an_answer_is_worth_nothing_once_the_tree_has_changed(
    case: dict[str, Any], real: bool, tmp_path: Path
) -> None:
    """The action that was allowed is refused, or is a new question about what lies there now."""
    made = Case(case, OnDisk(tmp_path) if real else Described())
    asked = made.decide("safe")
    given = ApprovalFact("ap1", asked.digest, Decision.ASK, "bob")
    assert asked.decision is Decision.ASK
    assert made.decide("safe", approval=given).decision is Decision.ALLOW
    made.put(case["then"])
    after = made.decide("safe", approval=given)
    again = after.decision is Decision.ASK and after.digest != asked.digest
    assert after.decision in case["may"] or again, after


def test_most_ordinary_work_needs_no_person() -> None:
    ordinary = [Case(case, Described()).decide() for case in CASES if case["id"].startswith("B-")]
    allowed = [verdict for verdict in ordinary if verdict.decision is Decision.ALLOW]
    assert len(allowed) >= 0.85 * len(ordinary)
