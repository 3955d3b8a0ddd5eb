"""`run.*`: from the objective to the end."""

from __future__ import annotations

import shlex

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime import budgets
from runtime.present import html, reasons, text, units

from .view import Facts, Renderer, View


def _submitted(facts: Facts) -> View:
    warnings = html.join(
        format_html('<p class="note warn">{}</p>', text.visible(str(item)))
        for item in facts.items("warnings")
    )
    checks = [shlex.join(map(str, argv)) for argv in facts.items("verification")]
    uncommitted = facts.number("uncommitted")
    left_out = (
        f"{units.count(uncommitted, 'uncommitted file')} of the checkout are not part of it"
        if uncommitted
        else ""
    )
    body = html.join(
        [
            html.prose(facts.text("objective")) or facts.block("objective", "Objective"),
            html.facts(
                [
                    ("workspace", text.visible(facts.text("workspace"))),
                    ("model", text.visible(facts.text("provider"))),
                    ("mode", text.visible(facts.text("mode"))),
                    (
                        "starts from",
                        html.code(facts.text("base")[:10]) if facts.text("base") else "",
                    ),
                    ("verification", html.code("; ".join(checks)) if checks else "none"),
                    ("left out", left_out),
                ]
            ),
            warnings,
        ]
    )
    who = text.visible(facts.person or facts.text("submitted_by"))
    return View(
        format_html("<strong>{}</strong> submitted the run", who), "person", "plain", "loud", body
    )


def _granted(facts: Facts) -> View:
    name = facts.text("budget")
    known = name in budgets.BUDGETS
    more, limit = facts.number("more"), facts.number("limit")
    title = format_html(
        "<strong>{}</strong> granted the run {} more {}; the limit is {}",
        text.visible(facts.person or facts.row.actor),
        budgets.shown(name, more) if known else more,
        budgets.BUDGETS[name].title if known else text.short(name, 40),
        budgets.shown(name, limit) if known else limit,
    )
    return View(title, "person", "allow", "loud", html.prose(facts.text("comment")))


def _cancel_requested(facts: Facts) -> View:
    who = text.visible(facts.person or facts.row.actor)
    return View(
        format_html("<strong>{}</strong> asked to cancel the run", who),
        "stop",
        "ask",
        "loud",
        html.prose(facts.text("reason")),
    )


def _succeeded(facts: Facts) -> View:
    title = html.fixed("<strong>The run succeeded</strong>")
    return View(title, "check", "allow", "loud", html.prose(facts.text("summary")))


def _failed(facts: Facts) -> View:
    reason = facts.text("reason")
    title = format_html("<strong>The run failed</strong>: {}", reasons.sentence(reason))
    detail = facts.block("detail", "Detail")
    return View(title, "cross", "deny", "loud", detail)


def _cancelled(facts: Facts) -> View:
    return View(html.fixed("<strong>The run was cancelled</strong>"), "stop", "idle", "loud")


def _retried(facts: Facts) -> View:
    who = text.visible(facts.person or facts.row.actor)
    title: SafeString = format_html(
        "<strong>{}</strong> asked for another try (generation {}, at most {})",
        who,
        facts.number("generation"),
        units.count(facts.number("max_attempts"), "attempt"),
    )
    return View(title, "retry", "plain", "loud")


RENDERERS: dict[str, Renderer] = {
    "budget.granted": _granted,
    "run.submitted": _submitted,
    "run.cancel_requested": _cancel_requested,
    "run.succeeded": _succeeded,
    "run.failed": _failed,
    "run.cancelled": _cancelled,
    "run.retried": _retried,
}
