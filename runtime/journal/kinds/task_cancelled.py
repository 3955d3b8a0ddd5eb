"""`task.cancelled`: the task ended because that was asked for."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskCancelled(Payload):
    """The task ended because that was asked for."""

    type = "task.cancelled"
