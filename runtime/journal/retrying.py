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

from django.db import InterfaceError, InternalError, OperationalError, connection

TRIES = 6
FIRST_SECONDS = 0.01
SLEPT = "25P03"
"""SQLSTATE: idle_in_transaction_session_timeout."""

P = ParamSpec("P")
R = TypeVar("R")


def retrying(function: Callable[P, R]) -> Callable[P, R]:
    """Call again where the next time may go well, with full jitter; inside a transaction never."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for attempt in range(TRIES):
            try:
                return function(*args, **kwargs)
            except (OperationalError, InterfaceError, InternalError) as error:
                if connection.in_atomic_block or attempt == TRIES - 1 or not _passing(error):
                    raise
                connection.close_if_unusable_or_obsolete()
                time.sleep(random.uniform(0, FIRST_SECONDS * 2**attempt))
        raise AssertionError("unreachable: the last try raises")

    return call


def _passing(error: Exception) -> bool:
    """Whether an error is one of the moment. That PostgreSQL ended the session of a process which
    had slept inside a transaction is none of a connection for psycopg, but an internal one."""
    if isinstance(error, InternalError):
        return getattr(error.__cause__, "sqlstate", None) == SLEPT
    return True
