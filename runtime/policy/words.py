"""Words of a command line as the shell reader hands them on."""

from __future__ import annotations

UNREAD = "\ufffc"
"""Stands for a word, or a part of one, that could not be read."""


class Wild(str):
    """A word with wildcards that the shell will expand: it may become any path that fits."""

    __slots__ = ()


def listed(text: str) -> tuple[str, ...]:
    """The words of a table that is written as text."""
    return tuple(text.split())
