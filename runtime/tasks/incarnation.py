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
    """Start time of a process in hundredths of a second, or nothing where it is gone."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return ""
        return str(int(process.create_time() * 100))
    except psutil.NoSuchProcess:
        return ""
