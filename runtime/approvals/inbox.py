"""What waits for a person."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, Max, Q, QuerySet

from runtime.models import Approval, Run, User
from runtime.workflow import reminders


def pending(user: User) -> QuerySet[Approval]:
    """Open questions of runs that this person may see: those past a reminder
    first, then the riskiest, then the oldest."""
    rows = Approval.objects.filter(state=Approval.State.PENDING)
    visible = rows.filter(run__in=Run.objects.visible_to(user))
    return visible.select_related("run", "task").order_by(
        "-reminded", "-decision", "requested_at", "id"
    )


class Waiting(NamedTuple):
    """How many open questions there are, how many of them are past a reminder, and the newest."""

    open: int
    overdue: int
    newest: str | None = None


def waiting(user: User) -> Waiting:
    """What waits for this person: open questions that they may see."""
    rows = pending(user).select_related(None).order_by()
    late = Count("pk", filter=Q(reminded__gt=0))
    return Waiting(**rows.aggregate(open=Count("pk"), overdue=late, newest=Max("pk")))


def overdue(approval: Approval, now: datetime) -> int:
    """0, or which moment an open question is past: 1 half of its time, 2 all but a tenth."""
    if approval.state != Approval.State.PENDING:
        return 0
    return reminders.passed(approval.requested_at, approval.expires_at, now)
