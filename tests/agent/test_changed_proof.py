"""A run that changes what proves it: allowed, marked, and seen by a person before delivery."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from django.test import Client

from runtime import approvals, runs
from runtime.agent import inputs
from runtime.agent.state import State
from runtime.runs import replay
from tests.agent.scenes import answer, seen, shell, space, tree, write
from tests.kit import EDIT, FINISH, VERIFY, git, play, repository, workspace

PASSES = "import unittest\n\nclass Test(unittest.TestCase):\n    def test(self):\n        pass\n"
CHANGE = [write("tests/test_notes.py", PASSES), EDIT, VERIFY, FINISH]


def test_A15_the_edit_is_allowed_the_run_marked_and_a_reviewer_sees_it_first(cast):
    workspace(cast.alice, verify=("python3 -m unittest -q tests.test_notes",))
    told = play(cast.alice, CHANGE)
    assert told.of("verification.inputs_changed") == [
        {"action": f"{told.events[1].task}.1", "paths": ["tests/test_notes.py"]}
    ]
    assert told.state == "waiting" and "delivery.completed" not in told.types
    assert (told.pending.action_kind, told.pending.decision) == ("finish", "ASK")
    assert told.pending.rule == "verification_inputs_changed"
    card = approvals.card(told.pending)
    assert card["verification_inputs"] == ["tests/test_notes.py"]
    assert "+class Test" in card["diff"] and "notes.txt" not in card["diff"]
    answer(told, cast.bob)
    told.work()
    assert told.state == "succeeded"
    report = runs.report(told.run.pk)
    assert report["verification_inputs_changed"] == ["tests/test_notes.py"]
    assert report["report"]["verification_inputs_changed"] == ["tests/test_notes.py"]
    assert replay.check(told.run.pk) == ""


def test_A15_a_denied_delivery_tells_the_model(cast):
    workspace(cast.alice, verify=("python3 -m unittest -q tests.test_notes",))
    told = play(cast.alice, CHANGE)
    answer(told, cast.bob, "deny", comment="The test is empty.")
    told.work()
    assert "The test is empty." in seen(told)[-1]
    assert "delivery.completed" not in told.types


def test_A15_a_command_that_changes_them_marks_the_run_too(cast):
    workspace(cast.alice, verify=("sh check.sh",))
    told = play(cast.alice, [shell("echo 'exit 0' > check.sh"), VERIFY, FINISH])
    assert told.of("verification.inputs_changed")[0]["paths"] == ["check.sh"]
    assert told.pending.action_kind == "finish"


def test_A15_a_debt_is_refused_before_anybody_is_asked(cast):
    workspace(cast.alice, verify=("sh check.sh",))
    told = play(cast.alice, [write("check.sh", "exit 0\n"), FINISH, VERIFY, FINISH])
    assert told.types.count("finish.refused") == 1
    assert told.types.count("approval.requested") == 1


def test_A15_what_was_put_back_is_not_asked_about(cast):
    workspace(cast.alice, repository({"check.sh": "exit 0\n"}), verify=("sh check.sh",))
    steps = [write("check.sh", "true\n"), write("check.sh", "exit 0\n"), VERIFY, FINISH]
    told = play(cast.alice, steps)
    assert told.of("verification.inputs_changed")[0]["paths"] == ["check.sh"]
    assert told.state == "succeeded"
    assert "approval.requested" not in told.types


def test_A15_an_unattended_run_cannot_deliver_it(cast):
    workspace(cast.alice, verify=("sh check.sh",))
    steps = [write("check.sh", "exit 0\n"), VERIFY, FINISH]
    told = play(cast.alice, steps, mode="unattended")
    assert "delivery.completed" not in told.types and "approval.requested" not in told.types
    assert "nobody answers questions" in seen(told)[-1] and "check.sh" in seen(told)[-1]


def installed(*names):
    """An environment that has these modules."""
    root = repository({"check.py": "import helper_lib\n", "own_lib.py": "x = 1\n"})
    packages = root / ".venv" / "lib" / "python3.11" / "site-packages"
    for name in names:
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").write_text("")
    (root / ".gitignore").write_text(".venv\n")
    return root


@pytest.mark.parametrize("path", ["helper_lib.py", "helper_lib/__init__.py", "subprocess.pyc"])
def test_A15_a_new_module_in_the_place_of_an_installed_one_is_marked(cast, path):
    root = installed("helper_lib", "own_lib")
    workspace(cast.alice, root, verify=("python3 check.py",), env=(".venv",))
    told = play(cast.alice, [write(path, ""), write("helper_lib.py", ""), VERIFY, FINISH])
    assert told.of("verification.inputs_changed")[0]["paths"] == [path]
    assert (told.pending.action_kind, told.pending.rule) == (
        "finish",
        "verification_inputs_changed",
    )


def test_A15_a_folder_of_that_name_that_was_no_module_does_not_hide_it(cast):
    root = installed("helper_lib")
    (root / "helper_lib").mkdir()
    (root / "helper_lib" / "data.txt").write_text("x\n")
    git(root, "add", "helper_lib")
    git(root, "commit", "-qm", "data")
    workspace(cast.alice, root, verify=("python3 check.py",), env=(".venv",))
    told = play(cast.alice, [write("helper_lib/__init__.py", ""), VERIFY, FINISH])
    assert told.of("verification.inputs_changed")[0]["paths"] == ["helper_lib/__init__.py"]


def test_many_new_modules_are_looked_at_together(cast, monkeypatch):
    workspace(cast.alice, installed("helper_lib"), verify=("python3 check.py",), env=(".venv",))
    told = play(cast.alice, [EDIT, VERIFY, FINISH])
    state = State(
        base_tree=told.of("run.submitted")[0]["tree"], verification=(("python3", "check.py"),)
    )
    session = SimpleNamespace(state=state, space=space(told))
    objects = session.space.repository.objects
    reads: list[str] = []
    get = objects._get
    monkeypatch.setattr(objects, "_get", lambda name: (reads.append(name), get(name))[1])
    listed: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (listed.append(str(path)), scandir(path))[1])
    many = [f"m{number}.py" for number in range(500)]
    assert inputs.watched(session, [*many, "helper_lib.py"]) == ["helper_lib.py"]
    assert len(reads) < 20 and len(listed) < 200


def test_new_modules_of_other_names_and_the_repositorys_own_are_not_marked(cast):
    root = installed("own_lib")
    workspace(cast.alice, root, verify=("python3 check.py",), env=(".venv",))
    steps = [
        write("own_lib.py", "x = 2\n"),
        write("helper_lib.py", ""),
        write("src/own_lib.py", ""),
    ]
    told = play(cast.alice, [*steps, VERIFY, FINISH])
    assert (told.of("verification.inputs_changed"), told.state) == ([], "succeeded")


def test_A15_a_name_that_is_no_text_is_watched_too(cast):
    make = r"import os; os.makedirs('tests'); open(b'tests/\xff.py', 'w')"
    workspace(cast.alice, repository({"make.py": make}), verify=("pytest -h",))
    told = play(cast.alice, [{"kind": "run_tool", "program": "python3", "args": ["make.py"]}])
    assert len(told.of("verification.inputs_changed")) == 1


@pytest.mark.parametrize("address", ["", "?tab=evidence"])
def test_A15_the_page_of_the_run_says_so(cast, address):
    workspace(cast.alice, verify=("sh check.sh",))
    told = play(cast.alice, [write("check.sh", "exit 0\n"), VERIFY, FINISH])
    client = Client()
    client.force_login(cast.bob)
    page = client.get(f"/runs/{told.run.pk}/{address}").content.decode()
    assert "has changed what its verification runs" in page
    assert "What the verification runs has been changed" in page
    assert "check.sh" in page
    assert (tree(told) / "check.sh").exists()
