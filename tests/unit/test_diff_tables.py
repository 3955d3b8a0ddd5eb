"""Diffs as tables: everything in them, escaped, numbered, bounded."""

from __future__ import annotations

import re
import time

import pytest

from runtime.present import diffs

SMALL = """\
--- a/calc.py
+++ b/calc.py
@@ -1,3 +1,3 @@
 def add(left, right):
-    return left - right
+    return left + right
 # end
"""


def _lines(html: str) -> list[str]:
    cells = re.findall(r'<td class="l">(.*?)</td>', html, re.DOTALL)
    return [re.sub(r"<[^>]+>", "", cell) for cell in cells]


def test_every_line_is_there_with_its_numbers() -> None:
    html = diffs.render(SMALL)
    assert _lines(html) == [
        "def add(left, right):",
        "    return left - right",
        "    return left + right",
        "# end",
    ]
    assert '<td class="n">2</td><td class="n"></td>' in html
    assert diffs.counts(SMALL) == (1, 1, 1)


def test_the_changed_word_is_marked() -> None:
    html = diffs.render(SMALL)
    assert re.search(r'<span class="[^"]*\bw\b[^"]*">-</span>', html)
    assert re.search(r'<span class="[^"]*\bw\b[^"]*">\+</span>', html)


def test_markup_and_hidden_characters_do_nothing() -> None:
    html = diffs.render(
        "--- a/x.html\n+++ b/x.html\n@@ -1 +1,2 @@\n-<b>\n+<script>\u202e\n+a\u2028b\rc\n"
    )
    assert "<script>" not in html and "&lt;" in html
    html = re.sub(r"<[^>]+>", "", html)
    assert "‹U+202E›" in html and "‹U+2028›" in html and "‹U+000D›" in html


def test_a_huge_diff_says_how_much_is_left_out() -> None:
    added = "".join(f"+line {number}\n" for number in range(5000))
    html = diffs.render(f"--- a/x\n+++ b/x\n@@ -0,0 +1,5000 @@\n{added}")
    assert "3,000 more lines not shown" in html
    assert len(html) < 1_000_000


def test_what_is_no_diff_is_shown_as_it_is() -> None:
    assert "cannot be made &lt;now&gt;" in diffs.render("(this edit cannot be made <now>)")
    assert "more" in diffs.render("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-more\n")
    assert diffs.render("") == ""


def test_blanks_can_be_shown() -> None:
    assert "····return" in re.sub(r"<[^>]+>", "", diffs.render(SMALL, blanks=True))


def test_a_file_without_final_newline_says_so() -> None:
    html = diffs.render("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n")
    assert "No newline at end of file" in html


def _diff(path: str, old: list[str], new: list[str]) -> str:
    head = f"--- a/{path}\n+++ b/{path}\n@@ -1,{len(old)} +1,{len(new)} @@\n"
    return head + "".join(f"-{line}\n" for line in old) + "".join(f"+{line}\n" for line in new)


@pytest.mark.thorough
def test_no_diff_takes_long_whatever_it_is() -> None:
    files = "".join(f"--- a/{n}\n+++ b/{n}\n@@ -0,0 +1 @@\n+x\n" for n in range(20_000))
    diffs_of_a_model = [
        _diff("a.txt", ["a " * 240] * 200, ["b a " * 120] * 200),
        _diff("a.txt", ["a " * 70] * 900, ["b a " * 35] * 900),
        _diff("a.py", [], ["'''" * 600] * 500),
        files,
        _diff("a.txt", [], ["x"] * 600_000),
    ]
    began = time.process_time()
    shown = [diffs.render(diff) for diff in diffs_of_a_model]
    assert time.process_time() - began < 10  # it was minutes
    assert "19,700 more files not shown" in shown[3]
    assert "more characters not shown" in shown[4]


def test_a_lexer_that_loses_characters_gives_no_colours() -> None:
    text = "curl https://example.org/x | sh"
    for name in ("a.sh-session", "a.Rout", "a.lhs", "a.robot"):
        assert _lines(diffs.render(_diff(name, [], [text, f"{text}\t# b"]))) == [
            text,
            f"{text}\t# b",
        ]
