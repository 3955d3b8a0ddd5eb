"""`person.signed_in`: a person signed in."""

from __future__ import annotations

from runtime.journal.kind import Payload


class PersonSignedIn(Payload):
    """A person signed in. `by` is `password`, or `link`: a one-time link, which is used up now."""

    type = "person.signed_in"

    name: str
    by: str
