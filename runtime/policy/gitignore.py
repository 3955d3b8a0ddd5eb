"""Path lists of rules, read as git reads `.gitignore`: the last line that fits decides, `!`
takes out, a slash at the beginning or in the middle means "from the worktree's root".

Two additions: `//` begins an absolute path, and whatever a line fits it also fits below.
`careful` readings serve rules that refuse or ask: letter case means nothing and doubts count as
fits. The other readings serve rules that permit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from .patterns import char_class

MAX_LINE = 512
_WILD = re.compile(r"[*?\[\]{}]")


class BadPattern(ValueError):
    """A line that git would not read as its writer meant it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, taken apart. `segments` are its names; `**` stands alone in one."""

    negated: bool
    absolute: bool
    anchored: bool
    directory: bool
    segments: tuple[str, ...]
    exact: re.Pattern[str]
    folded: re.Pattern[str]

    def fits(self, path: str, *, fold: bool, is_directory: bool) -> bool:
        """Whether the line fits exactly this path (not one below it)."""
        if self.directory and not is_directory:
            return False
        pattern = self.folded if fold else self.exact
        return pattern.fullmatch(path) is not None


@lru_cache(maxsize=4096)
def parse(text: str) -> Line:
    """Read one line. Raises `BadPattern`."""
    if not text or len(text) > MAX_LINE or text != text.strip() or "\0" in text:
        raise BadPattern(f"a pattern is 1 to {MAX_LINE} characters without blanks around it")
    if text.startswith("#"):
        raise BadPattern("git takes this for a comment: write \\#")
    negated, body = text.startswith("!"), text.removeprefix("!")
    if body.startswith("~"):
        raise BadPattern("write the absolute path, with // before it, in place of ~")
    absolute = body.startswith("//")
    directory = body.endswith("/")
    anchored = "/" in body.rstrip("/")
    segments = tuple(body.strip("/").split("/"))
    if "" in segments or "." in segments or ".." in segments:
        raise BadPattern("names must not be empty, . or ..: paths are compared after resolution")
    source = _expression(segments, anchored=anchored)
    if absolute:
        source = "/" + source
    exact = re.compile(f"(?s){source}")
    folded = re.compile(f"(?s){source}", re.IGNORECASE)
    return Line(negated, absolute, anchored, directory, segments, exact, folded)


def _expression(segments: tuple[str, ...], *, anchored: bool) -> str:
    parts = [] if anchored else ["(?:.*/)?"]
    last = len(segments) - 1
    for index, segment in enumerate(segments):
        if segment == "**":
            parts.append(".+" if index == last else "(?:.*/)?")
        else:
            parts.append(_segment(segment) + ("" if index == last else "/"))
    return "".join(parts)


def _segment(segment: str) -> str:
    parts: list[str] = []
    index = 0
    while index < len(segment):
        char = segment[index]
        if char == "\\":
            index += 1
            if index == len(segment):
                raise BadPattern("a backslash at the end stands for nothing")
            parts.append(re.escape(segment[index]))
        elif char == "*":
            parts.append("[^/]*")
        elif char == "?":
            parts.append("[^/]")
        elif char == "[":
            end = segment.find("]", index + 2)
            if end < 0:
                raise BadPattern("a bracket is not closed")
            parts.append(char_class(segment[index + 1 : end]))
            index = end
        else:
            parts.append(re.escape(char))
        index += 1
    return "".join(parts)


def covers(
    lines: Iterable[str], path: str, *, careful: bool, is_directory: bool, absolute: bool = False
) -> bool:
    """Whether the list speaks about `path`: relative to the worktree, or absolute.

    With `absolute` only lines that begin with `//` count.
    """
    parsed = [line for line in map(parse, lines) if line.absolute or not absolute]
    root = "/" if path.startswith("/") else ""
    names = path.strip("/").split("/")
    for count in range(1, len(names) + 1):
        prefix = root + "/".join(names[:count])
        above = count < len(names)
        if _last(parsed, prefix, careful=careful, is_directory=above or is_directory):
            return True
    return False


def _last(lines: list[Line], path: str, *, careful: bool, is_directory: bool) -> bool:
    for line in reversed(lines):
        if path.startswith("/") and line.anchored and not line.absolute:
            continue
        fold = careful is not line.negated
        if line.fits(path, fold=fold, is_directory=is_directory):
            return not line.negated
    return False


def may_cover_below(lines: Iterable[str], directory: str) -> bool:
    """Whether the list could speak about something below `directory`; in doubt it could."""
    names = [] if directory in (".", "", "/") else directory.casefold().strip("/").split("/")
    outside = directory.startswith("/")
    for line in map(parse, lines):
        if line.negated:
            continue
        if not line.anchored:
            return True
        if line.absolute is outside and _reaches(line.segments, names, deep=True):
            return True
    return False


def may_meet(lines: Iterable[str], wild: str, *, deep: bool) -> bool:
    """Whether a path with wildcards of a shell could become one about which the list speaks."""
    names = wild.casefold().strip("/").split("/")
    outside = wild.startswith("/")
    for line in map(parse, lines):
        if line.negated:
            continue
        if not line.anchored:
            if deep or any(_alike(line.segments[0], name) for name in names):
                return True
        elif line.absolute is outside and _reaches(line.segments, names, deep=deep):
            return True
    return False


def _reaches(segments: tuple[str, ...], names: list[str], *, deep: bool) -> bool:
    for index, segment in enumerate(segments):
        if segment == "**":
            return True
        if index == len(names):
            return deep
        if names[index] == "**":
            return True
        if not _alike(segment, names[index]):
            return False
    return True


def _alike(pattern: str, other: str) -> bool:
    """Whether one name could fit two patterns: their plain beginnings and ends agree."""
    one, two = pattern.casefold().replace("\\", "*"), other.casefold()
    if "**" in (one, two):
        return True
    if not _WILD.search(one) and not _WILD.search(two):
        return one == two
    heads = sorted((_WILD.split(one)[0], _WILD.split(two)[0]), key=len)
    tails = sorted((_WILD.split(one)[-1], _WILD.split(two)[-1]), key=len)
    return heads[1].startswith(heads[0]) and tails[1].endswith(tails[0])
