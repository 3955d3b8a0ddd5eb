"""A process freezes for longer than its lease, another takes over, and then the first goes on.

It still believes that the task is its own; nothing that it writes may count.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest
from django.conf import settings
from django.db import connection

from runtime import runs
from runtime.journal import append as journal
from runtime.models import Run
from tests.clock import begun, best_of_three, in_time
from tests.durable import faulty
from tests.durable.scene import ASKED, FREE, SLOW, STEPS, Scene
from tests.kit import Cast


class Stop(NamedTuple):
    """In which stage a worker freezes where, and how many commands nobody knows the outcome of."""

    stage: str
    plan: str
    lost: int = 1
    unknown: int = 0

    @property
    def point(self) -> str:
        """The fault point."""
        return self.plan.partition("=")[0]


BETWEEN = [
    Stop("work", "claim.after_commit=stop@1"),
    Stop("work", "renew.before=stop@3"),  # at the first ones it may not have begun to think
    Stop("work", "step.before_effect=stop@1"),
    Stop("work", "step.before_effect=stop@2", unknown=1),
    Stop("work", "step.after_effect=stop@2", unknown=1),
    Stop("work", "step.after_commit=stop@1"),
    Stop("work", "step.after_commit=stop@4"),
    Stop("work", "suspend.after_commit=stop@1", lost=0),
    Stop("rest", "consume.after_commit=stop@1", unknown=1),
    Stop("rest", "step.after_effect=stop@1", unknown=1),
    Stop("rest", "complete.after_commit=stop@1", lost=0),
]
"""Between two transactions: the task is taken over, and the frozen one is fenced off."""

WITHIN = [
    "claim.after_select",
    "claim.before_commit",
    "step.before_commit",
    "complete.before_commit",
]
"""In the middle of a transaction, which holds the lock on SQLite's file or on the run's row."""


def name(stop: Stop) -> str:
    """How a case is called."""
    return f"{stop.stage}-{stop.plan.replace('=stop', '')}"


def takeover(scene: Scene, stop: Stop) -> None:
    """Play the scene; the stage's worker freezes, a fresh one does it all, then it goes on."""
    scene.do(scene.hand_over)
    if stop.stage == "rest":
        scene.do(scene.work, scene.decide)
    zombie = scene.freeze(scene.work, stop.plan)
    try:
        if scene.slow:
            scene.still_thinking()
        scene.lapse(zombie)
        scene.do(scene.work)
        before = len(scene.told.events)
    finally:
        assert faulty.thaw(zombie) == 0, "a lost lease is no error"
    assert len(scene.told.events) == before, "the frozen one wrote nothing more"
    if stop.stage == "work":
        scene.do(scene.decide, scene.work)
    scene.ended_well(lost=stop.lost, unknown=stop.unknown)


def _scene(cast: Cast, stop: Stop) -> Scene:
    return Scene(cast, [SLOW, *STEPS[1:]] if stop.point == "renew.before" else None)


@pytest.mark.parametrize("stop", BETWEEN, ids=name)
@best_of_three
def test_F44_a_worker_that_was_frozen_is_fenced_off_wherever_it_was(hall: Cast, stop: Stop):
    takeover(_scene(hall, stop), stop)


@pytest.mark.postgres
@pytest.mark.parametrize("stop", [s for s in BETWEEN if s.stage == "work"][::3], ids=name)
@best_of_three
def test_F44_the_same_on_postgresql(pg_hall: Cast, stop: Stop):
    takeover(_scene(pg_hall, stop), stop)


@best_of_three
def test_F44_a_lease_runs_out_by_the_clock_and_nobodys_hand(hall: Cast):
    """The same without moving the lease: three seconds and a quarter of them pass."""
    scene = Scene(hall)
    scene.do(scene.hand_over)
    zombie = scene.freeze(scene.work, "step.after_commit=stop@1")
    try:
        living = scene.task.lease_expires_at
        scene.do(scene.reap)
        begun(living and journal.now() < living)
        assert scene.task.state == "running", "a living lease was taken"
        time.sleep(3.9)
        scene.do(scene.work)
        assert scene.task.state == "waiting"
    finally:
        assert faulty.thaw(zombie) == 0
    scene.do(scene.decide, scene.work)
    scene.ended_well(lost=1)


@best_of_three
def test_a_late_renewal_counts_where_nobody_took_the_task_back(hall: Cast):
    scene = Scene(hall, [SLOW, *STEPS[1:]])
    scene.do(scene.hand_over)
    late = scene.freeze(scene.work, "renew.before=stop@3")
    try:
        scene.still_thinking()
        scene.lapse(late)
    finally:
        assert faulty.thaw(late) == 0
    scene.do(scene.decide, scene.work)
    scene.ended_well(lost=0)


