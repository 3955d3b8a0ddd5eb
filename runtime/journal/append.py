"""The hot path of the product: one step of a worker, journaled.

Four statements: lock the run and read its head, prove the fence by the task's own update,
insert the events, move the head.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.transaction import atomic, on_commit

from runtime import faults
from runtime.core import clock, ids
from runtime.core.errors import StaleFence
from runtime.models import Artifact, Event, NewerKind, Run, Task

from . import chain, hint, newer, statements
from .chain import By, Draft
from .draft import draft
from .draft import moved as moved_out
from .kind import Payload
from .retrying import retrying
from .rows import COLUMNS
from .statements import Change, Row

HELD = ("running",)


class Lost(StaleFence):
    """A row that the writer relied on has changed; nothing was written."""


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """A new identifier."""
    return ids.make(now(), os.urandom(10))


def append(
    by: By,
    payloads: Sequence[Payload | Draft],
    *,
    task: Mapping[str, Any],
    run: Mapping[str, Any] | None = None,
    rows: Sequence[Row] = (),
    changes: Sequence[Change] = (),
    held: tuple[str, ...] = HELD,
    at: datetime | None = None,
) -> list[Draft]:
    """Write a worker's events with every projection they change, and return them.

    `task` must change at least one column: its row count proves the fence. A value of `run` may
    be `Plus`: other tasks of the run count there, too. Raises `StaleFence` where the claim no
    longer holds, and then nothing is written.
    """
    drafts = [item if isinstance(item, Draft) else draft(item) for item in payloads]
    work = _Work(by, drafts, task, run or {}, rows, changes, held, at or now())
    _commit(work)
    faults.hit("step.after_commit")
    return drafts


@dataclass
class _Work:
    """One append. `last` is the number and hash of its last event, once it was tried."""

    by: By
    drafts: list[Draft]
    task: Mapping[str, Any]
    run: Mapping[str, Any]
    rows: Sequence[Row]
    changes: Sequence[Change]
    held: tuple[str, ...]
    at: datetime
    last: tuple[int, str] | None = None


@retrying
def _commit(work: _Work) -> None:
    """The transaction. Tried again, it knows its own commit whose answer was lost."""
    by, moment = work.by, clock.stamp(work.at)
    with atomic(durable=True):
        connection = connections[DEFAULT_DB_ALIAS]
        with connection.cursor() as cursor:
            head = statements.lock_head(cursor, connection, by.run)
            if head is not None and work.last and _stands(cursor, connection, by.run, work.last):
                return
            if head is None or not _prove(cursor, connection, by, work.task, work.held):
                raise StaleFence("Another claim owns the task now.")
            seq, prev_hash = head
            new = chain.rows(by, moment, seq, prev_hash, work.drafts)
            kinds = ((item.type, item.v) for item in work.drafts)
            beside = (*references(by, work.drafts, work.at), *newer_kinds(by.run, kinds))
            write(cursor, connection, new, (*work.rows, *beside), seq + 1, moment)
            for change in work.changes:
                found = statements.update(
                    cursor, connection, change.model, change.values, change.where
                )
                if found != 1:
                    raise Lost(f"{change.model.__name__} has changed meanwhile.")
            head = (seq + len(new), str(new[-1][-1]))
            move_head(cursor, connection, by.run, seq, head, work.run)
            work.last = head
        on_commit(lambda: hint.wake(by.run))
        faults.hit("step.before_commit")


def write(
    cursor: Any,
    connection: Any,
    events: Sequence[tuple[Any, ...]],
    rows: Sequence[Row],
    first: int,
    at: str,
) -> None:
    """Insert events, of which the first has this number, and rows that go in with them."""
    if events:
        statements.insert(cursor, connection, Event, COLUMNS, events)
    for row in rows:
        statements.insert_row(cursor, connection, row.model, row.numbered(first, at))


def move_head(
    cursor: Any,
    connection: Any,
    run: str,
    before: int,
    head: tuple[int, str],
    values: Mapping[str, Any],
) -> None:
    """Change the row of a locked run, whose last event had the number `before`."""
    moved = {**values, "event_seq": head[0], "head_hash": head[1]}
    where = {"id": run, "event_seq": before}
    if statements.update(cursor, connection, Run, moved, where) != 1:
        raise AssertionError("the run's head moved under its own lock")


def _stands(cursor: Any, connection: Any, run: str, last: tuple[int, str]) -> bool:
    """Whether an event is in the journal; others of the run may have been written after it."""
    where = {"run": run, "seq": last[0], "hash": last[1]}
    return statements.stands(cursor, connection, Event, where)


def references(by: By, drafts: Sequence[Draft], at: datetime) -> list[Row]:
    """A row for everything that was moved out of a payload, so that it is kept."""
    return [
        Row(
            Artifact,
            {
                "run": by.run,
                "task": by.task,
                "action": str(item.given.get("action", "")),
                "sha256": digest,
                "name": f"{item.type} {name}",
                "kind": "event",
                "size": size,
                "created_at": at,
            },
        )
        for item in drafts
        for name, digest, size in moved_out(item.given)
    ]


def newer_kinds(run: str, kinds: Iterable[newer.Kind]) -> list[Row]:
    """A row for every kind among them that not every version reads."""
    found = newer.of_record(run, kinds)
    return [Row(NewerKind, {"run": run, "type": type_, "v": v}) for type_, v in found]


def _prove(
    cursor: Any, connection: Any, by: By, task: Mapping[str, Any], held: tuple[str, ...]
) -> bool:
    where = {"id": by.task, "fence": by.fence}
    return statements.update(cursor, connection, Task, task, where, ("state", held)) == 1
