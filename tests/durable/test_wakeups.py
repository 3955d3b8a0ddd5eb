"""Messages of the queue are lost, doubled and late: that costs time, and changes nothing else."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta

import pytest
from django_q.models import OrmQ

from runtime import runs, tasks
from runtime.journal.append import now
from runtime.models import Task
from runtime.tasks import leases
from runtime.worker import reconcile, wakeup
from tests.agent.scenes import wait_for
from tests.clock import best_of_three, in_time
from tests.durable import faulty
from tests.durable.invariants import violations
from tests.durable.scene import Scene
from tests.kit import Cast
from tests.store.store_kit import ELSEWHERE, a_run, ask, claimed, dead, state, types


@pytest.fixture(autouse=True)
def nothing_left(hall: Cast):
    """Every test begins without work and without messages."""
    for run in set(Task.objects.filter(state="ready").values_list("run", flat=True)):
        runs.cancel(run, hall.alice)
    OrmQ.objects.all().delete()
    yield


def test_a_lost_message_is_sent_again_by_the_next_pass(hall: Cast):
    scene = Scene(hall)
    scene.hand_over()
    assert OrmQ.objects.count() == 1
    OrmQ.objects.all().delete()
    assert reconcile.once().enqueued == 1
    assert reconcile.once().enqueued == 0, "one is enough"
    runs.cancel(scene.run, hall.alice)


def test_a_message_that_comes_twice_or_late_finds_nothing_and_writes_nothing(hall: Cast):
    scene = Scene(hall)
    scene.hand_over()
    task = scene.task.pk
    scene.do(lambda: wakeup.drain(task))
    before = scene.told.types
    assert before[-1] == "task.waiting"
    scene.do(lambda: wakeup.drain(task), lambda: wakeup.drain(task))
    assert scene.told.types == before
    runs.cancel(scene.run, hall.alice)
    scene.do(lambda: wakeup.drain(task))
    assert scene.told.types[-1] == "run.cancelled"
    assert scene.wrong() == []


def test_a_message_for_a_task_that_another_holds_leaves_it_alone(hall: Cast):
    claim = claimed()
    before = types(claim.run)
    wakeup.drain(claim.task)
    assert types(claim.run) == before
    tasks.release(claim, "slice")


def test_after_an_hour_without_a_reconciler_one_pass_catches_up_once(hall: Cast):
    """Leases of the dead and the silent, and messages, all at once."""
    lost = [claimed(owner=dead()), claimed(owner=ELSEWHERE), claimed(owner=dead())]
    Task.objects.filter(pk=lost[1].task).update(lease_expires_at=now() - timedelta(hours=1))
    done = reconcile.once()
    assert (done.reaped, done.enqueued) == (3, 0), "what was taken back left its own messages"
    assert [state(claim.task) for claim in lost] == ["ready"] * 3
    assert reconcile.once()[:2] == (0, 0)
    assert all(types(claim.run).count("task.lease_expired") == 1 for claim in lost)


def test_two_passes_at_once_over_many_runs_do_each_thing_once(hall: Cast):
    lost = [claimed(owner=dead()) for _ in range(6)]
    scene = Scene(hall)
    scene.do(reconcile.once, reconcile.once)
    assert all(types(claim.run).count("task.lease_expired") == 1 for claim in lost)


@best_of_three
def test_R2_the_death_of_a_worker_that_began_after_the_last_pass_is_noticed_at_once(hall: Cast):
    scene = Scene(hall, [{"kind": "list_files", "delay_ms": 9000}])
    reconciler = faulty.start(reconcile.run)
    worker = 0
    try:
        time.sleep(0.5)  # it has done its pass; the next is five seconds later
        scene.hand_over()
        worker = faulty.start(scene.work)
        wait_for(lambda: "task.claimed" in scene.told.types)
        time.sleep(reconcile.LOOK_SECONDS + 0.2)
        faulty.put_down(worker)
        began = time.monotonic()
        wait_for(lambda: scene.task.state == "ready")
        in_time(began, 2)
    finally:
        if worker:
            faulty.put_down(worker)
        os.kill(reconciler, signal.SIGTERM)
        assert faulty.end_of(reconciler) == 0
    runs.cancel(scene.run, hall.alice)


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_clock_that_jumps_takes_no_living_lease(
    hall: Cast, monkeypatch: pytest.MonkeyPatch, jump: float
):
    living, gone = claimed(owner=ELSEWHERE), claimed(owner=dead())
    clock = leases._Clock()
    monkeypatch.setattr(leases, "_clock", clock)
    assert clock.trusted()
    # The database's clock is set; what was written before looks as much older.
    real = leases._database_time
    monkeypatch.setattr(leases, "_database_time", lambda: real() + jump)
    Task.objects.filter(pk=living.task).update(lease_expires_at=now() + timedelta(seconds=3 - jump))
    assert tasks.reap() == 1, "who is dead is dead by any clock"
    assert state(gone.task) == "ready"
    assert tasks.renew(living) == "held"
    assert tasks.reap() == 0
    # Silence after that is silence.
    clock._trusted_from = time.monotonic()
    Task.objects.filter(pk=living.task).update(lease_expires_at=now() - timedelta(seconds=9))
    assert tasks.reap() == 1
    assert violations(living.run) == []


def test_numbers_and_questions_do_not_care_for_a_clock_set_back(
    hall: Cast, monkeypatch: pytest.MonkeyPatch
):
    claim = claimed(a_run())
    earlier = now() - timedelta(hours=1)
    monkeypatch.setattr("runtime.journal.book.now", lambda: earlier)
    ask(claim)
    monkeypatch.undo()
    assert violations(claim.run) == []
    assert types(claim.run)[-1] == "task.waiting"
