"""What cannot start says why and how to mend it, exits with 2, and makes nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.installation import COMMAND, ROOT, Installation


def refused(installation: Installation, *argv: str, **env: str) -> str:
    """The message of a command that must exit with 2."""
    done = subprocess.run(
        [*COMMAND, *argv],
        env=installation.env | env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.thorough
def test_a_second_up_on_the_same_data_folder(installation: Installation) -> None:
    installation.start()
    assert installation.process is not None
    said = refused(installation, "up", "--port", "0")
    assert f"process {installation.process.pid}" in said and "M31A_DATA_DIR" in said
    assert installation.healthy()


def test_a_port_in_use(installation: Installation) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        said = refused(installation, "up", "--port", str(port))
    assert f"Port {port}" in said and "--port" in said
    assert not installation.folder.exists()


@pytest.mark.parametrize(
    ("argv", "env", "word"),
    [
        (["--host", "0.0.0.0"], {}, "M31A_HTTPS"),
        (["--host", "no.such.host.invalid"], {"M31A_HTTPS": "1"}, "IPv4"),
        (["--port", "70000"], {}, "65535"),
        (["--workers", "0"], {}, "1 to 64"),
        ([], {"M31A_PORT": "many"}, "M31A_PORT"),
        ([], {"M31A_LEASE_SECONDS": "0"}, "M31A_LEASE_SECONDS"),
    ],
)
def test_settings_that_cannot_be_used(
    installation: Installation, argv: list[str], env: dict[str, str], word: str
) -> None:
    assert word in refused(installation, "up", *argv, **env)
    assert not installation.folder.exists()


def test_a_data_folder_where_nobody_can_write(installation: Installation) -> None:
    said = refused(installation, "up", "--port", "0", M31A_DATA_DIR="/proc/m31a")
    assert "/proc/m31a" in said and "M31A_DATA_DIR" in said


def test_a_read_only_data_folder(installation: Installation, tmp_path: Path) -> None:
    """As an ordinary account, since root writes everywhere. It may not be able to read the
    program's files, so these are loaded before the account is changed."""
    for name in ("keys", "blobs", "hints", "runs", "tmp"):
        (installation.folder / name).mkdir(parents=True)
    (installation.folder / "keys" / "secret").write_text("s" * 60)
    for path in (*installation.folder.iterdir(), installation.folder):
        path.chmod(0o555)
    for path in (tmp_path, *tmp_path.parents):
        if path.owner() != "root" or path == Path(path.root) or os.geteuid() != 0:
            break
        path.chmod(path.stat().st_mode | 0o111)
    code = """
import encodings.idna, os, sys
sys.path.insert(0, sys.argv[1])
from m31a_site import console, processes
from runtime.worker import address, folder
if os.geteuid() == 0:
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
sys.exit(console.main(["up", "--port", "0"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT)],
        env=installation.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr and "M31A_DATA_DIR" in done.stderr
    assert sorted(path.name for path in installation.folder.iterdir()) == [
        "blobs",
        "hints",
        "keys",
        "runs",
        "tmp",
    ]


@pytest.mark.parametrize(
    "argv",
    [["status"], ["submit", "--workspace", "w", "--objective", "o"], ["work"], ["approvals"]],
)
def test_X22_commands_without_a_data_folder(installation: Installation, argv: list[str]) -> None:
    said = refused(installation, *argv)
    assert "M31A_DATA_DIR" in said and "up" in said
    assert not installation.folder.exists()


@pytest.mark.thorough
def test_F32_rules_that_cannot_be_used(installation: Installation) -> None:
    policy = installation.folder / "policy"
    policy.mkdir(parents=True)
    installation.folder.chmod(0o700)
    (policy / "system.toml").write_text('[[rule]]\nid = "r"\ndecision = "DENY"\npath = "a["\n')
    said = refused(installation, "up", "--port", "0")
    assert "system.toml, rule r, field path: a bracket is not closed" in said
    for command in ("cluster", "reconcile", "work"):
        assert "field path" in refused(installation, command)
