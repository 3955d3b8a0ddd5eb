"""What cages see as /etc is made once for all runs, and again when the machine's own has changed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runtime.sandbox import etc

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "data" / "etc")


def made(folder: str) -> list[str]:
    return sorted(os.listdir(folder))


def test_it_is_made_once_and_says_who_the_agent_is(folder: str) -> None:
    first = etc.shared_etc(folder)
    about = os.stat(first)
    assert etc.shared_etc(folder) == first and os.stat(first).st_mtime_ns == about.st_mtime_ns
    assert made(folder) == [os.path.basename(first)]
    assert "agent:" in Path(first, "passwd").read_text()
    assert about.st_mode & 0o777 == 0o755 and os.stat(folder).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["_BOOT", "_sources"])
def test_a_changed_source_and_a_new_start_of_the_machine_make_another(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    source = tmp_path / "source"
    source.write_text("one")
    monkeypatch.setattr(etc, name, str(source) if name == "_BOOT" else lambda: [str(source)])
    first = etc.shared_etc(folder)
    source.write_text("another")
    second = etc.shared_etc(folder)
    assert first != second and os.path.isdir(first), "a cage may still show the first one"


def test_many_at_once_get_the_same_whole_one(folder: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: etc.shared_etc(folder), range(24)))
    assert len(found) == 1 and made(folder) == [os.path.basename(found.pop())]


@pytest.mark.thorough
def test_many_processes_at_once_get_the_same_whole_one(folder: str) -> None:
    code = f"from runtime.sandbox.etc import shared_etc; print(shared_etc({folder!r}))"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(6)
    ]
    found = {one.communicate(timeout=30)[0].strip() for one in started}
    assert len(found) == 1 and made(folder) == [os.path.basename(path := found.pop())]
    assert os.path.getsize(f"{path}/passwd") > 0 and all(one.returncode == 0 for one in started)


def test_a_stray_file_stops_nobody(folder: str) -> None:
    os.makedirs(folder)
    stray = Path(folder, ".DS_Store")
    stray.write_text("x")
    os.utime(stray, (0, 0))
    assert os.path.isdir(etc.shared_etc(folder))


def test_rights_that_changed_make_another(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.write_text("x")
    monkeypatch.setattr(etc, "_sources", lambda: [str(source)])
    first = etc.shared_etc(folder)
    source.chmod(0o600)
    assert etc.shared_etc(folder) != first


def test_what_nobody_used_for_two_days_is_removed_when_another_is_made(folder: str) -> None:
    long_ago = time.time() - 3 * 86_400
    for name in ("an-old-one", "making-of-a-killed-process"):
        Path(folder, name, "ssl").mkdir(parents=True)
        os.utime(Path(folder, name), (long_ago, long_ago))
    Path(folder, "a-young-one").mkdir()
    path = etc.shared_etc(folder)
    assert made(folder) == sorted(["a-young-one", os.path.basename(path)])


def test_one_in_use_stays_young(folder: str) -> None:
    path = etc.shared_etc(folder)
    os.utime(path, (time.time() - 86_400,) * 2)
    etc.shared_etc(folder)
    assert os.stat(path).st_mtime > time.time() - 60


def test_a_folder_that_cannot_be_written_is_an_error_and_nothing_is_left(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device", target)

    monkeypatch.setattr(etc.shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space left"):
        etc.shared_etc(folder)
    assert made(folder) == []
