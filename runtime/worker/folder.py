"""The lock on a data folder: one supervisor at a time, and where that one serves."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from pathlib import Path

from runtime.core.errors import Unavailable

log = logging.getLogger(__name__)
_LOOKS_SECONDS = 0.2
"""Longer than anybody holds it who only looks where the site is served."""


def lock(folder: Path) -> int:
    """Hold the folder until this process ends; the descriptor is the hold.

    Raises `Unavailable`, saying who holds it. The kernel frees it when the holder dies.
    """
    path = _path(folder)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _hold(descriptor)
    except BlockingIOError as error:
        holder = os.read(descriptor, 200).decode("utf-8", "replace").strip().partition("\n")[0]
        os.close(descriptor)
        raise Unavailable(
            f"The data folder {folder} is in use by {holder or 'another process'}.",
            remedy="Stop that one first, or set M31A_DATA_DIR to another folder.",
        ) from error
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"m31a up, process {os.getpid()}\n".encode())
    return descriptor


def _hold(descriptor: int) -> None:
    """Lock it. Raises `BlockingIOError` where it stays locked."""
    until = time.monotonic() + _LOOKS_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def serves(folder: Path, url: str) -> None:
    """Note where the holder of the lock serves the site; without it, links have the address of the
    settings."""
    try:
        with open(_path(folder), "a", encoding="utf-8") as file:
            file.write(f"{url}\n")
    except OSError as error:
        log.warning("Where the site is served could not be noted: %s", error)


def served_at(folder: Path) -> str:
    """Where the supervisor that holds the folder serves the site; "" where there is none."""
    try:
        descriptor = os.open(_path(folder), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        lines = os.read(descriptor, 1000).decode("utf-8", "replace").splitlines()
        return lines[1] if len(lines) > 1 else ""
    finally:
        os.close(descriptor)
    return ""


def _path(folder: Path) -> Path:
    return folder / "m31a.lock"
