"""Payloads of earlier versions, read as if they had been written today.

The journal keeps what was written: its bytes, and the hash over them, never change. Whoever folds
or shows an event gets the newest form of its payload, step by step from the version it has.
"""

from __future__ import annotations

from typing import Any

from .kind import Payload
from .kinds import REGISTRY


class Unreadable(ValueError):
    """A payload of a version that this release does not know, or that no step can take."""


def newest(type_: str, v: int, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Version and payload as this release writes them. A type that is not known stays as it is.

    Raises `Unreadable` for a version that a later release wrote.
    """
    kind = REGISTRY.get(type_)
    return (v, payload) if kind is None else raised(kind, v, payload)


def raised(kind: type[Payload], v: int, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The same for a kind that is known."""
    if v > kind.v:
        raise Unreadable(f"{kind.type}: version {v} is of a later release, which wrote it")
    for version in range(v, kind.v):
        try:
            payload = kind.older[version](payload)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Unreadable(f"{kind.type}: version {v} cannot be read: {error!r}") from error
    return kind.v, payload
