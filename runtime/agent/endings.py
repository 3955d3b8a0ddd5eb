"""The ends of a task while a worker holds it."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import approvals, tasks
from runtime.journal.append import Row
from runtime.journal.kind import Payload
from runtime.journal.kinds import TaskCancelled, TaskFailed, TaskSucceeded
from runtime.journal.retrying import retrying
from runtime.tasks import Claim

from . import projections

MAX_DETAIL = 2000


@retrying
def fail(
    claim: Claim,
    reason: str,
    detail: str,
    before: Sequence[Payload] = (),
    rows: Sequence[Row] = (),
) -> None:
    """End the task badly. What it changed stays in the worktree."""
    with tasks.held(claim, doing="complete") as hold:
        projections.write(hold, rows, hold.record(before))
        ended = TaskFailed(reason=reason, detail=detail[:MAX_DETAIL])
        hold.move("failed", ended, reason=reason)


@retrying
def succeed(claim: Claim, summary: str, before: Sequence[Payload], rows: Sequence[Row]) -> None:
    """End the task well, with the events and rows of its last action."""
    with tasks.held(claim, doing="complete") as hold:
        projections.write(hold, rows, hold.record(before))
        hold.move("succeeded", TaskSucceeded(summary=summary[:MAX_DETAIL]))


@retrying
def acknowledge_cancel(
    claim: Claim, before: Sequence[Payload] = (), rows: Sequence[Row] = ()
) -> None:
    """End the task because that was asked for; the worker has stopped."""
    with tasks.held(claim, states=("cancelling",), doing="complete") as hold:
        projections.write(hold, rows, hold.record(before))
        approvals.cancel_open(hold.book, "interrupted")
        hold.move("cancelled", TaskCancelled())
