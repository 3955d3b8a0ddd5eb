"""Another try at a failed run, asked for by a person and bounded by them."""

from __future__ import annotations

from django.db.models import QuerySet
from django.db.models.functions import Now

from runtime.core.errors import BadInput, Refused
from runtime.journal import newer
from runtime.journal.book import open_run
from runtime.journal.kinds import RunRetried, TaskRetried
from runtime.models import Dependency, Run, Task, User
from runtime.tasks import moves

from .cancelling import check_owner
from .submitting import MAX_ATTEMPTS


def retry(run_id: str, by: User, max_attempts: int | None = None) -> Run:
    """Make the failed tasks of a run ready again; what was skipped for them follows.

    Raises `NotFound`, `BadInput`, and `Refused` for a run that has not failed, whose attempts are
    used up or that a newer version recorded; nothing is written then.
    """
    if max_attempts is not None and not 1 <= max_attempts <= MAX_ATTEMPTS:
        raise BadInput(
            f"max_attempts: {max_attempts} is out of bounds.",
            remedy=f"Give a number from 1 to {MAX_ATTEMPTS}.",
            field="max_attempts",
        )
    actor = f"user:{by.get_username()}"
    with open_run(run_id) as book:
        run = book.run
        check_owner(run, by, "retry")
        newer.require(run_id)
        bound = max_attempts if max_attempts is not None else run.max_attempts
        if run.state != "failed":
            raise Refused(
                f"The run is {run.state}; only a failed run can be retried.",
                remedy="Submit a new run instead.",
            )
        failed = list(_locked(run, "failed"))
        for task in failed:
            if task.attempt >= bound:
                raise Refused(
                    f"{task.attempt} of {bound} attempts are used.",
                    remedy="Give a higher --max-attempts if another try is wanted.",
                )
        generation = run.generation + 1
        book.append(RunRetried(generation=generation, max_attempts=bound), actor=actor)
        book.set(
            state="running",
            reason="",
            ended_at=None,
            generation=generation,
            max_attempts=bound,
        )
        for task in failed:
            moves.move(
                book,
                task,
                "ready",
                TaskRetried(),
                actor=actor,
                fresh_attempt=True,
                available_at=Now(),
                reason="",
                steps=0,
            )
        again = {task.pk for task in failed}
        for task in _skipped_for(run, again):
            # Edges from tasks that are not tried again stay as they are: those do not end again.
            Dependency.objects.filter(child=task, parent__in=again).update(satisfied=False)
            moves.move(book, task, "blocked", TaskRetried(), actor=actor)
    return book.run


def _skipped_for(run: Run, failed: set[str]) -> list[Task]:
    """Skipped tasks that depend on these, directly or through others; `failed` grows by them."""
    skipped = list(_locked(run, "skipped"))
    edges = set(Dependency.objects.filter(child__in=skipped).values_list("parent_id", "child_id"))
    while more := {child for parent, child in edges if parent in failed} - failed:
        failed |= more
    return [task for task in skipped if task.pk in failed]


def _locked(run: Run, state: str) -> QuerySet[Task]:
    return Task.objects.select_for_update().filter(run=run, state=state).order_by("id")
