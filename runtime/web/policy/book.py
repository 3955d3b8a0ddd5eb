"""The rules of the policy files as a reader sees them: whose, what for, and their examples."""

from __future__ import annotations

import json
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime.core.errors import M31AError
from runtime.gating import policies
from runtime.gating.backtest import Backtest, Change
from runtime.policy.language import Document, PolicyFault
from runtime.policy.rules import LAYERS, Rule, as_data
from runtime.present import badges, html, text

MAX_CHANGES = 200
_ASIDE = frozenset({"id", "decision", "reason", "match", "no_match"})


def shown() -> dict[str, Any]:
    """What is in force, what the files say, and why they are not in force if so."""
    documents = policies.all_documents()
    return {
        "version": _version(),
        "folder": str(policies.folder()),
        "faults": [text.visible(str(fault)) for one in documents for fault in one.faults],
        "documents": [_document(one) for one in documents],
    }


def _version() -> SafeString:
    """The hash by which actions are decided, as the journal has it."""
    row = policies.last_loaded()
    if row is None:
        return html.fixed("no rules were ever loaded: only what is built in decides")
    return format_html(
        "{} since {} ({} rules)",
        html.code(str(row.payload["hash"])[:12]),
        text.visible(row.at),
        text.visible(str(row.payload["rules"])),
    )


def _document(one: Document) -> dict[str, Any]:
    number = one.layer.number
    return {
        "name": text.visible(one.name),
        "layer": f"{number} {LAYERS[number]}",
        "rules": [_rule(rule) for rule in one.layer.rules],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    data = as_data(rule)
    wanted = [
        (name, html.code(_plain(value))) for name, value in data.items() if _says(name, value)
    ]
    return {
        "id": text.visible(rule.id),
        "badge": badges.decision(str(rule.decision)),
        "reason": text.visible(rule.reason),
        "wanted": html.facts(wanted),
        "matching": [html.code(_example(one), 400) for one in rule.match],
        "others": [html.code(_example(one), 400) for one in rule.no_match],
    }


def _says(name: str, value: Any) -> bool:
    if name == "only_flags":
        return value is not None
    return name not in _ASIDE and bool(value)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value) or "none"
    return str(value)


def _example(canonical: str) -> str:
    given = json.loads(canonical)
    action = given.pop("action")
    script = action.get("script") if action.get("kind") == "run_shell" else None
    said = script if isinstance(script, str) else json.dumps(action, ensure_ascii=False)
    return f"{said}  {json.dumps(given, ensure_ascii=False)}" if given else said


def tested(found: Backtest) -> dict[str, Any]:
    """The outcome of a backtest."""
    return {
        "layer": text.visible(found.document.layer.name),
        "decided": found.decided,
        "drifted": found.drifted,
        "more": found.more,
        "changed": len(found.changes),
        "left": max(0, len(found.changes) - MAX_CHANGES),
        "changes": [_change(one) for one in found.changes[:MAX_CHANGES]],
    }


def _change(one: Change) -> dict[str, Any]:
    return {
        "run": one.run,
        "action": text.visible(one.action),
        "body": html.code(json.dumps(one.body, ensure_ascii=False), 240),
        "now": badges.decision(one.now.decision),
        "then": badges.decision(one.then.decision),
        "rule": text.visible(one.then.rule),
        "reason": text.visible(one.then.reason),
    }


def told(error: M31AError) -> list[str]:
    """What is wrong with a text that was given, a sentence each."""
    if isinstance(error, PolicyFault):
        return [str(fault) for fault in error.faults]
    return [str(error)]
