"""Rows of the tables on a run's page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime.core import ids
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


def _rule(row: PolicyDecision) -> SafeString:
    """What decided: a rule by its name, a person's answer by its card."""
    if row.source == "person" and ids.is_id(row.rule):
        return format_html('<a href="/approvals/{}/">an approval</a>', row.rule)
    return html.code(row.rule, 80) if row.rule else html.EMPTY


def decisions(rows: Iterable[PolicyDecision]) -> list[dict[str, Any]]:
    """Verdicts of the gate, in order."""
    return [
        {
            "seq": row.seq,
            "kind": html.code(row.kind),
            "badge": badges.decision(row.decision),
            "rule": _rule(row),
            "source": text.visible(row.source),
            "at": units.clock(row.at),
        }
        for row in rows
    ]
