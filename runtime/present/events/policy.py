"""`policy.decided`: the gate's verdict, with its stages folded."""

from __future__ import annotations

from django.utils.html import format_html

from runtime.present import badges, html, stages, text

from .view import Facts, Renderer, View


def _decided(facts: Facts) -> View:
    decision = facts.text("decision")
    rule = facts.text("rule")
    title = format_html(
        "{} {} <span class='quiet'>{}</span>",
        badges.decision(decision),
        text.short(facts.text("reason"), 240),
        html.code(rule, 80) if rule else "",
    )
    weight = "quiet" if decision == "ALLOW" else "plain"
    table = stages.table(facts.items("stages"))
    if facts.stored("stages"):
        table = facts.block("stages", "Stages")
    body = html.fold("Eleven stages", table) if table else html.EMPTY
    return View(title, "shield", badges.tone_of_decision(decision), weight, body)


RENDERERS: dict[str, Renderer] = {"policy.decided": _decided}
