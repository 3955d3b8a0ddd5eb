"""A control group (v2) for each command, where this process may make some: bounds, end, account.

What can be had differs: with the controllers `memory`, `pids` and `cpu` the kernel itself bounds a
command as a whole; without them a group still ends everything in it at once and counts its CPU. The
rest is then done by limits per process and by looking (`supervised`).

To join a group costs some milliseconds (the kernel waits until no process is between two). So one
without bounds is used only where M31A_CGROUP asks for it: the end of a command is as sure without.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import time
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Self

from runtime.core.errors import Unavailable
from runtime.sandbox.spec import Limits

WANTED = ("memory", "pids", "cpu")
OFF = "none"
SERVER = "m31a-server"
"""Where this process goes in a group that was delegated to it: only leaves may hold processes."""
_PREFIX = "m31a-cage"
_END_SECONDS = 1.0
_PERIOD = 100_000  # microseconds over which cpu.max counts
REMEDY = (
    "Under systemd give the server's unit Delegate=yes (and MemoryAccounting=yes, TasksAccounting=yes);"
    " in a container mount /sys/fs/cgroup writable with a cgroup namespace of its own; or name a"
    " directory of cgroup v2 that the server may write in M31A_CGROUP."
)
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Place:
    """A directory in which groups can be made, and what the kernel bounds in them."""

    path: str
    controllers: frozenset[str]

    @property
    def bounds(self) -> bool:
        """Whether it bounds what limits per process bound badly."""
        return bool(self.controllers & {"memory", "pids"})


@dataclass(frozen=True, slots=True)
class Account:
    """What a group counted. `cpu_ms` and `peak` are None where it did not; `limit` names what the
    kernel enforced, if anything."""

    cpu_ms: int | None = None
    peak: int | None = None
    limit: str | None = None
    processes_refused: bool = False


def find() -> Place | None:
    """Where the groups of commands are made; None where nowhere. Looked for once per process.

    Raises Unavailable where M31A_CGROUP names a directory that cannot be used: it is used, or
    nothing runs.
    """
    return _find(os.getpid(), os.environ.get("M31A_CGROUP"))


@lru_cache(maxsize=4)
def _find(_process: int, configured: str | None) -> Place | None:
    if configured == OFF:
        return None
    if configured:
        place = _usable(configured)
        if place is None:
            raise Unavailable(
                f"M31A_CGROUP names {configured!r}, in which no control group can be made.",
                remedy=f"Name a writable directory of cgroup v2, or {OFF}, or unset it.",
                field="M31A_CGROUP",
            )
    else:
        place = _own()
        if place is not None and not place.bounds:
            return None
    if place is not None:
        sweep(place.path)
    return place


def described() -> tuple[bool, str]:
    """Whether groups bound commands here, and what is to be had, in words."""
    try:
        used, had = find(), _own()
    except Unavailable as error:
        return False, error.message
    if used is not None and used.bounds:
        return True, f"{', '.join(sorted(used.controllers))} in {used.path}."
    if used is not None:
        return False, f"{used.path} ends commands, but bounds neither memory nor processes."
    if had is not None:
        return False, "Groups can be made, but they bound neither memory nor processes; not used."
    return False, "No control group can be made; limits per process and looking are used."


def _own() -> Place | None:
    """This process's own group, or the one above where we are in a leaf of a delegated one."""
    mount, group = _mount(), _group()
    if not mount or group is None:
        return None
    own = os.path.normpath(f"{mount}/{group}")
    above = os.path.dirname(own)
    if os.path.basename(own) == SERVER or _delegated(above):
        place = _usable(above)
        if place is not None:
            return place
    if _delegated(own):
        with contextlib.suppress(OSError):
            _settle(own)
    return _usable(own)


def _mount() -> str:
    """Where the unified hierarchy is mounted."""
    for line in _read("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        if right.startswith("cgroup2 ") and left.split()[3] == "/":
            return re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), left.split()[4])
    return ""


def _group() -> str | None:
    for line in _read("/proc/self/cgroup").splitlines():
        if line.startswith("0::"):
            return line[3:].strip("/")
    return None


def _delegated(path: str) -> bool:
    """Whether systemd has given it away: then what is below it is ours to arrange."""
    for name in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            return os.getxattr(path, name) == b"1"
    return False


def _settle(path: str) -> None:
    """Move what is in a delegated group into a leaf of it, so that its groups can have bounds."""
    leaf = f"{path}/{SERVER}"
    os.makedirs(leaf, exist_ok=True)
    for pid in _read(f"{path}/cgroup.procs").split():
        with contextlib.suppress(ProcessLookupError):
            _write(f"{leaf}/cgroup.procs", pid)


