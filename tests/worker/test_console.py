"""Options that stand anywhere, errors as one line, and what is not loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

from m31a_site import console
from tests.worker.installation import ROOT


@pytest.mark.parametrize(
    ("given", "argv", "who", "json"),
    [
        (["status", "--json"], ["status"], None, True),
        (["--json", "--as", "bob", "status", "R"], ["status", "R"], "bob", True),
        (
            ["approve", "ID", "--as=sol", "--comment", "x"],
            ["approve", "ID", "--comment", "x"],
            "sol",
            False,
        ),
        (
            ["sandbox", "run", "--json", "--", "cmd", "--json", "--as", "x"],
            ["sandbox", "run", "--", "cmd", "--json", "--as", "x"],
            None,
            True,
        ),
    ],
)
def test_json_and_as_stand_anywhere_before_the_two_dashes(
    given: list[str], argv: list[str], who: str | None, json: bool
) -> None:
    assert console.split(given) == console.Call(argv, who, json)


@pytest.mark.parametrize(
    "given", [["status", "--as"], ["--as=", "status"], ["--as", "--json", "status"]]
)
def test_as_needs_a_name(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert console.main(given) == 2
    assert "--as USER" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "makes", "without"),
    [
        (["user", "add", "bob"], True, False),
        (["user", "link", "bob"], False, False),
        (["workspace", "add", "w", "."], True, False),
        (["workspace", "list"], False, False),
        (["sandbox", "run", "--", "true"], False, True),
        (["doctor"], False, True),
        (["demo"], True, False),
    ],
)
def test_which_commands_make_the_data_folder(argv: list[str], makes: bool, without: bool) -> None:
    name = console.Call(argv, None, False).name()
    assert (name in console.MAKES, name in console.WITHOUT) == (makes, without)


def test_help_is_only_looked_for_before_the_two_dashes() -> None:
    assert console.Call(["submit", "--help"], None, False).has_help()
    assert not console.Call(["sandbox", "run", "--", "ls", "--help"], None, False).has_help()


def test_the_version_loads_no_framework() -> None:
    code = (
        "import sys; from m31a_site import console; console.main(['--version']);"
        "print([name for name in sys.modules if name.split('.')[0] in ('django', 'pydantic', 'runtime')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1] == "[]"
    assert done.stdout.startswith("m31a ")
