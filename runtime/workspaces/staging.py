"""Files that are about to be put in place: written and synced in a directory of the server's own,
on the worktree's file system."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """A descriptor of the directory, made if it is missing. What is left in it goes at the end:
    one edit at a time uses it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield fd
    finally:
        with suppress(OSError):
            for name in os.listdir(fd):
                os.unlink(name, dir_fd=fd)
        os.close(fd)


def write(stage: int, data: bytes | None, mode: int, uid: int | None) -> str:
    """A new file with this content, durable; its temporary name in the directory `stage`."""
    name = secrets.token_hex(8)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=stage), "wb") as file:
        file.write(data or b"")
        file.flush()
        if uid is not None:
            os.fchown(file.fileno(), uid, uid)
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
    return name
