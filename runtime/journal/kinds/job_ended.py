"""`job.ended`: a background job is over, for one reason."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from runtime.journal.kind import Payload


class JobEnded(Payload):
    """A background job is over.

    `reason`: `exited`, `timed_out`, `limit`, `failed` (by itself), `stopped` (the model),
    `verify`, `finish`, `waiting`, `slice`, `stop`, `rules`, `cancelled`, `task_failed` (the
    runtime), or `lost`: its worker died. `detail` says how in one line; `characters` is how much it printed.
    `action`: the one that started it.
    """

    type = "job.ended"
    bulky = ("artifacts", "detail")

    action: str
    job: str
    reason: str
    detail: str = ""
    characters: int = 0
    trace: dict[str, Any] | None = None
    artifacts: list[dict[str, Any]] = Field(default_factory=list)
    spent: dict[str, int] | None = None
