"""`task.failed`: the task ended badly, for this reason."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskFailed(Payload):
    """The task ended badly, for this reason."""

    type = "task.failed"
    bulky = ("detail",)

    reason: str
    detail: str = ""
