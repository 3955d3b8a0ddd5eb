"""`approval.requested`: a person is asked; the card is what they will see."""

from __future__ import annotations

from typing import Any

from runtime.journal.kind import Payload


class ApprovalRequested(Payload):
    """A person is asked; the card is what they will see."""

    type = "approval.requested"
    bulky = ("card", "reason")

    approval: str
    action: str
    kind: str
    decision: str
    rule: str
    reason: str
    risk: str
    key: str
    digest: str
    expires_at: str
    card: dict[str, Any]
