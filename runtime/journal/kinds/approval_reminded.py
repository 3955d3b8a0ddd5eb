"""`approval.reminded`: a question still waits, past half of its time or near its end."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ApprovalReminded(Payload):
    """A question still waits: `nth` is 1 past half of its time, 2 where a tenth of it is left.

    `may_answer` names people who may, and `more` counts those that are not named.
    """

    type = "approval.reminded"
    bulky = ("may_answer",)

    approval: str
    action: str
    kind: str
    decision: str
    nth: int
    requested_at: str
    expires_at: str
    may_answer: list[str]
    more: int = 0
