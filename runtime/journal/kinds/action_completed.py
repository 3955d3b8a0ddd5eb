"""`action.completed`: the action had its effect, or failed in a way that the model sees."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from runtime.journal.kind import Payload


class ActionCompleted(Payload):
    """The action had its effect, or failed in a way that the model sees."""

    type = "action.completed"
    bulky = ("observation", "diff", "artifacts")

    action: str
    kind: str
    ok: bool
    observation: str
    cut: int = 0
    diff: str | None = None
    trace: dict[str, Any] | None = None
    artifacts: list[dict[str, Any]] = Field(default_factory=list)
    spent: dict[str, int] | None = None
    like: str | None = None
    """The same for observations that say the same (`runtime.core.likeness`)."""
