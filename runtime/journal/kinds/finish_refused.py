"""`finish.refused`: the model said that it was done; the record says otherwise."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from runtime.journal.kind import Payload


class FinishRefused(Payload):
    """The model said that it was done; the record says otherwise."""

    type = "finish.refused"
    bulky = ("reason", "artifacts")

    action: str
    kind: str
    reason: str
    debt: bool
    artifacts: list[dict[str, Any]] = Field(default_factory=list)
