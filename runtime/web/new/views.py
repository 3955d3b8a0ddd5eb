"""`/runs/new`: what do I want done?"""

from __future__ import annotations

import os
import secrets
import shlex
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from runtime import budgets, providers, runs
from runtime.core.errors import BadInput, Unavailable
from runtime.models import Workspace
from runtime.present import html, text
from runtime.web.pages import needs, person, show

from .forms import MODES, NewRun, names


@require_http_methods(["GET", "HEAD", "POST"])
@needs("submit_run")
def index(request: HttpRequest) -> HttpResponse:
    """The form; with htmx and a workspace only the part that depends on it."""
    known = names()
    if request.method == "POST":
        return _submit(request, known)
    chosen = request.GET.get("workspace", "")
    initial = {
        "workspace": chosen if chosen in known else (known[0] if known else ""),
        "mode": "assisted",
        "key": secrets.token_hex(16),
    }
    return _page(request, NewRun(names=known, initial=initial), str(initial["workspace"]))


def _submit(request: HttpRequest, known: list[str]) -> HttpResponse:
    """Hand the wish over. The form's own key makes a doubled click one run."""
    form = NewRun(request.POST, names=known)
    if not form.is_valid():
        return _page(request, form, request.POST.get("workspace", ""), status=400)
    given = form.cleaned_data
    user = person(request)
    wish = runs.Submission(
        workspace=given["workspace"],
        objective=given["objective"],
        by=user,
        provider=given["provider"],
        mode=given["mode"],
        require_edit=given["require_edit"],
        max_steps=given["max_steps"],
        max_attempts=given["max_attempts"],
        budgets=given["budget"],
        key=f"web/{user.get_username()}/{given['key']}" if given["key"] else None,
    )
    try:
        submitted = runs.submit(wish)
    except (BadInput, Unavailable) as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return _page(request, form, given["workspace"], status=400)
    for warning in submitted.warnings:
        messages.warning(request, warning)
    return redirect("run", submitted.run.pk)


def _page(request: HttpRequest, form: NewRun, name: str, *, status: int = 200) -> HttpResponse:
    current = form["mode"].value()
    context = {
        "form": form,
        "plan": _plan(name),
        "modes": [
            {"name": mode, "title": title, "explains": words, "checked": mode == current}
            for mode, title, words in MODES
        ],
        "default_model": providers.configured(os.environ),
        "models": providers.describe(os.environ),
        "any_workspace": bool(form.fields["workspace"].choices),  # type: ignore[attr-defined]
    }
    return show(request, "new/index.html", context, fragment="new/_plan.html", status=status)


def _plan(name: str) -> dict[str, Any]:
    """What the chosen workspace brings with it: root, verification, programs."""
    workspace = Workspace.objects.filter(name=name).first()
    if workspace is None:
        return {}
    return {
        "root": html.code(workspace.root, 400),
        "verify": [html.code(shlex.join(map(str, argv)), 400) for argv in workspace.verify],
        "is_git": workspace.is_git,
        "allowed": len(workspace.allowed),
        "name": text.visible(workspace.name),
        "budgets": text.visible(_budgets(workspace)),
    }


def _budgets(workspace: Workspace) -> str:
    """What a run may use where the form does not say otherwise."""
    found = budgets.limits(workspace.budgets, 1, 1)
    return ", ".join(
        f"{budgets.BUDGETS[name].title} {budgets.shown(name, value)}"
        for name, value in found.items()
        if name not in {*budgets.OWN, "model_calls"}
    )
