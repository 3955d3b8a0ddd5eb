"""The accounts under which commands run when the server was started as root."""

from __future__ import annotations

import os
from collections.abc import Container

from runtime.core.errors import BadInput

_DEFAULT = "231072-296607"  # 64 Ki numbers, clear of people, services and the usual subuid ranges
_LOWEST, _HIGHEST = 1000, (1 << 31) - 1


def uid_range() -> tuple[int, int]:
    """First and last account number, from M31A_UID_RANGE (`FIRST-LAST`).

    Raises BadInput for anything else, and for numbers that belong to the system.
    """
    text = os.environ.get("M31A_UID_RANGE", _DEFAULT)
    first, dash, last = text.partition("-")
    if not (dash and first.isdecimal() and last.isdecimal()):
        raise BadInput(
            f"M31A_UID_RANGE is {text!r}.",
            remedy=f"Write it as FIRST-LAST, for example {_DEFAULT}.",
            field="M31A_UID_RANGE",
        )
    low, high = int(first), int(last)
    if not _LOWEST <= low <= high <= _HIGHEST:
        raise BadInput(
            f"M31A_UID_RANGE is {text}; it must rise and lie between {_LOWEST} and {_HIGHEST}.",
            field="M31A_UID_RANGE",
        )
    return low, high


def pick_uid(taken: Container[int]) -> int | None:
    """An account for a run: in the range, not in `taken`, and without a living process.

    None where the server is not root: its commands run as the person that started it. Raises
    BadInput when the range is used up.
    """
    if os.geteuid() != 0:
        return None
    low, high = uid_range()
    busy = _busy()
    for uid in range(low, high + 1):
        if uid not in taken and uid not in busy:
            return uid
    raise BadInput(
        f"All accounts of {low}-{high} are in use.",
        remedy="Widen M31A_UID_RANGE or end some runs.",
        field="M31A_UID_RANGE",
    )


def _busy() -> set[int]:
    """The owners of all processes that can be seen."""
    found = set()
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                try:
                    found.add(entry.stat().st_uid)
                except OSError:
                    continue  # ended meanwhile
    return found
