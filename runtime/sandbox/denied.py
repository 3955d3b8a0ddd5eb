"""Covers for what rules deny in a worktree: found before each command, and held in place.

A command could move a folder aside and reach what lies in it under another name. So each folder
above something covered is mounted over itself: nobody in the cage can move or remove a mount point.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from runtime.core.errors import BadInput
from runtime.policy.binding import Binding, Bond
from runtime.sandbox.covers import PATH_BYTES, walk
from runtime.sandbox.layout import Cover

MOST = 200
"""Paths that are covered; more are a folder's to deny."""
_NAMES_BYTES = 32 << 10  # with the rest of a cage's arguments they travel through one pipe
_WHAT = "what rules deny"
_Inode = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Held:
    """One path and what it is now: where something else is there, it must be covered anew. `bond`
    is None for a folder above."""

    path: str
    bond: Bond | None
    folder: bool
    inode: _Inode

    @property
    def hides(self) -> bool:
        """Whether nothing of it is seen."""
        return self.bond is Bond.HIDE


def find(
    root: str, account: int, binding: Binding, known: Callable[[str], bool]
) -> tuple[Held, ...]:
    """All that is to be held in a directory of the host, folders before what lies in them.

    What is not `known` is new: it need not stay as it is, and may be removed again.
    Raises BadInput where that cannot be told, or is more than `MOST`.
    """

    def takes(path: str, *, folder: bool) -> Bond | None:
        bond = binding.takes(path, folder=folder)
        return bond if bond in (None, Bond.HIDE) or known(path) else None

    search = _Search(takes, binding.below)
    walk(root, account, search.look, _WHAT)
    found = search.found
    if search.linked:  # other names of the same files
        again = _Search(lambda path, *, folder: None, lambda path: True, search.linked)
        walk(root, account, again.look, _WHAT)
        hidden = tuple(f"{one.path}/" for one in found.values() if one.folder and one.hides)
        others = {path: one for path, one in again.found.items() if not path.startswith(hidden)}
        found |= others | found
        search.folders |= again.folders
    if len(found) > MOST:
        raise BadInput(
            f"The rules {binding.names()} deny more than {MOST} paths of the worktree, which no"
            " cage can cover one by one.",
            remedy="Deny their folder: /name/ in the rule's path.",
            field="path",
        )
    for path, one in list(found.items()):
        if len(os.fsencode(root)) + len(os.fsencode(path)) > PATH_BYTES:
            raise BadInput(
                f"What a rule denies lies too deep to be covered: {path[:80]}…",
                remedy="Remove it.",
                field="path",
            )
        if one.bond is not None:
            _above(path, search.folders, found)
    return tuple(found[path] for path in sorted(found, key=lambda path: path.split("/")))


def _above(path: str, folders: dict[str, _Inode], found: dict[str, Held]) -> None:
    """The folders on the way to a path, unless one of them is fast as a whole."""
    names = path.split("/")[:-1]
    way = ["/".join(names[:count]) for count in range(1, len(names) + 1)]
    for folder in way:
        known = found.get(folder)
        if known is not None and known.bond is not None:
            return
        found[folder] = Held(folder, None, True, folders[folder])


class _Search:
    """What one walk finds. `linked`: files with other names; of `wanted` these are looked for."""

    def __init__(
        self,
        takes: Callable[..., Bond | None],
        below: Callable[[str], bool],
        wanted: dict[_Inode, Bond] | None = None,
    ) -> None:
        self._takes, self._below, self._wanted = takes, below, wanted
        self.found: dict[str, Held] = {}
        self.folders: dict[str, _Inode] = {}
        self.linked: dict[_Inode, Bond] = {}
        self._fast: set[str] = set()
        """Folders in which nothing can be changed anyway."""

    def look(self, at: int, path: list[str]) -> list[str]:
        """One directory: the names of those in it that must be looked into."""
        here = "/".join(path)
        about = os.fstat(at)
        self.folders[here] = about.st_dev, about.st_ino
        into = []
        with os.scandir(at) as entries:
            names = [
                (one.name, one.is_dir(follow_symlinks=False), one.is_symlink()) for one in entries
            ]
        for name, folder, link in names:
            full = f"{here}/{name}" if here else name
            if folder:
                if self._enters(at, name, full, here):
                    into.append(name)
            elif not link:
                self._file(at, name, full, here)
        return into

    def _enters(self, at: int, name: str, full: str, above: str) -> bool:
        bond = self._takes(full, folder=True)
        fast = above in self._fast
        if fast:
            self._fast.add(full)
        if bond is Bond.HIDE or (bond is not None and not fast):
            inode = _inode(at, name)
            if inode is None:
                return False
            self.found[full] = Held(full, bond, True, inode[0])
            self._fast.add(full)
        return bond is not Bond.HIDE and self._below(full)

    def _file(self, at: int, name: str, full: str, above: str) -> None:
        bond = None if self._wanted is not None else self._takes(full, folder=False)
        if bond is None and self._wanted is None:
            return
        known = _inode(at, name)
        if known is None:
            return
        inode, links = known
        if self._wanted is not None:
            bond = self._wanted.get(inode)
        if bond is None or (bond is not Bond.HIDE and above in self._fast):
            return
        self.found[full] = Held(full, bond, False, inode)
        if links > 1:
            self.linked[inode] = bond


def _inode(at: int, name: str) -> tuple[_Inode, int] | None:
    """What a name of a directory is, and how many names that has; None where it is gone."""
    try:
        about = os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(about.st_mode):
        return None
    return (about.st_dev, about.st_ino), about.st_nlink


def covers(root: str, source: str, found: tuple[Held, ...]) -> tuple[Cover, ...]:
    """What is laid over them in the cage that shows the directory `source` of the host at `root`.

    Raises BadInput where their names are longer than a cage can be told.
    """
    root = root.rstrip("/")
    if sum(len(os.fsencode(f"{root}{source}{one.path}{one.path}")) for one in found) > _NAMES_BYTES:
        raise BadInput(
            "What rules deny in the worktree has more and longer names than a cage can be told.",
            remedy="Deny their folder: /name/ in the rule's path.",
            field="path",
        )
    return tuple(
        Cover(
            f"{root}/{one.path}",
            hide=one.hides,
            folder=one.folder,
            writable=one.bond in (None, Bond.KEEP),
        )
        for one in found
    )
