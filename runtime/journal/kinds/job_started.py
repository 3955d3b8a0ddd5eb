"""`job.started`: a program runs in the background, until its end is told by `job.ended`."""

from __future__ import annotations

from runtime.journal.kind import Payload


class JobStarted(Payload):
    """A program runs in the background. `action`: the one that started it."""

    type = "job.started"

    action: str
    job: str
    program: str
    argument_count: int
