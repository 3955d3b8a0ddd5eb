"""`run.failed`: a task failed, and no edge handles it."""

from __future__ import annotations

from runtime.journal.kind import Payload


class RunFailed(Payload):
    """A task failed, and no edge handles it."""

    type = "run.failed"
    bulky = ("detail",)

    reason: str
    detail: str = ""
