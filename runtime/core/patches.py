"""Unified diffs as git writes them, read without any guess. Pure.

One reading serves the gate, the editor and the page, so that all of them speak about the same
files. Text that is no part of a diff, counts that do not fit, names that disagree and everything
that is no change of text files is refused.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .patch_names import Header, InvalidPatch, name_of, named, refuse, unquoted

MAX_PATHS = 90
"""Paths of one patch; the gate looks at no more of them in one decision."""
MAX_HUNKS = 5000
MAX_NAME = 4096
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: .*)?")
_MODE = re.compile(r"(old mode|new mode|deleted file mode|new file mode) ([0-7]{6})")
_INDEX = re.compile(r"index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: ([0-7]{6}))?")
_NUMBER = re.compile(r"(?:dis)?similarity index \d{1,3}%")
_FILE_MODES = {"100644": False, "100755": True}
_NO_END = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Hunk:
    """`old` and `new` are whole lines, each with its line feed unless the patch says that it has
    none. `start`: the line of the old file (from 1) where `old` is said to stand; with no old
    lines, the line after which the new ones come. `line`: its own line in the patch."""

    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The change of one file. `old` is None where it is created, `new` where it is deleted; both
    differ where it is renamed. `executable` None: as it was."""

    old: str | None
    new: str | None
    executable: bool | None
    hunks: tuple[Hunk, ...]
    line: int

    @property
    def paths(self) -> tuple[str, ...]:
        """The one or two paths that it changes."""
        return tuple(dict.fromkeys(path for path in (self.old, self.new) if path is not None))

    @property
    def renames(self) -> bool:
        """Whether the file gets another path."""
        return self.old is not None and self.new is not None and self.old != self.new


def parse(text: str) -> tuple[FilePatch, ...]:
    """The files of a patch, in order. Raises `InvalidPatch`."""
    reader = _Reader(text)
    files: list[FilePatch] = []
    while reader.more():
        if reader.now() == "":
            reader.take()
            continue
        files.append(reader.file())
    if not files:
        raise InvalidPatch("The patch is empty: it holds no file.")
    _check_paths(files)
    return tuple(files)


def _check_paths(files: list[FilePatch]) -> None:
    """Each path at most once, and none below another one."""
    seen: dict[str, int] = {}
    for item in files:
        for path in item.paths:
            if len(path) > MAX_NAME:
                refuse(item.line, f"a name has {len(path)} characters; {MAX_NAME} are possible")
            normal = posixpath.normpath(path)
            if normal in seen:
                refuse(item.line, f"{path!r} is named a second time; first in line {seen[normal]}")
            seen[normal] = item.line
    if len(seen) > MAX_PATHS:
        raise InvalidPatch(
            f"The patch names {len(seen)} paths; {MAX_PATHS} are possible. Split it."
        )
    for path in seen:
        names = path.split("/")
        for above in ("/".join(names[:depth]) for depth in range(1, len(names))):
            if above in seen:
                refuse(seen[path], f"{path!r} lies below {above!r}, which the patch has as a file")


