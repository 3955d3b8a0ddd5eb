"""Path patterns: `*` and `?` within one name, `**` across names, `[...]` as in a shell.

A pattern without wildcards covers its path and everything below it. One with wildcards and
without a slash fits a name at any depth. A leading slash means an absolute path.
"""

from __future__ import annotations

import re
from functools import lru_cache

WILD = re.compile(r"[*?\[]")


def covers(pattern: str, path: str, *, fold: bool = False) -> bool:
    """Whether `pattern` speaks about `path`; `fold` ignores the letter case."""
    if fold:
        pattern, path = pattern.casefold(), path.casefold()
    return compiled(pattern).fullmatch(path) is not None


def may_cover_below(pattern: str, directory: str) -> bool:
    """Whether something below `directory` could fit `pattern`; in doubt it could."""
    pattern, directory = pattern.casefold(), directory.casefold()
    if directory in ("", "."):
        return not pattern.startswith("/")
    if WILD.search(pattern) and "/" not in pattern.rstrip("/"):
        return True
    fixed = WILD.split(pattern, maxsplit=1)[0]
    whole = fixed == pattern
    below = directory.rstrip("/") + "/"
    if fixed.startswith(below):
        return True
    return below.startswith(fixed.rstrip("/") + "/" if whole else fixed)


def may_be(name: str, entry: str) -> bool:
    """Whether some shell could make `entry` of one `name` with wildcards; in doubt it could. Any
    number of letters stands for a `?`, since some shells count bytes, and for what is between the
    first and the last bracket, unless that is one plain list of characters: shells differ about
    classes, and quotes are not seen here. Letter case is not looked at."""
    if name == entry:
        return True
    whole, plain = _pieces(name)
    entry = entry.casefold()
    if plain is None:
        return _in_order(whole, entry)
    before, letters, after = plain
    return _in_order(whole, entry) or any(
        letter in letters and _in_order(before, entry[:at]) and _in_order(after, entry[at + 1 :])
        for at, letter in enumerate(entry)
    )


def _in_order(pieces: tuple[str, ...], text: str) -> bool:
    """Whether they stand one after the other, the first and the last one at the ends."""
    first, *between = pieces
    if not between:
        return text == first
    last = between.pop()
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in between:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


_LIST = re.compile(r"\[((?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9_.,])+-?)\]")
_Pieces = tuple[str, ...]


@lru_cache(maxsize=1024)
def _pieces(name: str) -> tuple[_Pieces, tuple[_Pieces, frozenset[str], _Pieces] | None]:
    """What is letters in a name with wildcards, folded. Where it has one plain list of characters:
    with the brackets as letters, and before, in and behind them."""
    listed = _LIST.search(name)
    if listed and name.count("[") == name.count("]") == 1:
        before, after = name[: listed.start()], name[listed.end() :]
        return _split(name), (_split(before), _letters(listed[1]), _split(after))
    start, end = name.find("["), name.rfind("]")
    if 0 <= start < end:
        name = f"{name[:start]}*{name[end + 1 :]}"
    return _split(name), None


def _split(name: str) -> _Pieces:
    return tuple(re.split(r"[*?]+", name.casefold()))


def _letters(listed: str) -> frozenset[str]:
    """All that a list of characters names, and what it consists of."""
    found = set(listed)
    for first, last in re.findall(r"(\w)-(\w)", listed):
        found.update(map(chr, range(ord(first), ord(last) + 1)))
    return frozenset("".join(found).casefold())


def may_meet(pattern: str, wild: str) -> bool:
    """Whether a word with wildcards could become a path that `pattern` covers, or one that
    holds such a path; in doubt it could."""
    pattern, wild = pattern.casefold().rstrip("/"), wild.casefold()
    fixed = WILD.split(wild, maxsplit=1)[0]
    base = fixed.rpartition("/")[0]
    if WILD.search(pattern) or covers(pattern, base or "."):
        return may_cover_below(pattern, base) or covers(pattern, base)
    names = pattern.removeprefix("./").split("/")
    prefixes = ["/".join(names[:count]) for count in range(1, len(names) + 1)]
    return any(compiled(wild).fullmatch(prefix) for prefix in prefixes) or covers(
        pattern, wild.rpartition("/")[0]
    )


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern as an expression for `fullmatch`."""
    body = pattern.rstrip("/") or pattern
    if body.startswith("./"):
        body = body[2:]
    if not WILD.search(body):
        if body in (".", "", "/"):
            return re.compile(r"(?s).*")
        return re.compile(rf"(?s){re.escape(body)}(/.*)?")
    anywhere = "" if "/" in body else "(.*/)?"
    return re.compile(rf"(?s){anywhere}{translate(body)}(/.*)?")


@lru_cache(maxsize=64)
def together(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for `fullmatch` in place of several patterns: where there are many paths."""
    bodies = (compiled(pattern).pattern.removeprefix("(?s)") for pattern in patterns)
    return re.compile("|".join(f"(?:{body})" for body in bodies) or "(?!)", re.DOTALL)


def translate(pattern: str) -> str:
    """The expression of a pattern with wildcards, without anchors."""
    parts: list[str] = []
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if pattern.startswith("**/", index):
            parts.append("(.*/)?")
            index += 3
            continue
        if pattern.startswith("**", index):
            parts.append(".*")
            index += 2
            continue
        if char == "*":
            parts.append("[^/]*")
        elif char == "?":
            parts.append("[^/]")
        elif char == "[" and (end := pattern.find("]", index + 2)) > 0:
            parts.append(char_class(pattern[index + 1 : end]))
            index = end
        else:
            parts.append(re.escape(char))
        index += 1
    return "".join(parts)


def char_class(inner: str) -> str:
    """The expression of what stands between brackets; never fits a slash."""
    negated = inner[:1] in "!^"
    body = (inner[1:] if negated else inner).replace("\\", r"\\").replace("[", r"\[")
    body = body.replace("^", r"\^").replace("&", r"\&").replace("~", r"\~").replace("|", r"\|")
    try:
        re.compile(f"[{body}]")
    except re.error:
        return re.escape(f"[{inner}]")
    return f"(?!/)[{'^' if negated else ''}{body}]"
