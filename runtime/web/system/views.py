"""`/system/`: is the machine fit?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from runtime.models import Run, Task, User, Worker
from runtime.present import badges, html, text, units
from runtime.present import runs as present
from runtime.web.pages import answers, is_fragment, person, show
from runtime.worker import doctor, queue
from runtime.workflow.states import LEASED

from . import reading

MOST = 100
SILENT = timedelta(seconds=60)


@require_safe
@answers
def index(request: HttpRequest) -> HttpResponse:
    """Doctor's table, machines that confine nothing, workers, leases, queue and meters. The fragment
    is what changes by itself."""
    user = person(request)
    context = {
        "troubles": reading.troubles(),
        "meters": reading.meters(),
        "queue": queue.waiting(),
        "workers": _workers(),
        "leases": _leases(user),
    }
    if not is_fragment(request):
        context["first"] = True
        rows = doctor.table()
        context["checks"] = _checks(rows)
        context["faults"] = sum(row.level == "FAULT" for row in rows)
    return show(request, "system/index.html", context, fragment="system/_now.html")


def _checks(rows: list[doctor.Row]) -> list[dict[str, Any]]:
    return [
        {
            "name": text.visible(row.name),
            "badge": badges.level(row.level),
            "detail": text.marked(row.detail),
            "remedy": text.marked(row.remedy or ""),
        }
        for row in rows
    ]


def _workers() -> list[dict[str, Any]]:
    now = timezone.now()
    return [
        {
            "name": text.visible(present.owner(row.incarnation)),
            "full": text.plain(row.incarnation),
            "since": units.ago(row.started_at, now),
            "seen": units.ago(row.seen_at, now),
            "silent": now - row.seen_at > SILENT,
            "task": html.short_id(row.task, "task") if row.task else "idle",
        }
        for row in Worker.objects.order_by("-seen_at")[:MOST]
    ]


def _leases(user: User) -> list[dict[str, Any]]:
    now = timezone.now()
    held = Task.objects.filter(
        state__in=[str(state) for state in LEASED], run__in=Run.objects.visible_to(user)
    ).order_by("lease_expires_at", "id")
    return [
        {
            "run": task.run_id,
            "short": html.short_id(task.run_id, "run"),
            "task": text.visible(task.key),
            "owner": text.visible(present.owner(task.lease_owner)),
            "attempt": task.attempt,
            "fence": task.fence,
            "ends": units.ago(task.lease_expires_at, now) if task.lease_expires_at else "",
            "late": task.lease_expires_at is not None and task.lease_expires_at < now,
        }
        for task in held[:MOST]
    ]
