"""Wake-up messages: how many wait, and one more where there are too few."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone
from django_q.models import OrmQ
from django_q.tasks import async_task

from runtime import tasks
from runtime.tasks.wake import DRAIN

SING = "runtime.worker.wakeup.sing"
CANARY = "cluster"
"""Name of the row by which the cluster shows that it takes messages."""
MOST_AT_ONCE = 64
"""Messages that one pass adds; more would only wait behind the same workers."""


def waiting() -> int:
    """Messages that no worker has taken yet."""
    name = settings.Q_CLUSTER["name"]
    return int(OrmQ.objects.filter(key=name, lock__lte=timezone.now()).count())


def top_up(most: int = MOST_AT_ONCE) -> int:
    """Add messages until there are as many as ready tasks. Returns how many were added."""
    lacking = min(most, tasks.ready_count() - waiting())
    for _ in range(lacking):
        async_task(DRAIN)
    return max(0, lacking)


def sing() -> None:
    """Ask the cluster for a sign of life."""
    async_task(SING)
