"""Messages whose speaker died: what had come of them is kept, and marked as cut."""

from __future__ import annotations

from runtime.core import canonical
from runtime.models import Delta, Event

from .kinds import MessageCut

REASON = "interrupted"
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


def _ended(run: str) -> set[str]:
    """The last messages of a run that are in the journal."""
    rows = Event.objects.filter(run=run, type__in=["message.completed", "message.cut"])
    payloads = rows.order_by("-seq").values_list("payload", flat=True)[:RECENT]
    return {canonical.decode(payload)["message"] for payload in payloads}
