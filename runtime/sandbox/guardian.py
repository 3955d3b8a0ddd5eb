"""Who outlives a broker that is killed, and ends what that leaves: one for each broker.

bubblewrap binds the first process of a namespace to its parent only after the gate was opened. A
broker and a server that are killed in that moment would leave a command running, or a half-made
cage at its gate. Part of the broker's process: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from runtime.sandbox import processes

PATIENCE = 5.0  # seconds that it looks for what is left
PAUSE = 0.05  # between looks: what was just being born is there at the next one
QUIET_LOOKS = 3  # in a row, after which nothing is left


class Guardian:
    """A process that waits for the end of this one. `leash` has no other holder than this one."""

    def __init__(self, pid: int, leash: int) -> None:
        self.pid, self.leash = pid, leash

    def release(self) -> None:
        """All is over: it need not look. Waits for its end."""
        with contextlib.suppress(OSError):  # somebody ended it before
            os.write(self.leash, b"x")
        os.close(self.leash)
        os.waitpid(self.pid, 0)


def start(tag: bytes) -> Guardian:
    """Fork the guardian of the cages that carry `tag`. Call it while there is one thread."""
    watched, leash = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid:
        os.close(watched)
        return Guardian(pid, leash)
    try:
        os.setsid()
        os.closerange(0, watched)
        os.closerange(watched + 1, os.sysconf("SC_OPEN_MAX"))
        if not os.read(watched, 1):
            clear(tag)
    finally:
        os._exit(0)


def clear(tag: bytes) -> None:
    """SIGKILL to every process of the cages, until none has been there for some looks."""
    give_up, quiet = time.monotonic() + PATIENCE, 0
    while quiet < QUIET_LOOKS and time.monotonic() < give_up:
        left = processes.marked(tag)
        for pid in left:
            _kill(pid, tag)
        quiet = 0 if left else quiet + 1
        time.sleep(PAUSE)


def _kill(pid: int, tag: bytes) -> None:
    """By a handle, and only if it still is who it was: numbers are used again."""
    with contextlib.suppress(OSError):  # gone meanwhile
        handle = os.pidfd_open(pid)
        try:
            if processes.is_marked(pid, tag):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
