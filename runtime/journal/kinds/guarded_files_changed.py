"""`guarded_files.changed`: what other programs obey, or what may be a secret, came by a command."""

from __future__ import annotations

from runtime.journal.kind import Payload


class GuardedFilesChanged(Payload):
    """Files that the gate asks about before an edit differ from before, and no edit that it was
    asked about made them what they are.

    `paths` are those that no earlier event of the run names.
    """

    type = "guarded_files.changed"
    bulky = ("paths",)

    action: str
    paths: list[str]
