"""Bounds on time that hold on a machine that does other work as well.

A product that is slow is slow each time; a machine that stands still for a second does so once.
So what has to be quick has three tries, and each of them has to be right.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

TRIES = 3
KILL = 9
P = ParamSpec("P")
T = TypeVar("T")


class Late(AssertionError):
    """It was right, but not in time."""


def in_time(began: float, seconds: float) -> None:
    """Raises `Late` unless fewer than `seconds` have gone by since `began`, of time.monotonic."""
    under(time.monotonic() - began, seconds)


def under(took: float, seconds: float) -> None:
    """Raises `Late` unless what took so many seconds took fewer than `seconds`."""
    if took >= seconds:
        raise Late(f"it took {took:.2f} s, which is not under {seconds:g} s")


def begun(sign: object) -> None:
    """Raises `Late` where there is no sign that a thing had begun before its time was up."""
    if not sign:
        raise Late("its time was up before it had begun")


def in_its_grace(signal: int | None) -> None:
    """Raises `Late` where the kill came before the answer to SIGTERM: there is little time between."""
    if signal == KILL:
        raise Late("it was killed before it had answered to SIGTERM")


def best_of_three(test: Callable[P, T]) -> Callable[P, T]:
    """A test that is late fails after three tries; one that is wrong fails at once."""
    if inspect.iscoroutinefunction(test):
        raise TypeError(f"{test.__name__} is a coroutine function: nothing would wait for it")

    @functools.wraps(test)
    def tried(*args: P.args, **kwargs: P.kwargs) -> T:
        for number in range(1, TRIES):
            try:
                return test(*args, **kwargs)
            except Late as late:
                print(f"try {number} of {TRIES}: {late}")
        return test(*args, **kwargs)

    return tried
