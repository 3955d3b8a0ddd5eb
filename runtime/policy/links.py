"""Which links are met by a word with wildcards of the shell, or below a directory."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal, Protocol

from .facts import Facts
from .patterns import WILD, translate

MAX_NAMES = 20_000
"""How many names one word may be compared with."""
MAX_MET = 64
BELOW = "***"
"""As the last name of a pattern: everything below, for programs that follow the links there."""
_BRACKETS = re.compile(r"\[.*\]", re.DOTALL)
"""Their own rules, and whether quotes stood around them, are not looked at: they may be anything.
Braces and parentheses that come this far had quotes around."""
Kind = Literal["dir", "link", "other"]


class Tree(Protocol):
    """A file system as commands see it; paths are absolute."""

    def facts(self, path: str) -> Facts:
        """See `Look`."""
        ...

    def kind(self, path: str) -> Kind:
        """What a name is by itself, where no link stands above it; `other`: nothing, too."""
        ...

    def entries(self, folder: str) -> Iterator[tuple[str, Kind]]:
        """The names in a directory. Raises OSError where nobody may know."""
        ...


def met(pattern: str, tree: Tree) -> tuple[Facts, ...]:
    """The paths, as facts of type `link`, that `pattern` (absolute) becomes by a link; what it
    says of names below the link is appended as written. One of type `error`: nobody can tell.
    Where its fixed beginning lies outside, there is nothing to add."""
    unknown = (Facts("error", pattern, False),)
    names = tuple(name for name in pattern.split("/") if name not in ("", "."))
    fixed = next((at for at, name in enumerate(names) if WILD.search(name)), len(names))
    base = tree.facts("/" + "/".join(names[:fixed]))
    if not base.inside or base.type != "dir":
        return ()
    try:
        found = tuple(islice(_Walk(tree).links(base.resolved, names[fixed:]), MAX_MET + 1))
        "".join(found).encode()
    except (OSError, OverflowError, UnicodeEncodeError):
        return unknown
    return tuple(Facts("link", path, False) for path in found) if len(found) <= MAX_MET else unknown


class _Walk:
    """From name to name of a pattern. Raises OverflowError where there are too many."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._compared = 0
        self._walked: set[str] = set()
        self._tops: list[str] = []

    def links(self, start: str, names: tuple[str, ...]) -> Iterator[str]:
        """Their paths, with the rest of the pattern."""
        todo = [(start, names)]
        while todo:
            here, (name, *rest) = todo.pop()
            if name == BELOW:
                if here in self._walked:
                    continue
                self._walked.add(here)
                if not self._covered(here):
                    self._tops.append(here)
                rest = [BELOW]
            plain = [one for one in rest if one != BELOW]
            for path, kind in self._fitting(here, name):
                if kind == "link":
                    facts = self._tree.facts(path)
                    # Nothing lies below a file; and what the way down passes anyway is no news.
                    if not (plain and facts.type == "file") and not (
                        name == BELOW and self._covered(facts.resolved)
                    ):
                        yield "/".join((path, *plain))
                    path, kind = facts.resolved, "dir" if facts.type == "dir" else "other"
                    if not facts.inside:
                        continue
                if kind == "dir" and rest:
                    todo.append((path, tuple(rest)))

    def _covered(self, path: str) -> bool:
        return any(f"{path}/".startswith(f"{top}/") for top in self._tops)

    def _fitting(self, here: str, name: str) -> Iterator[tuple[str, Kind]]:
        self._count()
        if name == BELOW:
            for entry, kind in self._tree.entries(here):
                self._count()
                yield posixpath.join(here, entry), kind
        elif name == "..":
            yield posixpath.join(here, name), "link"  # it leads elsewhere, too
        elif not WILD.search(name):
            path = posixpath.join(here, name)
            yield path, self._tree.kind(path)
        else:
            careful = _BRACKETS.sub("*", name.casefold())
            fits = re.compile(translate(careful), re.DOTALL).fullmatch
            for entry, kind in self._tree.entries(here):
                self._count()
                hidden = entry.startswith(".") and not name.startswith((".", "["))
                if fits(entry.casefold()) and not hidden:
                    yield posixpath.join(here, entry), kind

    def _count(self) -> None:
        self._compared += 1
        if self._compared > MAX_NAMES:
            raise OverflowError
