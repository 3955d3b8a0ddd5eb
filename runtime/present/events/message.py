"""`message.*` and `answer.*`: what the model said."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime.core import letters
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


_THEN = {
    "fail": "the task ends",
    "stop": "the call was ended from here",
    "compact": "it is asked again with less",
    "fallback": "another model takes its place",
}


def _failed(facts: Facts) -> View:
    then, wait = facts.text("then"), units.duration(facts.number("wait") * 1000)
    title = format_html(
        'The model {} gave no answer <code>{}</code> <span class="quiet">try {}; {}</span>',
        text.short(facts.text("model"), 80),
        text.short(facts.text("kind"), 40),
        facts.number("attempt"),
        f"it is asked again in {wait}" if then == "retry" else _THEN.get(then, text.plain(then)),
    )
    tone = "idle" if then == "stop" else "deny" if then == "fail" else "ask"
    return View(title, "warn", tone, "plain", facts.block("detail", "What it said"))


def _compacted(facts: Facts) -> View:
    why = "its window is full"
    if facts.text("reason") == "context_length":
        why = "its server found the question too long"
    title = format_html(
        "the model is told less of what lies back, for {}: about {} in place of {}",
        why,
        units.count(facts.number("after") // letters.PER_TOKEN, "token"),
        f"{facts.number('before') // letters.PER_TOKEN:,}",
    )
    return View(title, "box", "idle", "quiet")


def _warned(facts: Facts) -> View:
    title = format_html(
        "The model goes round in a circle and is told so: the same step {} times, {} without news",
        facts.number("times"),
        units.count(facts.number("idle"), "step"),
    )
    return View(title, "warn", "ask", "plain")


RENDERERS: dict[str, Renderer] = {
    "message.completed": _completed,
    "message.cut": _cut,
    "answer.refused": _refused,
    "model.failed": _failed,
    "context.compacted": _compacted,
    "loop.warned": _warned,
}
