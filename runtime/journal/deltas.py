"""What a model is saying right now: short-lived rows outside the chain.

A writer joins pieces of text for 50 ms or 2 kB and writes them as numbered parts, in a
thread and on a connection of its own, without fsync: a power cut may lose a preview, never
an event. The parts go once the message event, which holds the whole text, is committed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Self

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Max, Q
from django.db.transaction import atomic
from django.db.utils import Error as DatabaseError

from runtime.models import Delta

from . import hint

JOIN_SECONDS = 0.05
JOIN_BYTES = 2048
PART_CHARACTERS = 8192
"""Longest part, for text that comes faster than it is written."""
MOST_BYTES = 1 << 20
"""Preview of one message. What comes after it is seen with the message event."""
CUT = "\n[the preview ends here; the whole text comes with the message]"

log = logging.getLogger(__name__)


@contextmanager
def _unsynced() -> Iterator[CursorWrapper]:
    """A transaction of this thread's connection that a power cut may undo: no fsync for previews."""
    connection = connections[DEFAULT_DB_ALIAS]
    # SQLite changes the level between transactions only, PostgreSQL inside of one.
    level = connection.vendor == "sqlite" and not connection.in_atomic_block
    with connection.cursor() as cursor:
        if level:
            cursor.execute("PRAGMA synchronous")
            before = int(cursor.fetchone()[0])
            cursor.execute("PRAGMA synchronous=NORMAL")
        try:
            with atomic():
                if connection.vendor == "postgresql":
                    cursor.execute("SET LOCAL synchronous_commit TO off")
                yield cursor
        finally:
            if level:
                cursor.execute(f"PRAGMA synchronous={before}")


class DeltaWriter:
    """The preview of one message. Safe to use from several threads; never raises for the database.

    A failed write ends the preview (logged once), not the message. The thread starts with
    the first text and ends with `close`. Also a context manager.
    """

    def __init__(self, run: str, task: str, message: str) -> None:
        self.run, self.task, self.message = run, task, message
        self._pieces: list[str] = []
        self._waiting = 0
        self._since = 0.0
        self._total = 0
        self._part = 0
        self._urgent = self._closed = self._ended = False
        self._busy = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, text: str) -> None:
        """Say more. Returns at once; the text is in the table 50 ms later, or at 2 kB."""
        if not text:
            return
        with self._changed:
            if self._closed or self._ended:
                return
            size = len(text.encode("utf-8", "surrogatepass"))
            if self._total + size > MOST_BYTES:
                room = text.encode("utf-8", "replace")[: MOST_BYTES - self._total]
                text = room.decode("utf-8", "ignore") + CUT
                self._ended = True
            if not self._pieces:
                self._since = monotonic()
            self._pieces.append(text)
            self._total += size
            self._waiting += size
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="deltas", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self) -> None:
        """Return when everything said so far is in the table."""
        with self._changed:
            self._urgent = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._pieces and not self._busy)
            self._urgent = False

    def close(self) -> None:
        """Flush and stop. The rows stay until `remove`. Safe to call twice."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _due(self) -> float:
        """Seconds until the pieces have to be written; 0 is now."""
        if self._urgent or self._closed or self._waiting >= JOIN_BYTES:
            return 0.0
        return max(0.0, self._since + JOIN_SECONDS - monotonic())

    def _write_all(self) -> None:
        """The thread: take what is due, write it, wake the pages."""
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._pieces or self._closed)
                    while self._pieces and (wait := self._due()) > 0:
                        self._changed.wait(wait)
                    if not self._pieces:
                        return
                    text = "".join(self._pieces)
                    self._pieces.clear()
                    self._waiting = 0
                    self._busy = True
                self._write(text)
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
        except (DatabaseError, OSError) as error:
            log.warning("The preview of message %s ends early: %s", self.message, error)
        finally:
            connections.close_all()  # this thread's
            with self._changed:
                self._ended = True
                self._busy = False
                self._pieces.clear()
                self._changed.notify_all()

    def _write(self, text: str) -> None:
        # No column takes a lone surrogate or NUL; the message event shows them its own way.
        text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
        pieces = [text[at : at + PART_CHARACTERS] for at in range(0, len(text), PART_CHARACTERS)]
        rows = [
            (self.run, self.task, self.message, part, piece)
            for part, piece in enumerate(pieces, self._part + 1)
        ]
        self._part += len(rows)
        with _unsynced() as cursor:
            cursor.executemany(
                f"INSERT INTO {Delta._meta.db_table} (run, task, message, part, text) "
                "VALUES (%s, %s, %s, %s, %s)",
                rows,
            )
        hint.wake(self.run)


def read(run: str, open: Mapping[str, int]) -> list[tuple[str, int, str]]:
    """Parts that a reader lacks: `(message, part, text)`, in order of each message.

    `open` gives the last part held for each message; a message not named is read from its start.
    """
    wanted = ~Q(message__in=list(open)) if open else Q()
    for message, part in open.items():
        wanted |= Q(message=message, part__gt=part)
    rows = Delta.objects.filter(wanted, run=run).order_by("message", "part")
    return list(rows.values_list("message", "part", "text"))


def parts(runs: list[str]) -> dict[str, dict[str, int]]:
    """The last part of each message that is being spoken, by run. One query."""
    found: dict[str, dict[str, int]] = {run: {} for run in runs}
    rows = Delta.objects.filter(run__in=runs).values_list("run", "message")
    for run, message, part in rows.annotate(last=Max("part")).order_by():
        found[run][message] = part
    return found


def remove(run: str, message: str | None = None, task: str | None = None) -> None:
    """Drop the preview of a message, or of everything that a task (or the run) left behind.

    Call it after the commit of the message event. Does not raise for the database: rows
    that stay are harmless and go with the next call.
    """
    where = {"run": run, "message": message, "task": task}
    given = {name: value for name, value in where.items() if value is not None}
    conditions = " AND ".join(f"{name} = %s" for name in given)
    try:
        with _unsynced() as cursor:
            cursor.execute(
                f"DELETE FROM {Delta._meta.db_table} WHERE {conditions}", list(given.values())
            )
    except (DatabaseError, OSError) as error:
        log.warning("The preview of run %s was not removed: %s", run, error)
