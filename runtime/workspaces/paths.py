"""A path as a model writes it, split into names below the worktree. Pure."""

from __future__ import annotations

import os
import re

from runtime.core.errors import Refused

MAX_PATH = 4096
MAX_NAME = 255
"""Bytes, as the kernel counts them."""
_UNSEEN = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
"""Characters that the file system of macOS leaves out of a name."""
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\')


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
    """Whether git could take a name for a repository, on any system: `.git` in any letter case,
    and what file systems of Windows and macOS hold to be the same name."""
    parts = name.translate(_UNSEEN).lower().split("\\")
    return any(part.partition(":")[0].rstrip(" .") in (".git", "git~1") for part in parts)


def written(path: str) -> str:
    """A path of the file system as text for the record: one that is not UTF-8, or that could be
    taken for such, stands in quotes with its bytes as escapes. `unwritten` undoes it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        pass
    else:
        if not path.startswith('"'):
            return path
    raw = os.fsencode(path)
    return '"' + "".join(chr(b) if b in _PLAIN else f"\\x{b:02x}" for b in raw) + '"'


def unwritten(text: str) -> str:
    """The path that `written` made a text of."""
    if not text.startswith('"'):
        return text
    plain = re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text[1:-1])
    return os.fsdecode(plain.encode("latin-1"))


def shown(text: str) -> str:
    """A path as one visible line: control characters and bytes that are no text are escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )
