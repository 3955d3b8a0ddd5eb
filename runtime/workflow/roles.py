"""Roles and task kinds, and what each of them may do. An action needs what both permit."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Capability(StrEnum):
    """What an action needs."""

    READ = "read"
    EDIT = "edit"
    RUN = "run"
    COMMIT = "commit"
    PUSH = "push"
    VERIFY = "verify"
    ARTIFACT = "artifact"
    NETWORK = "network"
    TALK = "talk"
    """Ask a person, finish."""


_LOOK = frozenset({Capability.READ, Capability.ARTIFACT, Capability.TALK})
_CHECK = _LOOK | {Capability.RUN, Capability.VERIFY}
_CHANGE = frozenset(Capability)

ROLES: Mapping[str, frozenset[Capability]] = {
    "implementer": _CHANGE,
    "integrator": _CHANGE,
    "planner": _LOOK,
    "researcher": _LOOK,
    "reviewer": _CHECK,
    "verifier": _CHECK,
}
KINDS: Mapping[str, frozenset[Capability]] = {
    "implementation": _CHANGE,
    "integration": _CHANGE,
    "planning": _LOOK,
    "research": _LOOK,
    "review": _CHECK,
    "verification": _CHECK,
}


def lacking(role: str, kind: str, needed: frozenset[Capability]) -> frozenset[Capability]:
    """What of `needed` the role or the kind of task does not permit. Raises `KeyError`."""
    return needed - (ROLES[role] & KINDS[kind])
