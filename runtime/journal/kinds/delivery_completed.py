"""`delivery.completed`: the verified tree is a commit; a person may take it."""

from __future__ import annotations

from runtime.journal.kind import Payload


class DeliveryCompleted(Payload):
    """The verified tree is a commit; a person may take it."""

    type = "delivery.completed"

    commit: str
    branch: str
    tree: str
    patch: str
    report: str
    files: int
    insertions: int
    deletions: int
