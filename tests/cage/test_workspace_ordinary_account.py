"""A run's trees once more, started by an ordinary account instead of root."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
ACCOUNT = 61235
NAMES = (
    "test_no_change_escapes_the_fingerprint",
    "test_what_is_behind_a_closed_directory_does_not_count_as_nothing",
    "test_quick_and_caged_checkpoints_agree",
    "test_A24_a_nested_repository_is_refused_by_name",
    "test_A24_what_git_cannot_take_in_is_refused_by_name",
    "test_restore_copes_with_everything_a_command_can_leave_behind",
    "test_a_fresh_worktree_holds_exactly_the_tree",
)
PACKAGES = (
    "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection",
    "dulwich", "urllib3", "orjson", "ulid", "tree_sitter", "tree_sitter_bash", "unidiff", "psutil",
    "_pytest", "pytest", "pluggy", "py", "iniconfig", "packaging", "pygments",
)  # fmt: skip


def as_person(*argv: str, home: str) -> subprocess.CompletedProcess[str]:
    drop = ["setpriv", "--reuid", str(ACCOUNT), "--regid", str(ACCOUNT), "--clear-groups", "--"]
    return subprocess.run(
        [*drop, "env", *argv],
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "TMPDIR": home,
             "PYTHONPATH": f"{home}/packages"},
        cwd="/", capture_output=True, text=True, timeout=270, check=False,
    )  # fmt: skip


def copy_to(home: str) -> None:
    """The program, these tests and the packages they need, where the account can read them."""
    unread = shutil.ignore_patterns("__pycache__")
    for folder in ("runtime", "tests/cage"):
        shutil.copytree(REPOSITORY / folder, f"{home}/copy/{folder}", ignore=unread)
    os.mkdir(f"{home}/packages")
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        if spec.submodule_search_locations:
            source = spec.submodule_search_locations[0]
            shutil.copytree(source, f"{home}/packages/{name}", ignore=unread)
        else:
            shutil.copy(spec.origin, f"{home}/packages")
    subprocess.run(["chown", "-R", f"{ACCOUNT}:{ACCOUNT}", home], check=True)


@pytest.fixture
def home() -> Iterator[str]:
    if os.geteuid() != 0:
        pytest.skip("started by an ordinary account: the other tests of this folder are these")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed: nothing here can change the account")
    made = tempfile.mkdtemp(prefix="m31a-person-")
    try:
        copy_to(made)
        yield made
    finally:
        shutil.rmtree(made)


def interpreter(home: str) -> str:
    """One of this version that the account can start: compiled packages are made for it."""
    same = f"import sys, pydantic_core; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        if as_person(python, "-c", same, home=home).returncode == 0:
            return python
    pytest.skip("no Python of this version that an ordinary account can start")


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_as_an_ordinary_account(home: str) -> None:
    done = as_person(
        interpreter(home), "-B", "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", home,
        "-p", "no:cacheprovider", "-o", f"pythonpath={home}/copy",
        *[f"{home}/copy/tests/cage/test_workspace_trees.py::{name}" for name in NAMES],
        home=home,
    )  # fmt: skip
    assert f"{len(NAMES)} passed" in done.stdout, done.stdout + done.stderr