@pytest.mark.parametrize("point", WITHIN)
def test_a_transaction_that_freezes_is_waited_for(
    hall: Cast, point: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(settings.M31A, "LEASE_SECONDS", 60)  # nobody's ends meanwhile
    scene = Scene(hall)
    scene.do(scene.hand_over)
    if point == "complete.before_commit":
        scene.do(scene.work, scene.decide)
    zombie = scene.freeze(scene.work, f"{point}=stop@1")
    other = 0
    try:
        before = scene.told.types
        other = faulty.start(scene.work)
        time.sleep(0.4)
        assert scene.told.types == before, "nothing is written past the lock"
    finally:
        code = faulty.thaw(zombie)
        assert other and faulty.end_of(other) == 0 and code == 0
    if point != "complete.before_commit":
        scene.do(scene.decide, scene.work)
    scene.ended_well(lost=0)


@pytest.mark.postgres
@pytest.mark.parametrize("point", ["claim.before_commit", "step.before_commit"])
def test_on_postgresql_a_frozen_transaction_holds_up_no_other_run(pg_hall: Cast, point: str):
    scene, other = Scene(pg_hall), Scene(pg_hall)
    scene.do(scene.hand_over)
    other.do(other.hand_over)
    zombie = scene.freeze(scene.work, f"{point}=stop@1")
    try:
        other.lapse()
        other.do(other.reap, other.work, other.decide, other.work)
        other.ended_well(lost=0)
    finally:
        assert faulty.thaw(zombie) == 0
    scene.do(scene.decide, scene.work)
    scene.ended_well(lost=0)


@pytest.mark.postgres
def test_on_postgresql_a_reaper_passes_by_a_run_whose_holder_is_frozen(pg_hall: Cast):
    scene, dead = Scene(pg_hall), Scene(pg_hall)
    scene.do(scene.hand_over)
    dead.do(dead.hand_over)
    zombie = scene.freeze(scene.work, "step.before_commit=stop@2")
    try:
        dead.die(dead.work, "step.after_commit=kill@1")
        time.sleep(3.9)  # the frozen one's lease runs out, too, but its run is locked
        dead.do(dead.reap)
        assert dead.task.state == "ready"
        assert scene.task.state == "running"
    finally:
        assert faulty.thaw(zombie) == 0
    dead.do(dead.work, dead.decide, dead.work)
    dead.ended_well(lost=1)
    scene.do(scene.decide, scene.work)
    scene.ended_well(lost=0)


@pytest.mark.postgres
@pytest.mark.parametrize("point", ["claim.before_commit", "step.before_commit"])
@best_of_three
def test_on_postgresql_who_freezes_in_a_transaction_is_thrown_out(
    pg_hall: Cast, monkeypatch: pytest.MonkeyPatch, point: str
):
    """The server ends its session and with it its locks; nobody has to end the process first."""
    scene = Scene(pg_hall)
    scene.do(scene.hand_over)
    bounds = connection.settings_dict["OPTIONS"]
    shorter = bounds["options"] + " -c idle_in_transaction_session_timeout=1s"
    connection.close()
    monkeypatch.setitem(bounds, "options", shorter)
    zombie = scene.freeze(scene.work, f"{point}=stop@1")
    try:
        began = time.monotonic()
        scene.cancel()  # needs the run, whose row the frozen one has locked
        in_time(began, 5)
        before = len(scene.told.events)
    finally:
        assert faulty.thaw(zombie) == 0, "what it was about to do, it did not do"
    connection.close()
    monkeypatch.undo()
    scene.do(scene.reap)
    assert scene.told.state == "cancelled" and before <= len(scene.told.events)
    assert scene.wrong() == []
    assert scene.ledger == []


@pytest.mark.postgres
def test_on_postgresql_no_connection_may_hold_up_others_for_long(pg_hall: Cast):
    def told(name: str) -> str:
        with connection.cursor() as cursor:
            return str(cursor.execute(f"SHOW {name}").fetchone()[0])

    assert told("idle_in_transaction_session_timeout") == "30s"
    assert (told("lock_timeout"), told("statement_timeout")) == ("20s", "1min")


def test_a_cancel_while_the_worker_is_frozen_ends_cancelled_and_never_succeeded(hall: Cast):
    scene = Scene(hall)
    scene.do(scene.hand_over)
    zombie = scene.freeze(scene.work, "step.before_effect=stop@2")
    try:
        runs.cancel(scene.run, hall.alice)
        scene.lapse()
        scene.do(scene.reap)
        assert scene.told.state == "cancelled"
        before = len(scene.told.events)
    finally:
        assert faulty.thaw(zombie) == 0
    assert len(scene.told.events) == before
    assert scene.wrong() == []
    assert Run.objects.get(pk=scene.run).reason == "cancelled"
    assert ASKED not in scene.ledger and scene.ledger.count(FREE) <= 1
