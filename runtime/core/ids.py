"""Identifiers: ULIDs in lower case, so that they sort by time and copy in one click."""

from __future__ import annotations

import re
from datetime import datetime

from ulid import ULID

SYSTEM_RUN = "system"
_ULID = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}")


def make(at: datetime, noise: bytes) -> str:
    """The ULID of a moment (UTC) and ten random bytes."""
    milliseconds = int(at.timestamp() * 1000)
    return str(ULID.from_bytes(milliseconds.to_bytes(6, "big") + noise)).lower()


def is_id(text: str) -> bool:
    """Whether `text` has the form of an identifier of this product."""
    return _ULID.fullmatch(text) is not None
