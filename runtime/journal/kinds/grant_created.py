"""`grant.created`: the answer is remembered for more than one action."""

from __future__ import annotations

from typing import Any

from runtime.journal.kind import Payload


class GrantCreated(Payload):
    """The answer is remembered for more than one action."""

    type = "grant.created"

    grant: str
    approval: str
    key: str
    scope: str
    subject: str
    lifts: str
    expires_at: str | None = None
    rule: dict[str, Any] | None = None
    """What is covered beyond the exact action, as it was shown; None for nothing."""
