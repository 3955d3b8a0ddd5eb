"""Processes that die or freeze at a fault point. They are forked from this one, which is warm."""

from __future__ import annotations

import gc
import os
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any

from django.db import connections

from runtime.faults import plan
from runtime.worker import inline


def arm(text: str, once: str = "") -> None:
    """Take up a plan as a starting process does, from its environment."""
    os.environ.update(M31A_FAULTS=text, M31A_ALLOW_FAULTS="1")
    plan._plan, plan._once = plan._from(os.environ), once
    plan._hits.clear()


def start(job: Callable[[], Any], text: str = "", once: str = "") -> int:
    """A process that does a job under a plan; its process id. It ends with 1 where that fails."""
    connections.close_all()
    gc.freeze()  # else the first collection in there would copy all that this process ever made
    pid = os.fork()
    if pid:
        gc.unfreeze()
    else:
        code = 1
        try:
            arm(text, once)
            job()
            code = 0
        except BaseException:  # noqa: BLE001 - a forked test may not go on as another test
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def end_of(pid: int, seconds: float = 40.0) -> int:
    """How a process ended: its exit code, or the negative number of its signal."""
    return _ended(_wait(pid, 0, seconds))


def frozen(pid: int, seconds: float = 20.0) -> None:
    """Wait until a process has stopped itself."""
    status = _wait(pid, os.WUNTRACED, seconds)
    assert os.WIFSTOPPED(status), f"it ended with {_ended(status)} instead of stopping"


def thaw(pid: int) -> int:
    """Let a frozen process go on as if nothing had happened, to its end."""
    os.kill(pid, signal.SIGCONT)
    return end_of(pid)


def put_down(pid: int) -> None:
    """Kill a process that may have ended already, and wait for it."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return


def _wait(pid: int, options: int, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, options | os.WNOHANG)
        if done:
            return status
        if time.monotonic() > deadline:
            put_down(pid)
            raise AssertionError(f"process {pid} did not get there within {seconds} s")
        time.sleep(0.005)


def _ended(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def work(run: str) -> Callable[[], Any]:
    """The job of a worker for one run."""
    return lambda: inline.work(until_idle=True, run=run)
