"""Guarded files that come by a command nobody could see through: marked, and seen before they go."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from django.test import Client

from runtime import approvals, runs
from runtime.agent import guarded
from runtime.agent.state import Pending, State
from runtime.approvals.regating import regate
from runtime.cli import main as cli
from runtime.core.digests import sha256
from runtime.gating import backtest, policies, recorded
from runtime.journal.kinds import CheckpointCreated
from runtime.models import Approval
from runtime.runs import replay
from tests.agent.scenes import answer, seen, shell, space, tool, tree, write
from tests.kit import FINISH, VERIFY, play, repository, with_remote, workspace

CI = ".github/workflows/ci.yml"
PLACE = f"import os; os.makedirs('.github/workflows'); open({CI!r}, 'w').write('on: push\\n')"
FILES = {"notes.txt": "first\n", "place.py": PLACE, "Makefile": "all:\n\tpython3 place.py\n",
         f"kit/{CI}": "on: push\n", "kit/notes.txt": "first\n"}  # fmt: skip
PATCH = "--- /dev/null\n+++ b/.github/workflows/ci.yml\n@@ -0,0 +1 @@\n+on: push\n"
MARK = "guarded_files.changed"
RULE = "guarded_files_changed"


def begun(cast, files=None, **more):
    """A workspace whose repository holds what a command can place."""
    return workspace(cast.alice, repository({**FILES, **(files or {})}), **more)


def approved(told, person):
    """Answer every question up to that about the delivery."""
    while told.pending.action_kind != "finish":
        answer(told, person)
        told.work()
    return told


WAYS = {
    "copied": [shell("cp -r kit/. .")],
    "unpacked": [shell("tar cf x.tar -C kit .github && tar xf x.tar && rm x.tar")],
    "patched": [write("ci.patch", PATCH), tool("git", "apply", "ci.patch")],
    "made": [tool("make", "all")],
    "scripted": [tool("python3", "place.py")],
}


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
def test_what_a_command_places_is_marked_and_asked_about_before_delivery(cast, capsys, way):
    begun(cast)
    told = approved(play(cast.alice, [*WAYS[way], VERIFY, FINISH]), cast.bob)
    assert told.of(MARK)[0]["paths"] == [CI]
    assert (told.pending.decision, told.pending.rule) == ("ASK", RULE)
    card = approvals.card(told.pending)
    assert card["guarded_files"] == [CI] and "+on: push" in card["diff"]
    assert f"{CI} (runs on the build server)" in card["reason"]
    answer(told, cast.bob)
    told.work()
    assert told.state == "succeeded"
    report = runs.report(told.run.pk)
    assert report["guarded_files_changed"] == [CI]
    assert report["report"]["guarded_files_changed"] == [CI]
    assert replay.check(told.run.pk) == ""
    assert cli.run(["report", told.run.pk], None, False) == 0
    assert f"NOTE: a command changed {CI} (runs on the build server)" in capsys.readouterr().out


JOB = [
    {"kind": "start_job", "program": "python3", "args": ["place.py"]},
    {"kind": "stop_job", "job": "j1"},
]
OTHER = write("notes.txt", "x\n")
SAME = {"kind": "replace_text", "path": CI, "expected": "on:", "replacement": "# ci\non:"}


@pytest.mark.parametrize("edit", [OTHER, SAME], ids=["of another file", "of the same file"])
def test_what_a_job_has_placed_is_marked_though_an_edit_makes_the_checkpoint(cast, edit):
    begun(cast)
    told = approved(play(cast.alice, [*JOB, edit, VERIFY, FINISH]), cast.bob)
    assert told.of(MARK) == [{"action": told.last("checkpoint.created")["action"], "paths": [CI]}]
    assert told.pending.rule == RULE


def test_an_edit_that_the_gate_asked_about_is_not_asked_about_again(cast):
    begun(cast, {".gitignore": "*.log\n"})
    told = play(cast.alice, [write(CI, "on: push\n"), VERIFY, FINISH])
    assert told.pending.rule == "guided file"
    answer(told, cast.bob)
    told.work()
    assert (told.state, told.of(MARK)) == ("succeeded", [])
    assert Approval.objects.filter(run=told.run).count() == 1


@pytest.mark.parametrize("content", ["on: push\n", "on: something else\n"])
def test_only_what_the_edit_said_it_would_make_counts_as_seen(cast, content):
    begun(cast)
    told = approved(play(cast.alice, [shell("cp -r kit/. ."), VERIFY, FINISH]), cast.bob)
    point = CheckpointCreated(**told.of("checkpoint.created")[0])
    after = sha256(content.encode())
    pending = Pending(point.action, "write_file", 1, {}, started=True, path=CI, after=after)
    state = State(tree=told.of("run.submitted")[0]["tree"], pending=pending)
    session = SimpleNamespace(state=state, space=space(told), ruled=lambda: None)
    assert guarded.unseen(session, point) == (set() if content == "on: push\n" else {CI})


def test_a_link_in_the_place_of_a_file_that_a_patch_removes_is_not_what_was_seen(cast):
    link = f"import os; os.remove({CI!r}); os.symlink('elsewhere', {CI!r})"
    begun(cast, {CI: "on: push", "place.py": link})
    told = approved(play(cast.alice, [tool("python3", "place.py"), VERIFY, FINISH]), cast.bob)
    point = CheckpointCreated(**told.of("checkpoint.created")[0])
    files = ((CI, f"644 {sha256(b'on: push')}", ""),)
    pending = Pending(point.action, "apply_patch", 1, {}, started=True, files=files)
    state = State(tree=told.of("run.submitted")[0]["tree"], pending=pending)
    session = SimpleNamespace(state=state, space=space(told), ruled=lambda: None)
    assert guarded.unseen(session, point) == {CI}


def test_a_command_after_the_edit_voids_what_was_seen_of_it(cast):
    begun(cast)
    steps = [write(CI, "on: pull_request\n"), shell("cp -r kit/. ."), VERIFY, FINISH]
    told = approved(play(cast.alice, steps), cast.bob)
    assert told.of(MARK)[0]["paths"] == [CI]
    assert "+on: push" in approvals.card(told.pending)["diff"]


def test_an_edit_of_what_a_command_placed_does_not_hide_the_rest_of_it(cast):
    begun(cast)
    told = approved(play(cast.alice, [shell("cp -r kit/. ."), SAME, VERIFY, FINISH]), cast.bob)
    assert "+on: push" in approvals.card(told.pending)["diff"]


def test_what_was_put_back_is_not_asked_about(cast):
    begun(cast)
    steps = [
        shell("cp -r kit/. ."),
        tool("python3", "-c", "import shutil; shutil.rmtree('.github')"),
    ]
    told = play(cast.alice, [*steps, write("notes.txt", "x\n"), VERIFY, FINISH])
    while told.state == "waiting":
        assert told.pending.action_kind != "finish"
        answer(told, cast.bob)
        told.work()
    assert told.of(MARK) and told.state == "succeeded"


def test_a_file_whose_name_says_that_it_holds_a_secret_is_seen_too(cast):
    begun(cast, {"make_key.py": "open('server.' + 'key', 'w').write('x\\n')\n"})
    told = approved(play(cast.alice, [tool("python3", "make_key.py"), VERIFY, FINISH]), cast.bob)
    assert told.pending.rule == RULE
    assert "server.key (may hold a secret)" in approvals.card(told.pending)["reason"]


def test_a_name_that_is_no_text_hides_nothing(cast):
    name = b".github/workflows/\xff.yml"
    begun(cast, {"place.py": f"import os; os.makedirs('.github/workflows'); open({name!r}, 'w')"})
    told = approved(play(cast.alice, [tool("python3", "place.py"), VERIFY, FINISH]), cast.bob)
    assert (told.pending.rule, len(told.of(MARK)[0]["paths"])) == (RULE, 1)
    assert os.path.exists(os.fsencode(tree(told)) + b"/" + name)
    assert "new file" in approvals.card(told.pending)["diff"]


@pytest.mark.parametrize("mode", ["autonomous", "unattended"])
def test_no_mode_delivers_it_unseen(cast, mode):
    begun(cast, allow=("make",))
    told = play(cast.alice, [tool("make", "all"), VERIFY, FINISH], mode=mode)
    assert told.of(MARK) and "delivery.completed" not in told.types
    if mode == "autonomous":
        assert (told.pending.action_kind, told.pending.rule) == ("finish", RULE)
    else:
        assert "nobody answers questions" in seen(told)[-1] and CI in seen(told)[-1]


def test_the_card_of_a_push_names_them(cast):
    root = repository(FILES)
    with_remote(root)
    workspace(cast.alice, root)
    commit = {"kind": "git_commit", "message": "work"}
    told = play(cast.alice, [shell("cp -r kit/. ."), commit, {"kind": "git_push"}])
    while told.pending.action_kind != "git_push":
        answer(told, cast.bob)
        told.work()
    card = approvals.card(told.pending)
    assert told.pending.rule == "git push" and card["guarded_files"] == [CI]
    assert CI in card["reason"] and "+on: push" in card["diff"]


def test_the_card_of_a_push_by_a_script_names_them_too(cast):
    begun(cast)
    commit = {"kind": "git_commit", "message": "work"}
    told = play(cast.alice, [shell("cp -r kit/. ."), commit, shell("cd . && git push")])
    while "push" not in str(approvals.card(told.pending)["action"]):
        answer(told, cast.bob)
        told.work()
    card = approvals.card(told.pending)
    assert card["guarded_files"] == [CI] and "+on: push" in card["diff"]


def test_the_recorded_decision_is_the_same_when_it_is_decided_again(cast):
    begun(cast)
    told = approved(play(cast.alice, [shell("cp -r kit/. ."), VERIFY, FINISH]), cast.bob)
    found = recorded.latest(told.run.pk, told.pending.action)
    assert found is not None and found.changed_guarded == (CI,)
    assert not regate(told.pending.pk, policies.current())
    rule = '[[rule]]\nid = "deliver"\ndecision = "ALLOW"\ntool = "finish"\n'
    tested = backtest.run(backtest.document("organisation.toml", rule))
    assert (tested.drifted, [(one.kind, one.then.rule) for one in tested.changes]) == (
        0,
        [("finish", "deliver")],
    )


@pytest.mark.parametrize("address", ["", "?tab=evidence", "?tab=report"])
def test_the_pages_say_so(cast, address):
    begun(cast)
    told = approved(play(cast.alice, [shell("cp -r kit/. ."), VERIFY, FINISH]), cast.bob)
    client = Client()
    client.force_login(cast.bob)
    page = client.get(f"/runs/{told.run.pk}/{address}").content.decode()
    assert "changed files that other programs obey" in page and CI in page
    if address == "?tab=evidence":
        assert "A command has changed files that other programs obey" in page
    card = client.get(f"/approvals/{told.pending.pk}/").content.decode()
    assert "changed files that other programs obey" in card
    assert space(told).exists()
