"""Whether the cluster still takes messages: a row that a message must touch.

A cluster can look well and take nothing (a dead worker may have held the queue's lock).
A message is sent every 20 s. If one waits for 50 s while a worker is free, the cluster hangs.
Where every worker is busy with a slice, waiting proves nothing.
"""

from __future__ import annotations

import logging
import time

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection
from django.utils import timezone

from runtime.models import Canary, Task
from runtime.worker import queue

log = logging.getLogger(__name__)

EVERY_SECONDS = 20.0
HUNG_SECONDS = 50.0
LOOK_SECONDS = 2.0


class Watch:
    """The supervisor's view of the cluster's sign of life."""

    def __init__(self) -> None:
        self._next_ask = 0.0
        self._next_look = 0.0
        self._waiting_since: float | None = None

    def reset(self) -> None:
        """The cluster was started anew; its messages from before were taken or will be again."""
        self._next_ask, self._waiting_since = 0.0, None

    def hangs(self) -> bool:
        """Look, ask again when it is time, and say whether the cluster hangs."""
        now = time.monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + LOOK_SECONDS
        try:
            close_old_connections()
            return self._look(now)
        except DatabaseError as error:
            log.warning("The canary could not be looked at: %s", error)
            connection.close()
            return False

    def _look(self, now: float) -> bool:
        if self._waiting_since is None:
            if now >= self._next_ask:
                ask()
                self._waiting_since, self._next_ask = now, now + EVERY_SECONDS
            return False
        if has_sung():
            self._waiting_since = None
            return False
        if _all_busy():
            self._waiting_since = now  # the message cannot be taken yet: start counting later
            return False
        return now - self._waiting_since > HUNG_SECONDS


def ask() -> None:
    """Send a message that touches the row."""
    Canary.objects.update_or_create(name=queue.CANARY, defaults={"asked_at": timezone.now()})
    queue.sing()


def has_sung() -> bool:
    """Whether the row was touched since the last message."""
    row = Canary.objects.filter(name=queue.CANARY).first()
    return row is not None and bool(row.asked_at and row.sung_at and row.sung_at >= row.asked_at)


def _all_busy() -> bool:
    """Whether as many tasks are held under a live lease as there are workers."""
    held = Task.objects.filter(
        state__in=["running", "cancelling"], lease_expires_at__gt=timezone.now()
    ).count()
    workers: int = settings.M31A.WORKERS
    return held >= workers
