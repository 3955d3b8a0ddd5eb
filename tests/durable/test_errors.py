"""The database says no: busy, gone, full. Whole transactions are tried again, or nothing was written."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from runtime import tasks
from runtime.journal.append import append
from runtime.journal.kinds import ActionCompleted
from runtime.models import Run
from runtime.worker.renewal import Renewal
from tests.agent.scenes import wait_for
from tests.clock import best_of_three, in_time
from tests.durable import faulty
from tests.durable.invariants import violations
from tests.durable.scene import FREE, STEPS, Scene
from tests.kit import Cast
from tests.store.store_kit import claimed

THINKS = [STEPS[0], {**STEPS[1], "delay_ms": 4000}, *STEPS[2:]]


@pytest.mark.parametrize(
    ("stage", "point"),
    [
        ("hand_over", "submit.before_commit"),
        ("work", "claim.before_commit"),
        ("work", "step.before_commit"),
        ("work", "step.after_commit"),
        ("work", "suspend.before_commit"),
        ("decide", "decide.before_commit"),
        ("decide", "decide.after_commit"),
        ("rest", "complete.before_commit"),
        ("rest", "complete.after_commit"),
    ],
)
def test_an_error_of_the_database_at_a_commit_is_got_over(hall: Cast, stage: str, point: str):
    scene = Scene(hall)
    for name, do in (
        ("hand_over", scene.hand_over),
        ("work", scene.work),
        ("decide", scene.decide),
        ("rest", scene.work),
    ):
        if name == stage:
            faulty.end_of(faulty.start(do, f"{point}=dberror@1"))
        scene.do(do)
    assert scene.wrong() == []
    told = scene.told
    assert told.state == "succeeded", (told.state, told.reason)
    assert told.types.count("run.succeeded") == 1
    assert told.types.count("approval.approved") == 1
    assert Run.objects.filter(key=scene.key).count() == 1
    lost = told.types.count("task.lease_expired")
    assert (scene.task.attempt, lost == scene.task.crashes) == (1 + lost, True)
    assert scene.ledger.count(FREE) + scene.unknown() >= 1


def test_an_error_in_the_middle_of_a_submission_leaves_nothing(hall: Cast):
    scene = Scene(hall)
    before = set((settings.M31A.DATA_DIR / "runs").iterdir())
    assert faulty.end_of(faulty.start(scene.hand_over, "submit.before_commit=raise")) == 1
    assert not Run.objects.filter(key=scene.key).exists()
    assert set((settings.M31A.DATA_DIR / "runs").iterdir()) == before


def test_a_full_disk_is_an_error_and_not_a_torn_record(hall: Cast):
    claim = claimed()

    def add(number: int) -> None:
        said = "x" * 3500
        event = ActionCompleted(action=f"a{number}", kind="verify", ok=True, observation=said)
        append(claim.by(), [event], task={"fence": claim.fence})

    with connection.cursor() as cursor:
        pages = cursor.execute("PRAGMA page_count").fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages + 4}")
    written = 0
    with pytest.raises(OperationalError, match="full"):
        for _ in range(100):
            add(written)
            written += 1
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA max_page_count = 1073741823")
    assert violations(claim.run) == []
    before = Run.objects.get(pk=claim.run).event_seq
    add(written)
    assert Run.objects.get(pk=claim.run).event_seq == before + 1 == 4 + written
    assert violations(claim.run) == []


@contextmanager
def writing(seconds: float) -> Iterator[None]:
    """Somebody keeps SQLite's write lock for so long."""
    ready = threading.Event()

    def keep() -> None:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            ready.set()
            time.sleep(seconds)
            cursor.execute("ROLLBACK")
        connection.close()

    thread = threading.Thread(target=keep)
    thread.start()
    assert ready.wait(30)
    try:
        yield
    finally:
        thread.join()


def test_a_busy_writer_costs_no_lease(hall: Cast):
    claim = claimed()
    with Renewal(claim, threading.Event()) as renewal:
        before = renewal._renewed
        with writing(1.6):
            time.sleep(1.6)
        wait_for(lambda: renewal._renewed > before)
        assert tasks.reap() == 0
        assert not renewal.lost.is_set()
    assert tasks.peek(claim) == "held"
    tasks.release(claim, "slice")


@best_of_three
def test_a_holder_that_cannot_renew_stops_before_others_may_begin(
    hall: Cast, monkeypatch: pytest.MonkeyPatch
):
    claim = claimed()
    monkeypatch.setattr("runtime.worker.renewal.tasks.renew", _away)
    try:
        with Renewal(claim, threading.Event()) as renewal:
            began = time.monotonic()
            assert renewal.lost.wait(30)
            in_time(began, settings.M31A.LEASE_SECONDS)
    finally:
        tasks.release(claim, "slice")


def _away(claim: tasks.Claim) -> str:
    time.sleep(0.4)  # as long as a database takes to say so
    raise OperationalError("the server is away")


@pytest.mark.postgres
@pytest.mark.parametrize("how", ["backend", "restart"])
def test_postgresql_goes_away_while_a_worker_works(pg_hall: Cast, postgres_template, how: str):  # type: ignore[no-untyped-def]
    scene = Scene(pg_hall, THINKS)
    scene.do(scene.hand_over)
    worker = faulty.start(scene.work)
    wait_for(lambda: "checkpoint.created" in scene.told.types)
    if how == "restart":
        connection.close()
        postgres_template.server.restart()
    else:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
    assert faulty.end_of(worker) in (0, 1)
    connection.close()
    scene.do(scene.work, scene.decide, scene.work)
    told = scene.told
    assert scene.wrong() == []
    assert told.state == "succeeded", (told.state, told.reason)
    assert told.types.count("task.lease_expired") <= 1
    assert scene.ledger.count(FREE) + scene.unknown() == 1
