"""The trees of a run's worktree: taken by caged git, or made of the editor's own edits."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runtime.core.errors import Refused, Unavailable
from runtime.sandbox import Cage

from . import caged, worktree
from .objects import DIRECTORY, Change
from .paths import shown, unwritten
from .repository import Repository

_MAX_PACK = 1 << 30
_MAX_INDEX = 512 << 20
_TREE = re.compile(rb"[0-9a-f]{40}\n")
_RULES = frozenset({".gitignore", ".gitattributes", ".gitmodules"})


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A tree, the commit that keeps it, and whether it differs from its parent's."""

    tree: str
    commit: str
    changed: bool


class Checkpoints:
    """Of the worktree `folder`/tree; `folder`/scratch holds what caged git needs for it."""

    def __init__(self, folder: Path, repository: Repository) -> None:
        self._folder, self._repository = folder, repository
        self._tree, self._scratch = folder / "tree", folder / "scratch"
        self._indexed: str | None = None
        """The tree that the scratch index is known to hold."""

    def populate(self, cage: Cage, tree: str) -> None:
        """Fill the worktree with a tree's files."""
        caged.script(cage, caged.POPULATE, TREE=tree)
        self._indexed = tree

    def take(self, cage: Cage, parent: str, label: str, left_out: Iterable[str]) -> Checkpoint:
        """The worktree as it is. Raises `Refused` for what git cannot take in."""
        base = self._repository.objects.tree_of(parent)
        return self._keep(parent, base, self.tree(cage, base, left_out), label)

    def tree(self, cage: Cage, base: str, left_out: Iterable[str] = ()) -> str:
        """The worktree's tree, with its objects taken in; `base` is the tree before."""
        self.check_nested()
        self._write_left_out(left_out)
        same = "1" if self._indexed == base else "0"
        self._indexed = None
        with tempfile.TemporaryFile(dir=self._folder) as file:
            caged.script(cage, caged.CHECKPOINT, stdout_to=file.fileno(), BASE=base, SAME=same)
            file.seek(0)
            line = file.read(41)
            if not _TREE.fullmatch(line):
                raise Unavailable("The checkpoint has no tree.")
            made = line[:40].decode("ascii")
            if made != base:
                os.lseek(file.fileno(), 41, os.SEEK_SET)
                self._repository.import_pack(file.fileno(), _MAX_PACK)
        self._indexed = made
        return made

    def quick(
        self, parent: str, edits: Iterable[Change], label: str, linked: Iterable[str]
    ) -> Checkpoint | None:
        """The parent's tree with edits; None where only git can tell what the tree is."""
        objects = self._repository.objects
        base = objects.tree_of(parent)
        changes = list(edits)
        if not all(self._sure(base, path, set(linked)) for path, _, _ in changes):
            return None
        return self._keep(parent, base, objects.with_changes(base, changes), label)

    def _sure(self, base: str, path: str, linked: set[str]) -> bool:
        """Whether an edited file certainly is in the tree: it was, or nothing can ignore it."""
        *folders, name = path.split("/")
        objects = self._repository.objects
        if name in _RULES:
            return False
        if objects.entry(base, (*folders, name)) is not None:
            return True
        for depth in range(len(folders) + 1):
            above = tuple(folders[:depth])
            here = objects.entry(base, above)
            if here is not None and here[0] != DIRECTORY:
                return False  # a submodule, or a link that is a directory now
            if os.path.lexists(self._tree.joinpath(*above, ".gitignore")):
                return False
            if "/".join((*above, (*folders, name)[depth])) in linked:
                return False
        return True

    def restore(self, cage: Cage, name: str) -> str:
        """Bring tracked and untracked files back to a commit or tree; what was there as a patch."""
        tree = self._repository.objects.tree_of(name)
        try:
            left = self.tree(cage, tree)
            patch = self._repository.diff(tree, left, None, binary=True) if left != tree else ""
        except Refused as refused:
            patch = f"# What was there could not be kept: {refused.message}\n"
        self._indexed = None
        worktree.trim(self._tree)
        caged.script(cage, caged.RESTORE, TREE=tree)
        self._indexed = tree
        if self._repository.objects.is_commit(name):
            self._repository.set_checkpoint(name)
        return patch

    def refresh_index(self, cage: Cage) -> None:
        """Give the view an index of HEAD with stat data."""
        caged.script(cage, caged.REFRESH)
        self.publish_index("head-index")

    def publish_index(self, name: str = "index") -> None:
        """Copy an index that caged git wrote into the view. Bytes only: it is never parsed here."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        new = self._repository.path / "index.new"
        source = os.open(self._scratch / name, flags)
        with os.fdopen(source, "rb") as file, open(new, "wb") as copy:
            if os.fstat(source).st_size > _MAX_INDEX:
                raise Unavailable("The index is too large.")
            shutil.copyfileobj(file, copy)
            os.fchmod(copy.fileno(), 0o644)
        os.replace(new, self._repository.path / "index")

    def _keep(self, parent: str, base: str, tree: str, label: str) -> Checkpoint:
        """A commit of the tree, under the run's checkpoint ref; none where nothing changed."""
        objects = self._repository.objects
        is_commit = objects.is_commit(parent)
        if tree == base and is_commit:
            return Checkpoint(tree, parent, False)
        if is_commit:
            before = [parent]
        else:
            last = self._repository.checkpoint()
            before = [last] if objects.tree_of(last) == base else []
            if tree == base and before:
                return Checkpoint(tree, last, False)
        commit = objects.commit(tree, before, label)
        self._repository.set_checkpoint(commit)
        return Checkpoint(tree, commit, tree != base)

    def check_nested(self) -> None:
        """Raise `Refused` where a repository lies inside the worktree, naming it."""
        found = worktree.nested_git(self._tree)
        if found:
            names = ", ".join(shown(name) for name in found[:10])
            raise Refused(
                f"There is a nested git repository in the worktree: {names}.",
                remedy="Remove it first.",
            )

    def _write_left_out(self, paths: Iterable[str]) -> None:
        """Into the scratch directory, which is the run's account's: never through a link."""
        data = b"".join(os.fsencode(unwritten(path)) + b"\0" for path in sorted(paths))
        folder = os.open(self._scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if caged.LEFT_OUT in os.listdir(folder):
                os.unlink(caged.LEFT_OUT, dir_fd=folder)
            if not data:
                return
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(os.open(caged.LEFT_OUT, flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), 0o644)
        finally:
            os.close(folder)
