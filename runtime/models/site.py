"""Who works here now."""

from __future__ import annotations

from django.db import models


class Worker(models.Model):
    """One incarnation of a worker process. A name that returns is another incarnation."""

    incarnation = models.CharField(max_length=200, primary_key=True)
    host = models.CharField(max_length=100)
    pid = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    task = models.CharField(max_length=26, default="")

    class Meta:
        indexes = [models.Index(fields=["-seen_at"], name="worker_seen")]


class Canary(models.Model):
    """The row that a wake-up message touches, to prove that the queue moves."""

    name = models.CharField(max_length=32, primary_key=True)
    asked_at = models.DateTimeField(null=True)
    sung_at = models.DateTimeField(null=True)
