"""Moves of a task, and what follows from them: its dependents and the state of the run.

Everything here happens in one transaction, with the run's row locked first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.functions import Now

from runtime.core.errors import Refused, StaleFence
from runtime.journal import newer
from runtime.journal.book import Book, open_run
from runtime.journal.chain import By
from runtime.journal.kind import Payload
from runtime.journal.kinds import (
    RunCancelled,
    RunFailed,
    RunSucceeded,
    TaskCancelled,
    TaskReady,
    TaskReleased,
    TaskSkipped,
)
from runtime.journal.prepared import Prepared
from runtime.models import Dependency, NewerKind, SealedBytes, Task
from runtime.workflow.states import LEASED, RUN_TERMINAL, TERMINAL, RunState, legal, run_state

from .wake import enqueue

if TYPE_CHECKING:
    from .claims import Claim


class Hold:
    """A claimed task whose run is locked and whose fence is proven."""

    def __init__(self, book: Book, task: Task, claim: Claim) -> None:
        self.book, self.task, self.claim = book, task, claim

    def append(self, payload: Payload) -> int:
        """Add an event as the holder and return its number."""
        by = self.claim.by()
        return self.book.append(
            payload, actor=by.actor, task=by.task, attempt=by.attempt, fence=by.fence
        )

    def record(self, payloads: Sequence[Payload]) -> dict[int, int]:
        """Add events as the holder; the number of each, by its index."""
        return {index: self.append(payload) for index, payload in enumerate(payloads)}

    def move(self, state: str, payload: Payload, **values: Any) -> None:
        """Move the held task, with everything that follows."""
        move(self.book, self.task, state, payload, by=self.claim.by(), **values)


_TASK = Prepared(lambda task: Task.objects.select_for_update().filter(pk=task))


@contextmanager
def held(claim: Claim, states: tuple[str, ...] = ("running",), doing: str = "") -> Iterator[Hold]:
    """Lock the run of a claim and prove its fence. Raises `StaleFence`."""
    with open_run(claim.run, doing=doing) as book:
        task = _TASK.first(claim.task)
        if task is None or task.fence != claim.fence or task.state not in states:
            raise StaleFence("Another claim owns the task now.")
        yield Hold(book, task, claim)


def release(claim: Claim, why: str) -> None:
    """Give a task back between two steps. No attempt is used up. Raises `StaleFence`."""
    with held(claim) as hold:
        hold.move("ready", TaskReleased(why=why), fresh_attempt=False)


def leave(claim: Claim, found: Sequence[newer.Kind]) -> None:
    """Give a task back whose run holds what this version does not know, and note what that is, so
    that it is not claimed again and again. No attempt is used up. Raises `StaleFence`."""
    with held(claim) as hold:
        NewerKind.objects.bulk_create(newer.rows(claim.run, found), ignore_conflicts=True)
        hold.move("ready", TaskReleased(why="newer record"), fresh_attempt=False)


def move(
    book: Book,
    task: Task,
    state: str,
    payload: Payload,
    *,
    by: By | None = None,
    actor: str = "runtime",
    **values: Any,
) -> None:
    """Move a task of an open run, settle its dependents, and bring the run's state up to date.

    Raises `Refused` where the table of moves does not have it, or another was faster.
    """
    before = task.state
    if not legal(before, state):
        raise Refused(f"A task that is {before} cannot become {state}.")
    if before in LEASED and state not in LEASED:
        values = {"lease_owner": "", "lease_expires_at": None, "reserved": "", **values}
    changed = Task.objects.filter(pk=task.pk, state=before, fence=task.fence)
    if changed.update(state=state, **values) != 1:
        raise Refused(f"The task is not {before} any more.")
    task.state = state
    for name, value in values.items():
        if not isinstance(value, models.Expression):
            setattr(task, name, value)
    who = by or By(book.run.pk, task.pk, None, None, actor)
    book.append(payload, actor=who.actor, task=task.pk, attempt=who.attempt, fence=who.fence)
    if state == "ready":
        enqueue(task.pk)
    if state in TERMINAL:
        # No raw action outlives its task.
        SealedBytes.objects.filter(run=book.run.pk, action__startswith=f"{task.pk}.").delete()
        _settle_children(book, task)
    refresh(book, payload)


def _settle_children(book: Book, parent: Task) -> None:
    """Satisfy or break each edge once; children in the order of their ids."""
    edges = Dependency.objects.filter(parent=parent, satisfied=False).order_by("child_id")
    for edge in list(edges):
        child = Task.objects.select_for_update().get(pk=edge.child_id)
        if child.state != "blocked":
            continue
        if book.run.cancel_requested:
            move(book, child, "cancelled", TaskCancelled())
            continue
        if not _met(edge.kind, parent.state):
            move(book, child, "skipped", TaskSkipped())
            continue
        Dependency.objects.filter(pk=edge.pk, satisfied=False).update(satisfied=True)
        if not Dependency.objects.filter(child=child, satisfied=False).exists():
            move(book, child, "ready", TaskReady(why="dependencies"), available_at=Now())


def _met(kind: str, state: str) -> bool:
    if kind == Dependency.Kind.AFTER:
        return True
    wanted = "succeeded" if kind == Dependency.Kind.NEEDS else "failed"
    return state == wanted


def refresh(book: Book, cause: Payload) -> None:
    """Bring the run's state in line with its tasks, with an event where it ends."""
    run = book.run
    tasks = list(Task.objects.filter(run=run).order_by("id"))
    failed = [task for task in tasks if task.state == "failed" and not _handled(task)]
    state = run_state(
        [task.state for task in tasks],
        cancel_requested=run.cancel_requested,
        unhandled_failure=bool(failed),
    )
    if state == run.state or run.state in RUN_TERMINAL:
        return
    if state == RunState.SUCCEEDED:
        book.append(RunSucceeded(summary=getattr(cause, "summary", "")), actor="runtime")
    elif state == RunState.FAILED:
        reason = failed[0].reason if failed else "failed"
        detail = getattr(cause, "detail", "")
        book.append(RunFailed(reason=reason, detail=detail), actor="runtime")
        book.set(reason=reason)
    elif state == RunState.CANCELLED:
        book.append(RunCancelled(), actor="runtime")
        book.set(reason="cancelled")
    book.set(state=str(state), ended_at=book.at if state in RUN_TERMINAL else None)


def _handled(task: Task) -> bool:
    return Dependency.objects.filter(parent=task, kind=Dependency.Kind.ON_FAILURE).exists()
