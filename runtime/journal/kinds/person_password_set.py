"""`person.password_set`: a person chose a password."""

from __future__ import annotations

from runtime.journal.kind import Payload


class PersonPasswordSet(Payload):
    """A person chose a password."""

    type = "person.password_set"

    name: str
