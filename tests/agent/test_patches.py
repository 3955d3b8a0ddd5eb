"""Patches as a model proposes them: all of a patch, or nothing, whatever happens in between."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from runtime import faults
from runtime.faults import plan as fault_plan
from runtime.models import Approval
from runtime.runs import replay
from tests.agent.dying import work_and_die
from tests.agent.scenes import answer, plain, seen, shell, space, tool, tree
from tests.kit import FINISH, VERIFY, git, play, repository, submit, workspace

FILES = {
    "a.txt": "one\ntwo\nthree\n",
    "b.txt": "alpha\nbeta\n",
    "old/name.txt": "moved\n",
    "gone.txt": "bye\n",
    "run.sh": "#!/bin/sh\n",
    "crlf.txt": "x\r\ny\r\n",
    "bare.txt": "no end",
}
PATCH = """diff --git a/a.txt b/a.txt
index 1111111..2222222 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+2
 three
diff --git a/b.txt b/b.txt
--- a/b.txt
+++ b/b.txt
@@ -1,2 +1,3 @@
 alpha
 beta
+gamma
diff --git a/old/name.txt b/fresh/name.txt
similarity index 100%
rename from old/name.txt
rename to fresh/name.txt
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/made/tool.py b/made/tool.py
new file mode 100755
--- /dev/null
+++ b/made/tool.py
@@ -0,0 +1,2 @@
+#!/usr/bin/env python3
+print("made")
diff --git a/crlf.txt b/crlf.txt
--- a/crlf.txt
+++ b/crlf.txt
@@ -1,2 +1,2 @@
 x\r
