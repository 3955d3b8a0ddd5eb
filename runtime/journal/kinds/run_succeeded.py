"""`run.succeeded`: every task ended well."""

from __future__ import annotations

from runtime.journal.kind import Payload


class RunSucceeded(Payload):
    """Every task ended well."""

    type = "run.succeeded"
    bulky = ("summary",)

    summary: str = ""
