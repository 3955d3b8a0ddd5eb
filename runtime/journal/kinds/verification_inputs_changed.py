"""`verification.inputs_changed`: what proves the work was changed by the work."""

from __future__ import annotations

from runtime.journal.kind import Payload


class VerificationInputsChanged(Payload):
    """Files that the operator's verification runs, or that steer it, differ from before.

    `paths` are those that no earlier event of the run names.
    """

    type = "verification.inputs_changed"
    bulky = ("paths",)

    action: str
    paths: list[str]
