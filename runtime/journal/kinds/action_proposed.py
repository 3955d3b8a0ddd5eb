"""`action.proposed`: a model wants this done. `raw_digest` is set where redaction changed the body."""

from __future__ import annotations

from typing import Any

from runtime.journal.kind import Payload


class ActionProposed(Payload):
    """A model wants this done. `raw_digest` is set where redaction changed the body."""

    type = "action.proposed"
    bulky = ("body",)

    action: str
    kind: str
    step: int
    body: dict[str, Any]
    raw_digest: str | None = None
    like: str | None = None
    """The same for proposals that say the same (`runtime.core.likeness`)."""
