"""`task.demoted`: a ready task waits again, because one that it needs has not ended well."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskDemoted(Payload):
    """A ready task waits again, because one that it needs has not ended well."""

    type = "task.demoted"
