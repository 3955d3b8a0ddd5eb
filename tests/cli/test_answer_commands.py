"""`approve`, `deny` and `edit`: several at once, what was seen, and another action instead."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import M31A
from tests.kit import EDIT, FINISH, VERIFY

pytestmark = pytest.mark.thorough
ASKED = {"kind": "run_tool", "program": "git", "args": ["rm", "-r", "src"]}


def waiting(m31a: M31A, *steps: dict[str, object]) -> dict[str, str]:
    """The open question of a new run."""
    done = m31a.submit(*steps, FINISH, more=("--wait",))
    assert done.code == 4, done.err
    rows = m31a("approvals", "--full", "--json").json["approvals"]
    return next(row for row in rows if row["run"] == done.json["run"])


def test_several_questions_are_answered_at_once_and_one_that_fails_keeps_no_other(m31a: M31A):
    first, second = waiting(m31a, ASKED), waiting(m31a, ASKED)
    both = (first["id"], second["id"])
    assert m31a("approve", *both, "--scope", "run", "--as", "bob").code == 2
    assert m31a("approve", *both, "nothing", "--as", "bob").code == 2
    assert m31a("deny", both[0], "--as", "bob").code == 0
    done = m31a("approve", *both, "--as", "bob", "--json")
    answers = {row["id"]: row for row in done.json["approvals"]}
    assert done.code == 1
    assert answers[both[1]]["state"] == "approved" and not answers[both[1]]["error"]
    assert answers[both[0]]["state"] == "denied" and "already denied" in answers[both[0]]["error"]


def test_an_action_is_changed_and_judged_anew(m31a: M31A):
    asked = waiting(m31a, ASKED, EDIT, VERIFY)
    other = json.dumps({**ASKED, "args": ["status"]})
    assert m31a("edit", asked["id"], "--action", "{", "--as", "bob").code == 2
    late = m31a("edit", asked["id"], "--action", other, "--seen", "0" * 64, "--as", "bob")
    assert late.code == 1 and "not the one that you saw" in late.err
    seen = ("--seen", asked["digest"], "--as", "bob")
    assert m31a("edit", asked["id"], "--action", other, *seen).code == 0
    assert m31a("work", "--until-idle").code == 0
    run = m31a("status", asked["run"], "--json").json
    assert run["state"] == "succeeded"
    kinds = [row["type"] for row in m31a("events", asked["run"]).lines]
    assert "action.edited" in kinds and "approval.superseded" in kinds


def test_a_rule_is_chosen_from_those_that_are_offered(m31a: M31A):
    asked = waiting(m31a, {"kind": "run_tool", "program": "git", "args": ["tag", "one"]})
    rule = next(one["id"] for one in asked["rules"] if one["text"].startswith("git tag …"))
    assert m31a("approve", asked["id"], "--rule", rule, "--as", "bob").code == 2
    assert m31a("approve", asked["id"], "--rule", rule, "--scope", "run", "--as", "bob").code == 0
    (grant,) = m31a("grants", "--json").json["grants"]
    assert grant["rule"]["argv"] == ["tag"]
    assert m31a("grants", "revoke", grant["id"], "--as", "bob").code == 0
