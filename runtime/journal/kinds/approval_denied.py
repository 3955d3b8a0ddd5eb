"""`approval.denied`: a person said no."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ApprovalDenied(Payload):
    """A person said no."""

    type = "approval.denied"
    bulky = ("comment",)

    approval: str
    action: str
    kind: str
    comment: str = ""
