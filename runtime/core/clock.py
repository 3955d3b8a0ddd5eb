"""Moments as the journal writes them. Time itself is read at the edge and handed in."""

from __future__ import annotations

from datetime import datetime


def stamp(at: datetime) -> str:
    """A moment (UTC) as the journal writes it: six decimals and `Z`."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(stamp: str) -> datetime:
    """The moment that the journal wrote."""
    return datetime.fromisoformat(stamp.replace("Z", "+00:00"))
