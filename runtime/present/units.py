"""Sizes, durations and moments in human units."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.utils.html import format_html
from django.utils.safestring import SafeString


def size(count: int) -> str:
    """Bytes in a unit that keeps the number short."""
    number = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return f"{count} B" if unit == "B" else f"{number:.3g} {unit}"
        number /= 1000
    raise AssertionError("unreachable")


def duration(milliseconds: int) -> str:
    """Milliseconds as `40 ms`, `1.2 s`, `3 min 05 s`, `2 h 10 min`."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    return span(timedelta(milliseconds=milliseconds))


def span(length: timedelta) -> str:
    """A length of time in its two largest units."""
    seconds = max(0, int(length.total_seconds()))
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    if minutes:
        return f"{minutes} min {seconds:02} s"
    return f"{seconds} s"


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def parse(stamp: str) -> datetime:
    """A moment as the journal writes it. Raises `ValueError`."""
    return datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def exact(at: datetime) -> str:
    """The full moment, in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def relative(at: datetime, now: datetime) -> str:
    """`12 s ago`, `in 3 h`, or `just now`."""
    seconds = (now - at).total_seconds()
    if abs(seconds) < 5:
        return "just now"
    text = _rough(abs(int(seconds)))
    return f"{text} ago" if seconds > 0 else f"in {text}"


def _rough(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 48 * 3600:
        return f"{seconds // 3600} h"
    return f"{seconds // 86400} d"


def ago(at: datetime, now: datetime) -> SafeString:
    """A relative time with the exact one on hover; the page keeps it current."""
    return format_html(
        '<time datetime="{}" title="{}" data-relative>{}</time>',
        at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        exact(at),
        relative(at, now),
    )


def full(at: datetime) -> SafeString:
    """The exact time, as the audit shows it."""
    moment = exact(at)
    return format_html('<time datetime="{}">{}</time>', at.astimezone(UTC).isoformat(), moment)


def clock(stamp: str) -> SafeString:
    """The time of day of a journal stamp, with the whole stamp on hover."""
    return format_html('<time datetime="{}" title="{}">{}</time>', stamp, stamp, stamp[11:19])
