"""What every kind of event has in common."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

MAX_PAYLOAD = 4096
"""Bytes of canonical JSON that an event may hold; what is larger goes to an artifact."""


class Payload(BaseModel):
    """The payload of one kind of event. Its schema is closed: an unknown field is refused.

    `bulky` names the fields that move to an artifact, largest first, when the whole would
    be over `MAX_PAYLOAD`; each then reads `{"artifact": SHA-256, "size": bytes}`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: ClassVar[str]
    v: ClassVar[int] = 1
    bulky: ClassVar[tuple[str, ...]] = ()

    def given(self) -> dict[str, Any]:
        """The fields that were given."""
        return self.model_dump(exclude_none=True)
