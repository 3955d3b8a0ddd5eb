"""Which links are met by a word with wildcards of the shell, or below a directory."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import islice
from typing import Literal, Protocol

from . import protected
from .facts import Facts
from .patterns import WILD, may_be

MAX_NAMES = 10_000
"""How many names one word may be compared with. A link counts for ten."""
MAX_MET, LINK_COUNTS = 256, 10
BELOW = "***"
"""As the last name of a pattern: everything below, for programs that follow the links there."""
Kind = Literal["dir", "link", "other"]


class Tree(Protocol):
    """A file system as commands see it; paths are absolute."""

    def leads(self, path: str) -> Facts:
        """See `Look`; without the content's hash."""
        ...

    def kind(self, path: str) -> Kind:
        """What a name is by itself, where no link stands above it; `other`: nothing, too."""
        ...

    def entries(self, folder: str) -> Iterator[tuple[str, Kind]]:
        """The names in a directory. Raises OSError where nobody may know."""
        ...


def met(pattern: str, tree: Tree) -> tuple[Facts, ...]:
    """The paths, as facts of type `link`, that `pattern` (absolute) becomes by a link, or that have
    the name of a secret; what it says of names below a link is appended as written. One of type
    `error`: nobody can tell, or a name could be read as an option. Where the fixed beginning of
    the pattern lies outside, there is nothing to add."""
    unknown = (Facts("error", pattern, False),)
    names = tuple(name for name in pattern.split("/") if name not in ("", "."))
    fixed = next((at for at, name in enumerate(names) if WILD.search(name)), len(names))
    base = tree.leads("/" + "/".join(names[:fixed]))
    if not base.inside or base.type != "dir":
        return ()
    try:
        found = tuple(islice(_Walk(tree).links(base.resolved, names[fixed:]), MAX_MET + 1))
        "".join(path for path, _ in found).encode()
    except (OSError, OverflowError, UnicodeEncodeError):
        return unknown
    if len(found) > MAX_MET:
        return unknown
    return tuple(Facts("link", path, inside) for path, inside in found)


class _Walk:
    """From name to name of a pattern. Raises OverflowError where there are too many."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._compared = 0
        self._walked: set[str] = set()
        self._tops: list[str] = []

    def links(self, start: str, names: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        """Their paths, with the rest of the pattern, and whether they stay inside."""
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
            for path, kind in self._fitting(here, name):
                if kind == "link":
                    facts = self._tree.leads(path)
                    yield from self._met(path, facts, name, rest)
                    path, kind = facts.resolved, "dir" if facts.type == "dir" else "other"
                    if not facts.inside:
                        continue
                elif name != BELOW and rest in ([], [BELOW]) and _secret(path):
                    yield path, True
                if kind == "dir" and rest:
                    todo.append((path, tuple(rest)))

    def _met(
        self, path: str, facts: Facts, name: str, rest: list[str]
    ) -> Iterator[tuple[str, bool]]:
        self._count(LINK_COUNTS)
        if WILD.search(path):
            raise OverflowError  # nobody could tell this name from a pattern
        below = [one for one in rest if one != BELOW]
        if below and facts.type == "file":
            return  # nothing lies below a file
        whole = "/".join((path, *below))
        if below and not WILD.search(whole) and self._tree.leads(whole).type == "missing":
            return  # no shell makes a word of what is not there
        if name == BELOW and self._covered(facts.resolved):
            return  # the way down passes it anyway
        yield whole, facts.inside

    def _covered(self, path: str) -> bool:
        return any(f"{path}/".startswith(f"{top}/") for top in self._tops)

    def _fitting(self, here: str, name: str) -> Iterator[tuple[str, Kind]]:
        self._count()
        if name == "..":
            yield posixpath.join(here, name), "link"  # it leads elsewhere, too
        elif not (name == BELOW or WILD.search(name)):
            path = posixpath.join(here, name)
            yield path, self._tree.kind(path)
        else:
            if _may_go_up(name):
                yield posixpath.join(here, ".."), "link"
            for entry, kind in self._tree.entries(here):
                self._count()
                if name == BELOW or _fits(name, entry):
                    yield posixpath.join(here, entry), kind

    def _count(self, by: int = 1) -> None:
        self._compared += by
        if self._compared > MAX_NAMES:
            raise OverflowError


def _fits(name: str, entry: str) -> bool:
    """Raises OverflowError where a program could take the entry for an option."""
    hidden = entry.startswith(".") and not name.startswith(".")
    if hidden or not may_be(name, entry):
        return False
    if entry.startswith("-"):
        raise OverflowError
    return True


def _may_go_up(name: str) -> bool:
    """Some shells let `.?` be `..`; a bare `.*` was not aimed at it."""
    exempt = name == ".*" or name.startswith((".[!.]", "..?"))
    return name.startswith(".") and not exempt and may_be(name, "..")


def _secret(path: str) -> bool:
    name = posixpath.basename(path)
    return any(
        of(name) for of in (protected.secret_by_name, protected.git_part, protected.own_part)
    )
