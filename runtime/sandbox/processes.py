"""What /proc says about the processes of a command.

Part of the broker's process: standard library only.
"""

from __future__ import annotations

import os

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


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


def children(pid: int) -> list[int]:
    """Its children, of all its threads; none if it is gone."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for thread in threads:
        found += map(int, read_small(f"/proc/{pid}/task/{thread}/children").split())
    return found


def marked(tag: bytes) -> list[int]:
    """The processes whose command line begins with `tag` as a word of its own."""
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in numbers if is_marked(pid, tag)]


def is_marked(pid: int, tag: bytes) -> bool:
    """Whether the command line of a process begins with `tag` as a word of its own."""
    return read_small(f"/proc/{pid}/cmdline").startswith(tag + b"\0")


def family(first: int) -> list[int]:
    """A process and everything below it. Orphans belong to the first process of their namespace."""
    found, todo = [], [first]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children(pid)
    return found


def is_over(pid: int) -> bool:
    """Whether it has ended: gone, or waiting to be reaped."""
    state = read_small(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return not state or state[0] in (b"Z", b"X")


def of_account(uid: int) -> int:
    """How many processes and threads an account has; that is what the kernel bounds."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                about = os.stat(f"/proc/{name}/task")
            except OSError:
                continue
            if about.st_uid == uid:
                count += about.st_nlink - 2
    return count


def number_after(text: bytes, key: bytes) -> int | None:
    """The integer that follows `key`; None where there is no key."""
    at = text.find(key)
    if at < 0:
        return None
    rest = text[at + len(key) :].lstrip(b' ":\t')
    digits = rest[: len(rest) - len(rest.lstrip(b"0123456789"))]
    return int(digits) if digits else None


def written(pids: list[int]) -> int:
    """Bytes for the disk. A process holds the account of the children it has waited for, too."""
    return sum(number_after(read_small(f"/proc/{pid}/io"), b"\nwrite_bytes") or 0 for pid in pids)


def cpu(pids: list[int]) -> float:
    """Seconds of processor that they took, and the children that they have waited for."""
    ticks = 0
    for pid in pids:
        fields = read_small(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # user and system, its own and its children's
    return ticks / TICKS


def threads(pids: list[int]) -> int:
    """How many threads they have together: the kernel bounds those."""
    count = 0
    for pid in pids:
        try:
            count += os.stat(f"/proc/{pid}/task").st_nlink - 2
        except OSError:
            continue
    return count


def open_files(pid: int) -> int:
    """How many descriptors it has open."""
    try:
        size = os.stat(f"/proc/{pid}/fd").st_size  # from Linux 6.2 on it is their number
        return size or len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def resident(pids: list[int]) -> int:
    """Bytes in memory, cheaply: what several share counts for each of them."""
    fields = (read_small(f"/proc/{pid}/statm").split()[1:2] for pid in pids)
    return sum(int(pages[0]) for pages in fields if pages) * PAGE


def shares(pids: list[int]) -> int:
    """Bytes in memory: what several share is divided between them. Slow."""
    rollups = (read_small(f"/proc/{pid}/smaps_rollup") for pid in pids)
    return sum(number_after(text, b"\nPss") or 0 for text in rollups) << 10
