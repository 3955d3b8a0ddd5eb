"""The statements of the journal's writers. What each step writes has its text compiled once for each
kind of database, from the models' metadata. Django keeps connection, transaction and tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections, models

from runtime.models import Artifact, NewerKind, Run


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


def lock_head(cursor: Any, connection: Any, run: str) -> tuple[int, str] | None:
    """Lock a run; number and hash of its last event."""
    cursor.execute(_lock_sql(connection.vendor), (run,))
    head: tuple[int, str] | None = cursor.fetchone()
    return head


def insert(
    cursor: Any, connection: Any, model: type[models.Model], names: tuple[str, ...], rows: Any
) -> None:
    """Insert rows whose values are those of the database already."""
    cursor.executemany(_insert_sql(connection.vendor, model, names), rows)


def insert_row(
    cursor: Any, connection: Any, model: type[models.Model], values: Mapping[str, Any]
) -> None:
    """Insert a row. Of a table that only says what there is, a second time is none."""
    sql = _insert_sql(connection.vendor, model, tuple(values))
    cursor.execute(sql, _adapt_all(connection, model, values))


def update(
    cursor: Any,
    connection: Any,
    model: type[models.Model],
    values: Mapping[str, Any],
    where: Mapping[str, Any],
    one_of: tuple[str, Sequence[str]] | None = None,
) -> int:
    """Change the rows that have all of `where`, and in a column one of some texts; how many."""
    counted = frozenset(name for name, value in values.items() if type(value) is Plus)
    sql = _update_sql(connection.vendor, model, tuple(values), counted, tuple(where))
    arguments = _adapt_all(connection, model, values) + _adapt_all(connection, model, where)
    if one_of is not None:
        name, wanted = one_of
        sql = f"{sql} AND {_column(connection, model, name)} IN ({', '.join(['%s'] * len(wanted))})"
        arguments += [*wanted]
    cursor.execute(sql, arguments)
    return int(cursor.rowcount)


def stands(
    cursor: Any, connection: Any, model: type[models.Model], where: Mapping[str, Any]
) -> bool:
    """Whether there is a row that has all of it."""
    terms = " AND ".join(f"{_column(connection, model, name)} = %s" for name in where)
    arguments = _adapt_all(connection, model, where)
    cursor.execute(f"SELECT 1 FROM {_table(connection, model)} WHERE {terms}", arguments)
    return cursor.fetchone() is not None


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
def _lock_sql(vendor: str) -> str:
    connection = connections[DEFAULT_DB_ALIAS]
    columns = ", ".join(_column(connection, Run, name) for name in ("event_seq", "head_hash"))
    lock = connection.ops.for_update_sql() if connection.features.has_select_for_update else ""
    key = _column(connection, Run, "id")
    return f"SELECT {columns} FROM {_table(connection, Run)} WHERE {key} = %s {lock}"


@cache
def _insert_sql(vendor: str, model: type[models.Model], names: tuple[str, ...]) -> str:
    connection = connections[DEFAULT_DB_ALIAS]
    columns = ", ".join(_column(connection, model, name) for name in names)
    marks = ", ".join(["%s"] * len(names))
    again = " ON CONFLICT DO NOTHING" if model in (Artifact, NewerKind) else ""
    return f"INSERT INTO {_table(connection, model)} ({columns}) VALUES ({marks}){again}"


@cache
def _update_sql(
    vendor: str,
    model: type[models.Model],
    names: tuple[str, ...],
    counted: frozenset[str],
    where: tuple[str, ...],
) -> str:
    connection = connections[DEFAULT_DB_ALIAS]
    columns = {name: _column(connection, model, name) for name in names}
    sets = ", ".join(
        f"{column} = {column} + %s" if name in counted else f"{column} = %s"
        for name, column in columns.items()
    )
    terms = " AND ".join(f"{_column(connection, model, name)} = %s" for name in where)
    return f"UPDATE {_table(connection, model)} SET {sets} WHERE {terms}"
