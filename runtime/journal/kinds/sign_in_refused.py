"""`sign_in.refused`: somebody did not get in."""

from __future__ import annotations

from runtime.journal.kind import Payload


class SignInRefused(Payload):
    """Somebody did not get in by `password` or `link`.

    `name` is that of a person whom there is, else nothing: people type passwords into the field
    for the name. `unsaid` counts refusals before this one that were too many to write down.
    """

    type = "sign_in.refused"

    name: str
    by: str
    unsaid: int = 0
