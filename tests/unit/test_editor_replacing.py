"""`replace_text`: exactly one occurrence, or a refusal that says what is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.core.actions import ReplaceText
from runtime.core.digests import sha256
from runtime.core.errors import Refused
from runtime.policy.authorised import by_gate
from runtime.workspaces import Edit, Editor
from runtime.workspaces.edit import MAX_FILE


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


def replace(root: Path, path: str, expected: str, replacement: str) -> Edit:
    action = ReplaceText(kind="replace_text", path=path, expected=expected, replacement=replacement)
    return Editor(root, None).replace(by_gate(action, "action"))


def test_W1_one_match_is_replaced_and_nothing_else_changes(root: Path) -> None:
    file = root / "a.py"
    file.write_bytes(b"one\r\ntwo\r\nthree\xc3\xa9\n")
    file.chmod(0o754)
    (root / "b.py").write_text("two\n")
    edit = replace(root, "a.py", "two", "zwei")
    assert file.read_bytes() == b"one\r\nzwei\r\nthree\xc3\xa9\n"
    assert file.stat().st_mode & 0o7777 == 0o754
    assert (root / "b.py").read_text() == "two\n"
    assert edit.before_sha == sha256(b"one\r\ntwo\r\nthree\xc3\xa9\n")
    assert edit.after_sha == sha256(file.read_bytes())
    assert sorted(os.listdir(root)) == ["a.py", "b.py"]


def test_W3_empty_expected_text_is_refused(root: Path) -> None:
    (root / "a").write_text("x")
    with pytest.raises(Refused, match="expected text is empty"):
        replace(root, "a", "", "y")


def test_W3_absent_text_is_refused(root: Path) -> None:
    (root / "a").write_text("x")
    with pytest.raises(Refused, match="does not occur in a"):
        replace(root, "a", "z", "y")


def test_W3_text_that_is_there_twice_is_refused_with_count_and_lines(root: Path) -> None:
    (root / "a").write_text("x = 1\ny\nx = 1\n")
    with pytest.raises(Refused, match=r"occurs 2 times in a: on lines 1, 3\."):
        replace(root, "a", "x = 1", "x = 2")
    assert (root / "a").read_text() == "x = 1\ny\nx = 1\n"


def test_W4_a_missing_file_is_refused_and_not_created(root: Path) -> None:
    for path in ("a", "no/such/folder/a"):
        with pytest.raises(Refused, match="does not exist"):
            replace(root, path, "x", "y")
    assert os.listdir(root) == []


def test_W5_what_is_no_text_file_is_refused_with_the_reason(root: Path) -> None:
    (root / "large").write_bytes(b"x" * (MAX_FILE + 1))
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    (root / "latin").write_bytes(b"caf\xe9 x")
    (root / "binary").write_bytes(b"a\0x")
    for name, reason in {
        "large": "has 1048577 bytes",
        "folder": "is a directory",
        "pipe": "is a named pipe",
        "latin": "is not UTF-8 text",
        "binary": "holds a NUL byte",
    }.items():
        with pytest.raises(Refused, match=reason):
            replace(root, name, "x", "y")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_W5_a_device_is_refused(root: Path) -> None:
    try:
        os.mknod(root / "device", 0o020666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this machine does not let root make a device")
    with pytest.raises(Refused, match="is a device"):
        replace(root, "device", "x", "y")


def test_W6_a_replacement_that_equals_the_expected_text_is_no_edit(root: Path) -> None:
    (root / "a").write_text("x")
    with pytest.raises(Refused, match="no edit"):
        replace(root, "a", "x", "x")


def test_W8_overlapping_matches_are_ambiguous(root: Path) -> None:
    (root / "a").write_text("aaa")
    with pytest.raises(Refused, match="occurs 2 times"):
        replace(root, "a", "aa", "b")


def test_W12_a_result_over_the_cap_is_refused_and_the_file_unchanged(root: Path) -> None:
    before = b"x" + b"y" * (MAX_FILE - 1)
    (root / "a").write_bytes(before)
    with pytest.raises(Refused, match="would have 1048577 bytes"):
        replace(root, "a", "x", "zz")
    assert (root / "a").read_bytes() == before


def test_the_refusal_names_differences_that_cannot_be_seen(root: Path) -> None:
    (root / "a").write_bytes(b"one\r\ntwo\r\n")
    with pytest.raises(Refused, match="CR LF"):
        replace(root, "a", "one\ntwo", "x")
    (root / "b").write_text("\tone\n")
    with pytest.raises(Refused, match="other blanks"):
        replace(root, "b", "    one", "x")
