"""Django's own checks and ours, with and without TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.quality import tree

CHECK = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")
SECRET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[str]:
    """A data folder with a key and nothing else."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "secret").write_text(SECRET)
    yield str(tmp_path)


@pytest.mark.parametrize(("https", "host"), [("0", "127.0.0.1"), ("1", "0.0.0.0")])
def test_deployment_is_clean(folder: str, https: str, host: str) -> None:
    result = tree.tool(*CHECK, M31A_DATA_DIR=folder, M31A_HTTPS=https, M31A_HOST=host)
    assert result.returncode == 0, result.stdout
    assert "no issues" in result.stdout


def test_without_tls_only_this_machine_is_served(folder: str) -> None:
    result = tree.tool(*CHECK, M31A_DATA_DIR=folder, M31A_HTTPS="0", M31A_HOST="0.0.0.0")
    assert result.returncode == 1
    assert "m31a.E001" in result.stdout and "M31A_HTTPS=1" in result.stdout


def test_no_migration_is_missing(folder: str) -> None:
    result = tree.tool("manage.py", "makemigrations", "--check", "--dry-run", M31A_DATA_DIR=folder)
    assert result.returncode == 0, result.stdout


@pytest.mark.thorough
def test_a_database_without_its_triggers_is_refused(folder: str) -> None:
    import sqlite3

    made = tree.tool("manage.py", "migrate", M31A_DATA_DIR=folder)
    assert made.returncode == 0, made.stdout
    whole = tree.tool("manage.py", "check", "--database", "default", M31A_DATA_DIR=folder)
    assert whole.returncode == 0, whole.stdout
    database = sqlite3.connect(Path(folder) / "m31a.sqlite3")
    database.execute("DROP TRIGGER m31a_event_update")
    database.execute("PRAGMA journal_mode=DELETE")
    database.close()
    result = tree.tool("manage.py", "check", "--database", "default", M31A_DATA_DIR=folder)
    assert result.returncode == 1
    assert "m31a_event_update" in result.stdout and "m31a.E006" in result.stdout
