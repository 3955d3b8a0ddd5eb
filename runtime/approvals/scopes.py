"""How far an answer reaches: once, the task, the run, or the workspace until a date."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from runtime.core.errors import BadInput
from runtime.models import Approval

MAX_DAYS = 365


class Scope(NamedTuple):
    """`kind` is once, task, run or workspace; a workspace scope ends at `until`."""

    kind: str
    until: datetime | None = None

    def subject(self, approval: Approval) -> str:
        """What the grant belongs to."""
        if self.kind == "workspace":
            return str(approval.run.workspace and approval.run.workspace.name)
        return approval.task_id if self.kind == "task" else approval.run_id


def parse_scope(text: str, now: datetime) -> Scope:
    """Read `once`, `task`, `run` or `workspace:YYYY-MM-DD` (to the end of that day, UTC)."""
    if text in {"once", "task", "run"}:
        return Scope(text)
    kind, _, day = text.partition(":")
    if kind != "workspace" or not day:
        raise BadInput(
            f"scope: {text!r} is none.",
            remedy="Use once, task, run or workspace:YYYY-MM-DD.",
            field="scope",
        )
    try:
        until = datetime.combine(date.fromisoformat(day), time.max, UTC)
    except ValueError:
        raise BadInput(
            f"scope: {day!r} is no date.", remedy="Write it as YYYY-MM-DD.", field="scope"
        ) from None
    if not now < until <= now + timedelta(days=MAX_DAYS + 1):
        raise BadInput(
            f"scope: {day} is not within the next {MAX_DAYS} days.",
            remedy="Choose a nearer date that is not past.",
            field="scope",
        )
    return Scope(kind, until)
