"""What waits for a person."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from runtime.models import Approval, Run, User


def pending(user: User) -> QuerySet[Approval]:
    """Open questions of runs that this person may see: riskiest first, then oldest."""
    rows = Approval.objects.filter(state=Approval.State.PENDING)
    visible = rows.filter(run__in=Run.objects.visible_to(user))
    return visible.select_related("run", "task").order_by("-decision", "requested_at", "id")


def pending_count(user: User) -> int:
    """How many open questions this person may see."""
    return pending(user).count()


def overdue(approval: Approval, now: datetime) -> bool:
    """Whether an open question has waited for more than half of its time."""
    half = approval.requested_at + (approval.expires_at - approval.requested_at) / 2
    return approval.state == Approval.State.PENDING and now > half
