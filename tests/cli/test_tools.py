"""Commands that need no run: workspaces, people, the gate, the cage, the machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.cli.conftest import M31A

"""Each of them starts many processes, on a machine that may have other work."""

STAGES = [
    "intake", "canonicalise", "boundary", "veto", "admin", "workspace", "role", "defaults", "mode",
    "grants", "audit",
]  # fmt: skip
FORCE = {"kind": "run_tool", "program": "git", "args": ["push", "--force"]}


@pytest.fixture(scope="module")
def folder():
    """A directory of an ordinary account: started as root, commands run as its owner."""
    place = Path(tempfile.mkdtemp(prefix="m31a-root-"))
    if os.geteuid() == 0:
        os.chown(place, 1234, 1234)
    yield place
    shutil.rmtree(place)


@pytest.mark.thorough
def test_workspaces_and_people_are_told_as_json(m31a: M31A):
    (work,) = m31a("workspace", "list", "--json").json
    assert (work["name"], work["is_git"], work["retention"]) == ("work", True, "redacted")
    assert work["verify"] == [["grep", "-q", ".", "notes.txt"]]
    assert "git" in work["allowed"]
    assert list(work["remotes"]) == ["origin"]
    again = m31a("user", "link", "bob", "--json", "--as", "alice").json
    assert (again["name"], again["roles"]) == ("bob", ["reviewer"])
    assert "/login/?link=" in again["link"]
    refused = m31a("user", "add", "eve", "--role", "admin", "--as", "bob")
    assert refused.code == 1
    unknown = m31a("user", "add", "eve", "--role", "king")
    assert unknown.code == 2
    assert "king" in unknown.err and "reviewer" in unknown.err


@pytest.mark.thorough
def test_policy_check_answers_with_the_eleven_stages_and_journals_nothing(m31a: M31A):
    before = m31a("events", "system").out
    wish = {"action": FORCE, "workspace": "work"}
    one = m31a("policy", "check", "--json", stdin=json.dumps(wish))
    assert one.code == 0
    assert one.json.keys() >= {"decision", "rule", "source", "stages"}
    assert one.json["decision"] == "ESCALATE"
    assert [stage["name"] for stage in one.json["stages"]] == STAGES
    questions = [
        wish,
        {**wish, "action": {"kind": "read_file", "path": "notes.txt"}},
        {**wish, "action": {"kind": "read_file", "path": "../x"}},
        {**wish, "action": {"kind": "write_file", "path": "a", "content": ""}, "mode": "plan"},
        {**wish, "action": {"kind": "network", "method": "GET", "target": "example.org"}},
        {**wish, "action": {"kind": "verify", "program": "x"}},
        {**wish, "action": None},
        {**wish, "workspace": "nowhere"},
        {**wish, "mode": "wild"},
        {**wish, "color": "red"},
        [],
    ]
    lines = [json.dumps(question) for question in questions]
    many = m31a("policy", "check", "--lines", stdin="\n".join([*lines, "{oops", ""]))
    assert many.code == 0
    assert len(many.lines) == len(questions) + 1
    decisions = [answer.get("decision") for answer in many.lines]
    assert decisions[:4] == ["ESCALATE", "ALLOW", "DENY", "DENY"]
    assert decisions[4] in {"ASK", "ESCALATE", "DENY"}
    assert decisions[5:7] == ["DENY", "DENY"]
    assert decisions[7:] == [None] * 5
    assert all("error" in answer for answer in many.lines[7:])
    assert "nowhere" in many.lines[7]["error"]
    bad = m31a("policy", "check", stdin="{oops")
    assert bad.code == 2
    assert m31a("events", "system").out == before


RESULT = {
    "status", "signal", "timed_out", "limit", "stdout", "stderr", "stdout_bytes", "stderr_bytes",
    "truncated", "duration_ms", "sandbox",
}  # fmt: skip


@pytest.mark.thorough
def test_sandbox_run_tells_how_a_command_ended(bare: M31A, folder: Path):
    root = ["sandbox", "run", "--root", str(folder)]
    plain = bare(*root, "--json", "--", "/bin/sh", "-c", "pwd; echo no >&2; exit 3", "--as", "x")
    assert plain.code == 0, plain.err
    assert plain.json.keys() >= RESULT
    found = plain.json
    assert (found["status"], found["signal"], found["timed_out"]) == (3, None, False)
    assert (found["stdout"], found["stderr"]) == (f"{folder}\n", "no\n")
    assert (found["stdout_bytes"], found["limit"], found["truncated"]) == (
        len(str(folder)) + 1,
        None,
        False,
    )
    assert isinstance(found["sandbox"], dict) and found["sandbox"]
    shell = bare(*root, "--shell", "touch made; echo $((6 * 7)) | cat; id -u")
    answer, seen = shell.json["stdout"].split()
    assert (answer, seen != "0") == ("42", True)
    assert (folder / "made").stat().st_uid == (os.geteuid() or 1234)
    wishes = [
        {"argv": ["printf", "%s|", "a b", "", "$(id)", "x\ny"]},
        {"argv": ["sleep", "9"], "timeout": 0.2},
        {"argv": ["no-such-program"]},
        {"argv": "ls"},
        {"argv": ["sh", "-c", "kill -9 $$"]},
        {"argv": ["cat"]},
    ]
    many = bare(*root, "--lines", stdin="".join(json.dumps(wish) + "\n" for wish in wishes))
    assert many.code == 0, many.err
    text, slow, absent, wrong, killed, closed = many.lines
    assert text["stdout"] == "a b||$(id)|x\ny|"
    assert (slow["timed_out"], slow["duration_ms"] < 8500) == (True, True)
    assert (absent["status"], absent["signal"]) == (None, None)
    assert "error" in wrong
    assert (killed["status"], killed["signal"]) == (None, 9)
    assert (closed["status"], closed["stdout"]) == (0, "")
    assert not bare.data.exists()


@pytest.mark.thorough
def test_sandbox_run_refuses_what_it_cannot_confine(bare: M31A, folder: Path):
    for words, says in (
        (["--root", str(folder)], "--shell"),
        (["--root", str(folder), "--shell", "x", "--", "ls"], "--shell"),
        (["--root", str(folder / "nowhere"), "--", "ls"], "nowhere"),
        (["--workspace", "nowhere", "--", "ls"], "nowhere"),
        (["--root", str(folder), "--timeout", "-1", "--", "ls"], "timeout"),
    ):
        done = bare("sandbox", "run", *words)
        assert (done.code, done.out) == (2, ""), (words, done)
        assert says in done.err
    if os.geteuid() == 0:
        done = bare("sandbox", "run", "--root", str(bare.place), "--", "ls")
        assert done.code == 2
        assert "chown" in done.err
    assert not bare.data.exists()


@pytest.mark.thorough
def test_sandbox_run_in_a_workspace_uses_a_throw_away_copy(m31a: M31A):
    (work,) = m31a("workspace", "list", "--json").json
    words = ["sandbox", "run", "--workspace", "work", "--shell"]
    temporary = m31a.place / "temporary"
    temporary.mkdir(mode=0o755)
    done = m31a(*words, "pwd; echo x > notes.txt; cat notes.txt", TMPDIR=str(temporary))
    assert done.code == 0, done.err
    assert list(temporary.iterdir()) == []
    assert done.json["stdout"] == f"{work['root']}\nx\n"
    assert (Path(work["root"]) / "notes.txt").read_text() == "first line\nsecond line\n"


@pytest.mark.thorough
def test_doctor_looks_at_the_machine_with_and_without_a_data_folder(bare: M31A, m31a: M31A):
    with_folder = m31a("doctor", "--json")
    assert with_folder.code == (0 if with_folder.json["ok"] else 1)
    names = {check["name"] for check in with_folder.json["checks"]}
    assert {"sandbox", "kernel", "database"} <= names
    bad = [one for one in with_folder.json["checks"] if one["required"] and not one["ok"]]
    assert with_folder.json["ok"] is not bool(bad)
    assert all(one["remedy"] for one in bad)
    without = bare("doctor")
    assert "sandbox" in without.out
    assert not bare.data.exists()


@pytest.mark.thorough
def test_doctor_warns_of_a_missing_model_and_fails_only_where_nothing_can_run(m31a: M31A):
    found = m31a("doctor", "--json")
    levels = {check["name"]: check["level"] for check in found.json["checks"]}
    assert levels["provider"] == "WARN"
    assert found.code == (1 if "FAULT" in levels.values() else 0)
    told = m31a("doctor")
    assert re.search(r"^WARN +provider", told.out, re.MULTILINE)
    assert "`python3 manage.py up`" in told.err
    m31a.data.chmod(0o755)
    try:
        broken = m31a("doctor")
    finally:
        m31a.data.chmod(0o700)
    assert broken.code == 1
    assert "FAULT  data folder" in broken.out
    assert "FAULT data folder: chmod 700" in broken.err
    assert "Runs cannot be executed here" in broken.err


@pytest.mark.thorough
def test_messages_name_commands_as_they_are_typed(m31a: M31A):
    unknown = m31a("status", "01m8mej6neab7hm6qfnb9sxwrn")
    assert unknown.code == 2
    assert "`python3 manage.py m31a status` lists the runs" in unknown.err
    assert m31a("status", "--help").out.startswith("usage: python3 manage.py m31a status")


@pytest.mark.thorough
def test_options_that_stand_anywhere_stop_at_two_dashes(m31a: M31A):
    first = m31a("--json", "--as", "bob", "approvals").json
    assert m31a("approvals", "--as=bob", "--json").json == first
    assert first.keys() == {"approvals"}
