"""Taking a ready task: exactly one worker gets it, and every claim raises the fence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from typing import NamedTuple

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from runtime import faults
from runtime.core.errors import NotFound
from runtime.journal import newer
from runtime.journal.book import Book, one_of_many, open_picked, open_run
from runtime.journal.chain import By
from runtime.journal.kinds import TaskClaimed, TaskDemoted
from runtime.journal.prepared import Prepared
from runtime.journal.retrying import retrying
from runtime.models import Dependency, Task

from . import incarnation
from .moves import move

LEASED = ("running", "cancelling")
CANDIDATES = 20
"""Ready tasks that are read at once."""
MAX_CANDIDATES = 1000
"""Ready tasks that one look considers; the rest wait for the next look."""

LONGEST_DELAY = timedelta(minutes=15)
"""A ready task that is to wait for longer than this waits for a clock that was set back since."""


class Claim(NamedTuple):
    """One worker's hold on a task."""

    run: str
    task: str
    attempt: int
    fence: int
    owner: str
    fresh: bool
    """Whether this claim began a new attempt."""

    def by(self) -> By:
        """How the holder signs its events."""
        return By(self.run, self.task, self.attempt, self.fence, "worker")


def lease() -> timedelta:
    """How long a claim holds without renewal."""
    return timedelta(seconds=settings.M31A.LEASE_SECONDS)


def claim(owner: str, prefer: str | None = None, run: str | None = None) -> Claim | None:
    """Claim a ready task, `prefer` before others, or none where nothing is ready.

    With `run` only tasks of that run are considered.
    """
    how = _passing if one_of_many() else _queueing
    return how(owner, prefer, *(() if run is None else (run,)))


def _ready(*run: str) -> QuerySet[Task]:
    """Tasks that could be claimed now. The database's clock set them ready, and is asked here.

    Those of a run that was recorded by a newer version are left to a worker of that version.
    """
    rows = Task.objects.filter(newer.readable(), state="ready", available_at__lte=Now())
    return rows.filter(run=run[0]) if run else rows


def _in_order(*run: str) -> QuerySet[Task]:
    return _ready(*run).order_by(F("priority").desc(), "available_at", "id")


_NEXT = Prepared(lambda *run: _in_order(*run)[:1], newer.known)
_THIS = Prepared(lambda task, *run: _ready(*run).filter(pk=task)[:1], newer.known)
_THIS_LOCKED = Prepared(lambda task: _ready().filter(pk=task).select_for_update()[:1], newer.known)


def _passing(owner: str, prefer: str | None, *run: str) -> Claim | None:
    """Where many write at once: candidates are found without locks, and a locked one is passed."""
    preferred = () if prefer is None else _THIS.rows(prefer, *run)
    first = ((task.pk, task.run_id) for task in preferred)
    for task_id, run_id in chain(first, _pages(_in_order(*run))):
        taken = _this(task_id, run_id, owner)
        if taken is not None:
            return taken
    return None


@retrying
def _this(task_id: str, run_id: str, owner: str) -> Claim | None:
    try:
        with open_run(run_id, skip_locked=True, doing="claim") as book:
            return _take(book, _THIS_LOCKED.first(task_id), owner)
    except NotFound:
        return None  # another worker has this run locked; it is looked at again


def _pages(order: QuerySet[Task]) -> Iterator[tuple[str, str]]:
    """Candidates in order, read in pages: mostly the first one is taken."""
    for start in range(0, MAX_CANDIDATES, CANDIDATES):
        page = list(order.values_list("id", "run_id")[start : start + CANDIDATES])
        yield from page
        if len(page) < CANDIDATES:
            return


def _queueing(owner: str, prefer: str | None, *run: str) -> Claim | None:
    """Where one writes at a time: whoever's turn it is picks then. One picked before would be
    gone by then, as everybody picks the first, and all would queue again."""
    for _ in range(MAX_CANDIDATES):
        if not _NEXT.exists(*run):  # looking costs the others nothing
            return None
        taken = _next(owner, prefer, *run)
        if taken is not None:
            return taken
    return None


@retrying
def _next(owner: str, prefer: str | None, *run: str) -> Claim | None:
    picked: Task | None = None
    preferred = () if prefer is None else (_THIS.rows(prefer, *run),)
    looks = (*preferred, _NEXT.rows(*run))

    def pick() -> str | None:
        nonlocal picked
        picked = next(chain.from_iterable(looks), None)
        return None if picked is None else picked.run_id

    with open_picked(pick, doing="claim") as book:
        return None if book is None else _take(book, picked, owner)


_UNMET = Prepared(lambda task: Dependency.objects.filter(child=task, satisfied=False)[:1])
"""A dependency that has not ended as its edge wants: then the task is not run."""


def _take(book: Book, task: Task | None, owner: str) -> Claim | None:
    if task is None:
        return None
    if _UNMET.exists(task.pk):
        # Ready although something that it needs has not ended so: it waits again.
        move(book, task, "blocked", TaskDemoted())
        return None
    faults.hit("claim.after_select")
    return _write(book, task, owner)


def _write(book: Book, task: Task, owner: str) -> Claim:
    attempt = task.attempt + (1 if task.fresh_attempt else 0)
    fence = task.fence + 1
    Task.objects.filter(pk=task.pk, fence=task.fence).update(
        state="running",
        attempt=attempt,
        fence=fence,
        fresh_attempt=False,
        lease_owner=owner,
        lease_seq=F("lease_seq") + 1,
        lease_expires_at=Now() + lease(),
    )
    taken = Claim(book.run.pk, task.pk, attempt, fence, owner, task.fresh_attempt)
    by = taken.by()
    book.append(
        TaskClaimed(owner=owner, crashes=task.crashes),
        actor=by.actor,
        task=by.task,
        attempt=attempt,
        fence=fence,
    )
    if book.run.state != "running":
        book.set(state="running")
    return taken


def ours_to_end() -> QuerySet[Task]:
    """Held tasks that this version may take back. Where the end was asked for it always may; else
    not those of a run that was recorded by a newer version."""
    mine = newer.readable() | Q(state="cancelling")
    return Task.objects.filter(mine, state__in=LEASED)


def ready_count() -> int:
    """Tasks that could be claimed now."""
    return _ready().count()


def free(*, all_held: bool) -> int:
    """Let ready tasks go that wait for a time: those that wait too long, or all, where the
    database's clock was seen to be set back. How many. One that starts early does no harm."""
    until = Now() if all_held else Now() + LONGEST_DELAY
    held = Task.objects.filter(state="ready", available_at__gt=until)
    return held.update(available_at=Now()) if held.exists() else 0


def idle(run: str | None = None) -> bool:
    """No task is ready, and none is held by a dead process or an expired lease: none that this
    version may take up or take back."""
    if _ready(*(() if run is None else (run,))).exists():
        return False
    leased = ours_to_end() if run is None else ours_to_end().filter(run=run)
    if leased.filter(lease_expires_at__lt=Now()).exists():
        return False
    owners = leased.values_list("lease_owner", flat=True).distinct()
    return not any(incarnation.is_gone(owner) for owner in owners)
