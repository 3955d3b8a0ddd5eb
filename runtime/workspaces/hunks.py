"""The hunks of a patch on one file's bytes. Pure, and strict: nothing is guessed.

A hunk's old lines must stand, byte for byte, where its head says, or at exactly one other place
of the file. What a refusal says of the file are line numbers, never its content.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.core.errors import Refused
from runtime.core.patches import FilePatch, Hunk

from .paths import shown

_MAX_LISTED = 10


def patched(path: str, data: bytes, change: FilePatch) -> tuple[bytes, int]:
    """`data` with the hunks applied, and how many of them stood elsewhere than their head says.

    Raises `Refused`.
    """
    lines = _split(data)
    made: list[bytes] = []
    done = moved = 0
    for hunk in change.hunks:
        old, new = _encoded(hunk.old), _encoded(hunk.new)
        at = _place(path, lines, hunk, old, done)
        moved += at != _stated(hunk)
        made += lines[done:at]
        made += new
        done = at + len(old)
    made += lines[done:]
    if any(not line.endswith(b"\n") for line in made[:-1]):
        raise Refused(
            f"{shown(path)}: the patch has a line without a line feed before the end of the file.",
            remedy="Put `\\ No newline at end of file` behind the last line only.",
        )
    return b"".join(made), moved


def _split(data: bytes) -> list[bytes]:
    """Lines end with a line feed only; a carriage return is content."""
    parts = data.split(b"\n")
    last = parts.pop()
    return [part + b"\n" for part in parts] + ([last] if last else [])


def _encoded(lines: Sequence[str]) -> list[bytes]:
    return [line.encode() for line in lines]


def _stated(hunk: Hunk) -> int:
    """The index of the line where the hunk's head says that it begins."""
    return hunk.start - 1 if hunk.old else hunk.start


def _place(path: str, lines: list[bytes], hunk: Hunk, old: list[bytes], done: int) -> int:
    """Where the hunk goes. Raises `Refused`."""
    stated = _stated(hunk)
    if not old:
        if lines:
            raise _refused(
                path, hunk, "adds lines without any context to find their place by", "Add context."
            )
        return 0
    if stated >= done and lines[stated : stated + len(old)] == old:
        return stated
    found = _places(lines, old)
    after = [at for at in found if at >= done]
    if len(found) == 1 and after:
        return after[0]
    if not found:
        raise _refused(path, hunk, f"does not fit{_hint(lines, old)}", "Read the file again.")
    if not after:
        raise _refused(
            path, hunk, "stands before the hunk above it", "Give the hunks in the file's order."
        )
    where = ", ".join(str(at + 1) for at in after[:_MAX_LISTED])
    more = ", …" if len(found) > _MAX_LISTED else ""
    raise _refused(
        path,
        hunk,
        f"does not fit at line {hunk.start}, and fits several other places: lines {where}{more}",
        "Give the right line, or more context.",
    )


def _places(lines: list[bytes], old: list[bytes]) -> list[int]:
    """Indices at which the old lines stand; of many the first few. In time linear in the sizes,
    whatever they are: both come from a model."""
    data, wanted = b"\n" + b"".join(lines), b"\n" + b"".join(old)
    whole = wanted.endswith(b"\n")
    found: list[int] = []
    at = data.find(wanted)
    while at >= 0 and len(found) <= _MAX_LISTED:
        if whole or at + len(wanted) == len(data):
            found.append(data.count(b"\n", 0, at))
        at = data.find(wanted, at + 1)
    return found


def _hint(lines: list[bytes], old: list[bytes]) -> str:
    """The differences that cannot be seen."""
    bare = _bare(lines, b"\r\n")
    if _places(bare, _bare(old, b"\r\n")):
        if any(line.endswith(b"\r\n") for line in lines) != any(
            line.endswith(b"\r\n") for line in old
        ):
            return ": the lines of one end with CR LF, those of the other do not"
        return ": the end of the file has, or lacks, a line feed"
    if _places(_bare(lines, None), _bare(old, None)):
        return ": blanks at the ends of its lines differ"
    return " anywhere"


def _bare(lines: list[bytes], what: bytes | None) -> list[bytes]:
    """Lines without some bytes at the end; without all blanks for None."""
    return [(line.strip() if what is None else line.rstrip(what)) + b"\n" for line in lines]


def _refused(path: str, hunk: Hunk, why: str, remedy: str) -> Refused:
    return Refused(
        f"{shown(path)}: the hunk in line {hunk.line} of the patch {why}. Nothing was changed.",
        remedy=remedy,
    )
