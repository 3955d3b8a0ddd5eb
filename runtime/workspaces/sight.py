"""What a path or a program is, as commands in a cage see it: the gate's eyes.

Links are followed by hand, name by name, through the cage's mounts; nothing outside them is
looked at on the host.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
from collections.abc import Iterator
from dataclasses import replace

from runtime.policy.facts import Facts
from runtime.policy.links import Kind, met
from runtime.sandbox import CageSpec, placed
from runtime.sandbox import places as moved
from runtime.sandbox.environment import SYSTEM_PATH

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_MAX_LINKS = 40
_MAX_HASHED = 64 << 20


class _Loop(Exception):
    """Too many links."""


class Sight:
    """Paths below `root` are those of the worktree; others belong to a mount or do not exist."""

    def __init__(self, root: str, spec: CageSpec) -> None:
        self._root = root
        self._real = placed(moved(spec), root)
        self._path = (*spec.path, *SYSTEM_PATH.split(":"))
        places = {mount.target: mount.source for mount in spec.mounts if mount.only is None}
        real = dict(moved(spec))  # a backend that mounts nothing shows them where they are
        places |= {real[target]: source for target, source in places.items() if target in real}
        places |= {path: path for path in _SYSTEM if os.path.lexists(path)}
        self._places = dict(sorted(places.items(), key=lambda row: -len(row[0])))

    def facts(self, path: str) -> Facts:
        """What `path` (relative to the worktree or absolute, possibly with `..`) leads to.

        The content's hash is given for regular files of the worktree up to 64 MiB.
        """
        found = self.leads(path)
        if found.type != "file" or not found.inside:
            return found
        try:
            return replace(found, sha256=self._hash(found.resolved))
        except OSError:
            return Facts("error", found.resolved, True)

    def leads(self, path: str) -> Facts:
        """The same without the content's hash."""
        if "\0" in path:
            return Facts("error", path, False)
        try:
            resolved, about = self._resolve(posixpath.join(self._root, path))
            resolved.encode()  # the record is text
        except (_Loop, OSError, UnicodeEncodeError):
            return Facts("error", posixpath.normpath(posixpath.join(self._root, path)), False)
        inside = self._inside(resolved)
        if about is None:
            return Facts("missing", resolved, inside)
        if stat.S_ISDIR(about.st_mode):
            return Facts("dir", resolved, inside)
        if not stat.S_ISREG(about.st_mode):
            return Facts("other", resolved, inside)
        runs = bool(about.st_mode & 0o111)
        return Facts("file", resolved, inside, None, runs)

    def links(self, pattern: str) -> tuple[Facts, ...]:
        """What a pattern, absolute, becomes by links."""
        return met(pattern, self)

    def kind(self, path: str) -> Kind:
        """What a name is by itself."""
        found = self._lstat(path)
        if found is None:
            return "other"
        return (
            "link" if stat.S_ISLNK(found.st_mode) else _folder_or_not(stat.S_ISDIR(found.st_mode))
        )

    def entries(self, folder: str) -> Iterator[tuple[str, Kind]]:
        """The names in a directory. Raises OSError where nobody may know."""
        host = self._host(folder)
        if host is None:
            raise FileNotFoundError(folder)
        with os.scandir(host) as found:
            for entry in found:
                folder_or_not = _folder_or_not(entry.is_dir(follow_symlinks=False))
                yield entry.name, "link" if entry.is_symlink() else folder_or_not

    def which(self, name: str) -> str | None:
        """The file, links resolved, that the cage runs for a bare program name; None without."""
        if "/" in name or not name or "\0" in name:
            return None
        for folder in self._path:
            try:
                resolved, about = self._resolve(posixpath.join(folder, name))
            except (_Loop, OSError):
                continue
            if about is not None and stat.S_ISREG(about.st_mode) and about.st_mode & 0o111:
                return resolved
        return None

    def _inside(self, path: str) -> bool:
        return any(path == root or path.startswith(root + "/") for root in (self._root, self._real))

    def _resolve(self, path: str) -> tuple[str, os.stat_result | None]:
        """The path after all links, and its stat; None where it does not exist (the rest is then
        appended to what does)."""
        todo = [name for name in reversed(path.split("/")) if name not in ("", ".")]
        here, links = "/", 0
        about: os.stat_result | None = None
        while todo:
            name = todo.pop()
            if name == "..":
                here = posixpath.dirname(here)
                about = None
                continue
            step = posixpath.join(here, name)
            found = self._lstat(step)
            if found is None and not self._above_mount(step):
                rest = [step, *reversed(todo)]
                return posixpath.normpath("/".join(rest)), None
            if found is not None and stat.S_ISLNK(found.st_mode):
                links += 1
                if links > _MAX_LINKS:
                    raise _Loop
                target = os.readlink(self._host(step) or step)
                todo += [n for n in reversed(target.split("/")) if n not in ("", ".")]
                here = "/" if target.startswith("/") else here
                continue
            if found is not None and todo and not stat.S_ISDIR(found.st_mode):
                return posixpath.normpath("/".join([step, *reversed(todo)])), None
            here, about = step, found
        return here, about or self._lstat(here) or _DIRECTORY

    def _lstat(self, path: str) -> os.stat_result | None:
        host = self._host(path)
        if host is None:
            return None
        try:
            return os.lstat(host)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _host(self, path: str) -> str | None:
        """Where a place of the cage lies on the host, None where nothing is mounted."""
        for target, source in self._places.items():
            if path == target:
                return source
            if path.startswith(target + "/"):
                return source + path[len(target) :]
        return None

    def _above_mount(self, path: str) -> bool:
        return any(target.startswith(path + "/") for target in self._places)

    def _hash(self, path: str) -> str | None:
        host = self._host(path)
        assert host is not None
        fd = os.open(host, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            if os.fstat(fd).st_size > _MAX_HASHED:
                return None
            return hashlib.file_digest(file, "sha256").hexdigest()


def _folder_or_not(is_folder: bool) -> Kind:
    return "dir" if is_folder else "other"


_DIRECTORY = os.stat_result((stat.S_IFDIR | 0o755, 0, 0, 1, 0, 0, 0, 0, 0, 0))
"""A directory that only exists as the way to a mount."""
