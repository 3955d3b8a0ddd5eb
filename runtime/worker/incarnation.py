"""This process's incarnation."""

from __future__ import annotations

import os
from functools import cache

from runtime.tasks import incarnation


def mine() -> str:
    """The owner under which this process claims tasks; another one after a fork."""
    return _of(os.getpid())


@cache
def _of(pid: int) -> str:
    return incarnation.make()
