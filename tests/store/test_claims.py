"""Claims and moves: one worker at a time, fences that rise, attempts that count."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from runtime import runs, tasks
from runtime.approvals import expiring
from runtime.core.errors import Refused, StaleFence
from runtime.journal import read
from runtime.journal.append import now
from runtime.journal.book import open_run
from runtime.journal.kinds import (
    TaskCancelled,
    TaskReady,
    TaskSkipped,
    TaskSucceeded,
    TaskWaiting,
)
from runtime.models import Run, SealedBytes, Task
from runtime.people import service
from runtime.runs import replay
from runtime.tasks import leases, moves
from runtime.tasks.claims import LONGEST_DELAY
from runtime.workflow.states import TaskState, legal
from tests.store.store_kit import (
    a_run,
    ask,
    at_once,
    claimed,
    dead,
    end,
    here,
    ids_of,
    nothing_changed,
    recompute,
    run_state,
    state,
    types,
)

pytestmark = pytest.mark.usefixtures("both")


def test_X2_of_many_claimers_at_once_exactly_one_gets_the_task():
    run = a_run()
    taken = at_once([lambda: tasks.claim(here())] * 6)
    assert all(one is None or isinstance(one, tasks.Claim) for one in taken), taken
    assert len([one for one in taken if one]) == 1
    assert types(run.pk).count("task.claimed") == 1
    recompute(run.pk)


def test_X2_many_tasks_are_each_claimed_once():
    runs = [a_run() for _ in range(8)]

    def claim_all() -> list[str]:
        mine = []
        while len(mine) < 8:
            taken = tasks.claim(here())
            if taken is None:
                if tasks.ready_count() == 0:
                    break
                continue  # on PostgreSQL a run that another has locked is passed over
            mine.append(taken.task)
        return mine

    found = at_once([claim_all] * 3)
    assert sorted(task for mine in found for task in mine) == sorted(
        ids_of(run)["main"] for run in runs
    )


def test_a_claim_raises_the_fence_and_the_first_one_begins_an_attempt():
    run = a_run()
    first = claimed(run)
    assert (first.attempt, first.fence, first.fresh) == (1, 1, True)
    task = Task.objects.get(pk=first.task)
    assert (task.state, task.lease_owner, task.fresh_attempt) == ("running", first.owner, False)
    tasks.release(first, "slice")
    second = claimed(run)
    assert (second.attempt, second.fence, second.fresh) == (1, 2, False)
    event = read.last(run.pk, 1)[0]
    assert (event.attempt, event.fence, event.payload["owner"]) == (1, 2, second.owner)
    assert tasks.claim(here()) is None


def test_R10_waits_slices_and_stops_use_up_no_attempt():
    run = a_run()
    for fence in range(1, 5):
        claim = claimed(run)
        assert (claim.attempt, claim.fence) == (1, fence)
        tasks.release(claim, "slice" if fence % 2 else "stop")
    ask(claimed(run))
    with open_run(run.pk) as book:
        task = Task.objects.get(run=run)
        moves.move(book, task, "ready", TaskReady(why="approval approved"))
    assert claimed(run).attempt == 1
    assert replay.check(run.pk) == ""


def test_a_task_that_is_not_yet_available_is_not_claimed():
    run = a_run()
    Task.objects.filter(run=run).update(available_at=Now() + timedelta(hours=1))
    assert tasks.claim(here()) is None
    assert tasks.ready_count() == 0
    assert tasks.idle()


@pytest.mark.parametrize("hours", [-2, 2])
def test_the_clock_of_the_application_holds_no_task(hours: int, monkeypatch: pytest.MonkeyPatch):
    """On whatever machine a task was made ready: the database's clock says since when."""
    wrong = now() + timedelta(hours=hours)
    monkeypatch.setattr("runtime.journal.book.now", lambda: wrong)
    parent = a_run("a", "b", needs={"b": ["a"]})
    Task.objects.filter(run=parent, key="a").update(available_at=Now())
    end(claimed(parent))
    assert claimed(parent).task == ids_of(parent)["b"], "ready by the end of its parent"
    failed = a_run(max_attempts=1)
    Task.objects.filter(run=failed).update(available_at=Now())
    end(claimed(failed), "failed")
    user = service.add("root", ["admin", "submitter"], by=None)
    runs.retry(failed.pk, user, 2)
    assert claimed(failed).attempt == 2
    question = ask(claimed(a_run()))
    with open_run(question.run_id) as book:
        expiring.expire(book, *expiring.lock(question.pk))
    assert claimed(question.run).run == question.run_id


def test_a_task_that_waits_for_longer_than_any_delay_waits_for_a_clock_that_was_set_back():
    run, other = a_run(), a_run()
    Task.objects.filter(run=run).update(available_at=Now() + LONGEST_DELAY + timedelta(seconds=9))
    Task.objects.filter(run=other).update(available_at=Now() + timedelta(seconds=9))
    assert tasks.claim(here()) is None
    tasks.reap()
    assert claimed(run).run == run.pk
    assert tasks.claim(here()) is None, "this one was put off"


def test_X3_a_clock_that_is_set_back_holds_no_task(monkeypatch: pytest.MonkeyPatch):
    clock = leases._Clock()
    monkeypatch.setattr(leases, "_clock", clock)
    run = a_run()
    Task.objects.filter(run=run).update(available_at=Now())
    tasks.reap()
    real = leases._database_time
    monkeypatch.setattr(leases, "_database_time", lambda: real() - 60)
    Task.objects.filter(run=run).update(available_at=Now() + timedelta(seconds=60))
    assert tasks.claim(here()) is None
    tasks.reap()
    assert claimed(run).run == run.pk
    tasks.reap()
    assert not clock.set_back, "it stays where it was set"


