"""How much of the disk a run's worktree may hold, over all its commands. Pure."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from runtime.core.errors import BadInput, Refused

MAX_ENTRIES = 200_000
"""Files and directories of a worktree that are gone through at all."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one workspace, beside the limits of each command: bytes on the disk (as blocks, so holes
    count nothing), and files and directories."""

    tree_bytes: int = 4 << 30
    tree_entries: int = MAX_ENTRIES


@dataclass(frozen=True, slots=True)
class Survey:
    """A look at a whole worktree. `trouble`: why it was not gone through to its end, or ""."""

    fingerprint: str
    size: int
    entries: int
    trouble: str = ""


def bounds(values: dict[str, int]) -> Bounds:
    """A workspace's bounds over the defaults. Raises `BadInput` for one that is none."""
    given = {name: values[name] for name in names() if name in values}
    for name, value in given.items():
        most = MAX_ENTRIES if name == "tree_entries" else 1 << 50
        if not 0 < value <= most:
            raise BadInput(
                f"The limit {name} is {value!r}.",
                remedy=f"Give a number from 1 to {most}.",
                field="limits",
            )
    return Bounds(**given)


def names() -> tuple[str, ...]:
    """The names of the bounds, as a workspace's limits have them."""
    return tuple(field.name for field in dataclasses.fields(Bounds))


def check(survey: Survey, allowed: Bounds) -> None:
    """Raise `Refused`, with the numbers, where a worktree holds more than it may."""
    if survey.size > allowed.tree_bytes:
        raise Refused(
            f"The worktree holds {_mib(survey.size)} on the disk; this workspace allows"
            f" {_mib(allowed.tree_bytes)}.",
            remedy="Remove what is not needed with run_tool rm; until then nothing else is done.",
        )
    if survey.entries > allowed.tree_entries:
        raise Refused(
            f"The worktree has more than {allowed.tree_entries} entries.",
            remedy="Remove what is not needed with run_tool rm, or mount it with --env.",
        )
    if survey.trouble:
        raise Refused(
            survey.trouble,
            remedy="Remove it with run_tool rm, or give its owner all rights with run_tool chmod.",
        )


def _mib(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"
