"""A unified diff of two versions of one text, in time linear in their size. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from .edit import Edit
from .paths import shown

CONTEXT = 3
_MAX_COMPARED = 2000
MAX_DIFF = 256 << 10


def of_edit(edit: Edit, max_bytes: int = MAX_DIFF) -> str:
    """The edit as a person reads it; what is cut is said."""
    return unified(edit.path, edit.before, edit.after, max_bytes)


def of_edits(edits: Sequence[Edit], max_bytes: int = MAX_DIFF) -> str:
    """Several edits as one diff, renames and changed permissions in git's words."""
    moved = {edit.source: edit for edit in edits if edit.source}
    gone = {edit.path: edit for edit in edits if edit.path in moved}
    texts = [_git_style(edit, gone.get(edit.source)) for edit in edits if edit.path not in moved]
    text = "".join(texts)
    if len(text) <= max_bytes:
        return text
    return text[:max_bytes] + f"\n[… {len(text) - max_bytes} characters cut …]\n"


def _git_style(edit: Edit, origin: Edit | None) -> str:
    """One file of a diff. `origin`: the deletion of the file that was renamed to this one."""
    old, new = shown(edit.source or edit.path), shown(edit.path)
    facts: list[str] = []
    if origin is not None:
        facts += [f"rename from {old}", f"rename to {new}"]
    elif edit.before is None:
        facts.append(f"new file mode 100{edit.mode:o}")
    elif edit.after is None:
        facts.append(f"deleted file mode 100{edit.old_mode:o}")
    mode = edit.old_mode if origin is None else origin.old_mode
    if edit.mode != mode and edit.after is not None and (edit.before or origin) is not None:
        facts += [f"old mode 100{mode:o}", f"new mode 100{edit.mode:o}"]
    head = f"diff --git a/{old} b/{new}\n" + "".join(f"{fact}\n" for fact in facts)
    before = edit.before if origin is None else origin.before
    return head + unified(edit.path, before, edit.after, MAX_DIFF, old=old)


def unified(
    path: str,
    before: bytes | None,
    after: bytes | None,
    max_bytes: int = MAX_DIFF,
    *,
    old: str = "",
) -> str:
    """The change of `path`; `before` is None for a new file, `after` for a deleted one; `old` is
    the name it had. "" where nothing changed.

    Only the lines between the common beginning and the common end are compared, and those only
    up to 2000: more is shown as replaced altogether.
    """
    if (before or b"") == (after or b""):
        return ""
    was, is_ = _lines(before or b""), _lines(after or b"")
    head = _common(was, is_)
    tail = _common(was[head:][::-1], is_[head:][::-1])
    first = max(0, head - CONTEXT)
    end = min(tail, CONTEXT)
    a, b = was[first : len(was) - tail + end], is_[first : len(is_) - tail + end]
    name = shown(path)
    out = [
        f"--- {'/dev/null' if before is None else 'a/' + (old or name)}\n",
        f"+++ {'/dev/null' if after is None else 'b/' + name}\n",
    ]
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
