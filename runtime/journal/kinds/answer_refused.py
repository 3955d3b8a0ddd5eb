"""`answer.refused`: a model's answer is no valid action."""

from __future__ import annotations

from runtime.journal.kind import Payload


class AnswerRefused(Payload):
    """A model's answer is no valid action."""

    type = "answer.refused"
    bulky = ("reason",)

    step: int
    reason: str
