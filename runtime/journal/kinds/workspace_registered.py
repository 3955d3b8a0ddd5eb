"""`workspace.registered`: an operator registered a directory."""

from __future__ import annotations

from runtime.journal.kind import Payload


class WorkspaceRegistered(Payload):
    """An operator registered a directory."""

    type = "workspace.registered"
    bulky = ("allowed", "verify", "remotes")

    name: str
    root: str
    is_git: bool
    allowed: list[str]
    verify: list[list[str]]
    environments: list[str]
    remotes: dict[str, str]
    retention: str
    sandbox: str | None = None
    """The weaker backend that was accepted for it, if any."""
