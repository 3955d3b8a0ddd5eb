"""Which paths the editor takes, and that it never leaves the worktree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.core.actions import ReplaceText, WriteFile
from runtime.core.errors import Refused
from runtime.policy.authorised import by_gate
from runtime.workspaces import Editor
from runtime.workspaces.paths import split, split_file, unwritten, written

NORMAL = {
    "a": "a",
    "./a": "a",
    "a/./b": "a/b",
    "a//b": "a/b",
    ".//./a/b": "a/b",
    "a b/ü": "a b/ü",
    ".gitignore": ".gitignore",
    "a/.github/x": "a/.github/x",
    ".git-blame-ignore-revs": ".git-blame-ignore-revs",
    "git~10": "git~10",
    "..a/b..": "..a/b..",
}
REFUSED = {
    "": "empty",
    ".": "names a directory",
    "a/": "names a directory",
    "a/.": "names a directory",
    "..": "holds `..`",
    "../x": "holds `..`",
    "a/../../x": "holds `..`",
    "a/../b": "holds `..`",
    "/etc/hosts": "is absolute",
    "a\0b": "NUL",
    "a" * 5000: "5000 bytes",
    "a" * 300: "more than 255 bytes",
    "\ud800": "not valid Unicode",
    ".git": "belongs to git",
    ".git/config": "belongs to git",
    "a/.GIT/hooks/x": "belongs to git",
    "sub/.Git": "belongs to git",
    "git~1/config": "belongs to git",
    "sub/GIT~1": "belongs to git",
    ".git./config": "belongs to git",
    ".git /config": "belongs to git",
    ".git::$INDEX_ALLOCATION/config": "belongs to git",
    "a\\.git\\config": "belongs to git",
    ".g\u200cit/config": "belongs to git",
    "\ufeff.git/config": "belongs to git",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("secret")
    return tmp_path / "tree"


@pytest.mark.parametrize("path", NORMAL)
def test_W9_one_form_for_every_way_to_write_a_path(path: str) -> None:
    assert "/".join(split_file(path)) == NORMAL[path]


@pytest.mark.parametrize("path", REFUSED)
def test_W9_paths_that_are_refused_with_the_reason(path: str) -> None:
    with pytest.raises(Refused, match=REFUSED[path]):
        split_file(path)


@pytest.mark.parametrize(
    "raw", [b"a", b"a b/\xc3\xbc", b'a"b', b'"a"', b"caf\xe9", b'\xff/"\\x41\\', b'"\xc3\xbc\n']
)
def test_every_name_has_a_text_and_every_text_its_name(raw: bytes) -> None:
    text = written(os.fsdecode(raw))
    assert text.encode() and os.fsencode(unwritten(text)) == raw
    assert (text == os.fsdecode(raw)) == (not text.startswith('"'))


def test_W9_a_directory_may_be_written_with_a_slash() -> None:
    assert split("a/") == ("a",)
    assert split("./") == ()


def attempts(editor: Editor, path: str) -> None:
    """Every way to reach a path is refused."""
    write = WriteFile(kind="write_file", path=path, content="new")
    replace = ReplaceText(kind="replace_text", path=path, expected="secret", replacement="x")
    for attempt in (
        lambda: editor.read(path),
        lambda: editor.read_lines(path),
        lambda: editor.write(by_gate(write, "action")),
        lambda: editor.replace(by_gate(replace, "action")),
        lambda: editor.plan(write),
        lambda: editor.plan(replace),
        lambda: editor.grep("secret", path),
    ):
        with pytest.raises(Refused):
            attempt()


def test_W2_nothing_outside_is_read_or_written(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "outside" / "x")
    (root / "folder").symlink_to(root.parent / "outside")
    (root / "hosts").symlink_to("/etc/hosts")
    (root / "dangling").symlink_to(root.parent / "outside" / "new")
    (root / "deep").mkdir()
    (root / "deep" / "up").symlink_to("..")
    editor = Editor(root, None)
    for path in (
        "../outside/x",
        "/etc/hosts",
        str(root.parent / "outside" / "x"),
        "link",
        "hosts",
        "dangling",
        "folder/x",
        "deep/up/hosts",
    ):
        attempts(editor, path)
    assert (root.parent / "outside" / "x").read_text() == "secret"
    assert sorted(os.listdir(root.parent / "outside")) == ["x"]


def test_W2_the_refusal_of_a_link_says_where_it_leads(root: Path) -> None:
    (root / "docs").mkdir()
    (root / "README").symlink_to("docs/README")
    with pytest.raises(Refused, match="symbolic link to docs/README"):
        Editor(root, None).read("README")


def test_searches_do_not_follow_links(root: Path) -> None:
    (root / "folder").symlink_to(root.parent / "outside")
    editor = Editor(root, None)
    assert editor.grep("secret").lines == ()
    assert editor.glob("**/*").lines == ("folder",)
    with pytest.raises(Refused, match="symbolic link"):
        editor.list_dir("folder")
