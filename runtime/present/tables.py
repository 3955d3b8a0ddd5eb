"""Rows of the tables on a run's page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime.core import canonical, ids
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
            "confined": _confined(row.sandbox),
        }
        for row in rows
    ]


def _ended(row: Trace) -> dict[str, Any]:
    names = ("status", "signal", "timed_out", "cancelled", "limit")
    return {name: getattr(row, name) for name in names}


def _confined(stored: str) -> SafeString:
    """What confined a command, and what it reached of the network."""
    facts = canonical.decode(stored.encode())
    if not isinstance(facts, dict):
        return html.EMPTY
    contacts = facts.pop("contacts", [])
    rows: list[tuple[str, SafeString | str]] = [
        (name.replace("_", " "), text.visible(str(value))) for name, value in facts.items()
    ]
    rows += [("contact", text.visible(_contact(one))) for one in contacts if isinstance(one, dict)]
    return html.fold(_network(facts, contacts), html.facts(rows))


def _network(facts: dict[str, Any], contacts: list[Any]) -> str:
    network = str(facts.get("network", "none"))
    if network != "hosts":
        return f"network {network}" if network != "none" else str(facts.get("backend", "cage"))
    refused = sum(1 for one in contacts if isinstance(one, dict) and one.get("refused"))
    reached, left = len(contacts) - refused, facts.get("contacts_left_out")
    more = f", {left} not listed" if left else ""
    return f"network: {units.count(reached, 'host')} reached, {refused} refused{more}"


def _contact(one: dict[str, Any]) -> str:
    place = f"{one.get('host')}:{one.get('port')}"
    if one.get("refused"):
        return f"{place} refused: {one['refused']}"
    sent, received = (one.get(name) for name in ("sent", "received"))
    size = [units.size(value) if isinstance(value, int) else "?" for value in (sent, received)]
    return f"{place} sent {size[0]}, received {size[1]}"


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
