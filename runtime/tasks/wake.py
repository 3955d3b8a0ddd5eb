"""Wake-ups: messages that say that work is there. A lost one costs time, never work."""

from __future__ import annotations

from runtime import faults

DRAIN = "runtime.worker.wakeup.drain"
MAX_WAITING = 200
"""Messages beyond this change nothing: each drains whatever is ready."""


def enqueue(task_id: str | None = None) -> None:
    """Leave a message for a worker, within the transaction that makes a task ready."""
    from django_q.models import OrmQ
    from django_q.tasks import async_task

    faults.hit("wake.before_send")
    if OrmQ.objects.count() < MAX_WAITING:
        async_task(DRAIN, task_id)
