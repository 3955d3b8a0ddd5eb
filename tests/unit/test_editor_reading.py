"""Reading, listing and searching: bounded, in order, with a mark where something is left out."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from runtime.core.actions import ReplaceText
from runtime.core.errors import Refused
from runtime.policy.authorised import by_gate
from runtime.workspaces import Editor


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


def test_W11_a_large_file_is_read_in_pages_and_can_be_edited(root: Path) -> None:
    lines = [f"line {n} {'x' * 60}\n" for n in range(1, 10_001)]
    (root / "a").write_text("".join(lines))
    editor = Editor(root, None)
    seen: list[str] = []
    offset: int | None = None
    while True:
        page = editor.read_lines("a", offset)
        assert page.first == len(seen) + 1
        seen += page.lines
        assert ("more: continue with offset" in page.text()) == page.more
        if not page.more:
            break
        offset = page.last + 1
    assert seen == lines
    action = ReplaceText(
        kind="replace_text", path="a", expected="line 9000 ", replacement="LINE 9000 "
    )
    editor.replace(by_gate(action, "action"))
    assert editor.read_lines("a", 9000, 1).lines[0].startswith("LINE 9000 ")


def test_a_page_has_the_lines_that_were_asked_for(root: Path) -> None:
    (root / "a").write_text("1\n2\n3\n4")
    editor = Editor(root, None)
    assert editor.read_lines("a").text() == "1\n2\n3\n4"
    page = editor.read_lines("a", 2, 2)
    assert (page.lines, page.more) == (("2\n", "3\n"), True)
    assert editor.read_lines("a", 4, 9).lines == ("4",)
    with pytest.raises(Refused, match="there is no line 9"):
        editor.read_lines("a", 9)
    (root / "empty").write_text("")
    assert editor.read_lines("empty").text() == ""


def test_a_line_without_end_is_cut_visibly(root: Path) -> None:
    (root / "a").write_text("x" * 300_000 + "\nsecond\n")
    page = Editor(root, None).read_lines("a")
    assert len(page.lines) == 2
    assert "line of more than 4000 characters cut" in page.lines[0]
    assert page.lines[1] == "second\n"


def test_W5_reading_refuses_what_is_no_text(root: Path) -> None:
    (root / "binary").write_bytes(b"\x7fELF\0")
    (root / "latin").write_bytes(b"caf\xe9\n")
    os.mkfifo(root / "pipe")
    editor = Editor(root, None)
    for name, reason in {"binary": "NUL", "latin": "UTF-8", "pipe": "named pipe"}.items():
        with pytest.raises(Refused, match=reason):
            editor.read_lines(name)
    with pytest.raises(Refused, match="does not exist"):
        editor.read_lines("missing")
    with pytest.raises(Refused, match="5 bytes; 4 are possible"):
        editor.read("binary", 4)


def test_a_listing_is_sorted_and_leaves_out_git(root: Path) -> None:
    (root / ".git").write_text("gitdir: x")
    (root / "b").mkdir()
    (root / "a").write_text("xyz")
    (root / "new\nline").write_text("")
    (root / "c").symlink_to("a")
    text = Editor(root, None).list_dir().text()
    assert text == "a  3 bytes\nb/\nc  (a symbolic link)\nnew\\nline  0 bytes\n"


@pytest.mark.parametrize(
    ("pattern", "found"),
    {
        "*.py": ["a.py"],
        "**/*.py": ["a.py", "src/b.py", "src/deep/c.py"],
        "src/*.py": ["src/b.py"],
        "src/**/*.py": ["src/b.py", "src/deep/c.py"],
        "**/deep/**": ["src/deep/c.py"],
        "src/?.[pq]y": ["src/b.py"],
        "./src/**": ["src/b.py", "src/deep/c.py", "src/readme"],
        "**/**/**/c.py": ["src/deep/c.py"],
        "nothing": [],
    }.items(),
)
def test_glob(root: Path, pattern: str, found: list[str]) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/readme", ".git/x.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    assert list(Editor(root, None).glob(pattern).lines) == found


def test_glob_below_a_directory_and_out_of_the_worktree(root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("")
    editor = Editor(root, None)
    assert editor.glob("*.py", "src").lines == ("src/a.py",)
    for pattern in ("../*", "/etc/*"):
        with pytest.raises(Refused, match="leads out"):
            editor.glob(pattern)


def test_grep_finds_lines_with_their_numbers(root: Path) -> None:
    (root / "a.py").write_text("import os\nDEF f():\n    return os\n")
    (root / "b").mkdir()
    (root / "b" / "c.py").write_bytes(b"caf\xe9 os\r\n")
    (root / "bin").write_bytes(b"os\0os")
    editor = Editor(root, None)
    assert editor.grep(r"\bos$").lines == (
        "a.py:1:import os",
        "a.py:3:    return os",
        "b/c.py:1:caf\ufffd os",
    )
    assert editor.grep("def", ignore_case=True).lines == ("a.py:2:DEF f():",)
    assert editor.grep("os", "b").lines == ("b/c.py:1:caf\ufffd os",)
    assert editor.grep("os", "a.py").lines == ("a.py:1:import os", "a.py:3:    return os")


def test_grep_says_what_it_left_out(root: Path) -> None:
    (root / "a").write_text("x\n" * 2000)
    found = Editor(root, None).grep("x")
    assert len(found.lines) == 500
    assert "more than 500 lines match" in found.text()


def test_no_expression_makes_grep_hang(root: Path) -> None:
    (root / "a").write_text("a" * 200_000 + "!\n" + ("a" * 4000 + "\n") * 50)
    editor = Editor(root, None)
    began = time.process_time()
    for pattern in (r"(a+)+$b", r"(a|a)*c", "a*a*a*a*a*a*b", "(a?){200}a{200}b"):
        assert editor.grep(pattern).lines == ()
    assert time.process_time() - began < 5


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=x)", r"(\w{1000}){1000}", "x" * 2000])
def test_expressions_that_are_not_accepted_are_refused_with_the_reason(
    root: Path, pattern: str
) -> None:
    with pytest.raises(Refused, match=r"not accepted|are possible"):
        Editor(root, None).grep(pattern)


def test_no_glob_takes_long(root: Path) -> None:
    (root / ("a" * 200)).write_text("")
    began = time.process_time()
    Editor(root, None).glob("*a*a*a*a*a*a*a*a*a*a*a*b")
    Editor(root, None).glob("/".join(["**"] * 60) + "/x")
    assert time.process_time() - began < 2
