"""One event for everything that ends what a step is doing: cancellation, a stop, a lost lease."""

from __future__ import annotations

import threading
import time

POLL_SECONDS = 0.02


class AnyOf(threading.Event):
    """Set as soon as one of some events is. It is never set by itself."""

    def __init__(self, *events: threading.Event) -> None:
        super().__init__()
        self._events = events

    def is_set(self) -> bool:
        """Whether one of them is set."""
        return any(event.is_set() for event in self._events)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for one of them, at most `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(POLL_SECONDS, left))
        return True
