"""Reading a file by lines, and listing a directory, with bounds on everything."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from runtime.core.errors import Refused

from . import tree
from .paths import is_git, shown, split, split_file

MAX_PAGE = 48 << 10
"""Bytes of text in one answer."""
MAX_LINE = 4000
"""Characters of one line that are shown."""
MAX_SCAN = 64 << 20
"""Bytes of a file that are gone through to reach a page."""
MAX_LINES = 2000
MAX_ENTRIES = 2000


@dataclass(frozen=True, slots=True)
class Page:
    """Lines `first` to `last` (from 1) of a file. `more` says that lines follow."""

    path: str
    first: int
    last: int
    lines: tuple[str, ...]
    size: int
    more: bool

    def text(self) -> str:
        """The lines as they are, with a marker where something is left out."""
        head = f"[{shown(self.path)}: from line {self.first}]\n" if self.first > 1 else ""
        body = "".join(self.lines)
        if not self.more:
            return head + body
        gap = "" if body.endswith("\n") or not body else "\n"
        return f"{head}{body}{gap}[… more: continue with offset {self.last + 1} …]\n"


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of one directory, sorted: name, what it is, size in bytes (files only)."""

    path: str
    entries: tuple[tuple[str, str, int], ...]
    left_out: int

    def text(self) -> str:
        """One entry a line; a directory ends with a slash."""
        rows = []
        for name, what, size in self.entries:
            if what == "a directory":
                rows.append(f"{shown(name)}/")
            elif what == "a file":
                rows.append(f"{shown(name)}  {size} bytes")
            else:
                rows.append(f"{shown(name)}  ({what})")
        if self.left_out:
            rows.append(f"[… {self.left_out} more entries …]")
        return "\n".join(rows) + "\n" if rows else "(empty)\n"


def read(root: Path, path: str, max_bytes: int) -> bytes:
    """The whole file. Raises `Refused`, also where it has more than `max_bytes`."""
    names = split_file(path)
    with tree.parent(root, names) as fd, os.fdopen(tree.open_file(fd, names), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(max_bytes + 1) if size <= max_bytes else b""
    if size > max_bytes or len(data) > max_bytes:
        raise Refused(
            f"{shown(path)} has {max(size, len(data))} bytes; {max_bytes} are possible.",
            remedy="Read it by lines, with offset and limit.",
        )
    return data


def read_lines(root: Path, path: str, offset: int | None, limit: int | None) -> Page:
    """Lines from `offset` (from 1) on, at most `limit`, `MAX_LINES` and `MAX_PAGE` bytes.

    Raises `Refused`: no regular file, no UTF-8 text, beyond the end, more than `MAX_SCAN` ahead.
    """
    names = split_file(path)
    first, most = offset or 1, min(limit or MAX_LINES, MAX_LINES)
    with tree.parent(root, names) as fd, os.fdopen(tree.open_file(fd, names), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        passed = scanned = 0
        while passed < first - 1:
            line = file.readline(MAX_PAGE)
            scanned += len(line)
            passed += line.endswith(b"\n")
            if scanned > MAX_SCAN:
                raise Refused(
                    f"Line {first} of {shown(path)} lies beyond {MAX_SCAN} bytes.",
                    remedy="Use a program such as sed to cut the part that is needed.",
                )
            if not line:
                break
        kept: list[str] = []
        used, more = 0, False
        while len(kept) < most:
            line, whole = _line(file.readline(MAX_PAGE), file)
            if not line:
                break
            text = _shown_line(path, line, whole, first + len(kept))
            used += len(text.encode())
            if kept and used > MAX_PAGE:
                more = True
                break
            kept.append(text)
        more = more or bool(file.read(1))
    if not kept and first > 1:
        raise Refused(
            f"{shown(path)} has {passed} line ends; there is no line {first}.",
            remedy="Give a smaller offset.",
        )
    return Page("/".join(names), first, first + len(kept) - 1, tuple(kept), size, more)


def _line(line: bytes, file: BinaryIO) -> tuple[bytes, bool]:
    """A line and whether it is whole; of one that is too long the rest is skipped."""
    if len(line) < MAX_PAGE or line.endswith(b"\n"):
        return line, True
    skipped = 0
    while skipped < MAX_SCAN:
        rest = file.readline(1 << 20)
        skipped += len(rest)
        if not rest or rest.endswith(b"\n"):
            break
    return line, False


def _shown_line(path: str, line: bytes, whole: bool, number: int) -> str:
    if b"\0" in line:
        raise Refused(f"{shown(path)} is binary: line {number} holds a NUL byte.")
    try:
        text = line.decode() if whole else line.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        raise Refused(f"{shown(path)} is not UTF-8 text (line {number}).") from None
    if whole and len(text) <= MAX_LINE:
        return text
    return f"{text[:MAX_LINE]}[… line of more than {MAX_LINE} characters cut …]\n"


def list_dir(root: Path, path: str | None) -> Listing:
    """The entries of a directory; git's own is left out. Raises `Refused`."""
    names = split(path or ".")
    entries: list[tuple[str, str, int]] = []
    count = 0
    with tree.directory(root, names) as fd, os.scandir(fd) as found:
        for entry in found:
            if is_git(entry.name):
                continue
            count += 1
            if len(entries) < MAX_ENTRIES:
                about = tree.look(fd, entry.name)
                if about is not None:
                    size = about.st_size if stat.S_ISREG(about.st_mode) else 0
                    entries.append((entry.name, tree.kind(about.st_mode), size))
    return Listing("/".join(names) or ".", tuple(sorted(entries)), max(0, count - MAX_ENTRIES))
