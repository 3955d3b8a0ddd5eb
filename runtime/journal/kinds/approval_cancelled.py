"""`approval.cancelled`: the question fell with the run."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ApprovalCancelled(Payload):
    """The question fell with the run."""

    type = "approval.cancelled"

    approval: str
    action: str
    kind: str
    reason: str
