"""Doing a whole transaction again when the database says: busy, deadlock, connection lost.

Never a part of one. What is retried must be safe where the first commit was done and only its
answer was lost: every caller's guard then finds its own work, and refuses or repeats itself.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connection

TRIES = 6
FIRST_SECONDS = 0.01

P = ParamSpec("P")
R = TypeVar("R")


def retrying(function: Callable[P, R]) -> Callable[P, R]:
    """Call again on `OperationalError`, with full jitter; inside a transaction never."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for attempt in range(TRIES):
            try:
                return function(*args, **kwargs)
            except OperationalError:
                if connection.in_atomic_block or attempt == TRIES - 1:
                    raise
                connection.close_if_unusable_or_obsolete()
                time.sleep(random.uniform(0, FIRST_SECONDS * 2**attempt))
        raise AssertionError("unreachable: the last try raises")

    return call
