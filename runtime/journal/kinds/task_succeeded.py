"""`task.succeeded`: the task ended well."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskSucceeded(Payload):
    """The task ended well."""

    type = "task.succeeded"
    bulky = ("summary",)

    summary: str = ""
