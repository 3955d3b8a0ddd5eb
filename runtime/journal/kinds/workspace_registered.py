"""`workspace.registered`: an operator registered a directory."""

from __future__ import annotations

from pydantic import Field

from runtime.journal.kind import Payload


class WorkspaceRegistered(Payload):
    """An operator registered a directory."""

    type = "workspace.registered"
    bulky = ("allowed", "verify", "remotes", "hosts", "environments", "root")

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
    hosts: list[str] = Field(default_factory=list)
    """What a command that needs the network may reach, beyond what it names."""
    limits: dict[str, int] = Field(default_factory=dict)
    """Those that differ from the defaults, in bytes, seconds or numbers."""
    budgets: dict[str, int] | None = None
    provider_retries: int = 0
    fallback: str | None = None
    """The model that takes the place of one that fails, if any."""
