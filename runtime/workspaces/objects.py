"""Blobs, trees and commits written straight into a run's git directory, without a process.

For bytes that the server knows because it wrote them itself; about a millisecond. Files are
readable for every account below the server's private folder, for commands see them read-only.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
import weakref
from collections.abc import Iterable
from pathlib import Path

from dulwich.diff_tree import tree_changes
from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree

from runtime.core.errors import Unavailable

from .paths import written

AUTHOR = "m31a <m31a@localhost>"
DIRECTORY = 0o040000
Change = tuple[str, bytes | None, int]
"""Path, content (None: the file is gone), permission bits."""


class Objects:
    """The objects of one git directory."""

    def __init__(self, git: Path) -> None:
        self._folder = git / "objects"
        self.store = DiskObjectStore(str(self._folder))
        weakref.finalize(self, self.store.close)  # it keeps packs open

    def tree_of(self, name: str) -> str:
        """The tree of a commit, or `name` itself where that is a tree."""
        found = self._get(name)
        if isinstance(found, Commit):
            return str(found.tree.decode())
        if isinstance(found, Tree):
            return name
        raise Unavailable(f"{name} is no commit and no tree.")

    def is_commit(self, name: str) -> bool:
        """Whether `name` is a commit."""
        return isinstance(self._get(name), Commit)

    def entry(self, tree: str, names: tuple[str, ...]) -> tuple[int, str] | None:
        """Mode and id of what a tree holds at a path, None where there is nothing."""
        mode, sha = DIRECTORY, tree
        for name in names:
            if mode != DIRECTORY:
                return None
            here = self._get(sha)
            if not isinstance(here, Tree) or os.fsencode(name) not in here:
                return None
            mode, raw = here[os.fsencode(name)]
            sha = raw.decode()
        return mode, sha

    def listing(self, tree: str, names: tuple[str, ...]) -> frozenset[str]:
        """The names in a folder of a tree, none where there is no such folder."""
        found = self.entry(tree, names)
        here = self._get(found[1]) if found is not None and found[0] == DIRECTORY else None
        return frozenset(map(os.fsdecode, here)) if isinstance(here, Tree) else frozenset()

    def blob(self, tree: str, names: tuple[str, ...]) -> bytes | None:
        """The content of a file in a tree, None where it is none."""
        found = self.entry(tree, names)
        if found is None or not stat.S_ISREG(found[0]):
            return None
        blob = self._get(found[1])
        return blob.data if isinstance(blob, Blob) else None

    def changed(self, before: str, after: str) -> list[tuple[str, str]]:
        """What differs from one tree (or commit) to the other: A, M or D and the path (as
        `paths.written` gives it), sorted."""
        rows = []
        old_tree, new_tree = _id(self.tree_of(before)), _id(self.tree_of(after))
        for change in tree_changes(self.store, old_tree, new_tree):
            old, new = change.old, change.new
            letter = "A" if old is None or old.path is None else "M"
            if new is None or new.path is None:
                letter, new = "D", old
            assert new is not None and new.path is not None
            rows.append((letter, written(os.fsdecode(new.path))))
        return sorted(rows, key=lambda row: row[1])

    def with_changes(self, tree: str, changes: Iterable[Change]) -> str:
        """The tree with some files replaced, added or removed; new objects are written."""
        nested: dict[str, object] = {}
        for path, data, mode in changes:
            *folders, name = path.split("/")
            here = nested
            for folder in folders:
                inner = here.setdefault(folder, {})
                assert isinstance(inner, dict)
                here = inner
            here[name] = None if data is None else (data, mode)
        return self._rewrite(tree, nested) or self._write(Tree())

    def _rewrite(self, sha: str | None, changes: dict[str, object]) -> str | None:
        """The id of a directory with `changes`, None where nothing is left in it."""
        found = self._get(sha) if sha else Tree()
        here = found.copy() if isinstance(found, Tree) else Tree()
        assert isinstance(here, Tree)
        for name, change in changes.items():
            key = os.fsencode(name)
            if isinstance(change, dict):
                old = here[key] if key in here else None  # noqa: SIM401  (a Tree has no get)
                inner = old[1].decode() if old and old[0] == DIRECTORY else None
                made = self._rewrite(inner, change)
                if made is not None:
                    here[key] = (DIRECTORY, _id(made))
                elif old is not None:
                    del here[key]
            elif isinstance(change, tuple):
                data, mode = change
                blob = self._write(Blob.from_string(data))
                here[key] = (0o100755 if mode & 0o100 else 0o100644, _id(blob))
            elif key in here:
                del here[key]
        return self._write(here) if len(here) else None

    def commit(self, tree: str, parents: Iterable[str], message: str) -> str:
        """Write a commit of the runtime's own; its id."""
        made = Commit()
        made.tree = _id(tree)
        made.parents = [_id(parent) for parent in parents]
        made.author = made.committer = AUTHOR.encode()
        made.author_time = made.commit_time = int(time.time())
        made.author_timezone = made.commit_timezone = 0
        made.message = (message.replace("\0", "").strip() + "\n").encode()
        return self._write(made)

    def _get(self, name: str) -> ShaFile:
        try:
            return self.store[_id(name)]
        except (KeyError, ValueError, OSError) as error:
            raise Unavailable(f"The object {name} is missing or damaged: {error!r}.") from error

    def _write(self, made: ShaFile) -> str:
        """Store an object: a temporary name first, so that none is ever half there."""
        sha = str(made.id.decode())
        folder = self._folder / sha[:2]
        target = folder / sha[2:]
        if not target.exists():
            if not folder.is_dir():
                folder.mkdir(exist_ok=True)
                folder.chmod(0o755)
            put(target, made.as_legacy_object(compression_level=1), 0o444)
        return sha


def put(target: Path, data: bytes, mode: int) -> None:
    """Write a file of the git directory under a temporary name and rename it."""
    temporary = target.with_name(f"tmp_{secrets.token_hex(6)}")
    with open(temporary, "xb") as file:
        file.write(data)
        os.fchmod(file.fileno(), mode)
    os.replace(temporary, target)


def _id(name: str) -> ObjectID:
    return ObjectID(name.encode())
