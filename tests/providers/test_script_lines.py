"""Scripts are checked line by line before anything runs."""

from __future__ import annotations

import pytest

from runtime.core.errors import BadInput
from runtime.providers import check_script
from runtime.providers.script import MAX_SCRIPT, parse, sequence

FINISH = b'{"kind": "finish", "summary": "done"}'


def test_script_keeps_actions_as_they_are_written() -> None:
    line = parse(b'{"kind": "verify", "program": "x", "say": "hm", "task": "a", "delay_ms": 20}')[0]
    assert line.action == {"kind": "verify", "program": "x"}
    assert (line.say, line.task, line.delay) == ("hm", "a", 0.02)


def test_script_counts_empty_lines_but_does_not_play_them() -> None:
    lines = parse(b"\n" + FINISH + b"\r\n  \n" + FINISH)
    assert [line.number for line in lines] == [2, 4]


def test_script_of_a_task_is_its_own_lines_and_those_for_all() -> None:
    lines = parse(
        b'{"kind": "a"}\n{"kind": "b", "task": "x"}\n{"kind": "c", "task": "y"}\n{"kind": "d"}'
    )
    assert [line.action["kind"] for line in sequence(lines, "x") if line.action] == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (b"{", "is not JSON"),
        (b'{"kind": "a"} {}', "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b"null", "is not a JSON object"),
        (b"{}", 'needs either "kind"'),
        (b'{"kind": "a", "error": "b"}', 'needs either "kind"'),
        (b'{"error": 503}', 'needs a string in "error"'),
        (b'{"error": "x", "path": "y"}', 'has "path" beside "error"'),
        (b'{"kind": "a", "say": 1}', 'needs a string in "say"'),
        (b'{"kind": "a", "task": null}', 'needs a string in "task"'),
        (b'{"kind": "a", "delay_ms": -1}', 'in "delay_ms"'),
        (b'{"kind": "a", "delay_ms": 600001}', 'in "delay_ms"'),
        (b'{"kind": "a", "delay_ms": true}', 'in "delay_ms"'),
        (b'{"kind": "a", "delay_ms": 1.5}', 'in "delay_ms"'),
        (b'{"kind": "a", "usage": {"input_tokens": 1}}', 'in "usage"'),
        (b'{"kind": "a", "usage": {"input_tokens": 1, "output_tokens": "2"}}', "output_tokens"),
        (b'{"kind": "\xff"}', "is not valid UTF-8"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_script_with_a_bad_line_is_refused_with_its_number(bad: bytes, fault: str) -> None:
    with pytest.raises(BadInput) as refusal:
        check_script(FINISH + b"\n\n" + bad + b"\n")
    assert refusal.value.message.startswith("Line 3 of the script ")
    assert fault in refusal.value.message
    assert refusal.value.exit_code == 2


@pytest.mark.parametrize("empty", [b"", b"\n", b" \r\n\t\n"])
def test_script_without_a_line_is_refused(empty: bytes) -> None:
    with pytest.raises(BadInput, match="no line"):
        check_script(empty)


def test_script_beyond_its_bound_is_refused() -> None:
    with pytest.raises(BadInput, match="at most"):
        check_script(b" " * (MAX_SCRIPT + 1))
