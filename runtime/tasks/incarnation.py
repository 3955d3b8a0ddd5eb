"""Who holds a lease: one life of one process, not a name that comes back after a restart."""

from __future__ import annotations

import os
import secrets
import socket
from functools import cache
from pathlib import Path

import psutil


@cache
def boot_id() -> str:
    """Identity of this machine's present boot."""
    path = Path("/proc/sys/kernel/random/boot_id")
    if path.exists():
        return path.read_text(encoding="ascii").strip()
    return f"boot{int(psutil.boot_time())}"


def host() -> str:
    """This machine's name, without the separator of `make`."""
    return socket.gethostname().replace("/", "-")


def make() -> str:
    """A new incarnation of this process: host/boot/pid/start/random."""
    pid = os.getpid()
    return f"{host()}/{boot_id()}/{pid}/{_start(pid)}/{secrets.token_hex(4)}"


def is_gone(owner: str) -> bool:
    """Whether the owner lived on this boot of this machine, and its process is no more."""
    parts = owner.split("/")
    if len(parts) != 5 or parts[0] != host() or parts[1] != boot_id() or not parts[2].isdigit():
        return False
    return _start(int(parts[2])) != parts[3]


def _start(pid: int) -> str:
    """Start of a process, or nothing where it is gone."""
    ticks = start_ticks(pid)
    return "" if ticks is None else str(ticks)


def start_ticks(pid: int) -> int | None:
    """Start of a process in clock ticks since boot, which no change of the clock moves.

    None when it is gone, or dead and only not yet waited for. Where there is no /proc, the
    wall clock's hundredths of a second of its start.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None if Path("/proc/self/stat").exists() else _by_wall_clock(pid)
    # The name in parentheses may hold anything, blanks and parentheses too.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def _by_wall_clock(pid: int) -> int | None:
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return int(process.create_time() * 100)
    except psutil.NoSuchProcess:
        return None
