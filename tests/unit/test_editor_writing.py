"""`write_file`, and what holds for every edit: authorised, whole, never through a link."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.core.actions import ReplaceText, WriteFile
from runtime.core.errors import Refused
from runtime.policy.authorised import Authorised, by_approval, by_gate, by_operator, by_runtime
from runtime.workspaces import Edit, Editor
from runtime.workspaces.diffs import of_edit, unified


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


def wish(path: str, content: str) -> WriteFile:
    return WriteFile(kind="write_file", path=path, content=content)


def test_a_new_file_gets_its_directories(root: Path) -> None:
    before = os.umask(0o077)
    try:
        edit = Editor(root, None).write(by_gate(wish("a/b/c.py", "x\n"), "action"))
    finally:
        os.umask(before)
    assert (root / "a/b/c.py").read_text() == "x\n"
    assert edit.before is None and edit.before_sha is None
    assert (root / "a/b/c.py").stat().st_mode & 0o7777 == 0o644
    assert (root / "a/b").stat().st_mode & 0o7777 == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_writes_belongs_to_the_run(root: Path) -> None:
    Editor(root, 61234).write(by_gate(wish("a/b", "x"), "action"))
    assert {(root / name).stat().st_uid for name in ("a", "a/b")} == {61234}


def test_W13_an_existing_file_is_replaced_whole_and_keeps_its_permissions(root: Path) -> None:
    (root / "run.sh").write_text("old\nlines\n")
    (root / "run.sh").chmod(0o755)
    edit = Editor(root, None).write(by_approval(wish("run.sh", "new\n"), "approval"))
    assert (root / "run.sh").read_text() == "new\n"
    assert (root / "run.sh").stat().st_mode & 0o7777 == 0o755
    assert of_edit(edit) == ("--- a/run.sh\n+++ b/run.sh\n@@ -1,2 +1 @@\n-old\n-lines\n+new\n")


def test_only_the_gate_or_an_approval_permits_an_edit(root: Path) -> None:
    editor = Editor(root, None)
    action = wish("a", "x")
    for value in (action, by_operator(action, "o"), by_runtime(action, "r")):
        with pytest.raises(TypeError):
            editor.write(value)  # type: ignore[arg-type]
    other = ReplaceText(kind="replace_text", path="a", expected="x", replacement="y")
    with pytest.raises(TypeError):
        editor.write(by_gate(other, "action"))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Authorised(action, "gate", "forged", object())
    assert not (root / "a").exists()


def test_a_plan_writes_nothing_and_says_what_would_be(root: Path) -> None:
    (root / "a").write_text("old")
    editor = Editor(root, None)
    planned = editor.plan(wish("a", "new"))
    assert (planned.before, planned.after) == (b"old", b"new")
    assert (root / "a").read_text() == "old"
    assert editor.write(by_gate(wish("a", "new"), "action"), planned) == planned


def test_a_file_that_changed_since_the_plan_is_not_overwritten(root: Path) -> None:
    (root / "a").write_text("old")
    editor = Editor(root, None)
    planned = editor.plan(wish("a", "new"))
    (root / "a").write_text("somebody's")
    with pytest.raises(Refused, match="changed meanwhile"):
        editor.write(by_gate(wish("a", "new"), "action"), planned)
    assert (root / "a").read_text() == "somebody's"


def test_W10_a_link_that_appears_between_check_and_write_is_not_followed(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "a").write_text("secret")
    (root / "folder").mkdir()
    (root / "folder" / "a").write_text("old")

    class Swapped(Editor):
        """Between the plan and the rename somebody swaps the target, then the directory."""

        swap: Callable[[], None]

        def _stage(self, edit: Edit) -> tuple[str, int]:
            staged = super()._stage(edit)
            self.swap()
            return staged

    def swap_file() -> None:
        (root / "folder" / "a").unlink()
        (root / "folder" / "a").symlink_to(outside / "a")

    def swap_folder() -> None:
        (root / "folder").rename(root / "moved")
        (root / "folder").symlink_to(outside)

    for swap in (swap_file, swap_folder):
        (root / "folder" / "a").unlink()
        (root / "folder" / "a").write_text("old")
        with pytest.raises(Refused, match="symbolic link"):
            editor = Swapped(root, None)
            editor.swap = swap
            editor.write(by_gate(wish("folder/a", "new"), "action"))
    assert (outside / "a").read_text() == "secret"
    assert os.listdir(root.parent / "staging") == []


@pytest.mark.thorough
def test_W7_a_crash_leaves_the_old_or_the_new_content_and_no_stray_file(root: Path) -> None:
    (root / "a").write_text("old" * 1000)
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from runtime.core.actions import WriteFile\n"
        "from runtime.policy.authorised import by_gate\n"
        "from runtime.workspaces import Editor\n"
        "kill = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n"
        "setattr(os, sys.argv[2], kill)\n"
        "wish = WriteFile(kind='write_file', path='a', content='new' * 1000)\n"
        "Editor(Path(sys.argv[1]), None).write(by_gate(wish, 'x'))\n"
    )
    for call in ("fchmod", "rename"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(root), call], cwd=os.getcwd(), check=False
        )
        assert done.returncode == -signal.SIGKILL
        assert (root / "a").read_text() == "old" * 1000
        assert os.listdir(root) == ["a"]
    editor = Editor(root, None)
    assert editor.sweep() == 2
    editor.write(by_gate(wish("a", "new"), "action"))
    assert (root / "a").read_text() == "new"
    assert os.listdir(root.parent / "staging") == []


def test_after_a_crash_the_content_tells_whether_an_edit_was_done(root: Path) -> None:
    editor = Editor(root, None)
    planned = editor.plan(wish("new/a", "x"))
    assert editor.current_sha("new/a") is None
    editor.write(by_gate(wish("new/a", "x"), "action"))
    assert editor.current_sha("new/a") == planned.after_sha


def test_a_file_where_a_directory_should_be_is_refused(root: Path) -> None:
    (root / "a").write_text("x")
    with pytest.raises(Refused, match="not a directory"):
        Editor(root, None).write(by_gate(wish("a/b", "x"), "action"))


def test_a_diff_shows_the_change_with_its_surroundings_and_line_numbers() -> None:
    old = "".join(f"line {n}\n" for n in range(1, 5001)).encode()
    new = old.replace(b"line 4000\n", b"changed\n")
    text = unified("a", old, new)
    assert "@@ -3997,7 +3997,7 @@" in text
    assert text.count("\n") == 11
    assert unified("a", None, b"x") == (
        "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    )
    assert unified("a", b"x", b"x") == ""


def test_a_diff_of_unlike_files_is_linear_and_says_what_it_cuts() -> None:
    old, new = (b"".join(b"%d %d\n" % (n * k, n) for n in range(40_000)) for k in (3, 7))
    text = unified("a", old, new)
    assert len(text) < 300_000
    assert "characters cut" in text
