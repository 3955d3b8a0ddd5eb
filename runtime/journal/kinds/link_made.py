"""`link.made`: a one-time sign-in link was made."""

from __future__ import annotations

from runtime.journal.kind import Payload


class LinkMade(Payload):
    """A one-time sign-in link was made."""

    type = "link.made"

    name: str
