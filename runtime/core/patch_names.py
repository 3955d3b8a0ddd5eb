"""Which file a section of a patch is about: several lines name it, and must agree. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

_QUOTED = re.compile(r'\\([abfnrtv"\\]|[0-7]{3})')
_ESCAPES = {
    "a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92,
}  # fmt: skip
_NOTHING = "/dev/null"


class InvalidPatch(ValueError):
    """The text is no patch that could be applied. It says where and why, for the model."""


def refuse(line: int, why: str) -> NoReturn:
    """Raise `InvalidPatch` for a line of the patch."""
    raise InvalidPatch(f"Line {line} of the patch: {why}.")


@dataclass(slots=True)
class Header:
    """What the lines before the hunks say: `git` is what follows `diff --git`."""

    line: int
    git: str | None = None
    old: str | None = None
    new: str | None = None
    renamed: list[str] = field(default_factory=list)
    created: bool = False
    deleted: bool = False
    executable: bool | None = None
    marks: int = 0
    """How many of `---` and `+++` were read."""


def named(head: Header) -> tuple[str | None, str | None]:
    """Old and new path. All places that name them must say the same."""
    if head.renamed and len(head.renamed) != 2:
        refuse(head.line, "`rename from` and `rename to` come together")
    marked = _stripped(head) if head.marks else None
    if head.git is None:
        assert marked is not None
        names: tuple[str | None, str | None] = marked
    elif head.renamed:
        names = (head.renamed[0], head.renamed[1])
        if names[0] == names[1]:
            refuse(head.line, "the file is renamed to the name it has")
    elif marked is not None:
        names = marked
    else:
        path = _of_git_line(head)
        names = (None if head.created else path, None if head.deleted else path)
    if marked is not None and marked != names:
        refuse(head.line, "the names of `---` and `+++` are not those of the rename")
    if None not in names and names[0] != names[1] and not head.renamed:
        refuse(head.line, "old and new name differ, and it is no rename")
    if "" in names or names == (None, None):
        refuse(head.line, "the file has no name")
    _check_git_line(head, names)
    return names


def _stripped(head: Header) -> tuple[str | None, str | None]:
    """The names without the `a/` and `b/` that git puts before them."""
    old = None if head.old == _NOTHING else head.old
    new = None if head.new == _NOTHING else head.new
    has_a = old is None or old.startswith("a/")
    has_b = new is None or new.startswith("b/")
    if has_a and has_b:
        return (old and old[2:]), (new and new[2:])
    if (old or "").startswith("a/") or (new or "").startswith("b/"):
        refuse(head.line, "only one of the names has git's prefix: write `a/PATH` and `b/PATH`")
    return old, new


def _of_git_line(head: Header) -> str:
    """The one path of `diff --git a/PATH b/PATH`."""
    rest = head.git or ""
    if rest.startswith('"'):
        middle = rest.find('" "')
        first, second = rest[: middle + 1], rest[middle + 2 :]
        first, second = unquoted(first, head.line), unquoted(second, head.line)
    else:
        half = len(rest) // 2
        first, second = rest[:half], rest[half + 1 :]
    if not (first.startswith("a/") and second.startswith("b/") and first[2:] == second[2:]):
        refuse(head.line, "`diff --git a/PATH b/PATH` must name one path, or a rename follow it")
    return first[2:]


def _check_git_line(head: Header, names: tuple[str | None, str | None]) -> None:
    """`diff --git` says the same as the rest, as far as it can be read."""
    if head.git is None or '"' in head.git:
        return
    old, new = names[0] or names[1], names[1] or names[0]
    if head.git not in (f"a/{old} b/{new}", f"{old} {new}"):
        refuse(head.line, "`diff --git` names other files than the lines below it")


def name_of(text: str, line: int) -> str:
    """The name of a line `---` or `+++`. A tab ends it: a time may follow."""
    name = unquoted(text.partition("\t")[0] if not text.startswith('"') else text, line)
    if not name:
        refuse(line, "a name is empty")
    return name


def unquoted(text: str, line: int) -> str:
    """A name as git quotes it where it holds unusual bytes."""
    if not text.startswith('"'):
        return text
    text = text.rstrip("\t")
    inner = text[1:-1]
    if len(text) < 2 or not text.endswith('"') or '"' in _QUOTED.sub("", inner):
        refuse(line, "a quoted name does not end")
    if "\\" in _QUOTED.sub("", inner):
        refuse(line, "a quoted name holds an unknown escape")
    raw = b"".join(_bytes(part) for part in re.split(r'(\\(?:[abfnrtv"\\]|[0-7]{3}))', inner))
    try:
        return raw.decode()
    except UnicodeDecodeError:
        refuse(line, "a name is not UTF-8")


def _bytes(part: str) -> bytes:
    found = _QUOTED.fullmatch(part)
    if found is None:
        return part.encode()
    code = found[1]
    return bytes([_ESCAPES[code] if code in _ESCAPES else int(code, 8) & 0xFF])
