"""When a rule holds: windows of the week such as `mon-fri 09:00-17:00 +02:00`.

A window that ends before it begins goes on into the next day. Without an offset it is UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WINDOW = re.compile(
    r"(?:(?P<days>[a-z,-]+)\s+)?(?P<from>\d\d:\d\d)-(?P<until>\d\d:\d\d)"
    r"(?:\s*(?P<zone>z|utc|[+-]\d\d:\d\d))?"
)
_DAY = 24 * 60


class Window(NamedTuple):
    """`days` on which it begins (0 is Monday); minutes of the day; `until` may lie beyond it."""

    days: frozenset[int]
    begins: int
    ends: int
    offset: timedelta


@lru_cache(maxsize=256)
def parse(text: str) -> Window:
    """Read a window. Raises `ValueError`."""
    found = _WINDOW.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is no window: write such as 'mon-fri 09:00-17:00 +02:00'")
    begins, ends = _minutes(found["from"]), _minutes(found["until"])
    if begins == _DAY:
        raise ValueError(f"{text!r}: a window begins before 24:00")
    if begins == ends:
        raise ValueError(f"{text!r}: the window is empty; the whole day is 00:00-24:00")
    if ends < begins:
        ends += _DAY
    return Window(_days(found["days"]), begins, ends, _offset(found["zone"] or "z"))


def holds(text: str, moment: datetime) -> bool:
    """Whether a moment (with its zone) lies in a window."""
    window = parse(text)
    local = moment.astimezone(timezone(window.offset) if window.offset else UTC)
    minute = local.hour * 60 + local.minute
    if window.begins <= minute < window.ends and local.weekday() in window.days:
        return True
    yesterday = (local.weekday() - 1) % 7
    return minute + _DAY < window.ends and yesterday in window.days


def _minutes(text: str) -> int:
    hour, minute = int(text[:2]), int(text[3:])
    if minute > 59 or hour * 60 + minute > _DAY:
        raise ValueError(f"{text!r} is no time of day: 00:00 to 24:00")
    return hour * 60 + minute


def _days(text: str | None) -> frozenset[int]:
    if text is None:
        return frozenset(range(7))
    days: set[int] = set()
    for item in text.split(","):
        first, dash, last = item.partition("-")
        if first not in DAYS or (dash and last not in DAYS):
            raise ValueError(f"{item!r} is no day or range of days: {', '.join(DAYS)}")
        begin = DAYS.index(first)
        end = DAYS.index(last) if dash else begin
        days.update((begin + step) % 7 for step in range((end - begin) % 7 + 1))
    return frozenset(days)


def _offset(text: str) -> timedelta:
    if text in ("z", "utc"):
        return timedelta(0)
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 14 or minutes > 59:
        raise ValueError(f"{text!r} is no offset from UTC")
    span = timedelta(hours=hours, minutes=minutes)
    return -span if text[0] == "-" else span
