"""`policy.loaded`: the rules changed for everything that is decided from here on."""

from __future__ import annotations

from pydantic import Field

from runtime.journal.kind import Payload


class PolicyLoaded(Payload):
    """The rules changed. `files` are `[name, SHA-256]` of all that hold rules; `texts` are
    `[name, text]` of the same files, so that an old policy can be read and tried again."""

    type = "policy.loaded"
    bulky = ("texts", "files")

    hash: str
    by: str
    rules: int
    files: list[list[str]] = Field(default_factory=list)
    texts: list[list[str]] = Field(default_factory=list)
