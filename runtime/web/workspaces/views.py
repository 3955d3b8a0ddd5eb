"""`/workspaces/`: where may it work?"""

from __future__ import annotations

import shlex
from collections import defaultdict
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from runtime import budgets
from runtime.core.errors import BadInput, Refused, Unavailable
from runtime.models import Run, User, Workspace
from runtime.people import rights
from runtime.present import badges, html, text, units
from runtime.runs.registering import register_workspace
from runtime.web.pages import forbidden, person, show

from .forms import NewWorkspace

MOST = 100
_CONFINED = {
    "": "the whole cage",
    "landlock": "Landlock is accepted where bubblewrap does not work",
    "none": "none: commands can do what the account can",
}
LAST_RUNS = 5


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """What is registered, and the form for another one."""
    user = person(request)
    form = NewWorkspace(request.POST or None)
    if request.method == "POST":
        if not rights.has(user, "manage_workspaces"):
            raise forbidden(user, "manage_workspaces")
        if form.is_valid() and _register(form, user):
            messages.success(request, f"Registered {form.cleaned_data['name']}.")
            return redirect("workspaces")
    context = {
        "workspaces": _listed(user),
        "form": form,
        "may_register": rights.has(user, "manage_workspaces"),
        "helps": text.marked(rights.helps(user, "manage_workspaces")),
        "open": request.method == "POST",
    }
    return show(request, "workspaces/index.html", context, status=400 if form.errors else 200)


def _register(form: NewWorkspace, user: User) -> bool:
    given = form.cleaned_data
    try:
        register_workspace(
            given["name"],
            given["path"],
            verify=given["verify"],
            allow=given["allow"],
            allow_only=given["allow_only"],
            env=given["env"],
            retention=given["retention"],
            sandbox=given["sandbox"],
            hosts=given["host"],
            budgets=given["budget"],
            provider_retries=given["provider_retries"],
            fallback=given["fallback"].strip(),
            by=user,
        )
    except (BadInput, Unavailable, Refused) as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return False
    return True


def _listed(user: User) -> list[dict[str, Any]]:
    rows = list(Workspace.objects.order_by("name")[:MOST])
    last = _last_runs(user, rows)
    return [_view(row, last[row.pk]) for row in rows]


def _last_runs(user: User, rows: list[Workspace]) -> dict[int, list[dict[str, Any]]]:
    """The last visible runs of each workspace, from one bounded page of runs."""
    now = timezone.now()
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    recent = Run.objects.visible_to(user).filter(workspace__in=rows).order_by("-id")[:300]
    for run in recent:
        if run.workspace_id is not None and len(found[run.workspace_id]) < LAST_RUNS:
            found[run.workspace_id].append(
                {
                    "id": run.pk,
                    "badge": badges.state(run.state),
                    "objective": text.short(run.objective, 80),
                    "age": units.ago(run.created_at, now),
                }
            )
    return found


def _view(row: Workspace, last: list[dict[str, Any]]) -> dict[str, Any]:
    allowed = [text.plain(str(name)) for name in row.allowed]
    return {
        "name": text.visible(row.name),
        "root": html.code(row.root, 400),
        "kind": "git repository" if row.is_git else "plain directory, worked on in a copy",
        "allowed": allowed,
        "verify": [html.code(shlex.join(map(str, argv)), 400) for argv in row.verify],
        "facts": html.facts(
            [
                ("environments", _codes(row.environments)),
                ("remotes", _codes(row.remotes)),
                ("limits", _limits(row.limits)),
                ("output kept", row.get_retention_display()),
                ("confinement", _CONFINED[row.sandbox]),
                ("hosts", _codes(row.hosts)),
                ("budgets", _budgets(row.budgets)),
                ("failed calls", _failures(row)),
                ("registered by", text.visible(row.created_by)),
            ]
        ),
        "runs": last,
    }


def _codes(values: Any) -> str:
    return text.visible(", ".join(str(value) for value in values)) if values else "none"


def _budgets(given: dict[str, int]) -> str:
    shown = [
        f"{budgets.BUDGETS[name].title} {budgets.shown(name, value)}"
        for name, value in sorted(given.items())
        if name in budgets.BUDGETS
    ]
    return text.visible(", ".join(shown) or "the defaults")


def _failures(row: Workspace) -> str:
    tries = units.count(row.provider_retries, "further try", "further tries")
    said = tries if row.provider_retries else "the task ends"
    return text.visible(f"{said}, then {row.fallback}" if row.fallback else said)


def _limits(limits: dict[str, Any]) -> str:
    shown = [
        f"{name.replace('_', ' ')} {units.size(value) if value > 1 << 16 else value}"
        for name, value in sorted(limits.items())
        if isinstance(value, int)
    ]
    return text.visible(", ".join(shown) or "the defaults")
