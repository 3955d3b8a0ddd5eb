"""What `cli:agy` is told by its settings, and what it refuses to be told."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.core.errors import BadInput, Unavailable
from runtime.providers import Provider, load
from tests.providers.agy_kit import for_task
from tests.providers.raw_server import ask


def test_P6_missing_program_names_the_setting() -> None:
    with pytest.raises(BadInput, match="M31A_AGY_BINARY") as refusal:
        load("cli:agy", env={"M31A_AGY_BINARY": "/nowhere/agy", "PATH": "/usr/bin"})
    assert refusal.value.field == "M31A_AGY_BINARY"
    with pytest.raises(BadInput, match="M31A_AGY_BINARY"):
        load("cli:agy", env={"PATH": "/nowhere"})


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"M31A_AGY_HOME": "/nowhere/at/all"}, "M31A_AGY_HOME"),
        ({"M31A_AGY_HOME": "/"}, "M31A_AGY_HOME"),
        ({"M31A_AGY_HOME": os.path.expanduser("~")}, "M31A_AGY_HOME"),
        ({"M31A_AGY_FOLDERS": "relative"}, "M31A_AGY_FOLDERS"),
        ({"M31A_AGY_PROMPT": "smoke"}, "M31A_AGY_PROMPT"),
        ({"M31A_AGY_HOSTS": "https://x/y"}, "M31A_AGY_HOSTS"),
        ({"M31A_AGY_HOSTS": "*"}, "M31A_AGY_HOSTS"),
        ({"M31A_AGY_MODEL": "--sandbox"}, "M31A_AGY_MODEL"),
    ],
)
def test_P6_setting_that_cannot_be_used_is_named(
    agy: Callable[..., Provider], settings: dict[str, str], field: str
) -> None:
    with pytest.raises(BadInput) as refusal:
        agy(**settings)
    assert refusal.value.field == field


def test_data_folder_is_no_home_of_a_program(agy: Callable[..., Provider], home: Path) -> None:
    with pytest.raises(BadInput, match="more than its own"):
        agy(M31A_DATA_DIR=str(home / "data"))


def test_folder_that_holds_a_home_is_none_of_a_program(
    agy: Callable[..., Provider], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "people" / "me").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "people" / "me"))
    for name in ("M31A_AGY_HOME", "M31A_AGY_FOLDERS"):
        with pytest.raises(BadInput):
            agy(**{name: str(tmp_path / "people")})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hand over an account")
def test_home_of_root_is_refused_with_the_remedy(agy: Callable[..., Provider], home: Path) -> None:
    model = agy()
    os.chown(home, 0, 0)
    with pytest.raises(BadInput, match="chown"):
        ask(model, prompt=for_task("read"))


def test_unknown_command_line_is_refused() -> None:
    with pytest.raises(BadInput, match="cli:agy"):
        load("cli:other", env={})


FETCHING = """#!/usr/bin/env python3
import json, sys, urllib.request
if "--help" not in sys.argv:
    try:
        said = urllib.request.urlopen("http://127.0.0.2:{port}/", timeout=10).read().decode()
    except OSError as error:
        said = f"nothing: {{error}}"
    action = {{"kind": "finish", "summary": said}}
    print(json.dumps({{"status": "SUCCESS", "structured_output": action}}))
"""


@pytest.mark.parametrize("listed", [True, False])
def test_program_reaches_the_hosts_of_its_list_and_no_other(
    agy: Callable[..., Provider], listed: bool
) -> None:
    with socket.create_server(("127.0.0.2", 0)) as origin:
        port = origin.getsockname()[1]
        answers = threading.Thread(target=answer_once, args=(origin,), daemon=True)
        answers.start()
        model = agy("argument", M31A_AGY_HOSTS=f"127.0.0.2:{port}" if listed else "example.org")
        Path(model.where).write_text(FETCHING.format(port=port))  # type: ignore[attr-defined]
        action = ask(model, prompt=for_task("read")).action
        # Closed under a thread that waits, its number is another socket's a moment later.
        with contextlib.suppress(OSError):
            origin.shutdown(socket.SHUT_RDWR)
        answers.join()
    wanted = "hello" if listed else "nothing: HTTP Error 403: Forbidden"
    assert action == {"kind": "finish", "summary": wanted}


def answer_once(origin: socket.socket) -> None:
    """Serve one request, until the origin is closed."""
    try:
        connection, _ = origin.accept()
    except OSError:
        return  # nobody came
    with connection:
        connection.recv(65536)
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
        )


def test_weaker_walls_than_it_needs_are_refused(
    agy: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M31A_SANDBOX", "landlock")
    with pytest.raises(Unavailable):
        ask(agy(), prompt=for_task("read"))
