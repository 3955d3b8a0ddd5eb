"""People, and the single-use links by which they sign in."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser, Permission
from django.db import models

SECURITY = "security"
"""The role, and the name of its group, without which nobody approves an ESCALATE."""


class User(AbstractUser):
    """A person. Roles are groups; rights are asked for by permission, never by group name."""

    class Meta(AbstractUser.Meta):
        permissions = [
            ("submit_run", "Can submit runs"),
            ("see_all_runs", "Can see the runs of others"),
            ("decide_approval", "Can answer an ASK"),
            ("decide_critical", "Can answer an ESCALATE"),
            ("edit_policy", "Can change policy"),
            ("read_audit", "Can read and export the audit"),
            ("manage_people", "Can add people and roles"),
            ("manage_workspaces", "Can register workspaces"),
        ]

    def gets(self, codename: str) -> bool:
        """Whether one of their groups gives an active person the permission, as it was when they
        were read. Neither being superuser nor a permission given to them directly counts."""
        if self.is_superuser:  # Django's own answer would be every permission there is
            held = Permission.objects.filter(group__user=self, codename=codename)
            return self.is_active and held.exists()
        return f"runtime.{codename}" in self.get_group_permissions()


class SignInLink(models.Model):
    """A one-time link. Only the SHA-256 of its secret is kept."""

    digest = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(User, models.CASCADE)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
