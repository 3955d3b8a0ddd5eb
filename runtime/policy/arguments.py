"""What rules say about arguments: words in their places, and flags however they are spelled.

Every question has two readings. `possibly` serves rules that refuse or ask: an option in
between, a cluster, an abbreviation or a word that could not be read must be no way around
them. `surely` serves rules that permit, and what a rule excepts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

from . import programs
from .programs.model import Program, Value
from .words import UNREAD, Wild

Args = tuple[str, ...]
_FLAG = re.compile(r"(--?[A-Za-z0-9?][A-Za-z0-9._-]*)(?:=(.+))?", re.DOTALL)
_SHORTEST = 4
"""Characters of the shortest abbreviation of a long option that is reckoned with."""


class Flag(NamedTuple):
    """`--name`, or `--name=VALUE` with a pattern for its value."""

    name: str
    value: str | None

    @property
    def long(self) -> bool:
        """Whether it is spelled with two dashes."""
        return self.name.startswith("--")


@lru_cache(maxsize=1024)
def parse_flag(text: str) -> Flag:
    """Read a flag of a rule. Raises `ValueError`."""
    found = _FLAG.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no flag: write -x, --name, or --name=VALUE")
    return Flag(found.group(1), found.group(2))


def word_fits(pattern: str, word: str) -> bool:
    """Whether a word is what a pattern with `*`, `?` and `[…]` says."""
    return _word(pattern).match(word) is not None


@lru_cache(maxsize=4096)
def _word(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def word_may_fit(pattern: str, word: str) -> bool:
    """The careful reading: an unread word may be anything, one with wildcards what they reach."""
    if UNREAD in word:
        return True
    return word_fits(pattern, word) or (isinstance(word, Wild) and word_fits(word, pattern))


# Words in their places


def begins_with(args: Args, wanted: Sequence[str]) -> bool:
    """Whether the arguments are exactly these at first."""
    return len(args) >= len(wanted) and all(
        _plain(word) and word_fits(pattern, word)
        for pattern, word in zip(wanted, args, strict=False)
    )


def may_begin_with(args: Args, wanted: Sequence[str]) -> bool:
    """Whether they may mean these at first: options may stand before or between the words."""
    if len(args) >= len(wanted) and all(map(word_may_fit, wanted, args)):
        return True
    words = [word for word in wanted if not word.startswith("-")]
    flags = [word for word in wanted if word.startswith("-")]
    if not all(_flag_word(flag, args) for flag in flags):
        return False
    found = _operands(args)
    place = 0
    for index, pattern in enumerate(words):
        while place < len(found):
            word, least, most = found[place]
            place += 1
            if least <= index <= most and word_may_fit(pattern, word):
                break
        else:
            return False
    return True


def _flag_word(word: str, args: Args) -> bool:
    if word in args:
        return True
    try:
        return possibly(parse_flag(word), args)
    except ValueError:
        return False


def stands_at(args: Args, place: int, patterns: Sequence[str]) -> bool:
    """Whether the word at a place (1 the first, -1 the last) fits one of the patterns."""
    index = place - 1 if place > 0 else len(args) + place
    if not 0 <= index < len(args):
        return False
    return _plain(args[index]) and any(word_fits(one, args[index]) for one in patterns)


def may_stand_at(args: Args, place: int, patterns: Sequence[str]) -> bool:
    """The same, with or without counting options and what may be their values."""
    index = place - 1 if place > 0 else len(args) + place
    candidates = [args[index]] if 0 <= index < len(args) else []
    found = _operands(args)
    if place > 0:
        candidates += [word for word, least, most in found if least <= place - 1 <= most]
    elif -place <= len(found):
        candidates += [word for word, _, _ in found[place:]]
    return any(word_may_fit(one, word) for one in patterns for word in candidates)


def _operands(args: Args) -> list[tuple[str, int, int]]:
    """Words that may be operands, each with the least and the greatest number that it may have:
    an option may or may not take the word behind it for its value."""
    found: list[tuple[str, int, int]] = []
    least = most = 0
    option = only_words = False
    for word in args:
        if only_words or word == "-" or not word.startswith("-"):
            found.append((word, least, most))
            most += 1
            least += not option
            option = False
        elif word == "--":
            only_words, option = True, False
        else:
            option = "=" not in word
    return found


# Flags


def possibly(flag: Flag, args: Args) -> bool:
    """Whether the flag may be among the arguments."""
    return any(
        _may_be(flag, word, args[index + 1] if index + 1 < len(args) else None)
        for index, word in enumerate(args)
    )


def _may_be(flag: Flag, word: str, after: str | None) -> bool:
    if word.startswith(UNREAD):
        return True
    if isinstance(word, Wild) and word_fits(word, flag.name):
        return True
    if not word.startswith("-"):
        return False
    if UNREAD in word or isinstance(word, Wild):
        return True
    head, equals, value = word.partition("=")
    if head == flag.name or (flag.long and len(head) >= _SHORTEST and flag.name.startswith(head)):
        return _value_may_fit(flag, value if equals else after)
    if not flag.long and len(flag.name) == 2 and not word.startswith("--"):
        for index in range(1, len(word)):
            if word[index] == flag.name[1]:
                attached = word[index + 1 :].removeprefix("=")
                if _value_may_fit(flag, attached or after):
                    return True
    return False


def _value_may_fit(flag: Flag, value: str | None) -> bool:
    return flag.value is None or (value is not None and word_may_fit(flag.value, value))


def surely(flag: Flag, program: str, args: Args) -> bool:
    """Whether the flag is there, in its own spelling, and not as the value of another one."""
    if any(not _plain(word) for word in args):
        return False
    before: str | None = None
    for index, word in enumerate(args):
        if word == "--":
            return False
        eaten = before is not None and _may_take(program, args, before)
        head, equals, value = word.partition("=")
        if head == flag.name and not eaten:
            after = args[index + 1] if index + 1 < len(args) else None
            given = value if equals else after
            if flag.value is None or (given is not None and word_fits(flag.value, given)):
                return True
        before = None if eaten else word
    return False


def only(flags: Sequence[Flag], args: Args) -> bool:
    """Whether every option among the arguments is one of these."""
    letters = {flag.name[1] for flag in flags if len(flag.name) == 2 and flag.value is None}
    return all(
        _plain(word) and (word == "-" or not word.startswith("-") or _listed(flags, letters, word))
        for word in args
    )


def _listed(flags: Sequence[Flag], letters: set[str], word: str) -> bool:
    head, equals, value = word.partition("=")
    for flag in flags:
        if head == flag.name and (
            flag.value is None or (bool(equals) and word_fits(flag.value, value))
        ):
            return True
    return word == "--" or (not word.startswith("--") and letters.issuperset(word[1:]))


def _may_take(program: str, args: Args, option: str) -> bool:
    """Whether the word behind an option may be its value."""
    if not option.startswith("-") or option == "-" or "=" in option:
        return False
    table = programs.find(program)
    return table is None or not any(
        option in one.names and one.value is not Value.NEEDED
        for part in _tables(table, args)
        for one in part.options
    )


def _tables(table: Program, args: Args) -> list[Program]:
    chosen = next((table.subcommands[word] for word in args if word in table.subcommands), None)
    return [table] if chosen is None else [table, chosen]


def _plain(word: str) -> bool:
    return UNREAD not in word and not isinstance(word, Wild)
