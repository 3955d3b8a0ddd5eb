"""The value without which neither the sandbox nor the editor does anything.

There are four makers, and a test lists the places that call them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Subject = TypeVar("Subject", covariant=True)
Given = TypeVar("Given")
Source = Literal["gate", "approval", "operator", "runtime"]
_SEAL = object()


@dataclass(frozen=True, slots=True)
class Authorised(Generic[Subject]):
    """`subject` may be done. `ref` names the decision, approval, person or purpose behind it."""

    subject: Subject
    source: Source
    ref: str
    _seal: object

    def __post_init__(self) -> None:
        if self._seal is not _SEAL:
            raise TypeError("use one of the four makers of this module")


def by_gate(subject: Given, decision: str) -> Authorised[Given]:
    """Allowed by the gate; `decision` is the action's id whose verdict is journaled."""
    return Authorised(subject, "gate", decision, _SEAL)


def by_approval(subject: Given, approval: str) -> Authorised[Given]:
    """Allowed by a person; `approval` is the id that was consumed."""
    return Authorised(subject, "approval", approval, _SEAL)


def by_operator(subject: Given, what: str) -> Authorised[Given]:
    """The operator's own command: verification, or one given on the command line."""
    return Authorised(subject, "operator", what, _SEAL)


def by_runtime(subject: Given, purpose: str) -> Authorised[Given]:
    """Fixed by this program: caged git, self-test, a provider's program."""
    return Authorised(subject, "runtime", purpose, _SEAL)
