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


def report(document: Mapping[str, Any]) -> SafeString:
    """A report as a list of names and values; nested ones as text."""
    return html.facts((name.replace("_", " "), _value(value)) for name, value in document.items())


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
