"""`/audit/`: what happened, who allowed it, is the record whole?"""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from runtime.core import ids
from runtime.journal import verify
from runtime.journal.kinds import REGISTRY
from runtime.journal.rows import EventRow
from runtime.models import Run
from runtime.present import events, html, text, units
from runtime.web.pages import answers, needs, person, show

from . import reading


@require_safe
@needs("read_audit")
@answers
def index(request: HttpRequest) -> HttpResponse:
    """Events, newest first; filters are in the address. With an action, its whole story."""
    wish = reading.Wish.read(request.GET.dict())
    action = request.GET.get("action", "").strip()[:64]
    user = person(request)
    if action and wish.run:
        check_chain(request, wish.run)
        found = [(0, row) for row in reading.join(wish.run, action)]
        more = False
    else:
        found, more = reading.rows(user, wish)
    context = {
        "rows": [_view(row) for _, row in found],
        "older": wish.query(before=found[-1][0]) if more else "",
        "wish": wish,
        "action": action,
        "decisions": reading.DECISIONS,
        "tools": reading.TOOLS,
        "types": sorted(REGISTRY),
        "filtered": bool(wish.query()),
    }
    return show(request, "audit/index.html", context, fragment="audit/_rows.html")


@require_safe
@needs("read_audit")
@answers
def verified(request: HttpRequest, run_id: str) -> HttpResponse:
    """Walk a chain and say whether it is whole."""
    check_chain(request, run_id)
    result = verify.verify(run_id)
    head = verify.known_head(run_id)
    context = {
        "run": run_id,
        "ok": result["ok"],
        "first_bad": result["first_bad"],
        "ending": verify.ending(*head) if head and result["ok"] else "",
        "reason": text.marked(result["reason"]),
    }
    return show(request, "audit/verify.html", context, fragment="audit/_verify.html")


def check_chain(request: HttpRequest, run_id: str) -> None:
    """Raise 404 unless the chain is one that this person may see."""
    if run_id == ids.SYSTEM_RUN:
        return
    if not Run.objects.visible_to(person(request)).filter(pk=run_id).exists():
        raise Http404("There is no such run, or it is not yours to see.")


def _view(row: EventRow) -> dict[str, Any]:
    view = events.row(row)
    named = row.payload.get("action")
    action = named if isinstance(named, str) and len(named) <= 64 else ""
    return {
        **view,
        "when": units.full(units.parse(row.at)),
        "run_id": row.run,
        "short": html.short_id(row.run, "run") if row.run != ids.SYSTEM_RUN else "system",
        "action": action,
        "chain": html.short_id(row.hash, "hash"),
        "is_system": row.run == ids.SYSTEM_RUN,
    }
