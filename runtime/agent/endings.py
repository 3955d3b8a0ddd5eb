"""The ends of a task while a worker holds it."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import approvals, tasks
from runtime.journal.append import Row
from runtime.journal.kind import Payload
from runtime.journal.kinds import TaskCancelled, TaskFailed, TaskSucceeded
from runtime.journal.retrying import retrying

from . import projections
from .session import Session

MAX_DETAIL = 2000


@retrying
def fail(session: Session, reason: str, detail: str, before: Sequence[Payload] = ()) -> None:
    """End the task badly. What it changed stays in the worktree."""
    with tasks.held(session.claim, doing="complete") as hold:
        session.record(hold, before)
        ended = TaskFailed(reason=reason, detail=detail[:MAX_DETAIL])
        hold.move("failed", ended, reason=reason)


@retrying
def succeed(session: Session, summary: str, before: Sequence[Payload], rows: Sequence[Row]) -> None:
    """End the task well, with the events and rows of its last action."""
    with tasks.held(session.claim, doing="complete") as hold:
        projections.write(hold, rows, session.record(hold, before))
        hold.move("succeeded", TaskSucceeded(summary=summary[:MAX_DETAIL]))


@retrying
def acknowledge_cancel(
    session: Session, before: Sequence[Payload] = (), rows: Sequence[Row] = ()
) -> None:
    """End the task because that was asked for; the worker has stopped."""
    with tasks.held(session.claim, states=("cancelling",), doing="complete") as hold:
        projections.write(hold, rows, session.record(hold, before))
        approvals.cancel_open(hold.book, "interrupted")
        hold.move("cancelled", TaskCancelled())
