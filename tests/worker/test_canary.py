"""When a cluster counts as hung: on a real database, with no cluster there."""

from __future__ import annotations

import time

import pytest
from django.utils import timezone

from runtime.models import Canary
from runtime.worker import canary, queue, wakeup


@pytest.fixture
def watch(site: None, monkeypatch: pytest.MonkeyPatch) -> canary.Watch:
    """A watch that looks each time."""
    monkeypatch.setattr(canary, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(canary, "HUNG_SECONDS", 3600.0)
    monkeypatch.setattr(canary, "EVERY_SECONDS", 0.0)
    return canary.Watch()


def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, any time is long enough."""
    monkeypatch.setattr(canary, "HUNG_SECONDS", 0.0)
    time.sleep(0.01)


def test_a_message_that_nobody_takes_means_a_hung_cluster(
    watch: canary.Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not watch.hangs()
    assert queue.waiting() == 1
    assert not watch.hangs()
    in_no_time(monkeypatch)
    assert watch.hangs()
    watch.reset()
    assert not watch.hangs()


def test_a_message_that_was_taken_proves_life(
    watch: canary.Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not watch.hangs()
    wakeup.sing()
    in_no_time(monkeypatch)
    assert not watch.hangs()
    row = Canary.objects.get(name=queue.CANARY)
    assert row.sung_at is not None and row.asked_at is not None and row.sung_at >= row.asked_at
    assert row.sung_at <= timezone.now()


def test_waiting_proves_nothing_while_every_worker_is_busy(
    watch: canary.Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canary, "_all_busy", lambda: True)
    assert not watch.hangs()
    in_no_time(monkeypatch)
    assert not watch.hangs()
