"""`approval.consumed`: the one permission of this answer was used."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ApprovalConsumed(Payload):
    """The one permission of this answer was used."""

    type = "approval.consumed"

    approval: str
    action: str
    kind: str
