"""The one way in which time enters: an interface, given by the edge."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Wall clock in UTC."""

    def now(self) -> datetime: ...


def stamp(at: datetime) -> str:
    """A moment (UTC) as the journal writes it: six decimals and `Z`."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
