"""The editor: reads and edits the files of one worktree for a model.

Edits take only an `Authorised` value. A file is replaced whole: written beside the worktree,
synced, renamed over the old one, the directory synced; so a crash leaves the old or the new
content, and never a stray file among the run's own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

from runtime import faults
from runtime.core.actions import ApplyPatch, ReplaceText, WriteFile
from runtime.core.digests import sha256
from runtime.core.errors import Refused
from runtime.core.patch_names import InvalidPatch
from runtime.core.patches import parse
from runtime.policy.authorised import Authorised

from . import batch, reading, searching, staging, tree
from . import edit as edits
from .batch import Batch
from .edit import MAX_FILE, Edit, state
from .paths import shown, split_file
from .reading import Listing, Page
from .searching import Found

_NEW_FILE = 0o644
T = TypeVar("T", WriteFile, ReplaceText, ApplyPatch)


class Editor:
    """Files below `root`. `uid` owns what is written, None for the account that this runs as.

    `staging` is a directory of the server's own on the same file system (default: `staging`
    beside the worktree); it is made if it is missing.
    """

    def __init__(self, root: Path, uid: int | None, staging: Path | None = None) -> None:
        self._root, self._uid = Path(root), uid
        self._staging = staging or self._root.parent / "staging"

    def read(self, path: str, max_bytes: int = MAX_FILE) -> bytes:
        """A whole file. Raises `Refused`."""
        return reading.read(self._root, path, max_bytes)

    def read_lines(self, path: str, offset: int | None = None, limit: int | None = None) -> Page:
        """A page of a text file, from line `offset` (1 is the first) on. Raises `Refused`."""
        return reading.read_lines(self._root, path, offset, limit)

    def list_dir(self, path: str | None = None) -> Listing:
        """The entries of a directory. Raises `Refused`."""
        return reading.list_dir(self._root, path)

    def glob(self, pattern: str, path: str | None = None) -> Found:
        """Paths that fit a pattern. Raises `Refused`."""
        return searching.glob(self._root, pattern, path)

    def grep(self, pattern: str, path: str | None = None, ignore_case: bool = False) -> Found:
        """Lines that match a regular expression. Raises `Refused`."""
        return searching.grep(self._root, pattern, path, ignore_case)

    def plan(self, action: WriteFile | ReplaceText) -> Edit:
        """What the action would do now; nothing is written. Raises `Refused`."""
        if isinstance(action, ReplaceText):
            return self._plan_replace(action)
        return self._plan_write(action)

    def write(self, authorised: Authorised[WriteFile], planned: Edit | None = None) -> Edit:
        """Create a file, or replace it whole. Raises `Refused`; the file is then unchanged.

        With `planned` also where the file is no longer what it was when that was made.
        """
        return self._put(self._plan_write(_subject(authorised, WriteFile)), planned)

    def replace(self, authorised: Authorised[ReplaceText], planned: Edit | None = None) -> Edit:
        """Replace the one occurrence of a text in a file. Raises `Refused` as `write` does."""
        return self._put(self._plan_replace(_subject(authorised, ReplaceText)), planned)

    def plan_patch(self, action: ApplyPatch, done: Collection[str] = ()) -> Batch:
        """What a patch would do now; nothing is written. `done`: paths that are as they should be
        already, after a crash. Raises `Refused` unless all the rest can be done."""
        try:
            files = parse(action.patch)
        except InvalidPatch as error:
            raise Refused(str(error), remedy="Give a unified diff as git writes it.") from None
        return batch.plan(files, self._current, done)

    def apply(self, authorised: Authorised[ApplyPatch], planned: Batch) -> Batch:
        """Apply a patch, all of it or nothing. Raises `Refused`, also where a file is no longer
        what it was when `planned` was made; every file is then unchanged."""
        made = self.plan_patch(_subject(authorised, ApplyPatch), planned.done)
        if made != planned:
            raise Refused(
                "A file of the patch was changed meanwhile; nothing was written.",
                remedy="Read the files again and repeat the patch.",
            )
        batch.put(self._root, self._uid, self._staging, made)
        return made

    def state(self, path: str) -> str:
        """A file as it is now, in the words of the record (see `edit.state`). Raises `Refused`."""
        found = self._current(split_file(path))
        return "" if found is None else state(sha256(found[0]), found[1])

    def current_sha(self, path: str) -> str | None:
        """The hash of a file as it is now, None where there is none: decides after a crash
        whether an edit was done. Raises `Refused`."""
        found = self._current(split_file(path))
        return None if found is None else sha256(found[0])

    def _plan_write(self, action: WriteFile) -> Edit:
        names = split_file(action.path)
        path, content = "/".join(names), action.content.encode()
        found = self._current(names)
        if found is None:
            return edits.make(path, None, content, _NEW_FILE)
        return edits.make(path, found[0], content, found[1])

    def _plan_replace(self, action: ReplaceText) -> Edit:
        names = split_file(action.path)
        path = "/".join(names)
        found = self._current(names)
        if found is None:
            raise Refused(
                f"{shown(path)} does not exist; replace_text changes what is there.",
                remedy="Create the file with write_file.",
            )
        before, mode = found
        edits.check_text(path, before)
        after = edits.replaced(path, before, action.expected, action.replacement)
        return edits.make(path, before, after, mode)

    def _current(self, names: tuple[str, ...]) -> tuple[bytes, int] | None:
        """Content and permission bits, None where the file or a directory above is missing."""
        for depth in range(1, len(names)):
            with tree.parent(self._root, names[:depth]) as fd:
                if tree.look(fd, names[depth - 1]) is None:
                    return None
        with tree.parent(self._root, names) as fd:
            if tree.look(fd, names[-1]) is None:
                return None
            with os.fdopen(tree.open_file(fd, names), "rb") as file:
                about = os.fstat(file.fileno())
                data = file.read(MAX_FILE + 1) if about.st_size <= MAX_FILE else b""
        if max(about.st_size, len(data)) > MAX_FILE:
            raise Refused(
                f"{shown('/'.join(names))} has {about.st_size} bytes; a file that is edited may"
                f" have {MAX_FILE}.",
                remedy="Change it with a program.",
            )
        return data, stat.S_IMODE(about.st_mode) & 0o777

    def _put(self, edit: Edit, planned: Edit | None) -> Edit:
        """Do the edit. What a command could put in the way meanwhile is not followed: the last
        step replaces a name in a directory that is held open."""
        if planned is not None and planned != edit:
            raise Refused(
                f"{shown(edit.path)} was changed meanwhile; nothing was written.",
                remedy="Read it again and repeat the edit.",
            )
        names = tuple(edit.path.split("/"))
        temporary, staging = self._stage(edit)
        try:
            with tree.parent(self._root, names, create=True, uid=self._uid) as fd:
                about = tree.look(fd, names[-1])
                if about is not None and not stat.S_ISREG(about.st_mode):
                    raise tree.not_a_file(names, about, fd)
                faults.hit("edit.before_rename")
                os.rename(temporary, names[-1], src_dir_fd=staging, dst_dir_fd=fd)
                os.fsync(fd)
            faults.hit("edit.after_rename")
        except BaseException:
            if tree.look(staging, temporary) is not None:
                os.unlink(temporary, dir_fd=staging)
            raise
        finally:
            os.close(staging)
        return edit

    def _stage(self, edit: Edit) -> tuple[str, int]:
        """The new content under a temporary name, and the directory that holds it."""
        self._staging.mkdir(mode=0o700, exist_ok=True)
        folder = os.open(self._staging, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            return staging.write(folder, edit.after, edit.mode, self._uid), folder
        except BaseException:
            os.close(folder)
            raise

    def sweep(self) -> int:
        """Remove what a crash left in the staging directory; how many files that were."""
        if not self._staging.is_dir():
            return 0
        left = list(self._staging.iterdir())
        for path in left:
            path.unlink()
        return len(left)


def _subject(authorised: Authorised[T], kind: type[T]) -> T:
    """The action, if the value says that the gate or a person allowed it."""
    if not isinstance(authorised, Authorised) or authorised.source not in ("gate", "approval"):
        raise TypeError("an edit needs an Authorised value of the gate or of an approval")
    if not isinstance(authorised.subject, kind):
        raise TypeError(f"authorised is {type(authorised.subject).__name__}, not {kind.__name__}")
    return authorised.subject
