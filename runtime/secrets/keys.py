"""Keys of the site that never lie in the database: files of the data folder, mode 0600."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from django.conf import settings


def key(name: str, make: Callable[[], bytes]) -> bytes:
    """The key of this name; made on first use. Two processes that come at once agree on one."""
    path: Path = settings.M31A.DATA_DIR / "keys" / name
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    temporary = path.with_name(f".{name}.{secrets.token_hex(6)}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(make())
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileExistsError):
        os.link(temporary, path)
    temporary.unlink()
    return path.read_bytes()
