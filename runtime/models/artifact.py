"""References to stored bytes, and the sealed raw form of redacted actions."""

from __future__ import annotations

from django.db import models

from .run import Run


class Artifact(models.Model):
    """A run's reference to bytes under their SHA-256. `size` is in bytes."""

    run = models.ForeignKey(Run, models.CASCADE)
    task = models.CharField(max_length=26, null=True)
    action = models.CharField(max_length=64, default="")
    sha256 = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    kind = models.CharField(max_length=32)
    size = models.PositiveBigIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "action", "name", "sha256"], name="artifact_once"
            )
        ]
        indexes = [models.Index(fields=["sha256"], name="artifact_by_hash")]


class SealedBytes(models.Model):
    """Canonical bytes of an action that redaction changed, encrypted; gone when the action ends."""

    run = models.CharField(max_length=26)
    action = models.CharField(max_length=64, primary_key=True)
    digest = models.CharField(max_length=64)
    sealed = models.BinaryField()
