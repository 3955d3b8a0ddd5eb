"""The workspace editor as a model uses it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.agent.scenes import change, seen, shell, tool, tree, write
from tests.kit import FINISH, VERIFY, git, play, repository, workspace


def test_W1_one_exact_match_is_replaced_and_nothing_else(cast):
    root = repository({"run.sh": "#!/bin/sh\necho one\necho two\n", "other.txt": "echo one\n"})
    (root / "run.sh").chmod(0o755)
    git(root, "commit", "-qam", "executable")
    workspace(cast.alice, root, verify=("test -x run.sh",))
    told = play(cast.alice, [change("run.sh", "one", "1"), VERIFY, FINISH])
    assert told.state == "succeeded"
    path = tree(told) / "run.sh"
    assert path.read_text() == "#!/bin/sh\necho 1\necho two\n"
    assert stat.S_IMODE(path.stat().st_mode) & 0o111
    assert (tree(told) / "other.txt").read_text() == "echo one\n"
    completed = told.of("action.completed")[0]
    assert "-echo one" in completed["diff"] and "+echo 1" in completed["diff"]
    assert told.last("delivery.completed")["files"] == 1


OUTSIDE = ["../x", "/etc/hosts", "a/../../x"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_W2_a_path_outside_is_refused_for_reading_and_writing(cast, path):
    workspace(cast.alice)
    told = play(
        cast.alice,
        [{"kind": "read_file", "path": path}, write(path, "x"), change(path, "a", "b"), FINISH],
    )
    assert told.types.count("action.refused") == 3
    assert "action.started" not in [
        e.type for e in told.events if e.payload.get("kind") != "finish"
    ]
    assert told.state == "succeeded"


def test_W2_links_out_of_the_worktree_are_not_followed(cast):
    root = repository({"inside.txt": "x\n"})
    (root / "file").symlink_to("/etc/hosts")
    (root / "folder").symlink_to("/etc")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "links")
    workspace(cast.alice, root)
    hosts = Path("/etc/hosts").read_bytes()
    told = play(
        cast.alice,
        [
            {"kind": "read_file", "path": "file"},
            {"kind": "read_file", "path": "folder/hosts"},
            write("file", "x"),
            write("folder/m31a-test", "x"),
            change("folder/hosts", "localhost", "x"),
            FINISH,
        ],
    )
    done = [p for p in told.of("action.completed") if p["kind"] != "finish" and p["ok"]]
    assert done == []
    assert Path("/etc/hosts").read_bytes() == hosts
    assert not os.path.exists("/etc/m31a-test")
    assert told.state == "succeeded", told.reason


def test_W2_a_link_that_a_command_makes_is_not_followed(cast):
    workspace(cast.alice, repository({"link.py": "import os\nos.symlink('/etc', 'up')\n"}))
    told = play(cast.alice, [tool("python3", "link.py"), write("up/m31a-test", "x"), FINISH])
    assert (tree(told) / "up").is_symlink()
    refused = [event.type for event in told.events if event.payload.get("kind") == "write_file"]
    assert "action.started" not in refused
    assert not os.path.exists("/etc/m31a-test")


def test_W3_empty_absent_and_twofold_texts_are_three_clear_refusals(cast):
    workspace(cast.alice, repository({"a.txt": "one\ntwo\none\n"}))
    told = play(
        cast.alice,
        [
            change("a.txt", "", "x"),
            change("a.txt", "three", "x"),
            change("a.txt", "one", "x"),
            FINISH,
        ],
    )
    empty, absent, twice, _ = seen(told)
    assert "empty" in empty
    assert "does not occur" in absent
    assert "2 times" in twice and "1, 3" in twice
    assert (tree(told) / "a.txt").read_text() == "one\ntwo\none\n"
    assert told.state == "succeeded", "a refused edit opens no debt"


def test_W4_replacing_in_a_file_that_is_not_there_points_to_write_file(cast):
    workspace(cast.alice)
    told = play(cast.alice, [change("absent.txt", "a", "b"), FINISH])
    assert "write_file" in seen(told)[0]
    assert not (tree(told) / "absent.txt").exists()
    assert told.state == "succeeded"


def test_W6_a_replacement_that_equals_the_text_is_no_edit(cast):
    workspace(cast.alice)
    told = play(cast.alice, [change("notes.txt", "first", "first"), FINISH])
    assert "no edit" in seen(told)[0]
    assert told.state == "succeeded"


def test_W12_an_edit_over_the_size_cap_leaves_the_file_unchanged(cast):
    text = "a\n" + "b" * 600_000 + "\n"
    workspace(cast.alice, repository({"big.txt": text}))
    told = play(cast.alice, [change("big.txt", "a\n", "c" * 600_000), FINISH])
    assert "bytes" in seen(told)[0]
    assert (tree(told) / "big.txt").read_text() == text
    assert told.state == "succeeded"


def test_W13_a_file_written_anew_shows_its_diff_and_has_a_checkpoint_before(cast):
    workspace(cast.alice)
    told = play(cast.alice, [shell("echo made >> notes.txt"), write("notes.txt", "x\n")])
    diff = told.of("action.completed")[1]["diff"]
    assert "-made" in diff and "+x" in diff
    assert told.types.count("checkpoint.created") == 2
