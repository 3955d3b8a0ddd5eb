"""What a command could leave in kept namespaces beside processes and the worktree.

Looked at by the first process in there, once before the first command and after each one. It need
not tell what was left: any difference ends the namespaces. Part of the broker's process: standard
library only.
"""

from __future__ import annotations

import ctypes
import os
import resource
import time

from runtime.sandbox.privileges import libc

SETTLE_SECONDS = 0.025  # longer than a tick of the clock by which files are dated
_QUIET_SECONDS = 2.0  # until the kernel has let go of the sockets by which the network was made
_TERMINALS = "/dev/pts"
_QUEUES = ("msg", "sem", "shm")
_LIMITS = 16  # kinds that the kernel knows
_WANTED = ("/proc/self/net/dev", *(f"/proc/sysvipc/{name}" for name in _QUEUES))
_WHERE_THERE = ("/proc/self/net/ip6_flowlabel", "/proc/self/autogroup")
_SOCKETS = "/proc/self/net/sockstat"
_CALLS = {"x86_64": (252, 315), "aarch64": (31, 275)}
"""ioprio_get(2) and sched_getattr(2)."""
_ATTRIBUTE_BYTES = 128  # of the scheduler; more than any kernel tells


class Traces:
    """What there was at first, and whether that is so again.

    Files in memory with their rights and times; terminals; queues, sets and segments of System V;
    traffic on the network (a port may stay taken for a minute), labels of flows and sockets that
    live in messages which nobody will read; and whatever may be set of the process that starts the
    next command: limits, priorities, processors. Raises OSError where one of them cannot be seen.
    """

    def __init__(self, private: tuple[str, ...]) -> None:
        self.private = private
        self.places = [_TERMINALS, f"{_TERMINALS}/ptmx"]
        for place in private:
            self.places += _below(place)
        self.sockets = _opened(_SOCKETS)
        there = [name for name in _WHERE_THERE if os.path.exists(name)]
        self.files = [_opened(name) for name in (*_WANTED, *there)]
        self.absent = [name for name in _WHERE_THERE if name not in there]
        self.io_priority, self.scheduling = _CALLS[os.uname().machine]
        self.attributes = ctypes.create_string_buffer(_ATTRIBUTE_BYTES)
        self.now()  # to read a directory is to touch it
        self._settle()
        self.at_first = self.now()

    def none(self) -> bool:
        """Whether all is as at first. What cannot be told any more is not."""
        try:
            return self.now() == self.at_first
        except (OSError, MemoryError):
            return False

    def now(self) -> tuple[object, ...]:
        """All of it. A directory's times move with every entry, right, attribute and reading."""
        return (
            *map(_about, self.places),
            *map(_room, self.private),
            os.listdir(_TERMINALS),
            *(os.pread(fd, 1 << 16, 0) for fd in self.files),
            *map(os.path.exists, self.absent),
            self._living_sockets(),
            *map(resource.getrlimit, range(_LIMITS)),
            os.sched_getaffinity(0),
            libc.syscall(self.io_priority, 1, 0),
            self._scheduling(),
        )

    def _living_sockets(self) -> bytes:
        """The line of this network; the others are of the whole machine."""
        return os.pread(self.sockets, 1 << 12, 0).partition(b"\n")[0]

    def _scheduling(self) -> bytes:
        """Policy, nice value, slice, clamps and flags."""
        if libc.syscall(self.scheduling, 0, self.attributes, _ATTRIBUTE_BYTES, 0) != 0:
            raise OSError("the scheduler does not tell")
        return self.attributes.raw

    def _settle(self) -> None:
        """What is touched from here on gets another time than what was."""
        until = time.monotonic() + _QUIET_SECONDS
        time.sleep(SETTLE_SECONDS)
        while self._living_sockets() != b"sockets: used 0":
            if time.monotonic() > until:
                raise TimeoutError("the network is in use")
            time.sleep(SETTLE_SECONDS)


def _opened(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _below(place: str) -> list[str]:
    """A file system in memory: its root, and directories in which something is mounted."""
    device, found = os.lstat(place).st_dev, [place]
    for folder in found:
        for name in os.listdir(folder):
            path = f"{folder}/{name}"
            about = os.lstat(path)
            if about.st_dev == device:
                if about.st_mode & 0o170000 != 0o040000:
                    raise PermissionError(f"{path} is no directory")
                found.append(path)
    return found


def _about(path: str) -> tuple[int, ...]:
    about = os.lstat(path)
    return (about.st_mode, about.st_atime_ns, about.st_mtime_ns, about.st_ctime_ns)


def _room(place: str) -> tuple[int, int]:
    """What has no name any more takes room nevertheless."""
    about = os.statvfs(place)
    return (about.f_bfree, about.f_ffree)
