"""`task.waiting`: the task waits for a person; no worker holds it."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskWaiting(Payload):
    """The task waits for a person; no worker holds it."""

    type = "task.waiting"

    approval: str
