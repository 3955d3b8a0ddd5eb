"""The journal and the tables that are read off it.

`Event` has no foreign keys: the record outlives every projection.
"""

from __future__ import annotations

from django.db import models


class Event(models.Model):
    """One immutable, numbered, hash-chained record. Triggers refuse UPDATE and DELETE."""

    id = models.BigAutoField(primary_key=True)
    run = models.CharField(max_length=26)
    seq = models.PositiveBigIntegerField()
    type = models.CharField(max_length=40)
    v = models.PositiveIntegerField(default=1)
    task = models.CharField(max_length=26, null=True)
    attempt = models.PositiveIntegerField(null=True)
    fence = models.PositiveBigIntegerField(null=True)
    actor = models.CharField(max_length=160)
    at = models.CharField(max_length=27)
    payload = models.TextField()
    prev_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="event_seq_once")]
        indexes = [models.Index(fields=["type", "id"], name="event_by_type")]


class NewerKind(models.Model):
    """A kind and version of event in a run's record that not every version of this program reads.

    Whoever writes such an event adds the row with it, so that a version that has never heard of
    the kind finds out by one look at the run, and not by reading its record.
    """

    run = models.ForeignKey("runtime.Run", models.CASCADE)
    type = models.CharField(max_length=40)
    v = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "type", "v"], name="newer_kind_once")]


class Tombstone(models.Model):
    """The permission to delete a run's events, and what is left of them. Append-only itself."""

    run = models.CharField(max_length=26, primary_key=True)
    last_seq = models.PositiveBigIntegerField()
    head_hash = models.CharField(max_length=64)
    actor = models.CharField(max_length=160)
    reason = models.TextField()
    at = models.CharField(max_length=27)


class Delta(models.Model):
    """A piece of text while a model speaks. Outside the chain; gone after its message event."""

    id = models.BigAutoField(primary_key=True)
    run = models.CharField(max_length=26)
    task = models.CharField(max_length=26)
    message = models.CharField(max_length=64)
    part = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "message", "part"], name="delta_part_once")
        ]


class Trace(models.Model):
    """Metadata of one executed command, read off its `action.completed`. Never arguments or output.

    Sizes are bytes, times milliseconds.
    """

    run = models.CharField(max_length=26)
    seq = models.PositiveBigIntegerField()
    task = models.CharField(max_length=26)
    attempt = models.PositiveIntegerField()
    action = models.CharField(max_length=64)
    program = models.CharField(max_length=255)
    argument_count = models.PositiveIntegerField()
    status = models.IntegerField(null=True)
    signal = models.IntegerField(null=True)
    timed_out = models.BooleanField()
    cancelled = models.BooleanField()
    limit = models.CharField(max_length=32, null=True)
    truncated = models.BooleanField()
    stdout_bytes = models.PositiveBigIntegerField()
    stderr_bytes = models.PositiveBigIntegerField()
    duration_ms = models.PositiveBigIntegerField()
    cpu_ms = models.PositiveBigIntegerField()
    peak_memory = models.PositiveBigIntegerField()
    sandbox = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "seq", "action"], name="trace_once")]


class PolicyDecision(models.Model):
    """One verdict of the gate, read off its `policy.decided`, so that the audit can filter."""

    run = models.CharField(max_length=26)
    seq = models.PositiveBigIntegerField()
    task = models.CharField(max_length=26)
    action = models.CharField(max_length=64)
    kind = models.CharField(max_length=32)
    decision = models.CharField(max_length=8)
    rule = models.CharField(max_length=160)
    source = models.CharField(max_length=16)
    key = models.CharField(max_length=64)
    at = models.CharField(max_length=27)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="decision_once")]
        indexes = [
            models.Index(fields=["decision", "id"], name="decision_by_outcome"),
            models.Index(fields=["rule", "id"], name="decision_by_rule"),
            models.Index(fields=["key", "id"], name="decision_by_key"),
        ]
