"""What every kind of event has in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

MAX_PAYLOAD = 4096
"""Bytes of canonical JSON that an event may hold; what is larger goes to an artifact."""

Step = Callable[[dict[str, Any]], dict[str, Any]]
"""From a stored payload of one version to what it would be in the next. Pure: the same payload
gives the same result for ever. A bulky field may read `{"artifact": …, "size": …}`."""


class Payload(BaseModel):
    """The payload of one kind of event. Its schema is closed: an unknown field is refused.

    `bulky` names the fields that move to an artifact, largest first, when the whole would
    be over `MAX_PAYLOAD`; each then reads `{"artifact": SHA-256, "size": bytes}`.

    `v` is the version that is written. A change after which an old payload would be read wrongly
    makes a new one, and `older` says for each version before it how it becomes the next.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: ClassVar[str]
    v: ClassVar[int] = 1
    bulky: ClassVar[tuple[str, ...]] = ()
    older: ClassVar[Mapping[int, Step]] = {}

    def given(self) -> dict[str, Any]:
        """The fields that were given."""
        return self.model_dump(exclude_none=True)