def test_priority_then_age_decides_and_a_hint_comes_first():
    runs = [a_run() for _ in range(3)]
    ids = [ids_of(run)["main"] for run in runs]
    Task.objects.filter(pk=ids[1]).update(priority=5)
    assert tasks.claim(here(), prefer=ids[2]).task == ids[2]
    assert tasks.claim(here()).task == ids[1]
    assert tasks.claim(here(), prefer="nobody").task == ids[0]


def test_a_claim_within_one_run_leaves_others_alone():
    first, second = a_run(), a_run()
    assert tasks.claim(here(), run=second.pk).run == second.pk
    assert tasks.claim(here(), run=second.pk) is None
    assert tasks.claim(here(), run=first.pk).run == first.pk


# Dependencies.


def test_a_task_whose_dependency_is_unmet_is_not_claimed():
    run = a_run("a", "b", needs={"b": ["a"]})
    ids = ids_of(run)
    assert claimed(run).task == ids["a"]
    assert tasks.claim(here()) is None
    # Even where something made it ready behind the table's back.
    Task.objects.filter(pk=ids["b"]).update(state="ready")
    assert tasks.claim(here()) is None
    assert state(ids["b"]) == "blocked"
    assert [e.type for e in read.every(run.pk)][-1] == "task.demoted"


def test_a_child_becomes_ready_once_in_the_transaction_of_its_last_parent():
    run = a_run("a", "b", "c", needs={"c": ["a", "b"]})
    ids = ids_of(run)
    for key in ("a", "b"):
        assert state(ids["c"]) == "blocked"
        claim = tasks.claim(here(), run=run.pk, prefer=ids[key])
        end(claim)
    assert state(ids["c"]) == "ready"
    assert [e.payload["why"] for e in read.every(run.pk) if e.type == "task.ready"].count(
        "dependencies"
    ) == 1
    end(claimed(run))
    assert run_state(run.pk) == "succeeded"
    assert types(run.pk)[-1] == "run.succeeded"
    recompute(run.pk)
    assert replay.check(run.pk) == ""


def test_two_parents_that_end_at_once_wake_the_child_once():
    run = a_run("a", "b", "c", needs={"c": ["a", "b"]})
    claims = [claimed(run), claimed(run)]
    ended = at_once([lambda c=claim: end(c) for claim in claims])
    assert ended == [None, None]
    assert state(ids_of(run)["c"]) == "ready"
    assert types(run.pk).count("task.ready") == 3
    recompute(run.pk)


def test_what_needs_a_failed_task_is_skipped_and_so_is_what_needs_that():
    run = a_run("a", "b", "c", needs={"b": ["a"], "c": ["b"]})
    ids = ids_of(run)
    end(claimed(run), "failed")
    assert (state(ids["b"]), state(ids["c"])) == ("skipped", "skipped")
    assert run_state(run.pk) == "failed"
    assert Run.objects.get(pk=run.pk).reason == "step_limit"
    assert replay.check(run.pk) == ""


@pytest.mark.parametrize(("edge", "outcome"), [("after", "ready"), ("on_failure", "ready")])
def test_other_edges_start_the_child_of_a_failed_task(edge, outcome):
    run = a_run("a", "b", needs={"b": ["a"]}, edge=edge)
    end(claimed(run), "failed")
    assert state(ids_of(run)["b"]) == outcome
    end(claimed(run))
    assert run_state(run.pk) == ("succeeded" if edge == "on_failure" else "failed")


def test_a_handler_of_failures_is_skipped_where_there_is_none():
    run = a_run("a", "b", needs={"b": ["a"]}, edge="on_failure")
    end(claimed(run))
    assert state(ids_of(run)["b"]) == "skipped"
    assert run_state(run.pk) == "succeeded"


# Moves.


def test_no_service_moves_a_task_against_the_table():
    payload = {"succeeded": TaskSucceeded(), "skipped": TaskSkipped(), "cancelled": TaskCancelled()}
    run = a_run()
    task = Task.objects.get(run=run)
    same = nothing_changed(run.pk)
    for to in TaskState:
        if not legal("ready", to):
            with pytest.raises(Refused, match=f"cannot become {to}"), open_run(run.pk) as book:
                moves.move(book, task, to, payload.get(to, TaskReady(why="x")))
    assert same()


def test_R6_an_ended_task_stays_ended():
    claim = claimed()
    end(claim)
    same = nothing_changed(claim.run)
    for _ in range(2):
        with pytest.raises(StaleFence):
            end(claim)
        with pytest.raises(StaleFence):
            tasks.release(claim, "slice")
    assert same()
    assert tasks.peek(claim) == "lost"
    assert tasks.renew(claim) == "lost"


def test_a_move_that_another_made_first_writes_nothing():
    claim = claimed()
    task = Task.objects.get(pk=claim.task)
    end(claim)
    same = nothing_changed(claim.run)
    with pytest.raises(Refused, match="not running any more"), open_run(claim.run) as book:
        moves.move(book, task, "waiting", TaskWaiting(approval="a"))
    assert same()


def test_no_sealed_action_outlives_its_task():
    claim = claimed(owner=dead())
    for action in (f"{claim.task}.1", "another.1"):
        SealedBytes.objects.create(run=claim.run, action=action, digest="d", sealed=b"x")
    Run.objects.filter(pk=claim.run).update(max_attempts=1)
    assert tasks.reap() == 1
    assert state(claim.task) == "failed"
    assert list(SealedBytes.objects.values_list("action", flat=True)) == ["another.1"]
