"""A worker in the calling process: `m31a work`, and `submit --wait` where nobody else works."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from runtime import tasks
from runtime.worker import incarnation, presence, reconcile, slices

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.2
PASS_SECONDS = 5.0


def work(
    *,
    once: bool = False,
    until_idle: bool = False,
    stop: threading.Event | None = None,
    run: str | None = None,
    until: Callable[[], bool] | None = None,
) -> int:
    """Claim and drive tasks here. Returns the number of slices driven.

    `once`: at most one slice. `until_idle`: until no task is ready and none is held by a dead
    or expired lease. `until`: until it says so, asked between slices. Else until `stop` is set.
    With `run` only that run's tasks count.
    """
    stop = stop or threading.Event()
    owner = incarnation.mine()
    driven = 0
    next_pass = 0.0
    try:
        while not stop.is_set() and not (until is not None and until()):
            if time.monotonic() >= next_pass:
                reconcile.once()
                next_pass = time.monotonic() + PASS_SECONDS
            claim = tasks.claim(owner, run=run)
            if claim is not None:
                slices.drive(claim, stop)
                driven += 1
            elif until_idle and tasks.idle(run):
                reconcile.once()  # what has ended is anchored before anybody looks
                break
            if once:
                break
            if claim is None:
                stop.wait(IDLE_SECONDS)
    finally:
        presence.gone()
    return driven
