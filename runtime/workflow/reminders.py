"""When people are reminded of an open question: past half of its time, and near its end. Pure."""

from __future__ import annotations

from datetime import datetime


def moments(requested: datetime, expires: datetime) -> tuple[datetime, ...]:
    """Half of its time is over; a tenth of it is left."""
    time = expires - requested
    return requested + time / 2, expires - time / 10


def following(requested: datetime, expires: datetime, reminded: int) -> datetime | None:
    """When the next reminder is due after so many, or None where that was the last."""
    return next(iter(moments(requested, expires)[reminded:]), None)


def passed(requested: datetime, expires: datetime, now: datetime) -> int:
    """How many of the moments are over."""
    return sum(moment <= now for moment in moments(requested, expires))
