"""`message.*` and `answer.*`: what the model said."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime.present import html, text, units

from .view import Facts, Renderer, View


def _said(facts: Facts, label: str) -> SafeString:
    return html.prose(facts.text("text")) or facts.block("text", label)


def _completed(facts: Facts) -> View:
    about = "about " if facts.flag("estimated") else ""
    used = facts.number("input_tokens") + facts.number("output_tokens")
    cost = f"{about}{units.count(used, 'token')}" if used else ""
    title = format_html(
        'Step {} <span class="quiet">{} {}</span>',
        facts.number("step"),
        text.short(facts.text("model"), 60),
        cost,
    )
    body = _said(facts, "Message")
    weight = "loud" if body else "quiet"
    return View(title, "speech", "live", weight, body, facts.text("message"))


def _cut(facts: Facts) -> View:
    title = format_html("The model’s message ended early: {}", text.short(facts.text("reason")))
    return View(title, "warn", "ask", "plain", _said(facts, "Message"), facts.text("message"))


def _refused(facts: Facts) -> View:
    title = format_html("The answer of step {} is no valid action", facts.number("step"))
    return View(title, "cross", "deny", "plain", facts.block("reason", "Why"))


RENDERERS: dict[str, Renderer] = {
    "message.completed": _completed,
    "message.cut": _cut,
    "answer.refused": _refused,
}
