"""Rows of the tables on a run's page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from runtime.models import Artifact, PolicyDecision, Trace

from . import badges, html, text, units
from .events.action import outcome


def artifacts(rows: Iterable[Artifact]) -> list[dict[str, Any]]:
    """Artifacts: name, kind, size, hash."""
    return [
        {
            "url": f"/artifacts/{row.sha256}/?run={row.run_id}",
            "name": text.short(row.name, 120),
            "kind": text.visible(row.kind),
            "size": units.size(row.size),
            "hash": html.short_id(row.sha256, "hash"),
        }
        for row in rows
    ]


def traces(rows: Iterable[Trace]) -> list[dict[str, Any]]:
    """Executed commands: how they ended, what they took. Never arguments or output."""
    return [
        {
            "seq": row.seq,
            "attempt": row.attempt,
            "program": html.code(row.program, 80),
            "arguments": row.argument_count,
            "outcome": outcome(_ended(row)),
            "ok": row.status == 0,
            "output": units.size(row.stdout_bytes + row.stderr_bytes),
            "truncated": row.truncated,
            "duration": units.duration(row.duration_ms),
            "cpu": units.duration(row.cpu_ms),
            "memory": units.size(row.peak_memory),
        }
        for row in rows
    ]


def _ended(row: Trace) -> dict[str, Any]:
    names = ("status", "signal", "timed_out", "cancelled")
    return {name: getattr(row, name) for name in names}


def decisions(rows: Iterable[PolicyDecision]) -> list[dict[str, Any]]:
    """Verdicts of the gate, in order."""
    return [
        {
            "seq": row.seq,
            "kind": html.code(row.kind),
            "badge": badges.decision(row.decision),
            "rule": html.code(row.rule, 80) if row.rule else html.EMPTY,
            "source": text.visible(row.source),
            "at": units.clock(row.at),
        }
        for row in rows
    ]


_ABOVE = {
    "run",
    "state",
    "reason",
    "objective",
    "workspace",
    "steps",
    "input_tokens",
    "output_tokens",
}
"""Fields of a report that the page's header shows already."""


def report(document: Mapping[str, Any]) -> SafeString:
    """A report: single values as a list, lists of objects as tables."""
    left = {name: value for name, value in document.items() if name not in _ABOVE}
    tables = {name: value for name, value in left.items() if _is_table(value)}
    nested = {name: value for name, value in left.items() if isinstance(value, dict) and value}
    single = [
        (_words(name), _value(value))
        for name, value in left.items()
        if name not in tables and name not in nested
    ]
    blocks = [html.facts(single)]
    for name, value in nested.items():
        pairs = ((_words(key), _value(item)) for key, item in value.items())
        blocks.append(_section(name, html.facts(pairs)))
    blocks += [_section(name, _table(name, value)) for name, value in tables.items()]
    return html.join(blocks)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _section(name: str, body: SafeString) -> SafeString:
    return format_html("<section><h3>{}</h3>{}</section>", _words(name).capitalize(), body)


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _table(name: str, rows: list[dict[str, Any]]) -> SafeString:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    head = format_html_join("", '<th scope="col">{}</th>', ((_words(key),) for key in columns))
    body = html.join(
        format_html(
            "<tr>{}</tr>",
            format_html_join("", "<td>{}</td>", ((_cell(key, row.get(key)),) for key in columns)),
        )
        for row in rows[:200]
    )
    return format_html(
        '<div class="scroll" tabindex="0" role="group" aria-label="{}">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
        _words(name),
        head,
        body,
    )


def _cell(key: str, value: Any) -> SafeString:
    if key == "decision":
        return badges.decision(str(value))
    if key == "state":
        return badges.state(str(value))
    if key == "approval":
        return format_html('<a href="/approvals/{}/">{}</a>', value, str(value)[-6:])
    if key == "task":
        return html.short_id(str(value), "task")
    return _value(value)


def _value(value: Any) -> SafeString:
    if value is None or value == "" or value == [] or value == {}:
        return format_html("{}", "–")
    if isinstance(value, bool):
        return format_html("{}", "yes" if value else "no")
    if isinstance(value, list) and all(isinstance(item, str | int) for item in value):
        shown = ((text.visible(str(item)),) for item in value[:100])
        more = f"and {len(value) - 100} more" if len(value) > 100 else ""
        return format_html(
            '<ul class="plain">{}</ul>{}', format_html_join("", "<li>{}</li>", shown), more
        )
    if isinstance(value, list | dict):
        return html.pre(json.dumps(value, ensure_ascii=False, indent=1, default=str), "Details")
    return format_html('<span class="prose">{}</span>', text.visible(str(value)))
