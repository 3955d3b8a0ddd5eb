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
import test_commands
import test_one_shot
import test_walls

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
ACCOUNT = 61234
MODULES = (test_commands, test_walls, test_one_shot)
NAMES = sorted(
    name for module in MODULES for name in vars(module) if name.startswith("test_")
)


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


@pytest.fixture(scope="module")
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
        candidates = [os.path.realpath(sys.executable), shutil.which("python3", path="/usr/bin:/bin")]
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


@pytest.fixture(scope="module")
def outcomes(person: tuple[str, str]) -> dict[str, str]:
    python, home = person
    copy = os.path.join(home, "copy")
    done = as_person(python, "-B", f"{copy}/tests/cage/as_person.py", copy, home=home)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found[0] == {"test": "account", "error": ""}
    return {line["test"]: line["error"] for line in found}


@pytest.mark.parametrize("name", NAMES)
def test_as_an_ordinary_account(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == ""
