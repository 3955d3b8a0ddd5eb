"""A directory that an operator registered, and what may happen in it."""

from __future__ import annotations

from django.db import models


class Workspace(models.Model):
    """Registered root with allowed programs, verification commands and limits.

    `verify` is a list of argument vectors; `remotes` maps a name to a URL recorded at
    registration; `environments` lists directories mounted read-only; `limits` maps a
    limit's name to a number in its base unit (bytes, count, seconds); `sandbox` names the
    weaker backend that was accepted for it in writing: landlock, none, or nothing; `hosts` lists
    what a command that needs the network may reach beyond the hosts that it names; `budgets` maps a
    budget's name to the limit of its runs; `provider_retries` is how often a failed call of a model
    is made again, `fallback` the specification of a model that then takes its place, or nothing.
    """

    class Retention(models.TextChoices):
        NONE = "none"
        REDACTED = "redacted"
        FULL = "full"

    name = models.CharField(max_length=64, unique=True)
    root = models.CharField(max_length=4096)
    is_git = models.BooleanField()
    allowed = models.JSONField(default=list)
    verify = models.JSONField(default=list)
    environments = models.JSONField(default=list)
    remotes = models.JSONField(default=dict)
    limits = models.JSONField(default=dict)
    retention = models.CharField(
        max_length=8, choices=Retention.choices, default=Retention.REDACTED
    )
    sandbox = models.CharField(max_length=16, default="")
    hosts = models.JSONField(default=list)
    budgets = models.JSONField(default=dict)
    provider_retries = models.PositiveSmallIntegerField(default=0)
    fallback = models.CharField(max_length=512, default="")
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)
