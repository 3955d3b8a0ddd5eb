"""A world in memory: the real gate over a described tree, for tests and for examples of rules."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .context import Context, Facts, Request
from .decision import Decision
from .facts import FactType
from .gate import gate
from .links import Kind, met
from .programs import DEFAULT_PROGRAMS
from .verdict import Verdict

MAX_LINKS = 40


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass
class World:
    """`files`: absolute path to text, or `Link`; parents exist by themselves, and `folders` too.
    `which`: program name to file."""

    root: str = "/tree"
    home: str = "/home/agent"
    files: dict[str, str | Link] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    programs: dict[str, str] = field(default_factory=dict)
    looked: list[str] = field(default_factory=list)

    def look(self, path: str) -> Facts:
        """The facts of a path, links followed as a system follows them."""
        self.looked.append(path)
        try:
            resolved = self._resolve(posixpath.join(self.root, path))
        except RecursionError:
            return Facts("error", posixpath.join(self.root, path), False)
        entry = self.files.get(resolved)
        kind: FactType = "missing"
        digest = None
        if isinstance(entry, str):
            kind, digest = "file", hashlib.sha256(entry.encode()).hexdigest()
        elif self._folder(resolved):
            kind = "dir"
        inside = resolved == self.root or resolved.startswith(self.root + "/")
        return Facts(kind, resolved, inside, digest)

    leads = look

    def links(self, pattern: str) -> tuple[Facts, ...]:
        """What a pattern becomes by links."""
        return met(pattern, self)

    def kind(self, path: str) -> Kind:
        """What a name is by itself."""
        if isinstance(self.files.get(path), Link):
            return "link"
        return "dir" if self._folder(path) else "other"

    def entries(self, folder: str) -> Iterator[tuple[str, Kind]]:
        """The names in a directory."""
        below = folder.rstrip("/") + "/"
        known = {*self.files, *self.folders}
        for name in sorted(
            {one[len(below) :].split("/")[0] for one in known if one.startswith(below)}
        ):
            yield name, self.kind(below + name)

    def _folder(self, path: str) -> bool:
        below = path.rstrip("/") + "/"
        known = (*self.files, *self.folders, self.root + "/", self.home + "/")
        return path in self.folders or any(one.startswith(below) for one in known)

    def _resolve(self, path: str) -> str:
        done = "/"
        names = [name for name in path.split("/") if name]
        links = 0
        while names:
            name = names.pop(0)
            if name == ".":
                continue
            if name == "..":
                done = posixpath.dirname(done)
                continue
            done = posixpath.join(done, name)
            entry = self.files.get(done)
            if isinstance(entry, Link):
                links += 1
                if links > MAX_LINKS:
                    raise RecursionError(path)
                base = posixpath.dirname(done)
                names = [one for one in entry.target.split("/") if one] + names
                done = "/" if entry.target.startswith("/") else base
        return done

    def context(self, **changes: Any) -> Context:
        """A context of this world; `changes` replace its fields."""
        plain = Context(
            root=self.root,
            home=self.home,
            write_paths=(),
            allowed=DEFAULT_PROGRAMS,
            look=self.look,
            links=self.links,
            which=self.programs.get,
            remotes={"origin": "/srv/origin.git"},
        )
        return replace(plain, **changes)

    def decide(self, action: object, mode: str = "assisted", **changes: Any) -> Verdict:
        """The verdict on one action of an implementer."""
        return gate(request(action, mode), self.context(**changes))


def request(action: object, mode: str = "assisted", **changes: Any) -> Request:
    """A request with an ordinary identity."""
    plain = Request(action, "run", "task", "implementer", "implementation", mode, "demo")
    return replace(plain, **changes)


def tool(program: str, *args: str, **more: Any) -> dict[str, Any]:
    """A `run_tool` action."""
    return {"kind": "run_tool", "program": program, "args": list(args), **more}


def shell(script: str, **more: Any) -> dict[str, Any]:
    """A `run_shell` action."""
    return {"kind": "run_shell", "script": script, **more}


def decisions(verdict: Verdict) -> Mapping[str, Decision | None]:
    """Outcome by stage."""
    return {stage.name: stage.outcome for stage in verdict.stages}
