"""Bringing the database up to date, one process at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.checks import CheckMessage, run_checks
from django.core.management import call_command
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from runtime.core.errors import Unavailable


def exists(folder: Path, url: str) -> bool:
    """Whether there is a database that commands may read."""
    return bool(url) or (folder / "m31a.sqlite3").is_file()


def pending() -> bool:
    """Whether migrations are missing. Raises `Unavailable` where the database does not answer."""
    try:
        executor = MigrationExecutor(connection)
        return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError as error:
        raise Unavailable(
            f"The database cannot be used: {error}.".replace("..", "."),
            remedy="Check M31A_DATA_DIR and M31A_DATABASE_URL, and that this account may write there.",
        ) from error


def prepare(folder: Path) -> None:
    """Apply what is missing. Two processes that come at once do it one after the other."""
    if not pending():
        return
    with _alone(folder / "migrate.lock"):
        call_command("migrate", verbosity=0, interactive=False)
    connection.close()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def refuse_unfit() -> None:
    """Run the product's own checks. Raises `Unavailable` naming the first that fails."""
    from m31a_site.checks import TAG

    found = [
        message
        for message in run_checks(tags=[TAG], databases=["default"])
        if message.is_serious() and not message.is_silenced()
    ]
    connection.close()
    if found:
        first: CheckMessage = found[0]
        raise Unavailable(f"{first.msg} ({first.id})", remedy=str(first.hint or ""))
