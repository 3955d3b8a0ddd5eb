"""`task.released`: the worker gave the task back between two steps; no attempt is used up."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskReleased(Payload):
    """The worker gave the task back between two steps; no attempt is used up."""

    type = "task.released"

    why: str
