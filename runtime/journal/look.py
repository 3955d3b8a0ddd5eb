"""One look of the hub at the database: what is new in the runs that are watched.

Runs in the hub's thread and shares nothing with it: places go in, findings come out.
An idle look is three short queries, however many runs and browsers there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Max, Sum

from runtime.models import Approval, Run

from . import deltas, read
from .rows import EventRow

FIRST_ROWS = 200
"""Rows that a new feed begins with."""

ENDS = ("message.completed", "message.cut")
OUTPUT_ENDS = ("action.completed", "action.outcome_unknown", "finish.refused", "job.ended")
"""What ends the preview of an output, which the action's id names."""

Dress = Callable[[EventRow], str]


class Dressed(NamedTuple):
    """A row as browsers get it."""

    seq: int
    text: str


class Place(NamedTuple):
    """How far a feed is: last row, last part of each open message, messages that have ended."""

    head: int | None
    said: Mapping[str, int]
    ended: frozenset[str]


class News(NamedTuple):
    """What is new in one run. `more`: rows are left for the next look."""

    gone: bool = True
    head: int = 0
    state: str = ""
    rows: tuple[Dressed, ...] = ()
    ended: tuple[str, ...] = ()
    speaking: frozenset[str] = frozenset()
    parts: tuple[tuple[str, int, str], ...] = ()
    more: bool = False


class Found(NamedTuple):
    """A whole look. `inbox` is None where it was not asked for."""

    runs: dict[str, News]
    inbox: str | None


def once(places: Mapping[str, Place], inbox: bool, dress: Dress) -> Found:
    """Look at these runs, and at the set of pending approvals if asked."""
    runs: dict[str, News] = {}
    if places:
        heads = {
            run: (seq, state)
            for run, seq, state in Run.objects.filter(pk__in=list(places)).values_list(
                "pk", "event_seq", "state"
            )
        }
        for run, place in places.items():
            runs[run] = _events(run, place, heads[run], dress) if run in heads else News()
        # After the events: a message without parts has then ended in an event already read,
        # or ends in one of the next look.
        spoken = deltas.parts([run for run in places if run in heads])
        for run, last in spoken.items():
            if not runs[run].gone:
                runs[run] = _speech(run, places[run], runs[run], last)
    return Found(runs, _inbox() if inbox else None)


def _events(run: str, place: Place, head: tuple[int, str], dress: Dress) -> News:
    seq, state = head
    if place.head is not None and seq <= place.head:
        return News(False, place.head, state)
    rows = read.last(run, FIRST_ROWS) if place.head is None else read.read(run, place.head)
    at = rows[-1].seq if rows else (place.head or 0)
    ended = tuple(filter(None, map(_ended, rows)))
    dressed = tuple(Dressed(row.seq, dress(row)) for row in rows)
    return News(False, at, state, dressed, ended, more=at < seq)


def _ended(row: EventRow) -> str | None:
    """The message, or the action whose output, is over with this row: its parts are no more read.
    A job goes on after the action that started it."""
    if row.type in ENDS:
        return str(row.payload.get("message"))
    if row.type in OUTPUT_ENDS and row.payload.get("kind") != "start_job":
        return str(row.payload.get("action"))
    return None


def _speech(run: str, place: Place, news: News, last: Mapping[str, int]) -> News:
    ended = place.ended.union(news.ended)
    speaking = frozenset(last) - ended
    if all(last[message] <= place.said.get(message, 0) for message in speaking):
        return news._replace(speaking=speaking)
    # Ended messages whose parts are not removed yet are asked for above their last part: nothing.
    open_at = {message: place.said.get(message, 0) for message in speaking}
    past = {message: last[message] for message in last if message in ended}
    parts = tuple(row for row in deltas.read(run, {**past, **open_at}) if row[0] not in ended)
    return news._replace(speaking=speaking | {row[0] for row in parts}, parts=parts)


def _inbox() -> str:
    """A mark that differs whenever the set of pending approvals, or of reminders of them, does."""
    count, last, reminded = (
        Approval.objects.filter(state=Approval.State.PENDING)
        .order_by()
        .aggregate(count=Count("pk"), last=Max("pk"), reminded=Sum("reminded"))
        .values()
    )
    return f"{count} {last} {reminded}"


def rows(run: str, after: int, limit: int, dress: Dress) -> list[Dressed]:
    """Rows above `after` from the table, for a browser that is behind the ring."""
    return [Dressed(row.seq, dress(row)) for row in read.read(run, after, limit)]


def data_version() -> int:
    """SQLite's counter of commits by other connections than this one."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA data_version")
        return int(cursor.fetchone()[0])
