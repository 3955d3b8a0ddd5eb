"""`/approvals/batch/`: several answers at once; and `/approvals/grants/`: taking them back."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from runtime import approvals
from runtime.models import Approval, Grant, Run
from runtime.present import actions, badges, text
from runtime.web.pages import answers, person, show

from .forms import Batch


@require_POST
@answers
def batch(request: HttpRequest) -> HttpResponse:
    """Answer each chosen question once, and say of each what came of it."""
    form = Batch(request.POST)
    if not form.is_valid():
        return show(request, "approvals/batch.html", {"form": form, "results": []}, status=400)
    user = person(request)
    runs = Run.objects.visible_to(user)
    chosen = form.chosen()
    wanted = [identifier for identifier, _ in chosen]
    rows = Approval.objects.filter(pk__in=wanted, run__in=runs)
    known = {row.pk: row for row in rows}
    results = approvals.decide_many(
        [(identifier, digest) for identifier, digest in chosen if identifier in known],
        by=user,
        verdict=form.cleaned_data["verdict"],
        comment=form.cleaned_data["comment"],
    )
    context = {"form": form, "results": [_result(known[one.approval], one) for one in results]}
    return show(request, "approvals/batch.html", context)


def _result(approval: Approval, one: approvals.Answered) -> dict[str, Any]:
    body = approvals.card(approval).get("action")
    return {
        "url": f"/approvals/{approval.pk}/",
        "sentence": actions.sentence(approval.action_kind, body),
        "badge": badges.state(one.state or approval.state),
        "error": text.marked(one.error) if one.error else "",
    }


@require_POST
@answers
def revoke(request: HttpRequest, grant_id: str) -> HttpResponse:
    """Take a remembered answer back."""
    user = person(request)
    runs = Run.objects.visible_to(user)
    if not Grant.objects.filter(pk=grant_id, approval__run__in=runs).exists():
        raise Http404("There is no such grant, or it is not yours to see.")
    approvals.revoke(grant_id, by=user)
    messages.success(request, "Taken back: from here on it is asked about again.")
    return redirect("approvals")
