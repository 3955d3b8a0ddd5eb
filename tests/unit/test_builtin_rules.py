"""The list of what is built in is what decides: every rule that the gate can name stands there,
and each example gets that verdict by that rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.policy import builtin, protected
from runtime.policy.decision import Decision

POLICY = Path(builtin.__file__).parent
ARGUMENT = {
    "remark": 1, "veto": 0, "opaque": 0, "note": 0, "Remark": 2, "Finding": 1, "_deny": 0,
    "_veto": 0, "_more": 0, "_refuse": 1, "_refused": 0, "_boundary": 1,
}  # fmt: skip
"""The calls by which a rule is named, and which of their arguments is the name."""
PREFIXED = {"_veto": "network ", "_more": "network "}
HANDED_ON = {"rule", "remark.rule", "name", "table.name", "program.name", "NOTHING"}
"""Names that come from a caller, or from a table, which is listed as it is."""
OF_PEOPLE = {"rule.id", "approval.id", "grant.id"}
"""Names that files and answers bring along: not built in."""
BEHIND_OTHERS = {"tar extract"}
"""Speaks only where the boundary has already refused for as grave a reason."""
NAMES = {name for one in builtin.catalogue() for name in one.names}


def named() -> Iterator[tuple[str, str, ast.expr]]:
    """Every place where the gate's code names a rule: where, what the callee puts before the name,
    and the name."""
    for path in sorted(POLICY.rglob("*.py")):
        if "language" in path.parts or path.name.startswith("builtin"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func).removeprefix("self.").rpartition("found.")[2]
            at = ARGUMENT.get(called.removeprefix("state."))
            if at is not None and len(node.args) > at:
                where = f"{path.relative_to(POLICY)}:{node.lineno}"
                yield where, PREFIXED.get(called, ""), node.args[at]


def form(where: str, name: ast.expr) -> str:
    """What the names that are made there look like; empty where they come from elsewhere."""
    if isinstance(name, ast.Call) and ast.unparse(name).endswith(".strip()"):
        name = name.func.value  # type: ignore[attr-defined]
    if ast.unparse(name) in HANDED_ON | OF_PEOPLE:
        return ""
    if isinstance(name, ast.Constant):
        return re.escape(name.value)
    assert isinstance(name, ast.JoinedStr), f"{where}: {ast.unparse(name)}"
    return "".join(
        re.escape(str(one.value)) if isinstance(one, ast.Constant) else ".+" for one in name.values
    )


def test_every_rule_that_the_gate_can_name_is_listed() -> None:
    places = list(named())
    assert len(places) > 150
    missing = []
    for where, before, name in places:
        wanted = form(where, name)
        if wanted and not any(re.fullmatch(before + wanted, one) for one in NAMES):
            missing.append(f"{where}: {before}{ast.unparse(name)}")
    assert missing == []


def test_each_example_gets_the_verdict_that_is_listed_by_that_rule() -> None:
    wrong = []
    for one in builtin.catalogue():
        asked = one.rules[0]
        verdict = builtin.judge(asked)
        stages = {stage.rule for stage in verdict.stages}
        decides = verdict.rule == asked.rule or asked.rule in BEHIND_OTHERS & stages
        if verdict.decision is not one.decision or not decides:
            wrong.append((asked.rule, str(one.decision), verdict.rule, str(verdict.decision)))
    assert wrong == []


@pytest.mark.thorough
def test_so_does_each_name_of_a_table() -> None:
    wrong = []
    for one in builtin.catalogue():
        for asked in one.rules[1:]:
            verdict = builtin.judge(asked)
            if (verdict.rule, verdict.decision) != (asked.rule, one.decision):
                wrong.append((asked.rule, verdict.rule, str(verdict.decision)))
    assert wrong == []


def test_every_example_speaks_for_the_rule_that_it_was_written_for() -> None:
    assert [one.rule for one in builtin.single() if one.rule not in NAMES] == []


def test_every_reason_to_look_at_a_file_is_listed() -> None:
    reasons = " ".join(one.reason for one in builtin.catalogue() if "guided file" in one.names)
    assert [why for _, why in protected.GUIDED if why not in reasons] == []


def test_what_a_security_officer_looks_up_is_there() -> None:
    found = {name: one for one in builtin.catalogue() for name in one.names}
    assert found["sudo"].stage == "veto" and found["sudo"].decision is Decision.DENY
    assert found["git push"].stage == "defaults"
    assert found["pip install"].reason and found["git push --force"].decision is Decision.ESCALATE
    both = {one.decision for one in builtin.catalogue() if "secret" in one.names}
    assert both == {Decision.ASK, Decision.ESCALATE}
