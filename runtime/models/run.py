"""Runs, their tasks and the edges between tasks. Only the tasks room changes these rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F, Q

from .workspace import Workspace

if TYPE_CHECKING:
    from .user import User


class RunQuerySet(models.QuerySet["Run"]):
    """The only way in which pages and sockets fetch runs."""

    def visible_to(self, user: User) -> RunQuerySet:
        """The runs that a person may see: the own ones, or all with that right."""
        runs = self.exclude(pk="system")
        if user.gets("see_all_runs"):
            return runs
        return runs.filter(submitted_by=user.get_username())


class Run(models.Model):
    """One submitted objective. `event_seq` and `head_hash` are the head of its chain.

    Money is in micro-units of the currency, times are UTC. `generation` counts retries.
    """

    id = models.CharField(max_length=26, primary_key=True)
    workspace = models.ForeignKey(Workspace, models.PROTECT, null=True)
    objective = models.TextField(default="")
    workflow = models.CharField(max_length=64, default="single")
    provider = models.CharField(max_length=512, default="")
    script = models.CharField(max_length=64, default="")
    mode = models.CharField(max_length=16, default="assisted")
    require_edit = models.BooleanField(default=False)
    max_steps = models.PositiveIntegerField(default=100)
    max_attempts = models.PositiveIntegerField(default=3)
    state = models.CharField(max_length=12, default="planning")
    reason = models.CharField(max_length=64, default="")
    submitted_by = models.CharField(max_length=150, default="")
    key = models.CharField(max_length=200, null=True, unique=True)
    base = models.CharField(max_length=64, default="")
    uid = models.PositiveBigIntegerField(null=True)
    cancel_requested = models.BooleanField(default=False)
    generation = models.PositiveIntegerField(default=0)
    steps = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    budgets = models.TextField(default="")
    """Its limits by name, as amounts (`runtime.core.amounts`); steps and attempts have columns."""
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    event_seq = models.PositiveBigIntegerField(default=0)
    head_hash = models.CharField(max_length=64)
    anchored_seq = models.PositiveBigIntegerField(default=0)
    """The last event that an anchor vouches for."""

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            # Runs that may still execute something never share an account; a failed one may be
            # tried again.
            models.UniqueConstraint(
                fields=["uid"],
                condition=~Q(state__in=["succeeded", "cancelled"]),
                name="run_account_once",
            )
        ]
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="run_newest"),
            models.Index(fields=["state", "-id"], name="run_by_state"),
        ]


class Task(models.Model):
    """A node of a run's workflow. A task has a lease if, and only if, it is held."""

    id = models.CharField(max_length=26, primary_key=True)
    run = models.ForeignKey(Run, models.CASCADE)
    key = models.CharField(max_length=64)
    kind = models.CharField(max_length=32)
    role = models.CharField(max_length=32)
    objective = models.TextField(default="")
    write_paths = models.JSONField(default=list)
    state = models.CharField(max_length=12)
    reason = models.CharField(max_length=64, default="")
    priority = models.IntegerField(default=0)
    available_at = models.DateTimeField()
    attempt = models.PositiveIntegerField(default=0)
    fence = models.PositiveBigIntegerField(default=0)
    fresh_attempt = models.BooleanField(default=True)
    """Whether the next claim starts a new attempt (first claim, lost lease, retry)."""
    crashes = models.PositiveIntegerField(default=0)
    steps = models.PositiveIntegerField(default=0)
    spent = models.TextField(default="")
    """Amounts that it has used, over all its generations."""
    reserved = models.TextField(default="")
    """Amounts that what its holder does now may use; they count as used where the holder dies."""
    lease_owner = models.CharField(max_length=200, default="")
    lease_seq = models.PositiveBigIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "key"], name="task_key_once"),
            models.CheckConstraint(
                name="task_lease_iff_held",
                condition=Q(state__in=["running", "cancelling"], lease_expires_at__isnull=False)
                | (~Q(state__in=["running", "cancelling"]) & Q(lease_expires_at__isnull=True)),
            ),
        ]
        indexes = [
            models.Index(
                F("priority").desc(),
                "available_at",
                "id",
                name="task_claimable",
                condition=Q(state="ready"),
            ),
            models.Index(
                fields=["lease_expires_at"],
                name="task_leased",
                condition=Q(state__in=["running", "cancelling"]),
            ),
        ]


class Dependency(models.Model):
    """`child` starts after `parent`: on its success, on any end, or on its failure."""

    class Kind(models.TextChoices):
        NEEDS = "needs"
        AFTER = "after"
        ON_FAILURE = "on_failure"

    parent = models.ForeignKey(Task, models.CASCADE, related_name="children")
    child = models.ForeignKey(Task, models.CASCADE, related_name="parents")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.NEEDS)
    satisfied = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["parent", "child"], name="dependency_once"),
            models.CheckConstraint(name="dependency_no_loop", condition=~Q(parent=F("child"))),
        ]
