"""Tables, one module per aggregate: data and constraints only."""

from __future__ import annotations

from .approval import Approval, Grant
from .artifact import Artifact, SealedBytes
from .event import Delta, Event, NewerKind, PolicyDecision, Tombstone, Trace
from .run import Dependency, Run, Task
from .site import Canary, Worker
from .user import SECURITY, SignInLink, User
from .workspace import Workspace

__all__ = [
    "SECURITY",
    "Approval",
    "Artifact",
    "Canary",
    "Delta",
    "Dependency",
    "Event",
    "Grant",
    "NewerKind",
    "PolicyDecision",
    "Run",
    "SealedBytes",
    "SignInLink",
    "Task",
    "Tombstone",
    "Trace",
    "User",
    "Worker",
    "Workspace",
]
