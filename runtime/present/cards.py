"""The card of a question: everything that a person must see before they decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from runtime.models import Approval

from . import actions, badges, diffs, html, stages, text, units
from .events.approval import scope

FILES = 40
"""Paths that a card or a notice names."""
LONG = 26
"""Lines from which on the card says how long the action is."""


def view(approval: Approval, card: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The card as blocks. Every text in it is escaped, every hidden character a mark."""
    action = card.get("action")
    body: dict[str, Any] = action if isinstance(action, dict) else {}
    question = approval.kind == Approval.Kind.QUESTION
    marks = hidden(body)
    return {
        "id": approval.pk,
        "run": approval.run_id,
        "kind": approval.kind,
        "is_question": question,
        "is_budget": approval.action_kind == "budget",
        "sentence": _sentence(approval, card, body),
        "question": html.prose(str(card.get("question") or body.get("question") or "")),
        "decision": badges.decision(approval.decision),
        "risk": badges.risk(str(card.get("risk") or approval.risk)),
        "state": approval.state,
        "badge": badges.state(approval.state),
        "pending": approval.state == Approval.State.PENDING,
        "digest": approval.digest,
        "whole": html.EMPTY if question else _whole(approval.action_kind, body, card),
        "length": length(body),
        "hidden": [text.plain(mark) for mark in marks],
        "diff": diffs.render(str(card["diff"])) if card.get("diff") else html.EMPTY,
        "reason": text.visible(str(card.get("reason") or "")),
        "rule": html.code(str(card.get("rule") or approval.rule), 160),
        "stages": stages.spoken(_list(card.get("stages"))),
        "touches": touches(card),
        "brief": brief(card),
        "inputs": named(_list(card.get("verification_inputs"))),
        "guarded": named(_list(card.get("guarded_files"))),
        "requested": units.ago(approval.requested_at, now),
        "since": units.full(approval.requested_at),
        "expires": units.ago(approval.expires_at, now),
        "submitted_by": text.visible(approval.submitted_by),
        "outcome": outcome(approval, now),
        "next": next_step(approval),
        "digest_id": html.short_id(approval.digest, "digest"),
    }


def _whole(kind: str, body: Mapping[str, Any], card: Mapping[str, Any]) -> SafeString:
    """The whole action; folded only where a diff above says the same."""
    whole = actions.whole(kind, body)
    shown = str(card.get("diff") or "").startswith(("--- ", "diff --git "))
    if kind in {"replace_text", "write_file", "apply_patch"} and shown:
        return html.fold("The action as proposed", whole)
    return whole


def named(paths: Sequence[Any], limit: int = FILES) -> SafeString:
    """Files as a notice names them, and how many more there are; nothing for none."""
    files = format_html_join(
        ", ", "<code>{}</code>", ((text.visible(str(p)),) for p in paths[:limit])
    )
    return format_html("{} and {} more", files, len(paths) - limit) if len(paths) > limit else files


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _sentence(approval: Approval, card: Mapping[str, Any], body: Mapping[str, Any]) -> SafeString:
    role = text.visible(str(card.get("role") or "the model"))
    if approval.action_kind == "budget":
        return text.short(str(card.get("sentence") or ""), 200)
    if approval.kind == Approval.Kind.QUESTION:
        return format_html("{} asks a question", role)
    return format_html("{} wants to {}", role, actions.sentence(approval.action_kind, body))


def hidden(body: Mapping[str, Any]) -> list[str]:
    """The kinds of hidden characters anywhere in an action."""
    found: dict[str, None] = {}
    for value in _strings(body):
        found.update(dict.fromkeys(text.hidden(value)))
    return list(found)


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def length(body: Mapping[str, Any]) -> str:
    """How long the action is, where it is long: a fold must not hide its meaning."""
    longest = max(map(text.lines, _strings(body)), default=0)
    size = sum(len(value) for value in _strings(body))
    if longest <= LONG and size <= 4000:
        return ""
    return f"{units.count(longest, 'line')}, {units.count(size, 'character')}. Read to the end."


def touches(card: Mapping[str, Any]) -> SafeString:
    """What it can reach: root, paths, effects, and how it would be confined."""
    pairs: list[tuple[str, SafeString | str]] = [
        ("workspace root", html.code(str(card["root"])) if card.get("root") else ""),
        ("mode", text.visible(str(card.get("mode") or ""))),
        ("paths", named(_list(card.get("paths")))),
        ("effects", text.visible(", ".join(str(item) for item in _list(card.get("effects"))))),
    ]
    sandbox = card.get("sandbox")
    if isinstance(sandbox, dict):
        pairs += [(_confined(name), text.visible(_plain(name, sandbox[name]))) for name in sandbox]
    return html.facts(pairs)


def brief(card: Mapping[str, Any]) -> SafeString:
    """What it can reach in one line: what a reviewer reads before anything is unfolded."""
    sandbox = card.get("sandbox")
    given = sandbox if isinstance(sandbox, dict) else {}
    said = [str(item) for item in _list(card.get("effects")) if str(item) not in given]
    if "network" in given:
        said.append(f"network: {_plain('network', given['network'])}")
    if given.get("where"):
        said.append(f"executed {given['where']}")
    if given.get("writes"):
        said.append(f"may write below {given['writes']}")
    return text.short("; ".join(said), 300)


_CONFINED = {
    "where": "runs",
    "writes": "may write below",
    "memory_bytes": "memory",
    "written_bytes": "bytes written",
    "seconds": "time",
}


def _confined(name: str) -> str:
    return _CONFINED.get(name, name.replace("_", " "))


def _plain(name: str, value: Any) -> str:
    """A part of the confinement in words and units."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        if name.endswith("bytes"):
            return units.size(value)
        return f"{value} s" if name == "seconds" else f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key} → {value[key]}" for key in sorted(value)) or "none"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "none"
    return str(value)


def outcome(approval: Approval, now: datetime) -> SafeString:
    """How a settled question ended: who, when, how far, and what they wrote."""
    if approval.state == Approval.State.PENDING:
        return html.EMPTY
    who = text.visible(approval.decided_by or "")
    when = units.ago(approval.decided_at, now) if approval.decided_at else html.EMPTY
    if approval.state == Approval.State.APPROVED:
        return format_html("<strong>{}</strong> approved {} {}.", who, scope(approval.scope), when)
    if approval.state == Approval.State.DENIED:
        return format_html("<strong>{}</strong> denied it {}.", who, when)
    if approval.state == Approval.State.EXPIRED:
        return format_html(
            "Nobody answered in time; it expired {}.", units.ago(approval.expires_at, now)
        )
    if approval.state == Approval.State.CANCELLED:
        return html.fixed("The question fell when the run ended.")
    return html.fixed("What was asked about has changed since; the question is void.")


_NEXT = {
    "expired": "The model was told. If the action is still wanted, retry the task on the run’s page; "
    "it is asked about again.",
    "superseded": "See the run’s page: the changed action is asked about anew where it must be.",
    "cancelled": "There is nothing to do; the run has ended.",
}


def next_step(approval: Approval) -> str:
    """What a person can do after it was settled."""
    return _NEXT.get(approval.state, "")


def similar(rows: Iterable[Approval], now: datetime) -> list[dict[str, Any]]:
    """Earlier answers to the very same action."""
    return [
        {
            "url": f"/approvals/{row.pk}/",
            "badge": badges.state(row.state),
            "who": text.visible(row.decided_by or "nobody"),
            "when": units.ago(row.decided_at or row.requested_at, now),
            "comment": text.short(row.comment, 120) if row.comment else html.EMPTY,
        }
        for row in rows
    ]
