"""This process's incarnation, and what tells one life of a process id from another."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from runtime.tasks import incarnation


def mine() -> str:
    """The owner under which this process claims tasks; another one after a fork."""
    return _of(os.getpid())


@cache
def _of(pid: int) -> str:
    return incarnation.make()


def start_ticks(pid: int) -> int | None:
    """Start of a process in clock ticks since boot, which no change of the clock moves.

    None when it is gone, or dead and only not yet waited for.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold anything, blanks and parentheses too.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])
