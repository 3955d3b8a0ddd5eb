"""`message.completed`: a model spoke to the end."""

from __future__ import annotations

from runtime.journal.kind import Payload


class MessageCompleted(Payload):
    """A model spoke to the end."""

    type = "message.completed"
    bulky = ("text",)

    message: str
    step: int
    text: str = ""
    model: str
    input_tokens: int
    output_tokens: int
    estimated: bool
