"""`run.retried`: somebody asked for another try; a new generation begins."""

from __future__ import annotations

from runtime.journal.kind import Payload


class RunRetried(Payload):
    """Somebody asked for another try; a new generation begins."""

    type = "run.retried"

    generation: int
    max_attempts: int
