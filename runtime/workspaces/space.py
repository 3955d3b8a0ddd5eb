"""The files of one run: its git directory, its worktree, and the trees made of it.

<folder>/git      git directory, the server's; commands see it read-only at /m31a/git
<folder>/tree     worktree, the run's account's; mounted at the registered root's own path
<folder>/scratch  index and new objects of caged git; no proposed command sees it
<folder>/staging  files that the editor is about to put in place
<folder>/fresh/N  the worktree in which the holder with fence N proves a delivery

What their cages see as /etc is shared by all runs.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Protocol

from runtime.core.errors import BadInput, Refused
from runtime.sandbox import Cage, CageSpec, placed, places, shared_etc

from . import caged, copying, mounts, push, uncommitted, usage, worktree
from .checkpoints import Checkpoint, Checkpoints
from .editor import Editor
from .objects import Change
from .repository import Repository
from .sight import Sight
from .usage import Survey

_FRESH = "fresh"


class WorkspaceValues(mounts.Places, Protocol):
    """What is needed of a workspace's row (`runtime.models.Workspace` fits)."""

    @property
    def is_git(self) -> bool: ...


class RunSpace:
    """The space of one run below `folder`. `uid` owns the worktree, None: whoever this runs as.

    `etc` is the folder of `shared_etc`. `git` is given for a second worktree of the same run
    (`fresh`).
    """

    def __init__(
        self,
        folder: Path,
        workspace: WorkspaceValues,
        uid: int | None,
        *,
        etc: Path,
        git: Path | None = None,
    ) -> None:
        self.folder, self.workspace, self.uid = Path(folder), workspace, uid
        self.tree = self.folder / "tree"
        self._shared = etc
        self._second = git is not None
        self.repository = Repository(git or self.folder / "git")
        self._trees = Checkpoints(self.folder, self.repository)

    # Making and removing

    def create(self, run_id: str) -> tuple[str, int, list[str]]:
        """Make the git directory: the base commit, how many files of the operator's checkout are
        uncommitted (-1: nobody could tell), and what of a plain directory was left out.

        Raises `BadInput` where there is no commit, `Refused` or `Unavailable` where it cannot be
        made; nothing is left then.
        """
        if self.repository.exists():
            raise Refused(f"{self.folder} exists already.")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            root, left_out, count = self.workspace.root, [], 0
            if not os.path.isdir(root):
                raise BadInput(
                    f"The workspace's directory {root} is gone.",
                    remedy="Restore it, or register it anew.",
                    field="workspace",
                )
            if self.workspace.is_git:
                base = self.repository.clone(root, run_id)
                count = uncommitted.count(root, self.repository.objects, base)
            else:
                with tempfile.TemporaryFile(dir=self.folder) as stream:
                    links = mounts.links(self.workspace)
                    left_out = copying.export(root, stream, skip=set(links))
                    stream.seek(0)
                    base = self.repository.init(run_id, stream.fileno())
            self.repository.exclude(self._links_of(base))
            self._prepare_folders()
        except BaseException:
            self.remove()
            raise
        return base, count, left_out

    def _links_of(self, base: str) -> list[str]:
        """Environments that can be linked in: not those that the repository itself holds."""
        objects = self.repository.objects
        tree = objects.tree_of(base)
        return [
            path
            for path in mounts.links(self.workspace)
            if objects.entry(tree, tuple(path.split("/"))) is None
        ]

    def _prepare_folders(self) -> None:
        for name in ("tree", "scratch"):
            path = self.folder / name
            path.mkdir(exist_ok=True)
            if self.uid is not None:
                os.chown(path, self.uid, self.uid)
            path.chmod(0o755)

    def exists(self) -> bool:
        """Whether `create` was done and `remove` was not."""
        return self.repository.exists() and self.tree.is_dir()

    def remove(self) -> None:
        """Delete everything below the folder; a second worktree leaves the run's own alone."""
        if self.folder.exists():
            worktree.remove(self.folder)
        if self.folder.parent.name == _FRESH:
            with suppress(OSError):  # another holder's copy may lie there, too
                self.folder.parent.rmdir()

    # What a cage and an editor need

    def spec(self, label: str = "", *, git: bool = True) -> CageSpec:
        """The cage of this worktree; without `git` it has no view of the git directory."""
        view, linked = self.repository.path, self._linked()
        spec = mounts.spec(self.workspace, self.folder, view, self.uid, label, linked, self._etc)
        return spec if git else mounts.without_git(spec)

    @cached_property
    def _etc(self) -> str:
        return shared_etc(str(self._shared))

    def editor(self) -> Editor:
        """The editor of this worktree."""
        return Editor(self.tree, self.uid, self.folder / "staging")

    def sight(self) -> Sight:
        """What paths and programs are, as seen in this worktree's cage: for the gate."""
        return Sight(self.workspace.root, self.spec())

    def _linked(self) -> dict[str, str]:
        """The links into the worktree, as the exclude file names them."""
        known = mounts.links(self.workspace)
        text = (self.repository.path / "info" / "exclude").read_text()
        names = {re.sub(r"\\(.)", r"\1", line[1:]) for line in text.splitlines()}
        return {path: target for path, target in known.items() if path in names}

    # Worktree and trees

    def populate(self, cage: Cage, name: str) -> None:
        """Fill the empty worktree with a commit's or a tree's files."""
        tree = self.repository.objects.tree_of(name)
        self._trees.populate(cage, tree)
        self._furnish()
        if not self._second and tree == self.repository.objects.tree_of(self.repository.head()):
            self._trees.publish_index()

    def _furnish(self) -> None:
        git = placed(places(self.spec()), caged.GIT)
        worktree.point_to_git(self.tree, self.uid, git)
        self.renew_links()

    def renew_links(self) -> None:
        """Put the links to mounted environments in place again: a command may replace them."""
        linked = self._linked()
        if linked:
            real = places(self.spec())
            linked = {path: placed(real, target) for path, target in linked.items()}
        worktree.link(self.tree, self.uid, linked)

    def open_folders(self, cage: Cage) -> None:
        """Give the owner back the right to search every folder: a command may have taken it."""
        caged.script(cage, caged.OPEN)

    def refresh_index(self, cage: Cage) -> None:
        """Give the view's index stat data again after a commit: `git status` is faster then."""
        self._trees.refresh_index(cage)

    def checkpoint(
        self, cage: Cage, parent: str, label: str, *, left_out: Iterable[str] = ()
    ) -> Checkpoint:
        """The worktree as a tree: tracked and untracked files, not ignored ones, not `left_out`.

        `parent` is a commit or tree. Raises `Refused`, naming it, for a nested repository and for
        anything that git cannot take in.
        """
        return self._trees.take(cage, parent, label, left_out)

    def quick_checkpoint(
        self, parent: str, edits: Iterable[Change], label: str = "edit"
    ) -> Checkpoint | None:
        """The parent's tree with the editor's own edits (path, content or None, permission bits).

        None where only git can tell what the tree is: a new file that may be ignored, an edit of
        the rules themselves, a path inside a submodule. Take a `checkpoint` then.
        """
        return self._trees.quick(parent, edits, label, self._linked())

    def check_nested(self) -> None:
        """Raise `Refused` where a repository lies inside the worktree, naming it."""
        self._trees.check_nested()

    def survey(self) -> Survey:
        """A look at the whole worktree: a fingerprint that tells whether anything was touched, and
        what it holds. Costs no process."""
        return worktree.survey(self.tree)

    def changed(self, since: str) -> bool:
        """Whether anything was touched since that fingerprint."""
        return self.survey().fingerprint != since

    @property
    def bounds(self) -> usage.Bounds:
        """What the worktree may hold."""
        return usage.bounds(self.workspace.limits)

    def restore(self, cage: Cage, name: str) -> str:
        """Bring tracked and untracked files back to a commit or tree; ignored files stay.

        What was there before, as a patch against it ("" where nothing differed).
        """
        self.editor().sweep()
        patch = self._trees.restore(cage, name)
        self._furnish()
        return patch

    def fresh(self, name: str, holder: int = 0) -> RunSpace:
        """A second worktree, empty: `populate` it with `name` in a cage of its own `spec()`, and
        `remove` it. Raises `Unavailable` where there is no such tree.

        `holder` is the fence of who asks. Each has a place of its own, since one that was frozen
        may wake up and clear its own away; what earlier ones left is removed, as far as that goes.
        """
        self.repository.objects.tree_of(name)
        above = self.folder / _FRESH
        above.mkdir(mode=0o700, exist_ok=True)
        for left in list(above.iterdir()):
            if left.name.isdecimal() and int(left.name) < holder:
                with suppress(OSError):  # who made it may be at work in it, or clear it away
                    worktree.remove(left)
        git = self.repository.path
        second = RunSpace(above / str(holder), self.workspace, self.uid, etc=self._shared, git=git)
        second.remove()
        above.mkdir(mode=0o700, exist_ok=True)
        second.folder.mkdir(mode=0o700)
        second._prepare_folders()
        return second

    # What the trees say

    def diff(
        self, before: str, after: str, path: str | None = None, *, binary: bool = False
    ) -> str:
        """The patch from one tree to another; `binary`: whole, in a form that can be applied."""
        return self.repository.diff(before, after, path, binary=binary)

    def changed_files(self, before: str, after: str) -> list[tuple[str, str]]:
        """(A, M or D, path) of every file that differs between two trees, sorted by path."""
        return self.repository.objects.changed(before, after)

    def numstat(self, before: str, after: str) -> tuple[int, int, int]:
        """(files, insertions, deletions) between two trees."""
        return self.repository.numstat(before, after)

    def commit(self, tree: str, parent: str, message: str, ref: str) -> str:
        """Commit a tree onto `ref`, which must be at `parent`; the new commit."""
        return self.repository.commit(tree, parent, message, ref)

    def push(
        self, remote: str, url: str, ref: str, commit: str, expected: str | None
    ) -> push.PushResult:
        """Push a commit to a recorded remote; see `push.push`."""
        return push.push(self.repository, remote, url, ref, commit, expected)
