"""`manage.py` decides by a stamp whether the environment fits, and says clearly what it lacks."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.worker.installation import ROOT


@pytest.fixture
def manage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, as it would be in a fresh clone elsewhere."""
    spec = importlib.util.spec_from_file_location("manage_under_test", ROOT / "manage.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in (module.RUNTIME, module.TEST):
        (tmp_path / name).write_text(f"{name}\n")
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(venv))
    monkeypatch.setattr(module, "PYTHON", str(venv / "bin" / "python"))
    monkeypatch.setattr(module, "LOCK", str(tmp_path / ".venv.lock"))
    return module


def finish(manage: ModuleType, lock: str) -> None:
    manage.write(manage.stamp_path(lock), manage.stamp(lock), 0o644)


def test_an_environment_fits_only_with_its_stamp(manage: ModuleType) -> None:
    assert not manage.fits(manage.RUNTIME)
    finish(manage, manage.RUNTIME)
    assert manage.fits(manage.RUNTIME)
    assert not manage.fits(manage.TEST)


def test_it_no_longer_fits_when_something_changes(manage: ModuleType, tmp_path: Path) -> None:
    finish(manage, manage.RUNTIME)
    lock = tmp_path / manage.RUNTIME
    before = lock.read_text()
    lock.write_text("another\n")
    assert not manage.fits(manage.RUNTIME)
    lock.write_text(before)
    assert manage.fits(manage.RUNTIME)
    (tmp_path / ".venv" / "bin" / "python").unlink()
    assert not manage.fits(manage.RUNTIME)


def test_a_moved_environment_does_not_fit(
    manage: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    finish(manage, manage.RUNTIME)
    there = tmp_path / "there"
    there.mkdir()
    (there / manage.RUNTIME).write_text((tmp_path / manage.RUNTIME).read_text())
    monkeypatch.setattr(manage, "ROOT", str(there))
    assert not manage.fits(manage.RUNTIME)


@pytest.mark.thorough
def test_building_makes_a_broken_environment_anew_and_stamps_it_last(
    manage: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The real steps, with nothing to install."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / ".venv" / "broken").write_text("")
    (tmp_path / ".venv" / "bin" / "python").unlink()
    for name in (manage.RUNTIME, manage.TEST):
        (tmp_path / name).write_text("# nothing\n")
    manage.build(manage.RUNTIME)
    assert manage.fits(manage.RUNTIME) and not manage.fits(manage.TEST)
    assert not (tmp_path / ".venv" / "broken").exists()
    script = tmp_path / ".venv" / "bin" / "m31a"
    assert os.access(script, os.X_OK) and "manage.py m31a" in script.read_text()
    manage.build(manage.TEST)
    assert manage.fits(manage.RUNTIME) and manage.fits(manage.TEST)


def test_a_failed_installation_leaves_no_stamp(
    manage: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(manage, "create", lambda: None)
    monkeypatch.setattr(manage, "attempt", lambda command: False)
    with pytest.raises(manage.Failure, match=r"requirements\.lock"):
        manage.build(manage.RUNTIME)
    assert not manage.fits(manage.RUNTIME)


def test_an_old_python_is_told_so(manage: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(manage, "say", said.append)
    monkeypatch.setattr(manage.sys, "version_info", (3, 10, 2, "final", 0))
    assert manage.main(["up"]) == 2
    assert "3.11 or newer" in said[0] and "3.10.2" in said[0]


def test_without_a_command_it_explains_itself() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "up" in done.stdout and "test" in done.stdout
