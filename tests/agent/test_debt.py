"""Verification debt: what opens it, and the one thing that closes it."""

from __future__ import annotations

import pytest

from runtime.models import Workspace
from tests.agent.scenes import change, seen, shell, tool, tree, write
from tests.kit import EDIT, FINISH, VERIFY, play, repository, workspace

GREEN = ("grep -q changed notes.txt",)


def test_A1_a_tool_then_finish_where_no_edit_is_required(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("true"), FINISH])
    assert told.state == "succeeded"
    assert len([p for p in told.of("action.completed") if p.get("trace")]) == 1
    assert "checkpoint.created" not in told.types
    assert "delivery.completed" not in told.types


def test_A2_edit_verify_finish_runs_the_operators_command_as_configured(cast):
    workspace(cast.alice, verify=("grep -c 'changed' notes.txt", "test -f notes.txt"))
    told = play(cast.alice, [EDIT, VERIFY, FINISH])
    assert told.state == "succeeded"
    first = told.of("verification.passed")[0]
    assert [command["argv"] for command in first["commands"]] == [
        ["grep", "-c", "changed", "notes.txt"],
        ["test", "-f", "notes.txt"],
    ]
    assert [command["status"] for command in first["commands"]] == [0, 0]
    assert all(len(command["output_sha256"]) == 64 for command in first["commands"])
    assert first["tree"] == told.last("delivery.completed")["tree"]


def test_A3_the_very_same_command_as_a_tool_does_not_clear_the_debt(cast):
    workspace(cast.alice, verify=GREEN)
    told = play(cast.alice, [EDIT, tool("grep", "-q", "changed", "notes.txt"), FINISH])
    assert told.types.count("finish.refused") == 1
    assert told.last("finish.refused")["debt"] is True
    assert told.state == "failed"


def test_A4_without_a_verification_command_verify_and_finish_are_refused(cast):
    workspace(cast.alice, verify=())
    told = play(cast.alice, [EDIT, VERIFY, FINISH])
    assert told.last("action.refused")["kind"] == "verify"
    assert "no verification" in told.last("finish.refused")["reason"].lower()
    assert told.state == "failed"
    assert any("No verification" in text for text in told.of("run.submitted")[0]["warnings"])


def test_A5_an_edit_after_a_verification_opens_the_debt_again(cast):
    workspace(cast.alice)
    told = play(cast.alice, [EDIT, VERIFY, {**EDIT, "content": "again\n"}, FINISH, VERIFY, FINISH])
    assert told.types.count("finish.refused") == 1
    assert told.state == "succeeded"


def test_A6_a_verification_that_times_out_leaves_the_debt(cast):
    workspace(cast.alice, verify=("sleep 30",))
    Workspace.objects.update(limits={"wall_seconds": 1})
    told = play(cast.alice, [EDIT, VERIFY, FINISH])
    failed = told.last("verification.failed")
    assert failed["commands"][0]["timed_out"] is True
    assert "timed out" in failed["reason"]
    assert told.last("finish.refused")["debt"] is True
    assert told.state == "failed"


def test_A7_a_failed_verification_then_finish_is_refused(cast):
    workspace(cast.alice, verify=("grep -q absent notes.txt", "touch never"))
    told = play(cast.alice, [EDIT, VERIFY, FINISH])
    failed = told.last("verification.failed")
    assert len(failed["commands"]) == 1, "nothing runs after the first failure"
    assert failed["commands"][0]["status"] == 1
    assert told.last("finish.refused")["debt"] is True
    assert told.state == "failed"


def test_A12_a_required_edit_refuses_finish_until_something_changed(cast):
    workspace(cast.alice)
    told = play(cast.alice, [FINISH, EDIT, VERIFY, FINISH], require_edit=True)
    assert told.types.count("finish.refused") == 1
    assert told.last("finish.refused")["debt"] is False
    assert told.state == "succeeded"


def test_A14_a_command_that_changes_a_tracked_file_opens_the_debt_again(cast):
    workspace(cast.alice)
    told = play(cast.alice, [EDIT, VERIFY, shell("echo more >> notes.txt"), FINISH, VERIFY, FINISH])
    assert told.types.count("finish.refused") == 1
    assert told.state == "succeeded"
    assert told.last("delivery.completed")["insertions"] == 2


