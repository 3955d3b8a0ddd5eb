"""`job.*`: programs that a model runs in the background."""

from __future__ import annotations

from django.utils.html import format_html

from runtime.present import html, text, units

from .action import artifact_links
from .view import Facts, Renderer, View

_WHY = {
    "exited": "it ended by itself",
    "timed_out": "its time was over",
    "limit": "it reached a limit",
    "failed": "it was not executed",
    "stopped": "the model stopped it",
    "verify": "a verification began",
    "finish": "the task was finished",
    "waiting": "the task waits for a person",
    "slice": "the worker gave the task back",
    "stop": "the worker was stopped",
    "rules": "rules deny other paths now",
    "cancelled": "the run was cancelled",
    "task_failed": "the task failed",
    "lost": "its worker died",
}


def _started(facts: Facts) -> View:
    title = format_html(
        "background job <strong>{}</strong> started: {}",
        html.code(facts.text("job"), 20),
        html.code(facts.text("program"), 80),
    )
    return View(title, "play", "idle", "plain")


def _ended(facts: Facts) -> View:
    reason = facts.text("reason")
    trace = facts.table("trace")
    took = units.duration(trace["duration_ms"]) if _timed(trace) and trace else ""
    title = format_html(
        "background job <strong>{}</strong> ended: {} <span class='quiet'>{}</span>",
        html.code(facts.text("job"), 20),
        _WHY.get(reason) or text.short(reason),
        took,
    )
    body = html.join([facts.block("detail", "How"), artifact_links(facts)])
    icon, tone = ("warn", "ask") if reason in ("lost", "failed") else ("stop", "idle")
    return View(title, icon, tone, "plain", body)


def _timed(trace: dict[str, object] | None) -> bool:
    return trace is not None and isinstance(trace.get("duration_ms"), int)


RENDERERS: dict[str, Renderer] = {"job.started": _started, "job.ended": _ended}
