"""`/approvals/<id>/edit/`: another action in the place of the one that is asked about."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from runtime import approvals
from runtime.core.errors import BadInput, Conflict, Refused
from runtime.present import text
from runtime.web.pages import answers, person

from .deciding import page, visible
from .forms import Edit


@require_POST
@answers
def edit(request: HttpRequest, approval_id: str) -> HttpResponse:
    """Take the changed action. The worker puts it before the gate; the run's page shows it."""
    approval = visible(request, approval_id)
    form = Edit(request.POST)
    if not form.is_valid():
        return page(request, approval, edit=form, status=400)
    try:
        approvals.edit(
            approval.pk,
            by=person(request),
            action=form.cleaned_data["action"],
            seen_digest=form.cleaned_data["seen"],
        )
    except Conflict as error:
        return page(request, visible(request, approval_id), late=str(error), status=409)
    except Refused as error:
        raise PermissionDenied(text.marked(str(error))) from error
    except BadInput as error:
        form.add_error("action", str(error))
        return page(request, approval, edit=form, status=400)
    return redirect("run", approval.run_id)
