"""`context.compacted`: the model is told less of what lies back."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ContextCompacted(Payload):
    """The model is told less of what lies back.

    Of the steps up to `shortened` it sees no observations any more, of those up to `dropped`
    nothing. `reason`: `window` (the bound was reached) or `context_length` (the model's server
    said that it was too long). Sizes are letters, three of which are taken for a token (see
    `core.letters`); events of earlier releases took each character for one.
    """

    type = "context.compacted"

    shortened: int
    dropped: int
    before: int
    after: int
    reason: str
