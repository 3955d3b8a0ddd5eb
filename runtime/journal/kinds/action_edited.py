"""`action.edited`: a person put another action in the place of the one that was asked about."""

from __future__ import annotations

from typing import Any

from runtime.journal.kind import Payload


class ActionEdited(Payload):
    """A person changed the action; `body` goes before the gate as if it had been proposed.

    What the model proposed stays in `action.proposed`.
    """

    type = "action.edited"
    bulky = ("body",)

    approval: str
    action: str
    kind: str
    by: str
    body: dict[str, Any]
