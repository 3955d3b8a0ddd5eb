"""`action.started`: the action is about to have its effect. Hashes say what an edit changes."""

from __future__ import annotations

from runtime.journal.kind import Payload


class ActionStarted(Payload):
    """The action is about to have its effect. Hashes say what an edit changes.

    `files`, of a patch: each path with what it is before and what it will be, as permission bits
    and hash; "" where there is no file. `hosts`, of a command: what it may reach; without it it has
    no network.
    """

    type = "action.started"
    bulky = ("files", "path", "hosts")

    action: str
    kind: str
    program: str | None = None
    path: str | None = None
    before: str | None = None
    after: str | None = None
    files: list[list[str]] | None = None
    hosts: list[str] | None = None
