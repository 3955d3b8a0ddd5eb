"""Fixtures for every test: a database by template, the cast of people, policy files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from runtime.gating import policies
from tests import databases
from tests.kit import Cast

# A machine that stands still for a moment is no finding; what must be quick has a test that says so.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long processes are killed at random: 60 is for continuous integration, 600 for a night."""
    parser.addoption("--chaos-seconds", type=float, default=12.0)
    parser.addoption("--chaos-seed", type=int, default=0)
    parser.addoption("--thorough", action="store_true", help="also the tests that take minutes")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The room whose tests all take long is not even read for a short run."""
    room = Path(__file__).parent / "durable"
    wanted = config.getoption("--thorough") or collection_path.name in named(config)
    return True if not wanted and collection_path == room else None


def named(config: pytest.Config) -> set[str]:
    """Names of the files and folders that were given."""
    return {Path(str(one).partition("::")[0]).name for one in config.invocation_params.args}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes minutes runs with --thorough (as in `.ci/run`), or where its file or folder is
    named: tests that kill processes, those that are marked so, and whatever runs a second time on
    PostgreSQL. While some wait, others compute."""
    items.sort(key=turn)
    if config.getoption("--thorough"):
        return
    wanted = named(config)
    long = {item for item in items if is_long(item) and not wanted & set(item.path.parts)}
    config.hook.pytest_deselected(items=[item for item in items if item in long])
    items[:] = [item for item in items if item not in long]


def is_long(item: pytest.Item) -> bool:
    """Whether a test is one of those that take minutes together."""
    return (
        "tests/durable/" in item.path.as_posix() or item.get_closest_marker("thorough") is not None
    )


def turn(item: pytest.Item) -> tuple[bool, float]:
    """Those that kill processes come first, for they mostly wait; of them those that may take the
    longest."""
    if "tests/durable/" not in item.path.as_posix():
        return True, 0
    bound = item.get_closest_marker("timeout")
    return False, -bound.args[0] if bound else 0


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


POSTGRES = pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.thorough])


@pytest.fixture(params=["sqlite", POSTGRES])
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


@pytest.fixture
def policy(site) -> Iterator[Callable[[str, str], Path]]:  # type: ignore[no-untyped-def]
    """Write a policy file, as people should: beside the old one, then renamed."""
    folder = policies.folder()
    shutil.rmtree(folder, ignore_errors=True)
    policies.forget()

    def put(name: str, text: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(text)
        fresh.rename(path)
        return path

    yield put
    shutil.rmtree(folder, ignore_errors=True)
    policies.forget()
