"""`task.cancelling`: the end was asked for while a worker held the task."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskCancelling(Payload):
    """The end was asked for while a worker held the task."""

    type = "task.cancelling"
