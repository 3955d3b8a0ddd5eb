"""Collecting bytes that nothing refers to, and artifacts whose time is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from runtime.models import Artifact, Run

UNREFERENCED_SECONDS = 24 * 3600
"""How old bytes must be before they are collected: a reference may still be on its way."""
PER_PASS = 2000
"""Files that one pass looks at; the next goes on behind them."""


def collect(now: float | None = None, after: str = "") -> tuple[int, str]:
    """Remove unreferenced bytes that are older than a day.

    How many files went, and where the next pass begins ("" at the end).
    """
    before = (time.time() if now is None else now) - UNREFERENCED_SECONDS
    page = [path for path, _ in zip(_files(after), range(PER_PASS), strict=False)]
    old = [path for path in page if _still_old(path, before)]
    named = {path.name for path in old}
    kept = set(Artifact.objects.filter(sha256__in=named).values_list("sha256", flat=True))
    kept |= set(Run.objects.filter(script__in=named).values_list("script", flat=True))
    gone = 0
    for path in old:
        if path.name not in kept and _still_old(path, before):
            path.unlink(missing_ok=True)
            gone += 1
    return gone, _mark(page[-1]) if len(page) == PER_PASS else ""


def _still_old(path: Path, before: float) -> bool:
    """Whoever stores the same bytes again makes them young first."""
    try:
        return path.stat().st_mtime < before
    except FileNotFoundError:
        return False


def _files(after: str) -> Iterator[Path]:
    """Stored files behind a mark, in the order of their marks, temporary ones included."""
    root: Path = settings.M31A.DATA_DIR / "blobs"
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if folder.name < after[:2]:
            continue
        for path in sorted(folder.iterdir()):
            if _mark(path) > after:
                yield path


def _mark(path: Path) -> str:
    """Where a file stands in the walk: its folder and its name, for a temporary one has any name."""
    return f"{path.parent.name}/{path.name}"
