"""What must hold before anything is started. Run by every process, and by `manage.py check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from runtime.worker import address

TAG = "m31a"
LONGEST_STEP = 600
"""Seconds that a single step may take; the queue's timeout must leave room for it."""


@register(TAG)
def listens_where_it_may(**_: Any) -> list[CheckMessage]:
    """Without TLS the site is for this machine only."""
    site = settings.M31A
    if site.HTTPS or address.is_loopback(site.HOST):
        return []
    return [
        Error(
            f"M31A_HOST is {site.HOST!r}, which other machines reach, and M31A_HTTPS is off.",
            hint="Listen on 127.0.0.1, or put a proxy with TLS in front and set M31A_HTTPS=1.",
            id="m31a.E001",
        )
    ]


@register(TAG)
def cookies_follow_the_switch(**_: Any) -> list[CheckMessage]:
    """The one switch turns every protection of transport on or off together."""
    switched = {
        "SESSION_COOKIE_SECURE": settings.SESSION_COOKIE_SECURE,
        "CSRF_COOKIE_SECURE": settings.CSRF_COOKIE_SECURE,
        "SECURE_SSL_REDIRECT": settings.SECURE_SSL_REDIRECT,
        "SECURE_HSTS_SECONDS": bool(settings.SECURE_HSTS_SECONDS),
    }
    wrong = [name for name, on in switched.items() if on != settings.M31A.HTTPS]
    return [
        Error(
            f"{name} does not agree with M31A_HTTPS.", hint="Set only M31A_HTTPS.", id="m31a.E002"
        )
        for name in wrong
    ]


@register(TAG)
def leases_outlast_their_renewal(**_: Any) -> list[CheckMessage]:
    """A lease survives two renewals that fail; the queue never gives up on a step that may run."""
    from runtime.worker.renewal import renewal_seconds

    found: list[CheckMessage] = []
    lease = settings.M31A.LEASE_SECONDS
    if renewal_seconds() > lease / 3:
        found.append(
            Error(
                f"Leases of {lease} s are renewed every {renewal_seconds()} s.",
                hint="Renew at a third of M31A_LEASE_SECONDS or sooner.",
                id="m31a.E003",
            )
        )
    queue: dict[str, Any] = settings.Q_CLUSTER
    longest = settings.M31A.SLICE_SECONDS
    if not max(longest, LONGEST_STEP) < queue["timeout"] < queue["retry"]:
        found.append(
            Error(
                "The queue's timeout must be longer than a slice and than a step, its retry longer still.",
                hint="Lower M31A_SLICE_SECONDS.",
                id="m31a.E004",
            )
        )
    return found


@register(TAG, Tags.database)
def journal_is_guarded(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """The triggers are there, and SQLite writes ahead. Only for databases that hold our tables."""
    from runtime.journal import guards
    from runtime.models import Event

    found: list[CheckMessage] = []
    for alias in databases or []:
        connection = connections[alias]
        if Event._meta.db_table not in connection.introspection.table_names():
            continue
        missing = guards.missing(connection)
        if missing:
            found.append(
                Error(
                    "Triggers that protect the journal are missing or changed: "
                    f"{', '.join(missing)}.",
                    hint="Run `m31a audit verify`, which says whether the record is whole, then "
                    "`manage.py migrate`, which puts the triggers back.",
                    id="m31a.E005",
                )
            )
        if connection.vendor == "sqlite" and not _writes_ahead(connection):
            found.append(
                Error(
                    "The SQLite database is not in WAL mode.",
                    hint="Run `manage.py migrate` while nothing else uses it.",
                    id="m31a.E006",
                )
            )
    return found


def _writes_ahead(connection: Any) -> bool:
    if connection.is_in_memory_db():
        return True
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        return str(cursor.fetchone()[0]) == "wal"
