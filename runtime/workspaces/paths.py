"""A path as a model writes it, split into names below the worktree. Pure."""

from __future__ import annotations

from runtime.core.errors import Refused

MAX_PATH = 4096
MAX_NAME = 255
"""Bytes, as the kernel counts them."""


def split(path: str) -> tuple[str, ...]:
    """The names of a path below the worktree; `()` is the worktree itself.

    `./a`, `a/./b`, `a//b` and `a/` mean what they mean everywhere. Raises `Refused` for what
    leads out or names the repository's own files.
    """
    if not path:
        raise Refused("The path is empty.", remedy="Name a path relative to the worktree.")
    if "\0" in path:
        raise Refused("The path holds a NUL character.", remedy="Leave it out.")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise Refused("The path is not valid Unicode text.", remedy="Correct it.") from None
    if size > MAX_PATH:
        raise Refused(f"The path has {size} bytes; {MAX_PATH} are possible.", remedy="Shorten it.")
    if path.startswith("/"):
        raise Refused(
            f"{shown(path)} is absolute.", remedy="Give the path relative to the worktree."
        )
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    for name in names:
        if name == "..":
            raise Refused(
                f"{shown(path)} holds `..`.", remedy="Give the path from the worktree's root."
            )
        if is_git(name):
            raise Refused(f"{shown(path)} belongs to git.", remedy="Use the git actions.")
        if len(name.encode()) > MAX_NAME:
            raise Refused(
                f"A name in the path has more than {MAX_NAME} bytes.", remedy="Shorten it."
            )
    return names


def split_file(path: str) -> tuple[str, ...]:
    """As `split`, for a path that must be able to name a file."""
    names = split(path)
    if not names or path.endswith(("/", "/.")):
        raise Refused(f"{shown(path)} names a directory.", remedy="Name a file in it.")
    return names


def is_git(name: str) -> bool:
    """Whether git could take a name for a repository: `.git` in any letter case."""
    return name.lower() == ".git"


def shown(text: str) -> str:
    """A path as one visible line: control characters and bytes that are no text are escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )
