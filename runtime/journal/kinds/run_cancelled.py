"""`run.cancelled`: the run ended because that was asked for."""

from __future__ import annotations

from runtime.journal.kind import Payload


class RunCancelled(Payload):
    """The run ended because that was asked for."""

    type = "run.cancelled"
