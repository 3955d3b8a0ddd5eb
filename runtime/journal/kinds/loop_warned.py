"""`loop.warned`: the model goes round in a circle, and is told so."""

from __future__ import annotations

from runtime.journal.kind import Payload


class LoopWarned(Payload):
    """The model goes round in a circle, and is told so.

    `times`: how often the last step was taken already with the same result; `idle`: how many steps
    in a row brought nothing new.
    """

    type = "loop.warned"

    step: int
    times: int
    idle: int
