"""`message.cut`: a model's stream ended early; what had come is kept."""

from __future__ import annotations

from runtime.journal.kind import Payload


class MessageCut(Payload):
    """A model's stream ended early; what had come is kept."""

    type = "message.cut"
    bulky = ("text",)

    message: str
    text: str = ""
    reason: str
