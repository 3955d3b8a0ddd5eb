"""`/approvals/<id>/`: may this happen? The card whole; and the answer, by POST."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from runtime import approvals
from runtime.core.errors import BadInput, Conflict, Refused
from runtime.models import Approval, Run
from runtime.present import text
from runtime.web.pages import answers, is_fragment, person, show

from . import cards
from .forms import Decision, Edit


@require_http_methods(["GET", "HEAD", "POST"])
@answers
def one(request: HttpRequest, approval_id: str) -> HttpResponse:
    """Show the card, or take the answer.

    A late or repeated answer gets 409 and the outcome that stands; nothing is changed.
    """
    approval = visible(request, approval_id)
    if request.method != "POST":
        return page(request, approval)
    settled = approval.state != Approval.State.PENDING
    form = Decision(request.POST)
    if not form.is_valid():
        return page(request, approval, form, status=400)
    try:
        approval = approvals.decide(
            approval.pk,
            by=person(request),
            verdict=form.cleaned_data["verdict"],
            scope=form.reach(),
            comment=form.cleaned_data["comment"],
            seen_digest=form.cleaned_data["seen"],
            rule=form.remembers(),
        )
    except Conflict as error:
        return page(request, visible(request, approval_id), late=str(error), status=409)
    except Refused as error:
        raise PermissionDenied(text.marked(str(error))) from error
    except BadInput as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return page(request, approval, form, status=400)
    if settled:
        again = "You have given this answer before. Nothing was changed."
        return page(request, visible(request, approval.pk), late=again, status=409)
    if is_fragment(request):
        return page(request, visible(request, approval.pk))
    return redirect("approval", approval.pk)


def visible(request: HttpRequest, approval_id: str) -> Approval:
    """A question of a run that this person may see."""
    rows = Approval.objects.filter(run__in=Run.objects.visible_to(person(request)))
    found = rows.select_related("run__workspace", "task").filter(pk=approval_id).first()
    if found is None:
        raise Http404("There is no such approval, or it is not yours to see.")
    return found


def page(
    request: HttpRequest,
    approval: Approval,
    form: Decision | None = None,
    *,
    edit: Edit | None = None,
    late: str = "",
    status: int = 200,
) -> HttpResponse:
    """The card on its own page, or as the fragment that takes the place of a card."""
    card = cards.context(approval, person(request), form, alike=True)
    card["edit"] = edit
    context = {"card": card, "late": text.marked(late) if late else "", "whole": True}
    return show(
        request, "approvals/one.html", context, fragment="approvals/_settled.html", status=status
    )
