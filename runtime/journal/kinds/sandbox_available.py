"""`sandbox.available`: a machine that could not confine can do it again."""

from __future__ import annotations

from runtime.journal.kind import Payload


class SandboxAvailable(Payload):
    """The end of what the last `sandbox.unavailable` of this host said."""

    type = "sandbox.available"
    bulky = ("detail",)

    host: str
    backend: str
    detail: str
