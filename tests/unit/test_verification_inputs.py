"""What the operator's verification runs, and that a change of it is named."""

from __future__ import annotations

import shlex
import time

import pytest

from runtime.policy.language import place_of, read
from runtime.policy.patterns import covers, together
from runtime.policy.testing import World
from runtime.workspaces.inputs import import_folders, module_of, verification_inputs
from tests.clock import best_of_three, under

WORLD = World()

CASES = [
    ("python3 -m unittest -q", "tests/test_numbers.py"),
    ("python3 -m pytest tests/unit", "tests/unit/data/case.json"),
    ("pytest -q tests/test_a.py::test_one", "tests/test_a.py"),
    ("pytest --rootdir=checks", "checks/anything"),
    ("pytest", "lib/conftest.py"),
    ("pytest", "conftest.py"),
    ("pytest", "pyproject.toml"),
    ("./check --fast", "check"),
    ("bash scripts/../ci/run.sh", "ci/run.sh"),
    ("make -C build test", "build/Makefile"),
    ("python3 -m tools.check", "tools/check.py"),
    ("npm test", "package.json"),
    ("sh -c 'cd lib && pytest -q; ./check'", "lib/conftest.py"),
    ("sh -ec 'test -f x && ./check'", "check"),
    ("python3 -m pytest -q", "pytest/__init__.py"),
    ("python3 -m pytest -q", "_pytest/__init__.py"),
    ("python3 -m pytest -q", "argparse.py"),
    ("env A=1 python3.12 -X dev -m unittest", "unittest/__init__.py"),
    ("python3 -m tools.check", "tools/__init__.py"),
    ("python3 -m ruff check src", "ruff/__init__.py"),
    ("python3 -m py_compile src/a.py", "py_compile.py"),
    ("python3 -B ci/check.py", "ci/json.py"),
    ("python3 check.py", "json/__init__.py"),
    ("sh -c 'python3 -m pytest'", "argparse.py"),
    ("pytest", ".pytest.ini"),
    ("pytest", "tests/helpers.py"),
    ("npm test", "web/app.test.ts"),
    ("./gradlew test", "app/src/test/java/A.java"),
    ("sh -c 'unmatched \\' ./check", "check"),
]


def split(command: str) -> list[str]:
    """A command line as words; one whose quotes do not match at its blanks."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


@pytest.mark.parametrize(("command", "path"), CASES)
def test_A15_a_change_of_what_the_verification_runs_is_named(command: str, path: str) -> None:
    inputs = verification_inputs([["true"], split(command)])
    edit = {"kind": "write_file", "path": path, "content": "x"}
    effects = WORLD.decide(edit, verification_inputs=inputs).effects
    assert f"changes what the verification runs: {path}" in effects


@pytest.mark.parametrize(
    "command",
    ["pytest -q", "python3 -m unittest", "make test", "/bin/true ..", ""]
    + [
        "grep -q a README.md",
        "test -f src/a.py",
        "python3 -m py_compile src/a.py",
        "ruff check src",
    ]
    + ["sh -c 'cat README.md'"],
)
def test_ordinary_files_are_not_named(command: str) -> None:
    inputs = verification_inputs([split(command)])
    for path in ("src/a.py", "README.md", "docs/q.md"):
        edit = {"kind": "write_file", "path": path, "content": "x"}
        effects = WORLD.decide(edit, verification_inputs=inputs).effects
        assert not any("verification" in effect for effect in effects)


def test_where_python_imports_nothing_of_the_worktree_its_modules_are_not_named() -> None:
    for command, path in (
        ("python3 -I -m pytest", "argparse.py"),
        ("python3 ci/check.py", "json.py"),
        ("python3 -m pytest", "src/json.py"),
    ):
        inputs = verification_inputs([split(command)])
        edit = {"kind": "write_file", "path": path, "content": "x"}
        effects = WORLD.decide(edit, verification_inputs=inputs).effects
        assert not any("verification" in effect for effect in effects), command


FINISH = {"kind": "finish", "summary": "done"}


@pytest.mark.parametrize(
    ("mode", "decision"),
    [
        ("safe", "ASK"),
        ("assisted", "ASK"),
        ("autonomous", "ASK"),
        ("unattended", "DENY"),
    ],
)
def test_A15_a_delivery_of_changed_proof_is_asked_about_in_every_mode(
    mode: str, decision: str
) -> None:
    verdict = WORLD.decide(FINISH, mode=mode, changed_inputs=("tests/test_a.py",))
    assert verdict.decision == decision
    assert "tests/test_a.py" in verdict.reason
    assert "changes what the verification runs: tests/test_a.py" in verdict.effects
    assert WORLD.decide(FINISH, mode=mode).decision == "ALLOW"


def test_A15_a_rule_may_decide_otherwise_about_changed_proof() -> None:
    text = '[[rule]]\nid = "deliver"\ndecision = "ALLOW"\ntool = "finish"\n'
    layer = read("organisation.toml", text, *place_of("organisation.toml")).layer
    verdict = WORLD.decide(FINISH, layers=(layer,), changed_inputs=("tests/test_a.py",))
    assert (verdict.decision, verdict.rule) == ("ALLOW", "deliver")


@pytest.mark.parametrize(
    ("command", "path", "module"),
    [
        ("python3 check.py", "requests.py", (".", "requests")),
        ("python3 check.py", "numpy/__init__.py", (".", "numpy")),
        ("python3 check.py", "json.pyc", (".", "json")),
        ("python3 check.py", "yaml/__init__.cpython-311-x86_64-linux-gnu.so", (".", "yaml")),
        ("python3 ci/check.py", "ci/requests.py", ("ci", "requests")),
        ("python3 -m pytest", "requests.py", (".", "requests")),
        ("pytest -q", "requests.py", (".", "requests")),
        ("sh -c 'cd x; uv run pytest'", "requests.py", (".", "requests")),
        ("python3 ci/check.py", "requests.py", ("", "")),
        ("python3 check.py", "src/requests.py", ("", "")),
        ("python3 check.py", "requests/api.py", ("", "")),
        ("python3 check.py", "requests.txt", ("", "")),
        ("python3 -I check.py", "requests.py", ("", "")),
        ("make test", "requests.py", ("", "")),
    ],
)
def test_A15_a_module_is_known_where_the_verification_would_import_it_first(
    command: str, path: str, module: tuple[str, str]
) -> None:
    assert module_of(path, import_folders([split(command)])) == module


PATHS = ("tests/a.py", "src/tests/a.py", "conftest.py", "a/conftest.py", "a/b.py", "json.py", "",
         "Makefile", "Makefile/x", "a\nb/test_x.py", "xtests", "pyproject.toml", "x.mk")  # fmt: skip


@pytest.mark.parametrize("command", ["pytest", "make test", "python3 ci/check.py", "cat x", "true"])
def test_patterns_taken_together_say_what_each_says(command: str) -> None:
    patterns = verification_inputs([split(command)])
    each = [path for path in PATHS if any(covers(pattern, path) for pattern in patterns)]
    assert [path for path in PATHS if together(patterns).fullmatch(path)] == each


@best_of_three
def test_a_checkpoint_of_many_files_is_looked_through_soon() -> None:
    named = together(verification_inputs([split("python3 -m pytest")]))
    began = time.process_time()
    found = [n for n in range(30_000) if named.fullmatch(f"src/part{n % 100}/deep/module_{n}.py")]
    assert found == []
    under(time.process_time() - began, 1)