class _Reader:
    """The lines of a patch, taken one by one. Only a line feed ends a line."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        if self._lines[-1] == "":
            self._lines.pop()
        self._at = 0
        self._hunks = 0

    def more(self) -> bool:
        return self._at < len(self._lines)

    def now(self) -> str:
        """The present line as a header: a carriage return at its end says nothing."""
        return self._lines[self._at].removesuffix("\r") if self.more() else ""

    def take(self) -> str:
        line = self.now()
        self._at += 1
        return line

    @property
    def number(self) -> int:
        return self._at + 1

    # -- one file

    def file(self) -> FilePatch:
        head = Header(self.number)
        if self.now().startswith("diff --git "):
            head.git = self.take().removeprefix("diff --git ")
            while self.more() and self._extended(head):
                self.take()
        if self.now().startswith("--- "):
            head.old = name_of(self.take()[4:], head.line)
            if not self.now().startswith("+++ "):
                refuse(self.number, "a line `+++ NAME` must follow the line `--- NAME`")
            head.new = name_of(self.take()[4:], head.line)
            head.marks = 2
        elif head.git is None:
            self._foreign()
        hunks = tuple(self._all_hunks()) if head.marks else ()
        if head.marks and not hunks:
            refuse(head.line, "the file has no hunk (`@@ -START,COUNT +START,COUNT @@`)")
        return _made(head, hunks)

    def _foreign(self) -> None:
        line = self.now()
        if line.startswith(("diff --cc ", "diff --combined ", "@@@")):
            refuse(self.number, "a combined diff of a merge cannot be applied")
        if line.startswith("@@"):
            refuse(self.number, "the hunk has no file: `--- a/PATH` and `+++ b/PATH` come first")
        if line.startswith(("Binary files ", "GIT binary patch")):
            refuse(self.number, "it changes a binary file; only text can be patched")
        refuse(self.number, f"{line[:60]!r} is no part of a unified diff; give the diff alone")

    def _extended(self, head: Header) -> bool:
        """Read a line of git's between the names and the hunks; False where it is none."""
        line = self.now()
        if found := _MODE.fullmatch(line):
            self._mode(head, found[1], found[2])
        elif found := _INDEX.fullmatch(line):
            if found[1]:
                self._kind(found[1])
        elif line.startswith(("rename from ", "rename to ")):
            head.renamed.append(unquoted(line.split(" ", 2)[2], self.number))
        elif line.startswith(("copy from ", "copy to ")):
            refuse(self.number, "a copy cannot be applied; give the new file whole")
        elif line.startswith(("GIT binary patch", "Binary files ")):
            refuse(self.number, "it changes a binary file; only text can be patched")
        elif not _NUMBER.fullmatch(line):
            return False
        return True

    def _mode(self, head: Header, what: str, mode: str) -> None:
        executable = self._kind(mode)
        head.created = head.created or what == "new file mode"
        head.deleted = head.deleted or what == "deleted file mode"
        if what in ("new mode", "new file mode"):
            head.executable = executable

    def _kind(self, mode: str) -> bool:
        if mode == "120000":
            refuse(self.number, "it changes a symbolic link; only files can be patched")
        if mode == "160000":
            refuse(self.number, "it changes a submodule; only files can be patched")
        if mode not in _FILE_MODES:
            refuse(self.number, f"the mode {mode} is neither 100644 nor 100755")
        return _FILE_MODES[mode]

    # -- hunks

    def _all_hunks(self) -> Iterator[Hunk]:
        while self.more():
            line = self.now()
            if line.startswith(("diff --", "--- ")):
                return
            if line == "" and self._blank_to_the_next():
                return
            found = _HUNK.fullmatch(line)
            if found is None:
                if line.startswith("@@"):
                    refuse(self.number, "the hunk's head is not `@@ -START,COUNT +START,COUNT @@`")
                if line[:1] in ("+", "-", " ", "\\", ""):
                    refuse(self.number, "the line lies beyond what the hunk's head counts")
                self._foreign()
                return
            self._hunks += 1
            if self._hunks > MAX_HUNKS:
                raise InvalidPatch(f"The patch has more than {MAX_HUNKS} hunks. Split it.")
            yield self._hunk(found)

    def _blank_to_the_next(self) -> bool:
        """Whether only empty lines come before the next file, or the end."""
        for line in self._lines[self._at :]:
            if line.strip("\r"):
                return line.startswith(("diff --", "--- "))
        return True

    def _hunk(self, found: re.Match[str]) -> Hunk:
        at, start = self.number, int(found[1])
        left = [int(found[2] or 1), int(found[4] or 1)]
        self.take()
        sides: tuple[list[str], list[str]] = ([], [])
        while left[0] or left[1]:
            if not self.more():
                refuse(at, f"the hunk ends early: {left[0]} old and {left[1]} new lines lack")
            raw = self._lines[self._at]
            sign, text = (raw[:1], raw[1:]) if raw not in ("", "\r") else (" ", raw)
            self._at += 1
            for side in self._sides(sign, at):
                if not left[side]:
                    refuse(self._at, "the line lies beyond what the hunk's head counts")
                left[side] -= 1
                sides[side].append(text + "\n")
            self._end_of_file(sign, sides, at)
        return Hunk(start, tuple(sides[0]), tuple(sides[1]), at)

    def _sides(self, sign: str, at: int) -> tuple[int, ...]:
        sides = {" ": (0, 1), "-": (0,), "+": (1,)}.get(sign)
        if sides is None:
            refuse(self._at, f"in the hunk of line {at} a line begins with blank, `-` or `+`")
        return sides or ()

    def _end_of_file(self, sign: str, sides: tuple[list[str], list[str]], at: int) -> None:
        """The mark behind a line that it has no line feed."""
        if self.more() and self.now().startswith("\\"):
            if self.now() != _NO_END:
                refuse(self.number, f"the only mark is `{_NO_END}`")
            self.take()
            for side in self._sides(sign, at):
                sides[side][-1] = sides[side][-1][:-1]


def _made(head: Header, hunks: tuple[Hunk, ...]) -> FilePatch:
    """The change that header and hunks describe, if they agree."""
    old, new = named(head)
    if head.created and head.deleted:
        refuse(head.line, "the file is both new and deleted")
    if (head.created and old is not None) or (head.deleted and new is not None):
        refuse(head.line, "the names and the mode lines disagree about whether the file is new")
    if old is None and any(hunk.old for hunk in hunks):
        refuse(head.line, "a new file has no old lines")
    if new is None and any(hunk.new for hunk in hunks):
        refuse(head.line, "a deleted file has no new lines")
    if not hunks and old == new and head.executable is None:
        refuse(head.line, "it changes nothing")
    return FilePatch(old, new, head.executable, hunks, head.line)
