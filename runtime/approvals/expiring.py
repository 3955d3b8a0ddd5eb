"""The ends of a question that nobody answered: time, cancellation, or a changed action."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import Error as DatabaseError
from django.db.models import QuerySet
from django.db.models.functions import Now

from runtime.core.errors import Conflict, NotFound
from runtime.journal import newer
from runtime.journal.append import now
from runtime.journal.book import Book, open_run
from runtime.journal.kinds import (
    ApprovalCancelled,
    ApprovalExpired,
    ApprovalSuperseded,
    TaskReady,
)
from runtime.models import Approval, Task
from runtime.tasks import moves

PAGE = 100

log = logging.getLogger(__name__)


def lock(approval_id: str) -> tuple[Task, Approval]:
    """A question of an open run with the task that waits for it; the task is locked first."""
    task = Task.objects.select_for_update(of=("self",)).get(approval=approval_id)
    approvals = Approval.objects.select_for_update(of=("self",)).select_related("run__workspace")
    return task, approvals.get(pk=approval_id)


def wake(book: Book, task: Task, why: str) -> None:
    """A locked task that waits for a question may go on."""
    if task.state == "waiting":
        moves.move(book, task, "ready", TaskReady(why=f"approval {why}"), available_at=Now())


def expire(book: Book, task: Task, approval: Approval) -> None:
    """End a pending approval whose time is up; its task goes on without the permission."""
    if not _leave(approval, Approval.State.EXPIRED):
        return
    book.append(ApprovalExpired(**_facts(approval)), actor="runtime", task=approval.task_id)
    wake(book, task, "expired")


def expire_due() -> int:
    """Expire the pending approvals that are past their time, oldest first, at most `PAGE` of
    them; how many. One that cannot be ended keeps no other from its end. Those of runs that a
    newer version recorded are that version's."""
    pending = Approval.objects.filter(newer.readable(), state=Approval.State.PENDING)
    due = pending.filter(expires_at__lte=now())
    return each(due.order_by("expires_at", "pk"), _expire_one, "expired")


def each(due: QuerySet[Approval], act: Callable[[str, str], bool], done: str) -> int:
    """Do something to each of the first `PAGE` questions, given by id and run; to how many it was
    done. One that fails keeps no other from it."""
    count = 0
    for approval_id, run_id in list(due.values_list("pk", "run_id")[:PAGE]):
        try:
            count += act(approval_id, run_id)
        except NotFound:
            continue  # removed meanwhile, or locked: then it is looked at again
        except DatabaseError:
            raise
        except Exception:
            log.exception("Approval %s could not be %s; the others are.", approval_id, done)
    return count


def _expire_one(approval_id: str, run_id: str) -> bool:
    with open_run(run_id, skip_locked=True, doing="expire") as book:
        task, approval = lock(approval_id)
        if approval.state != Approval.State.PENDING or approval.expires_at > book.at:
            return False
        expire(book, task, approval)
    return True


def cancel_open(book: Book, reason: str) -> int:
    """Cancel every pending approval of an open run; how many."""
    rows = Approval.objects.select_for_update().filter(run=book.run, state=Approval.State.PENDING)
    count = 0
    for approval in list(rows.order_by("id")):
        if _leave(approval, Approval.State.CANCELLED):
            event = ApprovalCancelled(**_facts(approval), reason=reason)
            book.append(event, actor="runtime", task=approval.task_id)
            count += 1
    return count


def supersede(book: Book, approval: Approval, reason: str) -> None:
    """Void an approval because what it was about has changed: one that is open, or one that was
    given and not used. Raises `Conflict` where it is neither any more."""
    usable = Approval.objects.filter(
        pk=approval.pk,
        state__in=[Approval.State.PENDING, Approval.State.APPROVED],
        consumed_fence=0,
    )
    if usable.update(state=Approval.State.SUPERSEDED) != 1:
        raise Conflict("The approval was settled meanwhile.", outcome=approval.state)
    approval.state = Approval.State.SUPERSEDED
    event = ApprovalSuperseded(**_facts(approval), reason=reason)
    book.append(event, actor="runtime", task=approval.task_id)


def _leave(approval: Approval, state: Approval.State) -> bool:
    pending = Approval.objects.filter(pk=approval.pk, state=Approval.State.PENDING)
    if pending.update(state=state) != 1:
        return False
    approval.state = state
    return True


def _facts(approval: Approval) -> dict[str, str]:
    return {
        "approval": approval.pk,
        "action": approval.action,
        "kind": approval.action_kind,
    }