def _usable(path: str) -> Place | None:
    """Found out by making a group; it needs at least the file that ends all of it."""
    known = _read(f"{path}/cgroup.controllers").split()
    for name in WANTED:  # refused where processes are in the directory itself
        if name in known:
            with contextlib.suppress(OSError):
                _write(f"{path}/cgroup.subtree_control", f"+{name}")
    trial = f"{path}/{_PREFIX}-trial-{secrets.token_hex(6)}"
    try:
        os.mkdir(trial)
    except OSError:
        return None
    try:
        if not all(os.access(f"{trial}/{n}", os.W_OK) for n in ("cgroup.procs", "cgroup.kill")):
            return None
        needed = {"memory": "memory.max", "pids": "pids.max", "cpu": "cpu.max"}
        found = [name for name, file in needed.items() if os.access(f"{trial}/{file}", os.W_OK)]
        return Place(path, frozenset(found))
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(trial)


class Leaf:
    """The group of one command, with its bounds set. Raises Unavailable where it cannot be made."""

    def __init__(self, place: Place, limits: Limits) -> None:
        self.path = f"{place.path}/{_PREFIX}-{_mark()}-{next(_numbers)}"
        self.join = self.kill = -1
        try:
            os.mkdir(self.path)
            bound(self.path, place.controllers, limits)
            self.join = os.open(f"{self.path}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
            self.kill = os.open(f"{self.path}/cgroup.kill", os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            self.close()
            raise Unavailable(
                f"The control group of a command cannot be made: {error}.", remedy=REMEDY
            ) from error

    def close(self) -> Account:
        """End what is in it, remove it, and tell what it counted."""
        for fd in (self.join, self.kill):
            if fd >= 0:
                os.close(fd)
        self.join = self.kill = -1
        found = account(self.path)
        _remove(self.path)
        return found


class Group:
    """A leaf around the execution of a command, or nothing where `place` is None."""

    def __init__(self, place: Place | None, limits: Limits) -> None:
        self._leaf = Leaf(place, limits) if place is not None else None
        self.account = Account()

    @property
    def fds(self) -> tuple[int, ...]:
        """The way into it, and its end: for the broker."""
        return (self._leaf.join, self._leaf.kill) if self._leaf is not None else ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._leaf is not None:
            self.account = self._leaf.close()


def bound(path: str, controllers: frozenset[str], limits: Limits) -> None:
    """Write the bounds that these controllers hold. Raises OSError."""
    if "memory" in controllers:
        _write(f"{path}/memory.max", str(limits.memory_bytes))
        with contextlib.suppress(FileNotFoundError):  # a kernel without accounting of swap
            _write(f"{path}/memory.swap.max", "0")
        _write(f"{path}/memory.oom.group", "1")
    if "pids" in controllers:
        _write(f"{path}/pids.max", str(limits.processes))
    if "cpu" in controllers and limits.cpus < (os.cpu_count() or 1):
        _write(f"{path}/cpu.max", f"{max(1000, round(limits.cpus * _PERIOD))} {_PERIOD}")


def account(path: str) -> Account:
    """What a group has counted so far; what it does not count is left out."""
    cpu = _field(f"{path}/cpu.stat", "usage_usec")
    peak = _read(f"{path}/memory.peak").strip()
    killed = _field(f"{path}/memory.events", "oom_kill")
    return Account(
        cpu_ms=None if cpu is None else cpu // 1000,
        peak=int(peak) if peak.isdigit() else None,
        limit="memory_bytes" if killed else None,
        processes_refused=bool(_field(f"{path}/pids.events", "max")),
    )


def mechanisms(place: Place | None, processes: str = "rlimit") -> dict[str, str | int | bool]:
    """What holds each bound, for the attestation; `processes`: where no group bounds them."""
    has = place.controllers if place is not None else frozenset[str]()
    return {
        "memory_limit": "cgroup" if "memory" in has else "rlimit+watcher",
        "process_limit": "cgroup" if "pids" in has else processes,
        "cpu_limit": "cgroup accounting+watcher" if place is not None else "watcher",
        "end": "cgroup.kill+pidfd" if place is not None else "pidfd",
    }


def sweep(path: str) -> int:
    """End and remove the groups of servers that are gone; how many there were."""
    count = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(path):
            found = re.fullmatch(rf"{_PREFIX}-(\d+)-(\d+)-(\d+)-\d+", name)
            if found and found[1] == _own_namespace() and _started(found[2]) != found[3]:
                _remove(f"{path}/{name}")
                count += 1
    return count


def _remove(path: str) -> None:
    """End everything in a group, then the group: it can go once the last process is reaped."""
    until, wait = time.monotonic() + _END_SECONDS, 0.0002
    while True:
        try:
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() >= until:
                return  # the next server's sweep gets it
            with contextlib.suppress(OSError):
                _write(f"{path}/cgroup.kill", "1")
            time.sleep(wait)
            wait = min(0.02, wait * 2)


def _mark() -> str:
    """Names this process beyond its number: process namespace, number, start."""
    pid = str(os.getpid())
    return f"{_own_namespace()}-{pid}-{_started(pid)}"


def _own_namespace() -> str:
    return str(os.stat("/proc/self/ns/pid").st_ino)


def _started(pid: str) -> str:
    """Ticks since the machine's start; empty where there is no such process."""
    return (_read(f"/proc/{pid}/stat").rpartition(")")[2].split() + [""] * 20)[19]


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _field(path: str, name: str) -> int | None:
    for line in _read(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return None


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode("ascii"))
    finally:
        os.close(fd)
