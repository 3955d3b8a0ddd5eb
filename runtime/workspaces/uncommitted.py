"""How many files of the operator's checkout a run starts without. Nothing of it is executed.

Its index and files are only read: no filter, hook or monitor that its configuration names runs.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from pathlib import Path

from dulwich.errors import NotGitRepository
from dulwich.ignore import IgnoreFilterManager
from dulwich.index import ConflictedIndexEntry, IndexEntry
from dulwich.object_store import iter_tree_contents
from dulwich.objects import ObjectID
from dulwich.repo import Repo

from runtime.core.errors import Refused

from . import tree
from .objects import Objects
from .paths import is_git

MAX_SECONDS = 5.0
_MAX_READ = 32 << 20


def count(root: str, objects: Objects, base: str) -> int:
    """Files that are staged, changed, deleted or untracked against HEAD (`base`).

    -1 where nobody could tell within 5 seconds.
    """
    deadline = time.monotonic() + MAX_SECONDS
    try:
        with Repo(root) as repo:
            index = {os.fsdecode(path): entry for path, entry in repo.open_index().items()}
            ignored = IgnoreFilterManager.from_repo(repo)
    except (NotGitRepository, OSError, ValueError, KeyError, AssertionError):
        return -1
    committed = {
        os.fsdecode(entry.path): (entry.mode, entry.sha.decode())
        for entry in iter_tree_contents(objects.store, ObjectID(objects.tree_of(base).encode()))
        if entry.path is not None and entry.mode is not None and entry.sha is not None
    }
    try:
        changed = {
            path
            for path in committed.keys() | index.keys()
            if _differs(root, path, committed.get(path), index.get(path), deadline)
        }
        return len(changed) + _untracked(Path(root), set(index), ignored, deadline)
    except TimeoutError:
        return -1


def _differs(
    root: str,
    path: str,
    committed: tuple[int, str] | None,
    entry: IndexEntry | ConflictedIndexEntry | None,
    deadline: float,
) -> bool:
    if committed is None or not isinstance(entry, IndexEntry):
        return True
    mode, sha = committed
    if entry.sha.decode() != sha or entry.mode != mode:
        return True
    if stat.S_IFMT(mode) == 0o160000:
        return False
    if time.monotonic() > deadline:
        raise TimeoutError
    try:
        about = os.lstat(os.path.join(root, path))
    except OSError:
        return True
    written = entry.mtime if isinstance(entry.mtime, tuple) else (int(entry.mtime), 0)
    if about.st_size == entry.size and about.st_mtime_ns == written[0] * 10**9 + written[1]:
        return False
    return _hash(os.path.join(root, path), about) != sha


def _hash(path: str, about: os.stat_result) -> str:
    """The id that the file would have as a blob, "" where it cannot be told."""
    try:
        if stat.S_ISLNK(about.st_mode):
            data = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(about.st_mode) and about.st_size <= _MAX_READ:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(fd, "rb") as file:
                data = file.read(_MAX_READ)
        else:
            return ""
    except OSError:
        return ""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _untracked(root: Path, tracked: set[str], ignored: IgnoreFilterManager, deadline: float) -> int:
    total = 0
    todo: list[tuple[str, ...]] = [()]
    while todo:
        here = todo.pop()
        try:
            with tree.directory(root, here) as fd:
                names = os.listdir(fd)
                kinds = {name: tree.look(fd, name) for name in names if not is_git(name)}
        except (Refused, OSError):
            continue  # git, too, passes over what it may not read
        if here and ".git" in names:
            continue  # a repository of its own
        for name, about in kinds.items():
            if time.monotonic() > deadline:
                raise TimeoutError
            path = "/".join((*here, name))
            if about is None or path in tracked:
                continue
            if stat.S_ISDIR(about.st_mode):
                if not ignored.is_ignored(path + "/"):
                    todo.append((*here, name))
            elif stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode):
                total += not ignored.is_ignored(path)
    return total
