"""Deliveries: proven in a fresh worktree, committed with trailers, applied by a person."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from runtime import blobs, runs
from runtime.models import Artifact
from runtime.runs import replay
from tests.agent.scenes import answer, seen, shell, space, tool, tree, write
from tests.kit import EDIT, FINISH, VERIFY, git, play, repository, submit, workspace


def snapshot(root: Path) -> dict[str, str]:
    """Every entry below a directory, the git directory included."""
    found = {}
    for where, folders, files in os.walk(root):
        for name in [*folders, *files]:
            path = Path(where, name)
            about = path.lstat()
            data = os.readlink(path) if path.is_symlink() else ""
            if path.is_file() and not path.is_symlink():
                data = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(root))] = f"{about.st_mode} {about.st_uid} {data}"
    return found


def apply(root: Path, patch: bytes) -> None:
    subprocess.run(["git", "apply", "-"], cwd=root, input=patch, check=True, capture_output=True)


def test_a_delivery_is_a_commit_with_trailers_on_the_runs_branch(cast):
    workspace(cast.alice, verify=("grep -q changed notes.txt",))
    told = play(
        cast.alice,
        [EDIT, VERIFY, {"kind": "finish", "summary": "It is changed.\n\nApproved-by: nobody"}],
        objective="Change the notes",
        mode="safe",
    )
    answer(told, cast.bob)
    told.work()
    assert told.state == "succeeded"
    delivered = told.last("delivery.completed")
    repo = space(told).repository.path
    assert git(repo, "rev-parse", f"m31a/{told.run.pk}") == delivered["commit"]
    assert git(repo, "rev-parse", f"{delivered['commit']}^") == told.of("run.submitted")[0]["base"]
    message = git(repo, "log", "--format=%B", "-n1", delivered["commit"])
    assert message.splitlines()[0] == "Change the notes"
    trailers = git(repo, "log", "--format=%(trailers:only)", "-n1", delivered["commit"])
    assert trailers.split("\n") == [
        f"M31A-Run: {told.run.pk}",
        f"M31A-Tree: {delivered['tree']}",
        "Submitted-by: alice",
        "Approved-by: bob",
        "Verified-by: grep -q changed notes.txt",
    ]


@pytest.mark.parametrize(
    ("objective", "title"),
    [
        ("  One\nline ", "One line"),
        ("mend it " * 20, "mend it " * 8 + "mend it…"),
        ("改" * 80, "改" * 71 + "…"),
    ],
)
def test_the_first_line_of_a_delivery_says_when_it_is_cut(cast, objective, title):
    workspace(cast.alice)
    told = play(cast.alice, [EDIT, VERIFY, FINISH], objective=objective)
    commit = told.last("delivery.completed")["commit"]
    assert git(space(told).repository.path, "log", "--format=%s", "-n1", commit).strip() == title


def test_the_patch_applies_to_the_operators_checkout(cast):
    root = repository({"a.txt": "one\ntwo\n", "b.txt": "bye\n", "bin": "x\n"})
    workspace(cast.alice, root)
    script = "open('new.bin', 'wb').write(bytes(range(256)))\n"
    told = play(
        cast.alice,
        [
            write("a.txt", "one\n2\n"),
            write("make.py", script),
            write("sub/é ü.txt", "new\n"),
            tool("python3", "make.py"),
            tool("mv", "b.txt", "c.txt"),
            VERIFY,
            FINISH,
        ],
        mode="autonomous",
    )
    assert told.state == "succeeded", told.observations()
    before = snapshot(root)
    delivered = told.last("delivery.completed")
    apply(root, blobs.get(delivered["patch"]))
    assert (root / "a.txt").read_text() == "one\n2\n"
    assert (root / "new.bin").read_bytes() == bytes(range(256))
    assert (root / "sub" / "é ü.txt").read_text() == "new\n"
    assert (root / "c.txt").read_text() == "bye\n" and not (root / "b.txt").exists()
    assert before != snapshot(root)
    assert Artifact.objects.filter(run=told.run, sha256=delivered["patch"], kind="patch").exists()


def test_the_report_holds_the_evidence(cast):
    workspace(cast.alice, verify=("echo fine", "echo fine"))
    told = play(cast.alice, [EDIT, VERIFY, FINISH])
    assert told.state == "succeeded", told.reason
    report = runs.report(told.run.pk)
    assert report["delivery"]["files"] == 1
    kept = json.loads(blobs.get(report["delivery"]["report"]))
    assert [row["argv"] for row in kept["verification"]] == [["echo", "fine"], ["echo", "fine"]]
    assert kept["files"] == [["M", "notes.txt"]]
    assert runs.diff(told.run.pk).count("+changed") == 1


def test_a_verification_that_passes_thanks_to_an_ignored_file_is_refused_at_finish(cast):
    files = {"notes.txt": "x\n", ".gitignore": "*.cache\n"}
    workspace(cast.alice, repository(files), verify=("test -e build.cache",))
    told = play(cast.alice, [EDIT, tool("touch", "build.cache"), VERIFY, FINISH])
    assert told.types.count("verification.passed") == 1
    refused = told.last("finish.refused")
    assert refused["debt"] is True and "fresh" in refused["reason"]
    failed = told.last("verification.failed")
    assert "fresh copy" in failed["reason"]
    assert "delivery.completed" not in told.types
    assert told.state == "failed"


def test_a_left_out_file_does_not_help_in_the_fresh_copy_either(cast):
    workspace(
        cast.alice, repository({"v.sh": "test -e made && exit 0\ntouch made\nexit $1\n"}),
        verify=("sh v.sh 0",),
    )  # fmt: skip
    told = play(cast.alice, [write("a.txt", "a\n"), VERIFY, VERIFY, FINISH])
    assert told.state == "succeeded"
    assert told.last("delivery.completed")["files"] == 1


def test_the_operators_checkout_is_untouched_to_the_last_byte(cast):
    root = repository({"notes.txt": "first line\nsecond line\n", "run.sh": "true\n"})
    (root / "uncommitted.txt").write_text("mine\n")
    workspace(cast.alice, root)
    before = snapshot(root)
    told = play(
        cast.alice,
        [
            EDIT,
            write("deep/er/new.txt", "x\n"),
            shell("rm run.sh"),
            {"kind": "git_commit", "message": "x"},
            {"kind": "git_status"},
            VERIFY,
            FINISH,
        ],
        mode="autonomous",
    )
    assert told.state == "succeeded"
    assert snapshot(root) == before


def test_uncommitted_files_are_counted_and_left_out_with_a_warning(cast):
    root = repository()
    (root / "notes.txt").write_text("uncommitted\n")
    (root / "new.txt").write_text("new\n")
    workspace(cast.alice, root)
    told = submit(cast.alice, [{"kind": "read_file", "path": "notes.txt"}, FINISH])
    submitted = told.of("run.submitted")[0]
    assert submitted["uncommitted"] == 2
    assert any("2 uncommitted files" in text for text in submitted["warnings"])
    told.work()
    assert "first line" in seen(told)[0]
    assert not (tree(told) / "new.txt").exists()


def test_a_finish_with_nothing_changed_delivers_nothing(cast):
    workspace(cast.alice)
    told = play(cast.alice, [tool("true"), VERIFY, FINISH])
    assert told.state == "succeeded"
    assert "delivery.completed" not in told.types
    assert runs.diff(told.run.pk) == ""


def test_the_summary_is_the_runs_own(cast):
    workspace(cast.alice)
    told = play(cast.alice, [{"kind": "finish", "summary": "Nothing to do."}])
    assert told.last("run.succeeded")["summary"] == "Nothing to do."


@pytest.mark.thorough
def test_hundreds_of_new_files_are_delivered(cast):
    make = "for n in range(400):\n    open(f'made-{n:03}-' + 'x' * 40, 'w').write(str(n))\n"
    root = repository({"make.py": make})
    workspace(cast.alice, root)
    told = play(cast.alice, [tool("python3", "make.py"), VERIFY, FINISH])
    assert told.state == "succeeded", told.reason
    assert told.last("delivery.completed")["files"] == 400
    apply(root, blobs.get(told.last("delivery.completed")["patch"]))
    assert len(list(root.glob("made-*"))) == 400
    assert replay.check(told.run.pk) == ""


def test_a_text_that_is_no_utf_8_is_delivered_byte_for_byte(cast):
    root = repository({"make.py": "open('old.txt', 'wb').write(b'caf\\xe9\\n')\n"})
    workspace(cast.alice, root)
    told = play(cast.alice, [tool("python3", "make.py"), VERIFY, FINISH])
    assert told.state == "succeeded", told.reason
    apply(root, blobs.get(told.last("delivery.completed")["patch"]))
    assert (root / "old.txt").read_bytes() == b"caf\xe9\n"
