"""The schema of what a model may propose: closed, bounded, plain text only."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.core import canonical
from runtime.core.actions import (
    KINDS,
    MAX_ARGUMENT,
    MAX_ARGUMENTS,
    MAX_PATH,
    MAX_SHORT,
    MAX_TEXT,
    MAX_TIMEOUT,
    InvalidAction,
    parse,
)

WHOLE: dict[str, dict[str, Any]] = {
    "read_file": {"path": "a", "offset": 1, "limit": 2},
    "list_files": {"path": "a"},
    "glob": {"pattern": "*.py", "path": "a"},
    "grep": {"pattern": "x+", "path": "a", "ignore_case": True},
    "replace_text": {"path": "a", "expected": "x", "replacement": ""},
    "write_file": {"path": "a", "content": ""},
    "apply_patch": {"patch": "--- a\n+++ b\n"},
    "run_tool": {"program": "ls", "args": ["", "-l"], "cwd": "a", "timeout": 5},
    "run_shell": {"script": "ls", "cwd": "a", "timeout": 5},
    "verify": {},
    "git_status": {},
    "git_diff": {"path": "a"},
    "git_log": {"limit": 3},
    "git_show": {"rev": "HEAD", "path": "a"},
    "git_commit": {"message": "m"},
    "git_push": {"remote": "origin", "ref": "main"},
    "create_artifact": {"name": "n", "content": "c"},
    "read_artifact": {"id": "0" * 64},
    "start_job": {"program": "ls", "args": ["-l"]},
    "job_output": {"job": "j"},
    "stop_job": {"job": "j"},
    "ask_human": {"question": "why?"},
    "finish": {"summary": "done"},
}
"""Every kind with all of its fields."""

OPTIONAL = {
    "read_file": {"offset", "limit"},
    "list_files": {"path"},
    "glob": {"path"},
    "grep": {"path", "ignore_case"},
    "run_tool": {"args", "cwd", "timeout"},
    "run_shell": {"cwd", "timeout"},
    "git_diff": {"path"},
    "git_log": {"limit"},
    "git_show": {"path"},
    "git_push": {"remote", "ref"},
    "start_job": {"args"},
}


def test_the_kinds_are_exactly_those_of_the_table():
    assert KINDS.keys() == WHOLE.keys()


@pytest.mark.parametrize("kind", WHOLE)
def test_a_whole_action_comes_back_as_it_was_given(kind):
    raw = {"kind": kind, **WHOLE[kind]}
    body = parse(raw).body()
    assert body == raw
    assert canonical.decode(canonical.encode(body)) == raw


@pytest.mark.parametrize("kind", WHOLE)
def test_each_field_is_needed_unless_the_table_says_otherwise(kind):
    for name in WHOLE[kind]:
        raw = {"kind": kind, **WHOLE[kind]}
        del raw[name]
        if name in OPTIONAL.get(kind, set()):
            assert name not in parse(raw).body()
        else:
            with pytest.raises(InvalidAction, match=name):
                parse(raw)


@pytest.mark.parametrize("kind", WHOLE)
def test_A23_F34_a_field_of_no_business_is_refused_for_every_kind(kind):
    raw = {"kind": kind, **WHOLE[kind]}
    for extra in {"program", "args", "disable_sandbox", "Path", "kind2", "verify"} - raw.keys():
        with pytest.raises(InvalidAction, match=extra):
            parse({**raw, extra: "true"})


@pytest.mark.parametrize("kind", WHOLE)
def test_no_text_holds_a_NUL_or_half_a_character(kind):
    for name, value in WHOLE[kind].items():
        for bad in ("a\0b", "a\ud800b"):
            if isinstance(value, str):
                wrong: Any = bad
            elif isinstance(value, list):
                wrong = [*value, bad]
            else:
                continue
            with pytest.raises(InvalidAction, match=name):
                parse({"kind": kind, **WHOLE[kind], name: wrong})


@pytest.mark.parametrize("kind", WHOLE)
def test_every_field_has_its_type_and_nothing_is_converted(kind):
    for name in WHOLE[kind]:
        for wrong in (7.0, {"a": 1}, [[1]], b"x", ...):
            with pytest.raises(InvalidAction, match=name):
                parse({"kind": kind, **WHOLE[kind], name: wrong})
    for name, value in WHOLE[kind].items():
        wrong = "5" if type(value) is int else 5
        with pytest.raises(InvalidAction, match=name):
            parse({"kind": kind, **WHOLE[kind], name: wrong})
        if type(value) is int:
            with pytest.raises(InvalidAction, match=name):
                parse({"kind": kind, **WHOLE[kind], name: True})


@pytest.mark.parametrize(
    ("kind", "field", "most"),
    [
        ("read_file", "path", MAX_PATH),
        ("glob", "pattern", MAX_PATH),
        ("grep", "pattern", MAX_SHORT),
        ("write_file", "content", MAX_TEXT),
        ("replace_text", "expected", MAX_TEXT),
        ("replace_text", "replacement", MAX_TEXT),
        ("apply_patch", "patch", MAX_TEXT),
        ("run_tool", "program", MAX_PATH),
        ("run_tool", "cwd", MAX_PATH),
        ("run_shell", "script", MAX_ARGUMENT),
        ("git_commit", "message", MAX_SHORT),
        ("git_push", "remote", 255),
        ("git_show", "rev", 255),
        ("create_artifact", "name", 255),
        ("create_artifact", "content", MAX_TEXT),
        ("read_artifact", "id", 255),
        ("stop_job", "job", 255),
        ("ask_human", "question", MAX_SHORT),
        ("finish", "summary", MAX_SHORT),
    ],
)
def test_A16_text_is_bounded(kind, field, most):
    raw = {"kind": kind, **WHOLE[kind]}
    assert parse({**raw, field: "x" * most}).body()[field] == "x" * most
    with pytest.raises(InvalidAction, match=field) as caught:
        parse({**raw, field: "x" * (most + 1)})
    assert len(str(caught.value)) < 1000


def test_arguments_are_bounded_in_number_and_in_length():
    raw = {"kind": "run_tool", "program": "ls"}
    assert len(parse({**raw, "args": ["x"] * MAX_ARGUMENTS}).body()["args"]) == MAX_ARGUMENTS
    for args in (["x"] * (MAX_ARGUMENTS + 1), ["x" * (MAX_ARGUMENT + 1)], [None], "ls"):
        with pytest.raises(InvalidAction, match="args"):
            parse({**raw, "args": args})


@pytest.mark.parametrize("timeout", [0, -1, MAX_TIMEOUT + 1, 10**30])
def test_a_timeout_is_between_a_second_and_the_bound(timeout):
    with pytest.raises(InvalidAction, match="timeout"):
        parse({"kind": "run_tool", "program": "ls", "timeout": timeout})


@pytest.mark.parametrize("kind", ["read_file", "list_files", "run_tool"])
def test_an_empty_path_or_program_is_refused(kind):
    field = "program" if kind == "run_tool" else "path"
    with pytest.raises(InvalidAction, match=field):
        parse({"kind": kind, field: ""})


@pytest.mark.parametrize("raw", [None, [], "verify", 3, [{"kind": "verify"}]])
def test_A16_an_action_is_one_object(raw):
    with pytest.raises(InvalidAction, match="one JSON object"):
        parse(raw)


@pytest.mark.parametrize("raw", [{}, {"kind": "fly"}, {"kind": None}, {"kind": ["verify"]}])
def test_A16_the_kind_is_one_of_the_known(raw):
    with pytest.raises(InvalidAction, match="kind"):
        parse(raw)


@pytest.mark.parametrize(
    "raw",
    [
        {"kind": "k" * 1_000_000},
        {"kind": "finish", "summary": "x", "f" * 1_000_000: 1},
        {"kind": "finish", "summary": "x", **{f"field{n}": 1 for n in range(5000)}},
        {"kind": "run_tool", "program": "ls", "args": [1] * 1000},
        {"kind": "finish", "summary": "x", "\ud800": 1},
        {"kind": "\udfff"},
        {"kind": "finish", "summary": "x", "\0\u202e": 1},
    ],
)
def test_A16_the_reason_is_short_and_can_be_journaled_whatever_was_sent(raw):
    with pytest.raises(InvalidAction) as caught:
        parse(raw)
    reason = str(caught.value)
    assert 0 < len(reason) < 4000
    canonical.encode(reason)


def test_edit_actions_are_those_that_open_the_debt():
    assert {kind for kind, made in KINDS.items() if made.edits} == {
        "replace_text",
        "write_file",
        "apply_patch",
    }


def test_what_only_reads_is_what_the_design_lists():
    assert {kind for kind, made in KINDS.items() if made.reads_only} == {
        "read_file",
        "list_files",
        "glob",
        "grep",
        "git_status",
        "git_diff",
        "git_log",
        "git_show",
        "read_artifact",
        "job_output",
        "ask_human",
        "finish",
        "verify",
    }
