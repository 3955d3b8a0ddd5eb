"""From a payload to what is written: redacted, bounded, canonical. Done before any transaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from runtime import blobs
from runtime.core import canonical
from runtime.secrets import redactor

from .chain import Draft
from .kind import MAX_PAYLOAD, Payload


class PayloadTooLarge(ValueError):
    """An event's payload is over the bound even with its bulky fields moved out."""


def draft(payload: Payload) -> Draft:
    """The event that a payload makes. Bulky fields move to artifacts, largest first."""
    given = redactor().value(payload.given())
    text = canonical.text(given)
    if len(text.encode()) > MAX_PAYLOAD:
        given = dict(given)
        text = _shrink(payload, given)
    return Draft(payload.type, payload.v, text, given)


def _shrink(payload: Payload, given: dict[str, Any]) -> str:
    """Move fields out of `given`, in place, until its text fits."""
    sizes = {name: canonical.encode(given[name]) for name in payload.bulky if name in given}
    for name in sorted(sizes, key=lambda name: -len(sizes[name])):
        value = given[name]
        data = value.encode() if isinstance(value, str) else sizes[name]
        given[name] = {"artifact": blobs.put(data), "size": len(data)}
        text = canonical.text(given)
        if len(text.encode()) <= MAX_PAYLOAD:
            return text
    raise PayloadTooLarge(f"{payload.type}: over {MAX_PAYLOAD} bytes, and nothing left to move out")


def moved(payload: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Fields of a stored payload that lie in artifacts: name, SHA-256, bytes."""
    return [
        (name, value["artifact"], value["size"])
        for name, value in payload.items()
        if isinstance(value, dict) and value.keys() == {"artifact", "size"}
    ]


def whole(
    payload: dict[str, Any], kind: type[Payload] | None, only: Collection[str] | None = None
) -> dict[str, Any]:
    """The payload with its moved fields (or `only` some) brought back.

    Raises `Unavailable` where bytes are missing.
    """
    result = dict(payload)
    for name, digest, _ in moved(payload):
        if only is not None and name not in only:
            continue
        data = blobs.get(digest)
        plain = kind is not None and _is_text(kind, name)
        result[name] = data.decode() if plain else canonical.decode(data)
    return result


def _is_text(kind: type[Payload], name: str) -> bool:
    field = kind.model_fields.get(name)
    return field is not None and field.annotation in (str, str | None)
