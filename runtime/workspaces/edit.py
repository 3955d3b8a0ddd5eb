"""What an edit would do to a file's bytes. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.core.digests import sha256
from runtime.core.errors import Refused

from .paths import shown

MAX_FILE = 1 << 20
"""Bytes that a file may have to be edited, before and after."""
_MAX_COUNT = 10_000


@dataclass(frozen=True, slots=True)
class Edit:
    """One file's change. `before` is None where the file is created, `after` where it is deleted;
    `mode` holds its permission bits afterwards, `old_mode` those before; the hashes are hex
    SHA-256. `source`: the path that a renamed file had."""

    path: str
    before_sha: str | None
    after_sha: str | None
    before: bytes | None
    after: bytes | None
    mode: int
    old_mode: int
    source: str = ""

    @property
    def state_before(self) -> str:
        """What the file is before the edit, as `state` says it."""
        return state(self.before_sha, self.old_mode)

    @property
    def state_after(self) -> str:
        """What the file is after the edit, as `state` says it."""
        return state(self.after_sha, self.mode)

    @property
    def size(self) -> int:
        """Bytes of the file afterwards."""
        return len(self.after or b"")


def state(sha: str | None, mode: int) -> str:
    """A file in a few words, for the record: permission bits and hash; "" where there is none."""
    return "" if sha is None else f"{mode:o} {sha}"


def make(
    path: str, before: bytes | None, after: bytes | None, mode: int, old_mode: int | None = None
) -> Edit:
    """The edit of `path` from `before` to `after`; `old_mode` None: as after. Raises `Refused` over
    the size cap."""
    if after is not None and len(after) > MAX_FILE:
        raise Refused(
            f"{shown(path)} would have {len(after)} bytes; a file that is edited may have"
            f" {MAX_FILE}. It is unchanged.",
            remedy="Split the content over several files.",
        )
    was = None if before is None else sha256(before)
    will = None if after is None else sha256(after)
    return Edit(path, was, will, before, after, mode, mode if old_mode is None else old_mode)


def check_text(path: str, data: bytes) -> None:
    """Raise `Refused` unless the bytes are UTF-8 text."""
    if b"\0" in data:
        raise Refused(f"{shown(path)} is binary: it holds a NUL byte.", remedy="Edit text only.")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise Refused(
            f"{shown(path)} is not UTF-8 text (byte {error.start}).", remedy="Edit UTF-8 text only."
        ) from None


def replaced(path: str, data: bytes, expected: str, replacement: str) -> bytes:
    """`data` with the one occurrence of `expected` replaced. Raises `Refused`."""
    if not expected:
        raise Refused(
            "The expected text is empty.", remedy="Give the text that is to be replaced, exactly."
        )
    if expected == replacement:
        raise Refused(
            "The replacement equals the expected text: that is no edit.",
            remedy="Give a replacement that differs.",
        )
    wanted = expected.encode()
    found = _occurrences(data, wanted)
    if not found:
        raise Refused(
            f"The expected text does not occur in {shown(path)}.{_hint(data, wanted)}",
            remedy="Read the file and give the text exactly as it stands there.",
        )
    if len(found) > 1:
        lines = ", ".join(str(data.count(b"\n", 0, at) + 1) for at in found[:10])
        more = ", …" if len(found) > 10 else ""
        count = f"at least {_MAX_COUNT}" if len(found) == _MAX_COUNT else str(len(found))
        raise Refused(
            f"The expected text occurs {count} times in {shown(path)}: on lines {lines}{more}.",
            remedy="Give more of the text around the place that is meant.",
        )
    at = found[0]
    return data[:at] + replacement.encode() + data[at + len(wanted) :]


def _occurrences(data: bytes, wanted: bytes) -> list[int]:
    """Where `wanted` begins; matches that overlap count, for they are just as ambiguous."""
    found: list[int] = []
    at = data.find(wanted)
    while at >= 0 and len(found) < _MAX_COUNT:
        found.append(at)
        at = data.find(wanted, at + 1)
    return found


def _hint(data: bytes, wanted: bytes) -> str:
    """The two differences that cannot be seen."""
    if b"\r\n" in data and wanted.replace(b"\n", b"\r\n") in data:
        return " The file ends its lines with CR LF."
    if wanted.strip() and wanted.strip() in data:
        return " It occurs with other blanks around it."
    return ""
