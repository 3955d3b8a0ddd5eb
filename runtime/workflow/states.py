"""States of tasks and runs, and every legal move of a task.

This one table drives the code that moves tasks, the triggers of both databases and the tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class TaskState(StrEnum):
    """Where a task stands."""

    BLOCKED = "blocked"
    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class RunState(StrEnum):
    """Where a run stands; follows from its tasks."""

    PLANNING = "planning"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


_S = TaskState
TERMINAL: Final = frozenset({_S.SUCCEEDED, _S.FAILED, _S.CANCELLED, _S.SKIPPED})
LEASED: Final = frozenset({_S.RUNNING, _S.CANCELLING})
RUN_TERMINAL: Final = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED})

MOVES: Final[dict[TaskState, frozenset[TaskState]]] = {
    _S.BLOCKED: frozenset({_S.READY, _S.SKIPPED, _S.CANCELLED}),
    _S.READY: frozenset({_S.RUNNING, _S.BLOCKED, _S.CANCELLED}),
    _S.RUNNING: frozenset({_S.READY, _S.WAITING, _S.SUCCEEDED, _S.FAILED, _S.CANCELLING}),
    _S.WAITING: frozenset({_S.READY, _S.CANCELLED}),
    _S.CANCELLING: frozenset({_S.CANCELLED}),
    _S.SUCCEEDED: frozenset(),
    _S.FAILED: frozenset({_S.READY, _S.BLOCKED}),
    _S.CANCELLED: frozenset(),
    _S.SKIPPED: frozenset({_S.BLOCKED}),
}


def legal(before: str, after: str) -> bool:
    """Whether a task may move from one state to the other."""
    return TaskState(after) in MOVES[TaskState(before)]


def pairs() -> list[tuple[str, str]]:
    """Every legal move, in a stable order."""
    return [(str(a), str(b)) for a in TaskState for b in TaskState if b in MOVES[a]]


def run_state(tasks: Iterable[str], *, cancel_requested: bool, unhandled_failure: bool) -> RunState:
    """The state of a run with tasks in these states. Without tasks it is still planned."""
    states = {TaskState(state) for state in tasks}
    if not states:
        return RunState.PLANNING
    if states & {_S.READY, _S.RUNNING, _S.CANCELLING}:
        return RunState.RUNNING
    if _S.WAITING in states:
        return RunState.WAITING
    if _S.BLOCKED in states:
        return RunState.RUNNING
    if cancel_requested and _S.CANCELLED in states:
        return RunState.CANCELLED
    return RunState.FAILED if unhandled_failure else RunState.SUCCEEDED
