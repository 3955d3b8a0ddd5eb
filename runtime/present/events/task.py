"""`task.*`: the machinery of claims, waits and ends. Small lines, but for the ends."""

from __future__ import annotations

from django.utils.html import format_html

from runtime.present import html, reasons, text
from runtime.present.runs import owner

from .view import Facts, Renderer, View


def _quiet(template: str, *names: str, icon: str = "dot") -> Renderer:
    def render(facts: Facts) -> View:
        values = [text.short(facts.text(name).replace("_", " ")) for name in names]
        title = format_html(template, *values) if values else html.fixed(template)
        return View(title, icon, "idle", "quiet")

    return render


def _claimed(facts: Facts) -> View:
    crashes = facts.number("crashes")
    after = f" after {crashes} crashes" if crashes > 1 else " after a crash" if crashes else ""
    title = format_html(
        "a worker took the task (attempt {}{}) <span class='id'>{}</span>",
        facts.row.attempt or 1,
        after,
        text.short(owner(facts.text("owner")), 60),
    )
    return View(title, "play", "idle", "quiet")


def _waiting(facts: Facts) -> View:
    return View(
        html.fixed("the task waits for a person; no worker is held"), "clock", "ask", "quiet"
    )


def _expired(facts: Facts) -> View:
    title = format_html(
        "the worker {} died or fell silent; the task was taken back",
        html.code(owner(facts.text("owner")), 60),
    )
    return View(title, "warn", "ask", "plain")


def _failed(facts: Facts) -> View:
    title = format_html("the task failed: {}", reasons.sentence(facts.text("reason")))
    return View(title, "cross", "deny", "plain", facts.block("detail", "Detail"))


def _succeeded(facts: Facts) -> View:
    return View(html.fixed("the task succeeded"), "check", "allow", "quiet")


RENDERERS: dict[str, Renderer] = {
    "task.ready": _quiet("the task is ready ({})", "why", icon="clock"),
    "task.claimed": _claimed,
    "task.released": _quiet("the worker gave the task back ({})", "why"),
    "task.waiting": _waiting,
    "task.lease_expired": _expired,
    "task.cancelling": _quiet("the worker was told to stop", icon="stop"),
    "task.cancelled": _quiet("the task was cancelled", icon="stop"),
    "task.succeeded": _succeeded,
    "task.failed": _failed,
    "task.demoted": _quiet("the task waits again: one that it needs has not ended well"),
    "task.skipped": _quiet("the task was skipped: one that it needs failed", icon="skip"),
    "task.retried": _quiet("the task starts again", icon="retry"),
}
