"""Size and shape of the files, and words that must not be in them."""

from __future__ import annotations

import ast
import re

import pytest

from tests.quality import tree

LONGEST = 400
FOREIGN = {
    "this machine's folders": re.compile(r"(?<![\w.$}/-])/(?:root|work|home/\w+|Users/\w+)/\w"),
    # Written in parts, so that this file does not find itself.
    "a package index": re.compile(
        "pypi" + r"\.org|python" + r"hosted\.org|npm" + r"js\.|index-" + "url"
    ),
    "an unfinished part": re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b"),
}
TEXTS = (".py", ".html", ".js", ".css", ".md", ".toml", ".lock", ".txt", ".svg", ".jsonl", "run")
MADE_UP = re.compile(r"^tests/|/fixtures/")
"""Tests name folders of machines that do not exist."""


def test_no_module_is_longer_than_it_can_be_read() -> None:
    long = {
        path.relative_to(tree.ROOT).as_posix(): lines
        for path in tree.files(".py")
        if "/migrations/" not in path.as_posix()
        and (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST
    }
    assert long == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = []
    for folder in ("runtime", "m31a_site"):
        for path in tree.files(".py", under=folder):
            text = path.read_text(encoding="utf-8")
            if (
                text.strip()
                and "/migrations/" not in path.as_posix()
                and not ast.get_docstring(ast.parse(text))
            ):
                silent.append(path.relative_to(tree.ROOT).as_posix())
    assert silent == []


def test_messages_name_commands_so_that_they_are_shown_as_they_are_typed() -> None:
    """`runtime.core.hints` spells out what stands between backticks and begins with m31a."""
    names = "approvals|artifacts?|audit|doctor|policy|replay|submit|user|workspace"
    bare = re.compile(rf"(?<![`./])\bm31a (?:{names})\b|`(?:{names})[ `]")
    found = []
    for path in tree.files(".py", under="runtime"):
        module = ast.parse(path.read_text(encoding="utf-8"))
        prose = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
        spelled = {
            id(part)
            for node in ast.walk(module)
            if isinstance(node, ast.JoinedStr) and "hints.PROGRAM" in ast.unparse(node)
            for part in node.values
        }
        found += [
            f"{path.relative_to(tree.ROOT)}:{node.lineno}: {node.value[:80]}"
            for node in ast.walk(module)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in prose | spelled and bare.search(node.value)
        ]
    assert found == []


@pytest.mark.parametrize("what", FOREIGN)
def test_no_file_holds(what: str) -> None:
    found = []
    for path in tree.files(*TEXTS):
        name = path.relative_to(tree.ROOT).as_posix()
        if MADE_UP.search(name) and what == "this machine's folders":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if FOREIGN[what].search(line):
                found.append(f"{name}:{number}: {line.strip()[:80]}")
    assert found == []


def test_templates_hold_no_script_or_style_of_their_own() -> None:
    """The content security policy would refuse it; here it is found before a browser does."""
    inline = re.compile(
        r"<style\b|\sstyle\s*=|\son[a-z]+\s*=\s*[\"']|javascript:|<script(?![^>]*\ssrc\s*=)",
        re.IGNORECASE,
    )
    found = [
        f"{path.relative_to(tree.ROOT)}:{number}"
        for path in tree.files(".html")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if inline.search(line)
    ]
    assert found == []


def test_no_two_test_files_have_one_name() -> None:
    """The runner collects them by name, so the second of two would stop the whole run."""
    names = [path.name for path in tree.files(".py", under="tests") if path.name[:5] == "test_"]
    assert sorted(names) == sorted(set(names))
