"""`task.ready`: the task may be claimed. `why` says what made it so."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskReady(Payload):
    """The task may be claimed. `why` says what made it so."""

    type = "task.ready"

    why: str
