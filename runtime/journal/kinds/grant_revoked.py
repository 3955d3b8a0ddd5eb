"""`grant.revoked`: a remembered answer no longer counts."""

from __future__ import annotations

from runtime.journal.kind import Payload


class GrantRevoked(Payload):
    """A remembered answer no longer counts."""

    type = "grant.revoked"

    grant: str
