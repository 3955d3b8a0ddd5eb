"""The fields of a rule: how each is written, and what is no value of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time
from typing import Any

from runtime.core import actions
from runtime.workflow import roles

from .. import addresses, arguments, gitignore, windows
from ..context import MODES
from ..decision import Decision
from ..reading import Verb
from ..rules import EVERY

TOOLS = (*actions.KINDS, "network", EVERY)
MAX_ITEMS = 64
MAX_WORD = 512
MAX_REASON = 400
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,79}")
_PROGRAM = re.compile(r"[^\s/]+")

Reader = Callable[[Any], Any]
"""From a TOML value to that of the rule. Raises `ValueError` with what is wrong."""


def _id(value: Any) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError("an id is 1 to 80 letters, digits and . _ / -, and begins with a letter")
    return value


def _decision(value: Any) -> Decision:
    return Decision(_chosen(value, [str(one) for one in Decision]))


def _reason(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_REASON or not value.isprintable():
        raise ValueError(f"a reason is one line of 1 to {MAX_REASON} characters")
    return value


def _chosen(value: Any, known: Iterable[str]) -> str:
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{_shown(value)} is none of {', '.join(names)}")
    return value


def _items(value: Any, *, none: bool = False) -> list[Any]:
    items = value if isinstance(value, list) else [value]
    if not (items or none) or len(items) > MAX_ITEMS:
        raise ValueError(f"give one to {MAX_ITEMS} of them")
    return items


def _word(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_WORD or "\0" in value:
        raise ValueError(f"{_shown(value)} is no text of 1 to {MAX_WORD} characters")
    return value


def _each(one: Callable[[str], object]) -> Reader:
    """A text or a list of texts, each of which `one` accepts."""

    def read(value: Any) -> tuple[str, ...]:
        words = tuple(_word(item) for item in _items(value))
        for word in words:
            one(word)
        return words

    return read


def _of(known: Iterable[str]) -> Reader:
    names = list(known)
    return lambda value: tuple(_chosen(item, names) for item in _items(value))


def _program(word: str) -> None:
    if not _PROGRAM.fullmatch(word):
        raise ValueError(f"{_shown(word)} is no program's name: write it without a folder")


def _argv(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError('write a list of words, such as ["install", "-r"]')
    return tuple(_word(item) for item in _items(value))


def _at(value: Any) -> tuple[tuple[int, tuple[str, ...]], ...]:
    if not isinstance(value, dict) or not 0 < len(value) <= MAX_ITEMS:
        raise ValueError('write a table, such as { 1 = "push", -1 = ["main", "master"] }')
    places = []
    for key, words in value.items():
        if not re.fullmatch(r"-?[1-9]\d{0,2}", key):
            raise ValueError(f"{_shown(key)} is no place: 1 is the first argument, -1 the last")
        places.append((int(key), tuple(_word(item) for item in _items(words))))
    return tuple(sorted(places))


def _only(value: Any) -> tuple[str, ...]:
    words = tuple(_word(item) for item in _items(value, none=True))
    for word in words:
        arguments.parse_flag(word)
    return words


def _verbs(value: Any) -> tuple[Verb, ...]:
    return tuple(Verb(_chosen(item, [str(one) for one in Verb])) for item in _items(value))


def moment(value: Any) -> datetime:
    """A TOML time with an offset. Raises `ValueError`."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ValueError("write a time with its offset, such as 2030-12-31T18:00:00Z")
    return value.astimezone(UTC)


def _expires(value: Any) -> datetime:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time.max, UTC)
    if not isinstance(value, datetime):
        raise ValueError("write a date, or a time with its offset, such as 2030-12-31")
    return moment(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


FIELDS: dict[str, Reader] = {
    "id": _id,
    "decision": _decision,
    "reason": _reason,
    "tool": _of(TOOLS),
    "program": _each(_program),
    "argv": _argv,
    "at": _at,
    "flags": _each(arguments.parse_flag),
    "no_flags": _each(arguments.parse_flag),
    "only_flags": _only,
    "path": _each(gitignore.parse),
    "verbs": _verbs,
    "host": _each(addresses.check),
    "role": _of(roles.ROLES),
    "mode": _of(MODES),
    "kind": _of(roles.KINDS),
    "time": _each(windows.parse),
    "expires": _expires,
}
"""Every field but the examples."""
