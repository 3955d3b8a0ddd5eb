"""`task.claimed`: a worker holds the task. The fence rises with every claim."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskClaimed(Payload):
    """A worker holds the task. The fence rises with every claim."""

    type = "task.claimed"

    owner: str
    crashes: int = 0
