"""Errors that a person or a program is meant to read.

Each says what is wrong, and how to mend it. The exit code is the command line's.
"""

from __future__ import annotations


class M31AError(Exception):
    """A failure with a message for people. `remedy` says what to do about it."""

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "", field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.field = field

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class BadInput(M31AError):
    """What was given cannot be used; nothing was written."""

    exit_code = 2


class NotFound(BadInput):
    """The thing named does not exist."""


class NotYet(BadInput):
    """Part of the command line that is not built yet."""


class Refused(M31AError):
    """Understood, but the state of things (or a right that is missing) does not permit it."""


class Conflict(Refused):
    """Somebody or something else settled it first. `outcome` is the state that stands."""

    def __init__(self, message: str, *, outcome: str, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.outcome = outcome


class StaleFence(M31AError):
    """Another claim owns the task now; whoever sees this stops at once."""


class Unavailable(M31AError):
    """Something that is needed to run safely is missing; nothing was started."""

    exit_code = 2
