"""`task.skipped`: the task cannot run, because one that it needs failed."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskSkipped(Payload):
    """The task cannot run, because one that it needs failed."""

    type = "task.skipped"
