"""`question.answered`: a person answered the model's question."""

from __future__ import annotations

from runtime.journal.kind import Payload


class QuestionAnswered(Payload):
    """A person answered the model's question."""

    type = "question.answered"
    bulky = ("answer",)

    approval: str
    action: str
    kind: str
    answer: str
