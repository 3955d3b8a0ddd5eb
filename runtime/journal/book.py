"""A run's chain, opened for writing by anyone but the holder of a task: people, services, claims.

The run's row is locked first; what is written with the ORM meanwhile commits with the events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.transaction import atomic, on_commit

from runtime import faults
from runtime.core import clock, ids
from runtime.core.digests import first_head
from runtime.core.errors import NotFound, Unavailable
from runtime.models import Event, Run

from . import chain, hint
from .append import move_head, newer_kinds, now, references, write
from .chain import By, Draft
from .draft import draft
from .kind import Payload
from .prepared import Prepared
from .statements import Plus, Row


class Book:
    """An open, locked run. Events get their number at once and are inserted at the end."""

    def __init__(self, run: Run, at: datetime) -> None:
        self.run = run
        self.at = at
        self._start = run.event_seq
        self._rows: list[tuple[Any, ...]] = []
        self._references: list[Row] = []
        self._values: dict[str, Any] = {}

    def append(
        self,
        payload: Payload,
        *,
        actor: str,
        task: str | None = None,
        attempt: int | None = None,
        fence: int | None = None,
    ) -> int:
        """Add one event and return its number."""
        by = By(self.run.pk, task, attempt, fence, actor)
        return self._add(by, draft(payload))

    def _add(self, by: By, item: Draft) -> int:
        new = chain.rows(by, clock.stamp(self.at), self.run.event_seq, self.run.head_hash, [item])
        self._rows += new
        self._references += references(by, [item], self.at)
        self.run.event_seq += 1
        self.run.head_hash = new[0][-1]
        return self.run.event_seq

    def set(self, **values: Any) -> None:
        """Change columns of the run's row with the events. The row is locked, so `Plus` is added
        to what it holds."""
        for name, value in values.items():
            if isinstance(value, Plus):
                value = getattr(self.run, name) + value.more
            setattr(self.run, name, value)
            self._values[name] = value

    def flush(self) -> None:
        """Write what was added. Called once, at the end of the transaction."""
        if not self._rows and not self._values:
            return
        kinds = newer_kinds(self.run.pk, ((row[2], row[3]) for row in self._rows))
        head = (self.run.event_seq, self.run.head_hash)
        with connection.cursor() as cursor:
            rows = (*self._references, *kinds)
            write(cursor, connection, self._rows, rows, self._start + 1, clock.stamp(self.at))
            move_head(cursor, connection, self.run.pk, self._start, head, self._values)
        on_commit(lambda: hint.wake(self.run.pk))


@contextmanager
def open_run(run_id: str, *, skip_locked: bool = False, doing: str = "") -> Iterator[Book]:
    """Lock a run and write to its chain in one transaction.

    `doing` names the fault points before and after the commit. Raises `NotFound` where there is
    none; with `skip_locked` also where another holds it.
    """
    with atomic(durable=True):
        book = _locked(run_id, skip_locked)
        yield book
        book.flush()
        faults.commit(doing, "before")
    faults.commit(doing, "after")


@contextmanager
def open_picked(pick: Callable[[], str | None], *, doing: str = "") -> Iterator[Book | None]:
    """Like `open_run`, of the run that `pick` names within the transaction; None where it names
    none. For databases with one writer: what is picked, nobody else can take meanwhile."""
    with atomic(durable=True):
        run_id = pick()
        if run_id is None:
            yield None
            return
        book = _locked(run_id, False)
        yield book
        book.flush()
        faults.commit(doing, "before")
    faults.commit(doing, "after")


_RUN = Prepared(lambda run: Run.objects.select_for_update().filter(pk=run))
_RUN_IF_FREE = Prepared(lambda run: Run.objects.select_for_update(skip_locked=True).filter(pk=run))


def _locked(run_id: str, skip_locked: bool) -> Book:
    rows = _RUN_IF_FREE if skip_locked and one_of_many() else _RUN
    run = rows.first(run_id)
    if run is None:
        raise NotFound(f"There is no run {run_id}.", remedy="`m31a status` lists the runs.")
    return Book(run, now())


@contextmanager
def new_run(run: Run) -> Iterator[Book]:
    """Create a run's row and its first events in one transaction."""
    with atomic(durable=True):
        at = now()
        run.head_hash = first_head(run.pk)
        run.event_seq = 0
        run.created_at = at
        run.save(force_insert=True)
        book = Book(run, at)
        yield book
        book.flush()
        faults.commit("submit", "before")
    faults.commit("submit", "after")


def open_system() -> AbstractContextManager[Book]:
    """The chain of what belongs to no run."""
    return open_run(ids.SYSTEM_RUN)


def ensure_system() -> None:
    """Create the row of the reserved run, once. Raises `Unavailable` where its chain has lost it:
    a new one would begin before the chain's end."""
    if Run.objects.filter(pk=ids.SYSTEM_RUN).exists():
        return
    if Event.objects.filter(run=ids.SYSTEM_RUN).exists():
        raise Unavailable(
            f"The row of the run {ids.SYSTEM_RUN} is missing, and its events are there.",
            remedy=f"`m31a replay {ids.SYSTEM_RUN} --rebuild` makes it anew.",
        )
    Run.objects.get_or_create(
        pk=ids.SYSTEM_RUN,
        defaults={
            "head_hash": first_head(ids.SYSTEM_RUN),
            "created_at": now(),
            "state": "planning",
        },
    )


def one_of_many() -> bool:
    """Whether several write at once here, each with its rows locked: else one after the other."""
    return connection.features.has_select_for_update_skip_locked
