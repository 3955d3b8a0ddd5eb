"""Remembered answers that count for a task now."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from runtime.core import canonical
from runtime.models import Grant
from runtime.policy import Decision, GrantFact, Remembered

MAX_GRANTS = 1000


def live(
    task: str, run: str, workspace: str, now: datetime, submitter: str = ""
) -> tuple[GrantFact, ...]:
    """Grants of a task, its run or its workspace that are neither expired nor revoked.

    Four eyes hold here, too: what `submitter` gave lifts no ESCALATE of their own runs.
    """
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
            decision_max=_most(grant, submitter),
            scope=grant.scope,
            by=grant.granted_by,
            rule=Remembered.parse(canonical.decode(grant.rule)) if grant.rule else None,
        )
        for grant in rows[:MAX_GRANTS]
    )


def _most(grant: Grant, submitter: str) -> Decision:
    return Decision.ASK if grant.granted_by == submitter else Decision(grant.lifts)
