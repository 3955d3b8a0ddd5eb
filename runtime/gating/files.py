"""Policy files on disk: `<data>/policy/`, outside every repository. Read whole, or not at all.

A name that no layer has is a fault, so that a mistyped file is not silently without effect.
Hidden files and files without `.toml` are nobody's.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from django.conf import settings

from runtime.policy.language import MAX_FILE, Document, Fault, place_of, read
from runtime.policy.rules import RuleLayer

MAX_FILES = 1000
MAX_DEPTH = 3
TRIES = 5
"""How often files are read that change meanwhile."""

Signature = tuple[tuple[str, int, int, int], ...]
"""Of every file: name, size, time of change, inode. Equal signatures: nothing changed."""


def folder() -> Path:
    """Where the files are."""
    path: Path = settings.M31A.DATA_DIR / "policy"
    return path


def signature(root: Path) -> Signature:
    """What is there now. A folder that does not exist is an empty one. Raises `OSError`."""
    found: list[tuple[str, int, int, int]] = []
    try:
        _scan(root, "", 0, found)
    except FileNotFoundError:
        if root.is_dir():
            raise  # a file went while we looked: not a state to be judged
        return ()
    return tuple(sorted(found))


def _scan(root: Path, below: str, depth: int, found: list[tuple[str, int, int, int]]) -> None:
    with os.scandir(root / below) as entries:
        for entry in entries:
            name = f"{below}{entry.name}"
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                if depth < MAX_DEPTH:
                    _scan(root, f"{name}/", depth + 1, found)
            elif entry.name.endswith(".toml") and len(found) <= MAX_FILES:
                about = entry.stat()
                found.append((name, about.st_size, about.st_mtime_ns, about.st_ino))


def together(root: Path) -> tuple[Signature, list[Document]]:
    """The files as they are at one moment, each with its faults. Raises `OSError`, also where they
    change all the time."""
    for _ in range(TRIES):
        seen = signature(root)
        found = documents(root, [name for name, *_ in seen])
        if signature(root) == seen:
            return seen, found
    raise OSError(errno.EAGAIN, "the files change while they are read")


def documents(root: Path, names: list[str]) -> list[Document]:
    """The files, each with its faults. Never raises."""
    if len(names) > MAX_FILES:
        return [broken(str(root), f"more than {MAX_FILES} files are no policy")]
    return [_document(root, name) for name in names]


def _document(root: Path, name: str) -> Document:
    try:
        number, subject = place_of(name)
    except ValueError as error:
        return broken(name, str(error))
    try:
        text = text_of(root / name)
    except OSError as error:
        return broken(name, f"it cannot be read: {error.strerror}")
    except ValueError as error:
        return broken(name, str(error))
    return read(name, text, number, subject)


def text_of(path: Path) -> str:
    """The text of a policy file. Raises `OSError` or `ValueError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is no file")
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise ValueError(f"it is over {MAX_FILE} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8 text: {error.reason} at byte {error.start}") from None


def broken(name: str, message: str) -> Document:
    """A document that is nothing but its fault."""
    return Document(name, "", "", RuleLayer(1, "", ()), 0, (Fault(name, "", "", message),))
