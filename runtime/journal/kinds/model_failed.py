"""`model.failed`: a call of a model gave no whole answer. `then` says what follows."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ModelFailed(Payload):
    """A call of a model gave no whole answer.

    `then`: `fail` (the task ends), `retry` (the same question after `wait` seconds), `compact` (a
    shorter question, at once), `fallback` (the next call goes to that model), or `stop`: the call
    was ended from here. `attempt` counts the failures since the last answer.
    """

    type = "model.failed"
    bulky = ("detail",)

    message: str
    model: str
    kind: str
    detail: str = ""
    attempt: int
    then: str
    wait: int = 0
    retry_after: int | None = None
    """Seconds that the server asked to wait."""
    spent: dict[str, int] | None = None
    """What the call may have used: nobody was told."""
