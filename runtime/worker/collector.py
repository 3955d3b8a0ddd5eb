"""Collects unreferenced bytes in small passes: a walk over all of them once an hour."""

from __future__ import annotations

import logging
import time

from runtime.artifacts.collecting import collect

log = logging.getLogger(__name__)
EVERY_SECONDS = 3600.0


class Collector:
    """Remembers how far the present walk is, and when the next is due."""

    def __init__(self) -> None:
        self._after = ""
        self._next = time.monotonic()

    def tick(self) -> int:
        """Look at one page, if one is due; how many files went."""
        if not self._after and time.monotonic() < self._next:
            return 0
        gone, self._after = collect(after=self._after)
        if not self._after:
            self._next = time.monotonic() + EVERY_SECONDS
        if gone:
            log.warning("Collected %d stored files that nothing referred to for a day.", gone)
        return gone
