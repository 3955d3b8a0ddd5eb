"""What a cage must lay something over in a directory of the host: its `.git`, sockets, and what
rules deny (`denied`).

The directory may hold anything that earlier commands left: links, names without end, directories
deeper than a path can say. So one descriptor walks down and up again, and no link is followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from runtime.core.errors import BadInput

PATH_BYTES = 3800  # of what is covered; more could not be mounted over
_DOWN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
Look = Callable[[int, list[str]], list[str]]


def find(root: str, account: int) -> dict[str, int]:
    """File type by relative path: `.git` if it is a real directory, then every socket.

    Raises BadInput for a directory that belongs to `account`, so that a command could open it, but
    that cannot be searched; for a socket too deep to be covered; and where somebody moves
    directories meanwhile.
    """
    found: dict[str, int] = {}
    if kind(root, ".git") == stat.S_IFDIR:
        found[".git"] = stat.S_IFDIR

    def socket_at(path: list[str]) -> None:
        name = "/".join(path)
        if len(os.fsencode(root)) + len(os.fsencode(name)) > PATH_BYTES:
            raise BadInput(
                f"A socket lies too deep to be covered: {root}/{name[:80]}…",
                remedy="Remove it.", field="root",
            )  # fmt: skip
        found[name] = stat.S_IFSOCK

    walk(root, account, lambda at, path: _read(at, path, socket_at), "sockets")
    return found


def kind(root: str, name: str) -> int:
    """The file type of `root/name`, 0 if it is gone or a link is on the way."""
    at = os.open(root, os.O_PATH | os.O_CLOEXEC)
    try:
        for part in name.split("/"):
            below = os.open(part, _LOOK, dir_fd=at)
            os.close(at)
            at = below
        return stat.S_IFMT(os.fstat(at).st_mode)
    except OSError:
        return 0
    finally:
        os.close(at)


def walk(root: str, account: int, look: Look, what: str) -> None:
    """Every directory below `root`, by descriptors alone. `look` gets one open and its path, and
    gives the names of those in it to go into. Raises as `find`; `what` is searched for."""
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        path: list[str] = []
        folders = [look(at, path)]
        places = [_place(at)]
        while folders:
            if folders[-1]:
                name = folders[-1].pop()
                below = _enter(at, name, (root, path, account, what))
                if below is not None:
                    os.close(at)
                    at = below
                    path.append(name)
                    folders.append(look(at, path))
                    places.append(_place(at))
                continue
            folders.pop()
            places.pop()
            if folders:
                above = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
                os.close(at)
                at = above
                path.pop()
                if _place(at) != places[-1]:
                    raise BadInput(
                        f"{root} changes while it is searched for {what}.",
                        remedy="Try again when nothing else works in it.", field="root",
                    )  # fmt: skip
    finally:
        os.close(at)


def _read(at: int, path: list[str], socket_at: Callable[[list[str]], None]) -> list[str]:
    """The names of the directories in `at`; sockets are reported."""
    folders = []
    with os.scandir(at) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif not entry.is_file(follow_symlinks=False) and not entry.is_symlink():
                mode = os.stat(entry.name, dir_fd=at, follow_symlinks=False).st_mode
                if stat.S_ISSOCK(mode):
                    socket_at([*path, entry.name])
    return folders


def _enter(at: int, name: str, about: tuple[str, list[str], int, str]) -> int | None:
    """A directory below `at`, None for one that is not there or that no command could open."""
    root, path, account, what = about
    try:
        return os.open(name, _DOWN, dir_fd=at)
    except FileNotFoundError:
        return None
    except OSError as error:
        try:
            owner = os.stat(name, dir_fd=at, follow_symlinks=False).st_uid
        except OSError:
            owner = account
        if owner != account:
            return None
        shown = "/".join([root, *path, name])[:200]
        raise BadInput(
            f"{shown} cannot be searched for {what}: {error.strerror}.",
            remedy="Make it readable or remove it.", field="root",
        ) from error  # fmt: skip


def _place(fd: int) -> tuple[int, int]:
    about = os.fstat(fd)
    return about.st_dev, about.st_ino
