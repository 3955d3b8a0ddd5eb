"""`run.cancel_requested`: somebody asked for the end of the run."""

from __future__ import annotations

from runtime.journal.kind import Payload


class RunCancelRequested(Payload):
    """Somebody asked for the end of the run."""

    type = "run.cancel_requested"

    reason: str = ""
