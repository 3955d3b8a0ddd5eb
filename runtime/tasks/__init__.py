"""Claims and moves of tasks: the only room that decides changes of task and run rows."""

from .claims import Claim, claim, idle, prefer_run, ready_count
from .leases import peek, reap, renew
from .moves import Hold, held
from .wake import enqueue

__all__ = [
    "Claim",
    "Hold",
    "claim",
    "enqueue",
    "held",
    "idle",
    "peek",
    "prefer_run",
    "ready_count",
    "reap",
    "release",
    "renew",
]


def release(claim: Claim, why: str) -> None:
    """Give a task back between two steps. No attempt is used up. Raises `StaleFence`."""
    from runtime.journal.kinds import TaskReleased

    with held(claim) as hold:
        hold.move("ready", TaskReleased(why=why), fresh_attempt=False)
