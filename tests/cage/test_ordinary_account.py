"""Commands and walls once more, started by an ordinary account instead of root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
ACCOUNT = 61234


def as_person(*argv: str, home: str) -> subprocess.CompletedProcess[str]:
    drop = ["setpriv", "--reuid", str(ACCOUNT), "--regid", str(ACCOUNT), "--clear-groups", "--"]
    drop.append("env")  # setpriv itself still starts what only root can reach; this does not
    path = "/usr/local/bin:/usr/bin:/bin"
    return subprocess.run(
        [*drop, *argv], env={"PATH": path, "HOME": home, "TMPDIR": home}, cwd="/",
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def copy_parts(target: str) -> None:
    """What these tests need, and nothing that needs a package."""
    for folder in ("runtime/core", "runtime/sandbox", "tests/cage"):
        shutil.copytree(
            os.path.join(REPOSITORY, folder), os.path.join(target, folder),
            ignore=shutil.ignore_patterns("__pycache__"),
        )  # fmt: skip
    os.mkdir(f"{target}/runtime/policy")
    shutil.copy(f"{REPOSITORY}/runtime/policy/authorised.py", f"{target}/runtime/policy")
    for package in ("runtime", "runtime/policy"):
        with open(f"{target}/{package}/__init__.py", "w", encoding="ascii"):
            pass


@pytest.fixture
def person() -> Iterator[tuple[str, str]]:
    """A home of the account with a copy of what is needed, and an interpreter it can start."""
    if os.geteuid() != 0:
        pytest.skip("started by an ordinary account: the other tests of this folder are these")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed: nothing here can change the account")
    home = tempfile.mkdtemp(prefix="m31a-person-")
    try:
        copy_parts(os.path.join(home, "copy"))
        subprocess.run(["chown", "-R", f"{ACCOUNT}:{ACCOUNT}", home], check=True)
        test = "import sys; sys.exit(sys.version_info < (3, 11))"
        candidates = [
            os.path.realpath(sys.executable),
            shutil.which("python3", path="/usr/bin:/bin"),
        ]
        for python in filter(None, candidates):
            try:
                if as_person(python, "-c", test, home=home).returncode == 0:
                    yield python, home
                    return
            except OSError:
                continue
        pytest.skip("no Python 3.11 or newer that an ordinary account can start")
    finally:
        shutil.rmtree(home)


def test_commands_walls_and_one_shots_hold_for_an_ordinary_account(person: tuple[str, str]) -> None:
    python, home = person
    folder = os.path.join(home, "copy", "tests", "cage")
    path = f"PYTHONPATH={home}/copy:{folder}"
    done = as_person(path, python, "-B", f"{folder}/as_person.py", home=home)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) > 40 and {line["uid"] for line in lines} == {ACCOUNT}
    failed = [f"{line['test']}\n{line['error']}" for line in lines if line["error"]]
    assert not failed, "\n".join(failed)
