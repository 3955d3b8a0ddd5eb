"""The server's own look at a worktree: descriptor-relative, links never followed, no git."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from runtime.core.errors import Refused

from . import tree
from .paths import is_git, shown
from .usage import MAX_ENTRIES, Survey

_MAX_DEPTH = 200
_MAX_PATH = 3000
"""Bytes of a path below the worktree; the kernel takes 4096 in all."""


def survey(root: Path) -> Survey:
    """A digest of every entry's name, kind, size, times and inode number, and what they take up.

    Two equal digests mean that nothing was changed in between: a command cannot set the time of the
    inode's change, and takes longer to start than the clock's tick. Of a directory that cannot be
    read the entry itself counts, and what it holds is nobody's to tell: that is trouble. Of what
    cannot be gone through no two are equal.
    """
    digest = hashlib.blake2b(digest_size=16)
    size = entries = 0
    linked: set[int] = set()
    closed: list[str] = []
    try:
        for where, rows in _walk(root, closed):
            digest.update(repr((where, rows)).encode("utf-8", "surrogateescape"))
            entries += len(rows)
            for *_, inode, blocks, links in rows:
                if links == 1 or inode not in linked:
                    size += blocks * 512
                if links > 1:
                    linked.add(inode)
    except _TooMany:
        return Survey(secrets.token_hex(16), size, MAX_ENTRIES + 1)
    except Refused as refused:
        return Survey(secrets.token_hex(16), size, entries, refused.message)
    trouble = f"The directory {closed[0]} cannot be read." if closed else ""
    return Survey(digest.hexdigest(), size, entries, trouble)


def nested_git(root: Path) -> list[str]:
    """Everything called `.git`, in any letter case, but the one file that belongs at the root.

    Raises `Refused` over `MAX_ENTRIES` and for a directory that cannot be read.
    """
    found = []
    for where, rows in _walk(root):
        for name, mode, *_ in rows:
            ours = not where and name == ".git" and stat.S_ISREG(mode)
            if is_git(name) and not ours:
                found.append("/".join((*where, name)))
    return found


Row = tuple[str, int, int, int, int, int, int, int]
"""Name, mode, size, time of the content's and of the inode's change, inode, blocks, links."""


class _TooMany(Refused):
    """More entries than are gone through."""


def _walk(
    root: Path, closed: list[str] | None = None
) -> Iterator[tuple[tuple[str, ...], list[Row]]]:
    """Each directory with its entries, sorted; subdirectories are entered by descriptor.

    One that cannot be read is a refusal, or, with `closed`, named there where that is for lack of
    rights: one that a background job removed meanwhile is just gone.
    """
    count = 0
    todo: list[tuple[str, ...]] = [()]
    while todo:
        where = todo.pop()
        rows: list[Row] = []
        try:
            with tree.directory(root, where) as fd, os.scandir(fd) as entries:
                for entry in entries:
                    count += 1
                    if count > MAX_ENTRIES:
                        break
                    try:
                        about = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # a background job removed it meanwhile
                    rows.append(
                        (
                            entry.name,
                            about.st_mode,
                            about.st_size,
                            about.st_mtime_ns,
                            about.st_ctime_ns,
                            about.st_ino,
                            about.st_blocks,
                            about.st_nlink,
                        )
                    )
        except (OSError, Refused) as error:
            name = shown("/".join(where) or ".")
            if closed is None:
                raise Refused(f"{name} cannot be read: {error}", remedy="Remove it.") from error
            if isinstance(error, PermissionError) or isinstance(error.__context__, PermissionError):
                closed.append(name)
            rows.clear()
        rows.sort()
        if count > MAX_ENTRIES:
            raise _TooMany(
                f"The worktree has more than {MAX_ENTRIES} entries.",
                remedy="Remove what is not needed, or mount it with --env.",
            )
        inner = [(*where, row[0]) for row in rows if stat.S_ISDIR(row[1])]
        if inner and len(where) >= _MAX_DEPTH:
            raise Refused(
                f"{shown('/'.join(where))[:200]}… is more than {_MAX_DEPTH} directories deep."
            )
        todo += reversed(inner)
        yield where, rows


def point_to_git(root: Path, uid: int | None, git: str) -> None:
    """Put the plain `.git` file at the root, whatever was there: it names `git`, where commands
    find the view. The server never reads it."""
    with tree.directory(root, ()) as fd:
        tree.remove(fd, ".git")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(".git", flags, 0o600, dir_fd=fd), "w") as file:
            file.write(f"gitdir: {git}\n")
            os.fchmod(file.fileno(), 0o644)
            if uid is not None:
                os.fchown(file.fileno(), uid, uid)


def link(root: Path, uid: int | None, links: dict[str, str]) -> None:
    """Make each path (relative) a link to its target; what a command put there goes away."""
    for path, target in links.items():
        names = tuple(path.split("/"))
        with tree.parent(root, names, create=True, uid=uid) as fd:
            about = tree.look(fd, names[-1])
            is_link = about is not None and stat.S_ISLNK(about.st_mode)
            if is_link and os.readlink(names[-1], dir_fd=fd) == target:
                continue
            tree.remove(fd, names[-1])
            os.symlink(target, names[-1], dir_fd=fd)
            if uid is not None:
                os.chown(names[-1], uid, uid, dir_fd=fd, follow_symlinks=False)


def trim(root: Path) -> None:
    """Delete directories whose path is longer than git can take: a command makes them name by
    name. Nothing else may work in the worktree."""
    todo: list[tuple[str, ...]] = [()]
    while todo:
        where = todo.pop()
        try:
            with tree.directory(root, where) as fd:
                for name in os.listdir(fd):
                    about = tree.look(fd, name)
                    if about is None or not stat.S_ISDIR(about.st_mode):
                        continue
                    if len(os.fsencode("/".join((*where, name)))) > _MAX_PATH:
                        tree.remove(fd, name)
                    else:
                        todo.append((*where, name))
        except Refused:
            continue  # one that is not readable is made so by git's script, in the cage


def remove(folder: Path) -> None:
    """Delete a directory and everything in it, however deep, also what a command made
    unwritable."""
    fd = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        tree.remove(fd, folder.name)
    finally:
        os.close(fd)
