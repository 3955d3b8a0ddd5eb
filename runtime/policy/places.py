"""From a path as written to a place: made absolute, looked at once, remembered."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Self

from .context import Context
from .facts import Facts, Links, Look
from .links import BELOW
from .patterns import WILD
from .reading import Place, Touch, Verb

MAX_LOOKS, MAX_PATTERNS, MAX_REACHED = 96, 24, 1_000
MET = "met "
"""Before a pattern, where a question is recorded: which links it meets. Alone: that this was asked."""
_ASKED = Facts("other", "", True)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
HARMLESS = frozenset(
    {
        "/dev/null",
        "/dev/zero",
        "/dev/urandom",
        "/dev/random",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
    }
)
"""Device files that keep and reveal nothing."""


class TooManyPaths(ValueError):
    """The action names more paths than one decision looks at."""


class Lens:
    """Resolves the paths of one action against the worktree and records each answer."""

    def __init__(self, root: str, home: str, look: Look, links: Links | None) -> None:
        self.root = posixpath.normpath(root)
        self.home = posixpath.normpath(home) if home else ""
        self._look = look
        self._links = links
        self._seen: dict[str, Facts] = {}
        self._met: dict[str, tuple[Facts, ...]] = {}
        self._reached = 0

    @classmethod
    def of(cls, context: Context) -> Self:
        """The eyes of one decision."""
        return cls(context.root, context.home, context.look, context.links)

    @property
    def facts(self) -> tuple[tuple[str, Facts], ...]:
        """Every answer so far, in the order of asking: about paths, and then about patterns."""
        if self._links is None:
            return tuple(self._seen.items())
        met = ((f"{MET}{name}", one) for name, found in self._met.items() for one in found)
        return (*self._seen.items(), (MET, _ASKED), *met)

    def join(self, path: str, cwd: str = ".") -> str:
        """`path` made absolute, from `cwd` (relative to the worktree or absolute), not normalised."""
        if path == "~" or path.startswith("~/"):
            return posixpath.join(self.home or "/~", path[2:])
        return posixpath.join(self.root, cwd, path)

    def relative(self, absolute: str) -> str | None:
        """The path below the worktree ("." for the root itself), or None outside it."""
        if absolute == self.root:
            return "."
        if absolute.startswith(self.root.rstrip("/") + "/"):
            return absolute[len(self.root.rstrip("/")) + 1 :]
        return None

    def look(self, joined: str) -> Facts:
        """The facts of an absolute path that may still hold `..`. Raises `TooManyPaths`."""
        normal = posixpath.normpath(joined)
        asked = joined if "/.." in joined else (self.relative(normal) or normal)
        if asked not in self._seen:
            if len(self._seen) >= MAX_LOOKS:
                raise TooManyPaths(f"more than {MAX_LOOKS} paths in one action")
            self._seen[asked] = self._look(asked)
        return self._seen[asked]

    def met(self, touch: Touch, cwd: str = ".", *, below: bool = False) -> Iterator[Touch]:
        """`touch`, done to what its pattern becomes by links, or to where the links `below` its
        directory lead. Raises `TooManyPaths` where nobody can tell."""
        if self._links is None:
            return
        joined = self.join(f"{touch.path}/{BELOW}" if below else touch.path, cwd)
        pattern = joined if "/.." in joined else _normal(joined)
        if pattern not in self._met:
            if len(self._met) >= MAX_PATTERNS:
                raise TooManyPaths(f"links are looked for in more than {MAX_PATTERNS} places")
            self._met[pattern] = self._links(pattern)
        for facts in self._met[pattern]:
            if touch.verb is Verb.LIST and facts.inside:
                continue  # whatever lies inside may be listed
            if facts.type == "error":
                lost = (
                    f"which links lie below {touch.path}" if below else f"what {touch.path} becomes"
                )
                raise TooManyPaths(f"nobody can tell {lost}")
            path = facts.resolved
            self._reached += 1
            if self._reached > MAX_REACHED:
                raise TooManyPaths(f"more than {MAX_REACHED} links in one action")
            yield replace(touch, path=path, pattern=WILD.search(path) is not None, met=True)

    def whole(self) -> Place:
        """The worktree with all that is in it, read. Of that nothing has to be looked up."""
        touch = Touch(Verb.READ, ".", deep=True, whole=True)
        return Place(touch, self.root, True, ".", ".", Facts("dir", self.root, True))

    def place(self, touch: Touch, cwd: str = ".") -> Place:
        """What `touch` is about. Of a pattern, the directory before the first wildcard is
        looked at, and the rest is appended to it as written."""
        joined = self.join(touch.path, cwd)
        normal = _normal(joined)
        if normal in HARMLESS:
            return Place(touch, normal, False, "", "", Facts("other", normal, False))
        if touch.pattern:
            fixed = WILD.split(joined, maxsplit=1)[0]
            folder = posixpath.dirname(fixed) or "/"
            base = self.look(folder)
            rest = joined[len(folder) :].lstrip("/")
            resolved = posixpath.normpath(posixpath.join(base.resolved, rest))
            facts = Facts(base.type, resolved, base.inside)
        else:
            facts = self.look(joined)
        lexical = self.relative(normal)
        real = self.relative(facts.resolved)
        inside = lexical is not None and facts.inside and real is not None
        return Place(
            touch, normal, inside, lexical if inside and lexical else "", real or "", facts
        )


def is_uri(path: str) -> bool:
    """Whether a path is really an address with a scheme."""
    return _URI.match(path) is not None


def _normal(joined: str) -> str:
    normal = posixpath.normpath(joined)
    return normal[1:] if normal.startswith("//") else normal
