"""Reading the journal: always in pages by `(run, seq)`, never with an open cursor."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from django.db import connection

from runtime.core.errors import NotFound
from runtime.models import Event, Run

from .rows import COLUMNS, EventRow, from_columns

PAGE = 500


def read(run: str, after: int = 0, limit: int = PAGE) -> list[EventRow]:
    """Events with a number above `after`, in order, at most `limit`."""
    rows = Event.objects.filter(run=run, seq__gt=after).order_by("seq")
    return [from_columns(row) for row in rows.values_list(*COLUMNS)[:limit]]


def before(run: str, seq: int, limit: int = PAGE) -> list[EventRow]:
    """The last `limit` events with a number below `seq`, in order."""
    rows = Event.objects.filter(run=run, seq__lt=seq).order_by("-seq")
    return [from_columns(row) for row in rows.values_list(*COLUMNS)[:limit]][::-1]


def last(run: str, limit: int = PAGE) -> list[EventRow]:
    """The last `limit` events, in order."""
    rows = Event.objects.filter(run=run).order_by("-seq")
    return [from_columns(row) for row in rows.values_list(*COLUMNS)[:limit]][::-1]


def newest(run: str, type_: str) -> int:
    """The number of a run's last event of a type, 0 where there is none.

    Asked before every decision: the text is compiled once, else that would take ten times as long
    as the answer."""
    with connection.cursor() as cursor:
        cursor.execute(_newest(connection.vendor), (run, type_))
        row = cursor.fetchone()
    return 0 if row is None else int(row[0])


@cache
def _newest(vendor: str) -> str:
    rows = Event.objects.filter(run="", type="").order_by("-id").values_list("seq", flat=True)
    return rows[:1].query.sql_with_params()[0]


def every(run: str, after: int = 0) -> Iterator[EventRow]:
    """All events above `after`, in order, page by page."""
    while page := read(run, after):
        yield from page
        after = page[-1].seq


def head(run: str) -> tuple[int, str]:
    """Number and hash of a run's last event. Raises `NotFound`."""
    found = Run.objects.filter(pk=run).values_list("event_seq", "head_hash").first()
    if found is None:
        raise NotFound(f"There is no run {run}.", remedy="`m31a status` lists the runs.")
    return found
