"""An action is found in a call or in text, and text for people is never lost."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.providers.answers import Repair, TextSplitter, from_calls, from_text

VERIFY = '{"kind": "verify"}'


def split(*parts: str) -> tuple[str, str]:
    splitter = TextSplitter()
    shown = "".join(splitter.feed(part) for part in parts)
    return shown, splitter.held


@pytest.mark.parametrize(
    ("text", "shown", "held"),
    [
        ("plain words", "plain words", ""),
        (VERIFY, "", VERIFY),
        ("I verify.\n" + VERIFY, "I verify.\n", VERIFY),
        ("I verify.\n```json\n" + VERIFY + "\n```", "I verify.\n", "```json\n" + VERIFY + "\n```"),
        ("```\n" + VERIFY + "\n```\n", "", "```\n" + VERIFY + "\n```\n"),
        ("```python\nx = {1}\n```\n", "```python\nx = {1}\n", "```\n"),
        ("a {b} c", "a {b} c", ""),
        ("  \n  {", "  \n", "  {"),
        ("use `x` and ``y``", "use `x` and ``y``", ""),
        ("`x` first", "`x` first", ""),
    ],
)
def test_text_is_shown_up_to_where_an_action_may_begin(text: str, shown: str, held: str) -> None:
    assert split(text) == (shown, held)
    assert split(*text) == (shown, held)


@given(st.lists(st.sampled_from(["`", "``", "{", "}", "json", "\n", "\r\n", " ", "a", "js", "é"])))
def test_text_is_split_alike_however_it_arrives(parts: list[str]) -> None:
    text = "".join(parts)
    shown, held = split(*parts)
    assert shown + held == text
    assert split(*text) == (shown, held)


@pytest.mark.parametrize(
    "held",
    [
        VERIFY,
        "  " + VERIFY + "\n",
        "```json\n" + VERIFY + "\n```",
        "```\n" + VERIFY + "\n```\n",
        "```json\n" + VERIFY,
        '{"name": "act", "arguments": {"kind": "verify"}}',
        '{"kind": "verify", "path": null, "args": null}',
    ],
)
def test_action_is_read_from_text(held: str) -> None:
    assert from_text(held).action == {"kind": "verify"}
    assert from_text(held).text == ""


def test_words_after_an_action_are_shown() -> None:
    found = from_text(VERIFY + "\nThat should do.")
    assert found.action == {"kind": "verify"}
    assert found.text == "\nThat should do."


@pytest.mark.parametrize(
    "held",
    [
        VERIFY + VERIFY,
        VERIFY + "\n" + VERIFY,
        "```json\n" + VERIFY + "\n```\n```json\n" + VERIFY + "\n```",
        "```json\n" + VERIFY + "\n" + VERIFY + "\n```",
        VERIFY + "\nor\n" + VERIFY,
        '{"kind": "verify"',
        "{kind: verify}",
        "```json\n[1]\n```",
        '{"kind": NaN}',
        '{"kind": "\\ud800"}',
        '{"a":' * 5000,
        "{\n  return 1;\n}",
        "",
    ],
)
def test_text_without_exactly_one_action_is_shown_and_explained(held: str) -> None:
    found = from_text(held)
    assert found.action is None
    assert found.error
    assert found.text == held


def test_fence_inside_a_string_does_not_end_the_action() -> None:
    action = {"kind": "write_file", "path": "README.md", "content": "```sh\nmake\n```\n"}
    text = json.dumps(action)
    assert from_text(text).action == action
    assert from_text(f"```json\n{text}\n```").action == action


@pytest.mark.parametrize(
    ("calls", "fault"),
    [
        ([("act", VERIFY), ("act", VERIFY)], "calls 2 tools"),
        ([("read_file", "{}")], "no tool of that name"),
        ([("act", "")], "not one JSON object"),
        ([("act", None)], "not one JSON object"),
        ([("act", '{"kind": ')], "not one JSON object"),
        ([("act", VERIFY + VERIFY)], "not one JSON object"),
        ([("act", "[]")], "not a JSON object"),
        ([("act", "[" * 5000)], "not one JSON object"),
    ],
)
def test_A16_calls_without_exactly_one_action_are_explained(
    calls: list[tuple[str, str | None]], fault: str
) -> None:
    found = from_calls(calls)
    assert found.action is None
    assert fault in (found.error or "")
    assert len(found.error or "") < 300


def test_nulls_of_other_kinds_are_dropped_and_unknown_fields_kept() -> None:
    found = from_calls([("act", '{"kind": "verify", "path": null, "x": null, "y": 1}')])
    assert found.action == {"kind": "verify", "x": None, "y": 1}


@given(st.text(st.characters(exclude_categories=[])), st.data())
def test_text_is_made_whole_unicode_however_it_arrives(text: str, data: st.DataObject) -> None:
    units = text.encode("utf-16-le", "surrogatepass")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(units) // 2))))
    ends = [0, *(2 * cut for cut in cuts), len(units)]
    repair = Repair()
    whole = "".join(
        repair.feed(units[start:end].decode("utf-16-le", "surrogatepass"))
        for start, end in itertools.pairwise(ends)
    )
    whole.encode()
    assert "\0" not in whole
    if text.isprintable():
        assert whole == text


def test_character_cut_in_two_is_joined() -> None:
    repair = Repair()
    assert [repair.feed(part) for part in ("a\ud83d", "\ude00b", "", "\ude00", "c")] == [
        "a",
        "\U0001f600b",
        "",
        "\ufffd",
        "c",
    ]
