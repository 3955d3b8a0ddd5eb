"""The lock on a data folder, and the note of where its holder serves."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest

from runtime.core.errors import Unavailable
from runtime.worker import folder

URL = "http://127.0.0.1:8031"


@pytest.fixture
def held(tmp_path: Path):
    descriptor = folder.lock(tmp_path)
    yield tmp_path
    os.close(descriptor)


def test_where_the_holder_serves_is_told_as_long_as_it_holds(tmp_path: Path):
    assert folder.served_at(tmp_path) == ""
    descriptor = folder.lock(tmp_path)
    assert folder.served_at(tmp_path) == ""
    folder.serves(tmp_path, URL)
    assert folder.served_at(tmp_path) == URL
    os.close(descriptor)
    assert folder.served_at(tmp_path) == ""


def test_who_holds_it_is_named_without_the_address(held: Path):
    folder.serves(held, URL)
    with pytest.raises(Unavailable, match=f"in use by m31a up, process {os.getpid()}\\.") as error:
        folder.lock(held)
    assert URL not in str(error.value)


def test_who_only_looks_where_it_is_served_keeps_nobody_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(folder, "_LOOKS_SECONDS", 20.0)
    os.close(folder.lock(tmp_path))
    looks = os.open(tmp_path / "m31a.lock", os.O_RDONLY)
    fcntl.flock(looks, fcntl.LOCK_SH)  # as `served_at` does, for a moment
    done = threading.Timer(0.05, os.close, [looks])
    done.start()
    os.close(folder.lock(tmp_path))
    done.join()


def test_a_note_that_cannot_be_written_ends_nothing(tmp_path: Path, caplog):
    folder.serves(tmp_path / "gone", URL)
    assert "could not be noted" in caplog.text
