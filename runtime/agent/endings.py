"""The ends of a task while a worker holds it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db.models.functions import Now

from runtime import approvals, tasks
from runtime.journal.kind import Payload
from runtime.journal.kinds import TaskCancelled, TaskFailed, TaskReleased, TaskSucceeded
from runtime.journal.retrying import retrying
from runtime.journal.statements import Row
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
        projections.record(hold, before, rows)
        ended = TaskFailed(reason=reason, detail=detail[:MAX_DETAIL])
        hold.move("failed", ended, reason=reason)


@retrying
def succeed(claim: Claim, summary: str, before: Sequence[Payload], rows: Sequence[Row]) -> None:
    """End the task well, with the events and rows of its last action."""
    with tasks.held(claim, doing="complete") as hold:
        projections.record(hold, before, rows)
        hold.move("succeeded", TaskSucceeded(summary=summary[:MAX_DETAIL]))


@retrying
def acknowledge_cancel(
    claim: Claim, before: Sequence[Payload] = (), rows: Sequence[Row] = ()
) -> None:
    """End the task because that was asked for; the worker has stopped."""
    with tasks.held(claim, states=("cancelling",), doing="complete") as hold:
        projections.record(hold, before, rows)
        approvals.cancel_open(hold.book, "interrupted")
        hold.move("cancelled", TaskCancelled())


@retrying
def put_off(claim: Claim, seconds: int, before: Sequence[Payload]) -> None:
    """Let go of a task that may be claimed again after some seconds, by the database's clock. No
    attempt is used up, and no worker held."""
    with tasks.held(claim, doing="suspend") as hold:
        projections.record(hold, before, ())
        later = Now() + timedelta(seconds=seconds)
        released = TaskReleased(why="back-off")
        hold.move("ready", released, fresh_attempt=False, available_at=later)
