"""`approval.superseded`: what was asked about has changed; the question is void."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ApprovalSuperseded(Payload):
    """What was asked about has changed; the question is void."""

    type = "approval.superseded"

    approval: str
    action: str
    kind: str
    reason: str
