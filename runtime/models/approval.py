"""Questions to people, and answers that are remembered."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from .run import Run, Task


class Approval(models.Model):
    """A durable question, bound to one action's digest. Leaves `pending` once.

    `card` is canonical JSON of what the reviewer sees. `kind` tells a gate's question
    (`action`) from the model's own (`question`).
    """

    class State(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        DENIED = "denied"
        EXPIRED = "expired"
        CANCELLED = "cancelled"
        SUPERSEDED = "superseded"

    class Kind(models.TextChoices):
        ACTION = "action"
        QUESTION = "question"

    id = models.CharField(max_length=26, primary_key=True)
    run = models.ForeignKey(Run, models.CASCADE)
    task = models.ForeignKey(Task, models.CASCADE)
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.ACTION)
    action = models.CharField(max_length=64)
    action_kind = models.CharField(max_length=32)
    decision = models.CharField(max_length=8)
    rule = models.CharField(max_length=160)
    risk = models.CharField(max_length=8)
    key = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    card = models.TextField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    submitted_by = models.CharField(max_length=150)
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decided_by = models.CharField(max_length=150, null=True)
    decided_at = models.DateTimeField(null=True)
    comment = models.TextField(default="")
    scope = models.CharField(max_length=40, default="once")
    consumed_fence = models.PositiveBigIntegerField(default=0)
    """The fence that used the one permission of this answer; 0 while it is unused."""
    reminded = models.PositiveSmallIntegerField(default=0)
    """The last reminder: 1 past half of the time, 2 near its end."""
    remind_at = models.DateTimeField(null=True)
    """When the next reminder is due while it is open; None after the last."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["task"], condition=Q(state="pending"), name="approval_one_open_per_task"
            ),
            models.CheckConstraint(
                name="approval_four_eyes",
                condition=~Q(decision="ESCALATE")
                | Q(decided_by__isnull=True)
                | ~Q(state="approved")
                | ~Q(decided_by=F("submitted_by")),
            ),
        ]
        indexes = [
            models.Index(fields=["state", "requested_at", "id"], name="approval_inbox"),
            models.Index(fields=["key", "id"], name="approval_by_key"),
            models.Index(fields=["state", "remind_at"], name="approval_reminders"),
        ]


class Grant(models.Model):
    """A remembered approval: the exact `key`, or what `rule` covers as well (canonical JSON of a
    `Remembered`, "" for none), for a task, a run or a workspace, until `expires_at`."""

    class Scope(models.TextChoices):
        TASK = "task"
        RUN = "run"
        WORKSPACE = "workspace"

    id = models.CharField(max_length=26, primary_key=True)
    key = models.CharField(max_length=64)
    rule = models.TextField(default="")
    scope = models.CharField(max_length=10, choices=Scope.choices)
    subject = models.CharField(max_length=64)
    """Id of the task or run, or name of the workspace."""
    lifts = models.CharField(max_length=8)
    """The strongest decision that it lifts: ASK, or ESCALATE where security gave it."""
    approval = models.ForeignKey(Approval, models.PROTECT)
    granted_by = models.CharField(max_length=150)
    granted_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=150, null=True)

    class Meta:
        indexes = [models.Index(fields=["subject", "key"], name="grant_by_subject")]
