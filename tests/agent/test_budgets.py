"""Budgets of a run: reserved before, settled after, over all of its tasks; asked about, and ended."""

from __future__ import annotations

from threading import Event

import pytest
from django.db.models.functions import Now

from runtime import budgets, runs, tasks
from runtime.agent import spending
from runtime.agent.session import Session
from runtime.core import amounts
from runtime.core.errors import BadInput, Refused
from runtime.models import Approval, Run, Task
from runtime.runs import replay
from tests.agent.scenes import answer, task, tool, write
from tests.clock import begun, best_of_three
from tests.kit import FINISH, VERIFY, play, submit, workspace
from tests.store.store_kit import at_once

COST = {"input_tokens": 100_000, "output_tokens": 20_000}
"""A million micro-units by the default prices: 0.5 in, 0.5 out."""


def said(step: dict, **usage: int) -> dict:  # type: ignore[type-arg]
    return {**step, "usage": {**COST, **usage}}


def many(count: int) -> list[dict]:  # type: ignore[type-arg]
    """Steps that differ, each for one unit of money."""
    return [said(tool("echo", str(number))) for number in range(count)]


def line(run: Run, name: str) -> budgets.Line:
    return next(one for one in budgets.lines(run) if one.name == name)


def test_F51_money_that_is_used_up_ends_the_run_by_name(cast):
    workspace(cast.alice)
    told = submit(cast.alice, many(10), budgets={"cost": 3_000_000}, mode="unattended").work()
    assert (told.state, told.reason) == ("failed", "budget_exhausted")
    assert told.last("task.failed")["detail"].startswith("cost: 3.00 of 3.00 ")
    assert told.types.count("message.completed") == 3
    assert replay.check(told.run.pk) == ""


def test_what_every_step_used_is_counted_and_replayed(cast):
    workspace(cast.alice)
    told = play(cast.alice, [said(write("a.txt", "x\n")), tool("echo", "hello"), VERIFY, FINISH])
    assert told.state == "succeeded", told.observations()
    used = {one.name: one.used for one in budgets.lines(told.run)}
    assert used["steps"] == used["model_calls"] == 4
    assert (used["input_tokens"], used["output_tokens"]) == (100_000, 20_000)
    assert used["cost"] == 1_000_000
    assert used["output_bytes"] == 6 and used["memory_bytes"] > 0 and used["cpu_seconds"] >= 1
    assert used["artifact_bytes"] > 0 and used["attempts"] == 1
    assert line(told.run, "cost").estimated == 1_000_000, "no table knows a script"
    row = task(told)
    assert row.reserved == ""
    Task.objects.update(spent="")
    assert "spent" in replay.check(told.run.pk)
    replay.rebuild(told.run.pk)
    assert task(told).spent == row.spent and replay.check(told.run.pk) == ""


def test_a_run_that_nears_the_end_of_a_budget_asks_a_person_and_goes_on(cast):
    workspace(cast.alice)
    told = play(cast.alice, [*many(4), FINISH], budgets={"cost": 5_000_000})
    assert told.state == "waiting"
    asked = told.pending
    assert (asked.action_kind, asked.kind) == ("budget", "question")
    assert "4.00 of 5.00" in asked.card
    assert replay.check(told.run.pk) == ""
    answer(told, cast.alice)
    told.work()
    assert told.state == "succeeded"
    assert Approval.objects.count() == 1, "asked once"
    assert replay.check(told.run.pk) == ""


def test_a_person_who_says_no_ends_the_run(cast):
    workspace(cast.alice)
    told = play(cast.alice, [*many(4), FINISH], budgets={"cost": 5_000_000})
    answer(told, cast.bob, "deny", comment="Enough.")
    told.work()
    assert (told.state, told.reason) == ("failed", "budget_denied")
    assert "Enough." in told.last("task.failed")["detail"]


def test_F8_a_question_about_a_budget_that_nobody_answers_is_asked_three_times(cast):
    workspace(cast.alice)
    told = play(cast.alice, [*many(4), FINISH], budgets={"cost": 5_000_000})
    for _ in range(3):
        Approval.objects.filter(state="pending").update(expires_at=Now())
        told.work()
    assert (told.state, told.reason) == ("failed", "approvals_expired")
    assert Approval.objects.count() == 3


def test_more_is_granted_by_a_reviewer_and_answers_the_open_question(cast):
    workspace(cast.alice)
    told = play(cast.alice, [*many(8), FINISH], budgets={"cost": 5_000_000})
    with pytest.raises(Refused):
        runs.grant_budget(told.run.pk, {"cost": 5_000_000}, cast.alice)
    runs.grant_budget(told.run.pk, {"cost": 5_000_000}, cast.bob, "It is worth it.")
    assert told.last("budget.granted") == {
        "budget": "cost",
        "more": 5_000_000,
        "limit": 10_000_000,
        "comment": "It is worth it.",
    }
    assert Approval.objects.get().state == "approved"
    told.work()
    assert told.state == "waiting", "80 % of the new limit"
    assert replay.check(told.run.pk) == ""
    answer(told, cast.bob)
    assert told.work().state == "succeeded"


def test_A10_steps_that_were_granted_let_a_failed_run_go_on(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("echo", "1"), tool("echo", "2"), FINISH], max_steps=2)
    assert told.reason == "step_limit"
    runs.grant_budget(told.run.pk, {"steps": 2, "attempts": 1}, cast.bob)
    told.run.refresh_from_db()
    assert (told.run.max_steps, told.run.max_attempts) == (4, 4)
    runs.retry(told.run.pk, cast.alice)
    assert told.work().state == "succeeded"
    assert replay.check(told.run.pk) == ""


