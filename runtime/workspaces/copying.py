"""A plain directory as a stream for `git fast-import`: read without following a link.

What git would not take as files is left out and listed: nested repositories, pipes, sockets,
devices. What `.gitignore` files in it name is left out as git would leave it out.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import BinaryIO

from dulwich.ignore import IgnoreFilterManager

from runtime.core.errors import BadInput, Refused

from . import tree
from .objects import AUTHOR
from .paths import is_git, shown, written

MAX_FILES = 100_000
MAX_BYTES = 1 << 30
MAX_LISTED = 1000
_MAX_DEPTH = 200


def export(root: str, stream: BinaryIO, skip: set[str]) -> list[str]:
    """Write a commit of everything below `root` on `refs/m31a/base`; what was left out, by path.

    `skip`: paths that are mounted instead. Raises `BadInput` over the bounds, `Refused` for what
    cannot be read or changes meanwhile.
    """
    writer = _Writer(Path(root), stream, skip)
    now = int(time.time())
    message = b"The directory as it was"
    stream.write(b"commit refs/m31a/base\n")
    stream.write(f"committer {AUTHOR} {now} +0000\n".encode())
    stream.write(b"data %d\n%s\n" % (len(message), message))
    writer.directory(())
    stream.write(b"\ndone\n")
    stream.flush()
    return sorted(writer.left_out)


class _Writer:
    def __init__(self, root: Path, stream: BinaryIO, skip: set[str]) -> None:
        self._root, self._stream, self._skip = root, stream, skip
        self._ignored = IgnoreFilterManager(str(root), [], False)
        self._files = self._bytes = 0
        self.left_out: list[str] = []

    def directory(self, names: tuple[str, ...]) -> None:
        if len(names) > _MAX_DEPTH:
            raise BadInput(f"{self._root} is more than {_MAX_DEPTH} directories deep.")
        try:
            with tree.directory(self._root, names) as fd:
                for name in sorted(os.listdir(fd)):
                    self._entry(fd, (*names, name))
        except OSError as error:
            where = shown("/".join(names) or ".")
            raise Refused(
                f"{where} of {self._root} cannot be read: {error.strerror}.",
                remedy="Make it readable.",
            ) from error

    def _entry(self, fd: int, names: tuple[str, ...]) -> None:
        path = "/".join(names)
        about = tree.look(fd, names[-1])
        if about is None or path in self._skip:
            return
        is_directory = stat.S_ISDIR(about.st_mode)
        if is_git(names[-1]):
            self._leave_out(path)
        elif self._ignored.is_ignored(path + "/" * is_directory):
            return
        elif is_directory:
            self.directory(names)
        elif stat.S_ISLNK(about.st_mode):
            self._head(path, b"120000")
            target = os.fsencode(os.readlink(names[-1], dir_fd=fd))
            self._stream.write(b"data %d\n%s\n" % (len(target), target))
        elif stat.S_ISREG(about.st_mode):
            self._head(path, b"100755" if about.st_mode & 0o100 else b"100644")
            self._content(fd, names)
        else:
            self._leave_out(path)

    def _leave_out(self, path: str) -> None:
        if len(self.left_out) < MAX_LISTED:
            self.left_out.append(written(path))

    def _head(self, path: str, mode: bytes) -> None:
        self._files += 1
        if self._files > MAX_FILES:
            raise BadInput(
                f"{self._root} has more than {MAX_FILES} files.",
                remedy="Make it a git repository, or name what is not needed in .gitignore.",
            )
        self._stream.write(b"M %s inline %s\n" % (mode, _quoted(os.fsencode(path))))

    def _content(self, fd: int, names: tuple[str, ...]) -> None:
        """Exactly the size that was announced, whatever happens to the file meanwhile."""
        with os.fdopen(tree.open_file(fd, names), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            self._bytes += size
            if self._bytes > MAX_BYTES:
                raise BadInput(
                    f"{self._root} has more than {MAX_BYTES} bytes.",
                    remedy="Make it a git repository, or name what is not needed in .gitignore.",
                )
            self._stream.write(b"data %d\n" % size)
            while size:
                piece = file.read(min(size, 1 << 20))
                if not piece:
                    raise Refused(f"{shown('/'.join(names))} was changed while it was copied.")
                self._stream.write(piece)
                size -= len(piece)
            self._stream.write(b"\n")


def _quoted(path: bytes) -> bytes:
    """A path in the quotes that fast-import understands, whatever its bytes are."""
    plain = b"".join(
        bytes([c]) if 32 <= c < 127 and c not in b'"\\' else b"\\%03o" % c for c in path
    )
    return b'"' + plain + b'"'
