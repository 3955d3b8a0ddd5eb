"""One database for all runs of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings

from tests.kit import Cast, repository, workspace


def _hall(template) -> Iterator[Cast]:  # type: ignore[no-untyped-def]
    template.renew()
    cast = Cast()
    for person in (cast.alice, cast.bob, cast.sol):
        assert person.pk
    files = {"notes.txt": "first\n", ".gitignore": "*.log\n"}
    workspace(cast.alice, repository(files))
    before, settings.M31A.LEASE_SECONDS = settings.M31A.LEASE_SECONDS, 3
    yield cast
    settings.M31A.LEASE_SECONDS = before
    template.leave()


@pytest.fixture(scope="module")
def sqlite_hall(sqlite_template, django_db_blocker) -> Iterator[Cast]:  # type: ignore[no-untyped-def]
    """A site on SQLite with a workspace and short leases, for all tests of a module."""
    with django_db_blocker.unblock():
        yield from _hall(sqlite_template)


@pytest.fixture(scope="module")
def postgres_hall(postgres_template, django_db_blocker) -> Iterator[Cast]:  # type: ignore[no-untyped-def]
    """The same on PostgreSQL."""
    with django_db_blocker.unblock():
        yield from _hall(postgres_template)


@pytest.fixture
def hall(sqlite_hall, sqlite_template) -> Cast:  # type: ignore[no-untyped-def]
    """That site, also where a test of the other kind came between."""
    sqlite_template.choose()
    return sqlite_hall


@pytest.fixture
def pg_hall(postgres_hall, postgres_template) -> Cast:  # type: ignore[no-untyped-def]
    """The same on PostgreSQL."""
    postgres_template.choose()
    return postgres_hall