def test_a_run_that_has_ended_well_gets_nothing_more(cast):
    workspace(cast.alice)
    told = play(cast.alice, [FINISH])
    before = len(told.events)
    with pytest.raises(Refused):
        runs.grant_budget(told.run.pk, {"cost": 1}, cast.bob)
    assert len(told.events) == before


def test_what_a_dead_holder_had_reserved_counts_as_used(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [FINISH])
    claim = tasks.claim("elsewhere/boot/1/1/abcd")
    assert claim is not None
    held = {"model_calls": 1, "cost": 250_000, "output_tokens": 9}
    Task.objects.update(reserved=amounts.written(held), lease_expires_at="2020-01-01T00:00:00Z")
    assert tasks.reap() == 1
    row = task(told)
    assert (amounts.read(row.spent), row.reserved) == (held, "")
    assert told.last("task.lease_expired")["spent"] == held
    assert line(told.run, "cost").used == 250_000
    assert replay.check(told.run.pk) == ""


def test_tasks_of_one_run_count_together_with_what_they_have_reserved(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [FINISH], budgets={"cost": 1_000_000}, mode="unattended")
    other = task(told)
    other.pk, other.key, other.state = "01m31atwin000000000000000a", "twin", "blocked"
    other.spent = amounts.written({"cost": 600_000})
    other.reserved = amounts.written({"cost": 400_001})
    other.save(force_insert=True)
    told.work()
    assert told.last("task.failed")["reason"] == "budget_exhausted"
    assert "cost: 0.60 of 1.00" in told.last("task.failed")["detail"]


@pytest.mark.parametrize("other", ["of the same run", "of another run"])
def test_F51_tasks_that_reserve_at_the_same_moment_never_go_over_together(cast, other):
    workspace(cast.alice)
    wish = {"budgets": {"model_calls": 1}, "mode": "unattended"}
    told = submit(cast.alice, [FINISH], **wish)
    if other == "of the same run":
        twin = task(told)
        twin.pk, twin.key = "01m31atwin000000000000000a", "twin"
        twin.save(force_insert=True)
    else:
        submit(cast.alice, [FINISH], **wish)
    found = [tasks.claim(f"elsewhere/boot/{number}/1/abcd") for number in (1, 2)]
    holds = [Session(one, stop=Event(), cancel=Event(), lost=Event()) for one in found if one]
    assert len(holds) == 2
    verdicts = at_once([lambda hold=hold: spending.secure(hold) for hold in holds])
    allowed = [verdict for verdict in verdicts if verdict.over is None]
    assert len(allowed) <= 1 if other == "of the same run" else len(allowed) == 2, verdicts


def test_the_limits_of_workspace_and_submission_stand_in_the_journal(cast):
    place = workspace(cast.alice)
    place.budgets = {"cost": 2_000_000, "wall_seconds": 60}
    place.save()
    told = submit(cast.alice, [FINISH], budgets={"cost": 1_000_000, "steps": 7})
    given = told.last("run.submitted")
    assert (given["budgets"]["cost"], given["budgets"]["wall_seconds"]) == (1_000_000, 60)
    assert (given["max_steps"], "steps" in given["budgets"]) == (7, False)
    assert line(told.run, "model_calls").limit == 14


@pytest.mark.parametrize("given", [{"gold": 1}, {"cost": 0}, {"steps": 10_001}, {"cost": True}])
def test_a_budget_that_cannot_be_is_bad_input(cast, given):
    workspace(cast.alice)
    with pytest.raises(BadInput) as refused:
        submit(cast.alice, [FINISH], budgets=given)
    assert refused.value.field == "budget"
    assert not Run.objects.exclude(pk="system").exists()


def test_time_that_is_used_up_ends_a_command_and_then_the_run(cast):
    workspace(cast.alice)
    steps = [tool("sleep", "20"), tool("echo", "never"), FINISH]

    @best_of_three
    def used_up():
        told = play(cast.alice, steps, budgets={"wall_seconds": 1}, mode="unattended")
        assert (told.state, told.reason) == ("failed", "budget_exhausted")
        assert told.last("task.failed")["detail"].startswith("wall_seconds: ")
        begun(told.of("action.started"))
        assert "timed out" in told.observations()[0]
        assert len(told.of("action.started")) == 1

    used_up()


def test_an_approved_action_on_the_last_step_is_still_done(cast):
    workspace(cast.alice)
    asked = {"kind": "run_tool", "program": "git", "args": ["rm", "-q", "notes.txt"]}
    told = play(cast.alice, [said(asked), FINISH], max_steps=1, budgets={"cost": 1_000_000})
    assert told.state == "waiting" and told.pending.action_kind == "run_tool"
    answer(told, cast.bob)
    told.work()
    assert "action.started" in told.types
    assert told.reason in ("step_limit", "budget_exhausted")


def test_time_bounds_a_call_of_the_model_too(cast):
    workspace(cast.alice)
    slow = {**FINISH, "delay_ms": 30_000}
    told = play(cast.alice, [slow], budgets={"wall_seconds": 1}, mode="unattended")
    assert (told.state, told.reason) == ("failed", "budget_exhausted")
    assert "wall_seconds" in told.last("task.failed")["detail"]
    assert told.last("model.failed")["kind"] == "timeout"
