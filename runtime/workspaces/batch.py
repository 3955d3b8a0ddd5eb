"""Several edits as one: planned in memory, then put in place so that all of them are done or none.

Everything new is written beside the worktree and synced first. Then names are replaced one by one,
new and changed files before any is deleted; what fails is undone from links to what was there. A
crash in between leaves every file as it was or as it will be, so whoever recovers can do the rest
(`plan` with `done`).
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from runtime import faults
from runtime.core.errors import Refused
from runtime.core.patches import FilePatch

from . import edit as edits
from . import staging, tree
from .edit import Edit
from .hunks import patched
from .paths import shown, split_file

MAX_BYTES = 16 << 20
"""Bytes of all files of one patch together, before and after."""
_NEW_FILE, _NEW_PROGRAM = 0o644, 0o755

Current = Callable[[tuple[str, ...]], tuple[bytes, int] | None]
"""Content and permission bits of a file, None where there is none. Raises `Refused`."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The edits of one patch, in the order in which they are put. `moved`: hunks that stood
    elsewhere than they said. `done`: paths that were left out because they are done."""

    edits: tuple[Edit, ...]
    moved: int = 0
    done: frozenset[str] = frozenset()


def plan(files: Sequence[FilePatch], current: Current, done: Collection[str] = ()) -> Batch:
    """What a patch would do now; nothing is written. Raises `Refused` unless all of it can be done."""
    made: list[Edit] = []
    moved = 0
    for change in files:
        found, away = _of_file(change, current, done)
        made += found
        moved += away
    size = sum(len(edit.before or b"") + len(edit.after or b"") for edit in made)
    if size > MAX_BYTES:
        raise Refused(
            f"The patch is about {size} bytes of files; {MAX_BYTES} are possible in one.",
            remedy="Split it.",
        )
    made.sort(key=lambda edit: edit.after is None)  # stable: deletions last
    return Batch(tuple(made), moved, frozenset(done))


def _of_file(change: FilePatch, current: Current, done: Collection[str]) -> tuple[list[Edit], int]:
    """The one or two edits of one file, and how many hunks stood elsewhere."""
    old, new = (_plain(path) for path in (change.old, change.new))
    if new is not None and old is None:
        return ([], 0) if new in done else ([_created(new, change, current)], 0)
    assert old is not None
    if new in done or (new is None and old in done):
        gone = change.renames and old not in done
        return ([_deletion(old, *_present(old, current))] if gone else []), 0
    before, mode = _present(old, current)
    edits.check_text(old, before)
    after, moved = patched(old, before, change)
    if new is None:
        if after:
            raise Refused(
                f"The patch deletes {shown(old)}, but does not hold all of its lines.",
                remedy="Read the file and remove every line of it.",
            )
        return [_deletion(old, before, mode)], moved
    mode_after = _mode(mode, change.executable)
    if new == old:
        if (after, mode_after) == (before, mode):
            raise Refused(f"The patch leaves {shown(old)} as it is: that is no edit.")
        return [edits.make(old, before, after, mode_after, mode)], moved
    _absent(new, current)
    made = replace(edits.make(new, None, after, mode_after), source=old)
    return [made, _deletion(old, before, mode)], moved


def _plain(path: str | None) -> str | None:
    return None if path is None else "/".join(split_file(path))


def _present(path: str, current: Current) -> tuple[bytes, int]:
    found = current(tuple(path.split("/")))
    if found is None:
        raise Refused(
            f"{shown(path)} does not exist; the patch changes what is there.",
            remedy="Give `--- /dev/null` for a new file, or check the path.",
        )
    return found


def _absent(path: str, current: Current) -> None:
    if current(tuple(path.split("/"))) is not None:
        raise Refused(
            f"{shown(path)} exists already; the patch creates it.",
            remedy="Give the change of the file that is there.",
        )


def _created(path: str, change: FilePatch, current: Current) -> Edit:
    _absent(path, current)
    content, _ = patched(path, b"", change)
    return edits.make(path, None, content, _NEW_PROGRAM if change.executable else _NEW_FILE)


def _deletion(path: str, before: bytes, mode: int) -> Edit:
    return edits.make(path, before, None, mode)


def _mode(mode: int, executable: bool | None) -> int:
    """Permission bits with the right to execute for everybody who may read, or for nobody."""
    if executable is None or executable == bool(mode & 0o100):
        return mode
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


# Putting in place


@dataclass(slots=True)
class _Step:
    """One edit that was begun: what is needed to undo it."""

    edit: Edit
    fd: int
    name: str
    kept: str | None = None
    """Name of a link to the old file, in the staging directory."""
    folders: int = 0
    """How many of the directories above were made for it."""
    done: bool = False


def put(root: Path, uid: int | None, folder: Path, batch: Batch) -> None:
    """Do all edits of a batch, or none. Raises `Refused`, or `OSError` where the disk fails.

    Nothing that a command puts in the way is followed: each step is about a name in a directory
    that is held open.
    """
    steps: list[_Step] = []
    with staging.opened(folder) as stage:
        try:
            new = {e.path: staging.write(stage, e.after, e.mode, uid) for e in batch.edits
                   if e.after is not None}  # fmt: skip
            for edit in batch.edits:
                steps.append(_begin(root, uid, edit))
            going = [step for step in steps if step.edit.after is None]
            for step in steps[: len(steps) - len(going)]:
                _do(step, stage, new[step.edit.path])
            _sync(steps)  # what is new is on the disk before anything goes
            for step in going:
                _do(step, stage, None)
            _sync(going)
        except BaseException:
            for step in reversed(steps):
                _undo(step, stage, root)
            raise
        finally:
            for step in steps:
                os.close(step.fd)
    for step in steps:
        if step.edit.after is None:
            _prune(root, step.edit.path)


def _begin(root: Path, uid: int | None, edit: Edit) -> _Step:
    """Hold the directory of a file open, made if it is missing."""
    names = tuple(edit.path.split("/"))
    missing = _missing(root, names) if edit.before is None else 0
    with tree.parent(root, names, create=edit.before is None, uid=uid) as fd:
        about = tree.look(fd, names[-1])
        if about is not None and not stat.S_ISREG(about.st_mode):
            raise tree.not_a_file(names, about, fd)
        if (about is None) != (edit.before is None):
            raise Refused(f"{shown(edit.path)} was changed meanwhile; nothing was written.")
        return _Step(edit, os.dup(fd), names[-1], folders=missing)


def _missing(root: Path, names: tuple[str, ...]) -> int:
    """How many of the directories above a file do not exist."""
    for depth in range(1, len(names)):
        with tree.parent(root, names[:depth]) as fd:
            if tree.look(fd, names[depth - 1]) is None:
                return len(names) - depth
    return 0


def _do(step: _Step, stage: int, new: str | None) -> None:
    faults.hit("edit.before_rename")
    if step.edit.before is not None:
        kept = secrets.token_hex(8)
        os.link(step.name, kept, src_dir_fd=step.fd, dst_dir_fd=stage, follow_symlinks=False)
        step.kept = kept
    if new is None:
        os.unlink(step.name, dir_fd=step.fd)
    elif step.edit.before is None:  # never over a file that somebody made meanwhile
        os.link(new, step.name, src_dir_fd=stage, dst_dir_fd=step.fd, follow_symlinks=False)
    else:
        os.rename(new, step.name, src_dir_fd=stage, dst_dir_fd=step.fd)
    step.done = True
    faults.hit("edit.after_rename")


def _undo(step: _Step, stage: int, root: Path) -> None:
    """As it was, as far as the disk lets us: what stays is decided by hashes later."""
    with suppress(OSError):
        if step.kept is not None:
            os.rename(step.kept, step.name, src_dir_fd=stage, dst_dir_fd=step.fd)
        elif step.done:
            os.unlink(step.name, dir_fd=step.fd)
        os.fsync(step.fd)
    if step.folders:
        _prune(root, step.edit.path, step.folders)


def _sync(steps: Sequence[_Step]) -> None:
    """Each directory once."""
    folders = {(about.st_dev, about.st_ino): step.fd for step in steps
               for about in [os.fstat(step.fd)]}  # fmt: skip
    for fd in folders.values():
        os.fsync(fd)


def _prune(root: Path, path: str, most: int = 1000) -> None:
    """Remove the directories above a file that are empty now, as git does."""
    names = tuple(path.split("/"))
    with suppress(OSError, Refused):
        for depth in range(len(names) - 1, max(0, len(names) - 1 - most), -1):
            with tree.parent(root, names[:depth]) as fd:
                os.rmdir(names[depth - 1], dir_fd=fd)
