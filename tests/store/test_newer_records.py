"""A run whose record holds what this version has never heard of: who still writes to it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from runtime import approvals, runs, tasks
from runtime.approvals import expiring, reminding
from runtime.cli import main as cli
from runtime.core.errors import Refused
from runtime.journal import newer
from runtime.journal.append import append, now
from runtime.journal.book import ensure_system, open_run, open_system
from runtime.journal.kind import Payload
from runtime.journal.kinds import REGISTRY, ActionStarted, TaskFailed, TaskReady
from runtime.journal.newer import Newer
from runtime.models import NewerKind, Task
from runtime.runs import replay
from runtime.worker import doctor, queue
from tests.store.store_kit import (
    a_run,
    ask,
    claimed,
    dead,
    here,
    nothing_changed,
    run_state,
    state,
    types,
)

pytestmark = pytest.mark.usefixtures("both")

WAS = "was recorded by a newer version: action.weighed version 1"
SAID = re.escape(WAS)


class Weighed(Payload):
    """Of a later release: it is in no registry here."""

    type = "action.weighed"

    grams: int = 7


def weigh(run: str) -> None:
    """What a newer web process writes to a run."""
    with open_run(run) as book:
        book.append(Weighed(), actor="user:alice")


def test_a_claim_and_whoever_counts_ready_tasks_pass_such_a_run_by():
    strange, plain = a_run(), a_run()
    weigh(strange.pk)
    same = nothing_changed(strange.pk)
    assert (tasks.ready_count(), tasks.idle(strange.pk), tasks.idle()) == (1, True, False)
    assert tasks.claim(here(), run=strange.pk) is None
    taken = tasks.claim(here(), prefer=Task.objects.get(run=strange).pk)
    assert taken is not None and taken.run == plain.pk, "the others go on"
    assert tasks.claim(here()) is None
    assert tasks.idle()
    assert queue.top_up() == 0
    assert same()
    assert runs.status(strange.pk)["newer"] == "action.weighed version 1"
    assert "newer" not in runs.status(plain.pk)


def test_the_command_line_says_why_such_a_run_waits(capsys):
    strange, plain = a_run(), a_run()
    weigh(strange.pk)
    for words in ([], [strange.pk]):
        assert cli.run(["status", *words], None, False) == 0
        said = capsys.readouterr()
        assert strange.pk in said.out
        assert f"Run {strange.pk} {WAS}" in said.err and "start a worker of that" in said.err
        assert plain.pk not in said.err
    assert cli.run(["status", strange.pk], None, True) == 0
    assert json.loads(capsys.readouterr().out)["newer"] == "action.weighed version 1"


def test_who_knows_the_kind_takes_it(monkeypatch):
    run = a_run()
    weigh(run.pk)
    monkeypatch.setitem(REGISTRY, Weighed.type, Weighed)
    assert claimed(run).run == run.pk
    assert newer.of(run.pk) == []
    assert replay.check(run.pk) == ""


def test_who_knows_a_version_takes_it_and_all_before(monkeypatch):
    claim = claimed(owner=dead())
    with monkeypatch.context() as later:
        later.setattr(ActionStarted, "v", 3)
        for _ in range(2):
            append(claim.by(), [ActionStarted(action="a", kind="verify")], task={"steps": 1})
    assert list(NewerKind.objects.values_list("type", "v")) == [("action.started", 3)]
    same = nothing_changed(claim.run)
    monkeypatch.setattr(ActionStarted, "v", 2)
    assert (tasks.reap(), tasks.idle()) == (0, True)
    assert same()
    monkeypatch.setattr(ActionStarted, "v", 4)
    assert not tasks.idle()
    assert tasks.reap() == 1
    assert tasks.claim(here(), run=claim.run) is not None


def test_what_every_version_reads_is_noted_nowhere():
    claimed()
    assert not NewerKind.objects.exists()
    assert REGISTRY.keys() >= newer.EVERYWHERE, "no kind is ever taken away"
    assert newer.beyond([("task.ready", 1), ("task.ready", 2), ("task.ready", 2)]) == [
        ("task.ready", 2)
    ]


def test_a_question_of_such_a_run_is_answered_there_or_denied_here(people, monkeypatch):
    asked = ask(claimed())
    weigh(asked.run_id)
    same = nothing_changed(asked.run_id)
    with pytest.raises(Newer, match=SAID):
        approvals.decide(asked.pk, by=people.bob, verdict="approve")
    with pytest.raises(Newer, match=SAID):
        approvals.edit(asked.pk, by=people.bob, action={"kind": "git_push"})
    monkeypatch.setattr(reminding, "now", lambda: now() + timedelta(hours=20))
    monkeypatch.setattr(expiring, "now", lambda: now() + timedelta(days=9))
    assert reminding.due(reminding.now()).exists()
    assert (approvals.remind_due(), approvals.expire_due()) == (0, 0)
    assert same()
    approvals.decide(asked.pk, by=people.bob, verdict="deny")
    assert (state(asked.task_id), tasks.claim(here())) == ("ready", None)


def test_such_a_run_gets_no_second_try_and_no_budget_here(people):
    claim = claimed()
    with tasks.held(claim) as hold:
        hold.move("failed", TaskFailed(reason="step_limit"), reason="step_limit")
    weigh(claim.run)
    same = nothing_changed(claim.run)
    wishes: list[Any] = [
        lambda: runs.retry(claim.run, people.alice),
        lambda: runs.grant_budget(claim.run, {"steps": 5}, people.bob),
        lambda: replay.rebuild(claim.run),
    ]
    for wish in wishes:
        with pytest.raises(Refused, match=SAID) as told:
            wish()
        assert "start that version" in told.value.remedy
    assert same()


def test_such_a_run_is_cancelled_also_where_its_holder_is_dead(people):
    claim = claimed(owner=dead())
    weigh(claim.run)
    assert tasks.reap() == 0
    runs.cancel(claim.run, people.alice)
    assert (state(claim.task), tasks.idle()) == ("cancelling", False)
    assert tasks.reap() == 1
    assert (run_state(claim.run), types(claim.run)[-1]) == ("cancelled", "run.cancelled")


def test_the_chain_of_no_run_is_written_and_made_anew_by_every_version():
    ensure_system()
    weigh("system")
    assert not NewerKind.objects.exists()
    assert doctor._records().ok
    with open_system() as book:
        book.append(TaskReady(why="x"), actor="user:alice")
    replay.rebuild("system")


def test_replay_and_doctor_know_of_such_runs(monkeypatch):
    run = a_run()
    assert doctor._records().ok
    weigh(run.pk)
    assert replay.check(run.pk) == "", "what this version can follow agrees"
    row = doctor._records()
    assert row.level == "WARN"
    assert row.detail.startswith("1 run was recorded by a newer version (action.weighed version 1)")
    assert "Start workers of that version" in row.remedy
    monkeypatch.setitem(REGISTRY, Weighed.type, Weighed)
    assert doctor._records().ok
    NewerKind.objects.all().delete()
    assert "action.weighed version 1: nothing says" in replay.check(run.pk)
    replay.rebuild(run.pk)
    assert replay.check(run.pk) == ""
    assert newer.rows(run.pk, [("action.weighed", 1)])[0].run_id == run.pk
    assert NewerKind.objects.get(run=run).type == "action.weighed"
