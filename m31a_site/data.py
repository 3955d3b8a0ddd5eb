"""The data folder: where it is, how it is made, and the keys in it."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

FOLDERS = ("keys", "blobs", "hints", "runs", "static", "tmp")


class DataFolderError(Exception):
    """The data folder cannot be used. The text says why and what to do."""


def exists(folder: Path) -> bool:
    """Whether a data folder was made here before."""
    return (folder / "keys" / "secret").is_file()


def prepare(folder: Path) -> None:
    """Make the data folder (0700) and its secret key (0600), or leave both as they are.

    Raises `DataFolderError` where that is not possible.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(0o700)
        for name in FOLDERS:
            (folder / name).mkdir(mode=0o700, exist_ok=True)
        _make_key(folder / "keys" / "secret")
        probe = folder / "tmp" / f"probe-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise DataFolderError(
            f"The data folder {folder} cannot be written: {error.strerror}. "
            "Make it writable, or name another one in M31A_DATA_DIR."
        ) from error


def _make_key(path: Path) -> None:
    """Create the key in one step: a second process that comes at the same time keeps the first's."""
    if path.exists():
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(64))
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileExistsError):
        os.link(temporary, path)
    temporary.unlink()


def secret_key(folder: Path) -> str:
    """The site's secret key. Without a data folder a random one, which signs nothing that lasts."""
    try:
        return (folder / "keys" / "secret").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return secrets.token_urlsafe(64)
    except OSError as error:
        raise DataFolderError(
            f"The key {folder}/keys/secret cannot be read: {error.strerror}. "
            "Run as the account that made the data folder, or set M31A_DATA_DIR."
        ) from error
