"""Claims and moves of tasks: the only room that decides changes of task and run rows."""

from .claims import Claim, claim, idle, ready_count
from .leases import peek, reap, renew
from .moves import Hold, held, leave, release
from .wake import enqueue

__all__ = [
    "Claim",
    "Hold",
    "claim",
    "enqueue",
    "held",
    "idle",
    "leave",
    "peek",
    "ready_count",
    "reap",
    "release",
    "renew",
]
