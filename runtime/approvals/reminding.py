"""Questions that wait long: each is told of past half of its time, and again near its end.

Nobody is written to. The reminder is an event of the run's chain, and pages show it.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from runtime.core import clock
from runtime.journal import newer
from runtime.journal.append import now
from runtime.journal.book import Book, open_run
from runtime.journal.kinds import ApprovalReminded
from runtime.models import Approval
from runtime.workflow import reminders

from .expiring import each, lock
from .who import may_answer

MOST_NAMES = 20
"""People whom one reminder names."""


def remind_due() -> int:
    """Remind of the open questions for which it is time, longest due first; of how many.

    Where both moments passed unseen, only the later one is told. Runs that a newer version
    recorded are that version's."""
    return each(due(now()).filter(newer.readable()), _remind_one, "reminded of")


def due(moment: datetime) -> QuerySet[Approval]:
    """The open questions for which it is time, found by an index."""
    rows = Approval.objects.filter(state=Approval.State.PENDING, remind_at__lte=moment)
    return rows.filter(expires_at__gt=moment).order_by("remind_at", "pk")


def _remind_one(approval_id: str, run_id: str) -> bool:
    with open_run(run_id, skip_locked=True, doing="remind") as book:
        _, approval = lock(approval_id)
        if not _is_due(approval, book.at):
            return False  # another was faster, or it was answered meanwhile
        _remind(book, approval)
    return True


def _is_due(approval: Approval, at: datetime) -> bool:
    waits = approval.state == Approval.State.PENDING and approval.expires_at > at
    return waits and approval.remind_at is not None and approval.remind_at <= at


def _remind(book: Book, approval: Approval) -> None:
    span = approval.requested_at, approval.expires_at
    approval.reminded = reminders.passed(*span, book.at)
    approval.remind_at = reminders.following(*span, approval.reminded)
    approval.save(update_fields=["reminded", "remind_at"])
    names = may_answer(approval)
    event = ApprovalReminded(
        approval=approval.pk,
        action=approval.action,
        kind=approval.action_kind,
        decision=approval.decision,
        nth=approval.reminded,
        requested_at=clock.stamp(approval.requested_at),
        expires_at=clock.stamp(approval.expires_at),
        may_answer=names[:MOST_NAMES],
        more=len(names[MOST_NAMES:]),
    )
    book.append(event, actor="runtime", task=approval.task_id)
