"""What the queue's messages call, by dotted name. A message says that there may be work, no more."""

from __future__ import annotations

import logging
import threading

from django.utils import timezone

from runtime import tasks
from runtime.models import Canary
from runtime.worker import incarnation, presence, queue, reconcile, shutdown, slices

log = logging.getLogger(__name__)


def drain(hint_task_id: str | None = None) -> None:
    """Claim a ready task (best the hinted one), drive one slice, pass the word on. Never raises."""
    try:
        _drain(hint_task_id)
    except Exception:
        log.exception("A wake-up message failed; the reconciler sends another.")


def _drain(hint_task_id: str | None) -> None:
    if shutdown.asked():
        return
    owner = incarnation.mine()
    claim = tasks.claim(owner, prefer=hint_task_id)
    if claim is None:
        # Nothing is ready: a good moment to see whether something was left behind.
        reconcile.once()
        claim = tasks.claim(owner)
    if claim is None:
        presence.seen()
        return
    slices.drive(claim, threading.Event())
    queue.top_up(most=1)


def sing() -> None:
    """Answer the canary: touch its row, and this worker's."""
    try:
        presence.seen()
        Canary.objects.filter(name=queue.CANARY).update(sung_at=timezone.now())
    except Exception:
        log.exception("The canary could not sing.")
