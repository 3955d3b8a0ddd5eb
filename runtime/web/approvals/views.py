"""`/approvals/`: what needs me?"""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from runtime import approvals
from runtime.models import Approval, User
from runtime.present import answered as present
from runtime.present import html, text
from runtime.web.pages import person, show

from . import cards

MOST = 50
"""Cards on one page; overdue and risky ones first, so that none of those is pushed off it."""
MOST_GRANTS = 100
_STRONGEST = {"ESCALATE": 0, "ASK": 1}


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Open questions grouped by run: those past a reminder, then the riskiest and oldest first."""
    user = person(request)
    rows = list(approvals.pending(user).select_related("run__workspace", "task")[: MOST + 1])
    context = {
        "groups": _groups(rows[:MOST], user),
        "more": len(rows) > MOST,
        "grants": present.grants(list(approvals.live_grants(user)[:MOST_GRANTS]), timezone.now()),
    }
    return show(request, "approvals/index.html", context, fragment="approvals/_inbox.html")


@require_safe
def count(request: HttpRequest) -> HttpResponse:
    """The badge of the navigation."""
    return show(request, "approvals/_count.html", {})


def _groups(rows: list[Approval], user: User) -> list[dict[str, Any]]:
    """Groups in the order of their most urgent question; inside, the same order."""
    first: dict[str, int] = {}
    ordered = sorted(rows, key=_urgency)
    for place, row in enumerate(ordered):
        first.setdefault(row.run_id, place)
    ordered.sort(key=lambda row: first[row.run_id])
    groups = []
    for run_id, members in groupby(ordered, key=lambda row: row.run_id):
        questions = list(members)
        run = questions[0].run
        groups.append(
            {
                "run": run_id,
                "objective": text.short(run.objective, 120),
                "short": html.short_id(run_id, "run"),
                "workspace": text.visible(run.workspace.name if run.workspace else "–"),
                "cards": [cards.context(question, user) for question in questions],
            }
        )
    return groups


def _urgency(row: Approval) -> tuple[int, int, datetime]:
    return -row.reminded, _STRONGEST.get(row.decision, 2), row.requested_at
