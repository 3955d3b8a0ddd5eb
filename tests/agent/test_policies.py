"""Rules from files: in force at once or not at all, journaled, tried again on what was recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime import approvals, gating
from runtime.cli import main as cli
from runtime.core.errors import BadInput
from runtime.gating import backtest, policies
from runtime.journal.read import every
from runtime.models import Approval, Task
from runtime.policy.language import PolicyFault
from runtime.runs import replay
from runtime.worker import inline
from tests.agent.scenes import answer, shell, task, tool, write
from tests.kit import EDIT, FINISH, VERIFY, play, rule, submit, workspace

NO_EDITS = rule("DENY", 'tool = ["write_file", "replace_text"]', "no-edits")
ASK_EDITS = NO_EDITS.replace("DENY", "ASK").replace("no-edits", "ask-edits")
BROKEN = rule("DENY", 'path = "a["')


def read(path: str) -> dict[str, Any]:
    return {"kind": "read_file", "path": path}


def loaded() -> list[dict[str, Any]]:
    """What the system's chain says about the rules."""
    return [event.payload for event in every("system") if event.type == "policy.loaded"]


def decided(told: Any) -> list[tuple[str, str, str]]:
    return [(one["decision"], one["rule"], one["source"]) for one in told.of("policy.decided")]


def asked(action: dict[str, Any], **more: str) -> dict[str, Any]:
    return gating.check({"action": action, "workspace": "work", **more})


def test_without_files_nothing_is_loaded_and_nothing_journaled(cast, policy):
    workspace(cast.alice)
    told = play(cast.alice, [EDIT, VERIFY, FINISH])
    assert told.state == "succeeded" and loaded() == []


def test_a_rule_holds_for_the_next_action_and_its_loading_stands_in_the_journal(cast, policy):
    workspace(cast.alice)
    assert decided(play(cast.alice, [EDIT, FINISH]))[0][0] == "ALLOW"
    policy("system.toml", NO_EDITS)
    told = play(cast.alice, [EDIT, FINISH])
    assert decided(told)[0] == ("DENY", "no-edits", "rule")
    (one,) = loaded()
    assert (one["rules"], [name for name, _ in one["files"]]) == (1, ["system.toml"])
    assert one["texts"] == [["system.toml", NO_EDITS]]
    assert one["hash"] == policies.current().hash
    play(cast.alice, [EDIT, FINISH])
    assert len(loaded()) == 1, "only changes are journaled"
    policy("system.toml", "")
    assert decided(play(cast.alice, [EDIT, FINISH]))[0][0] == "ALLOW"
    assert [one["rules"] for one in loaded()] == [1, 0]


def test_rules_belong_to_whom_their_file_names(cast, policy):
    workspace(cast.alice)
    workspace(cast.alice, name="other")
    policy("workspaces/other.toml", NO_EDITS)
    policy("users/alice.toml", rule("ASK", 'program = "ls"', "no-ls"))
    policy("roles/implementer.toml", rule("DENY", 'program = "wc"', "no-wc"))
    assert asked(EDIT)["decision"] == "ALLOW"
    assert gating.check({"action": EDIT, "workspace": "other"})["rule"] == "no-edits"
    assert asked(tool("ls"))["decision"] == "ALLOW"
    assert asked(tool("ls"), user="alice")["rule"] == "no-ls"
    assert asked(tool("wc"))["rule"] == "no-wc"
    told = play(cast.alice, [tool("ls"), FINISH])
    assert decided(told)[0] == ("ASK", "no-ls", "rule")


def test_a_run_may_have_rules_of_its_own(cast, policy):
    workspace(cast.alice)
    told = submit(cast.alice, [EDIT, FINISH])
    policy(f"runs/{told.run.pk}.toml", NO_EDITS)
    assert decided(told.work())[0] == ("DENY", "no-edits", "rule")
    assert decided(play(cast.alice, [EDIT, FINISH]))[0][0] == "ALLOW"


def test_F32_a_reload_is_all_or_nothing(cast, policy):
    workspace(cast.alice)
    policy("system.toml", NO_EDITS)
    assert decided(play(cast.alice, [EDIT, FINISH]))[0][1] == "no-edits"
    policy("system.toml", "")
    policy("organisation.toml", BROKEN)
    assert decided(play(cast.alice, [EDIT, FINISH]))[0][1] == "no-edits", "the old rules stay"
    fault = policies.fault()
    assert fault is not None and "organisation.toml, rule r, field path" in str(fault)
    with pytest.raises(PolicyFault):
        asked(EDIT)
    assert len(loaded()) == 1
    policy("organisation.toml", "")
    assert decided(play(cast.alice, [EDIT, FINISH]))[0][0] == "ALLOW"
    assert policies.fault() is None


@pytest.mark.parametrize("text", [BROKEN, "x =", rule("DENY", 'tool = "*"\nmatch = [{kind = 1}]')])
def test_F32_a_process_that_begins_with_broken_files_does_nothing(cast, policy, text):
    workspace(cast.alice)
    told = submit(cast.alice, [EDIT, FINISH])
    policy("system.toml", text)
    with pytest.raises(PolicyFault, match=r"system\.toml"):
        inline.work(until_idle=True)
    assert told.of("action.proposed") == []
    with pytest.raises(PolicyFault):
        policies.require()


