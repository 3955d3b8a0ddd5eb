"""The eleven stages: each at work, each in its place, none of them replaceable by nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runtime.policy import (
    STAGE_NAMES,
    STAGES,
    ApprovalFact,
    Decision,
    Facts,
    GrantFact,
    Rule,
    RuleLayer,
    Verdict,
    gate,
)
from runtime.policy.case import NOTHING, Case, Finding
from runtime.policy.stages import Stage
from runtime.policy.testing import World, decisions, request, shell, tool

EDIT = {"kind": "write_file", "path": "src/a.py", "content": "x"}
PUSH = {"kind": "git_push"}
ALLOW, ASK, ESCALATE, DENY = Decision.ALLOW, Decision.ASK, Decision.ESCALATE, Decision.DENY


def layer(number: int, *rules: Rule) -> RuleLayer:
    return RuleLayer(number, f"layer {number}", rules)


def approval(verdict: Verdict, decision: Decision = ASK) -> ApprovalFact:
    return ApprovalFact("ap1", verdict.digest, decision, "bob")


WORLD = World(files={"/tree/src/a.py": "v1\n"})
REFUSE_TOUCH = layer(1, Rule("no-touch", DENY, tool=("run_tool",), program=("touch",)))
REFUSE_DOCS = layer(3, Rule("no-docs", DENY, path=("docs",)))
SABOTAGE: dict[str, tuple[object, dict[str, Any], dict[str, Any]]] = {
    "intake": (EDIT, {}, {}),
    "canonicalise": (EDIT, {}, {}),
    "boundary": ({**EDIT, "path": "../b.py"}, {}, {}),
    "veto": ({**EDIT, "path": ".git/config"}, {}, {}),
    "admin": (tool("touch", "x"), {}, {"layers": (REFUSE_TOUCH,)}),
    "workspace": ({**EDIT, "path": "docs/a.md"}, {}, {"layers": (REFUSE_DOCS,)}),
    "role": (EDIT, {"role": "planner"}, {}),
    "defaults": (PUSH, {}, {}),
    "mode": (EDIT, {"mode": "plan"}, {}),
    "grants": (PUSH, {"mode": "unattended"}, {}),
    "audit": (EDIT, {}, {"audit": None}),
}


def without(name: str) -> tuple[tuple[str, Stage], ...]:
    def silent(case: Case) -> Finding:
        return NOTHING

    return tuple((one, silent if one == name else stage) for one, stage in STAGES)


@pytest.mark.parametrize("name", STAGE_NAMES)
def test_a_stage_made_a_pass_through_changes_a_decision(name: str) -> None:
    action, asked, known = SABOTAGE[name]
    wish = replace(request(action), **asked)
    context = WORLD.context(**known)
    whole = gate(wish, context)
    assert whole.decision is not gate(wish, context, without(name)).decision
    assert whole.source != "error"


def test_there_are_eleven_results_in_order() -> None:
    for action in (EDIT, PUSH, {"kind": "nonsense"}, None, shell("ls")):
        verdict = WORLD.decide(action)
        assert tuple(stage.name for stage in verdict.stages) == STAGE_NAMES


@pytest.mark.parametrize("name", STAGE_NAMES)
def test_F15_a_failing_stage_denies_and_is_no_denial_by_policy(name: str) -> None:
    def broken(case: Case) -> Finding:
        raise ValueError("secret detail")

    stages = tuple((one, broken if one == name else stage) for one, stage in STAGES)
    verdict = gate(request(EDIT), WORLD.context(), stages)
    assert (verdict.decision, verdict.rule, verdict.source) == (DENY, "stage_error", "error")
    assert name in verdict.reason and "secret detail" not in verdict.reason
    assert len(verdict.stages) == 11


def test_F15_eyes_that_fail_deny() -> None:
    def blind(path: str) -> Facts:
        raise OSError("gone")

    verdict = WORLD.decide(EDIT, look=blind)
    assert (verdict.decision, verdict.source) == (DENY, "error")


@pytest.mark.parametrize("first", [2, 3])
def test_F26_deny_beats_ask_in_both_orders(first: int) -> None:
    refuse = Rule("refuse", DENY, program=("touch",))
    ask = Rule("ask", ASK, program=("touch",))
    numbers = (first, 5 - first)
    layers = (layer(numbers[0], refuse), layer(numbers[1], ask))
    verdict = WORLD.decide(tool("touch", "x"), layers=layers)
    assert (verdict.decision, verdict.rule) == (DENY, "refuse")


def test_a_lower_layer_cannot_weaken_a_higher_one() -> None:
    layers = (
        layer(2, Rule("ask", ASK, program=("touch",))),
        layer(5, Rule("permit", ALLOW, program=("touch",))),
    )
    assert WORLD.decide(tool("touch", "x"), layers=layers).decision is ASK


def test_a_rule_replaces_the_defaults_for_its_part_only() -> None:
    layers = (layer(3, Rule("rm ok", ALLOW, program=("rm",))),)
    assert WORLD.decide(tool("rm", "src/a.py"), layers=layers).decision is ALLOW
    both = WORLD.decide(shell("rm src/a.py && printenv"), layers=layers)
    assert (both.decision, both.source) == (ASK, "default")
    assert WORLD.decide(tool("rm", "-rf", "/"), layers=layers).decision is DENY


@pytest.mark.parametrize(
    ("field", "value"),
    [("run", ""), ("task", ""), ("workspace", ""), ("role", "boss"), ("kind", "x"), ("mode", "")],
)
def test_a_missing_or_unknown_identity_is_refused(field: str, value: str) -> None:
    verdict = gate(request(EDIT, **{field: value}), WORLD.context())
    assert (verdict.decision, verdict.source) == (DENY, "rule")


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {},
        {"kind": "delete_all"},
        {"kind": "read_file"},
        {"kind": "read_file", "path": 7},
        {"kind": "read_file", "path": "a", "disable_sandbox": True},
        {"kind": "verify", "program": "pytest"},
        {"kind": "run_tool", "program": "ls", "args": ["x" * 10_000_000]},
        {"kind": "read_file", "path": "a\0/../../etc/shadow"},
        {"kind": "network", "method": "GET"},
        {"kind": "network", "method": "BREW", "target": "https://example.org/"},
    ],
)
def test_F32_F34_what_does_not_fit_the_schema_is_denied(raw: object) -> None:
    verdict = WORLD.decide(raw)
    assert (verdict.decision, verdict.source, verdict.action) == (DENY, "rule", None)
    assert verdict.stages[1].reason.startswith("not reached")


MODE_TABLE = {
    "read": ({"kind": "read_file", "path": "src/a.py"}, "ALLOW ALLOW ALLOW ALLOW ALLOW"),
    "edit": (EDIT, "DENY ASK ALLOW ALLOW ALLOW"),
    "test": (tool("pytest"), "DENY ASK ALLOW ALLOW ALLOW"),
    "list": (tool("ls", "-l"), "ALLOW ALLOW ALLOW ALLOW ALLOW"),
    "remove": (tool("rm", "src/a.py"), "DENY ASK ASK ALLOW ALLOW"),
    "push": (PUSH, "DENY ASK ASK ASK DENY"),
    "secret": ({"kind": "read_file", "path": ".env"}, "DENY ESCALATE ESCALATE ESCALATE DENY"),
    "install": (tool("pip", "install", "x"), "DENY ASK ASK ASK DENY"),
    "opaque": (shell("$X"), "DENY ASK ASK ASK DENY"),
    "outside": ({"kind": "read_file", "path": "/etc/hosts"}, "DENY DENY DENY DENY DENY"),
    "finish": ({"kind": "finish", "summary": "done"}, "ALLOW ALLOW ALLOW ALLOW ALLOW"),
    "verify": ({"kind": "verify"}, "ALLOW ALLOW ALLOW ALLOW ALLOW"),
    "commit": ({"kind": "git_commit", "message": "m"}, "DENY ASK ALLOW ALLOW ALLOW"),
}


@pytest.mark.parametrize("name", MODE_TABLE)
def test_modes(name: str) -> None:
    action, expected = MODE_TABLE[name]
    modes = ("plan", "safe", "assisted", "autonomous", "unattended")
    assert [str(WORLD.decide(action, mode).decision) for mode in modes] == expected.split()


def test_autonomous_does_not_lift_what_a_rule_asks() -> None:
    layers = (layer(3, Rule("ask", ASK, program=("rm",))),)
    assert WORLD.decide(tool("rm", "src/a.py"), "autonomous", layers=layers).decision is ASK


@pytest.mark.parametrize(
    ("role", "kind", "action", "expected"),
    [
        ("reviewer", "review", EDIT, DENY),
        ("reviewer", "review", tool("pytest"), ALLOW),
        ("reviewer", "review", shell("ls > out.txt"), DENY),
        ("reviewer", "review", PUSH, DENY),
        ("verifier", "verification", {"kind": "verify"}, ALLOW),
        ("planner", "planning", {"kind": "read_file", "path": "src/a.py"}, ALLOW),
        ("planner", "planning", tool("ls"), ALLOW),
        ("planner", "planning", tool("make", "all"), DENY),
        ("implementer", "review", EDIT, DENY),
        ("integrator", "integration", {"kind": "git_commit", "message": "m"}, ALLOW),
    ],
)
def test_roles_and_kinds_limit_each_other(
    role: str, kind: str, action: object, expected: Decision
) -> None:
    verdict = gate(request(action, role=role, kind=kind), WORLD.context())
    assert verdict.decision is expected
    assert expected is ALLOW or decisions(verdict)["role"] is DENY


def test_an_approval_lifts_exactly_what_it_was_given_for() -> None:
    asked = WORLD.decide(PUSH)
    lifted = WORLD.decide(PUSH, approval=approval(asked))
    assert (lifted.decision, lifted.source, lifted.rule) == (ALLOW, "person", "ap1")
    assert lifted.digest == asked.digest
    other = WORLD.decide({"kind": "git_push", "ref": "HEAD"}, approval=approval(asked))
    assert other.decision is ASK


def test_T009_a_changed_file_makes_an_approval_worthless() -> None:
    world = World(files={"/tree/app.py": "v1\n"})
    edit = {"kind": "replace_text", "path": "app.py", "expected": "v1", "replacement": "v3"}
    asked = world.decide(edit, "safe")
    given = approval(asked)
    assert world.decide(edit, "safe", approval=given).decision is ALLOW
    world.files["/tree/app.py"] = "v2\n"
    assert world.decide(edit, "safe", approval=given).decision is ASK
    assert world.decide(edit, "safe", approval=given).key == asked.key


def test_an_approval_is_bound_to_the_tree_and_to_the_rule_that_asked() -> None:
    asked = WORLD.decide(PUSH, tree="t1")
    assert WORLD.decide(PUSH, tree="t2", approval=approval(asked)).decision is ASK
    rule = layer(3, Rule("push", ASK, tool=("git_push",)))
    ruled = WORLD.decide(PUSH, layers=(rule,))
    unrelated = layer(4, Rule("other", ASK, program=("touch",)))
    kept = WORLD.decide(PUSH, layers=(rule, unrelated), approval=approval(ruled))
    assert kept.decision is ALLOW
    changed = layer(3, Rule("push", ASK, "another reason", tool=("git_push",)))
    assert WORLD.decide(PUSH, layers=(changed,), approval=approval(ruled)).decision is ASK


@pytest.mark.parametrize(("given", "expected"), [(ASK, ESCALATE), (ESCALATE, ALLOW)])
def test_only_security_lifts_an_escalation(given: Decision, expected: Decision) -> None:
    secret = {"kind": "read_file", "path": ".env"}
    asked = WORLD.decide(secret)
    assert WORLD.decide(secret, approval=approval(asked, given)).decision is expected
    grant = GrantFact("g1", asked.key, given, "run", "sol")
    verdict = WORLD.decide(secret, grants=(grant,))
    assert verdict.decision is expected
    assert expected is ESCALATE or (verdict.source, verdict.rule) == ("grant", "g1")


def test_no_answer_lifts_a_denial() -> None:
    for action in ({**EDIT, "path": ".git/config"}, tool("sudo", "ls"), tool("./x")):
        asked = WORLD.decide(action)
        grant = GrantFact("g1", asked.key, ESCALATE, "workspace", "sol")
        verdict = WORLD.decide(action, grants=(grant,), approval=approval(asked, ESCALATE))
        assert verdict.decision is DENY


def test_a_grant_answers_in_an_unattended_run() -> None:
    asked = WORLD.decide(PUSH, "unattended")
    grant = GrantFact("g1", asked.key, ASK, "workspace", "bob")
    assert WORLD.decide(PUSH, "unattended", grants=(grant,)).decision is ALLOW


def test_audit_says_what_becomes_of_the_verdict() -> None:
    assert WORLD.decide(EDIT).stages[-1].reason == "journal"
    assert WORLD.decide(EDIT, audit="dry run").stages[-1].reason == "dry run"
    nobody = WORLD.decide(EDIT, audit=None)
    assert (nobody.decision, nobody.source, nobody.rule) == (DENY, "rule", "no audit")


def test_write_paths_bound_edits_and_declared_writes() -> None:
    for action, expected in [
        (EDIT, ALLOW),
        ({**EDIT, "path": "docs/a.md"}, DENY),
        ({**EDIT, "path": "docs/../src/b.py"}, ALLOW),
        (shell("echo x > src/c.txt"), ALLOW),
        (shell("echo x > other.txt"), DENY),
        (tool("cp", "src/a.py", "b.py"), DENY),
    ]:
        assert WORLD.decide(action, write_paths=("src", "*.md2")).decision is expected, action


@pytest.mark.parametrize(
    "script", ["echo x > {}", "tee {} < a.txt", "dd if=a.txt of={}", "cp a.txt {}", "mv a.txt {}"]
)
def test_F29_a_redirection_is_judged_as_a_write(script):
    allowed = World().context().allowed | {"dd"}
    written = {"kind": "write_file", "content": "x"}
    for path in ("../o.txt", ".git/config", "/etc/passwd", "~/.bashrc", ".ssh/authorized_keys"):
        outside = World().decide({**written, "path": path}).decision
        found = World().decide(shell(script.format(path)), allowed=allowed).decision
        assert found >= outside and found is not Decision.ALLOW, (path, found, outside)


@pytest.mark.parametrize("mode", ["autonomous", "unattended"])
@pytest.mark.parametrize(
    "path", [".github/workflows/ci.yml", "CLAUDE.md", ".env", ".vscode/tasks.json", ".mcp.json"]
)
def test_files_that_others_obey_are_asked_for_in_every_mode(mode: str, path: str) -> None:
    write = {"kind": "write_file", "path": path, "content": "x"}
    for action in (write, shell(f"echo x > {path}"), tool("cp", "src/a.py", path)):
        assert World(files={"/tree/src/a.py": "v1\n"}).decide(action, mode=mode).decision > ALLOW
