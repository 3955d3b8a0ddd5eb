"""`verification.passed`: every command of the operator passed on this tree."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from runtime.journal.kind import Payload


class VerificationPassed(Payload):
    """Every command of the operator passed on this tree."""

    type = "verification.passed"
    bulky = ("commands", "left_out")

    action: str
    tree: str
    commands: list[dict[str, Any]]
    left_out: list[str] = Field(default_factory=list)
    spent: dict[str, int] | None = None
