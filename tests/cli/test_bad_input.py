"""Bad input: exit code 2, a message that names the field and the remedy, and nothing made."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from runtime.cli.main import NOT_YET
from tests.cli.conftest import M31A
from tests.kit import FINISH, git, repository

"""Each of them starts many processes, on a machine that may have other work."""


def _counts(m31a: M31A) -> list[int]:
    """Rows of everything that a command could have made."""
    with sqlite3.connect(m31a.data / "m31a.sqlite3") as database:
        return [
            database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in (
                "runtime_run", "runtime_task", "runtime_event", "runtime_workspace",
                "runtime_user", "runtime_approval", "django_q_ormq",
            )
        ] + [len(list((m31a.data / "runs").iterdir()))]  # fmt: skip


def _submit(provider: str, *more: str, workspace: str = "work", objective: str = "o") -> list[str]:
    words = ["submit", "--workspace", workspace, "--objective", objective]
    return [*words, "--provider", provider, *more] if provider else [*words, *more]


def _refused(m31a: M31A, words: list[str], *says: str, stdin: str = "") -> None:
    before = _counts(m31a)
    done = m31a(*words, "--as", "alice", stdin=stdin)
    assert (done.code, done.out) == (2, ""), (words, done)
    for text in says:
        assert text in done.err, (words, done.err)
    assert _counts(m31a) == before, words


@pytest.mark.thorough
def test_submit_says_what_is_wrong_with_each_field(m31a: M31A):
    good = m31a.script(FINISH)
    _refused(m31a, _submit(good, workspace="nowhere"), "workspace", "nowhere", "workspace list")
    _refused(m31a, _submit(""), "provider", "M31A_PROVIDER", "--provider")
    _refused(m31a, _submit("scripted:/nowhere/x"), "provider", "/nowhere/x", "scripted:FILE")
    _refused(m31a, _submit(f"scripted:{m31a.place}"), "provider", str(m31a.place))
    _refused(m31a, _submit("telepathy:x"), "telepathy")
    _refused(m31a, _submit(good, objective="  "), "objective")
    _refused(m31a, _submit(good, "--mode", "wild"), "mode", "wild", "assisted")
    _refused(m31a, _submit(good, "--max-steps", "0"), "max_steps", "1 to")


@pytest.mark.thorough
def test_a_malformed_line_of_a_script_is_named_by_its_number(m31a: M31A):
    for lines, number in (
        ([FINISH, "{oops", FINISH], 2),
        ([FINISH, FINISH, {"say": "hm"}], 3),
        ([{**FINISH, "delay_ms": "soon"}], 1),
    ):
        _refused(m31a, _submit(m31a.script(*lines)), f"Line {number}")


@pytest.mark.thorough
def test_workspace_add_registers_nothing_that_cannot_work(m31a: M31A):
    root = repository()
    empty = Path(root.parent) / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    (root.parent / "file").write_text("x")
    add = ["workspace", "add", "new"]
    _refused(m31a, [*add, str(root / "nowhere")], "nowhere")
    _refused(m31a, [*add, str(root.parent / "file")], "file", "director")
    _refused(m31a, [*add, str(root), "--verify", "no-such-program --x"], "no-such-program")
    _refused(m31a, [*add, str(root), "--verify", "'unclosed"], "verification", "quotes")
    _refused(m31a, ["workspace", "add", "work", str(root)], "work", "registered already")
    _refused(m31a, ["workspace", "add", "bad name", str(root)], "name")
    _refused(m31a, [*add, str(root), "--retention", "forever"], "retention")


@pytest.mark.thorough
def test_things_that_do_not_exist_are_said_to_be_unknown(m31a: M31A):
    for words in (
        ["status", "nowhere"],
        ["events", "nowhere"],
        ["audit", "verify", "nowhere"],
        ["replay", "nowhere", "--check"],
        ["approve", "nowhere"],
    ):
        _refused(m31a, words, "nowhere", "m31a")
    _refused(m31a, ["artifact", "get", "0" * 64], "0" * 64)
    _refused(m31a, ["artifact", "get", "../x"], "../x")
    _refused(m31a, ["audit", "verify", "--file", "/nowhere/x"], "/nowhere/x")
    nobody = m31a("approvals", "--as", "nobody")
    assert nobody.code == 2
    assert "user add nobody" in nobody.err


@pytest.mark.thorough
def test_a_command_line_that_is_wrong_exits_2(m31a: M31A):
    for words in (
        ["submit"],
        ["replay", "x", "--all", "--check"],
        ["status", "a", "b"],
    ):
        done = m31a(*words)
        assert (done.code, done.out) == (2, ""), words
        assert done.err
    assert "--as USER" in m31a("status", "--as").err


@pytest.mark.thorough
def test_what_is_not_built_yet_says_so(m31a: M31A):
    for name in NOT_YET[:3]:
        done = m31a(name, "x", "--at", "3")
        assert (done.code, done.out) == (2, ""), name
        assert "not built yet" in done.err
    _refused(m31a, _submit(m31a.script(FINISH), "--workflow", "planned"), "workflow", "single")


def test_X22_without_a_data_folder_nothing_is_made(bare: M31A):
    for words in (
        ["status"],
        ["status", "x"],
        ["submit", "--workspace", "w", "--objective", "help"],
        ["approvals"],
        ["audit", "verify"],
        ["replay", "--all", "--check"],
        ["work", "--until-idle"],
        ["workspace", "list"],
        ["policy", "check"],
    ):
        done = bare(*words)
        assert (done.code, done.out) == (2, ""), (words, done)
        assert str(bare.data) in done.err
        assert "M31A_DATA_DIR" in done.err
    assert list(bare.place.iterdir()) == []


@pytest.mark.thorough
def test_X22_a_refused_first_command_makes_no_workspace(bare: M31A):
    done = bare("workspace", "add", "x", "/nowhere")
    assert done.code == 2
    assert "/nowhere" in done.err
    assert json.loads(bare("workspace", "list", "--json").out) == []


@pytest.mark.thorough
def test_a_database_that_is_older_than_the_program_is_named_in_one_line(bare: M31A):
    assert bare("user", "add", "alice", "--role", "submitter").code == 0
    with closing(sqlite3.connect(bare.data / "m31a.sqlite3")) as database:
        last = "DELETE FROM django_migrations WHERE id = (SELECT max(id) FROM django_migrations)"
        database.execute(last)
        database.execute("ALTER TABLE runtime_run RENAME COLUMN objective TO gone")
        database.commit()
    done = bare("status")
    assert (done.code, done.out) == (2, "")
    assert done.err == "The database is older than the program. Run `python3 manage.py up`.\n"


@pytest.mark.thorough
def test_an_argument_that_is_no_text_is_refused(m31a: M31A):
    import subprocess

    done = subprocess.run(
        [*m31a.command("status"), b"\xff\xfe"],
        env=m31a.environment(),
        capture_output=True,
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"Unicode" in done.stderr
