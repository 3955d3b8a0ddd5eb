"""`person.added`: a person, or a role of theirs, was added."""

from __future__ import annotations

from runtime.journal.kind import Payload


class PersonAdded(Payload):
    """A person, or a role of theirs, was added."""

    type = "person.added"

    name: str
    roles: list[str]
