"""`task.retried`: the task starts again, in a new attempt."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskRetried(Payload):
    """The task starts again, in a new attempt."""

    type = "task.retried"
