"""Leases: prolonged by the living, taken back from the dead and the silent."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db.models.functions import Now

from runtime import tasks
from runtime.journal.kinds import (
    TaskReady,
)
from runtime.models import Dependency, Run, SealedBytes, Task
from runtime.runs import replay
from runtime.worker import queue
from tests.store.store_kit import (
    ELSEWHERE,
    a_run,
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


def test_R2_a_silent_holder_loses_its_task_after_a_further_quarter_of_the_lease(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(settings.M31A, "LEASE_SECONDS", 3600)
    claim = claimed(owner=ELSEWHERE)
    assert tasks.reap() == 0
    _run_out(claim, 880)
    assert not tasks.idle()
    assert tasks.reap() == 0
    _run_out(claim, 901)
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
    end(claim)
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
    assert f"Task {ids_of(bad)['main']} could not be taken back" in caplog.text


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
    end(claimed(run))
    assert list(Dependency.objects.values_list("satisfied", flat=True)) == [True]