def test_F32_rules_that_vanish_are_missed(cast, policy):
    workspace(cast.alice)
    path = policy("system.toml", NO_EDITS)
    play(cast.alice, [EDIT, FINISH])
    path.unlink()
    assert decided(play(cast.alice, [EDIT, FINISH]))[0][1] == "no-edits"
    policies.forget()
    with pytest.raises(PolicyFault, match=r"system\.toml: its rules were in force, and it is gone"):
        policies.require()
    policy("system.toml", "")
    policies.in_force("worker")
    path.unlink()
    policies.forget()
    policies.require()


@pytest.mark.parametrize("name", ["organization.toml", "workspace/x.toml", "a/b/c/d.toml"])
def test_a_file_that_no_layer_has_is_not_overlooked(cast, policy, name):
    policy(name, "")
    with pytest.raises(PolicyFault, match="no layer has this file"):
        policies.require()


def test_what_is_no_policy_file_is_left_alone(cast, policy):
    policy("README.md", "x = ")
    policy(".system.toml.swp", "x = ")
    policy("system.toml", NO_EDITS)
    assert policies.current().rules == 1


def test_files_that_cannot_be_read_are_faults(cast, policy):
    policy("system.toml", "#" * (257 << 10))
    policy("organisation.toml", "")
    (policies.folder() / "organisation.toml").write_bytes(b"# \xff")
    told = [str(fault) for one in policies.all_documents() for fault in one.faults]
    assert any("over 262144 bytes" in one for one in told)
    assert any("no UTF-8" in one for one in told)


def waiting(cast) -> Any:
    workspace(cast.alice)
    told = play(cast.alice, [write("a.txt", "x"), VERIFY, FINISH])
    assert told.state == "waiting"
    return told


def test_a_reload_leaves_questions_alone_whose_verdict_is_the_same(cast, policy):
    policy("system.toml", ASK_EDITS)
    told = waiting(cast)
    pending = told.pending.pk
    policy("system.toml", ASK_EDITS + rule("DENY", 'program = "wc"', "no-wc"))
    policy("organisation.toml", rule("ASK", 'program = "ls"', "no-ls"))
    assert approvals.Regate().run("reconciler") == 0
    assert told.pending.pk == pending
    answer(told, cast.bob)
    told.work()
    assert told.state == "succeeded"
    assert told.of("approval.consumed")[0]["approval"] == pending


@pytest.mark.parametrize(
    ("text", "ends"),
    [("", "succeeded"), (NO_EDITS, "failed"), (ASK_EDITS.replace("ASK", "ESCALATE"), "waiting")],
)
def test_a_reload_supersedes_questions_whose_verdict_changed(cast, policy, text, ends):
    policy("system.toml", ASK_EDITS)
    told = waiting(cast)
    pending = told.pending.pk
    policy("system.toml", text)
    told.work()
    (gone,) = told.of("approval.superseded")
    assert (gone["approval"], gone["reason"]) == (pending, "the rules changed")
    assert Approval.objects.get(pk=pending).state == "superseded"
    assert told.state == ends or (ends == "failed" and told.of("action.refused"))
    if ends == "waiting":
        assert (told.pending.decision, told.pending.rule) == ("ESCALATE", "ask-edits")
    assert replay.check(told.run.pk) == ""


def test_a_regate_looks_once_and_again_after_each_change(cast, policy):
    policy("system.toml", ASK_EDITS)
    told = waiting(cast)
    regate = approvals.Regate()
    assert [regate.run("reconciler"), regate.run("reconciler")] == [0, 0]
    policy("system.toml", "")
    assert [regate.run("reconciler"), regate.run("reconciler")] == [1, 0]
    assert task(told).state == "ready"


def test_the_models_own_questions_are_not_the_gates(cast, policy):
    workspace(cast.alice)
    told = play(cast.alice, [{"kind": "ask_human", "question": "Which?"}, FINISH])
    policy("system.toml", rule("DENY", 'tool = "*"'))
    assert approvals.Regate().run("reconciler") == 0
    assert told.pending.kind == "question"


def test_a_backtest_decides_recorded_actions_again(cast, policy):
    workspace(cast.alice)
    steps = [EDIT, tool("wc", "notes.txt"), shell("cat notes.txt | wc -l"), VERIFY, FINISH]
    told = play(cast.alice, steps)
    changed = backtest.document("x", rule("DENY", 'program = "wc"', "no-wc"), "organisation")
    found = backtest.run(changed)
    assert (found.decided, found.drifted, found.more) == (5, 0, False)
    assert [(one.action, one.now.decision, one.then.decision) for one in found.changes] == [
        (f"{task(told).pk}.{step}", "ALLOW", "DENY") for step in (2, 3)
    ]
    assert found.changes[0].then.rule == "no-wc"
    assert loaded() == [] and policies.current().empty
    assert backtest.run(changed, limit=1).more


