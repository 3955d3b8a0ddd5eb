"""Patches are read strictly: what git writes is understood, and nothing is guessed."""

from __future__ import annotations

import pytest

from runtime.core.patch_names import InvalidPatch
from runtime.core.patches import MAX_PATHS, FilePatch, Hunk, parse

HUNK = "@@ -1 +1 @@\n-a\n+b\n"


def one(text: str) -> FilePatch:
    (found,) = parse(text)
    return found


def test_a_change_in_gits_style() -> None:
    found = one(
        "diff --git a/src/x.py b/src/x.py\nindex 0123456..789abcd 100644\n--- a/src/x.py\n"
        "+++ b/src/x.py\n@@ -3,4 +3,3 @@ def f():\n one\n-two\n-three\n+2\n four\n"
    )
    hunk = Hunk(3, ("one\n", "two\n", "three\n", "four\n"), ("one\n", "2\n", "four\n"), 5)
    assert found == FilePatch("src/x.py", "src/x.py", None, (hunk,), 1)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (f"--- a/x\n+++ b/x\n{HUNK}", "x", "x"),
        (f"--- x\n+++ x\n{HUNK}", "x", "x"),
        (f"--- src/x\n+++ src/x\n{HUNK}", "src/x", "src/x"),
        (f"--- a/x\t2024-01-01 00:00:00\n+++ b/x\t2024-01-02\n{HUNK}", "x", "x"),
        (f"diff --git a/x b/x\n--- a/x\n+++ b/x\n{HUNK}", "x", "x"),
        (f"diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n{HUNK}", "a b", "a b"),
        (f'diff --git "a/\\303\\244\\t" "b/\\303\\244\\t"\n--- "a/\\303\\244\\t"\n'
         f'+++ "b/\\303\\244\\t"\n{HUNK}', "ä\t", "ä\t"),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", None, "x"),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "x", None),
        ("diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n", None, "x"),
        ("diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n", "x", None),
        ("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "x", "y"),
        (f"diff --git a/x b/y\nsimilarity index 50%\nrename from x\nrename to y\n--- a/x\n"
         f"+++ b/y\n{HUNK}", "x", "y"),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "x", "x"),
        (f"--- a/x\r\n+++ b/x\r\n{HUNK}", "x", "x"),
        (f"\n\n--- a/x\n+++ b/x\n{HUNK}\n\n", "x", "x"),
    ],
)  # fmt: skip
def test_the_names_of_a_file(text: str, old: str | None, new: str | None) -> None:
    found = one(text)
    assert (found.old, found.new) == (old, new)


def test_modes_say_whether_a_file_is_a_program() -> None:
    made = one(
        "diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n"
    )
    assert made.executable is True
    assert one("diff --git a/x b/x\nold mode 100755\nnew mode 100644\n").executable is False
    assert one(f"--- a/x\n+++ b/x\n{HUNK}").executable is None


def test_a_missing_line_feed_belongs_to_the_line_before() -> None:
    mark = "\\ No newline at end of file\n"
    (hunk,) = one(f"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-a\n{mark}+b\n{mark}").hunks
    assert (hunk.old, hunk.new) == (("one\n", "a"), ("one\n", "b"))
    (hunk,) = one(f"--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n b\n{mark}").hunks
    assert (hunk.old, hunk.new) == (("a\n", "b"), ("b",))


def test_a_carriage_return_is_content_and_an_empty_line_is_context() -> None:
    (hunk,) = one("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n\n-a\r\n+b\r\n c\n").hunks
    assert hunk.old == ("\n", "a\r\n", "c\n") and hunk.new == ("\n", "b\r\n", "c\n")


def test_lines_that_look_like_heads_are_content_within_a_hunk() -> None:
    (hunk,) = one(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a\n-@@ -1 +1 @@\n+++ b\n+diff --git\n"
    ).hunks
    assert hunk.old == ("-- a\n", "@@ -1 +1 @@\n") and hunk.new == ("++ b\n", "diff --git\n")


def test_several_files_in_order() -> None:
    found = parse(f"--- a/x\n+++ b/x\n{HUNK}--- a/y\n+++ b/y\n{HUNK}\ndiff --git a/z b/z\nold mode "
                  "100644\nnew mode 100755\n")  # fmt: skip
    assert [item.new for item in found] == ["x", "y", "z"]