def test_A14_a_command_that_makes_a_new_file_opens_the_debt_too(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("touch", "new.txt"), FINISH])
    assert told.last("finish.refused")["debt"] is True


def test_A14_a_tree_that_is_the_verified_one_again_has_no_debt_where_commands_changed_it(cast):
    workspace(cast.alice)
    told = play(
        cast.alice, [tool("touch", "new.txt"), tool("rm", "new.txt"), FINISH], mode="autonomous"
    )
    assert told.state == "succeeded"
    assert "finish.refused" not in told.types


def test_A19_an_edit_that_restores_the_old_text_opens_the_debt(cast):
    workspace(cast.alice)
    told = play(
        cast.alice,
        [
            change("notes.txt", "first", "1st"),
            VERIFY,
            change("notes.txt", "1st", "first"),
            FINISH,
            VERIFY,
            FINISH,
        ],
    )
    assert told.types.count("finish.refused") == 1
    assert told.last("finish.refused")["debt"] is True
    assert told.state == "succeeded"


def test_A20_an_edit_of_an_ignored_file_opens_the_debt(cast):
    workspace(cast.alice, repository({"a.txt": "a\n", ".gitignore": "*.log\n"}))
    told = play(cast.alice, [write("out.log", "x\n"), FINISH, VERIFY, FINISH])
    assert told.types.count("finish.refused") == 1
    assert told.state == "succeeded"
    assert "delivery.completed" not in told.types, "an ignored file is no part of a delivery"


def test_A21_a_tracked_file_that_verification_changes_keeps_the_debt(cast):
    workspace(cast.alice, verify=("sh -c 'date +%N >> notes.txt'",))
    told = play(cast.alice, [EDIT, VERIFY, FINISH])
    failed = told.last("verification.failed")
    assert "notes.txt" in failed["reason"]
    assert failed["commands"][0]["status"] == 0
    assert told.last("finish.refused")["debt"] is True
    assert told.state == "failed"


def test_A21_a_tracked_file_that_verification_removes_keeps_the_debt(cast):
    workspace(cast.alice, repository({"a.txt": "a\n", "b.txt": "b\n"}), verify=("rm -f b.txt",))
    told = play(cast.alice, [write("a.txt", "A\n"), VERIFY, FINISH])
    assert "b.txt" in told.last("verification.failed")["reason"]
    assert told.last("finish.refused")["debt"] is True


def test_A21_new_files_of_the_verification_are_left_out_and_listed(cast):
    workspace(cast.alice, verify=("touch report.xml",))
    told = play(cast.alice, [EDIT, VERIFY, tool("true"), FINISH])
    assert told.state == "succeeded"
    assert told.of("verification.passed")[0]["left_out"] == ["report.xml"]
    assert any("report.xml" in text for text in seen(told))
    assert told.last("delivery.completed")["files"] == 1
    assert (tree(told) / "report.xml").exists()


def test_A21_a_left_out_file_that_the_model_then_edits_is_delivered(cast):
    workspace(cast.alice, verify=("touch report.xml",))
    told = play(cast.alice, [EDIT, VERIFY, write("report.xml", "<a/>\n"), FINISH, VERIFY, FINISH])
    assert told.types.count("finish.refused") == 1
    assert told.state == "succeeded"
    assert told.last("delivery.completed")["files"] == 2


@pytest.mark.parametrize("extra", [{"program": "true"}, {"args": ["x"]}, {"timeout": 5}])
def test_A23_verify_takes_no_field(cast, extra):
    workspace(cast.alice)
    told = play(cast.alice, [{**VERIFY, **extra}, FINISH])
    (name,) = extra
    assert name in told.last("answer.refused")["reason"]
    assert "verification.passed" not in told.types
    assert told.state == "succeeded"


def test_F57_a_claim_is_no_proof_and_the_refusal_names_the_open_debt(cast):
    workspace(cast.alice)
    told = play(cast.alice, [EDIT, {"kind": "finish", "summary": "All tests pass."}])
    refused = told.last("finish.refused")
    assert refused["debt"] is True
    assert "debt" in refused["reason"] and "verify" in refused["reason"]
    assert "delivery.completed" not in told.types
    assert told.state == "failed"
