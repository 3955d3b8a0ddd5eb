"""An event as it is read: the columns of the journal, the payload decoded."""

from __future__ import annotations

from typing import Any, NamedTuple

from runtime.core import canonical

from . import versions

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


class Stored(NamedTuple):
    """What the journal holds of an event that is read in another form."""

    type: str
    v: int
    payload: dict[str, Any]


class EventRow(NamedTuple):
    """One event. Field names are those of the journal's columns and of the export.

    `payload` and `v` are the newest form. An event of a version that only a later release knows
    has a type that nobody knows, `task.ready@9`: it is shown, and folds to nothing.
    """

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
    stored: Stored | None = None
    """What was written, and is hashed, where that is not what is read here."""

    def written(self) -> Stored:
        """Type, version and payload as they stand in the journal."""
        return self.stored or Stored(self.type, self.v, self.payload)

    def document(self) -> dict[str, Any]:
        """The event as one JSON document, as it was written: its hash can be recomputed."""
        document = self._asdict() | self.written()._asdict()
        del document["stored"]
        return document


def from_columns(columns: tuple[Any, ...]) -> EventRow:
    """A row of `COLUMNS` as an event, its payload in the newest form.

    A payload that is no JSON object (somebody went behind our back) reads `{"unreadable": …}`:
    one such row must not keep the others from being shown. `audit verify` names it.
    """
    row = EventRow(*columns)
    try:
        payload = canonical.decode(columns[9])
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        return row._replace(payload={"unreadable": str(columns[9])[:MAX_SHOWN]})
    return _newest(row._replace(payload=payload))


def _newest(row: EventRow) -> EventRow:
    stored = row.written()
    try:
        v, payload = versions.newest(row.type, row.v, row.payload)
    except versions.Unreadable:
        return row._replace(type=f"{row.type}@{row.v}", stored=stored)
    return row if v == row.v else row._replace(v=v, payload=payload, stored=stored)
