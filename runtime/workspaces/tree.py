"""Access to the files of one worktree: relative to descriptors, never through a link.

Commands of the run may have left anything behind, so every component is opened with
O_NOFOLLOW below the descriptor of its parent; no name is resolved twice.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.core.errors import Refused

from .paths import shown

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFREG: "a file",
}


def kind(mode: int) -> str:
    """What a file's mode says it is, for people."""
    return _KINDS.get(stat.S_IFMT(mode), "no regular file")


@contextmanager
def directory(root: Path, names: tuple[str, ...]) -> Iterator[int]:
    """A descriptor of the directory `names` below `root`. Raises `Refused`."""
    fd = os.open(root, _DIRECTORY)
    try:
        for depth in range(len(names)):
            fd = _enter(fd, names[: depth + 1])
        yield fd
    finally:
        os.close(fd)


@contextmanager
def parent(
    root: Path, names: tuple[str, ...], *, create: bool = False, uid: int | None = None
) -> Iterator[int]:
    """A descriptor of the directory that holds the last of `names`. Raises `Refused`.

    With `create`, directories that are missing are made (mode 0755, owned by `uid`).
    """
    fd = os.open(root, _DIRECTORY)
    try:
        for depth in range(len(names) - 1):
            if create:
                _make(fd, names[depth], uid)
            fd = _enter(fd, names[: depth + 1])
        yield fd
    finally:
        os.close(fd)


def _make(fd: int, name: str, uid: int | None) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=fd)
    except FileExistsError:
        return
    made = os.open(name, _DIRECTORY, dir_fd=fd)
    try:
        if uid is not None:
            os.fchown(made, uid, uid)
        os.fchmod(made, 0o755)
    finally:
        os.close(made)


def _enter(fd: int, names: tuple[str, ...]) -> int:
    """The descriptor of the last of `names`, in place of `fd`, which is closed. On an error `fd`
    stays open for the caller to close."""
    try:
        below = os.open(names[-1], _DIRECTORY, dir_fd=fd)
    except OSError as error:
        raise refusal(error, fd, names) from None
    os.close(fd)
    return below


def look(fd: int, name: str) -> os.stat_result | None:
    """`lstat` of a name in a directory, None where it does not exist."""
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def remove(fd: int, name: str) -> None:
    """Delete `name` in the directory `fd` with everything in it, also what a command made
    unwritable. Nothing else may work in it.

    However deep it is: a directory that is found is put beside the others first, so no path and
    no stack grows.
    """
    about = look(fd, name)
    if about is None:
        return
    if not stat.S_ISDIR(about.st_mode):
        os.unlink(name, dir_fd=fd)
        return
    os.chmod(name, 0o700, dir_fd=fd)
    top = os.open(name, _DIRECTORY, dir_fd=fd)
    try:
        todo, moved = _empty(top, top, ""), secrets.token_hex(8)
        count = 0
        while todo:
            here = os.open(todo[-1], _DIRECTORY, dir_fd=top)
            try:
                inner = _empty(here, top, f"{moved}.{count}.")
            finally:
                os.close(here)
            os.rmdir(todo.pop(), dir_fd=top)
            todo += inner
            count += 1
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=fd)


def _empty(fd: int, top: int, prefix: str) -> list[str]:
    """Delete the files of `fd` and move its directories to `top`: their names there."""
    with os.scandir(fd) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    folders: list[str] = []
    for name, is_directory in found:
        if not is_directory:
            os.unlink(name, dir_fd=fd)
            continue
        os.chmod(name, 0o700, dir_fd=fd)
        place = f"{prefix}{len(folders)}" if prefix else name
        if prefix:
            os.rename(name, place, src_dir_fd=fd, dst_dir_fd=top)
        folders.append(place)
    return folders


def open_file(fd: int, names: tuple[str, ...]) -> int:
    """A read descriptor of the regular file `names[-1]` in the directory `fd`.

    Raises `Refused` with the reason: missing, a link, a directory, a pipe, a device, unreadable.
    """
    about = look(fd, names[-1])
    if about is None:
        raise Refused(f"{_path(names)} does not exist.", remedy="Check the path.")
    if not stat.S_ISREG(about.st_mode):
        raise not_a_file(names, about, fd)
    try:
        opened = os.open(names[-1], _FILE, dir_fd=fd)
    except OSError as error:
        raise refusal(error, fd, names) from None
    now = os.fstat(opened)
    if not stat.S_ISREG(now.st_mode):  # swapped between look and open
        os.close(opened)
        raise not_a_file(names, now, fd)
    return opened


def not_a_file(names: tuple[str, ...], about: os.stat_result, fd: int) -> Refused:
    """Why something that exists is not taken for a file."""
    if stat.S_ISLNK(about.st_mode):
        try:
            target = shown(os.readlink(names[-1], dir_fd=fd))
        except OSError:
            target = "another place"
        return Refused(
            f"{_path(names)} is a symbolic link to {target}; links are not followed.",
            remedy="Name the file itself.",
        )
    return Refused(f"{_path(names)} is {kind(about.st_mode)}.", remedy="Name a regular file.")


def refusal(error: OSError, fd: int, names: tuple[str, ...]) -> Refused:
    """A refusal that says what stands in the way."""
    about = None
    if not isinstance(error, FileNotFoundError):
        try:
            about = look(fd, names[-1])
        except OSError:
            about = None
    if isinstance(error, FileNotFoundError):
        return Refused(f"{_path(names)} does not exist.", remedy="Check the path.")
    if about is not None and stat.S_ISLNK(about.st_mode):
        return not_a_file(names, about, fd)
    if (
        about is not None
        and not stat.S_ISDIR(about.st_mode)
        and isinstance(error, NotADirectoryError)
    ):
        return Refused(
            f"{_path(names)} is {kind(about.st_mode)}, not a directory.", remedy="Check the path."
        )
    return Refused(f"{_path(names)} cannot be opened: {error.strerror}.", remedy="Check the path.")


def _path(names: tuple[str, ...]) -> str:
    return shown("/".join(names))
