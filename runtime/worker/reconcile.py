"""Puts right what nobody was there to put right. Safe to run twice, anywhere, at any time.

One pass: take back what dead or silent workers held, expire old questions and remind of those
that wait long, add wake-ups where they are too few, see whether a machine that could not confine
can do it again. The process does a pass every five seconds, and at once when one of this host's
workers dies or the supervisor says that one did.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import time
from contextlib import ExitStack
from types import FrameType
from typing import NamedTuple

from django.db import Error as DatabaseError
from django.db import close_old_connections, connection

from runtime import approvals, tasks
from runtime.journal import anchors
from runtime.models import Worker
from runtime.runs import confining
from runtime.tasks import incarnation
from runtime.worker import presence, queue
from runtime.worker.collector import Collector

log = logging.getLogger(__name__)

PERIOD_SECONDS = 5.0
LOOK_SECONDS = 0.5
"""How soon a worker that has begun is watched, so that its end is noticed at once."""
LARGEST_WAL = 64 << 20
"""Bytes of SQLite's write-ahead log after which it is written back and cut."""
MOST_WATCHED = 256
NUDGE = signal.SIGUSR1
"""A pass is wanted now."""


class Pass(NamedTuple):
    """What one pass changed. `reminded`: questions that wait long; `regated`: those that the rules
    no longer ask."""

    reaped: int
    expired: int
    reminded: int
    regated: int
    enqueued: int


_regate = approvals.Regate()


def once() -> Pass:
    """One pass. Raises `PolicyFault` where there are no rules that can be used."""
    reaped = tasks.reap()
    expired = approvals.expire_due()
    reminded = approvals.remind_due()
    regated = _regate.run("reconciler")
    anchors.make()
    enqueued = queue.top_up()
    confining.review("reconciler")  # last: a sandbox that hangs delays nothing else
    return Pass(reaped, expired, reminded, regated, enqueued)


def run() -> None:
    """Do passes until SIGTERM or SIGINT."""
    collector = Collector()
    with _Signals() as signals:
        while not signals.stop:
            _pass(collector)
            _rest(signals)


def _rest(signals: _Signals) -> None:
    """Until the next pass is due. The end of a worker ends it, also of one that began meanwhile."""
    until = time.monotonic() + PERIOD_SECONDS
    while not signals.stop and (left := until - time.monotonic()) > 0:
        with ExitStack() as stack:
            handles = _handles(stack)
            if signals.wait(left if handles is None else min(LOOK_SECONDS, left), handles or []):
                return


def _pass(collector: Collector) -> None:
    """A pass that survives whatever goes wrong in it, such as a database that is gone or rules
    that cannot be read: the next one tries again, and the site stays up."""
    try:
        close_old_connections()
        done = once()
        presence.prune()
        _shorten_wal()
        collector.tick()
        confining.look("reconciler")
    except Exception:
        log.exception("A pass of the reconciler failed; the next one tries again.")
        connection.close()
        return
    if done.reaped or done.expired:
        log.warning("Reconciled: %d leases taken back, %d questions expired.", *done[:2])
    if done.reminded:
        log.warning("%d questions wait for a person for long.", done.reminded)


def _shorten_wal() -> None:
    if connection.vendor != "sqlite":
        return
    wal = f"{connection.settings_dict['NAME']}-wal"
    if os.path.exists(wal) and os.path.getsize(wal) > LARGEST_WAL:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy = cursor.fetchall()[0][0]
        if busy:
            log.warning(
                "%s is over %d bytes, and a reader keeps it from being cut.", wal, LARGEST_WAL
            )


def _handles(stack: ExitStack) -> list[int] | None:
    """Handles that become readable when one of this host's workers ends, and one that is readable
    for each that has ended. None where the database does not answer."""
    handles = []
    try:
        here = Worker.objects.filter(host=socket.gethostname()[:100])
        for pid, owner in list(here.values_list("pid", "incarnation")[:MOST_WATCHED]):
            handle = _handle(pid, owner)
            if handle is not None:
                stack.callback(os.close, handle)
                handles.append(handle)
    except DatabaseError:
        log.exception("The workers could not be listed.")
        return None
    return handles


def _handle(pid: int, owner: str) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return os.open(os.devnull, os.O_RDONLY) if incarnation.is_gone(owner) else None
    except PermissionError:
        return None


class _Signals:
    """Signals as flags, with a pipe that ends a wait."""

    def __init__(self) -> None:
        self.stop = False
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> _Signals:
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, NUDGE):
            signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(-1)
        os.close(self._read)
        os.close(self._write)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.stop = self.stop or number != NUDGE

    def wait(self, seconds: float, handles: list[int]) -> bool:
        """Until a signal came, a handle is readable, or the time is over: then false."""
        if self.stop:
            return True
        ready, _, _ = select.select([self._read, *handles], [], [], seconds)
        if self._read in ready:
            os.read(self._read, 4096)
        return bool(ready)
