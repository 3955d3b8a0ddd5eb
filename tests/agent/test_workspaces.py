"""Runs on directories that are no repository, hold repositories, or cannot be a tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runtime import blobs
from runtime.core.errors import BadInput
from runtime.models import Event, Run, Workspace
from tests import surroundings
from tests.agent.scenes import answer, seen, shell, tool, tree, write
from tests.agent.test_delivery import apply, snapshot
from tests.kit import EDIT, FINISH, VERIFY, git, play, repository, submit, workspace

NEST = "import os\nos.makedirs('inner/.git/objects', exist_ok=True)\nopen('inner/x', 'w').close()\n"


def plain(files: dict[str, str]) -> Path:
    """A directory that is no repository."""
    root = Path(surroundings.folder("m31a-plain-")) / "project"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_plain_directory_is_worked_on_in_a_copy_and_the_patch_applies(cast):
    root = plain({"notes.txt": "first\n", "sub/b.txt": "b\n"})
    row = workspace(cast.alice, root)
    assert row.is_git is False
    before = snapshot(root)
    told = play(cast.alice, [EDIT, write("sub/new.txt", "n\n"), VERIFY, FINISH])
    assert told.state == "succeeded", told.reason
    assert snapshot(root) == before
    apply(root, blobs.get(told.last("delivery.completed")["patch"]))
    assert (root / "notes.txt").read_text() == "changed\n"
    assert (root / "sub" / "new.txt").read_text() == "n\n"


def test_a_nested_repository_of_a_plain_directory_is_left_out_and_listed(cast):
    root = plain({"notes.txt": "first\n", "lib/x.txt": "x\n"})
    git(root / "lib", "init", "-q")
    workspace(cast.alice, root)
    told = submit(cast.alice, [EDIT, VERIFY, FINISH])
    submitted = told.of("run.submitted")[0]
    assert any("lib" in name for name in submitted["left_out"])
    assert any("lib" in text for text in submitted["warnings"])
    assert told.work().state == "succeeded"


def test_a_repository_without_a_commit_is_refused_and_leaves_nothing(cast):
    root = plain({"a.txt": "a\n"})
    git(root, "init", "-q", "-b", "main")
    with pytest.raises(BadInput) as refused:
        workspace(cast.alice, root)
        submit(cast.alice, [FINISH])
    assert refused.value.exit_code == 2
    assert "commit" in str(refused.value) and refused.value.remedy
    assert not Run.objects.exclude(pk="system").exists()
    assert not Event.objects.filter(type="run.submitted").exists()


def test_A24_a_nested_repository_makes_checkpoint_verify_and_finish_refuse(cast):
    workspace(cast.alice, repository({"notes.txt": "x\n", "nest.py": NEST}))
    told = play(
        cast.alice,
        [EDIT, VERIFY, tool("python3", "nest.py"), VERIFY, FINISH, shell("rm -r inner"), FINISH],
        mode="autonomous",
    )
    command, verify, finish = seen(told)[2:5]
    assert command.startswith("[exit status 0]"), "what the command did is still told"
    assert all("inner/.git" in text for text in (command, verify, finish))
    assert told.of("action.completed")[2]["trace"]["status"] == 0
    assert told.types.count("finish.refused") == 1
    assert told.state == "succeeded", "without the nested repository it is the verified tree again"


@pytest.mark.parametrize("name", [".git", ".GIT", ".Git"])
def test_A24_whatever_letters_it_is_written_with(cast, name):
    script = f"import os\nos.makedirs('a/b/{name}')\nopen('a/b/{name}/HEAD', 'w').close()\n"
    workspace(cast.alice, repository({"notes.txt": "x\n", "nest.py": script}))
    told = play(cast.alice, [tool("python3", "nest.py"), FINISH])
    assert f"a/b/{name}" in told.last("finish.refused")["reason"]


def test_A24_a_file_is_written_all_the_same_and_opens_the_debt(cast):
    workspace(cast.alice, repository({".gitignore": "*.log\n", "nest.py": NEST}))
    told = play(
        cast.alice,
        [tool("python3", "nest.py"), write("out.log", "x"), shell("rm -r inner"), FINISH],
        mode="autonomous",
    )
    assert (tree(told) / "out.log").read_text() == "x"
    assert told.of("action.completed")[1]["ok"] is True
    assert told.last("finish.refused")["debt"] is True


def test_A24_what_could_not_be_a_tree_before_a_wait_is_not_forgotten_after_it(cast):
    fifo = "import os\nos.remove('b.txt')\nos.mkfifo('b.txt')\n"
    workspace(cast.alice, repository({"notes.txt": "x\n", "b.txt": "b\n", "fifo.py": fifo}))
    ask = {"kind": "ask_human", "question": "Go on?"}
    told = play(cast.alice, [EDIT, VERIFY, tool("python3", "fifo.py"), ask, FINISH])
    assert "no checkpoint" in seen(told)[2]
    answer(told, cast.alice, comment="Yes.")
    told.work()
    assert "b.txt" in told.last("finish.refused")["reason"]
    assert "delivery.completed" not in told.types


def test_a_linked_worktree_of_the_operator_is_a_workspace_too(cast):
    root = repository()
    linked = root.parent / "linked"
    git(root, "worktree", "add", "-q", str(linked), "-b", "side")
    workspace(cast.alice, linked)
    before = snapshot(root), snapshot(linked)
    told = play(cast.alice, [EDIT, VERIFY, FINISH])
    assert told.state == "succeeded", told.reason
    assert (snapshot(root), snapshot(linked)) == before


def test_a_workspace_whose_directory_is_gone_is_bad_input(cast):
    root = repository()
    workspace(cast.alice, root)
    subprocess.run(["rm", "-r", str(root)], check=True)
    with pytest.raises(BadInput) as refused:
        submit(cast.alice, [FINISH])
    assert str(root) in str(refused.value)
    assert Workspace.objects.count() == 1
    assert not Run.objects.exclude(pk="system").exists()


def test_a_workspace_with_much_to_say_about_it_is_registered_and_shown(cast, client):
    """Its event has room for 4 KiB; what has none lies in artifacts."""
    root = repository() / ("deep" * 20)
    root.mkdir()
    (root / "a.txt").write_text("a\n")
    environments = [root / f"{'e' * 90}{number}" for number in range(60)]
    for path in environments:
        path.mkdir()
    made = workspace(cast.alice, root, env=[str(path) for path in environments])
    event = Event.objects.filter(type="workspace.registered").latest("id")
    assert "artifact" in event.payload and len(event.payload) < 4096
    assert len(made.environments) == 60
    client.force_login(cast.sol)
    assert "was registered" in client.get("/audit/?run=system").content.decode()
