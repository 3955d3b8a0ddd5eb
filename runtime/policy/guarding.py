"""Files of the worktree that a person looks at before they count, by their names. Pure.

One list for every way in: the gate asks before an edit names such a file, and before work is
handed over in which a command has changed one.
"""

from __future__ import annotations

from . import protected


def guarded(path: str) -> str:
    """Why a change of this file is looked at first, or ""; the path is relative to the worktree."""
    if protected.own_part(path):
        return "governs runs"
    if protected.secret_by_name(path):
        return "may hold a secret"
    return protected.guided(path)
