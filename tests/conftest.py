"""Fixtures for every test: a database by template, and the cast of people."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import databases
from tests.kit import Cast


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long processes are killed at random: 60 is for continuous integration, 600 for a night."""
    parser.addoption("--chaos-seconds", type=float, default=12.0)
    parser.addoption("--chaos-seed", type=int, default=0)
    parser.addoption("--thorough", action="store_true", help="also kill and freeze processes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Durability tests take minutes: they run with --thorough (as in `.ci/run`) or when named."""
    named = any("durable" in argument for argument in config.invocation_params.args)
    if config.getoption("--thorough") or named:
        return
    long = [item for item in items if "tests/durable/" in item.path.as_posix()]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in set(long)]


@pytest.fixture(scope="session")
def sqlite_template(django_db_blocker: pytest.FixtureDef) -> databases.Template:  # type: ignore[type-arg]
    """A migrated SQLite file, made once a process."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        return databases.Sqlite()


@pytest.fixture(scope="session")
def postgres_template(django_db_blocker) -> Iterator[databases.Template]:  # type: ignore[no-untyped-def]
    """A migrated PostgreSQL database on a server of our own."""
    server = databases.Server.start()
    if server is None:
        pytest.skip("PostgreSQL is not installed here")
    try:
        with django_db_blocker.unblock():
            template = databases.Postgres(server)
        yield template
    finally:
        server.stop()


@pytest.fixture
def site(sqlite_template, django_db_blocker) -> Iterator[None]:  # type: ignore[no-untyped-def]
    """A fresh SQLite database in the data folder. Transactions are real ones."""
    with django_db_blocker.unblock():
        sqlite_template.renew()
        yield
        sqlite_template.leave()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def both(request, django_db_blocker) -> Iterator[str]:  # type: ignore[no-untyped-def]
    """The same test on a fresh SQLite file and on a fresh PostgreSQL database."""
    template = request.getfixturevalue(f"{request.param}_template")
    with django_db_blocker.unblock():
        template.renew()
        yield request.param
        template.leave()


@pytest.fixture
def cast(site) -> Cast:  # type: ignore[no-untyped-def]
    """alice submits, bob reviews, sol is the security officer, mallory has nothing."""
    return Cast()
