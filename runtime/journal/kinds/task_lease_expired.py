"""`task.lease_expired`: the holder died or fell silent; the task was taken back."""

from __future__ import annotations

from runtime.journal.kind import Payload


class TaskLeaseExpired(Payload):
    """The holder died or fell silent; the task was taken back."""

    type = "task.lease_expired"

    owner: str
    crashes: int
    spent: dict[str, int] | None = None
    """What its holder had reserved: nobody knows, so it counts as used."""
