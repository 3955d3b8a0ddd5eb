"""`sandbox.unavailable`: a machine can confine no command of a run, so none is executed there."""

from __future__ import annotations

from pydantic import Field

from runtime.journal.kind import Payload


class SandboxUnavailable(Payload):
    """Said once, not with each command: when it begins, and when something else is to be done
    about it. `backends` are those that were tried; none where the settings name an unknown one."""

    type = "sandbox.unavailable"
    bulky = ("detail",)

    host: str
    backends: list[str] = Field(default_factory=list)
    detail: str
    remedy: str
