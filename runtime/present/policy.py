"""Which rules the next action is decided by, as the journal has it."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runtime.journal.rows import EventRow

from . import html, units

_STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"


def version(loaded: EventRow | None, now: datetime) -> SafeString:
    """The version of the rules in force, from the event that loaded them."""
    if loaded is None:
        return html.fixed("built in, no files")
    since = datetime.strptime(loaded.at, _STAMP).replace(tzinfo=UTC)
    return format_html(
        "{} since {}", html.code(str(loaded.payload["hash"])[:12]), units.ago(since, now)
    )
