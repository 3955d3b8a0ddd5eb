"""`action.*`: what was proposed, what was done, and what came of it."""

from __future__ import annotations

from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime.present import actions, diffs, html, text, units

from .view import Facts, Renderer, View

_REFUSED = {
    "": "",
    "person": "by a person",
    "expiry": "because nobody answered in time",
    "runtime": "by the runtime",
    "mode unattended": "because the run is unattended",
}
"""By what an action was refused, where that is no rule of the gate."""
_FOLDED = {"run_shell", "write_file", "replace_text", "apply_patch", "create_artifact"}


def _proposed(facts: Facts) -> View:
    kind = facts.text("kind")
    body = facts.table("body")
    title = format_html("wants to {}", actions.sentence(kind, body))
    detail = html.EMPTY
    if body is None:
        detail = facts.block("body", "The whole action")
    elif kind in {"ask_human", "finish"}:
        detail = html.prose(str(body.get("question") or body.get("summary") or ""))
    elif kind in _FOLDED or len(str(body)) > 240:
        detail = html.fold("The whole action", actions.whole(kind, body))
    return View(title, actions.icon_of(kind), "plain", "plain", detail)


def _edited(facts: Facts) -> View:
    kind = facts.text("kind")
    body = facts.table("body")
    who = text.visible(facts.text("by"))
    title = format_html("<strong>{}</strong> changed it: {}", who, actions.sentence(kind, body))
    whole = facts.block("body", "The whole action")
    if body is not None:
        whole = html.fold("The whole action", actions.whole(kind, body))
    return View(title, "person", "ask", "loud", whole)


def _refused(facts: Facts) -> View:
    by = facts.text("by")
    title = format_html("Refused {}", _REFUSED.get(by) or format_html("by {}", html.code(by)))
    reason = html.prose(facts.text("reason")) or facts.block("reason", "Why")
    return View(title, "cross", "deny", "plain", reason)


def _started(facts: Facts) -> View:
    program = facts.text("program") or facts.text("path")
    what = html.code(program, 80) if program else html.code(facts.text("kind"))
    return View(format_html("started {}", what), "play", "idle", "quiet")


def _completed(facts: Facts) -> View:
    ok = facts.flag("ok")
    trace = facts.table("trace")
    title = _outcome(ok, trace, facts.text("kind"))
    diff = facts.text("diff")
    blocks = [
        diffs.render(diff) if diff else html.EMPTY,
        facts.block("diff", "Diff") if facts.stored("diff") else html.EMPTY,
        html.EMPTY if diff and ok else facts.block("observation", "Output"),
        artifact_links(facts),
    ]
    icon, tone = ("check", "allow") if ok else ("cross", "deny")
    return View(title, icon, tone, "plain", html.join(blocks))


def _outcome(ok: bool, trace: dict[str, Any] | None, kind: str) -> SafeString:
    if trace is None:
        word = "Done" if ok else "Failed"
        return format_html("{} <span class='quiet'>{}</span>", word, text.plain(kind))
    return format_html(
        "{} <span class='quiet'>{}</span>",
        outcome(trace),
        units.duration(_int(trace, "duration_ms")),
    )


def outcome(trace: dict[str, Any]) -> str:
    """How a command ended, in words."""
    if trace.get("timed_out"):
        return "Timed out"
    if trace.get("cancelled"):
        return "Cancelled"
    limit = str(trace.get("limit") or "").replace("_", " ")
    if limit and trace.get("status") is None:
        return f"Ended at the limit {limit}"
    if trace.get("signal"):
        return f"Ended by signal {_int(trace, 'signal')}"
    if trace.get("status") is None:
        return "Was not executed"
    return f"Exit {_int(trace, 'status')}" + (f", at the limit {limit}" if limit else "")


def _int(table: dict[str, Any], name: str) -> int:
    value = table.get(name)
    return value if isinstance(value, int) else 0


def artifact_links(facts: Facts) -> SafeString:
    """Links to what an event keeps as artifacts."""
    links = []
    for item in facts.items("artifacts"):
        if not isinstance(item, dict) or not html.is_digest(item.get("sha256")):
            continue
        name = text.short(str(item.get("name") or item["sha256"][:10]), 80)
        links.append(
            format_html(
                '<li><a href="/artifacts/{}/?run={}">{}</a> <span class="quiet">{}</span></li>',
                item["sha256"],
                facts.row.run,
                name,
                units.size(_int(item, "size")),
            )
        )
    return format_html('<ul class="artifacts">{}</ul>', html.join(links)) if links else html.EMPTY


def _unknown(facts: Facts) -> View:
    title = format_html(
        "<strong>Outcome unknown</strong>: the worker died while {} ran",
        html.code(facts.text("kind")),
    )
    return View(title, "unknown", "ask", "loud", html.prose(facts.text("reason")))


RENDERERS: dict[str, Renderer] = {
    "action.proposed": _proposed,
    "action.edited": _edited,
    "action.refused": _refused,
    "action.started": _started,
    "action.completed": _completed,
    "action.outcome_unknown": _unknown,
}
