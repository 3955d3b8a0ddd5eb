"""Hosts and limits on the command line."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.cage.origin import origin
from tests.cli.conftest import M31A
from tests.kit import repository

pytestmark = pytest.mark.thorough


@pytest.fixture
def folder():
    place = Path(tempfile.mkdtemp(prefix="m31a-root-"))
    if os.geteuid() == 0:
        os.chown(place, 1234, 1234)
    yield place
    shutil.rmtree(place)


def test_sandbox_run_reaches_the_hosts_that_it_is_given(bare: M31A, folder: Path):
    with origin() as server, origin() as other:
        script = f"curl -sS http://{server.name}/; curl -sS http://{other.name}/"
        run = ["sandbox", "run", "--root", str(folder)]
        found = bare(*run, "--host", server.name, "--shell", script).json
        assert found["sandbox"]["network"] == "hosts"
        assert "hello from the origin" in found["stdout"] and "not on the list" in found["stdout"]
        assert {row["port"]: bool(row["refused"]) for row in found["contacts"]} == {
            server.port: False,
            other.port: True,
        }
        found = bare(*run, "--shell", script).json
        assert found["sandbox"]["network"] == "none" and "contacts" not in found
        assert len(server.seen) == 1 and other.seen == []
    bad = bare(*run, "--host", "*", "--shell", "true")
    assert bad.code == 2 and "hosts of a command" in bad.err


def test_a_workspace_has_hosts_and_limits(bare: M31A):
    root = str(repository())
    words = ["workspace", "add", "netted", root, "--json"]
    for given, says in (
        (("--host", "0x7f.1"), "unusual spelling"),
        (("--limit", "memory_bytes"), "NAME=NUMBER"),
        (("--limit", "color=1"), "no limit"),
    ):
        done = bare(*words, *given)
        assert (done.code, done.out) == (2, ""), done
        assert says in done.err
    made = bare(*words, "--host", "example.org:8443", "--limit", "processes=64").json
    assert (made["hosts"], made["limits"]) == (["example.org:8443"], {"processes": 64})
