"""What was used of each budget, as plain numbers by name. Pure.

Amounts add up, but for peaks, of which the largest counts. As text they are canonical JSON, and the
empty text is nothing at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import canonical

PEAKS = frozenset({"memory_bytes"})
"""Amounts of which the largest counts, not the sum."""


def add(*parts: Mapping[str, int]) -> dict[str, int]:
    """All together; what is zero is left out."""
    total: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            before = total.get(name, 0)
            total[name] = max(before, value) if name in PEAKS else before + value
    return {name: value for name, value in total.items() if value}


def covers(have: Mapping[str, int], want: Mapping[str, int]) -> bool:
    """Whether every amount that is wanted is there."""
    return all(have.get(name, 0) >= value for name, value in want.items())


def read(text: str) -> dict[str, int]:
    """Amounts from their text."""
    return {str(name): int(value) for name, value in canonical.decode(text).items()} if text else {}


def written(amounts: Mapping[str, int]) -> str:
    """Amounts as text."""
    kept = {name: value for name, value in amounts.items() if value}
    return canonical.text(kept) if kept else ""
