"""Questions to people: asked durably, answered once, done exactly as approved."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from runtime import approvals, runs, tasks
from runtime.agent import state
from runtime.core.errors import Conflict
from runtime.journal.append import now
from runtime.models import Approval, Worker
from runtime.runs import replay
from tests.agent.scenes import answer, seen, shell, task, tool, tree, write
from tests.kit import EDIT, FINISH, VERIFY, play, workspace

APPEND = shell("echo line >> log.txt")


def test_an_approval_wait_holds_no_worker_and_no_lease(cast):
    workspace(cast.alice)
    told = play(cast.alice, [APPEND, FINISH], mode="safe")
    assert told.state == "waiting"
    held = task(told)
    assert (held.state, held.lease_owner, held.lease_expires_at) == ("waiting", "", None)
    assert tasks.idle() and tasks.ready_count() == 0
    assert not Worker.objects.filter(task=held.pk).exists()
    assert told.types[-2:] == ["approval.requested", "task.waiting"]


def test_F16_an_approved_command_runs_once_and_not_before(cast):
    workspace(cast.alice)
    told = play(cast.alice, [APPEND, VERIFY, FINISH], mode="safe")
    log = tree(told) / "log.txt"
    assert not log.exists()
    answer(told, cast.bob)
    told.work()
    assert log.read_text() == "line\n"
    assert told.state == "succeeded"
    assert told.types.count("approval.consumed") == 1
    assert task(told).attempt == 1, "a wait uses up no attempt"
    assert replay.check(told.run.pk) == ""


def test_F14_a_second_time_asks_again(cast):
    workspace(cast.alice)
    told = play(cast.alice, [APPEND, APPEND, FINISH], mode="safe")
    answer(told, cast.bob)
    told.work()
    assert told.state == "waiting"
    assert (tree(told) / "log.txt").read_text() == "line\n"
    assert told.types.count("approval.requested") == 2


def test_an_answer_for_the_task_covers_the_same_action_again(cast):
    workspace(cast.alice)
    told = play(cast.alice, [APPEND, APPEND, VERIFY, FINISH], mode="safe")
    answer(told, cast.bob, scope="task")
    told.work()
    assert told.types.count("approval.requested") == 1
    assert told.types.count("grant.created") == 1
    assert told.state == "succeeded"
    assert told.of("policy.decided")[2]["source"] == "grant"
    assert replay.check(told.run.pk) == ""


def test_a_denial_with_its_comment_reaches_the_model(cast):
    workspace(cast.alice)
    told = play(cast.alice, [APPEND, FINISH], mode="safe")
    answer(told, cast.bob, "deny", comment="Use the logger instead.")
    told.work()
    refused = told.last("action.refused")
    assert refused["by"] == "person"
    assert "denied" in refused["reason"] and "Use the logger instead." in refused["reason"]
    assert told.state == "succeeded"
    assert not (tree(told) / "log.txt").exists()


def test_a_long_comment_reaches_the_model_whole(cast):
    workspace(cast.alice)
    comment = "because " + "ö" * 3900
    told = play(cast.alice, [APPEND, FINISH], mode="safe")
    answer(told, cast.bob, "deny", comment=comment)
    told.work()
    assert comment in seen(told)[0]
    assert told.state == "succeeded"
    assert replay.check(told.run.pk) == ""


def test_expired_is_not_denied(cast):
    workspace(cast.alice)
    told = play(cast.alice, [APPEND, FINISH], mode="safe")
    Approval.objects.update(expires_at=now() - timedelta(seconds=1))
    assert approvals.expire_due() == 1
    told.work()
    assert "approval.expired" in told.types and "approval.denied" not in told.types
    refused = told.last("action.refused")
    assert refused["by"] == "expiry"
    assert "no denial" in refused["reason"]
    assert told.state == "succeeded"
    assert Approval.objects.get().state == "expired"


def test_F5_an_answer_after_the_expiry_is_told_the_outcome(cast):
    workspace(cast.alice)
    told = play(cast.alice, [APPEND, FINISH], mode="safe")
    Approval.objects.update(expires_at=now() - timedelta(seconds=1))
    for verdict in ("approve", "deny"):
        with pytest.raises(Conflict) as late:
            approvals.decide(Approval.objects.get().pk, by=cast.bob, verdict=verdict)
        assert late.value.outcome == "expired"
    told.work()
    assert told.types.count("approval.expired") == 1
    assert told.state == "succeeded"


def test_F6_after_a_late_answer_the_model_has_a_result_for_every_call(cast):
    workspace(cast.alice)
    told = play(cast.alice, [APPEND, tool("ls"), FINISH], mode="safe")
    Approval.objects.update(expires_at=now() - timedelta(seconds=1))
    with pytest.raises(Conflict):
        approvals.decide(Approval.objects.get().pk, by=cast.bob, verdict="approve")
    told.work()
    assert told.state == "succeeded"
    rows = ((row.type, row.task, row.payload) for row in told.events)
    turns = state.fold(told.events[1].task, rows).turns
    assert [turn.wanted["kind"] for turn in turns][:2] == ["run_shell", "run_tool"]
    assert all(turn.result for turn in turns[:2])
    assert "expired" in turns[0].result or "Nobody answered" in turns[0].result


def test_the_question_of_a_model_gets_the_answer_of_a_person(cast):
    workspace(cast.alice)
    told = play(cast.alice, [{"kind": "ask_human", "question": "Which colour?"}, FINISH])
    assert told.state == "waiting"
    assert told.pending.kind == "question"
    assert approvals.card(told.pending)["question"] == "Which colour?"
    answer(told, cast.alice, comment="Blue.")
    told.work()
    assert seen(told)[0] == "A person answers: Blue."
    assert told.state == "succeeded"
    assert replay.check(told.run.pk) == ""


def test_a_question_that_nobody_wants_to_answer_is_refused(cast):
    workspace(cast.alice)
    told = play(cast.alice, [{"kind": "ask_human", "question": "May I?"}, FINISH])
    answer(told, cast.bob, "deny")
    told.work()
    assert "denied" in seen(told)[0]
    assert told.state == "succeeded"


def test_an_edit_shows_its_diff_on_the_card(cast):
    workspace(cast.alice)
    told = play(cast.alice, [EDIT, VERIFY, FINISH], mode="safe")
    card = approvals.card(told.pending)
    assert "-first line" in card["diff"] and "+changed" in card["diff"]
    assert card["stages"][0][0] == "intake" and len(card["stages"]) == 11
    answer(told, cast.bob)
    told.work()
    assert told.state == "succeeded"


def test_A15_a_card_names_what_the_verification_runs(cast):
    workspace(cast.alice, verify=("python3 -m unittest -q",))
    edit = write("tests/test_notes.py", "import unittest\n")
    told = play(cast.alice, [edit, FINISH], mode="safe")
    assert approvals.card(told.pending)["verification_inputs"] == ["tests/test_notes.py"]


def test_an_approval_is_void_where_the_file_it_is_about_has_changed(cast):
    workspace(cast.alice)
    told = play(cast.alice, [EDIT, VERIFY, FINISH], mode="safe")
    (tree(told) / "notes.txt").write_text("something else\n")
    answer(told, cast.bob)
    told.work()
    assert told.types.count("approval.superseded") == 1
    assert told.types.count("approval.requested") == 2
    assert (tree(told) / "notes.txt").read_text() == "something else\n"
    assert "-something else" in approvals.card(told.pending)["diff"]
    answer(told, cast.bob)
    told.work()
    assert told.state == "succeeded"
    assert replay.check(told.run.pk) == ""


def test_F22_a_cancel_takes_the_question_with_it(cast):
    workspace(cast.alice)
    told = play(cast.alice, [APPEND, FINISH], mode="safe")
    pending = told.pending.pk
    runs.cancel(told.run.pk, cast.alice)
    assert told.state == "cancelled"
    assert approvals.waiting(cast.bob).open == 0
    with pytest.raises(Conflict) as late:
        approvals.decide(pending, by=cast.bob, verdict="approve")
    assert late.value.outcome == "cancelled"
    told.work()
    assert not (tree(told) / "log.txt").exists()


def test_F2_the_card_is_in_the_first_page_and_an_interruption_is_no_denial(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("mv", "notes.txt", "n.txt"), FINISH], mode="safe")
    client = Client()
    client.force_login(cast.bob)
    page = client.get(f"/runs/{told.run.pk}/")
    assert page.status_code == 200
    text = page.content.decode()
    assert told.pending.pk in text and "notes.txt" in text
    runs.cancel(told.run.pk, cast.alice)
    assert told.last("approval.cancelled")["reason"] == "interrupted"
    assert "approval.denied" not in told.types


def test_a_plan_changes_nothing_and_asks_nobody(cast):
    workspace(cast.alice)
    told = play(cast.alice, [write("a", "b"), APPEND, FINISH], mode="plan")
    assert told.types.count("action.refused") == 2
    assert "approval.requested" not in told.types
    assert told.state == "succeeded"


def test_an_unattended_run_asks_nobody(cast):
    workspace(cast.alice)
    told = play(
        cast.alice, [{"kind": "ask_human", "question": "May I?"}, FINISH], mode="unattended"
    )
    assert "Nobody answers" in seen(told)[0]
    assert told.state == "succeeded"


def test_a_large_edit_is_done_whole_after_its_approval(cast):
    workspace(cast.alice)
    text = "a line of some length\n" * 5000
    told = play(cast.alice, [write("big.txt", text), VERIFY, FINISH], mode="safe")
    assert approvals.card(told.pending)["action"]["content"] == text, "the card shows the whole"
    answer(told, cast.bob)
    told.work()
    assert (tree(told) / "big.txt").read_text() == text
    assert told.state == "succeeded"
    assert replay.check(told.run.pk) == ""
