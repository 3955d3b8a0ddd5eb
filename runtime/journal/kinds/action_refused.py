"""`action.refused`: the action was not done: the gate, or a person, says no."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ActionRefused(Payload):
    """The action was not done: the gate, or a person, says no."""

    type = "action.refused"
    bulky = ("reason",)

    action: str
    kind: str
    reason: str
    by: str
