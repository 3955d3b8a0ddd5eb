"""The lock on a data folder: one supervisor at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from runtime.core.errors import Unavailable


def lock(folder: Path) -> int:
    """Hold the folder until this process ends; the descriptor is the hold.

    Raises `Unavailable`, saying who holds it. The kernel frees it when the holder dies.
    """
    path = folder / "m31a.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 200).decode("utf-8", "replace").strip()
        os.close(descriptor)
        raise Unavailable(
            f"The data folder {folder} is in use by {holder or 'another process'}.",
            remedy="Stop that one first, or set M31A_DATA_DIR to another folder.",
        ) from error
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"m31a up, process {os.getpid()}\n".encode())
    return descriptor