REFUSED = {
    "": "empty",
    "\n\n": "empty",
    "Here is the patch:\n--- a/x\n+++ b/x\n": "no part of a unified diff",
    "```diff\n--- a/x\n": "no part",
    f"--- a/x\n+++ b/x\n{HUNK}Thanks!\n": "no part",
    f"--- a/x\n+++ b/x\n{HUNK}+more\n": "beyond what the hunk's head counts",
    f"--- a/x\n+++ b/x\n{HUNK} more\n": "beyond",
    "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n": "ends early",
    "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n-b\n+c\n": "beyond",
    "--- a/x\n+++ b/x\n": "no hunk",
    "--- a/x\n": "must follow",
    HUNK: "no file",
    "--- a/x\n+++ b/x\n@@ ... @@\n": "head",
    "--- a/x\n+++ b/x\n@@ -1 +1 @@\n*a\n+b\n": "begins with blank",
    "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ Kein Zeilenende\n+b\n": "only mark",
    f"--- a/x\n+++ b/y\n{HUNK}": "no rename",
    f"--- a/x\n+++ x\n{HUNK}": "prefix",
    f"--- /dev/null\n+++ /dev/null\n{HUNK}": "no name",
    f"--- a/\n+++ b/\n{HUNK}": "no name",
    f"diff --git a/x b/x\n--- a/y\n+++ b/y\n{HUNK}": "other files",
    f"diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ b/x\n{HUNK}": "disagree",
    "diff --git a/x b/y\nrename from x\n": "together",
    "diff --git a/x b/x\nrename from x\nrename to x\n": "name it has",
    f"diff --git a/x b/z\nrename from x\nrename to z\n--- a/x\n+++ b/y\n{HUNK}": "not those of",
    "diff --git a/x b/x\n": "changes nothing",
    "diff --git a/x b/y\n": "must name one path",
    "diff --git a/x b/x\ncopy from x\ncopy to y\n": "copy",
    "diff --git a/x b/x\nGIT binary patch\nliteral 1\n": "binary",
    "Binary files a/x and b/x differ\n": "binary",
    "diff --git a/x b/x\nnew file mode 120000\n": "symbolic link",
    "diff --git a/x b/x\nindex 1111111..2222222 120000\n": "symbolic link",
    "diff --git a/x b/x\nnew file mode 160000\n": "submodule",
    "diff --git a/x b/x\nindex 1111111..2222222 160000\n": "submodule",
    "diff --git a/x b/x\nold mode 100644\nnew mode 104755\n": "neither",
    "diff --cc x\nindex 1,2..3\n": "combined",
    "--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n": "no old lines",
    "--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n": "no new lines",
    f"--- a/x\n+++ b/x\n{HUNK}--- a/./x\n+++ b/./x\n{HUNK}": "second time",
    f"--- a/x\n+++ b/x\n{HUNK}--- a/x/y\n+++ b/x/y\n{HUNK}": "lies below",
    f'--- "a/x\n+++ "b/x\n{HUNK}': "does not end",
    f'--- "a/\\q"\n+++ "b/\\q"\n{HUNK}': "unknown escape",
    f'--- "a/\\377"\n+++ "b/\\377"\n{HUNK}': "not UTF-8",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:40])
def test_what_is_no_patch_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(InvalidPatch, match=REFUSED[text]):
        parse(text)


def test_odd_and_endless_names_are_read_in_no_time() -> None:
    for name in ("//x", "///x/y", "/", "//", "../..//x", "a//b"):
        parse(f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+b\n")
    with pytest.raises(InvalidPatch, match="characters"):
        parse(f"--- /dev/null\n+++ b/{'a/' * 100_000}b\n@@ -0,0 +1 @@\n+b\n")


def test_the_number_of_paths_is_bounded() -> None:
    many = "".join(f"--- a/f{n}\n+++ b/f{n}\n{HUNK}" for n in range(MAX_PATHS + 1))
    with pytest.raises(InvalidPatch, match="Split it"):
        parse(many)
