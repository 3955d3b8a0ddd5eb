"""The Django application."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class RuntimeConfig(AppConfig):
    """Everything of the product lives in this one application."""

    name = "runtime"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "M31A"

    def ready(self) -> None:
        """Register the steps before and after every migration."""
        pre_migrate.connect(prepare_migration, sender=self)
        post_migrate.connect(complete_migration, sender=self)


def prepare_migration(using: str, plan: list[Any], **_: Any) -> None:
    """Let go of what stands in the way of a migration, where there is one."""
    from django.db import connections

    from runtime.journal import guards

    if plan:
        guards.release(connections[using])


def complete_migration(using: str, **_: Any) -> None:
    """What migrations cannot keep: journal mode, triggers, the reserved run, roles."""
    from django.db import connections

    from runtime.journal import book, guards
    from runtime.people import rights

    guards.use_wal(connections[using])
    guards.install(connections[using])
    book.ensure_system()
    rights.install()
