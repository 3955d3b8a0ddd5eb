"""The hot path of the product: one step of a worker, journaled.

Four statements: lock the run and read its head, prove the fence by the task's own update,
insert the events, move the head. Their text is compiled once per alias from the models'
metadata; Django keeps connection, transaction and tables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from types import NoneType
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.transaction import atomic, on_commit

from runtime import faults
from runtime.core import clock, ids
from runtime.core.errors import StaleFence
from runtime.models import Artifact, Event, NewerKind, Run, Task

from . import chain, hint, newer
from .chain import By, Draft
from .draft import draft
from .draft import moved as moved_out
from .kind import Payload
from .retrying import retrying
from .rows import COLUMNS

HELD = ("running",)


class Row(NamedTuple):
    """A row of a projection that goes in with the events.

    `seq_of` is the index of the event whose number the column `seq` gets; a column `at` among
    the values then gets its time.
    """

    model: type[models.Model]
    values: Mapping[str, Any]
    seq_of: int | None = None

    def numbered(self, first: int, at: str) -> dict[str, Any]:
        """The values, where the first of the events has this number and they have this time."""
        values = dict(self.values)
        if self.seq_of is not None:
            values["seq"] = first + self.seq_of
            if "at" in values:
                values["at"] = at
        return values


class Change(NamedTuple):
    """An update of a projection. It must find exactly one row, or nothing is written."""

    model: type[models.Model]
    values: Mapping[str, Any]
    where: Mapping[str, Any]


class Plus(NamedTuple):
    """So much more than the column holds at that moment: for what several writers count."""

    more: int


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
            cursor.execute(_lock(connection.alias), (by.run,))
            head = cursor.fetchone()
            if head is not None and work.last and _stands(cursor, connection, by.run, work.last):
                return
            if head is None or not _prove(cursor, connection, by, work.task, work.held):
                raise StaleFence("Another claim owns the task now.")
            seq, prev_hash = head
            new = chain.rows(by, moment, seq, prev_hash, work.drafts)
            cursor.executemany(_insert(connection.alias, Event, COLUMNS), new)
            beside = (*references(by, work.drafts, work.at), *_newer(by.run, work.drafts))
            for row in (*work.rows, *beside):
                values = row.numbered(seq + 1, moment)
                cursor.execute(
                    _insert(connection.alias, row.model, tuple(values)),
                    _adapt_all(connection, row.model, values),
                )
            for change in work.changes:
                if _update(cursor, connection, change.model, change.values, change.where) != 1:
                    raise Lost(f"{change.model.__name__} has changed meanwhile.")
            moved = {**work.run, "event_seq": seq + len(new), "head_hash": new[-1][-1]}
            if _update(cursor, connection, Run, moved, {"id": by.run, "event_seq": seq}) != 1:
                raise AssertionError("the run's head moved under its own lock")
            work.last = (seq + len(new), str(new[-1][-1]))
        on_commit(lambda: hint.wake(by.run))
        faults.hit("step.before_commit")


def _stands(cursor: Any, connection: Any, run: str, last: tuple[int, str]) -> bool:
    """Whether an event is in the journal; others of the run may have been written after it."""
    names = [_column(connection, Event, name) for name in ("run", "seq", "hash")]
    where = " AND ".join(f"{name} = %s" for name in names)
    cursor.execute(f"SELECT 1 FROM {_table(connection, Event)} WHERE {where}", (run, *last))
    return cursor.fetchone() is not None


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


def _newer(run: str, drafts: Sequence[Draft]) -> list[Row]:
    """A row for every kind among them that not every version reads."""
    kinds = newer.beyond((item.type, item.v) for item in drafts)
    return [Row(NewerKind, {"run": run, "type": type_, "v": v}) for type_, v in kinds]


def _prove(
    cursor: Any, connection: Any, by: By, task: Mapping[str, Any], held: tuple[str, ...]
) -> bool:
    sql = _update_sql(connection.alias, Task, tuple(task), frozenset(), ("id", "fence"))
    states = ", ".join(["%s"] * len(held))
    state = connection.ops.quote_name("state")
    arguments = _adapt_all(connection, Task, task) + [by.task, by.fence, *held]
    cursor.execute(f"{sql} AND {state} IN ({states})", arguments)
    return bool(cursor.rowcount == 1)


def _adapt_all(connection: Any, model: type[models.Model], values: Mapping[str, Any]) -> list[Any]:
    return [_adapt(connection, model, name, value) for name, value in values.items()]


def _adapt(connection: Any, model: type[models.Model], name: str, value: Any) -> Any:
    """Plain values go as they are; anything else through its field."""
    if type(value) in (int, str, NoneType):
        return value
    if type(value) is Plus:
        return value.more
    return _field(model, name).get_db_prep_save(value, connection)


def _field(model: type[models.Model], name: str) -> Any:
    return model._meta.get_field(name)


def _column(connection: Any, model: type[models.Model], name: str) -> str:
    return str(connection.ops.quote_name(_field(model, name).column))


def _table(connection: Any, model: type[models.Model]) -> str:
    return str(connection.ops.quote_name(model._meta.db_table))


@cache
def _lock(alias: str) -> str:
    connection = connections[alias]
    columns = ", ".join(_column(connection, Run, name) for name in ("event_seq", "head_hash"))
    lock = connection.ops.for_update_sql() if connection.features.has_select_for_update else ""
    key = _column(connection, Run, "id")
    return f"SELECT {columns} FROM {_table(connection, Run)} WHERE {key} = %s {lock}"


@cache
def _insert(alias: str, model: type[models.Model], names: tuple[str, ...]) -> str:
    connection = connections[alias]
    columns = ", ".join(_column(connection, model, name) for name in names)
    marks = ", ".join(["%s"] * len(names))
    again = " ON CONFLICT DO NOTHING" if model in (Artifact, NewerKind) else ""
    return f"INSERT INTO {_table(connection, model)} ({columns}) VALUES ({marks}){again}"


@cache
def _update_sql(
    alias: str,
    model: type[models.Model],
    names: tuple[str, ...],
    counted: frozenset[str],
    where: tuple[str, ...],
) -> str:
    connection = connections[alias]
    columns = {name: _column(connection, model, name) for name in names}
    sets = ", ".join(
        f"{column} = {column} + %s" if name in counted else f"{column} = %s"
        for name, column in columns.items()
    )
    terms = " AND ".join(f"{_column(connection, model, name)} = %s" for name in where)
    return f"UPDATE {_table(connection, model)} SET {sets} WHERE {terms}"


def _update(
    cursor: Any,
    connection: Any,
    model: type[models.Model],
    values: Mapping[str, Any],
    where: Mapping[str, Any],
) -> int:
    counted = frozenset(name for name, value in values.items() if type(value) is Plus)
    sql = _update_sql(connection.alias, model, tuple(values), counted, tuple(where))
    arguments = _adapt_all(connection, model, values) + _adapt_all(connection, model, where)
    cursor.execute(sql, arguments)
    return int(cursor.rowcount)
