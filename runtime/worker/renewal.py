"""Keeps a lease while its task is driven, in a thread with a connection of its own."""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connections

from runtime import tasks
from runtime.worker import presence, shutdown

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
"""How soon a request to stop is noticed."""
CANCEL_SECONDS = 0.5
"""How soon a cancellation is noticed."""


def renewal_seconds() -> float:
    """Time between two renewals: a third of the lease."""
    return float(settings.M31A.LEASE_SECONDS) / 3


class Renewal:
    """A context in which a claim stays held.

    `lost` is set when the lease belongs to somebody else or could not be renewed in time,
    `cancel` when the run's cancellation was asked for, `stop` when this process is to end.
    """

    def __init__(self, claim: tasks.Claim, stop: threading.Event) -> None:
        self.claim = claim
        self.stop = stop
        self.cancel = threading.Event()
        self.lost = threading.Event()
        self._done = threading.Event()
        self._lease = float(settings.M31A.LEASE_SECONDS)
        self._period = renewal_seconds()
        self._renewed = _boottime()
        self._thread = threading.Thread(target=self._run, name="renewal", daemon=True)

    def __enter__(self) -> Renewal:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        # A renewal waits for the database no longer than its busy timeout.
        self._thread.join(timeout=30)
        if self._thread.is_alive():
            log.error("The renewal of task %s did not end.", self.claim.task)

    def _run(self) -> None:
        next_look = time.monotonic()
        next_renewal = next_look + self._period
        try:
            while not self._done.wait(LOOK_SECONDS):
                if shutdown.asked():
                    self.stop.set()
                now = time.monotonic()
                if now >= next_renewal:
                    next_renewal = now + (self._period if self._renew() else CANCEL_SECONDS)
                elif now >= next_look:
                    self._look()
                    next_look = now + CANCEL_SECONDS
                if self.lost.is_set():
                    return
        except Exception:
            # Nobody renews any more: whoever works must not outlive the lease.
            log.exception("The renewal of task %s died; its work stops.", self.claim.task)
            self.lost.set()
        finally:
            connections.close_all()

    def _renew(self) -> bool:
        """Renew once. False when the database did not answer, and it should be tried soon."""
        # The lease is judged from before the statement, by a clock that runs through suspension.
        before = _boottime()
        try:
            standing = tasks.renew(self.claim)
            presence.seen(self.claim.task)
        except DatabaseError as error:
            log.warning("The lease of task %s was not renewed: %s", self.claim.task, error)
            # By now, not from before: the database may have taken long to say no.
            if _boottime() - self._renewed > self._lease - self._period / 2:
                log.error(
                    "The lease of task %s ran out unrenewed; its work stops.", self.claim.task
                )
                self.lost.set()
            return False
        self._note(standing)
        self._renewed = before
        return True

    def _look(self) -> None:
        """Read, without writing, whether the task is still ours and still wanted."""
        if self.cancel.is_set():
            return
        try:
            self._note(tasks.peek(self.claim))
        except DatabaseError as error:
            log.warning("The state of task %s could not be read: %s", self.claim.task, error)

    def _note(self, standing: str) -> None:
        if standing == "lost":
            self.lost.set()
        elif standing == "cancel":
            self.cancel.set()


def _boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
