"""`approval.approved`: a person said yes, in this scope."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ApprovalApproved(Payload):
    """A person said yes, in this scope."""

    type = "approval.approved"
    bulky = ("comment",)

    approval: str
    action: str
    kind: str
    scope: str
    comment: str = ""
