"""`/`: what is going on?"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from runtime.people import rights
from runtime.present import runs as present
from runtime.web.pages import person, show

from . import reading


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The runs that this person may see, newest first; filters are in the address."""
    user = person(request)
    wish = reading.Wish.read(request.GET.dict())
    found, more = reading.runs(user, wish)
    live = [run.pk for run in found if run.state not in present.ENDED]
    waits, holders = (reading.waits(live), reading.holders(live)) if live else ({}, {})
    now = timezone.now()
    rows = [present.line(run, waits.get(run.pk), holders.get(run.pk), now) for run in found]
    context = {
        "rows": rows,
        "live": bool(live),
        "wish": wish,
        "states": reading.STATES,
        "workspaces": reading.workspace_names(),
        "older": wish.query(before=found[-1].pk) if more else "",
        "newest": wish.query(before="") if wish.before else "",
        "here": wish.query(),
        "filtered": bool(wish.state or wish.workspace or wish.before),
        "may_submit": rights.has(user, "submit_run"),
    }
    return show(request, "runs/index.html", context, fragment="runs/_list.html")
