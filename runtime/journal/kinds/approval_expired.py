"""`approval.expired`: nobody answered in time. That is not a denial."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ApprovalExpired(Payload):
    """Nobody answered in time. That is not a denial."""

    type = "approval.expired"

    approval: str
    action: str
    kind: str
