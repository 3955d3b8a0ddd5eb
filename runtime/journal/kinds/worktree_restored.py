"""`worktree.restored`: after a lost lease the files are those of the last checkpoint again."""

from __future__ import annotations

from typing import Any

from runtime.journal.kind import Payload


class WorktreeRestored(Payload):
    """After a lost lease the files are those of the last checkpoint again.

    `left` is the patch of what was there instead, as an artifact, if anything was.
    """

    type = "worktree.restored"

    commit: str
    left: dict[str, Any] | None = None
