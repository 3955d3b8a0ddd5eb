"""An ordinary account for tests that were started as root: a home, a copy of the cage, an interpreter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
ACCOUNT = 61234


@dataclass(frozen=True)
class Person:
    """`home` belongs to the account; `python` is an interpreter that it can start."""

    home: str
    python: str = ""

    def starts(self, *argv: str, **env: str) -> list[str]:
        """A program of the account's: started with nothing of root's but its own environment."""
        drop = ["setpriv", "--reuid", str(ACCOUNT), "--regid", str(ACCOUNT), "--clear-groups", "--"]
        given = [f"{name}={value}" for name, value in env.items()]
        # setpriv itself still starts what only root can reach; env does not
        return [*drop, "env", *given, *argv]

    def run(self, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run it and wait."""
        return subprocess.run(
            self.starts(*argv, **env), env=self.environment, cwd="/",
            capture_output=True, text=True, timeout=270, check=False,
        )  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        """What the account's programs find."""
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.home, "TMPDIR": self.home}

    def script(self, name: str, *words: str) -> list[str]:
        """A script of this folder, as it is copied."""
        folder = f"{self.home}/copy/tests/cage"
        path = f"PYTHONPATH={self.home}/copy:{folder}"
        return ["env", path, self.python, "-B", f"{folder}/{name}", *words]


def copy_parts(target: str) -> None:
    """What these tests need, and nothing that needs a package."""
    for folder in ("runtime/core", "runtime/sandbox", "tests/cage"):
        shutil.copytree(
            os.path.join(REPOSITORY, folder), os.path.join(target, folder),
            ignore=shutil.ignore_patterns("__pycache__"),
        )  # fmt: skip
    os.mkdir(f"{target}/runtime/policy")
    for name in ("authorised", "reach", "hosts", "reading", "decision", "facts"):
        shutil.copy(f"{REPOSITORY}/runtime/policy/{name}.py", f"{target}/runtime/policy")
    shutil.copy(f"{REPOSITORY}/tests/clock.py", f"{target}/tests")
    for package in ("runtime", "runtime/policy"):
        with open(f"{target}/{package}/__init__.py", "w", encoding="ascii"):
            pass


def copy_bubblewrap(target: str) -> str:
    """The package's bubblewrap where the account can start it; its path, empty if there is none."""
    from runtime.sandbox import bubblewrap

    found = bubblewrap._packaged()
    if not found:
        return ""
    package = os.path.dirname(os.path.dirname(found))
    for folder in (package, f"{package}.libs"):
        if os.path.isdir(folder):
            shutil.copytree(folder, os.path.join(target, os.path.basename(folder)))
    return os.path.join(target, os.path.basename(package), "_bin", "bwrap")


@contextmanager
def person() -> Iterator[Person]:
    """The account. Skips the test where there cannot be one."""
    if os.geteuid() != 0:
        pytest.skip("started by an ordinary account: the other tests of this folder are these")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed: nothing here can change the account")
    home = tempfile.mkdtemp(prefix="m31a-person-")
    try:
        copy_parts(os.path.join(home, "copy"))
        copy_bubblewrap(home)
        subprocess.run(["chown", "-R", f"{ACCOUNT}:{ACCOUNT}", home], check=True)
        yield Person(home, _interpreter(home))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _interpreter(home: str) -> str:
    test = "import sys; sys.exit(sys.version_info < (3, 11))"
    candidates = [os.path.realpath(sys.executable), shutil.which("python3", path="/usr/bin:/bin")]
    for python in filter(None, candidates):
        try:
            if Person(home).run(python, "-c", test).returncode == 0:
                return python
        except OSError:
            continue
    pytest.skip("no Python 3.11 or newer that an ordinary account can start")
