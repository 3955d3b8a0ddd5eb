"""Remembered answers that count for a task now."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from runtime.models import Grant
from runtime.policy import Decision, GrantFact

MAX_GRANTS = 1000


def live(task: str, run: str, workspace: str, now: datetime) -> tuple[GrantFact, ...]:
    """Grants of a task, its run or its workspace that are neither expired nor revoked."""
    in_scope = (
        Q(scope=Grant.Scope.TASK, subject=task)
        | Q(scope=Grant.Scope.RUN, subject=run)
        | Q(scope=Grant.Scope.WORKSPACE, subject=workspace)
    )
    rows = Grant.objects.filter(
        in_scope,
        Q(expires_at__isnull=True) | Q(expires_at__gt=now),
        revoked_at__isnull=True,
    ).order_by("id")
    return tuple(
        GrantFact(
            id=grant.pk,
            key=grant.key,
            decision_max=Decision(grant.lifts),
            scope=grant.scope,
            by=grant.granted_by,
        )
        for grant in rows[:MAX_GRANTS]
    )
