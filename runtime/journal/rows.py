"""An event as it is read: the columns of the journal, the payload decoded."""

from __future__ import annotations

from typing import Any, NamedTuple

from runtime.core import canonical

COLUMNS = (
    "run",
    "seq",
    "type",
    "v",
    "task",
    "attempt",
    "fence",
    "actor",
    "at",
    "payload",
    "prev_hash",
    "hash",
)


MAX_SHOWN = 400
"""Characters that are shown of a payload that cannot be read."""


class EventRow(NamedTuple):
    """One event. Field names are those of the journal's columns and of the export."""

    run: str
    seq: int
    type: str
    v: int
    task: str | None
    attempt: int | None
    fence: int | None
    actor: str
    at: str
    payload: dict[str, Any]
    prev_hash: str
    hash: str

    def document(self) -> dict[str, Any]:
        """The event as one JSON document."""
        return self._asdict()


def from_columns(columns: tuple[Any, ...]) -> EventRow:
    """A row of `COLUMNS` as an event.

    A payload that is no JSON object (somebody went behind our back) reads `{"unreadable": …}`:
    one such row must not keep the others from being shown. `audit verify` names it.
    """
    try:
        payload = canonical.decode(columns[9])
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        payload = {"unreadable": str(columns[9])[:MAX_SHOWN]}
    return EventRow(*columns)._replace(payload=payload)
