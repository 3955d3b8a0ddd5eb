"""A unified diff of two versions of one text, in time linear in their size. Pure."""

from __future__ import annotations

import difflib

from .edit import Edit
from .paths import shown

CONTEXT = 3
_MAX_COMPARED = 2000
MAX_DIFF = 256 << 10


def of_edit(edit: Edit, max_bytes: int = MAX_DIFF) -> str:
    """The edit as a person reads it; what is cut is said."""
    return unified(edit.path, edit.before, edit.after, max_bytes)


def unified(path: str, before: bytes | None, after: bytes, max_bytes: int = MAX_DIFF) -> str:
    """The change of `path`; `before` is None for a new file. "" where nothing changed.

    Only the lines between the common beginning and the common end are compared, and those only
    up to 2000: more is shown as replaced altogether.
    """
    if before == after:
        return ""
    old, new = _lines(before or b""), _lines(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    first = max(0, head - CONTEXT)
    end = min(tail, CONTEXT)
    a, b = old[first : len(old) - tail + end], new[first : len(new) - tail + end]
    name = shown(path)
    out = [f"--- {'/dev/null' if before is None else 'a/' + name}\n", f"+++ b/{name}\n"]
    if max(len(a), len(b)) <= _MAX_COMPARED:
        hunks = difflib.unified_diff(a, b, n=CONTEXT)
        out += [_moved(line, first) for n, line in enumerate(hunks) if n > 1]
    else:
        lead, trail = head - first, end
        out.append(f"@@ -{first + bool(a)},{len(a)} +{first + bool(b)},{len(b)} @@\n")
        out += [" " + line for line in a[:lead]]
        out += ["-" + line for line in a[lead : len(a) - trail]]
        out += ["+" + line for line in b[lead : len(b) - trail]]
        out += [" " + line for line in a[len(a) - trail :]]
    text = "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in out
    )
    if len(text) <= max_bytes:
        return text
    return text[:max_bytes] + f"\n[… {len(text) - max_bytes} characters cut …]\n"


def _lines(data: bytes) -> list[str]:
    parts = data.decode("utf-8", "replace").split("\n")
    last = parts.pop()
    return [part + "\n" for part in parts] + ([last] if last else [])


def _common(a: list[str], b: list[str]) -> int:
    count = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        count += 1
    return count


def _moved(line: str, by: int) -> str:
    """A hunk's header with its line numbers counted from the beginning of the file."""
    if not line.startswith("@@"):
        return line
    _, old, new, _ = line.split(" ", 3)
    return f"@@ {_shift(old, by)} {_shift(new, by)} @@\n"


def _shift(part: str, by: int) -> str:
    start, comma, count = part[1:].partition(",")
    return f"{part[0]}{int(start) + by}{comma}{count}"
