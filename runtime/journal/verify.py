"""Is the record whole? Checks a chain in the database, or in an exported file.

Needs no triggers, and reports where they are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import connection

from runtime.core import canonical
from runtime.core.digests import first_head, link
from runtime.core.errors import BadInput, NotFound
from runtime.models import Event, Run, Tombstone

from . import guards
from .chain import By, Draft, body
from .rows import COLUMNS

PAGE = 500
_FIELDS = frozenset(COLUMNS)


class _Chain:
    """Walks one chain and keeps the first thing that is wrong."""

    def __init__(self, run: str) -> None:
        self.run, self.seq, self.head = run, 0, first_head(run)
        self.first_bad: int | None = None
        self.reason = ""

    def fault(self, seq: int, reason: str) -> None:
        if self.first_bad is None:
            self.first_bad, self.reason = seq, reason

    def take(self, columns: tuple[Any, ...]) -> None:
        run, seq, type_, v, task, attempt, fence, actor, at, payload, prev, digest = columns
        expected = self.seq + 1
        if seq != expected:
            what = "is missing" if seq > expected else "stands twice or out of order"
            return self.fault(expected, f"event {expected} {what}")
        try:
            draft = Draft(type_, v, canonical.text(canonical.decode(payload)))
            data = body(By(run, task, attempt, fence, actor), at, seq, draft)
        except ValueError as error:
            return self.fault(seq, f"event {seq} cannot be read: {error}")
        if draft.payload != payload:
            return self.fault(seq, f"the payload of event {seq} is not in canonical form")
        if run != self.run or prev != self.head:
            return self.fault(seq, f"event {seq} does not follow the event before it")
        if link(prev, data) != digest:
            return self.fault(seq, f"event {seq} was changed: its hash does not fit its content")
        self.seq, self.head = seq, digest

    def result(self) -> dict[str, Any]:
        return {
            "ok": self.first_bad is None,
            "run": self.run,
            "first_bad": self.first_bad,
            "reason": self.reason,
        }


def verify(run: str) -> dict[str, Any]:
    """Check a run's chain against its head, last event included. Raises `NotFound`."""
    stored = Run.objects.filter(pk=run).values_list("event_seq", "head_hash").first()
    buried = Tombstone.objects.filter(pk=run).values_list("last_seq", "head_hash").first()
    if stored is None and buried is None and not Event.objects.filter(run=run).exists():
        raise NotFound(f"There is no run {run}.", remedy="`m31a status` lists the runs.")
    chain, after = _Chain(run), 0
    while chain.first_bad is None:
        rows = Event.objects.filter(run=run, seq__gt=after).order_by("seq", "id")
        page = list(rows.values_list(*COLUMNS)[:PAGE])
        if not page:
            break
        for row in page:
            chain.take(row)
        after = page[-1][1]
    if chain.first_bad is None and stored is not None:
        _check_head(chain, *stored)
    result = chain.result()
    if absent := guards.missing(connection):
        note = f"triggers are missing: {', '.join(absent)}; `m31a up` puts them back"
        result["reason"] = f"{result['reason']}; {note}" if result["reason"] else note
    return result


def _check_head(chain: _Chain, seq: int, head: str) -> None:
    if chain.seq < seq:
        chain.fault(chain.seq + 1, f"event {chain.seq + 1} is missing: the run's head is {seq}")
    elif chain.seq > seq:
        chain.fault(seq + 1, f"event {seq + 1} stands after the run's head {seq}")
    elif chain.head != head:
        chain.fault(seq, "the run's head hash is not that of its last event")


def verify_lines(lines: Iterable[str]) -> dict[str, Any]:
    """Check an exported chain (NDJSON). Raises `BadInput` naming a line that is no event."""
    chain: _Chain | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        event = _parse(number, line)
        chain = chain or _Chain(event["run"])
        payload = canonical.text(event["payload"])
        chain.take(tuple(payload if name == "payload" else event[name] for name in COLUMNS))
    if chain is None:
        raise BadInput("The file holds no event.", remedy="Make it with `m31a audit export RUN`.")
    return chain.result()


def _parse(number: int, line: str) -> dict[str, Any]:
    try:
        event = canonical.decode(line)
    except ValueError as error:
        raise BadInput(f"Line {number} is no JSON: {error}.") from None
    if not isinstance(event, dict) or event.keys() != _FIELDS:
        raise BadInput(f"Line {number} is no event: its fields must be {', '.join(COLUMNS)}.")
    return event


def export(run: str) -> Iterator[str]:
    """A run's events as NDJSON, each line with the fields of the journal."""
    from . import read

    read.head(run)
    for row in read.every(run):
        yield canonical.text(row.document()) + "\n"
