"""`person.signed_out`: a person ended a session."""

from __future__ import annotations

from runtime.journal.kind import Payload


class PersonSignedOut(Payload):
    """A person ended a session."""

    type = "person.signed_out"

    name: str
