"""`action.outcome_unknown`: a worker died while the action ran; nobody knows how far it came."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ActionOutcomeUnknown(Payload):
    """A worker died while the action ran; nobody knows how far it came."""

    type = "action.outcome_unknown"
    bulky = ("reason",)

    action: str
    kind: str
    reason: str
