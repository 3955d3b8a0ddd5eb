"""`checkpoint.created`: the tree of the run after an action."""

from __future__ import annotations

from runtime.journal.kind import Payload


class CheckpointCreated(Payload):
    """The tree of the run after an action."""

    type = "checkpoint.created"
    bulky = ("files",)

    tree: str
    commit: str
    action: str
    files: list[str]
    head: str | None = None
