"""Path lists of rules, read as git reads `.gitignore`: the last line that fits decides, `!`
takes out, a slash at the beginning or in the middle means "from the worktree's root".

Two additions: `//` begins an absolute path, and whatever a line fits it also fits below.
`careful` readings serve rules that refuse or ask: letter case means nothing and doubts count as
fits. The other readings serve rules that permit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from .patterns import char_class

MAX_LINE = 512
_WILD = re.compile(r"[*?\[\]{}]")


class BadPattern(ValueError):
    """A line that git would not read as its writer meant it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, taken apart. `segments` are its names; `**` stands alone in one. `expression`
    is the regular expression of the whole path, without what may lie below it."""

    negated: bool
    absolute: bool
    anchored: bool
    directory: bool
    segments: tuple[str, ...]
    expression: str


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
    source = _expression(segments if anchored else ("**", *segments))
    if absolute:
        source = "/" + source
    elif not anchored:
        source = "/?" + source
    return Line(negated, absolute, anchored, directory, segments, source)


def _expression(segments: tuple[str, ...]) -> str:
    """Names in a row. What stands between two `**` is taken where it fits first: trying further
    places could not help, and hostile paths would make it slow."""
    names = [one for i, one in enumerate(segments) if one != "**" or segments[i - 1 : i] != ("**",)]
    below = names[-1] == "**"
    if below:
        names.pop()
    rows: list[list[str]] = [[]]
    for name in names:
        if name == "**":
            rows.append([])
        else:
            rows[-1].append(_segment(name))
    first, *others = ["/".join(row) for row in rows]
    parts = [first]
    for index, row in enumerate(others):
        if row:
            slash = "/" if parts[-1] and index == 0 else ""
            last = index == len(others) - 1
            found = rf"(?:[^/]+/)*?{row}/"
            parts.append(slash + (rf"(?:.*/)?{row}" if last else rf"(?>{found})"))
    text = "".join(parts)
    return (rf"{text}/.+" if text else ".+") if below else (text or ".+")


def _segment(segment: str) -> str:
    """One name. As above, what stands between two stars is taken where it fits first."""
    pieces: list[str] = [""]
    index = 0
    while index < len(segment):
        char = segment[index]
        if char == "\\":
            index += 1
            if index == len(segment):
                raise BadPattern("a backslash at the end stands for nothing")
            pieces[-1] += re.escape(segment[index])
        elif char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "[":
            end = segment.find("]", index + 2)
            if end < 0:
                raise BadPattern("a bracket is not closed")
            pieces[-1] += char_class(segment[index + 1 : end])
            index = end
        else:
            pieces[-1] += re.escape(char)
        index += 1
    first, *middle = pieces
    last = middle.pop() if middle else None
    found = "".join(rf"(?>[^/]*?{piece})" for piece in middle if piece)
    return first + found + ("" if last is None else rf"[^/]*{last}")


def covers(
    lines: tuple[str, ...],
    path: str,
    *,
    careful: bool,
    is_directory: bool,
    absolute: bool = False,
) -> bool:
    """Whether the list speaks about `path`: relative to the worktree, or absolute.

    With `absolute` only lines that begin with `//` count.
    """
    outside = path.startswith("/")
    if (absolute or outside) and not _concerned(lines, absolute):
        return False
    whole = _whole(lines, careful, is_directory, outside, absolute)
    if whole is None or whole.fullmatch(path) is None:
        return False
    return not _excepts(lines) or _decided(lines, path, careful, is_directory, absolute)


def _decided(
    lines: tuple[str, ...], path: str, careful: bool, is_directory: bool, absolute: bool
) -> bool:
    """The whole of git's reading, from the top: of each directory the last line that fits."""
    outside = path.startswith("/")
    root = "/" if outside else ""
    names = path.strip("/").split("/")
    for count in range(1, len(names) + 1):
        prefix = root + "/".join(names[:count])
        for line in reversed(lines):
            exact = _exactly(line, careful, is_directory or count < len(names), outside, absolute)
            if exact is not None and exact.fullmatch(prefix):
                if not parse(line).negated:
                    return True
                break
    return False


@lru_cache(maxsize=2048)
def has_absolute(lines: tuple[str, ...]) -> bool:
    """Whether any line is about an absolute path."""
    return any(parse(line).absolute for line in lines)


@lru_cache(maxsize=2048)
def _excepts(lines: tuple[str, ...]) -> bool:
    return any(parse(line).negated for line in lines)


@lru_cache(maxsize=2048)
def _concerned(lines: tuple[str, ...], absolute: bool) -> bool:
    """Whether the list could speak about absolute paths at all."""
    parsed = map(parse, lines)
    return any(line.absolute or not (line.anchored or absolute) for line in parsed)


@lru_cache(maxsize=8192)
def _whole(
    lines: tuple[str, ...], careful: bool, is_directory: bool, outside: bool, absolute: bool
) -> re.Pattern[str] | None:
    """All lines of a list but its exceptions as one expression, with all that lies below."""
    parts = []
    for line in map(parse, lines):
        if _applies(line, outside, absolute) and not line.negated:
            below = "/.*" if line.directory and not is_directory else "(?:/.*)?"
            parts.append(f"(?:{line.expression}){below}")
    flags = re.DOTALL | (re.IGNORECASE if careful else 0)
    return re.compile("|".join(parts), flags) if parts else None


@lru_cache(maxsize=8192)
def _exactly(
    text: str, careful: bool, is_directory: bool, outside: bool, absolute: bool
) -> re.Pattern[str] | None:
    line = parse(text)
    if not _applies(line, outside, absolute) or (line.directory and not is_directory):
        return None
    fold = careful is not line.negated
    return re.compile(line.expression, re.DOTALL | (re.IGNORECASE if fold else 0))


def _applies(line: Line, outside: bool, absolute: bool) -> bool:
    if absolute or (outside and line.anchored):
        return line.absolute
    return not line.absolute or outside


def may_cover_below(lines: tuple[str, ...], directory: str) -> bool:
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


def may_meet(lines: tuple[str, ...], wild: str, *, deep: bool) -> bool:
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
