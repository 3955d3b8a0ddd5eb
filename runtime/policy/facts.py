"""What the gate may ask about the world outside itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

FactType = Literal["file", "dir", "missing", "link", "other", "error"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What one path is. `resolved` is absolute, after following links; for `missing` it is
    the nearest existing parent, resolved, with the rest appended. `error` means that nobody
    could tell (a loop, no right to look)."""

    type: FactType
    resolved: str
    inside: bool
    sha256: str | None = None
    executable: bool = False


Look = Callable[[str], Facts]
"""A path, relative to the worktree or absolute, possibly with `..`, to its facts."""
Links = Callable[[str], tuple[Facts, ...]]
"""An absolute path with wildcards to what it becomes by links; see `links.met`."""
Which = Callable[[str], str | None]
"""A bare program name to the file that the cage would run, or None where it has none."""
