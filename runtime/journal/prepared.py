"""Queries of the ORM that are asked again and again: their text is made once.

Making a text takes the ORM longer than answering it takes the database, and where one writes at a
time, all others wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.query import RawQuerySet
from django.db.transaction import TransactionManagementError

M = TypeVar("M", bound=Model)

MARK = "\N{SYMBOL FOR SUBSTITUTE}"
"""Stands where a value will."""


class _Text(NamedTuple):
    """SQL and its parameters. Where `places` names a value's index, that value goes there."""

    model: type[Model]
    sql: str
    params: tuple[Any, ...]
    places: tuple[int | None, ...]
    locks: bool
    """Whether its rows are locked, which has a meaning inside a transaction only."""


def nothing() -> None:
    """What a text depends on beside the kind of database, mostly."""


class Prepared(Generic[M]):
    """A query with places for strings.

    `build` is called with so many strings as are asked with, and may only pass them on as values.
    Raises `TypeError` where it does more, `TransactionManagementError` where rows would be locked
    outside of a transaction.
    `depends` says what else the text was made from: when it changes, it is made anew.
    """

    def __init__(
        self, build: Callable[..., QuerySet[M]], depends: Callable[[], Hashable] = nothing
    ) -> None:
        self._build, self._depends = build, depends
        self._texts: dict[Hashable, _Text] = {}

    def rows(self, *values: str) -> RawQuerySet[M]:
        """The rows, asked for when they are read; the text is ready by then."""
        text = self._text(len(values))
        return text.model.objects.raw(text.sql, _filled(text, values))  # type: ignore[attr-defined,no-any-return]

    def first(self, *values: str) -> M | None:
        """The first of the rows, where there are any."""
        return next(iter(self.rows(*values)), None)

    def columns(self, *values: str) -> list[tuple[Any, ...]]:
        """All rows as the database gives them."""
        text = self._text(len(values))
        with connection.cursor() as cursor:
            cursor.execute(text.sql, _filled(text, values))
            return list(cursor.fetchall())

    def exists(self, *values: str) -> bool:
        """Whether there is a row. All are read, so the query should end at the first."""
        return bool(self.columns(*values))

    def _text(self, count: int) -> _Text:
        key = (connection.vendor, count, self._depends())
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = _made(self._build, count)
        if text.locks and not connection.in_atomic_block:
            raise TransactionManagementError("Rows are locked inside a transaction only.")
        return text


def _made(build: Callable[..., QuerySet[Any]], count: int) -> _Text:
    marks = [f"{MARK}{index}" for index in range(count)]
    query = build(*marks)
    sql, params = query.query.sql_with_params()
    places = tuple(marks.index(value) if value in marks else None for value in params)
    others = [value for value, place in zip(params, places, strict=True) if place is None]
    if {*places} - {None} != {*range(count)} or MARK in f"{sql}{others}":
        raise TypeError(f"a value has no place of its own in {sql}")
    return _Text(query.model, sql, params, places, bool(query.query.select_for_update))


def _filled(text: _Text, values: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(
        value if place is None else values[place]
        for value, place in zip(text.params, text.places, strict=True)
    )
