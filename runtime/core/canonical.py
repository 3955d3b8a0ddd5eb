"""Canonical JSON: one byte sequence for one value.

RFC 8785 for the subset that the journal admits: no floats, integers within 53 bits,
ASCII string keys, no lone surrogates. Inside it a sorting encoder and RFC 8785 agree.
"""

from __future__ import annotations

from typing import Any

import orjson

MAX_INTEGER = 2**53 - 1
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER


class NotCanonical(ValueError):
    """The value lies outside the subset; the message names the place."""


def check(value: Any, where: str = "$") -> None:
    """Raise `NotCanonical` unless every part of `value` belongs to the subset."""
    try:
        _check(value, where)
    except RecursionError:
        raise NotCanonical(f"{where}: it is nested too deeply") from None


def _check(value: Any, where: str) -> None:
    kind = type(value)
    if kind is str:
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise NotCanonical(f"{where}: lone surrogate in a string") from None
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                raise NotCanonical(f"{where}: key {key!r} is not an ASCII string")
            _check(item, f"{where}.{key}")
    elif kind is list or kind is tuple:
        for index, item in enumerate(value):
            _check(item, f"{where}[{index}]")
    elif kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise NotCanonical(f"{where}: {value} needs more than 53 bits")
    elif kind is not bool and value is not None:
        raise NotCanonical(f"{where}: {kind.__name__} is not admitted")


def encode(value: Any) -> bytes:
    """Canonical UTF-8 bytes of `value`. Raises `NotCanonical`."""
    check(value)
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except orjson.JSONEncodeError as error:
        raise NotCanonical(f"$: {error}") from None


def text(value: Any) -> str:
    """Canonical JSON as text. Raises `NotCanonical`."""
    return encode(value).decode()


def decode(data: bytes | str) -> Any:
    """Parse JSON text. Raises `ValueError` where it is none."""
    return orjson.loads(data)
