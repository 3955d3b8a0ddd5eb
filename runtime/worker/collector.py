"""Collects what nothing refers to and what was left behind: a walk over all of it once an hour."""

from __future__ import annotations

import logging
import time

from runtime.artifacts.collecting import collect
from runtime.runs import collecting

log = logging.getLogger(__name__)
EVERY_SECONDS = 3600.0


class Collector:
    """Remembers how far the present walk over stored files is, and when the next is due."""

    def __init__(self) -> None:
        self._after = ""
        self._next = time.monotonic()

    def tick(self) -> int:
        """Look at one page of stored files, if one is due; a walk begins with what was left behind.
        How many stored files went."""
        if not self._after:
            if time.monotonic() < self._next:
                return 0
            self._leftovers()
        gone, self._after = collect(after=self._after)
        if not self._after:
            self._next = time.monotonic() + EVERY_SECONDS
        if gone:
            log.warning("Collected %d stored files that nothing referred to for a day.", gone)
        return gone

    @staticmethod
    def _leftovers() -> None:
        found = collecting.collect()
        if any(found):
            said = ", ".join(f"{count} {sort}" for sort, count in found._asdict().items() if count)
            log.warning("Collected what was left behind: %s.", said)
