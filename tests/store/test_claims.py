"""Claims and moves: one worker at a time, fences that rise, attempts that count."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now

from runtime import tasks
from runtime.core.errors import Refused, StaleFence
from runtime.journal import read
from runtime.journal.book import open_run
from runtime.journal.kinds import (
    TaskCancelled,
    TaskFailed,
    TaskReady,
    TaskSkipped,
    TaskSucceeded,
    TaskWaiting,
)
from runtime.models import Dependency, Run, SealedBytes, Task
from runtime.runs import replay
from runtime.tasks import moves
from runtime.worker import queue
from runtime.workflow.states import TaskState, legal
from tests.store.store_kit import (
    ELSEWHERE,
    a_run,
    ask,
    at_once,
    claimed,
    dead,
    here,
    nothing_changed,
    recompute,
    run_state,
    state,
    types,
)

pytestmark = pytest.mark.usefixtures("both")


def _ids(run: Run) -> dict[str, str]:
    return dict(Task.objects.filter(run=run).values_list("key", "id"))


def _end(claim: tasks.Claim, to: str = "succeeded") -> None:
    with tasks.held(claim) as hold:
        if to == "failed":
            hold.move("failed", TaskFailed(reason="step_limit"), reason="step_limit")
        else:
            hold.move("succeeded", TaskSucceeded(summary="done"))


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
        _ids(run)["main"] for run in runs
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


def test_priority_then_age_decides_and_a_hint_comes_first():
    runs = [a_run() for _ in range(3)]
    ids = [_ids(run)["main"] for run in runs]
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
    ids = _ids(run)
    assert claimed(run).task == ids["a"]
    assert tasks.claim(here()) is None
    # Even where something made it ready behind the table's back.
    Task.objects.filter(pk=ids["b"]).update(state="ready")
    assert tasks.claim(here()) is None


def test_a_child_becomes_ready_once_in_the_transaction_of_its_last_parent():
    run = a_run("a", "b", "c", needs={"c": ["a", "b"]})
    ids = _ids(run)
    for key in ("a", "b"):
        assert state(ids["c"]) == "blocked"
        claim = tasks.claim(here(), run=run.pk, prefer=ids[key])
        _end(claim)
    assert state(ids["c"]) == "ready"
    assert [e.payload["why"] for e in read.every(run.pk) if e.type == "task.ready"].count(
        "dependencies"
    ) == 1
    _end(claimed(run))
    assert run_state(run.pk) == "succeeded"
    assert types(run.pk)[-1] == "run.succeeded"
    recompute(run.pk)
    assert replay.check(run.pk) == ""


def test_two_parents_that_end_at_once_wake_the_child_once():
    run = a_run("a", "b", "c", needs={"c": ["a", "b"]})
    claims = [claimed(run), claimed(run)]
    ended = at_once([lambda c=claim: _end(c) for claim in claims])
    assert ended == [None, None]
    assert state(_ids(run)["c"]) == "ready"
    assert types(run.pk).count("task.ready") == 3
    recompute(run.pk)


def test_what_needs_a_failed_task_is_skipped_and_so_is_what_needs_that():
    run = a_run("a", "b", "c", needs={"b": ["a"], "c": ["b"]})
    ids = _ids(run)
    _end(claimed(run), "failed")
    assert (state(ids["b"]), state(ids["c"])) == ("skipped", "skipped")
    assert run_state(run.pk) == "failed"
    assert Run.objects.get(pk=run.pk).reason == "step_limit"
    assert replay.check(run.pk) == ""


@pytest.mark.parametrize(("edge", "outcome"), [("after", "ready"), ("on_failure", "ready")])
def test_other_edges_start_the_child_of_a_failed_task(edge, outcome):
    run = a_run("a", "b", needs={"b": ["a"]}, edge=edge)
    _end(claimed(run), "failed")
    assert state(_ids(run)["b"]) == outcome
    _end(claimed(run))
    assert run_state(run.pk) == ("succeeded" if edge == "on_failure" else "failed")


def test_a_handler_of_failures_is_skipped_where_there_is_none():
    run = a_run("a", "b", needs={"b": ["a"]}, edge="on_failure")
    _end(claimed(run))
    assert state(_ids(run)["b"]) == "skipped"
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
    _end(claim)
    same = nothing_changed(claim.run)
    for _ in range(2):
        with pytest.raises(StaleFence):
            _end(claim)
        with pytest.raises(StaleFence):
            tasks.release(claim, "slice")
    assert same()
    assert tasks.peek(claim) == "lost"
    assert tasks.renew(claim) == "lost"


def test_a_move_that_another_made_first_writes_nothing():
    claim = claimed()
    task = Task.objects.get(pk=claim.task)
    _end(claim)
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


# Leases.


def test_a_renewal_prolongs_the_lease_and_writes_no_event():
    claim = claimed()
    before, events = Task.objects.get(pk=claim.task), types(claim.run)
    assert tasks.renew(claim) == "held"
    after = Task.objects.get(pk=claim.task)
    assert after.lease_seq == before.lease_seq + 1
    assert after.lease_expires_at >= before.lease_expires_at
    assert types(claim.run) == events
    assert tasks.peek(claim) == "held"


def _run_out(claim: tasks.Claim, seconds: float) -> None:
    past = Now() - timedelta(seconds=seconds)
    Task.objects.filter(pk=claim.task).update(lease_expires_at=past)


def test_an_expired_lease_may_be_renewed_as_long_as_nobody_took_the_task():
    claim = claimed(owner=ELSEWHERE)
    _run_out(claim, 5)
    assert tasks.renew(claim) == "held"
    assert tasks.reap() == 0
    assert Task.objects.get(pk=claim.task).crashes == 0


def test_R2_a_silent_holder_loses_its_task_after_a_further_quarter_of_the_lease():
    claim = claimed(owner=ELSEWHERE)
    assert tasks.reap() == 0
    _run_out(claim, 7)
    assert not tasks.idle()
    assert tasks.reap() == 0
    _run_out(claim, 8)
    assert tasks.reap() == 1
    assert tasks.reap() == 0
    assert types(claim.run)[-2:] == ["task.lease_expired", "task.ready"]
    assert tasks.renew(claim) == "lost"
    again = claimed(Run.objects.get(pk=claim.run))
    assert (again.attempt, again.fence, again.fresh) == (2, 2, True)
    assert Task.objects.get(pk=claim.task).crashes == 1
    recompute(claim.run)
    assert replay.check(claim.run) == ""


def test_a_holder_whose_process_is_gone_loses_its_task_at_once():
    claim = claimed(owner=dead())
    assert not tasks.idle()
    assert tasks.reap() == 1
    assert state(claim.task) == "ready"


def test_X1_a_living_holder_is_left_alone():
    claim = claimed()
    same = nothing_changed(claim.run)
    for _ in range(3):
        assert tasks.reap() == 0
    assert tasks.claim(here()) is None
    assert tasks.idle()
    assert same()


def test_a_holder_with_another_start_of_its_process_id_is_another_life():
    """Names come back after a restart; a life does not."""
    living = here()
    assert tasks.claims.incarnation.is_gone(living) is False
    assert tasks.claims.incarnation.is_gone(dead()) is True
    for stranger in (ELSEWHERE, "", "x", "a/b/c/d/e", living.replace("/", "-")):
        assert tasks.claims.incarnation.is_gone(stranger) is False
    assert living != here()


def test_a_cancelled_task_of_a_dead_holder_ends_cancelled_and_not_ready():
    claim = claimed(owner=dead())
    SealedBytes.objects.create(run=claim.run, action=f"{claim.task}.1", digest="d", sealed=b"x")
    Run.objects.filter(pk=claim.run).update(cancel_requested=True)
    Task.objects.filter(pk=claim.task).update(state="cancelling")
    assert tasks.peek(claim) == "cancel"
    assert tasks.renew(claim) == "cancel"
    assert tasks.reap() == 1
    assert (state(claim.task), run_state(claim.run)) == ("cancelled", "cancelled")
    assert types(claim.run)[-2:] == ["task.cancelled", "run.cancelled"]
    assert not SealedBytes.objects.exists()


def test_X15_a_task_that_kills_its_worker_ends_at_the_bound_and_never_loops():
    run = a_run(max_attempts=3)
    for attempt in (1, 2, 3):
        claim = claimed(run, owner=dead())
        assert (claim.attempt, claim.fence) == (attempt, attempt)
        assert tasks.reap() == 1
    task = Task.objects.get(run=run)
    assert (task.state, task.reason, task.crashes) == ("failed", "attempts_exhausted", 3)
    assert (run_state(run.pk), Run.objects.get(pk=run.pk).reason) == (
        "failed",
        "attempts_exhausted",
    )
    assert tasks.claim(here()) is None
    assert tasks.reap() == 0
    assert types(run.pk).count("task.claimed") == 3
    recompute(run.pk)
    assert replay.check(run.pk) == ""


def test_two_reapers_take_a_task_back_once():
    claim = claimed(owner=dead())
    results = at_once([tasks.reap] * 3)
    assert sorted(results) == [0, 0, 1]
    assert Task.objects.get(pk=claim.task).crashes == 1
    assert types(claim.run).count("task.lease_expired") == 1


def test_a_reaper_that_read_before_the_task_ended_changes_nothing():
    """The guard is repeated in the write."""
    claim = claimed(owner=dead())
    seen = Task.objects.values_list("pk", "run_id", "fence", "lease_seq").get(pk=claim.task)
    _end(claim)
    same = nothing_changed(claim.run)
    assert tasks.leases._take_back(*seen, gone=True) == 0
    assert same()
    other = claimed(a_run(), owner=ELSEWHERE)
    _run_out(other, 100)
    seen = Task.objects.values_list("pk", "run_id", "fence", "lease_seq").get(pk=other.task)
    assert tasks.renew(other) == "held"
    assert tasks.leases._take_back(*seen, gone=True) == 0


def test_the_start_of_a_life_is_told_by_a_clock_that_nobody_sets():
    """A wall clock that jumps must not make the living look dead."""
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    assert here().split("/")[2:4] == [str(os.getpid()), ticks]


def test_many_expired_tasks_are_all_taken_back(monkeypatch):
    monkeypatch.setattr(tasks.leases, "PAGE", 2)
    keys = [f"t{n}" for n in range(5)]
    run = a_run(*keys)
    for _ in keys:
        claimed(run, owner=dead())
    assert tasks.reap() == 5
    assert tasks.ready_count() == 5


def test_a_task_that_cannot_be_taken_back_keeps_no_other_from_it(caplog):
    bad, good = a_run(), a_run()
    for run in (bad, good):
        claimed(run, owner=dead())
    Run.objects.filter(pk=bad.pk).update(head_hash="no hash at all: ü")
    assert tasks.reap() == 1
    assert Task.objects.get(run=good).state == "ready"
    assert Task.objects.get(run=bad).state == "running"
    assert f"Task {_ids(bad)['main']} could not be taken back" in caplog.text


def test_a_ready_task_leaves_a_wake_up_in_the_same_transaction():
    claim = claimed()
    before = queue.waiting()
    with pytest.raises(ZeroDivisionError), tasks.held(claim) as hold:
        hold.move("ready", TaskReady(why="x"))
        raise ZeroDivisionError
    assert queue.waiting() == before
    tasks.release(claim, "slice")
    assert queue.waiting() == before + 1


def test_an_edge_is_settled_once():
    run = a_run("a", "b", needs={"b": ["a"]})
    _end(claimed(run))
    assert list(Dependency.objects.values_list("satisfied", flat=True)) == [True]