-y\r
+z\r
diff --git a/bare.txt b/bare.txt
--- a/bare.txt
+++ b/bare.txt
@@ -1 +1 @@
-no end
\\ No newline at end of file
+an end
"""
AFTER = {
    "a.txt": b"one\n2\nthree\n",
    "b.txt": b"alpha\nbeta\ngamma\n",
    "fresh/name.txt": b"moved\n",
    "run.sh": b"#!/bin/sh\n",
    "made/tool.py": b'#!/usr/bin/env python3\nprint("made")\n',
    "crlf.txt": b"x\r\nz\r\n",
    "bare.txt": b"an end\n",
}


def patch(text: str) -> dict[str, Any]:
    return {"kind": "apply_patch", "patch": text}


def root() -> Path:
    made = repository({"keep": ""})
    for name, text in FILES.items():
        path = made / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
    git(made, "add", "-A")
    git(made, "commit", "-q", "-m", "files")
    return made


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (".git", "keep")
    }


def before() -> dict[str, bytes]:
    return {name: text.encode() for name, text in FILES.items()}


def test_a_patch_of_many_kinds_is_applied_verified_and_delivered(cast):
    workspace(cast.alice, root(), verify=("test -x made/tool.py -a -x run.sh",))
    told = play(cast.alice, [patch(PATCH), FINISH, VERIFY, FINISH])
    assert told.state == "succeeded", told.reason
    assert told.types.count("finish.refused") == 1, "the patch opens the debt"
    assert content(tree(told)) == AFTER
    assert not (tree(told) / "old").exists(), "a directory that is empty goes, as with git"
    assert stat.S_IMODE((tree(told) / "made/tool.py").stat().st_mode) == 0o755
    started = told.of("action.started")[0]
    assert [row[0] for row in started["files"]][-2:] == ["old/name.txt", "gone.txt"]
    done = told.of("action.completed")[0]
    assert "old/name.txt renamed to fresh/name.txt" in plain(done["observation"])
    assert {"+2", "rename to fresh/name.txt", "new mode 100755", "+++ /dev/null"} <= set(
        plain(done["diff"]).split("\n")
    )
    assert told.last("delivery.completed")["files"] == 9
    assert replay.check(told.run.pk) == ""


def test_the_tree_of_a_patch_is_what_git_would_make_of_the_files(cast):
    workspace(cast.alice, root())
    told = play(cast.alice, [patch(PATCH), shell("true"), tool("touch", "a.txt"), FINISH])
    points = told.of("checkpoint.created")
    assert len(points) == 1, "git in the cage found the very tree that the library had made"
    assert sorted(points[0]["files"]) == sorted(
        ["a.txt", "b.txt", "old/name.txt", "fresh/name.txt", "gone.txt", "run.sh",
         "made/tool.py", "crlf.txt", "bare.txt"]
    )  # fmt: skip


REFUSED = {
    "context that is not there": (PATCH.replace(" three", " four"), "does not fit"),
    "a file that is not there": (
        PATCH.replace("b.txt", "absent.txt"), "absent.txt does not exist",
    ),
    "a new file that is there": (
        PATCH.replace("made/tool.py", "keep"), "keep exists already",
    ),
    "a rename over a file": (PATCH.replace("fresh/name.txt", "keep"), "keep exists already"),
    "a deletion of a part": (
        PATCH.replace("a/gone.txt", "a/big.txt").replace("b/gone.txt", "b/big.txt"), "big.txt",
    ),
    "lines without carriage return": (PATCH.replace("\r", ""), "CR LF"),
    "a directory in the way": (PATCH.replace("made/tool.py", "a.txt/tool.py"), "below"),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("name", REFUSED)
def test_a_patch_that_does_not_fit_changes_nothing_and_opens_no_debt(cast, name):
    text, reason = REFUSED[name]
    workspace(cast.alice, root())
    told = play(cast.alice, [patch(text), FINISH])
    assert reason in seen(told)[0]
    assert content(tree(told)) == before()
    assert told.state == "succeeded", "nothing changed, so there is no debt"


def test_a_binary_file_a_link_and_a_submodule_are_refused_by_name(cast):
    made = root()
    (made / "data.bin").write_bytes(b"a\0b\n")
    (made / "link").symlink_to("a.txt")
    git(made, "add", "-A")
    git(made, "commit", "-q", "-m", "more")
    workspace(cast.alice, made)
    hunk = "@@ -1 +1 @@\n-a\n+b\n"
    told = play(
        cast.alice,
        [
            patch(f"--- a/data.bin\n+++ b/data.bin\n{hunk}"),
            patch(f"--- a/link\n+++ b/link\n{hunk}"),
            patch("diff --git a/x b/x\nBinary files a/x and b/x differ\n"),
            patch(f"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n{hunk}"),
            patch(f"diff --git a/x b/x\nindex 1111..2222 160000\n--- a/x\n+++ b/x\n{hunk}"),
            FINISH,
        ],
    )
    binary, link, files, made_link, module, _ = seen(told)
    assert "binary" in binary and "symbolic link" in link and "binary file" in files
    assert "symbolic link" in made_link and "submodule" in module
    assert told.state == "succeeded"


@pytest.mark.thorough
def test_a_patch_that_waited_is_shown_as_a_diff_and_asked_again_where_a_file_changed(cast):
    workspace(cast.alice, root())
    told = play(cast.alice, [patch(PATCH), VERIFY, FINISH], mode="safe")
    card = told.pending.card
    assert "+gamma" in str(card) and "fresh/name.txt" in str(card)
    (tree(told) / "b.txt").write_text("alpha\nbeta\nmore\n")
    answer(told, cast.bob)
    told.work()
    asked = Approval.objects.filter(run=told.run).order_by("requested_at")
    assert [one.state for one in asked] == ["superseded", "pending"]
    assert content(tree(told))["a.txt"] == b"one\ntwo\nthree\n"
    answer(told, cast.bob)
    told.work()
    assert content(tree(told))["b.txt"] == b"alpha\nbeta\ngamma\nmore\n"
    assert told.state == "succeeded", told.reason


def kill_at(point: str, nth: int) -> Any:
    """Arrange that the worker dies when it passes a place for the nth time."""

    def arrange() -> None:
        fault_plan._plan.clear()
        fault_plan._plan.update(fault_plan.parse(f"{point}=kill@{nth}"))
        fault_plan._hits.clear()

    return arrange


@pytest.mark.parametrize(
    ("point", "nth"),
    [
        ("edit.before_rename", 5),
        *(
            pytest.param(*place, marks=pytest.mark.thorough)
            for place in (
                ("step.before_effect", 1),
                *(("edit.before_rename", nth) for nth in (1, 2, 8, 9)),
                ("edit.after_rename", 9),
                ("step.after_effect", 1),
            )
        ),
    ],
)
def test_W7_a_crash_in_the_middle_of_a_patch_ends_with_all_of_it(cast, point, nth):
    assert point in faults.POINTS
    workspace(cast.alice, root())
    told = submit(cast.alice, [patch(PATCH), VERIFY, FINISH])
    work_and_die(kill_at(point, nth))
    told.work()
    assert told.state == "succeeded", told.reason
    assert content(tree(told)) == AFTER
    assert os.listdir(space(told).folder / "staging") == []
    assert told.types.count("action.outcome_unknown") == 0
    assert told.last("delivery.completed")["files"] == 9
    assert replay.check(told.run.pk) == ""


@pytest.mark.thorough
def test_W7_where_somebody_changed_a_file_of_half_a_patch_nothing_of_it_is_left(cast):
    workspace(cast.alice, root())
    told = submit(cast.alice, [patch(PATCH), FINISH, VERIFY, FINISH])
    work_and_die(kill_at("edit.before_rename", 3))
    assert content(tree(told)) != before(), "it died in the middle"
    (tree(told) / "b.txt").write_text("somebody's\n")
    told.work()
    unknown = told.last("action.outcome_unknown")
    assert unknown["kind"] == "apply_patch" and "b.txt is neither" in unknown["reason"]
    assert content(tree(told)) == before(), "back at the last checkpoint"
    assert told.types.count("finish.refused") == 1, "an edit of unknown outcome opens the debt"
    assert told.state == "succeeded"


def test_a_disk_that_fails_in_the_middle_leaves_nothing(cast, monkeypatch):
    workspace(cast.alice, root())
    told = submit(cast.alice, [patch(PATCH), FINISH])
    calls = []

    def hit(point: str) -> None:
        if point == "edit.after_rename":
            calls.append(point)
            if len(calls) == 6:
                raise OSError(28, "No space left on device")

    monkeypatch.setattr(faults, "hit", hit)
    told.work()
    assert len(calls) == 6
    assert content(tree(told)) == before()
    assert not (tree(told) / "made").exists() and not (tree(told) / "fresh").exists()
