"""One command as the broker sees it, whatever confines it: deadline, limits, end, answer.

Part of the broker's process: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import time
from abc import ABC, abstractmethod

from runtime.sandbox import processes
from runtime.sandbox.wire import (
    AT_OPEN_FILES,
    AT_PROCESSES,
    CANCELLED,
    DISK_FULL,
    ENDED,
    OVER_CPU,
    OVER_FILES,
    OVER_MEMORY,
    OVER_WRITTEN,
    REPLY,
    TIMED_OUT,
)

TYPE_CHECKING = False  # see broker.py
if TYPE_CHECKING:
    from typing import Any

    from runtime.sandbox.broker import Broker

WATCH_EVERY = 0.2  # seconds between looks at memory and written bytes
FREE_BYTES, FREE_FILES = 256 << 20, 20_000  # that a command leaves on the disk of its tree
TAKEN_BYTES, TAKEN_FILES = 16 << 20, 2_000  # by whoever, before a command is blamed for less


class Supervised(ABC):
    """A command from its start to its answer. What differs by backend is in the last methods."""

    shared = False  # whether it ran where others had run before

    def __init__(self, broker: Broker, request: dict[str, Any], kept: list[int]) -> None:
        """`kept`: control, gate, and, where the command has a control group, the way into it and
        its end."""
        self.broker, self.control, self.gate = broker, *kept[:2]
        self.join, self.finish = kept[2:] or (-1, -1)
        self.looked = time.monotonic()
        self.deadline = self.looked + request["wall"]
        self.kill_at = float("inf")
        self.reason, self.text, self.code = ENDED, "", -1
        self.stood = ENDED  # a bound at which it was seen
        self.cpu = self.peak = self.took = 0
        self.free: tuple[int, int] | None = None  # bytes and files of the disk, at the first look

    # -- alike for all

    def on_control(self) -> None:
        """The end of the caller's side: nobody wants it any more."""
        self.broker.forget(self.control)
        self.end(CANCELLED)

    def end(self, reason: int, at_once: bool = False) -> None:
        """SIGTERM to the command's own group, then, after the grace, the kill."""
        if self.reason == ENDED:
            self.reason = reason
        if self.ending and not at_once:
            return
        self.deadline = float("inf")
        self.kill_at = time.monotonic() + (0 if at_once else self.broker.grace)
        if not at_once:
            self.terminate()

    def tick(self, now: float) -> None:
        """Called every now and then: is it time?"""
        if now >= self.deadline:
            self.end(TIMED_OUT)
        if now >= self.kill_at:
            self.kill()

    def look(self, now: float) -> None:
        """Total memory and bytes written, of all processes together, every now and then."""
        if not self.running or now < self.looked + WATCH_EVERY:
            return
        self.looked = now
        pids = self.members()
        if self.written(pids) > self.broker.written_bytes:
            self.end(OVER_WRITTEN, at_once=True)
        most = self.broker.memory_bytes
        if processes.resident(pids) > most and processes.shares(pids) > most:  # the slow one last
            self.end(OVER_MEMORY, at_once=True)
        if any(_files(place) > self.broker.tmpfs_files for place in self.private()):
            self.end(OVER_FILES, at_once=True)
        if self.fills(self.tree()):
            self.end(DISK_FULL, at_once=True)
        took = self.spent(pids)
        self.took = max(self.took, round(took * 1e6))  # of what is killed the kernel tells nothing
        if took > self.broker.cpu_seconds:
            self.end(OVER_CPU, at_once=True)
        if processes.threads(pids) >= self.broker.processes:
            self.stood = AT_PROCESSES
        elif any(processes.open_files(pid) >= self.broker.open_files for pid in pids):
            self.stood = AT_OPEN_FILES

    def fills(self, place: str) -> bool:
        """Whether the disk of the tree runs out while this command is running."""
        try:
            about = os.statvfs(place)
        except OSError:
            return False  # it is over, or the place is out of our reach
        now = about.f_bavail * about.f_frsize, about.f_favail
        if self.free is None:
            self.free = now
        taken_bytes, taken_files = self.free[0] - now[0], self.free[1] - now[1]
        few_files = about.f_files > 0 and now[1] < FREE_FILES
        return (now[0] < FREE_BYTES and taken_bytes > TAKEN_BYTES) or (
            few_files and taken_files > TAKEN_FILES
        )

    @property
    def ending(self) -> bool:
        """Whether it was told to end."""
        return self.kill_at < float("inf")

    def end_group(self) -> None:
        """End everything in its control group at once, if it has one."""
        if self.finish >= 0:
            with contextlib.suppress(OSError):
                os.write(self.finish, b"1")

    def answer(self, *fds: int) -> None:
        """Everything is over: say so, let go of the descriptors, leave the broker."""
        reason = self.stood if self.reason == ENDED else self.reason
        reply = REPLY.pack(self.code, reason, max(self.cpu, self.took), self.peak, self.shared)
        with contextlib.suppress(OSError):  # the caller may be gone: then there is nobody to tell
            os.write(self.control, reply + self.text.encode()[:1000])
        for fd in (self.control, self.gate, self.join, self.finish, *fds):
            if fd >= 0:
                self.broker.forget(fd)
                os.close(fd)
        self.broker.runs.remove(self)

    # -- by backend

    @property
    @abstractmethod
    def running(self) -> bool:
        """Whether there are processes to look at."""

    @abstractmethod
    def members(self) -> list[int]:
        """The processes of the command."""

    def written(self, pids: list[int]) -> int:
        """Bytes that it wrote for the disk; `pids` are its members."""
        return processes.written(pids)

    def spent(self, pids: list[int]) -> float:
        """Seconds of processor that it took; `pids` are its members."""
        return processes.cpu(pids)

    def private(self) -> list[str]:
        """The file systems in memory that it has for itself."""
        return []

    @abstractmethod
    def tree(self) -> str:
        """Where its tree is found from here."""

    @abstractmethod
    def terminate(self) -> None:
        """SIGTERM to the command's own group; nothing if it is not there yet, or any more."""

    @abstractmethod
    def kill(self) -> None:
        """End every process of it. May be called often."""


def _files(place: str) -> int:
    """How many files a file system in memory holds: they cost memory that no size bounds."""
    try:
        about = os.statvfs(place)
    except OSError:
        return 0
    return about.f_files - about.f_ffree
