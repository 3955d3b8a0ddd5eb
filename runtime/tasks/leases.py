"""Leases: renewed by their holder, taken back from holders that died or fell silent.

Expiry is compared on the database's clock only. A taker repeats its whole guard in the write.
"""

from __future__ import annotations

import logging
import time
from typing import Literal

from django.db import Error as DatabaseError
from django.db.models import F
from django.db.models.functions import Now
from django.db.transaction import on_commit

from runtime import faults
from runtime.core import amounts, ids
from runtime.core.errors import NotFound
from runtime.journal import deltas, unfinished
from runtime.journal.book import open_run
from runtime.journal.chain import By
from runtime.journal.kinds import TaskCancelled, TaskFailed, TaskLeaseExpired, TaskReady
from runtime.journal.retrying import retrying
from runtime.models import Run, Task

from . import incarnation
from .claims import LEASED, Claim, free, lease, ours_to_end
from .moves import move

PAGE = 100
SET_BACK_SECONDS = 1.0
"""Smaller steps back of the clock are those of its care; a task that waits for one waits that long."""
Standing = Literal["held", "cancel", "lost"]

log = logging.getLogger(__name__)


@retrying
def renew(claim: Claim) -> Standing:
    """Prolong a lease. An expired one may be renewed as long as nobody took the task back."""
    faults.hit("renew.before")
    held = Task.objects.filter(pk=claim.task, fence=claim.fence, state__in=LEASED)
    if held.update(lease_seq=F("lease_seq") + 1, lease_expires_at=Now() + lease()) != 1:
        return "lost"
    return peek(claim)


def peek(claim: Claim) -> Standing:
    """How a claim stands, by reading only."""
    row = Task.objects.filter(pk=claim.task).values_list("fence", "state").first()
    if row is None or row[0] != claim.fence or row[1] not in LEASED:
        return "lost"
    return "cancel" if row[1] == "cancelling" else "held"


class _Clock:
    """The database's clock, compared with one that nobody sets, from pass to pass.

    Where it has jumped ahead, or this machine slept meanwhile, leases look expired whose holders
    live: they get the time to renew them. Where it was set back, tasks that became ready before
    look as if they were to wait.
    """

    def __init__(self) -> None:
        self._ahead: tuple[float, float] | None = None
        """By how much the database's clock was ahead of ours at the last pass: at least, at most."""
        self._trusted_from = 0.0
        self.set_back = False
        """Whether it was set back between the last two looks."""

    def trusted(self) -> bool:
        """Whether an expired lease may be believed now. The first pass of a process does."""
        before = time.monotonic()
        there = _database_time()
        after = time.monotonic()
        least, most = there - after, there - before
        before_least, before_most = self._ahead or (least, most)
        self._ahead = (least, most)
        self.set_back = most < before_least - SET_BACK_SECONDS
        if least > before_most + lease().total_seconds() / 8:
            log.warning("The clock jumped ahead; leases are believed again after one lease.")
            self._trusted_from = after + lease().total_seconds()
        return after >= self._trusted_from


def _database_time() -> float:
    """Seconds since the epoch, by the clock by which leases are judged."""
    when = Run.objects.annotate(now=Now()).values_list("now", flat=True).get(pk=ids.SYSTEM_RUN)
    return float(when.timestamp())


_clock = _Clock()


def reap() -> int:
    """Take back every task whose holder is dead or whose lease ran out; how many. And let go what
    a clock that was set back holds up.

    A holder of this machine whose process is gone loses its task at once, any other only
    after a further quarter of the lease. A task that cannot be taken back keeps no other from it.
    """
    taken, after = 0, ""
    trusted = _clock.trusted()
    if freed := free(all_held=_clock.set_back):
        log.warning("%d ready tasks waited for a clock that was set back; they go on now.", freed)
    while True:
        page = list(
            ours_to_end()
            .filter(pk__gt=after)
            .order_by("pk")
            .values_list("pk", "run_id", "fence", "lease_seq", "lease_owner")[:PAGE]
        )
        for task_id, run_id, fence, lease_seq, owner in page:
            gone = incarnation.is_gone(owner)
            if not gone and not trusted:
                continue
            try:
                taken += _take_back(task_id, run_id, fence, lease_seq, gone=gone)
            except NotFound:
                continue  # removed meanwhile, or locked: then it is looked at again
            except DatabaseError:
                raise
            except Exception:
                log.exception("Task %s could not be taken back; the others are.", task_id)
        if len(page) < PAGE:
            return taken
        after = page[-1][0]


@retrying
def _take_back(task_id: str, run_id: str, fence: int, lease_seq: int, *, gone: bool) -> int:
    guard = ours_to_end().filter(pk=task_id, fence=fence, lease_seq=lease_seq)
    if not gone:
        guard = guard.filter(lease_expires_at__lt=Now() - lease() / 4)
    if not guard.exists():
        return 0
    faults.hit("reap.before")
    with open_run(run_id, skip_locked=True, doing="reap") as book:
        task = guard.select_for_update().first()
        if task is None:
            return 0
        by = By(run_id, task_id, task.attempt, fence, "reconciler")
        for said in unfinished.cut(run_id, task_id):
            book.append(said, actor=by.actor, task=task_id, attempt=by.attempt, fence=fence)
        on_commit(lambda: deltas.remove(run_id, task=task_id))
        if task.state == "cancelling":
            move(book, task, "cancelled", TaskCancelled(), by=by)
            return 1
        crashes = task.crashes + 1
        counted = amounts.read(task.reserved)
        spent = amounts.written(amounts.add(amounts.read(task.spent), counted))
        book.append(
            TaskLeaseExpired(owner=task.lease_owner, crashes=crashes, spent=counted or None),
            actor="reconciler",
            task=task_id,
            attempt=task.attempt,
            fence=fence,
        )
        if task.attempt >= book.run.max_attempts:
            failed = TaskFailed(
                reason="attempts_exhausted",
                detail=f"{task.attempt} attempts ended without a result.",
            )
            reason = "attempts_exhausted"
            move(book, task, "failed", failed, by=by, crashes=crashes, reason=reason, spent=spent)
        else:
            ready = TaskReady(why="lease_lost")
            move(
                book, task, "ready", ready, by=by, crashes=crashes, fresh_attempt=True, spent=spent
            )
    return 1
