"""`/runs/<id>/`: what is it doing, and why?"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from runtime import runs
from runtime.gating import policies
from runtime.journal import newer, read
from runtime.models import Approval, Run, Task
from runtime.people import rights
from runtime.present import events, policy, text
from runtime.present import runs as present
from runtime.present.cards import named
from runtime.web.approvals import cards
from runtime.web.pages import answers, person, show, visible_run

from . import tabs

FIRST = 200
"""Events in the first HTML; older ones on demand."""
INPUTS = 20
"""Changed files of the verification, and guarded ones, that are named."""


@require_safe
@answers
def index(request: HttpRequest, run_id: str) -> HttpResponse:
    """The whole page, or with htmx the tab that was asked for."""
    run = visible_run(request, run_id)
    tab = tabs.chosen(request.GET.get("tab", ""))
    context = {**_tab(request, run, tab), "run": run, "tabs": tabs.listed(run, tab), "tab": tab}
    return show(
        request,
        "run/index.html",
        {
            **context,
            **_header(request, run),
            **_card(request, run),
            "objective": text.short(run.objective, 400),
            "now": timezone.now(),
        },
        fragment="run/_tab.html",
    )


@require_safe
def header(request: HttpRequest, run_id: str) -> HttpResponse:
    """The region `#run-state`: sentence, state, meters and buttons."""
    run = visible_run(request, run_id)
    return show(request, "run/_header.html", {"run": run, **_header(request, run)})


@require_safe
def card(request: HttpRequest, run_id: str) -> HttpResponse:
    """The region `#run-card`: the open question of the run, if there is one."""
    run = visible_run(request, run_id)
    return show(request, "run/_card.html", {"run": run, **_card(request, run)})


@require_safe
def earlier(request: HttpRequest, run_id: str) -> HttpResponse:
    """The rows before a number, with the button for those before them."""
    run = visible_run(request, run_id)
    given = request.GET.get("before", "")
    before = int(given) if given.isdecimal() and len(given) < 16 else 0
    rows = read.before(run.pk, before, FIRST)
    context = {"run": run, "rows": events.render_all(rows), "first": rows[0].seq if rows else 1}
    return show(request, "run/earlier.html", context, fragment="run/_earlier.html")


def _tab(request: HttpRequest, run: Run, tab: str) -> dict[str, Any]:
    if tab != "timeline":
        return tabs.content(run, tab, request.GET)
    rows = read.last(run.pk, FIRST)
    return {
        "rows": events.render_all(rows),
        "first": rows[0].seq if rows else 1,
        "after": rows[-1].seq if rows else 0,
    }


def _header(request: HttpRequest, run: Run) -> dict[str, Any]:
    rows = Task.objects.filter(run=run).annotate(beyond_us=newer.beyond_us())
    tasks = list(rows.order_by("id"))
    question = _open_question(run) if run.state not in present.ENDED else None
    head = present.header(run, tasks, question, timezone.now())
    head["inputs"] = named(runs.inputs_changed(run.pk), INPUTS)
    head["guarded"] = named(runs.guarded_changed(run.pk), INPUTS)
    strange = newer.of(run.pk) if any(task.beyond_us for task in tasks) else []
    head["newer"] = text.visible(newer.named(strange))
    head["policy"] = policy.version(policies.last_loaded(), timezone.now())
    return {"head": head, "may_grant": rights.has(person(request), "decide_approval")}


def _card(request: HttpRequest, run: Run) -> dict[str, Any]:
    question = _open_question(run) if run.state not in present.ENDED else None
    if question is None:
        return {"card": None}
    return {"card": cards.context(question, person(request))}


def _open_question(run: Run) -> Approval | None:
    """The oldest one; kept on the run, so that one page asks the database once."""
    if not hasattr(run, "_open_question"):
        rows = Approval.objects.filter(run=run, state=Approval.State.PENDING)
        found = rows.select_related("run__workspace", "task").order_by("requested_at", "id").first()
        run._open_question = found  # type: ignore[attr-defined]
    return run._open_question  # type: ignore[attr-defined,no-any-return]
