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
    spent: dict[str, int] | None = None
    """What the call used of the run's budgets."""
    cost_estimated: bool | None = None
    """Whether its price is a guess."""
