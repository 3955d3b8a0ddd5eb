"""Finding files by pattern and lines by regular expression, with bounds on time and output."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints, TypeAdapter
from pydantic_core import SchemaError

from runtime.core.errors import Refused

from . import tree
from .paths import is_git, shown, split

MAX_SECONDS = 5.0
MAX_VISITED = 200_000
MAX_PATHS = 1000
MAX_MATCHES = 500
MAX_PATTERN = 1000
MAX_LINE = 4096
"""Bytes of a line that are searched and shown."""
MAX_FILE = 8 << 20
_MAX_DEPTH = 100
_SHOWN = 400


@dataclass(frozen=True, slots=True)
class Found:
    """Lines of an answer, and what was left out of it ("" where nothing was)."""

    lines: tuple[str, ...]
    cut: str

    def text(self) -> str:
        """One hit a line, with a marker where the search ended early."""
        rows = [*self.lines, *([f"[… {self.cut} …]"] if self.cut else [])]
        return "\n".join(rows) + "\n" if rows else "(nothing found)\n"


class _Ended(Exception):
    """A bound was reached; its text says which."""


def glob(root: Path, pattern: str, path: str | None) -> Found:
    """Files below `path` whose path from there fits the pattern (`*`, `?`, `[…]`, `**`).

    Links are listed, not followed. Raises `Refused`.
    """
    below = split(path or ".")
    fits = _path_test(pattern)
    hits: list[str] = []
    deadline = time.monotonic() + MAX_SECONDS
    cut = ""
    try:
        for names, mode, _, _ in _walk(root, below, deadline):
            if not stat.S_ISDIR(mode) and fits(names[len(below) :]):
                if len(hits) == MAX_PATHS:
                    raise _Ended(f"more than {MAX_PATHS} files fit")
                hits.append(shown("/".join(names)))
    except _Ended as end:
        cut = str(end)
    return Found(tuple(sorted(hits)), cut)


def grep(root: Path, pattern: str, path: str | None, ignore_case: bool = False) -> Found:
    """Lines that the regular expression matches, in one file or in all below a directory.

    The engine takes time linear in the line for every expression that it accepts; it knows no
    look-around and no back-reference. Binary files and files over `MAX_FILE` are passed over.
    Raises `Refused`.
    """
    below = split(path or ".")
    matches = _line_test(pattern, ignore_case)
    deadline = time.monotonic() + MAX_SECONDS
    hits: list[str] = []
    cut, unread = "", 0
    try:
        if below and not _is_directory(root, below):
            with tree.parent(root, below) as fd:
                _grep_file(fd, below, matches, deadline, hits)
        else:
            for names, mode, size, fd in _walk(root, below, deadline):
                if not stat.S_ISREG(mode):
                    continue
                if size > MAX_FILE:
                    unread += 1
                    continue
                try:
                    _grep_file(fd, names, matches, deadline, hits)
                except Refused:
                    unread += 1
    except _Ended as end:
        cut = str(end)
    if unread and not cut:
        cut = f"{unread} files are too large or cannot be read"
    return Found(tuple(hits), cut)


def _is_directory(root: Path, names: tuple[str, ...]) -> bool:
    with tree.parent(root, names) as fd:
        about = tree.look(fd, names[-1])
    return about is not None and stat.S_ISDIR(about.st_mode)


def _grep_file(
    fd: int,
    names: tuple[str, ...],
    matches: Callable[[str], bool],
    deadline: float,
    hits: list[str],
) -> None:
    with os.fdopen(tree.open_file(fd, names), "rb") as file:
        data = file.read(MAX_FILE)
    if b"\0" in data[:8192]:
        return
    name = shown("/".join(names))
    for number, raw in enumerate(data.split(b"\n"), 1):
        if number % 256 == 0 and time.monotonic() > deadline:
            raise _Ended(f"the search ended after {MAX_SECONDS:g} seconds")
        line = raw[:MAX_LINE].decode("utf-8", "replace").rstrip("\r")
        if line and matches(line):
            if len(hits) == MAX_MATCHES:
                raise _Ended(f"more than {MAX_MATCHES} lines match")
            more = "…" if len(line) > _SHOWN else ""
            hits.append(f"{name}:{number}:{line[:_SHOWN]}{more}")
    if time.monotonic() > deadline:
        raise _Ended(f"the search ended after {MAX_SECONDS:g} seconds")


def _line_test(pattern: str, ignore_case: bool) -> Callable[[str], bool]:
    if len(pattern) > MAX_PATTERN:
        raise Refused(
            f"The pattern has {len(pattern)} characters; {MAX_PATTERN} are possible.",
            remedy="Search for less.",
        )
    wanted = f"(?i){pattern}" if ignore_case else pattern
    try:
        adapter = TypeAdapter(Annotated[str, StringConstraints(pattern=wanted)])
    except SchemaError as error:
        said = str(error).strip().splitlines()[-1].removeprefix("error: ").strip()
        raise Refused(
            f"The regular expression is not accepted: {said}.",
            remedy="Look-around and back-references are not known here.",
        ) from None
    return adapter.validator.isinstance_python


def _path_test(pattern: str) -> Callable[[tuple[str, ...]], bool]:
    """Whether the names of a path fit. `**` stands for any number of directories.

    States are followed all at once, so that no pattern takes more than its length times the
    path's.
    """
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise Refused(
            f"The pattern {shown(pattern)} leads out of the worktree.",
            remedy="Give it relative to the worktree.",
        )
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if not parts or len(parts) > _MAX_DEPTH:
        raise Refused("The pattern names no file.", remedy="Give one such as **/*.py")
    tests = [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]

    def closed(states: set[int]) -> set[int]:
        for state in sorted(states):
            while state < len(tests) and tests[state] is None:
                state += 1
                states.add(state)
        return states

    def fits(names: tuple[str, ...]) -> bool:
        states = closed({0})
        for name in names:
            following = set()
            for state in states:
                if state == len(tests):
                    continue
                test = tests[state]
                if test is None:
                    following.add(state)
                elif test.match(name):
                    following.add(state + 1)
            states = closed(following)
        return len(tests) in states

    return fits


def _walk(
    root: Path, below: tuple[str, ...], deadline: float
) -> Iterator[tuple[tuple[str, ...], int, int, int]]:
    """Names, mode, size and directory descriptor of everything below, in sorted order.

    The repository's own files are left out; a directory that cannot be opened is passed over.
    """
    visited = 0
    todo = [below]
    while todo:
        here = todo.pop()
        try:
            with tree.directory(root, here) as fd:
                inner = []
                for name in sorted(os.listdir(fd)):
                    visited += 1
                    if visited > MAX_VISITED:
                        raise _Ended(f"more than {MAX_VISITED} entries")
                    if visited % 256 == 0 and time.monotonic() > deadline:
                        raise _Ended(f"the search ended after {MAX_SECONDS:g} seconds")
                    about = tree.look(fd, name)
                    if about is None or is_git(name):
                        continue
                    names = (*here, name)
                    yield names, about.st_mode, about.st_size, fd
                    if stat.S_ISDIR(about.st_mode) and len(names) <= _MAX_DEPTH:
                        inner.append(names)
                todo += reversed(inner)
        except Refused:
            if here == below:
                raise
