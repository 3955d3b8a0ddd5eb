"""What a person may ask of a run: to stop, to try again, or to use more."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from runtime import budgets, runs
from runtime.core.errors import BadInput
from runtime.runs.submitting import MAX_ATTEMPTS
from runtime.web.pages import answers, person, visible_run


@require_POST
@answers
def cancel(request: HttpRequest, run_id: str) -> HttpResponse:
    """Ask for the end of the run."""
    run = visible_run(request, run_id)
    reason = request.POST.get("reason", "").strip()
    runs.cancel(run.pk, person(request), reason)
    return redirect("run", run.pk)


@require_POST
@answers
def retry(request: HttpRequest, run_id: str) -> HttpResponse:
    """Ask for another try of what failed."""
    run = visible_run(request, run_id)
    given = request.POST.get("max_attempts", "")
    if not given.isdecimal() or len(given) > 9:
        raise BadInput(
            "max_attempts: that is no number.",
            remedy=f"Give a number from 1 to {MAX_ATTEMPTS}.",
            field="max_attempts",
        )
    runs.retry(run.pk, person(request), int(given))
    return redirect("run", run.pk)


@require_POST
@answers
def budget(request: HttpRequest, run_id: str) -> HttpResponse:
    """Let the run use more of one budget."""
    run = visible_run(request, run_id)
    wanted = f"{request.POST.get('budget', '')}={request.POST.get('more', '')}"
    comment = request.POST.get("comment", "").strip()
    runs.grant_budget(run.pk, budgets.parse([wanted]), person(request), comment)
    return redirect("run", run.pk)
