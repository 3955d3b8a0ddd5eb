"""Messages whose speaker died: what had come of them is kept, and marked as cut."""

from __future__ import annotations

from runtime.models import Delta, Event

from .kinds import MessageCut
from .rows import COLUMNS, from_columns

REASON = "interrupted"
_ENDS = ("message.completed", "message.cut")
RECENT = 20
"""Message events in which a preview is looked for that only was not removed any more."""


def cut(run: str, task: str) -> list[MessageCut]:
    """An event for each message of a task that was being spoken, oldest first."""
    texts: dict[str, list[str]] = {}
    rows = Delta.objects.filter(run=run, task=task).order_by("message", "part")
    for message, text in rows.values_list("message", "text"):
        texts.setdefault(message, []).append(text)
    if not texts:
        return []
    known = _ended(run)
    return [
        MessageCut(message=message, text="".join(parts), reason=REASON)
        for message, parts in texts.items()
        if message not in known
    ]


def ended(run: str, message: str) -> bool:
    """Whether a message is in the journal."""
    rows = Event.objects.filter(run=run, type__in=_ENDS)
    return rows.filter(payload__contains=f'"message":"{message}"').exists()


def _ended(run: str) -> set[str]:
    """The last messages of a run that are in the journal. A damaged record names none."""
    rows = Event.objects.filter(run=run, type__in=_ENDS)
    found = rows.order_by("-seq").values_list(*COLUMNS)[:RECENT]
    return {str(from_columns(row).payload.get("message")) for row in found}
