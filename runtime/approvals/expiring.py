"""The ends of a question that nobody answered: time, cancellation, or a changed action."""

from __future__ import annotations

from runtime.core.errors import NotFound
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


def expire(book: Book, approval: Approval) -> None:
    """End a pending approval whose time is up; its task goes on without the permission."""
    if not _leave(approval, Approval.State.EXPIRED):
        return
    book.append(ApprovalExpired(**_facts(approval)), actor="runtime", task=approval.task_id)
    task = Task.objects.select_for_update().get(pk=approval.task_id)
    if task.state == "waiting":
        moves.move(book, task, "ready", TaskReady(why="approval expired"), available_at=book.at)


def expire_due() -> int:
    """Expire every pending approval that is past its time; how many."""
    due = Approval.objects.filter(state=Approval.State.PENDING, expires_at__lte=now())
    ended = 0
    for approval_id, run_id in list(due.values_list("pk", "run_id")[:PAGE]):
        try:
            with open_run(run_id, doing="expire") as book:
                approval = Approval.objects.select_for_update().get(pk=approval_id)
                if approval.state == Approval.State.PENDING and approval.expires_at <= book.at:
                    expire(book, approval)
                    ended += 1
        except NotFound:
            continue  # the run was removed meanwhile, its approvals with it
    return ended


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
    """Void an approval because what it was about has changed. Approved ones can be void, too."""
    Approval.objects.filter(pk=approval.pk).update(state=Approval.State.SUPERSEDED)
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
