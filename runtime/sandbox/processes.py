"""What /proc says about the processes of a command.

Part of the broker's process: standard library only.
"""

from __future__ import annotations

import os


def read_small(path: str) -> bytes:
    """A file of /proc, empty if the process is gone meanwhile."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""
    finally:
        os.close(fd)


def family(first: int) -> list[int]:
    """A process and everything below it. Orphans belong to the first process of their namespace."""
    found, todo = [], [first]
    while todo:
        pid = todo.pop()
        found.append(pid)
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for thread in threads:
            todo += map(int, read_small(f"/proc/{pid}/task/{thread}/children").split())
    return found


def number_after(text: bytes, key: bytes) -> int | None:
    """The integer that follows `key`; None where there is no key."""
    at = text.find(key)
    if at < 0:
        return None
    rest = text[at + len(key) :].lstrip(b' ":\t')
    digits = rest[: len(rest) - len(rest.lstrip(b"0123456789"))]
    return int(digits) if digits else None
