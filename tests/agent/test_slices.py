"""Slices, stops, and what one step costs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.db import connection

from runtime import tasks
from runtime.agent import driver
from runtime.models import NewerKind
from runtime.runs import replay
from runtime.worker import inline, slices
from tests.agent.scenes import Meanwhile, answer, space, task, tool, tree, wait_for
from tests.kit import EDIT, FINISH, VERIFY, play, repository, submit, workspace

STEPS = [tool("true"), EDIT]
MORE_STEPS = [
    {"kind": "read_file", "path": "notes.txt"},
    tool("touch", "made"),
    {"kind": "git_commit", "message": "x"},
    VERIFY,
    {"kind": "git_status"},
    {"kind": "dance"},
    tool("/no/such/program"),
]


def test_slices_use_up_no_attempt(cast, monkeypatch):
    monkeypatch.setattr(settings.M31A, "SLICE_SECONDS", 0.01)
    workspace(cast.alice)
    told = play(cast.alice, [*STEPS, VERIFY, FINISH])
    assert told.state == "succeeded", told.reason
    claims = [event for event in told.events if event.type == "task.claimed"]
    assert len(claims) > 3
    assert {event.attempt for event in claims} == {1}
    fences = [event.fence for event in claims]
    assert fences == sorted(set(fences)), "every claim raises the fence"
    assert {payload["why"] for payload in told.of("task.released")} == {"slice"}
    assert "worktree.restored" not in told.types
    assert replay.check(told.run.pk) == ""


def test_what_a_verification_left_out_stays_so_over_slices(cast, monkeypatch):
    monkeypatch.setattr(settings.M31A, "SLICE_SECONDS", 0.01)
    workspace(cast.alice, verify=("touch report.xml",))
    told = play(cast.alice, [EDIT, VERIFY, tool("touch", "other"), VERIFY, FINISH])
    assert told.state == "succeeded"
    assert told.last("delivery.completed")["files"] == 2


def test_a_stop_lets_go_at_the_next_step_and_uses_up_no_attempt(cast):
    workspace(cast.alice)
    told = submit(cast.alice, [tool("true"), FINISH])
    stop = threading.Event()
    claim = tasks.claim("test")
    assert claim is not None
    stop.set()
    slices.drive(claim, stop)
    assert told.last("task.released")["why"] == "stop"
    assert task(told).state == "ready"
    told.work()
    assert told.state == "succeeded"
    assert task(told).attempt == 1


def test_a_hold_ends_at_the_next_step_where_a_newer_version_writes_to_the_run(cast, monkeypatch):
    """It may hold another task of the run at the same time."""
    workspace(cast.alice)
    told = submit(cast.alice, [tool("touch", "first"), tool("touch", "second"), FINISH])
    plain = driver.execute

    def execute(session, *more):
        NewerKind.objects.create(run=told.run, type="action.weighed", v=1)
        return plain(session, *more)

    monkeypatch.setattr(driver, "execute", execute)
    told.work()
    ends = [event for event in told.types if event in ("task.claimed", "task.released")]
    assert ends == ["task.claimed", "task.released"], "and it is not claimed again"
    assert told.types.count("action.completed") == 1, "what was begun was ended"
    assert (task(told).state, task(told).attempt) == ("ready", 1)


SLOW = "import time\nopen('made', 'w').close()\ntime.sleep(55)\n"


def stop_during(told, kind: str) -> None:
    """A worker that is told to stop while it does something that makes a file."""
    claim = tasks.claim("test")
    assert claim is not None
    stop = threading.Event()
    with Meanwhile(
        told, "task.claimed", lambda: (wait_for((tree(told) / "made").exists), stop.set())
    ):
        slices.drive(claim, stop)
    assert told.last("action.outcome_unknown")["kind"] == kind
    assert told.last("task.released")["why"] == "stop"
    assert task(told).state == "ready"


def test_a_stop_ends_the_running_command_and_its_outcome_is_unknown(cast):
    workspace(cast.alice, repository({"slow.py": SLOW}))
    told = submit(cast.alice, [tool("python3", "slow.py"), FINISH, VERIFY, FINISH])
    stop_during(told, "run_tool")
    told.work()
    assert told.state == "succeeded"
    assert task(told).attempt == 1
    assert told.types.count("finish.refused") == 1, "what it made is there, and no one verified it"
    assert replay.check(told.run.pk) == ""


def test_a_stop_during_a_verification_leaves_out_what_it_had_made(cast):
    files = {"v.sh": "test -e again && exit 0\ntouch made\nsleep 55\n", "notes.txt": "x\n"}
    workspace(cast.alice, repository(files), verify=("sh v.sh",))
    told = submit(cast.alice, [EDIT, VERIFY, tool("touch", "again"), VERIFY, FINISH])
    stop_during(told, "verify")
    assert told.last("verification.failed")["left_out"] == ["made"]
    told.work()
    assert told.state == "succeeded"
    tree_delivered = told.last("delivery.completed")["tree"]
    changes = space(told).changed_files(told.of("run.submitted")[0]["tree"], tree_delivered)
    assert changes == [("A", "again"), ("M", "notes.txt")]
    assert replay.check(told.run.pk) == ""


def test_one_slice_at_most_when_asked_for_one(cast, monkeypatch):
    monkeypatch.setattr(settings.M31A, "SLICE_SECONDS", 0.01)
    workspace(cast.alice)
    told = submit(cast.alice, [tool("true")] * 3 + [FINISH])
    assert inline.work(once=True) == 1
    assert told.types.count("task.claimed") == 1
    assert told.state == "running"


@contextmanager
def transactions() -> Iterator[list[str]]:
    """The transactions that this thread begins."""
    begun: list[str] = []

    def note(execute, sql, params, many, context):
        if sql.lstrip().upper().startswith("BEGIN"):
            begun.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield begun


def cost(by, steps: list[dict]) -> int:  # type: ignore[type-arg]
    """Transactions of a run with these steps."""
    told = submit(by, [*steps, VERIFY, FINISH])
    with transactions() as begun:
        told.work()
    assert told.state == "succeeded", told.reason
    return len(begun)


@pytest.mark.parametrize(
    "step",
    [*STEPS, *(pytest.param(step, marks=pytest.mark.thorough) for step in MORE_STEPS)],
    ids=lambda step: str(step.get("program", step["kind"])),
)
def test_one_action_needs_at_most_two_transactions(cast, step, monkeypatch):
    monkeypatch.setattr(inline, "PASS_SECONDS", 600.0)  # a pass is no part of an action
    workspace(cast.alice)
    few = cost(cast.alice, [tool("true")])
    more = cost(cast.alice, [tool("true"), step])
    assert more - few <= 2


def test_an_answered_action_needs_at_most_two_transactions_of_its_worker(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("touch", "a"), tool("touch", "b"), FINISH], mode="safe")
    answer(told, cast.bob)
    claim = tasks.claim("test")
    assert claim is not None
    before = len(told.events)
    with transactions() as begun:
        slices.drive(claim, threading.Event())
    new = [event.type for event in told.events[before:]]
    assert new.count("action.completed") == 1
    assert new[-1] == "task.waiting"
    # Two for the answered action, one for the question about the next.
    assert len(begun) == 3
