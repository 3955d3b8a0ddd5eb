"""`/policy/`: what would happen if?"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_POST

from runtime import gating
from runtime.core.errors import BadInput, NotFound
from runtime.people import rights
from runtime.present import badges, html, stages, text
from runtime.web.new.forms import MODES, names
from runtime.web.pages import needs, person, show

from . import book, builtin, kinds
from .forms import Backtest, Try

MAX_DECISIONS = 1000
"""Recorded decisions that one request tries again; the command line takes more."""


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """Stages and layers explained; and an action tried against them."""
    known = names()
    verdict = None
    if request.method == "POST" and (wanted := kinds.example(request.POST.get("example", ""))):
        form = Try(names=known, initial={**request.POST.dict(), "action": wanted})
    elif request.method == "POST":
        form = Try(request.POST, names=known)
        verdict = _tried(form) if form.is_valid() else None
    else:
        form = Try(names=known, initial={"mode": "assisted"})
    context = {
        "form": form,
        "kinds": kinds.catalogue(),
        "verdict": verdict,
        "book": book.shown(),
        "builtin": builtin.sections(),
        "backtest": Backtest() if rights.has(person(request), "see_all_runs") else None,
        "stages": [
            {"number": number, "name": name, "does": does}
            for number, (name, does) in enumerate(stages.STAGES, 1)
        ],
        "layers": stages.LAYERS,
        "modes": MODES,
        "any_workspace": bool(known),
    }
    status = 400 if form.errors else 200
    return show(request, "policy/index.html", context, fragment="policy/_lab.html", status=status)


@require_POST
@needs("see_all_runs")
def backtest(request: HttpRequest) -> HttpResponse:
    """A changed file, tried on the latest recorded decisions. Nothing of it takes effect."""
    form = Backtest(request.POST)
    outcome = None
    if form.is_valid():
        given = form.cleaned_data
        try:
            changed = gating.backtest.document(
                "the file", given["text"], given["layer"], given["subject"]
            )
            outcome = book.tested(gating.backtest.run(changed, MAX_DECISIONS))
        except BadInput as error:
            for sentence in book.told(error):
                form.add_error("text", sentence)
    context = {"backtest": form, "outcome": outcome}
    return show(
        request,
        "policy/backtest.html",
        context,
        fragment="policy/_backtest.html",
        status=400 if form.errors else 200,
    )


def _tried(form: Try) -> dict[str, Any] | None:
    given = form.cleaned_data
    wish = {name: given[name] for name in ("action", "workspace", "mode", "role", "kind", "cwd")}
    try:
        answer = gating.check(wish)
    except (BadInput, NotFound) as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return None
    return {
        "badge": badges.decision(answer["decision"]),
        "tone": badges.tone_of_decision(answer["decision"]),
        "reason": text.visible(str(answer.get("reason") or "")),
        "facts": html.facts(
            [
                ("rule", html.code(str(answer["rule"])) if answer.get("rule") else "none matched"),
                ("source", text.visible(str(answer.get("source") or ""))),
                ("risk", badges.risk(str(answer.get("risk") or ""))),
                ("effects", text.visible(", ".join(map(str, answer.get("effects") or ())))),
                ("changes something", "yes" if answer.get("mutation") else "no"),
                ("policy", html.code(str(answer.get("policy_hash") or "")[:12])),
            ]
        ),
        "stages": stages.table(answer["stages"]),
    }
