"""`action.started`: the action is about to have its effect. Hashes say what an edit changes."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ActionStarted(Payload):
    """The action is about to have its effect. Hashes say what an edit changes."""

    type = "action.started"
    bulky = ("path",)

    action: str
    kind: str
    program: str | None = None
    path: str | None = None
    before: str | None = None
    after: str | None = None
