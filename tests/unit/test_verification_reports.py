"""A runner's status counts only with its report."""

from __future__ import annotations

import pytest

from runtime.workspaces.reports import unreported


@pytest.mark.parametrize(
    ("command", "report"),
    [
        ("pytest -q", "1 passed in 0.01s"),
        (".venv/bin/pytest", "== 3 passed, 1 skipped in 0.1s =="),
        ("python3 -m pytest tests", "12 passed"),
        ("uv run pytest", "2 deselected"),
        ("coverage run -m pytest", "1 xfailed"),
        ("python3 -m unittest -q", "----\nRan 1 test in 0.000s\n\nOK"),
        ("cargo test", "test result: ok. 0 passed; 0 failed"),
    ],
)
def test_T013_a_known_runner_must_report(command: str, report: str) -> None:
    argv = command.split()
    assert unreported(argv, report) == ""
    assert unreported(argv, "") and unreported(argv, "something else")


@pytest.mark.parametrize(
    "command",
    [
        *("python3 check.py", "pytest -qq", "pytest -q -q", "pytest -p no:terminal", "make test"),
        *("pytest --version", "cargo build", "grep -r pytest", "sh -c pytest", "cargo"),
    ],
)
def test_others_are_believed(command: str) -> None:
    assert unreported(command.split(), "") == ""
