"""Who works here: the worker table, kept by those who work and pruned by the reconciler."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from runtime.models import Worker
from runtime.tasks import incarnation as lives
from runtime.worker import incarnation

FORGOTTEN_AFTER = timedelta(hours=1)


def seen(task: str = "") -> None:
    """Say that this process works, and at what (a task's id, or nothing)."""
    me, now = incarnation.mine(), timezone.now()
    if Worker.objects.filter(incarnation=me).update(seen_at=now, task=task) == 0:
        Worker.objects.create(
            incarnation=me,
            host=socket.gethostname()[:100],
            pid=os.getpid(),
            started_at=now,
            seen_at=now,
            task=task,
        )


def gone() -> None:
    """Take this process off the list."""
    Worker.objects.filter(incarnation=incarnation.mine()).delete()


def live() -> list[Worker]:
    """The workers that were seen within a minute (or two leases) and have not died on this host."""
    fresh = timedelta(seconds=max(60, 2 * settings.M31A.LEASE_SECONDS))
    rows = Worker.objects.filter(seen_at__gt=timezone.now() - fresh).order_by("started_at")
    return [row for row in rows if not lives.is_gone(row.incarnation)]


def prune() -> int:
    """Forget workers that are dead, or that nobody has seen for an hour. Returns how many."""
    cut = timezone.now() - FORGOTTEN_AFTER
    dead = [
        row.incarnation
        for row in Worker.objects.all()
        if row.seen_at < cut or lives.is_gone(row.incarnation)
    ]
    if dead:
        Worker.objects.filter(incarnation__in=dead).delete()
    return len(dead)
