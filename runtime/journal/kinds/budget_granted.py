"""`budget.granted`: a person gave a run more of something."""

from __future__ import annotations

from runtime.journal.kind import Payload


class BudgetGranted(Payload):
    """A person gave a run more of something. `limit` is what it may use from here on."""

    type = "budget.granted"
    bulky = ("comment",)

    budget: str
    more: int
    limit: int
    comment: str = ""
