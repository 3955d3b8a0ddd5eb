"""Content-addressed files: written to a temporary name, synced, renamed, the folder synced.

A name therefore never exists with wrong bytes, and what is read is checked against its name.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from django.conf import settings

from runtime import faults
from runtime.core.digests import sha256
from runtime.core.errors import BadInput, Unavailable

MAX_BLOB = 64 << 20
"""Bytes that one blob may have."""


class BlobMissing(Unavailable):
    """No bytes are stored under this name."""


class BlobDamaged(Unavailable):
    """The stored bytes do not have the hash that they are named by."""


def path(digest: str) -> Path:
    """Where the bytes of a digest lie."""
    if len(digest) != 64 or not all(c in "0123456789abcdef" for c in digest):
        raise BadInput(f"{digest!r} is no SHA-256.", remedy="Give 64 lower-case hex digits.")
    folder: Path = settings.M31A.DATA_DIR / "blobs" / digest[:2]
    return folder / digest


def put(data: bytes) -> str:
    """Store bytes durably and return their SHA-256. The same bytes are stored once."""
    if len(data) > MAX_BLOB:
        raise BadInput(
            f"An artifact of {len(data)} bytes is over the bound of {MAX_BLOB} bytes.",
            remedy="Store less.",
        )
    digest = sha256(data)
    target = path(digest)
    if _holds(target, data):
        os.utime(target)  # young again, so that it is not collected before it is referred to
        return digest
    if not target.parent.is_dir():
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sync(target.parent.parent)
    handle, temporary = tempfile.mkstemp(prefix=".new-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data[: len(data) // 2])
            faults.hit("blob.before_fsync")
            file.write(data[len(data) // 2 :])
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync(target.parent)
    faults.hit("blob.after_rename")
    return digest


def _holds(target: Path, data: bytes) -> bool:
    """Whether the file has these bytes. One that was damaged is written anew."""
    try:
        return target.stat().st_size == len(data) and target.read_bytes() == data
    except FileNotFoundError:
        return False


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def exists(digest: str) -> bool:
    """Whether bytes are stored under this name. They are not read."""
    return path(digest).is_file()


def get(digest: str) -> bytes:
    """The bytes of a digest. Raises `BlobMissing`, or `BlobDamaged` naming it."""
    try:
        data = path(digest).read_bytes()
    except FileNotFoundError:
        raise BlobMissing(f"The bytes of {digest} are not stored here.") from None
    if sha256(data) != digest:
        raise BlobDamaged(
            f"The stored bytes of {digest} were changed on disk.",
            remedy="Restore the file from a backup; the record names what it should be.",
        )
    return data
