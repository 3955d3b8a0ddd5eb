"""Supervision where there is no broker (macOS): one process group, and whoever was seen below it.

Weaker than a broker: a server that is killed leaves its command running until the clock of that
command's own bounds, and a child that leaves its group and its parent between two looks is missed.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time

from runtime.sandbox import wire
from runtime.sandbox.command import Exchange, OnOutput, Verdict
from runtime.sandbox.output import Kept
from runtime.sandbox.spec import Limits

_GRACE = 0.3  # seconds between SIGTERM and SIGKILL
_LOOK_EVERY = 0.1
_DRAIN_SECONDS = 1.0
_READ = 1 << 16
# Bounds are set inside, by a shell that then becomes the command.
_BOUNDS = 'ulimit -c 0 && ulimit -n "$1" && ulimit -f "$2" && shift 2 && exec "$@"'


def bounded(words: list[bytes], limits: Limits) -> list[bytes]:
    """The command behind its bounds; the shell counts file sizes in blocks of 512 bytes."""
    numbers = [str(limits.open_files).encode(), str(max(1, limits.file_bytes // 512)).encode()]
    return [b"/bin/sh", b"-c", _BOUNDS.encode(), b"bounds", *numbers, *words]


def exchange(
    argv: list[bytes],
    env: dict[bytes, bytes],
    cwd: str,
    *,
    wall: float,
    keep: int,
    cancel: threading.Event | None = None,
    on_output: OnOutput | None = None,
    stdout_to: int | None = None,
) -> Exchange:
    """Run it, read everything, end what it left behind. Whatever `on_output` raises ends it, too."""
    began = time.monotonic()
    kept = {"stdout": Kept(keep), "stderr": Kept(keep)}
    try:
        process = subprocess.Popen(
            argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            stdout=subprocess.PIPE if stdout_to is None else stdout_to, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        text = f"it was not started: {error.strerror}"
        return Exchange(
            Verdict(None, wire.BROKEN, 0, 0, text), kept["stdout"], kept["stderr"], 0.0, 0
        )
    family = _Family(process.pid)
    try:
        reason = _follow(process, family, kept, began + wall, cancel, on_output)
    finally:
        family.end()
        process.kill()
        code = process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    status = code if code >= 0 else 128 - code
    verdict = Verdict(status, reason, 0, 0, "")
    return Exchange(verdict, kept["stdout"], kept["stderr"], time.monotonic() - began, 0)


def _follow(
    process: subprocess.Popen[bytes],
    family: _Family,
    kept: dict[str, Kept],
    deadline: float,
    cancel: threading.Event | None,
    on_output: OnOutput | None,
) -> int:
    """Until it has ended, or was ended at its deadline or by wish; the reason."""
    readers = {
        stream.fileno(): name
        for name, stream in (("stdout", process.stdout), ("stderr", process.stderr))
        if stream is not None
    }
    poll = select.poll()
    for fd in readers:
        poll.register(fd, select.POLLIN)
    reason, kill_at, drain_until = wire.ENDED, float("inf"), float("inf")
    while True:
        now = time.monotonic()
        over = process.poll() is not None
        if over and drain_until == float("inf"):
            drain_until = now + _DRAIN_SECONDS
            family.end()  # whoever holds the pipes does not outlive it
        if over and (not readers or now >= drain_until):
            return reason
        if reason == wire.ENDED and not over:
            if now >= deadline:
                reason = wire.TIMED_OUT
            elif cancel is not None and cancel.is_set():
                reason = wire.CANCELLED
            if reason != wire.ENDED:
                kill_at = now + _GRACE
                family.signal(signal.SIGTERM)
        if now >= kill_at:
            family.end()
        family.look()
        for fd, _ in poll.poll(_LOOK_EVERY * 1000 if readers else 0):
            data = os.read(fd, _READ)
            if not data:
                poll.unregister(fd)
                del readers[fd]
                continue
            kept[readers[fd]].feed(data)
            if on_output is not None:
                on_output(readers[fd], data)
        if not readers:
            time.sleep(0.01)


class _Family:
    """A process, its group, and everything that was ever seen below it."""

    def __init__(self, first: int) -> None:
        self.first = first
        self._seen: dict[int, str] = {}
        self._looked = 0.0

    def look(self) -> None:
        """Note who is there, with the time of their start: numbers are used again."""
        if time.monotonic() < self._looked + _LOOK_EVERY:
            return
        rows = _processes()
        below = {self.first}
        while more := {pid for pid, (above, _) in rows.items() if above in below} - below:
            below |= more
        for pid in below - {self.first}:
            self._seen.setdefault(pid, rows[pid][1])
        self._looked = time.monotonic()

    def signal(self, number: int) -> None:
        """To the group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.first, number)

    def end(self) -> None:
        """Kill the group and everybody seen, stopped first so that nobody starts another. The group
        is stopped before anybody is asked who there is, which may take its time, or fail."""
        self.signal(signal.SIGSTOP)
        try:
            self._looked = 0.0
            self.look()
        finally:
            self.signal(signal.SIGKILL)
        rows = _processes()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid, start in self._seen.items():
                if pid in rows and rows[pid][1] == start:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)


def _processes() -> dict[int, tuple[int, str]]:
    """Everybody's parent and start, as `ps` says."""
    said = subprocess.run(
        ["/bin/ps", "-axo", "pid=,ppid=,lstart="], stdin=subprocess.DEVNULL, capture_output=True,
        env={"LC_ALL": "C"}, timeout=10, check=False,
    ).stdout  # fmt: skip
    rows = {}
    for line in said.decode("ascii", "replace").splitlines():
        words = line.split(None, 2)
        if len(words) == 3 and words[0].isdigit() and words[1].isdigit():
            rows[int(words[0])] = (int(words[1]), words[2])
    return rows
