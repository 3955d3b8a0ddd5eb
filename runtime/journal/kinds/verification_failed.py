"""`verification.failed`: a command of the operator did not pass, or the tree changed under it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from runtime.journal.kind import Payload


class VerificationFailed(Payload):
    """A command of the operator did not pass, or the tree changed under it."""

    type = "verification.failed"
    bulky = ("commands", "left_out", "reason")

    action: str
    tree: str
    commands: list[dict[str, Any]]
    reason: str
    left_out: list[str] = Field(default_factory=list)
    spent: dict[str, int] | None = None