def test_a_backtest_uses_what_was_seen_then(cast, policy):
    workspace(cast.alice)
    link = "ln -s notes.txt link.txt"
    told = play(cast.alice, [shell(link), read("link.txt"), shell("rm link.txt"), FINISH])
    answer(told, cast.bob)
    told.work()
    changed = backtest.document("system.toml", rule("ASK", 'path = "/notes.txt"'))
    kinds = {one.kind for one in backtest.run(changed).changes}
    assert "read_file" in kinds, "the link is gone, and what it led to is remembered"


def test_a_backtest_remembers_which_links_a_pattern_met(cast, policy):
    workspace(cast.alice)
    steps = ["ln -s notes.txt link.txt", "cat link.*", "rm link.txt"]
    told = play(cast.alice, [*map(shell, steps), FINISH])
    answer(told, cast.bob)
    told.work()
    found = backtest.run(backtest.document("system.toml", rule("ASK", 'path = "/notes.txt"')))
    assert found.drifted == 0
    assert "cat link.*" in str([one.body for one in found.changes])


def test_a_backtest_repeats_grants_but_not_answers(cast, policy):
    workspace(cast.alice)
    again = shell("echo line >> log.txt")
    told = play(cast.alice, [again, again, VERIFY, FINISH], mode="safe")
    answer(told, cast.bob, scope="task")
    told.work()
    assert [source for _, _, source in decided(told)][:3] == ["mode", "person", "grant"]
    found = backtest.run(backtest.document("system.toml", rule("ESCALATE", 'program = "echo"')))
    assert found.drifted == 0
    assert {(one.was.source, one.then.decision) for one in found.changes} == {
        ("mode", "ESCALATE"),
        ("grant", "ESCALATE"),
    }


def test_a_backtest_replaces_the_file_of_the_same_layer(cast, policy):
    workspace(cast.alice)
    policy("system.toml", ASK_EDITS)
    policy("workspaces/work.toml", rule("ASK", 'program = "wc"'))
    told = play(cast.alice, [tool("wc", "notes.txt"), FINISH])
    assert told.state == "waiting"
    found = backtest.run(backtest.document("new.toml", "", "workspace", "work"))
    assert [(one.now.decision, one.then.decision) for one in found.changes] == [("ASK", "ALLOW")]
    assert not backtest.run(backtest.document("other.toml", "", "workspace")).changes


def test_a_backtest_wants_to_know_the_layer(cast, policy, tmp_path):
    with pytest.raises(BadInput, match="nobody says which layer"):
        backtest.document("new.toml", "")
    with pytest.raises(BadInput, match="'king' is none"):
        backtest.document("new.toml", "", "king")
    assert backtest.document("new.toml", 'layer = "user"').subject == "new"
    with pytest.raises(BadInput, match="cannot be read"):
        backtest.read_file(str(tmp_path / "none.toml"))
    placed = policy("workspaces/demo.toml", "")
    assert backtest.read_file(str(placed)).layer.name == "workspace demo"


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = cli.run(list(words), None, "--json" in words)
    return code, capsys.readouterr().out


def test_policy_test_prints_each_failure_and_ends_with_1(cast, policy, capsys):
    assert command(capsys, "policy", "test")[0] == 0
    policy("system.toml", NO_EDITS + 'match = [{kind = "write_file", path = "a", content = ""}]')
    code, out = command(capsys, "policy", "test")
    assert code == 0 and "1 files, 1 examples" in out and "all well" in out
    policy("workspaces/work.toml", rule("DENY", 'program = "rm"\nmatch = ["ls"]\nmood = 1'))
    policy("organisation.toml", rule("DENY", 'program = "rm"\nmatch = ["ls"]'))
    code, out = command(capsys, "policy", "test")
    assert code == 1
    assert "organisation.toml, rule r, field match 1: the rule does not match ls" in out
    assert "workspaces/work.toml, rule r, field mood: unknown" in out
    code = cli.run(["policy", "test"], None, True)
    told = json.loads(capsys.readouterr().out)
    assert code == 1 and told["ok"] is False and len(told["failures"]) == 2


def test_policy_backtest_lists_what_would_change(cast, policy, capsys, tmp_path):
    workspace(cast.alice)
    told = play(cast.alice, [EDIT, VERIFY, FINISH])
    path = tmp_path / "system.toml"
    path.write_text(NO_EDITS)
    code, out = command(capsys, "policy", "backtest", str(path))
    assert code == 0
    assert f"{told.run.pk}  {Task.objects.get(run=told.run).pk}.1  ALLOW → DENY  no-edits" in out
    assert "1 of 3 recorded decisions would change as system." in out
    assert cli.run(["policy", "backtest", str(path)], None, True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["changes"][0]["then"]["decision"] == "DENY"
    path.write_text(BROKEN)
    with pytest.raises(PolicyFault, match=r"system\.toml, rule r, field path"):
        command(capsys, "policy", "backtest", str(path))
