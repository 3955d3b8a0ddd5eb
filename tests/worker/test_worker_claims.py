"""Who claims, and what becomes of a claim when its process ends."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from runtime.worker import supervisor
from tests.clock import best_of_three, under
from tests.worker.installation import Event, Installation, alive, until

FINISH = {"kind": "finish", "summary": "done"}
SLOW = {"kind": "list_files", "delay_ms": 8000}
QUICK = {"kind": "list_files"}


def claimed(installation: Installation, run: str) -> list[Event]:
    return [event for event in installation.events(run) if event.type == "task.claimed"]


def holder(event: Event) -> int:
    """Process id of the claim's owner: host/boot/pid/start/random."""
    return int(event.payload["owner"].split("/")[2])


@pytest.mark.thorough
def test_under_up_a_claim_is_made_by_a_child_of_the_cluster(installation: Installation) -> None:
    installation.start()
    installation.workspace()
    run = installation.submit(QUICK, FINISH)
    until(lambda: installation.state(run) == "succeeded")
    (event,) = claimed(installation, run)
    worker = psutil.Process(holder(event))
    assert installation.child("cluster") in worker.parents()
    assert event.payload["owner"].count("/") == 4


@pytest.mark.thorough
def test_R10_a_stop_gives_the_task_back_without_using_up_an_attempt(
    installation: Installation,
) -> None:
    installation.start()
    installation.workspace()
    run = stopped_at_work(installation)
    installation.start()
    until(lambda: len(claimed(installation, run)) == 2)
    first, second = claimed(installation, run)
    assert (first.attempt, second.attempt) == (1, 1)
    assert first.fence and second.fence and second.fence > first.fence


@best_of_three
def stopped_at_work(installation: Installation) -> str:
    """A run whose task was given back in time; `up` has ended."""
    if installation.process is None:
        installation.start()
    run = installation.submit(*[{"kind": "list_files", "path": ".", "delay_ms": 700}] * 12, FINISH)
    until(lambda: len(installation.events(run)) > 6)
    code, seconds = installation.stop()
    installation.process = None
    assert code == 0
    under(seconds, supervisor.STOP_SECONDS)  # when who has not ended is killed
    assert installation.events(run)[-1].type == "task.released"
    return run


@pytest.mark.thorough
def test_R2_a_killed_worker_is_noticed_at_once_and_its_task_tried_again(
    installation: Installation,
) -> None:
    installation.start()
    installation.workspace()
    run = installation.submit(QUICK, SLOW, FINISH)
    (event,) = until(lambda: claimed(installation, run))
    os.kill(holder(event), signal.SIGKILL)
    first, second = until(lambda: len(found := claimed(installation, run)) == 2 and found)
    assert (first.attempt, second.attempt) == (1, 2)
    until(lambda: installation.state(run) == "succeeded", 60)
    assert [event.type for event in installation.events(run)].count("task.lease_expired") == 1


@pytest.mark.thorough
def test_a_stop_in_the_middle_of_a_command_leaves_nothing_of_it(
    installation: Installation,
) -> None:
    installation.start()
    installation.workspace()
    run = stopped_in_a_command(installation)
    # Nothing was done twice in silence: the next holder says that it does not know.
    installation.start()
    until(lambda: len(claimed(installation, run)) == 2)
    until(lambda: installation.state(run) != "running")
    assert "action.outcome_unknown" in [event.type for event in installation.events(run)] or [
        event.payload for event in installation.events(run) if event.type == "action.completed"
    ]


@best_of_three
def stopped_in_a_command(installation: Installation) -> str:
    """A run whose command was ended in time, and with it all; `up` has ended."""
    if installation.process is None:
        installation.start()
    command = {"kind": "run_tool", "program": "sleep", "args": ["8642"]}
    run = installation.submit(command, FINISH)
    until(lambda: installation.events(run)[-1].type == "action.started")
    sleeping = until(lambda: [p for p in psutil.process_iter() if _sleeps(p)])
    before = [*installation.processes(), *sleeping]
    code, seconds = installation.stop()
    installation.process = None
    assert code == 0
    until(lambda: not alive(before))
    under(seconds, 5)
    return run


def _sleeps(process: psutil.Process) -> bool:
    try:
        return process.cmdline() == ["sleep", "8642"]
    except psutil.Error:
        return False
