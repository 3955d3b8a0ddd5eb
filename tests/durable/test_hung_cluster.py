"""A cluster that looks well and takes nothing, because who died held the lock of its queue; and
one that is gone at once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runtime.worker import canary
from tests.worker.installation import Installation, until

FINISH = {"kind": "finish", "summary": "done"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.mark.timeout(600)
def test_B1_after_the_death_of_idle_workers_the_queue_moves_again_within_ninety_seconds(
    place: Installation,
):
    place.start()
    place.workspace()
    first = place.submit(FINISH)
    until(lambda: place.state(first) == "succeeded")
    cluster = place.child("cluster")
    for worker in _workers(cluster):
        os.kill(worker.pid, signal.SIGKILL)
    began = time.monotonic()
    run = place.submit(FINISH)
    until(lambda: place.state(run) == "succeeded", 270)
    took = time.monotonic() - began
    print(f"the queue moved again after {took:.1f} s")
    assert place.stop()[0] == 0
    starts = 8 * place.floor()  # of the program, on a machine that is slow now
    assert took < max(90, canary.EVERY_SECONDS + canary.HUNG_SECONDS + starts)


@pytest.mark.timeout(240)
def test_R2_a_cluster_that_is_killed_at_work_costs_one_attempt(place: Installation):
    """All of it at once, with the message that it was working on."""
    place.start()
    place.workspace()
    run = place.submit({"kind": "list_files", "delay_ms": 8000}, FINISH)
    until(lambda: any(event.type == "task.claimed" for event in place.events(run)))
    os.killpg(place.child("cluster").pid, signal.SIGKILL)
    until(lambda: place.state(run) == "succeeded", 120)
    types = [event.type for event in place.events(run)]
    assert (types.count("task.claimed"), types.count("task.lease_expired")) == (2, 1)
    assert types.count("run.succeeded") == 1


def _workers(cluster: psutil.Process) -> list[psutil.Process]:
    """The processes below the sentinel: workers, and who pulls and who saves for them. Killing
    the workers alone is what was reported; which process is which, only the queue knows, so
    the two that were started first are taken: the sentinel starts workers before the others."""
    (sentinel,) = cluster.children()
    return sorted(sentinel.children(), key=lambda one: one.pid)[:2]
