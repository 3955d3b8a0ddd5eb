"""The four answers of the gate and their order."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Decision(StrEnum):
    """ALLOW < ASK < ESCALATE < DENY: the more careful answer is the greater one."""

    ALLOW = "ALLOW"
    ASK = "ASK"
    ESCALATE = "ESCALATE"
    DENY = "DENY"

    @property
    def rank(self) -> int:
        """0 for ALLOW up to 3 for DENY."""
        return _RANK[self.value]

    def __lt__(self, other: str) -> bool:
        return self.rank < _RANK[other]

    def __le__(self, other: str) -> bool:
        return self.rank <= _RANK[other]

    def __gt__(self, other: str) -> bool:
        return self.rank > _RANK[other]

    def __ge__(self, other: str) -> bool:
        return self.rank >= _RANK[other]


_RANK = {"ALLOW": 0, "ASK": 1, "ESCALATE": 2, "DENY": 3}


def worst(decisions: Iterable[Decision | None]) -> Decision:
    """The most careful of some answers; ALLOW where there are none."""
    return max((one for one in decisions if one is not None), default=Decision.ALLOW)
