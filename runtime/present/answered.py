"""Answers that reach further: what one would cover, and which ones are remembered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol

from runtime.core import canonical
from runtime.models import Grant
from runtime.policy import Remembered

from . import actions, badges, html, text, units


class Known(Protocol):
    """An action, and where it was recorded; without a run it is an example."""

    @property
    def action(self) -> Mapping[str, Any]: ...
    @property
    def run(self) -> str: ...
    @property
    def seq(self) -> int: ...


def known(rows: Iterable[Known]) -> list[dict[str, Any]]:
    """Actions that a wider answer covers, or does not."""
    return [
        {
            "sentence": actions.sentence(str(row.action.get("kind")), dict(row.action)),
            "where": text.visible(str(row.action.get("cwd") or "")),
            "url": f"/runs/{row.run}/#e{row.seq}" if row.run else "",
        }
        for row in rows
    ]


def grants(rows: Iterable[Grant], now: datetime) -> list[dict[str, Any]]:
    """Answers that are remembered."""
    return [_grant(row, now) for row in rows]


def _rule(row: Grant) -> str:
    """What it covers beyond its exact action; empty for nothing."""
    return Remembered.parse(canonical.decode(row.rule)).text() if row.rule else ""


def _grant(row: Grant, now: datetime) -> dict[str, Any]:
    card = canonical.decode(row.approval.card)
    action = card.get("action") if isinstance(card, dict) else None
    return {
        "id": row.pk,
        "short": html.short_id(row.pk, "grant"),
        "sentence": actions.sentence(row.approval.action_kind, action),
        "rule": text.visible(_rule(row)),
        "lifts": badges.decision(row.lifts),
        "reach": text.visible(f"for the {row.scope}"),
        "subject": text.visible(row.subject),
        "by": text.visible(row.granted_by),
        "when": units.ago(row.granted_at, now),
        "until": units.ago(row.expires_at, now) if row.expires_at else "",
        "approval": row.approval_id,
    }
