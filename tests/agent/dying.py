"""Workers that die by SIGKILL, at a chosen place or from outside."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from django.db import connections

from runtime.worker import inline
from tests.agent.scenes import wait_for


def die(*_: Any, **__: Any) -> Any:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_after(function: Callable[..., Any]) -> Callable[..., Any]:
    """Do it, then die."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        function(*args, **kwargs)
        die()

    return wrapped


def start(arrange: Callable[[], None] = lambda: None, run: str | None = None) -> int:
    """A worker in a process of its own, for all runs or one, which first arranges something; its
    process id."""
    connections.close_all()
    pid = os.fork()
    if pid == 0:
        try:
            arrange()
            inline.work(until_idle=True, run=run)
        finally:
            os._exit(0)
    return pid


def work_and_die(arrange: Callable[[], None]) -> None:
    """A worker that is arranged to die does so."""
    _, status = os.waitpid(start(arrange), 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, "it did not die"


def kill_when(condition: Callable[[], bool]) -> None:
    """Start a worker, and kill it as soon as something is so."""
    pid = start()
    try:
        wait_for(condition)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
